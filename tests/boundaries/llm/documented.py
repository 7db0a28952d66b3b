"""The documented differences between a mocked model and the plain one."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from tests.boundaries.llm.comparison import Scenario, observed

PAGE = Path(__file__).parents[3] / "docs" / "differences.md"


class Documented(NamedTuple):
    """A lasting difference: its scenarios, the observed part, and the words of the page."""

    scenario: str
    name: str
    words: str


DOCUMENTED = (
    Documented(
        "sync prompt *",
        "type of text",
        "`response.text` and `response.usage` also work as attributes",
    ),
    Documented(
        "sync prompt *",
        "type of usage",
        "`response.text` and `response.usage` also work as attributes",
    ),
    Documented("sync prompt no payload", "json", "raises `json.JSONDecodeError` for plain text"),
    Documented("sync prompt error", "refused", "raises a configured error at once"),
    Documented("callbacks", "failed", "raises a configured error at once"),
    Documented("what prompt takes", "lazy", "`lazy=True`"),
    Documented(
        "listings", "get_model gives the same one", "returns the same model object in every call"
    ),
    Documented(
        "command line options of models", "1: *", "describes only the options of the first model"
    ),
    Documented("look of *", "type", "A mocked model has its own class"),
    Documented("look of *", "provider's own method", "does not have the methods and properties"),
)


def check(scenario: Scenario, folder: Path, name: str) -> None:
    """Fail where a scenario shows a difference that is not documented, or shows none that is."""
    plain, mock = observed(scenario, folder)
    different = {key for key in plain.keys() | mock.keys() if plain.get(key) != mock.get(key)}
    compared = plain.keys() | mock.keys()
    if "refused" in different:
        different = compared = {"refused"}
    known = {
        key for key in compared for entry in DOCUMENTED
        if fnmatchcase(name, entry.scenario) and fnmatchcase(key, entry.name)
    }  # fmt: skip
    problems = [
        f"{key}\n  plain {plain.get(key)!r}\n  mock  {mock.get(key)!r}"
        for key in sorted(different - known)
    ]
    problems += [
        f"{key} is documented, but is the same: {plain.get(key)!r}"
        for key in sorted(known - different)
    ]
    assert not problems, f"{name}:\n" + "\n".join(problems)
