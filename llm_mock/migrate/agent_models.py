"""Rewrite functions that replace the model of an agent of pydantic-ai by one of fixed replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from llm_mock.migrate.body import (
    BlockRewriter,
    LocalDefinition,
    Part,
    Slot,
    assemble_body,
    collect_comments,
    new_with_slot,
)
from llm_mock.migrate.conftests import is_fixture, is_for_one_test
from llm_mock.migrate.fixed_models import (
    AGENTS,
    FUNCTION_MODEL,
    SEE_TEST_MODEL,
    TEST_MODEL,
    FixedModel,
    convert_function_model,
    convert_test_model,
)
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.parameters import arrange_parameters, insert_fixtures
from llm_mock.migrate.preparations import MODEL_SWITCH, format_preparation
from llm_mock.migrate.scope import Scope, collect_parametrized_values
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import (
    collect_bound_names,
    collect_names,
    count_bindings,
    find_local_names,
    find_nodes,
    get_assigned_name,
    get_first_line,
    get_keyword,
    get_parameter_names,
    get_small_statement,
    get_string,
    is_docstring,
    split_block,
    to_source,
)
from llm_mock.migrate.value_types import is_pure

_OVERRIDE = "override"
_METHODS = (
    _OVERRIDE,
    "iter",
    "run",
    "run_stream",
    "run_stream_events",
    "run_stream_sync",
    "run_sync",
)
"""The methods of an agent that take a model."""
_FAKES = (TEST_MODEL, FUNCTION_MODEL)
_SWITCHES = (MODEL_SWITCH, "override_allow_model_requests")
# Arguments of an agent that do not add tools.
_PLAIN_ARGUMENTS = (
    "defer_model_check",
    "deps_type",
    "instructions",
    "model",
    "model_settings",
    "name",
    "output_type",
    "retries",
    "system_prompt",
)


def rewrite_agent_models(
    function: cst.FunctionDef,
    module: cst.Module,
    scope: Scope,
    environment: Sequence[str] = (),
) -> cst.FunctionDef | None:
    """Return a function that configures replies instead of fixed models for its agents.

    Args:
        function: a test or a fixture.
        module: its file.
        scope: the names of the file.
        environment: what the new test needs to be set, as a run of it showed.

    Returns:
        The new function; None if it gives no such model to an agent.

    Raises:
        CannotRewrite: a model is not fixed, or the test uses it for another purpose.
    """
    return _AgentModelRewriter(function, module, scope).rewrite(environment)


def sets_model_switch(module: cst.Module) -> bool:
    """Return whether a file sets `ALLOW_MODEL_REQUESTS`, with which real models refuse requests."""
    for target in find_nodes(module, cst.AssignTarget):
        if _get_last_name(target.target) == MODEL_SWITCH:
            return True
    return False


@dataclass(frozen=True)
class _StrippedItem:
    """An item of a `with` without the model that it gave to an agent.

    Attributes:
        item: the item; None if nothing is left of it.
        model: the model.
        is_override: whether the model was that of the agent for the whole block.
    """

    item: cst.WithItem | None
    model: FixedModel | None = None
    is_override: bool = False


class _AgentModelRewriter:
    def __init__(self, function: cst.FunctionDef, module: cst.Module, scope: Scope) -> None:
        self.function = function
        self.module = module
        self.local_names = find_local_names(function)
        self.scope = scope.copy_for_function(self.local_names)
        for import_line in find_nodes(function, cst.Import):
            self.scope.add_import(import_line)
        for import_from in find_nodes(function, cst.ImportFrom):
            self.scope.add_import(import_from)
        self.table = SymbolTable(self.scope)
        self.table.plain.update(collect_parametrized_values(function))
        self.inner_names = _collect_inner_names(function)
        self.changing = self.inner_names | _find_rebound_names(function)
        """The names that may have another value by the time a model is called."""
        self.functions: dict[str, cst.FunctionDef] = {}
        """The functions that the function defines itself."""
        self.assigned: dict[str, cst.BaseExpression] = {}
        """The values of the names that are bound once."""
        self._collect_definitions()
        self.standing: tuple[str, ...] = ()
        """The statements that configured the replies so far."""
        self.is_overridden = False

    def _collect_definitions(self) -> None:
        for definition in find_nodes(self.function.body, cst.FunctionDef):
            self.functions[definition.name.value] = definition
        for assignment in find_nodes(self.function.body, cst.Assign):
            name = get_assigned_name(assignment)
            if not name:
                continue
            self.table.plain.setdefault(name, []).append(assignment.value)
            if name not in self.changing:
                self.assigned[name] = assignment.value

    def rewrite(self, environment: Sequence[str]) -> cst.FunctionDef | None:
        """Rewrite the function; return None if no agent in it has a model with fixed replies."""
        if not self._has_model(self.function.body):
            return None
        self._check_function()
        body = split_block(self.function.body)
        parts: list[Part] = []
        if body and is_docstring(body[0]):
            parts.append(body.pop(0))
        lines = [format_preparation(name) for name in environment]
        parts.append(Slot(lines=lines))
        parts += self.rewrite_block(body)
        new_body = assemble_body(parts, is_whole=True)
        block = new_body.replace(self.function.body)
        self._check_names(block)
        if any(map(self._is_fake, find_nodes(block, cst.Call))):
            # It is used in another way, too.
            return None
        fixtures = ["mock_llm_responses"]
        if environment:
            fixtures.append("monkeypatch")
        parameters = self.function.params
        kept = insert_fixtures(parameters.params, fixtures)
        arranged = arrange_parameters(kept, self.function)
        return self.function.with_changes(
            params=parameters.with_changes(params=arranged),
            body=block,
        )

    def _check_function(self) -> None:
        """Refuse a function that depends on the old model, or has several values."""
        if is_fixture(self.function) and not is_for_one_test(self.function):
            raise CannotRewrite(
                "the fixture replaces an agent's model, and several tests may share the fixture",
                "Use @pytest.fixture without arguments, then run the command again.",
                self.function.name,
            )
        for node in find_nodes(self.function, cst.Name, cst.SimpleString):
            text = node.value if isinstance(node, cst.Name) else get_string(node)
            if text in _SWITCHES:
                raise CannotRewrite(
                    f"the test uses {text}, which may make the real model refuse requests",
                    "Remove it, because llm_mock already blocks requests to providers, then run "
                    "the command again.",
                    node,
                )
            if text == "capture_run_messages":
                raise CannotRewrite(
                    "the test uses capture_run_messages, and the captured messages contain the "
                    "name of the model",
                    "Check the messages of each call in mock_llm_calls.calls instead. "
                    f"{SEE_TEST_MODEL}",
                    node,
                )

    def _check_names(self, block: cst.BaseSuite) -> None:
        """Refuse a function that reads a model, which the new one does not have."""
        used = collect_names(block)
        for name, value in self.assigned.items():
            if not self._is_fake(value) or name not in used:
                continue
            raise CannotRewrite(
                f"the test uses {name} for something other than an agent's model",
                "Read the request instead: mock_llm_calls.last_call has the tools, the system "
                f"prompt and the messages. {SEE_TEST_MODEL}",
                value,
            )

    def rewrite_block(self, body: Sequence[cst.BaseStatement]) -> list[Part]:
        """Rewrite the statements of a block."""
        parts: list[Part] = []
        for node in body:
            if isinstance(node, cst.With):
                parts += self._rewrite_with(node)
            elif isinstance(node, cst.SimpleStatementLine):
                parts += self._rewrite_line(node)
            elif isinstance(node, cst.FunctionDef) and self._is_of_model(node):
                parts.append(LocalDefinition(node, frozenset({node.name.value})))
            else:
                parts.append(self._rewrite_compound(node))
        return parts

    def _rewrite_with(self, node: cst.With) -> list[Part]:
        """Remove the models from a `with`, and the `with` itself if nothing else is left."""
        stripped = [self._strip_item(item) for item in node.items]
        models = [each.model for each in stripped if each.model is not None]
        if not models:
            return [self._rewrite_compound(node)]
        kept = [each.item for each in stripped if each.item is not None]
        slot = _open_slot(node, stripped)
        slot.lines = self._configure(models, node)
        was_overridden = self.is_overridden
        self.is_overridden |= any(each.is_override for each in stripped)
        inner = self.rewrite_block(split_block(node.body))
        self.is_overridden = was_overridden
        if kept:
            return [slot, _replace_items(node, kept, inner)]
        footer = getattr(node.body, "footer", ())
        end = Slot(comments=collect_comments(*footer))
        return [slot, *inner, end]

    def _strip_item(self, item: cst.WithItem) -> _StrippedItem:
        """Return an item of a `with` statement without the model that it passes to an agent."""
        argument = self._find_model(item.item)
        if argument is None:
            return _StrippedItem(item)
        call = cst.ensure_type(item.item, cst.Call)
        model = self._convert(call, argument)
        new = _remove_argument(call, argument)
        is_override = _get_last_name(call.func) == _OVERRIDE
        if is_override and not new.args and item.asname is None:
            return _StrippedItem(None, model, is_override)
        changed = item.with_changes(item=new)
        return _StrippedItem(
            changed,
            model,
            is_override,
        )

    def _rewrite_line(self, node: cst.SimpleStatementLine) -> list[Part]:
        """Rewrite a simple statement; one that only makes a model goes."""
        part = get_small_statement(node)
        if isinstance(part, (cst.Import, cst.ImportFrom)):
            return [self._rewrite_import(node, part)]
        if isinstance(part, cst.Assign) and self._is_fake(part.value):
            name = get_assigned_name(part)
            return [Slot.replace(node) if name in self.assigned else node]
        return self._rewrite_runs(node)

    def _rewrite_import(
        self,
        node: cst.SimpleStatementLine,
        part: cst.Import | cst.ImportFrom,
    ) -> Part:
        """Return an import, which goes if only the old models need it."""
        names = self.scope.add_import(part)
        for name in names:
            if not self.scope.imports[name].startswith("pydantic_ai"):
                return node
        return LocalDefinition(node, names)

    def _rewrite_runs(self, node: cst.SimpleStatementLine) -> list[Part]:
        """Remove the models from the runs of agents in a statement."""
        changed = node
        models = []
        comments = collect_comments(*node.leading_lines)
        for call in find_nodes(node, cst.Call):
            argument = self._find_model(call)
            if argument is None or _get_last_name(call.func) == _OVERRIDE:
                continue
            models.append(self._convert(call, argument))
            comments += collect_comments(argument)
            stripped = _remove_argument(call, argument)
            new = changed.deep_replace(call, stripped)
            changed = cst.ensure_type(new, cst.SimpleStatementLine)
        if not models:
            return [node]
        lines = self._configure(models, node)
        blank_lines = [line for line in node.leading_lines if line.comment is None]
        slot = Slot(
            blank_lines,
            comments,
            lines,
        )
        without_comments = changed.with_changes(leading_lines=[])
        return [slot, without_comments]

    def _rewrite_compound(self, node: cst.BaseStatement) -> cst.BaseStatement:
        """Rewrite the blocks of a loop, a condition, a function or another `with`."""
        if not self._has_model(node):
            return node
        # A block may not run, or may run again.
        self.standing = ()
        changed = node.visit(BlockRewriter(self.rewrite_block))
        self.standing = ()
        assert isinstance(changed, cst.BaseStatement)
        return changed

    def _configure(
        self,
        models: Sequence[FixedModel],
        node: cst.CSTNode,
    ) -> list[str]:
        """Return the statements for some models, except statements that are still in effect."""
        first, *others = models
        is_ambiguous = any(other != first or first.is_queue for other in others)
        if is_ambiguous or self.is_overridden:
            line = get_first_line(node).removesuffix(":")
            raise CannotRewrite(
                f"several agents have fake models at the same time: {line}",
                "Configure a reply for the model of each agent: "
                f"mock_llm_responses.set(model, reply). {SEE_TEST_MODEL}",
                node,
            )
        if first.statements == self.standing and not first.is_queue:
            return []
        self.standing = first.statements
        return [*first.statements]

    def _convert(self, call: cst.Call, argument: cst.Arg) -> FixedModel:
        """Return the replies of the model that is passed to a method of an agent."""
        agent = cst.ensure_type(call.func, cst.Attribute).value
        self._check_agent(agent)
        fake = self._resolve(argument.value)
        assert isinstance(fake, cst.Call)
        if self.scope.qualify(fake.func) != TEST_MODEL:
            return self._convert_function_model(fake)
        is_named = fake is not argument.value
        if self._may_change(fake, is_named):
            raise CannotRewrite(
                "the output of the TestModel may change before the agent runs: "
                f"{get_first_line(fake)}",
                "Create the TestModel in the `with` statement or the call that uses it, then run "
                "the command again.",
                fake,
            )
        may_have_tools = self._may_have_tools(agent)
        return convert_test_model(
            fake,
            self.table,
            may_have_tools=may_have_tools,
        )

    def _may_change(self, fake: cst.Call, is_named: bool) -> bool:
        """Return whether a model may have other arguments where its reply is configured."""
        used = collect_names(fake)
        if not is_named:
            return bool(used & self.inner_names)
        if used & self.changing:
            return True
        return not all(is_pure(argument.value, self.table) for argument in fake.args)

    def _convert_function_model(self, call: cst.Call) -> FixedModel:
        [*given] = call.args
        is_only = len(given) == 1 and _is_function_argument(given[0])
        function = given[0].value if is_only else None
        if isinstance(function, cst.Lambda):
            return convert_function_model(function, self.table, self.changing)
        name = function.value if isinstance(function, cst.Name) else ""
        if name in self.functions:
            definition = self.functions[name]
            return convert_function_model(definition, self.table, self.changing)
        if name in self.scope.functions:
            definition = self.scope.functions[name]
            # A name of the test hides that of the file.
            return convert_function_model(definition, self.table, self.local_names)
        raise CannotRewrite(
            f"the command cannot find the function of the FunctionModel: {get_first_line(call)}",
            "Configure a reply, or a function that receives the request and returns a reply: "
            f'mock_llm_responses.set("*", reply). {SEE_TEST_MODEL}',
            call,
        )

    def _find_model(self, node: cst.CSTNode) -> cst.Arg | None:
        """Return the argument of a method of an agent that is a model of fixed replies."""
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return None
        if node.func.attr.value not in _METHODS:
            return None
        for argument in node.args:
            if get_keyword(argument) != "model":
                continue
            if self._resolve(argument.value) is not None:
                return argument
        return None

    def _has_model(self, node: cst.CSTNode) -> bool:
        return any(map(self._find_model, find_nodes(node, cst.Call)))

    def _resolve(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """Return the call that makes a model of fixed replies; None for another expression."""
        if isinstance(node, cst.Name):
            node = self.assigned.get(node.value, node)
        return node if self._is_fake(node) else None

    def _is_fake(self, node: cst.CSTNode) -> bool:
        return isinstance(node, cst.Call) and self.scope.qualify(node.func) in _FAKES

    def _is_of_model(self, function: cst.FunctionDef) -> bool:
        """Return whether a function within the test is that of a FunctionModel."""
        for call in filter(self._is_fake, find_nodes(self.function, cst.Call)):
            if function.name.value in collect_names(call):
                return True
        return False

    def _list_agents(self, node: cst.BaseExpression) -> list[cst.Call]:
        """Return the calls that may make an agent in the file; none if they are unknown."""
        if not isinstance(node, cst.Name):
            return []
        name = node.value
        values = self.table.plain.get(name, [])
        if name not in self.local_names and name in self.scope.constants:
            values = [self.scope.constants[name]]
        agents = []
        for value in values:
            if isinstance(value, cst.Call) and self.scope.qualify(value.func) in AGENTS:
                agents.append(value)
        return agents

    def _check_agent(self, node: cst.BaseExpression) -> None:
        """Refuse an agent of the file without a model of production."""
        for call in self._list_agents(node):
            if self._has_real_model(call):
                continue
            raise CannotRewrite(
                f"the agent {to_source(node)} has no real model",
                'Pass a real model, such as Agent("openai:gpt-5"), then run the command again.',
                node,
            )

    def _has_real_model(self, call: cst.Call) -> bool:
        """Return whether an agent is made with a model that is not one of tests."""
        for number, argument in enumerate(call.args):
            if argument.star:
                return True
            keyword = get_keyword(argument)
            is_model = number == 0 and not keyword
            if is_model or keyword == "model":
                is_test = get_string(argument.value) == "test"
                return not is_test and self._resolve(argument.value) is None
        return False

    def _may_have_tools(self, agent: cst.BaseExpression) -> bool:
        """Return whether an agent may have tools, which is known of agents of the file only."""
        name = to_source(agent)
        calls = self._list_agents(agent)
        if len(calls) != 1 or name in self.changing:
            return True
        if not _has_plain_arguments(calls[0]):
            return True
        for attribute in find_nodes(self.module, cst.Attribute):
            is_of_agent = to_source(attribute.value) == name
            if is_of_agent and attribute.attr.value.startswith("tool"):
                return True
        for argument in find_nodes(self.module, cst.Arg):
            # Another function may add tools to it.
            if to_source(argument.value) == name:
                return True
        return False


def _get_last_name(node: cst.CSTNode) -> str:
    """Return the last name of `a.b.c`; empty for another expression."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _collect_inner_names(function: cst.FunctionDef) -> frozenset[str]:
    """Return the names of comprehensions and lambdas, which the test itself does not have."""
    names: set[str] = set()
    for loop in find_nodes(function, cst.CompFor):
        names |= collect_bound_names(loop)
    for inner in find_nodes(function, cst.Lambda):
        names.update(get_parameter_names(inner))
    return frozenset(names)


