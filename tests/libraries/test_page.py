"""The page of libraries names those that are tested."""

from __future__ import annotations

from tests.libraries.catalogue import CAPABILITIES, read_libraries
from tests.libraries.page import PAGE, make_notes, read_rows


def test_the_page_has_each_library_and_nothing_that_fails() -> None:
    libraries = read_libraries()
    text = PAGE.read_text(encoding="utf-8")
    rows = read_rows(text)
    assert [*rows] == [library.name for library in libraries]
    for library in libraries:
        for capability, word in zip(CAPABILITIES, rows[library.name].cells, strict=True):
            lacks = "no" if capability in library.lacks else "yes"
            if capability in library.untried:
                lacks = "not tried"
            if library.refused:
                lacks = "refused"
            assert word == ("fault" if capability in library.faults else lacks)
    for note in make_notes(libraries):
        assert note in text
