"""Resolve the names of a file: its imports, functions, classes and constants."""

from __future__ import annotations

import copy
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any, Protocol

import libcst as cst

from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.syntax import get_dotted_name, get_string
from llm_mock.migrate.targets import resolve_type

MOCK_CLASSES = ("Mock", "MagicMock", "NonCallableMock", "AsyncMock")
PATCHERS = ("patch", "patch.object", "patch.dict", "patch.multiple")
# `mocker` is the fixture of pytest-mock, which has the names of `unittest.mock` as attributes.
JSON_MODULE = "json"
MOCK_MODULES = ("unittest.mock.", "mock.", "mocker.")


class FakeEvaluator(Protocol):
    """The functions of the module `fakes`.

    A protocol, because `fakes` imports this module. Its symbol tables and values are untyped here
    for the same reason.
    """

    def makes_mocks(self, function: cst.FunctionDef, scope: Scope) -> bool:
        """Return whether a helper makes mocks."""

    def call_helper(
        self,
        function: cst.FunctionDef,
        node: cst.Call,
        caller: Any,
        closure: Any,
    ) -> Any:
        """Evaluate the call of a helper that makes mocks."""

    def new_function_double(self, function: cst.FunctionDef, closure: Any) -> Any:
        """Return the double for a function that a test uses as a mock."""

    def new_fake(self, definition: cst.ClassDef, node: cst.Call, caller: Any) -> Any:
        """Instantiate a fake class."""


class Scope:
    """The names that a file defines at module level.

    Args:
        module: the file.
        fakes: evaluates its helpers and classes.
        path: its path, near which the application is.
    """

    def __init__(self, module: cst.Module, fakes: FakeEvaluator, path: Path) -> None:
        self.fakes = fakes
        self.path = path
        self.local_names: Container[str] = ()
        """The parameters and local names of the function."""
        self.imports: dict[str, str] = {}
        """The qualified name behind each imported name, such as `unittest.mock.patch`."""
        self.functions: dict[str, cst.FunctionDef] = {}
        self.classes: dict[str, cst.ClassDef] = {}
        self.constants: dict[str, cst.BaseExpression] = {}
        for node in module.body:
            if isinstance(node, cst.FunctionDef):
                name = node.name.value
                self.functions[name] = node
            elif isinstance(node, cst.ClassDef):
                name = node.name.value
                self.classes[name] = node
            elif isinstance(node, cst.SimpleStatementLine):
                for part in node.body:
                    self._add_small_statement(part)
        self.module_classes = frozenset(self.classes.values())
        """Those of the file itself; a function adds its own to the others."""

    def _add_small_statement(self, node: cst.BaseSmallStatement) -> None:
        if isinstance(node, (cst.Import, cst.ImportFrom)):
            self.add_import(node)
        elif isinstance(node, cst.Assign):
            first, *others = node.targets
            target = first.target
            if isinstance(target, cst.Name) and not others:
                self.constants[target.value] = node.value

    def name_library(self, library: str, node: cst.CSTNode | None = None) -> str:
        """Return the name of a library in the new test: its own, or what the file imports it as.

        Raises:
            CannotRewrite: the file uses its name for something else.
        """
        if library not in self.imports:
            for name, imported in self.imports.items():
                if imported != library or name in self.constants:
                    continue
                if name not in self.local_names:
                    return name
        root = library.partition(".")[0]
        is_taken = root in self.constants or root in self.local_names
        if is_taken or self.imports.get(root, root) != root:
            raise CannotRewrite(
                f"the new test needs {library}, but this file uses the name {root} for something "
                "else",
                "Choose another name for it, then run the command again.",
                node,
            )
        return library

    def add_import(self, node: cst.Import | cst.ImportFrom) -> frozenset[str]:
        """Add the names that an import binds, and return them."""
        bound = _collect_bound_names(node)
        self.imports |= bound
        return frozenset(bound)

    def find_hidden_imports(self, node: cst.Import | cst.ImportFrom) -> set[str]:
        """Return the names that an import binds within a function, and the file does not have.

        The name `json` is not hidden: the rewritten file imports it.
        """
        known = set(self.imports.items())
        known.add((JSON_MODULE, JSON_MODULE))
        bound = _collect_bound_names(node).items()
        return {name for name, _ in bound - known}

    def qualify(self, node: cst.CSTNode) -> str:
        """Return the qualified name of a name or attribute, "" for any other node."""
        name = get_dotted_name(node)
        if name is None:
            return ""
        first, dot, rest = name.partition(".")
        return f"{self.imports.get(first, first)}{dot}{rest}"

    def qualify_type(self, node: cst.CSTNode) -> str:
        """Return the qualified name of a class, or of the class that it extends."""
        return resolve_type(self.qualify(node), self.path)

    def get_mock_class(self, node: cst.CSTNode) -> str | None:
        """Return the class of `unittest.mock` that a node names, or None."""
        return _strip_mock_module(self.qualify(node), MOCK_CLASSES)

    def find_mock_class(self) -> str | None:
        """Return the name under which the file imports `Mock` or `MagicMock`, or None."""
        for name in self.imports:
            node = cst.Name(name)
            mock_class = self.get_mock_class(node)
            if mock_class in ("Mock", "MagicMock"):
                return name
        return None

    def get_patcher(self, node: cst.CSTNode) -> str | None:
        """Return `patch`, `patch.object`, … if a node names one of them, or None."""
        return _strip_mock_module(self.qualify(node), PATCHERS)

    def copy_for_function(self, names: Container[str]) -> Scope:
        """Return a copy to which a function can add its own imports and classes.

        Args:
            names: the parameters and local names of the function, which hide functions of the
                file: a test gets the value of a fixture by the name of its function.
        """
        # Constants are shared: a test cannot change those of its file.
        inner = copy.copy(self)
        inner.local_names = names
        inner.functions = {}
        for name, function in self.functions.items():
            if name not in names:
                inner.functions[name] = function
        inner.imports = dict(self.imports)
        inner.classes = dict(self.classes)
        return inner

    def copy_with_imports(self, body: Iterable[cst.BaseStatement]) -> Scope:
        """Return a copy with the imports of a function, or itself if the file has them all."""
        hidden = [node for node in _list_imports(body) if self.find_hidden_imports(node)]
        if not hidden:
            return self
        inner = copy.copy(self)
        inner.imports = dict(self.imports)
        for node in hidden:
            inner.add_import(node)
        return inner