def _find_rebound_names(function: cst.FunctionDef) -> frozenset[str]:
    """Return the names that a function binds more than once, its parameters included."""
    counts = count_bindings(function.body)
    counts.update(get_parameter_names(function))
    for loop in find_nodes(function.body, cst.For):
        # It binds its names each time.
        counts.update(collect_bound_names(loop))
    return frozenset(name for name, number in counts.items() if number > 1)


def _has_plain_arguments(call: cst.Call) -> bool:
    """Return whether the call of an agent's class passes no tools."""
    for number, argument in enumerate(call.args):
        keyword = get_keyword(argument)
        is_model = number == 0 and not keyword
        is_plain = is_model or keyword in _PLAIN_ARGUMENTS
        if argument.star or not is_plain:
            return False
    return True


def _open_slot(node: cst.With, stripped: Sequence[_StrippedItem]) -> Slot:
    """Return the slot of a `with`, with the comments of the items of which nothing is left."""
    removed = []
    for item, each in zip(node.items, stripped, strict=True):
        if each.item is None:
            removed.append(item)
    slot = new_with_slot(node, removed)
    is_last_removed = removed[-1:] == [node.items[-1]]
    is_whole = len(removed) == len(stripped)
    if is_last_removed and not is_whole and isinstance(node.rpar, cst.RightParen):
        # The comment on the last item is within the parenthesis.
        slot.comments += collect_comments(node.rpar)
    return slot


