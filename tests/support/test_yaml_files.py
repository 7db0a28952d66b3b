"""Files of YAML: what is wrong with one is said with its line."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm_mock.cassettes import storage
from llm_mock.errors import InvalidFile
from llm_mock.support.yaml_files import Inline, dump, load

VALID = """\
version: 1
calls:
- request:
    model: m
    prompt: Hi
  response:
    events:
    - text: Hello
      chunks: [2, 3]
    attachments:
    - {type: image/png, sha256: ab, bytes: 3, content: AAAA}
    error: {class: ValueError, args: [x]}
"""
PIECES = (
    *(
        "&a ",
        "*a ",
        "!!timestamp x",
        "!!int x",
        "!!python/object/apply:os.system [id]",
        "? ",
        "- ",
        ": ",
        "<<: ",
        "|",
        "~",
    ),
    *(
        "{",
        "}",
        "[",
        "]",
        "'",
        '"',
        "\t",
        "\0",
        "\x85",
        "1e999",
        ".nan",
        "2026-13-45",
        "%YAML 9\n",
        "---\n",
        "...\n",
        "# ",
    ),
)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nb: [1\n", 3, "is not valid YAML"),
        ("a: 1\n\tb: 2\n", 2, "is not valid YAML"),
        ("a: 1\nb: 2\na: 3\n", 3, "duplicate key 'a'"),
        ("a: 1\nb: \x00\n", 2, "is not valid YAML"),
        ("a: 1\n---\nb: 2\n", 2, "is not valid YAML"),
        ("a: !!python/name:os.system ''\n", 1, "is not valid YAML"),
        ("a: 1\nb: " + "[" * 100_000, 2, "it is nested too deeply"),
        ("- [" * 400, 1, "is not valid YAML"),
        ("a: 1\n" + "- " * 50_000, 2, "is not valid YAML"),
        ("- " * 50_000, 1, "it is nested too deeply"),
        (
            "\n".join(["- &0 [x]", *(f"- &{n} [*{n - 1}]" for n in range(1, 500))]),
            300,
            "it is nested too deeply",
        ),
        (f"a: 1\nb: {'9' * 5_000}\n", 2, "not a whole number, or too large"),
        ("a: 1\nb: !!int x\n", 2, "not a whole number, or too large"),
        ("a: 1\nb: !!bool maybe\n", 2, "'maybe' is not a valid bool"),
        ("a: 1\nb: {c: 2026-13-45}\n", 2, "'2026-13-45' is not a valid timestamp"),
        ("a: 1\nb: [!!float x]\n", 2, "'x' is not a valid float"),
        ("a: 1\n!!bool maybe: 2\n", 2, "'maybe' is not a valid bool"),
        ("a: 1\nb: !!set [x]\n", 2, "this is not a valid set"),
        ("a: 1\nb: !!map x\n", 2, "'x' is not a valid map"),
        ("a: 1\nb: !!python/object:os.system {}\n", 2, "could not determine a constructor"),
    ],
)
def test_what_is_no_yaml_is_one_error_with_its_line(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(InvalidFile) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "cannot be read: No such file"), (b"a: \xff", "is not UTF-8 text")],
)
def test_what_is_no_text_is_an_error(tmp_path: Path, content: bytes | None, problem: str) -> None:
    path = tmp_path / "file.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidFile, match=problem):
        load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_file_that_may_have_no_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(
            InvalidFile, match="cannot be read: not a regular file, but a pipe or a device"
        ):
            load(path)


def test_a_file_may_have_20_megabytes(tmp_path: Path) -> None:
    with (tmp_path / "file.yaml").open("wb") as file:
        file.truncate(20_000_001)
    with pytest.raises(InvalidFile, match="cannot be read: it is larger than 20 MB"):
        load(tmp_path / "file.yaml")


class Empty(pydantic.BaseModel):
    """A model that knows one key."""

    model_config = pydantic.ConfigDict(extra="forbid")
    name: str = ""


def test_many_problems_are_counted_and_the_first_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("".join(f"nam{number}: 1\n" for number in range(40_000)))
    started = time.process_time()
    with pytest.raises(InvalidFile) as caught:
        load(path).as_model(Empty)
    lines = str(caught.value).splitlines()
    assert (lines[0], lines[49]) == (
        f"{path}:1: unknown key 'nam0'; did you mean 'name'?",
        f"{path}:50: unknown key 'nam49'; did you mean 'name'?",
    )
    assert lines[50:] == [f"{path}: … and 39950 more problems"]
    assert (
        time.process_time() - started < 8
    )  # of the processor; it took 12 s when each key was searched among all


def test_every_part_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(VALID)
    document = load(path)
    assert [
        document.line_of(where)
        for where in ([], ["calls"], ["calls", 0, "response", "events", 0, "chunks"])
    ] == [
        1,
        2,
        9,
    ]
    # The nearest part above one that is not there.
    for step in ("no such key", 7):
        assert document.line_of(["calls", 0, "request", step]) == 3
        assert document.line_of(["calls", step, "below"]) == 2


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(VALID)),
            st.integers(0, 40),
            st.sampled_from(PIECES) | st.text(max_size=3),
        ),
        max_size=4,
    )
)
def test_whatever_was_done_to_a_file_it_is_read_or_refused(
    tmp_path: Path, changes: list[tuple[int, int, str]]
) -> None:
    text = VALID
    for start, length, piece in changes:
        text = text[:start] + piece + text[start + length :]
    path = tmp_path / "cassette.yaml"
    path.write_bytes(text.encode(errors="surrogatepass"))
    assert problem_of(path).startswith((str(path), "none"))


def problem_of(path: Path) -> str:
    try:
        storage.read_cassette(path, lambda request: request.prompt)
    except InvalidFile as error:
        return str(error)
    return "none"


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(st.characters(exclude_categories=["Cs"])),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
        ),
        max_leaves=10,
    )
)
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_what_is_read(tmp_path: Path, value: object) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(dump({"value": value, "inline": Inline([1, 2])}).encode())
    assert load(path).data == {"value": value, "inline": [1, 2]}
