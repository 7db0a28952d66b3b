"""What the names of a file mean: its imports, functions, classes and constants."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, Protocol

import libcst as cst

from llm_mock.migrate.syntax import get_dotted_name, get_string

MOCKS = {"Mock": False, "MagicMock": False, "NonCallableMock": False, "AsyncMock": True}
"""The classes of `unittest.mock`, and whether what they make is awaited."""
MOCK_MODULES = ("unittest.mock.", "mock.", "mocker.")


class FakeEvaluator(Protocol):
    """Evaluates helpers and fake classes, in a frame of the function that uses them: the module `fakes`."""

    def makes_mocks(self, function: cst.FunctionDef, scope: Scope) -> bool:
        """Whether a helper makes mocks."""

    def call_helper(self, function: cst.FunctionDef, node: cst.Call, caller: Any, home: Any) -> Any:
        """What a helper returns."""

    def new_function_double(self, function: cst.FunctionDef, home: Any) -> Any:
        """A function that stands in place of a mock."""

    def new_fake(self, made: cst.ClassDef, node: cst.Call, caller: Any) -> Any:
        """An object of a class of the file."""


class Scope:
    """The names that a file defines at its top.

    Args:
        module: the file.
        fakes: evaluates its helpers and classes.
    """

    def __init__(self, module: cst.Module, fakes: FakeEvaluator) -> None:
        self.fakes = fakes
        self.imports: dict[str, str] = {}
        """What each imported name stands for, such as `unittest.mock.patch`."""
        self.functions: dict[str, cst.FunctionDef] = {}
        self.classes: dict[str, cst.ClassDef] = {}
        self.constants: dict[str, cst.BaseExpression] = {}
        self._read(module.body)

    def _read(self, body: Iterable[cst.CSTNode]) -> None:
        for node in body:
            if isinstance(node, cst.FunctionDef):
                self.functions[node.name.value] = node
            elif isinstance(node, cst.ClassDef):
                self.classes[node.name.value] = node
            elif isinstance(node, cst.SimpleStatementLine):
                for part in node.body:
                    self._read_small(part)

    def _read_small(self, node: cst.BaseSmallStatement) -> None:
        if isinstance(node, (cst.Import, cst.ImportFrom)):
            self.imported(node)
        elif isinstance(node, cst.Assign) and len(node.targets) == 1 and isinstance(node.targets[0].target, cst.Name):
            self.constants[node.targets[0].target.value] = node.value

    def imported(self, node: cst.Import | cst.ImportFrom) -> dict[str, str]:
        """Remember the names that an import makes, and what they stand for."""
        found: dict[str, str] = {}
        if isinstance(node, cst.Import):
            for alias in node.names:
                name = get_dotted_name(alias.name) or ""
                if alias.asname is not None:
                    found[get_dotted_name(alias.asname.name) or ""] = name
                else:
                    found[name.partition(".")[0]] = name.partition(".")[0]
        elif not isinstance(node.names, cst.ImportStar):
            module = "." * len(node.relative) + (get_dotted_name(node.module) or "" if node.module else "")
            for alias in node.names:
                shown = alias.asname.name if alias.asname else alias.name
                separator = "" if module.endswith(".") else "."
                found[get_dotted_name(shown) or ""] = f"{module}{separator}{get_dotted_name(alias.name)}"
        self.imports |= found
        return found

    def meaning(self, node: cst.CSTNode) -> str:
        """The full dotted name of what an expression names, such as `unittest.mock.Mock`; empty for all else."""
        name = get_dotted_name(node)
        if name is None:
            return ""
        first, dot, rest = name.partition(".")
        return f"{self.imports.get(first, first)}{dot}{rest}"

    def mock_class(self, node: cst.CSTNode) -> str | None:
        """Which class of `unittest.mock` an expression names."""
        return _of_mock(self.meaning(node), MOCKS)

    def patcher(self, node: cst.CSTNode) -> str | None:
        """`patch`, `patch.object`, … where an expression names one of them, also that of pytest-mock."""
        return _of_mock(self.meaning(node), ("patch", "patch.object", "patch.dict", "patch.multiple"))

    def of_function(self) -> Scope:
        """The same names, to which a function may add its own."""
        inner = copy.copy(self)
        inner.imports, inner.classes = dict(self.imports), dict(self.classes)
        return inner

    def constant(self, name: str) -> cst.BaseExpression | None:
        """The value of a constant of the file."""
        return self.constants.get(name)


def _of_mock(meaning: str, names: Iterable[str]) -> str | None:
    for module in MOCK_MODULES:
        rest = meaning.removeprefix(module)
        if rest != meaning and rest in names:
            return rest
    return None


def collect_parametrized_values(function: cst.FunctionDef) -> dict[str, list[cst.BaseExpression]]:
    """The values that `pytest.mark.parametrize` gives the parameters of a test, where they are written out."""
    found: dict[str, list[cst.BaseExpression]] = {}
    for decorator in function.decorators:
        call = decorator.decorator
        if not isinstance(call, cst.Call) or not (get_dotted_name(call.func) or "").endswith("mark.parametrize"):
            continue
        if len(call.args) < 2 or not isinstance(call.args[1].value, (cst.List, cst.Tuple)):
            continue
        names = _parameter_names(call.args[0].value)
        for row in call.args[1].value.elements:
            cells = [row.value]
            if len(names) > 1 and isinstance(row.value, (cst.List, cst.Tuple)):
                cells = [cell.value for cell in row.value.elements]
            for name, cell in zip(names, cells, strict=False):
                found.setdefault(name, []).append(cell)
    return found


def _parameter_names(node: cst.BaseExpression) -> list[str]:
    if isinstance(node, (cst.List, cst.Tuple)):
        return [get_string(element.value) or "" for element in node.elements]
    return [name.strip() for name in (get_string(node) or "").split(",")]
