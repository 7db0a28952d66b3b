"""Rewrites what a test reads from its mocks (counts, arguments) to the calls that `llm_mock` recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.doubles import LegacyMock, PatchedGetter, TestDouble, Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import ANY_MODEL, LEARN, find_models, find_prompt_methods, model_argument
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import code, collect_names, expression, get_index, get_int, get_string

ALL = "mock_llm_calls"
LAST_CALL = f"{ALL}.last_call"
ALL_MODELS = "mock_llm_calls.models"
PRIVATE_CALLS = "mock_llm_responses.calls"
"""The same calls, where a project may have a fixture `mock_llm_calls` of its own."""
RECORDED = "What was asked is in mock_llm_calls.calls: prompt, model_id, kwargs (system, schema, tools), options."
IN_KWARGS = ("system", "schema")
UNKNOWN_KEYWORDS = ("tools", "attachments", "fragments", "system_fragments", "stream", "key", "messages", "response")


@dataclass(frozen=True)
class CallList:
    """The recorded calls, as an expression; `private` where they are those of the first specification's mock."""

    source: str
    private: bool = False


@dataclass(frozen=True)
class SingleCall:
    """One recorded call, as an expression; `of_getter` where it is a call of `get_model` itself."""

    source: str
    of_getter: bool = False
    private: bool = False


@dataclass(frozen=True)
class PositionalArguments:
    """The arguments of a call by position."""

    call: SingleCall


@dataclass(frozen=True)
class KeywordArguments:
    """The arguments of a call by name."""

    call: SingleCall


Read = CallList | SingleCall | PositionalArguments | KeywordArguments


