"""Works out what each statement of an old test means, and what takes its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.assertions import assertion_name, assertions
from llm_mock.migrate.body import Local, Part, Slot, assemble_body, is_empty
from llm_mock.migrate.doubles import LegacyMock, PlainCode
from llm_mock.migrate.fakes import configures
from llm_mock.migrate.function_state import FunctionState, UnrelatedMock
from llm_mock.migrate.legacy_mock import convert_set_response
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.patches import CannotRewritePatch, Patch, parse_patch
from llm_mock.migrate.recorded_calls import RECORDED, CallList, KeywordArguments, PositionalArguments, Read, SingleCall
from llm_mock.migrate.syntax import code, expression, get_dotted_name, has_call, small, statement


class StatementRewriter:
    """The statements of a function."""

    def __init__(self, state: FunctionState) -> None:
        self.state = state
        self.frame = state.frame
        self.reader = state.reader
        self._nested = 0

    def rewritten(self) -> list[Part]:
        body = list(self.state.function.body.body)
        parts: list[Part] = []
        if body and m.matches(body[0], m.SimpleStatementLine([m.Expr(m.SimpleString())])):
            parts.append(cst.ensure_type(body.pop(0), cst.SimpleStatementLine))
        return [*parts, self.state.slots[0], *self._block(body)]

    def _block(self, body: Sequence[cst.CSTNode]) -> list[Part]:
        parts: list[Part] = []
        for node in body:
            try:
                self._statement(node, parts)
            except CannotRewrite as unsure:
                unsure.node = unsure.node or node
                raise
        return parts

    def _statement(self, node: cst.CSTNode, parts: list[Part]) -> None:
        if isinstance(node, cst.With):
            self._with(node, parts)
        elif isinstance(node, cst.FunctionDef):
            self.frame.functions[node.name.value] = (node, self.frame)
            parts.append(Local(node, frozenset({node.name.value})))
        elif isinstance(node, cst.ClassDef):
            self.frame.scope.classes[node.name.value] = node
            parts.append(Local(node, frozenset({node.name.value})))
        elif isinstance(node, cst.BaseCompoundStatement):
            self._compound(node, parts)
        elif isinstance(node, cst.SimpleStatementLine):
            part = small(node)
            if part is None or not self._understood(node, part, parts):
                self._keep(node, parts)

    def _with(self, node: cst.With, parts: list[Part]) -> None:
        items, slot = [], Slot.of(node)
        for item in node.items:
            patch = parse_patch(item.item, self.frame, self.state.known.path)
            if patch is None:
                items.append(item.with_changes(item=self._read(item.item)))
                continue
            self._refuse_nested(node)
            self.state.take(patch)
            if item.asname is not None and isinstance(item.asname.name, cst.Name):
                self.frame.names[item.asname.name.value] = patch.value
        if len(items) < len(node.items):
            parts.append(slot)
            self.state.slots.append(slot)
        if not items:
            parts += self._block(node.body.body)
            return
        self.state.said.say()
        body = self._block(node.body.body)
        self.state.said.say()
        inner = assemble_body(body)
        if is_empty(inner):
            raise CannotRewrite("nothing is left of the block", node=node)
        items[-1] = items[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        leading = [] if len(items) < len(node.items) else node.leading_lines
        block = cst.IndentedBlock(inner) if not isinstance(node.body, cst.IndentedBlock) else node.body
        parts.append(node.with_changes(items=items, body=block.with_changes(body=inner), leading_lines=leading))

    def _compound(self, node: cst.BaseCompoundStatement, parts: list[Part]) -> None:
        """A loop, a condition, a `try`: mocks may be looked at in it, but not be configured."""
        self._nested += 1
        if isinstance(node, cst.For):
            calls = self.reader.read(node.iter)
            self.reader.looped(node)
            if isinstance(calls, CallList):
                node = node.with_changes(iter=expression(calls.source))
        if has_call(node):
            self.state.said.say()
        changed = node.visit(_Lines(self))
        self._nested -= 1
        assert isinstance(changed, cst.BaseCompoundStatement)
        self._keep(changed, parts)

    def nested_lines(self, node: cst.SimpleStatementLine) -> list[cst.BaseStatement]:
        """What takes the place of a line within a loop or a condition."""
        parts: list[Part] = []
        self._statement(node, parts)
        return assemble_body(parts)

    def _refuse_nested(self, node: cst.CSTNode) -> None:
        if self._nested:
            raise CannotRewrite("mocks are configured in a loop or under a condition", node=node)

    def _understood(self, node: cst.SimpleStatementLine, part: cst.BaseSmallStatement, parts: list[Part]) -> bool:
        """Do what a line does that only concerns mocks; False where it is another one."""
        if isinstance(part, (cst.Import, cst.ImportFrom)):
            parts.append(Local(node, frozenset(self.frame.scope.imported(part))))
            return True
        value = getattr(part, "value", None)
        if isinstance(part, cst.Expr) and assertion_name(part.value) and self.frame.mentions(part.value):
            self._assertion(node, cst.ensure_type(part.value, cst.Call), parts)
            return True
        if isinstance(part, (cst.Expr, cst.Assign)) and (
            patch := parse_patch(part.value, self.frame, self.state.known.path)
        ):
            self._patched(node, part, patch, parts)
            return True
        is_given = isinstance(value, cst.Yield) or isinstance(part, cst.Return)
        if is_given and self.state.is_fixture and not self._nested:
            given = value.value if isinstance(value, cst.Yield) else value
            return self._give(node, cast("cst.BaseExpression | None", given), parts)
        if isinstance(part, cst.Expr) and self._is_private_set(part.value):
            parts.append(
                statement(convert_set_response(cst.ensure_type(part.value, cst.Call))).with_changes(
                    leading_lines=node.leading_lines, trailing_whitespace=node.trailing_whitespace
                )
            )
            return True
        if isinstance(part, cst.Assign) and self._binds_calls(part):
            self._slot(node, parts)
            return True
        if isinstance(part, (cst.Assign, cst.AnnAssign)) and part.value is not None and self._is_read(part.value):
            return False
        if configures(part, self.frame):
            if isinstance(part, cst.Pass):
                return False
            self._refuse_nested(node)
            self._slot(node, parts)
            return True
        return False

    def _is_private_set(self, node: cst.BaseExpression) -> bool:
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return False
        is_set = node.func.attr.value == "set_response" and self.frame.mentions(node.func)
        return bool(is_set) and isinstance(self.frame.value(node.func.value), LegacyMock)

    def _slot(self, node: cst.CSTNode, parts: list[Part]) -> None:
        slot = Slot.of(node)
        parts.append(slot)
        self.state.slots.append(slot)

    def _assertion(self, node: cst.SimpleStatementLine, call: cst.Call, parts: list[Part]) -> None:
        lines = assertions(call, self.reader)
        for number, line in enumerate(lines):
            made = statement(line)
            if number == 0:
                made = made.with_changes(leading_lines=node.leading_lines)
            if number == len(lines) - 1:
                made = made.with_changes(trailing_whitespace=node.trailing_whitespace)
            parts.append(made)

    def _patched(
        self, node: cst.SimpleStatementLine, part: cst.Expr | cst.Assign, patch: Patch, parts: list[Part]
    ) -> None:
        """`monkeypatch.setattr(…)`, or `x = mocker.patch(…)`."""
        self._refuse_nested(node)
        if not (get_dotted_name(cst.ensure_type(part.value, cst.Call).func) or "").startswith(
            ("mocker.", "monkeypatch.", "mp.")
        ):
            raise CannotRewritePatch(
                "a patch is started by hand", "Take it out: mocks of llm_mock need no start and stop."
            )
        self.state.take(patch)
        if isinstance(part, cst.Assign):
            if len(part.targets) != 1 or not isinstance(part.targets[0].target, cst.Name):
                raise CannotRewrite("a patch is assigned to more than a name", node=node)
            self.frame.names[part.targets[0].target.value] = patch.value
        self._slot(node, parts)

    def _give(self, node: cst.SimpleStatementLine, given: cst.BaseExpression | None, parts: list[Part]) -> bool:
        """What a fixture hands to its tests; it is no more needed where it is a mock."""
        value = None if given is None else self.frame.value(given)
        if isinstance(value, PlainCode) and code(value.node) != "None":
            if self.state.getters:
                raise CannotRewrite("the fixture gives something else than the mock", node=node)
            return False
        if self.state.getters or value is not None:
            self.state.said.say()
            self._slot(node, parts)
            self.state.given = value
            if isinstance(small(node), cst.Expr):
                parts.append(statement("yield"))  # what stands behind it happens after the test
            return True
        return False

    def _binds_calls(self, part: cst.Assign) -> bool:
        """`call = model.prompt.call_args`, and `args, kwargs = model.prompt.call_args`."""
        read = self.reader.read(part.value)
        if read is None or isinstance(read, cst.BaseExpression) or len(part.targets) != 1:
            return False
        target = part.targets[0].target
        if isinstance(target, cst.Name):
            self.reader.names[target.value] = read
            return True
        if isinstance(target, cst.Tuple) and isinstance(read, SingleCall) and len(target.elements) == 2:
            names = [element.value for element in target.elements]
            arguments: tuple[Read, Read] = (PositionalArguments(read), KeywordArguments(read))
            for name, value in zip(names, arguments, strict=True):
                if not isinstance(name, cst.Name):
                    raise CannotRewrite("the arguments of a call are unpacked", node=part)
                self.reader.names[name.value] = value
            return True
        return False

    def _read(self, node: cst.BaseExpression) -> cst.BaseExpression:
        return self.reader.rewritten(node)

    def _is_read(self, node: cst.BaseExpression) -> bool:
        """Whether an expression only reads what is known from mocks."""
        return bool(self.reader.left(node)) and not self.reader.left(self._read(node))

    def _keep(self, node: cst.BaseStatement, parts: list[Part]) -> None:
        """A statement that stays, with what it reads from mocks rewritten."""
        changed = self.reader.rewritten_node(node)
        assert isinstance(changed, cst.BaseStatement)
        self._forget_assigned(changed)
        if left := sorted(self.reader.left(changed)):
            self.refuse_left(left[0], node)
        if has_call(changed):
            self.state.said.say()
        parts.append(_asserted_plainly(changed))

    def _forget_assigned(self, node: cst.CSTNode) -> None:
        part = small(node)
        if isinstance(part, cst.Assign):
            for target in part.targets:
                if isinstance(target.target, cst.Name):
                    self.frame.names.pop(target.target.value, None)
                    self.reader.names.pop(target.target.value, None)
                    self.frame.plain.setdefault(target.target.value, []).append(part.value)

    def refuse_left(self, name: str, node: cst.CSTNode) -> None:
        if name in self.frame.names and not self.state.said.is_of_llm(self.frame.names[name]):
            raise UnrelatedMock(name)
        line = code(node).strip().splitlines()[0]
        raise CannotRewrite(f"the mock {name} is used in a way that is not known: {line}", RECORDED, node)


class _Lines(cst.CSTTransformer):
    """Rewrites the lines within a compound statement."""

    def __init__(self, statements: StatementRewriter) -> None:
        self.statements = statements

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.FlattenSentinel[cst.BaseStatement]:
        return cst.FlattenSentinel(self.statements.nested_lines(original_node))

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False


def _asserted_plainly(node: cst.BaseStatement) -> cst.BaseStatement:
    """`assert x` for `assert bool(x)`."""
    part = small(node)
    if isinstance(part, cst.Assert):
        test = part.test
        negated = isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not)
        inner = test.expression if isinstance(test, cst.UnaryOperation) and negated else test
        if m.matches(inner, m.Call(m.Name("bool"), [m.Arg(m.Attribute(m.Name("mock_llm_calls")))])):
            plain = cst.ensure_type(inner, cst.Call).args[0].value
            new = test.with_changes(expression=plain) if negated else plain
            return node.with_changes(body=[part.with_changes(test=new)])
    return node
