"""Rewrites one test: whole, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.body import Part, assemble_body
from llm_mock.migrate.doubles import LegacyMock, PatchedGetter, ReturnByName, SideEffectList, TestDouble, Value
from llm_mock.migrate.function_state import FileContext, FunctionState, UnrelatedMock
from llm_mock.migrate.legacy_mock import find_legacy_fixture
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.patches import CannotRewritePatch, parse_patch
from llm_mock.migrate.statements import StatementRewriter
from llm_mock.migrate.syntax import code, collect_names, get_arguments

OUR_FIXTURES = ("mock_llm_responses", "mock_llm_calls")


@dataclass(frozen=True)
class RewrittenFunction:
    """What became of a function.

    Attributes:
        node: its new form; None where it has no mock of `llm`.
        fixtures: the fixtures of the file that it relies on.
        given: what a fixture hands to its tests, if that is a mock.
        says_nothing: whether nothing in the new form configures a reply.
    """

    node: cst.FunctionDef | None
    fixtures: frozenset[str] = frozenset()
    given: Value | None = None
    says_nothing: bool = False


def rewrite(name: str, function: cst.FunctionDef, known: FileContext) -> RewrittenFunction:
    """Rewrite a function.

    Raises:
        CannotRewrite: it has a mock of `llm`, and it is not known what it means.
    """
    return _rewrite(name, function, known)[1]


def _rewrite(name: str, function: cst.FunctionDef, known: FileContext) -> tuple[FunctionState, RewrittenFunction]:
    """Rewrite it: again with what its assertions tell of models, and without names that turn out to be foreign."""
    foreign: frozenset[str] = frozenset()
    ids: dict[str, Sequence[str]] = {}
    while True:
        state = FunctionState(name, function, known, foreign, ids)
        problem: CannotRewrite | None = None
        try:
            result = _Function(state).rewritten()
        except UnrelatedMock as found:
            if found.name not in foreign:
                foreign |= {found.name}
                continue
            if not state.getters:
                return state, RewrittenFunction(None)
            problem = CannotRewrite(f"what the mock {found.name} is for is not known")
        except CannotRewrite as unsure:
            problem = unsure
        if state.reader.seen and not ids:
            ids = {target: tuple(dict.fromkeys(names)) for target, names in state.reader.seen.items()}
            continue
        if problem is not None:
            raise problem
        return state, result


class _Function:
    def __init__(self, state: FunctionState) -> None:
        self.state = state
        self.statements = StatementRewriter(state)
        self.parameters = [parameter.name.value for parameter in state.function.params.params]
        self.removed: set[str] = set()
        self.fixtures: set[str] = set()

    def rewritten(self) -> RewrittenFunction:
        state = self.state
        try:
            decorators = self._decorators()
            self._fixtures()
            parts = self.statements.rewritten()
            state.said.say()
            self._check_answered()
        except CannotRewritePatch:
            raise
        except CannotRewrite:
            if state.getters:
                raise
            return RewrittenFunction(None)
        if not state.getters:
            return RewrittenFunction(None, frozenset(), state.given)
        self._check_reached()
        says_nothing = not any(slot.lines for slot in state.slots)
        return RewrittenFunction(
            self._assembled(decorators, parts), frozenset(self.fixtures), state.given, says_nothing
        )

    def _decorators(self) -> list[cst.Decorator]:
        """The decorators that are no patches of `llm`; those are taken over."""
        kept: list[cst.Decorator] = []
        pending = [name for name in self.parameters if name not in ("self", "cls")]
        for decorator in reversed(self.state.function.decorators):
            patch = parse_patch(decorator.decorator, self.state.frame, self.state.known.path)
            name = pending.pop(0) if self._gives_argument(decorator.decorator) and pending else None
            if patch is None:
                kept.insert(0, decorator)
                continue
            self.state.take(patch)
            if name is not None:
                self.state.frame.names[name] = patch.value
                self.removed.add(name)
        return kept

    def _gives_argument(self, node: cst.BaseExpression) -> bool:
        """Whether a decorator hands a mock to the test."""
        kind = self.state.frame.scope.patcher(node.func) if isinstance(node, cst.Call) else None
        given = get_arguments(node) if isinstance(node, cst.Call) and kind is not None else None
        most = {"patch": 1, "patch.object": 2}.get(kind or "", 0)
        return given is not None and "new" not in given[1] and len(given[0]) <= most

    def _fixtures(self) -> None:
        private = find_legacy_fixture(self.state.function)
        known = self.state.known.fixtures
        for name in self.parameters:
            if name == private and name not in known:
                self.state.frame.names[name] = double = LegacyMock(grows=False)
                self.state.getters.append(PatchedGetter(name, double))
                self.removed.add(name)
            elif name in known and name not in (self.state.name, *self.removed):
                self._use(name, known[name])

    def _use(self, name: str, function: cst.FunctionDef) -> None:
        """Take over what a fixture of the file sets up."""
        fixture, result = _rewrite(name, function, self.state.known)
        if fixture.getters:
            self.state.getters += fixture.getters
            self.state.said.answers.update(fixture.said.answers)
            self.fixtures |= {name, *result.fixtures}
        if name in self.state.frame.foreign:
            return
        if isinstance(result.given, (TestDouble, SideEffectList, ReturnByName)):
            self.state.frame.names[name] = result.given
        if result.says_nothing or (result.given is not None and not fixture.getters):
            self.removed.add(name)

    def _check_answered(self) -> None:
        state = self.state
        private = any(isinstance(getter.double, LegacyMock) for getter in state.getters)
        if state.getters and not state.said.answers and not (private or state.reader.counted or state.given):
            raise CannotRewrite(
                "nothing says what the model answers, so its answer is another Mock",
                'Say it: mock_llm_responses.set("*", reply).',
            )

    def _check_reached(self) -> None:
        """Mocks that were never given to `llm` are not ours to take out."""
        for name, value in self.state.frame.names.items():
            mine = name not in self.parameters and not self.state.is_fixture
            if mine and isinstance(value, TestDouble) and not self.state.said.is_of_llm(value):
                raise UnrelatedMock(name)

    def _assembled(self, decorators: list[cst.Decorator], parts: list[Part]) -> cst.FunctionDef:
        function = self.state.function
        body = assemble_body(parts)
        if self.state.is_fixture and len(body) > 1 and code(body[-1]).strip() == "yield":
            body.pop()
        for node in body:
            if left := sorted(self.state.frame.mentions(node)):
                self.statements.refuse_left(left[0], node)
        used = set[str]().union(*map(collect_names, body))
        gone = (self.removed | ({"monkeypatch", "mocker"} - used)) - (set(OUR_FIXTURES) & used)
        kept = [each for each in function.params.params if each.name.value not in gone]
        kept += [cst.Param(cst.Name(name)) for name in OUR_FIXTURES if name in used and name not in self.parameters]
        if function.params.star_arg is cst.MaybeSentinel.DEFAULT and not function.params.kwonly_params and kept:
            kept[-1] = kept[-1].with_changes(comma=_last_comma(function))
        kept[:-1] = [each.with_changes(comma=_comma(each)) for each in kept[:-1]]
        block = function.body if isinstance(function.body, cst.IndentedBlock) else cst.IndentedBlock([])
        returns = function.returns
        if self.state.is_fixture and returns is not None and not any(m.findall(node, m.Yield()) for node in body):
            returns = returns.with_changes(annotation=cst.Name("None"))
        return function.with_changes(
            decorators=decorators,
            returns=returns,
            params=function.params.with_changes(params=kept),
            body=block.with_changes(body=body),
        )


def _last_comma(function: cst.FunctionDef) -> cst.Comma | cst.MaybeSentinel:
    """A comma behind the last parameter, where there was one."""
    return function.params.params[-1].comma if function.params.params else cst.MaybeSentinel.DEFAULT


def _comma(parameter: cst.Param) -> cst.Comma | cst.MaybeSentinel:
    """The comma behind a parameter that another one follows."""
    if isinstance(parameter.comma, cst.Comma) and not parameter.comma.whitespace_after.empty:
        return parameter.comma
    return cst.MaybeSentinel.DEFAULT