class CallReader:
    """Knows what the mocks of one test were for.

    Args:
        frame: the names of the test.
        getters: what was patched so far; it may grow.
        id_of: the model id that a name stands for.
    """

    def __init__(self, frame: SymbolTable, getters: list[PatchedGetter], id_of: Callable[[str], str]) -> None:
        self.frame = frame
        self.getters = getters
        self.names: dict[str, Read] = {}
        """Names that stand for recorded calls."""
        self.loops: set[str] = set()
        """Those of them that stay, because they are variables of loops over calls."""
        self.counted = False
        """Whether the test says how often something was called."""
        self.seen: dict[str, list[str]] = {}
        """The names of models that assertions on each patched target have in them."""
        self.id_of = id_of

    def role(self, double: Value) -> tuple[str, PatchedGetter, str] | None:
        """What a mock is: `getter` or `asked`, of which patch, and for which model."""
        for getter in self.getters:
            if double is getter.double:
                return "getter", getter, ANY_MODEL
            if isinstance(getter.double, LegacyMock):
                continue
            for model, each in find_models(getter):
                if any(double is asked for asked in find_prompt_methods(each)):
                    return "asked", getter, model
        return None

    def owner_of(self, getter: PatchedGetter, model: str) -> str:
        """The expression for what has the calls of what was asked: the mock for all models, or one model."""
        shared = sum(not each.double.is_blank for each in self.getters) > 1 or len(find_models(getter)) > 1
        if not shared:
            return ALL
        others = [each for each in self.getters if each is not getter and not each.double.is_blank]
        if any(model in each.ids for each in others):
            raise CannotRewrite(
                f"two patches stand for {model}, and how often it was called is asked of one of them",
                "Make two tests of it, or count the calls of both: mock_llm_calls.calls.",
            )
        if model == ANY_MODEL:
            raise CannotRewrite("several mocks stand for models whose ids are not in the source", LEARN)
        return f"mock_llm_calls.get_model({model_argument(model)})"

    def rewritten(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """An expression in which nothing is read from a mock any more.

        Raises:
            CannotRewrite: something is read that is not known.
        """
        result = node.visit(_Rewriting(self))
        assert isinstance(result, cst.BaseExpression)
        return result

    def rewritten_node(self, node: cst.CSTNode) -> cst.CSTNode:
        """The same of a statement."""
        result = node.visit(_Rewriting(self))
        assert isinstance(result, cst.CSTNode)
        return result

    def left(self, node: cst.CSTNode) -> set[str]:
        """The names of mocks, or of what was read from them, that a node still has."""
        names = collect_names(node)
        loops = {name for name in self.loops & names if not _is_record(name, node)}
        return self.frame.mentions(node) | (names & self.names.keys() - self.loops) | loops

    def looped(self, node: cst.For | cst.CompFor) -> None:
        """Remember the variable of a loop over calls."""
        calls = self.read(node.iter)
        if not isinstance(calls, CallList) or not isinstance(node.target, cst.Name):
            return
        name = node.target.value
        if name in self.names and name not in self.loops:
            raise CannotRewrite(
                f"the name {name} stands for two things", "Rename one of them, then run this again.", node
            )
        self.names[name] = SingleCall(name, private=calls.private)
        self.loops.add(name)

    def read(self, node: cst.BaseExpression) -> Read | cst.BaseExpression | None:
        """What an expression reads from a mock; None where it reads nothing that is known."""
        if isinstance(node, cst.Name):
            return self.names.get(node.value)
        if not self.left(node):
            return None
        if isinstance(node, cst.Attribute):
            return self._attribute(node)
        if isinstance(node, cst.Subscript):
            return self._subscript(node)
        if isinstance(node, cst.Call):
            return self._call(node)
        if isinstance(node, cst.Comparison):
            return self._comparison(node)
        return None

    def _attribute(self, node: cst.Attribute) -> Read | cst.BaseExpression | None:
        name = node.attr.value
        base = self.read(node.value)
        if isinstance(base, SingleCall):
            return PositionalArguments(base) if name == "args" else KeywordArguments(base) if name == "kwargs" else None
        if base is not None or not self.frame.mentions(node.value):
            return None
        double = self.frame.value(node.value)
        if isinstance(double, LegacyMock) and name == "call_history":
            self.counted = True
            return CallList(PRIVATE_CALLS, private=True)
        name = name.replace("await_", "call_").replace("awaited", "called")
        known = ("call_count", "called", "call_args", "call_args_list", "mock_calls")
        if not isinstance(double, TestDouble) or name not in known:
            return None
        role = self.role(double)
        if role is None:
            raise CannotRewrite(
                f"{code(node)} counts calls of something that llm_mock does not replace", RECORDED, node
            )
        kind, getter, model = role
        self.counted = True
        if kind == "getter":
            return self._of_getter(name, node)
        owner = self.owner_of(getter, model)
        calls = f"{owner}.{'calls' if owner == ALL else 'call_history'}"
        if name == "call_count":
            return expression(f"len({calls})")
        if name == "called":
            return expression(f"bool({calls})")
        return SingleCall(f"{owner}.last_call") if name == "call_args" else CallList(calls)

    def _of_getter(self, name: str, node: cst.BaseExpression) -> Read | cst.BaseExpression:
        if name == "called":
            return expression(f"bool({ALL_MODELS})")
        if name == "call_args":
            return SingleCall(LAST_CALL, of_getter=True)
        raise CannotRewrite(
            f"{code(node)}: how often a model is obtained is not recorded",
            f"{ALL_MODELS} has the models that were asked for, {ALL}.calls every call of one.",
            node,
        )

    def _subscript(self, node: cst.Subscript) -> Read | cst.BaseExpression | None:
        base, index = self.read(node.value), get_index(node)
        if index is None:
            return None
        number = get_int(index)
        if isinstance(base, CallList) and number is not None:
            return SingleCall(f"{base.source}[{number}]", private=base.private)
        if isinstance(base, SingleCall) and base.private:
            name = get_string(index)
            return None if name is None else self._field(base, name)
        if isinstance(base, SingleCall) and number in (0, 1):
            return KeywordArguments(base) if number else PositionalArguments(base)
        if isinstance(base, PositionalArguments) and number == 0:
            return expression(f'{base.call.source}["{"model_id" if base.call.of_getter else "prompt"}"]')
        if isinstance(base, KeywordArguments) and (name := get_string(index)):
            return self._keyword(base, name, node)
        return None

    def _field(self, call: SingleCall, name: str) -> cst.BaseExpression:
        """What a record of the first specification's mock has, in a record of `llm_mock`."""
        if name in ("model", "model_name", "model_id"):
            return expression(f'{call.source}["model_id"]')
        if name in ("prompt", "response"):
            return expression(f'{call.source}["{name}"]')
        return expression(f'{call.source}["{"kwargs" if name in IN_KWARGS else "options"}"]["{name}"]')

    def _keyword(
        self, keywords: KeywordArguments, name: str, node: cst.BaseExpression, get: bool = False
    ) -> cst.BaseExpression:
        call = keywords.call.source
        if keywords.call.of_getter or name in UNKNOWN_KEYWORDS:
            raise CannotRewrite(f"{code(node)} has no counterpart of the same form", RECORDED, node)
        if name == "prompt":
            return expression(f'{call}["prompt"]')
        where = f'{call}["{"kwargs" if name in IN_KWARGS else "options"}"]'
        return expression(f'{where}.get("{name}")' if get and name != "schema" else f'{where}["{name}"]')

    def _call(self, node: cst.Call) -> Read | cst.BaseExpression | None:
        function = node.func
        if isinstance(function, cst.Name) and function.value == "len" and len(node.args) == 1:
            counted = self.read(node.args[0].value)
            return expression(f"len({counted.source})") if isinstance(counted, CallList) else None
        if isinstance(function, cst.Attribute) and function.attr.value == "get" and node.args:
            base, name = self.read(function.value), get_string(node.args[0].value)
            none = len(node.args) == 1 or code(node.args[1].value) == "None"
            if isinstance(base, KeywordArguments) and name is not None and none:
                return self._keyword(base, name, node, get=True)
        return None

    def _comparison(self, node: cst.Comparison) -> cst.BaseExpression | None:
        if len(node.comparisons) != 1:
            return None
        [target] = node.comparisons
        left, right = node.left, target.comparator
        if isinstance(target.operator, (cst.In, cst.NotIn)) and isinstance(
            inside := self.read(right), KeywordArguments
        ):
            name = get_string(left)
            if name is None or name == "schema" or name in UNKNOWN_KEYWORDS or inside.call.of_getter:
                raise CannotRewrite(f"{code(node)} has no counterpart of the same form", RECORDED, node)
            where = "kwargs" if name in IN_KWARGS else "options"
            return node.with_changes(
                comparisons=[target.with_changes(comparator=expression(f'{inside.call.source}["{where}"]'))]
            )
        if self._is_schema(left):
            return self._schema(node, left, target, right)
        if self._is_model(left) and (name := get_string(right)) is not None:
            return node.with_changes(
                left=self.rewritten(left),
                comparisons=[target.with_changes(comparator=expression(model_argument(self.known(name, left))))],
            )
        return None

    def known(self, name: str, node: cst.BaseExpression) -> str:
        """The id of a model that an assertion names, which is then known to be asked for."""
        for getter in self.getters:
            self.seen.setdefault(getter.target, []).append(name)
        return self.id_of(name)

    def _is_schema(self, node: cst.BaseExpression) -> bool:
        read = self.read(node)
        return isinstance(read, cst.BaseExpression) and code(read).endswith('["kwargs"]["schema"]')

    def _is_model(self, node: cst.BaseExpression) -> bool:
        read = self.read(node)
        return isinstance(read, cst.BaseExpression) and code(read).endswith('["model_id"]')

    def _schema(
        self, node: cst.Comparison, left: cst.BaseExpression, target: cst.ComparisonTarget, right: cst.BaseExpression
    ) -> cst.BaseExpression:
        if code(right) == "None":
            return node.with_changes(left=self.rewritten(left))
        operators: dict[type[cst.BaseCompOp], cst.BaseCompOp] = {cst.Is: cst.Equal(), cst.IsNot: cst.NotEqual()}
        operator = operators.get(type(target.operator), target.operator)
        return node.with_changes(
            left=self.rewritten(left), comparisons=[cst.ComparisonTarget(operator, get_schema_name(right))]
        )


def _is_record(name: str, node: cst.CSTNode) -> bool:
    """Whether the variable of a loop is only used as a record is: `call["prompt"]`."""
    every = m.findall(node, m.Name(name))
    key = m.SubscriptElement(m.Index(m.SimpleString()))
    records = [
        found.value for found in m.findall(node, m.Subscript(m.Name(name), [key])) if isinstance(found, cst.Subscript)
    ]
    targets = [
        found.target for found in m.findall(node, m.CompFor() | m.For()) if isinstance(found, (cst.CompFor, cst.For))
    ]
    return all(any(each is known for known in [*records, *targets]) for each in every)


def get_schema_name(node: cst.BaseExpression) -> cst.BaseExpression:
    """The name by which a record has a schema, of the class that a test names.

    Raises:
        CannotRewrite: it is no class.
    """
    name = node.attr.value if isinstance(node, cst.Attribute) else getattr(node, "value", "")
    if not isinstance(node, (cst.Name, cst.Attribute)) or not name[:1].isupper() or name.isupper():
        raise CannotRewrite(
            f"whether {code(node)} is a class is not known", 'The record of a call has its name: ["kwargs"]["schema"].'
        )
    return expression(f"{code(node)}.__name__")


class _Rewriting(cst.CSTTransformer):
    def __init__(self, reader: CallReader) -> None:
        self.reader = reader

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> object:  # type: ignore[override]
        if isinstance(original_node, (cst.Attribute, cst.Subscript, cst.Call, cst.Comparison)):
            read = self.reader.read(original_node)
            if isinstance(read, cst.BaseExpression):
                return read
        return super().on_leave(original_node, updated_node)

    def visit_ListComp(self, node: cst.ListComp) -> None:
        self.reader.looped(node.for_in)

    def visit_GeneratorExp(self, node: cst.GeneratorExp) -> None:
        self.reader.looped(node.for_in)

    def leave_CompFor(self, original_node: cst.CompFor, updated_node: cst.CompFor) -> cst.CompFor:
        calls = self.reader.read(original_node.iter)
        return updated_node.with_changes(iter=expression(calls.source)) if isinstance(calls, CallList) else updated_node
