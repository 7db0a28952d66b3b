"""Read the fixtures that a file has from the conftest.py files above it."""

from __future__ import annotations

import builtins
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import libcst as cst

from llm_mock.migrate import fakes
from llm_mock.migrate.doubles import (
    PlainCode,
    SideEffectList,
    Value,
    iterate_doubles,
)
from llm_mock.migrate.function_state import FileContext
from llm_mock.migrate.legacy_mock import FACTORY, OUR_FIXTURES
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.sdk_clients import CLIENTS
from llm_mock.migrate.symbol_table import FunctionDouble
from llm_mock.migrate.syntax import collect_names, get_dotted_name, to_source

CONFTEST = "conftest.py"
# pytest reads no conftest.py above the folder of its configuration.
_ROOT_FILES = ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", ".git")
_MAY_GIVE_MOCK = re.compile(rb"mock|patch", re.IGNORECASE)
_DEFINITION = re.compile(rb"^(?:async )?def (\w+)", re.MULTILINE)
_WIDER_SCOPE = re.compile(r"scope=(?!.function)")
_PLAIN_DECORATOR = re.compile(r"@(pytest\.)?fixture(\(\))?")


def is_fixture(node: cst.FunctionDef) -> bool:
    """Return whether a decorator makes a function a fixture."""
    for decorator in node.decorators:
        expression = decorator.decorator
        if isinstance(expression, cst.Call):
            expression = expression.func
        name = get_dotted_name(expression) or ""
        if name.split(".")[-1] == "fixture":
            return True
    return False


def find_hiding_fixtures(module: cst.Module) -> frozenset[str]:
    """Return the fixtures of a conftest.py that hide ours with a mock of the legacy factory."""
    names = []
    for node in module.body:
        if not isinstance(node, cst.FunctionDef) or not is_fixture(node):
            continue
        name = node.name.value
        if name in OUR_FIXTURES and FACTORY in collect_names(node):
            names.append(name)
    return frozenset(names)


def is_for_one_test(node: cst.FunctionDef) -> bool:
    """Return whether only the tests that name a fixture get its value, each a new one."""
    sources = [to_source(decorator).strip() for decorator in node.decorators]
    # Arguments may be autouse, a wider scope, another name or several values.
    return len(sources) == 1 and _PLAIN_DECORATOR.fullmatch(sources[0]) is not None


def serves_several_tests(node: cst.FunctionDef) -> bool:
    """Return whether tests that do not name a fixture may run while it lasts."""
    source = "".join(to_source(decorator) for decorator in node.decorators)
    return _WIDER_SCOPE.search(source) is not None or "autouse" in source


def outlasts_test(node: cst.FunctionDef, used: Container[str]) -> bool:
    """Return whether the patch of a fixture may reach tests that do not name it.

    Args:
        node: the fixture.
        used: the names of the fixtures that the file of the tests uses.
    """
    source = "".join(to_source(decorator) for decorator in node.decorators)
    if _WIDER_SCOPE.search(source) is None or "autouse" in source:
        return False
    # Another file may have started it.
    is_for_several_files = "session" in source or "package" in source
    return is_for_several_files or node.name.value in used


def find_inherited(context: FileContext) -> Mapping[str, FileContext]:
    """Return the conftest.py of each fixture that a file has from one above it."""
    inherited: dict[str, FileContext] = {}
    for path, source in _read_conftests(context.path):
        module = _parse(source)
        if module is None:
            continue
        fixtures = {}
        for node in module.body:
            if isinstance(node, cst.FunctionDef) and is_fixture(node):
                fixtures[node.name.value] = node
        conftest = replace(
            context,
            scope=Scope(module, fakes, path),
            path=path,
            fixtures=fixtures,
            unused_replies={},
            environment={},
            partial=False,
            sdks=find_sdks(source),
            inherited=dict(inherited),
        )
        # The nearest file overrides those above it.
        inherited |= dict.fromkeys(fixtures, conftest)
    return inherited