def _replace_items(
    node: cst.With,
    items: list[cst.WithItem],
    parts: Sequence[Part],
) -> cst.With:
    """Return a `with` statement with its remaining items and a new body."""
    last = node.items[-1]
    parenthesis = node.rpar
    if items[-1].comma is not last.comma:
        own = cst.ensure_type(items[-1].comma, cst.Comma).whitespace_after
        if isinstance(parenthesis, cst.RightParen):
            space = _merge_space(parenthesis.whitespace_before, own)
            parenthesis = parenthesis.with_changes(whitespace_before=space)
        items[-1] = items[-1].with_changes(comma=last.comma)
    body = assemble_body(parts)
    return node.with_changes(
        items=items,
        rpar=parenthesis,
        body=body.replace(node.body),
        leading_lines=[],
    )


def _is_function_argument(argument: cst.Arg) -> bool:
    return get_keyword(argument) in ("", "function") and not argument.star


def _remove_argument(call: cst.Call, argument: cst.Arg) -> cst.Call:
    """Return a call without an argument."""
    kept = [each for each in call.args if each is not argument]
    if kept and argument is call.args[-1]:
        # Keep a trailing comma, and a parenthesis on a separate line.
        own = cst.ensure_type(kept[-1].comma, cst.Comma).whitespace_after
        comma = argument.comma
        if isinstance(comma, cst.Comma):
            space = _merge_space(comma.whitespace_after, own)
            comma = comma.with_changes(whitespace_after=space)
        kept[-1] = kept[-1].with_changes(
            comma=comma,
            whitespace_after_arg=_merge_space(argument.whitespace_after_arg, own),
        )
    return call.with_changes(args=kept)


def _merge_space(
    space: cst.BaseParenthesizableWhitespace,
    own: cst.BaseParenthesizableWhitespace,
) -> cst.BaseParenthesizableWhitespace:
    """Return the whitespace behind a removed part, with the comment on the part before it.

    Args:
        space: the whitespace behind the removed part.
        own: that between both parts.
    """
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return space
    first_line = cst.TrailingWhitespace()
    if isinstance(own, cst.ParenthesizedWhitespace):
        first_line = own.first_line
    return space.with_changes(first_line=first_line)
