"""Tell the kinds of test files apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from llm_mock.suites.role_file import describe_unsupported_kind, is_flat_agent
from llm_mock.support.text import shorten, suggest_nearest
from llm_mock.support.yaml_files import Document

Kind = Literal["suite", "role", "spec"]
KINDS = ("TestSuite", "Agent")
SUFFIXES = (".yaml", ".yml")
LEFT_OUT = {"plugins", "cassettes"}
"""The folders whose YAML files are not tests."""
UNKNOWN_KIND = (
    "is neither a suite (kind: TestSuite), a role (kind: Agent) nor a plain-language test (test, "
    "steps and verdict); `llm-mock schema suite` and `llm-mock schema spec` print their keys"
)


def find_kind(document: Document) -> Kind | None:
    """Return the kind of a file; None for a file that is not for this package."""
    content = document.data
    if not isinstance(content, dict):
        return None
    kind = content.get("kind")
    if kind == "TestSuite":
        return "suite"
    if kind == "Agent" or is_flat_agent(content):
        return "role"
    # A plain-language test has no kind. If it misses one of these keys, loading it will say so.
    if "test" in content and ("steps" in content or "verdict" in content):
        return "spec"
    return None


def get_kind(document: Document) -> Kind:
    """Return the kind of a file.

    Raises:
        InvalidFile: the file is not for this package.
    """
    __tracebackhide__ = True
    kind = find_kind(document)
    if kind is not None:
        return kind
    unsupported = describe_unsupported_kind(document.data)
    if unsupported:
        raise document.error(unsupported, ("kind",))
    kind_of_file = document.data.get("kind") if isinstance(document.data, dict) else None
    if isinstance(kind_of_file, str):
        hint = suggest_nearest(kind_of_file, KINDS)
        if hint:
            raise document.error(f"unknown kind {shorten(kind_of_file)}{hint}", ("kind",))
    if document.data is None:
        raise document.error(f"is empty; it {UNKNOWN_KIND}")
    raise document.error(UNKNOWN_KIND)


def list_yaml_files(folder: Path) -> Iterator[Path]:
    """Yield the YAML files of a folder and those below it, without hidden ones, in order."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        is_hidden = any(part.startswith(".") for part in parts)
        is_left_out = not LEFT_OUT.isdisjoint(parts[:-1])
        if path.suffix in SUFFIXES and path.is_file() and not is_hidden and not is_left_out:
            yield path