def find_sdks(source: bytes) -> frozenset[str]:
    """Return the SDKs that a text names."""
    text = source.lower()
    found = []
    for sdk in CLIENTS:
        # The word that each import of it has, such as `from google import genai`.
        word = sdk.removeprefix("google.").partition(".")[0]
        if word.encode() in text:
            found.append(sdk)
    return frozenset(found)


def names_fixture(path: Path, source: bytes, pattern: re.Pattern[bytes]) -> bool:
    """Return whether a file may name a fixture of a conftest.py that has a pattern."""
    for _, conftest in _read_conftests(path):
        if any(name in source for name in _find_functions(conftest, pattern)):
            return True
    return False


@lru_cache(maxsize=32)
def _find_functions(source: bytes, pattern: re.Pattern[bytes]) -> set[bytes]:
    """Return the functions that match a pattern, and functions that name them, without parsing."""
    parts = _DEFINITION.split(source)[1:]
    texts = dict(zip(parts[::2], parts[1::2], strict=True))
    found: set[bytes] = set()
    for name, text in texts.items():
        if pattern.search(text):
            found.add(name)
    pending = set(found)
    while pending:
        used = pending.pop()
        users = {name for name, text in texts.items() if used in text}
        pending |= users - found
        found |= users
    return found


def _read_conftests(path: Path) -> list[tuple[Path, bytes]]:
    """Return the files that may provide mocks, the nearest one last."""
    files: list[tuple[Path, bytes]] = []
    for folder in _find_folders(path):
        conftest = folder / CONFTEST
        if conftest == path or not conftest.is_file():
            continue
        source = conftest.read_bytes()
        if _MAY_GIVE_MOCK.search(source):
            files.insert(0, (conftest, source))
    return files


def _find_folders(path: Path) -> list[Path]:
    """Return the folders of a file's project, from its own one upward."""
    folders = []
    for folder in path.parents:
        folders.append(folder)
        if any((folder / name).exists() for name in _ROOT_FILES):
            return folders
    # Outside of a project, the folders above belong to something else.
    return folders[:1]


@lru_cache(maxsize=32)
def _parse(source: bytes) -> cst.Module | None:
    try:
        return cst.parse_module(source)
    except (cst.ParserSyntaxError, UnicodeDecodeError, LookupError, SyntaxError):
        # The command reports it when it comes to that file.
        return None


def find_unknown_names(roots: Sequence[Value | None], known: Scope, conftest: Scope) -> set[str]:
    """Return the names in the values of a fixture that mean something else in another file.

    Args:
        roots: the mocks of the fixture.
        known: the names of the file whose tests get the values.
        conftest: the names of the file of the fixture.
    """
    functions: set[str] = set()
    names: set[str] = set()
    for double in iterate_doubles(roots):
        if isinstance(double, FunctionDouble):
            # Its definition would have to move, with all that it uses.
            functions.add(double.definition.name.value)
            continue
        for value in (*double.attributes.values(), double.return_value, double.side_effect):
            names |= _collect_names(value)
    for name in names:
        if _is_other_name(name, known, conftest):
            functions.add(name)
    return functions


def _collect_names(value: Value | None) -> frozenset[str]:
    if isinstance(value, PlainCode):
        return collect_names(value.node)
    if isinstance(value, SideEffectList):
        return frozenset().union(*map(_collect_names, value.values))
    return frozenset()


def _is_other_name(name: str, known: Scope, conftest: Scope) -> bool:
    """Return whether a name of a conftest.py is not the same builtin or import elsewhere."""
    for scope in (known, conftest):
        definitions = (scope.functions, scope.classes, scope.constants)
        if any(name in defined for defined in definitions):
            return True
    meaning = conftest.imports.get(name)
    if meaning != known.imports.get(name):
        return True
    return meaning is None and not hasattr(builtins, name)
