"""Import names of `llm_mock`, and `json`, where isort and ruff would put them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import libcst as cst

from llm_mock.migrate.body import get_leading_lines, strip_blank_start
from llm_mock.migrate.syntax import (
    get_bound_name,
    get_dotted_name,
    get_small_statement,
    is_docstring,
    parse_statement,
)
from llm_mock.migrate.targets import find_source


class _ImportKey(NamedTuple):
    """The position of an import in sorted order."""

    section: int
    is_from: bool
    module: str


# The sections after those of `__future__` and of the standard library.
_THIRD_PARTY, _PROJECT = 2, 3
_REPLY_KEY = _ImportKey(_THIRD_PARTY, True, "llm_mock")
_JSON_KEY = _ImportKey(1, False, "json")


def add_import(
    body: Sequence[cst.BaseStatement],
    name: str,
    path: Path,
) -> list[cst.BaseStatement]:
    """Import a name in an existing import of `llm_mock`, or on a new line in sorted order.

    Args:
        body: the statements of the file.
        name: the name, such as `Reply`.
        path: its path, near which the modules of the project are.
    """
    changed = list(body)
    for number, node in enumerate(body):
        extended = _extend_import(node, name)
        if extended is not None:
            changed[number] = extended
            return changed
    keys = _collect_own_keys(body, path)
    line = parse_statement(f"from llm_mock import {name}")
    return _insert_import(changed, line, _REPLY_KEY, keys)


def add_json_import(body: Sequence[cst.BaseStatement], path: Path) -> list[cst.BaseStatement]:
    """Import `json` on a new line in sorted order.

    Args:
        body: the statements of the file.
        path: its path, near which the modules of the project are.
    """
    keys = _collect_keys(body, path)
    line = parse_statement("import json")
    return _insert_import(list(body), line, _JSON_KEY, keys)


def add_library_import(
    body: Sequence[cst.BaseStatement],
    library: str,
    path: Path,
) -> list[cst.BaseStatement]:
    """Import a library in sorted order, unless it is imported.

    Args:
        body: the statements of the file.
        library: its name.
        path: the path of the file.
    """
    for node in body:
        part = get_small_statement(node)
        if isinstance(part, cst.Import) and library in map(get_bound_name, part.names):
            return list(body)
    keys = _collect_own_keys(body, path)
    key = _ImportKey(_THIRD_PARTY, False, library)
    return _insert_import(list(body), parse_statement(f"import {library}"), key, keys)


def _collect_own_keys(
    body: Sequence[cst.BaseStatement],
    path: Path,
) -> Mapping[int, _ImportKey]:
    """Return the keys of all imports, in one section if the file has none."""
    keys = _collect_keys(body, path)
    if _has_sections(body, keys):
        return keys
    return {number: key._replace(section=_THIRD_PARTY) for number, key in keys.items()}


def _extend_import(node: cst.BaseStatement, name: str) -> cst.BaseStatement | None:
    """Add a name to `from llm_mock import …`; None for any other statement."""
    part = get_small_statement(node)
    if not isinstance(part, cst.ImportFrom) or part.module is None:
        return None
    if get_dotted_name(part.module) != "llm_mock":
        return None
    if isinstance(part.names, cst.ImportStar) or name in map(get_bound_name, part.names):
        return node
    space = cst.SimpleWhitespace(" ")
    comma = cst.Comma(whitespace_after=space)
    names = list(part.names)
    names[-1] = names[-1].with_changes(comma=comma)
    names.append(cst.ImportAlias(cst.Name(name)))
    new_import = part.with_changes(names=names)
    return node.with_changes(body=[new_import])


def _insert_import(
    body: list[cst.BaseStatement],
    line: cst.BaseStatement,
    key: _ImportKey,
    keys: Mapping[int, _ImportKey],
) -> list[cst.BaseStatement]:
    """Insert an import in sorted order.

    Args:
        body: the statements of the file.
        line: the import.
        key: its key.
        keys: the keys of the other imports, by the position in the body.
    """
    if not keys:
        # Behind the docstring.
        position = 1 if body and is_docstring(body[0]) else 0
        return [*body[:position], line, *body[position:]]
    earlier = [number for number, each in keys.items() if each <= key]
    if earlier:
        position = earlier[-1] + 1
        if keys[earlier[-1]].section != key.section:
            line = _add_gap(line)
            _join_next(body, position, keys, key.section)
    else:
        # The first of all imports takes the blank lines above the old first one.
        position = min(keys)
        line = line.with_changes(leading_lines=_get_gap(body[position]))
        body[position] = strip_blank_start(body[position])
    later = {number: each for number, each in keys.items() if number >= position}
    _separate_next(body, later, key.section)
    return [*body[:position], line, *body[position:]]


def _join_next(
    body: list[cst.BaseStatement],
    position: int,
    keys: Mapping[int, _ImportKey],
    section: int,
) -> None:
    """Remove the blank lines above the import that was the first of its section."""
    following = keys.get(position)
    if following is None:
        return
    if following.section == section:
        body[position] = strip_blank_start(body[position])


def _separate_next(
    body: list[cst.BaseStatement],
    later: Mapping[int, _ImportKey],
    section: int,
) -> None:
    """Put a blank line above the next import if it is of another section."""
    if not later:
        return
    number = min(later)
    if later[number].section != section:
        body[number] = _add_gap(body[number])


def _collect_keys(body: Sequence[cst.BaseStatement], path: Path) -> dict[int, _ImportKey]:
    """Return the keys of all imports, by the position in the body."""
    keys: dict[int, _ImportKey] = {}
    for number, node in enumerate(body):
        part = get_small_statement(node)
        if isinstance(part, cst.Import):
            module = get_dotted_name(part.names[0].name) or ""
            keys[number] = _ImportKey(_get_section(module, path), False, module)
        elif isinstance(part, cst.ImportFrom):
            module = ""
            if part.module is not None and not part.relative:
                module = get_dotted_name(part.module) or ""
            keys[number] = _ImportKey(_get_section(module, path), True, module)
    return keys


def _get_section(module: str, path: Path) -> int:
    package = module.partition(".")[0]
    if package == "__future__":
        return 0
    if package in sys.stdlib_module_names:
        return 1
    # A relative import has no package.
    if not package or find_source(module, path):
        return _PROJECT
    return _THIRD_PARTY


def _has_sections(body: Sequence[cst.BaseStatement], keys: Mapping[int, _ImportKey]) -> bool:
    """Return whether blank lines separate imports of the library, of others and of the project."""
    for number, following in itertools.pairwise(keys):
        is_other = keys[number].section != keys[following].section
        if is_other and not _get_gap(body[following]):
            return False
    return True


def _get_gap(node: cst.BaseStatement) -> list[cst.EmptyLine]:
    """Return the blank lines above a statement and its comments."""
    leading = get_leading_lines(node)
    return list(itertools.takewhile(lambda line: line.comment is None, leading))


def _add_gap(node: cst.BaseStatement) -> cst.BaseStatement:
    """Return a statement with at least one blank line above it."""
    if _get_gap(node):
        return node
    lines = [cst.EmptyLine(indent=False), *get_leading_lines(node)]
    return node.with_changes(leading_lines=lines)