def _list_imports(body: Iterable[cst.BaseStatement]) -> list[cst.Import | cst.ImportFrom]:
    """Return the imports among some statements, without those of inner blocks."""
    found: list[cst.Import | cst.ImportFrom] = []
    for statement in body:
        if isinstance(statement, cst.SimpleStatementLine):
            for part in statement.body:
                if isinstance(part, (cst.Import, cst.ImportFrom)):
                    found.append(part)
    return found


def _collect_bound_names(node: cst.Import | cst.ImportFrom) -> dict[str, str]:
    """Return the qualified names behind the names that an import binds."""
    bound: dict[str, str] = {}
    if isinstance(node, cst.Import):
        for alias in node.names:
            name = get_dotted_name(alias.name) or ""
            if alias.asname is not None:
                bound[get_dotted_name(alias.asname.name) or ""] = name
            else:
                # `import a.b` binds `a`.
                package = name.partition(".")[0]
                bound[package] = package
    elif not isinstance(node.names, cst.ImportStar):
        prefix = _get_import_prefix(node)
        for alias in node.names:
            bound_name = alias.asname.name if alias.asname else alias.name
            qualified_name = f"{prefix}{get_dotted_name(alias.name)}"
            bound[get_dotted_name(bound_name) or ""] = qualified_name
    return bound


def _get_import_prefix(node: cst.ImportFrom) -> str:
    """Return the text before the imported name: `a.b.` or `..`."""
    dots = "." * len(node.relative)
    if node.module:
        module = get_dotted_name(node.module)
    else:
        module = None
    return f"{dots}{module}." if module else dots


def _strip_mock_module(qualified_name: str, names: Iterable[str]) -> str | None:
    for module in MOCK_MODULES:
        rest = qualified_name.removeprefix(module)
        if rest != qualified_name and rest in names:
            return rest
    return None


def collect_parametrized_values(
    function: cst.FunctionDef,
) -> dict[str, list[cst.BaseExpression]]:
    """Return the literal values of each parameter in `pytest.mark.parametrize`."""
    values: dict[str, list[cst.BaseExpression]] = {}
    for decorator in function.decorators:
        call = decorator.decorator
        if not isinstance(call, cst.Call) or len(call.args) < 2:
            continue
        function_name = get_dotted_name(call.func) or ""
        # Whatever pytest is imported as.
        if not function_name.endswith("mark.parametrize"):
            continue
        first, second, *_ = call.args
        names = _split_parameter_names(first.value)
        rows = second.value
        if not isinstance(rows, (cst.List, cst.Tuple)):
            continue
        for row in rows.elements:
            cells = _split_row(row.value, len(names))
            for name, cell in zip(names, cells, strict=False):
                column = values.setdefault(name, [])
                column.append(cell)
    return values


def _split_row(row: cst.BaseExpression, length: int) -> list[cst.BaseExpression]:
    if length > 1 and isinstance(row, (cst.List, cst.Tuple)):
        return [cell.value for cell in row.elements]
    return [row]


def _split_parameter_names(node: cst.BaseExpression) -> list[str]:
    names = []
    if isinstance(node, (cst.List, cst.Tuple)):
        for element in node.elements:
            # A name that is not literal keeps its position.
            name = get_string(element.value)
            names.append(name or "")
    else:
        text = get_string(node) or ""
        names += [name.strip() for name in text.split(",")]
    return names
