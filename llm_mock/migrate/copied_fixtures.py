"""Copy fixtures of a conftest.py into a test file that needs them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import libcst as cst

from llm_mock.migrate import fakes
from llm_mock.migrate.imports import remove_unused_imports
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.syntax import collect_names, get_bound_name, get_small_statement


def copy_fixtures(
    path: Path,
    source: bytes,
    conftest: Path,
    names: Collection[str],
) -> bytes | None:
    """Return a test file with fixtures of a conftest.py; None if they need more of that file.

    Args:
        path: the test file.
        source: its content.
        conftest: the conftest.py.
        names: the names of the fixtures.
    """
    module = cst.parse_module(source)
    origin = cst.parse_module(conftest.read_bytes())
    scope = Scope(module, fakes, path)
    fixtures = []
    used: set[str] = set()
    for node in origin.body:
        if isinstance(node, cst.FunctionDef) and node.name.value in names:
            fixtures.append(node)
            used |= collect_names(node)
    missing = _find_missing_imports(
        used.difference(names),
        scope,
        Scope(origin, fakes, conftest),
    )
    if missing is None or _defines(scope, names):
        return None
    added = [*_select_imports(origin, missing), *fixtures]
    position = _find_end_of_imports(module)
    body = [*module.body[:position], *added, *module.body[position:]]
    return module.with_changes(body=body).bytes


def _find_missing_imports(names: Collection[str], known: Scope, origin: Scope) -> set[str] | None:
    """Return the names that a file has to import; None if they cannot be imported."""
    missing = set()
    for name in names:
        if _defines(origin, [name]):
            return None
        meaning = origin.imports.get(name)
        if meaning is None or meaning == known.imports.get(name):
            continue
        if name in known.imports or _defines(known, [name]):
            return None
        missing.add(name)
    return missing


def _defines(scope: Scope, names: Collection[str]) -> bool:
    for definitions in (scope.functions, scope.classes, scope.constants):
        if not definitions.keys().isdisjoint(names):
            return True
    return False


def _select_imports(module: cst.Module, names: Collection[str]) -> Iterator[cst.BaseStatement]:
    """Yield the imports of a file, with some of their names."""
    for node in module.body:
        part = get_small_statement(node)
        if not isinstance(part, (cst.Import, cst.ImportFrom)):
            continue
        if isinstance(part.names, cst.ImportStar) or not isinstance(node, cst.BaseStatement):
            continue
        bound = {get_bound_name(alias) for alias in part.names}
        selected = remove_unused_imports(node, bound.difference(names))
        if selected is not None:
            yield selected.with_changes(leading_lines=[])


def _find_end_of_imports(module: cst.Module) -> int:
    end = 0
    for number, node in enumerate(module.body, start=1):
        if isinstance(get_small_statement(node), (cst.Import, cst.ImportFrom)):
            end = number
    return end
