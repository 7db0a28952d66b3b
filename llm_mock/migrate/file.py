"""Rewrites one test file."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
import libcst.matchers as m
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from llm_mock.errors import InvalidFile
from llm_mock.migrate import fakes
from llm_mock.migrate.function import RewrittenFunction, rewrite
from llm_mock.migrate.function_state import FileContext
from llm_mock.migrate.imports import update_imports
from llm_mock.migrate.manual_changes import CannotRewrite, ManualChange
from llm_mock.migrate.patches import parse_patch
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import get_dotted_name
from llm_mock.support.text import shown_path

_MAY_CONCERN_LLM = re.compile(rb"get_(async_)?model\b|\bllm\b|call_history|set_response")
"""What a file must have in it to be read at all, which takes a while."""

IdsOf = Callable[[str, str], Sequence[str]]


@dataclass(frozen=True)
class FileResult:
    """What became of a file: its text before and after, the tests that changed, and what is left to a person.

    `encoded` is the text after, in the encoding that the file has.
    """

    path: Path
    before: str
    after: str
    encoded: bytes
    changed: tuple[str, ...]
    manual_changes: tuple[ManualChange, ...]


def parse_file(path: Path, source: bytes) -> cst.Module:
    """The tree of a file.

    Raises:
        InvalidFile: it is no Python.
    """
    try:
        return cst.parse_module(source)
    except cst.ParserSyntaxError as error:
        line, problem = _syntax_error(source, error)
        raise InvalidFile(f"{shown_path(path)}:{line}: this is no Python: {problem}.") from None
    except (UnicodeDecodeError, LookupError) as error:
        raise InvalidFile(f"{shown_path(path)}: it is no text in its encoding: {error}.") from None


def _syntax_error(source: bytes, error: cst.ParserSyntaxError) -> tuple[int, str]:
    """Line and message, in Python's own words where it has some."""
    try:
        ast.parse(source)
    except SyntaxError as problem:
        return problem.lineno or 1, problem.msg
    except ValueError as problem:
        return 1, str(problem)
    return error.raw_line, error.message


def rewrite_file(path: Path, source: bytes, ids_of: IdsOf, id_of: Callable[[str], str]) -> FileResult:
    """Rewrite the tests of a file that are sure.

    Raises:
        InvalidFile: it is no Python.
    """
    if not _MAY_CONCERN_LLM.search(source):
        text = source.decode(errors="replace")
        return FileResult(path, text, text, source, (), ())
    wrapper = MetadataWrapper(parse_file(path, source))
    return _File(path, wrapper, ids_of, id_of).result()


class _File:
    def __init__(self, path: Path, wrapper: MetadataWrapper, ids_of: IdsOf, id_of: Callable[[str], str]) -> None:
        self.path = path
        self.module = wrapper.module
        self.lines = wrapper.resolve(PositionProvider)
        self.functions = list(_functions(self.module))
        fixtures = {name: node for name, node, owner in self.functions if owner is None and _is_fixture(node)}
        self.known = FileContext(Scope(self.module, fakes), path, ids_of, id_of, fixtures)
        self.results: dict[str, RewrittenFunction] = {}
        self.problems: dict[str, CannotRewrite] = {}

    def result(self) -> FileResult:
        nodes: dict[str, cst.FunctionDef | cst.ClassDef] = {name: node for name, node, _ in self.functions}
        nodes |= {node.name.value: node for node in self.module.body if isinstance(node, cst.ClassDef)}
        for name, node in nodes.items():
            if isinstance(node, cst.ClassDef):
                self._check_class(name, node)
        for name, function, owner in self.functions:
            if owner is None or owner.name.value not in self.problems:
                self._try(name, function, owner)
        self._block_shared()
        functions = {name: node for name, node, _ in self.functions}
        new = {functions[name]: result.node for name, result in self.results.items() if result.node is not None}
        module = self.module
        if new:
            module = update_imports(self.module, self._replaced(new))
        manual_changes = [self._finding(name, nodes[name], problem) for name, problem in self.problems.items()]
        changed = tuple(name for name, result in self.results.items() if result.node is not None)
        before, after = self.module.code, module.code
        return FileResult(
            self.path, before, after, module.bytes, changed, tuple(sorted(manual_changes, key=lambda each: each.line))
        )

    def _check_class(self, name: str, node: cst.ClassDef) -> None:
        """A class whose decorator patches `llm` for its methods is left alone."""
        try:
            for decorator in node.decorators:
                if parse_patch(decorator.decorator, SymbolTable(self.known.scope), self.path) is not None:
                    raise CannotRewrite(
                        "its methods are patched by a decorator of the class",
                        "Take it out, with the argument of each method, and say what the model answers in an autouse "
                        "fixture of the class.",
                    )
        except CannotRewrite as unsure:
            self.problems[name] = unsure

    def _try(self, name: str, node: cst.FunctionDef, owner: cst.ClassDef | None) -> None:
        try:
            result = rewrite(name, node, self.known)
            if result.node is not None:
                _check_owner(node, owner, self.known.scope)
            if result.node is not None and name in self.known.fixtures:
                self._check_shared_file(result)
            self.results[name] = result
        except CannotRewrite as unsure:
            self.problems[name] = _of_class(node) if owner is not None and _is_fixture(node) else unsure

    def _check_shared_file(self, result: RewrittenFunction) -> None:
        if self.path.name == "conftest.py" and result.given is not None:
            raise CannotRewrite(
                "tests of other files are given this mock",
                "Let it configure llm_mock (mock_llm_responses.set) and yield nothing; its tests ask for "
                "mock_llm_calls.",
            )

    def _block_shared(self) -> None:
        """A fixture is rewritten with all of its tests, or not at all."""
        while True:
            failed = {name for name in self.known.fixtures if name in self.problems}
            users: dict[str, set[str]] = {}
            for name, node, _ in self.functions:
                for parameter in node.params.params:
                    users.setdefault(parameter.name.value, set()).add(name)
            added = False
            for fixture in self.known.fixtures:
                result = self.results.get(fixture)
                if result is None or result.node is None or result.given is None:
                    continue
                bad = sorted(name for name in users.get(fixture, ()) if name in self.problems)
                if bad:
                    self._fail(fixture, f"{bad[0]} uses it, which is not rewritten")
                    failed.add(fixture)
                    added = True
            for name, result in list(self.results.items()):
                if blocked := sorted(result.fixtures & failed):
                    self._fail(name, f"it uses the fixture {blocked[0]}, which is not rewritten")
                    added = True
            if not added:
                return

    def _fail(self, name: str, why: str) -> None:
        del self.results[name]
        self.problems[name] = CannotRewrite(why, "Rewrite that one first, then run this again.")

    def _finding(self, name: str, function: cst.FunctionDef | cst.ClassDef, problem: CannotRewrite) -> ManualChange:
        found = None if problem.node is None else self.lines.get(problem.node)
        found = found or self.lines.get(function.name)
        line = found.start.line if isinstance(found, CodeRange) else 1
        return ManualChange(self.path, line, name, problem.why, problem.instead)

    def _replaced(self, new: dict[cst.FunctionDef, cst.FunctionDef]) -> cst.Module:
        silent = {name for name, result in self.results.items() if result.node is not None and result.says_nothing}
        module = self.module.visit(_Replacing(new))
        assert isinstance(module, cst.Module)
        return module.visit(_Removing(self._unneeded(module, silent)))

    def _unneeded(self, module: cst.Module, silent: set[str]) -> set[str]:
        """Fixtures that only made mocks, and that no function asks for any more."""
        makers = {
            name
            for name in self.known.fixtures
            if name in silent or (name in self.results and self.results[name].given is not None)
        }
        asked = {parameter.name.value for _, node, _ in _functions(module) for parameter in node.params.params}
        named = {
            text.evaluated_value for text in m.findall(module, m.SimpleString()) if isinstance(text, cst.SimpleString)
        }
        says = {name for name, result in self.results.items() if result.node is not None and not result.says_nothing}
        return makers - asked - named - says


def _functions(module: cst.Module) -> Iterator[tuple[str, cst.FunctionDef, cst.ClassDef | None]]:
    """The functions of a file and of its classes, by their names."""
    for node in module.body:
        if isinstance(node, cst.FunctionDef):
            yield node.name.value, node, None
        elif isinstance(node, cst.ClassDef):
            for inner in node.body.body:
                if isinstance(inner, cst.FunctionDef):
                    yield f"{node.name.value}::{inner.name.value}", inner, node


def _is_fixture(node: cst.FunctionDef) -> bool:
    decorators = [each.decorator for each in node.decorators]
    names = [get_dotted_name(each.func if isinstance(each, cst.Call) else each) or "" for each in decorators]
    return any(name.split(".")[-1] == "fixture" for name in names)


def _of_class(fixture: cst.FunctionDef) -> CannotRewrite:
    """What to say of a fixture of a class, whose tests are not followed."""
    return CannotRewrite(
        "it is a fixture of a class",
        "Move it out of the class, without self, and run this again: its tests are rewritten with it then.",
        fixture.name,
    )


def _check_owner(node: cst.FunctionDef, owner: cst.ClassDef | None, scope: Scope) -> None:
    if owner is not None and any("TestCase" in scope.meaning(base.value) for base in owner.bases):
        raise CannotRewrite(
            "a method of unittest.TestCase takes no fixtures",
            "Have an autouse fixture of the class keep it: `@pytest.fixture(autouse=True)`, `def take_mock(self, "
            "mock_llm_responses): self.llm_mock = mock_llm_responses`.",
        )
    if not node.name.value.startswith("test") and not _is_fixture(node):
        raise CannotRewrite(
            "it is called by tests, and takes no fixtures", "Give it mock_llm_responses as an argument."
        )


class _Replacing(cst.CSTTransformer):
    def __init__(self, new: dict[cst.FunctionDef, cst.FunctionDef]) -> None:
        self.new = new

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        return self.new.get(original_node, updated_node)


class _Removing(cst.CSTTransformer):
    def __init__(self, names: set[str]) -> None:
        self.names = names

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef | cst.RemovalSentinel:
        return cst.RemoveFromParent() if original_node.name.value in self.names else updated_node
