"""Rewrite the statements of a test."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from typing import TypeVar, cast

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.argument_logs import APPENDING_CALL
from llm_mock.migrate.assertions import convert_assertion, get_assertion_name
from llm_mock.migrate.assigned_modules import AssignedModules
from llm_mock.migrate.body import (
    BlockRewriter,
    Body,
    LocalDefinition,
    Part,
    Slot,
    assemble_body,
    collect_comments,
    get_leading_lines,
    is_empty,
    new_with_slot,
    strip_blank_start,
)
from llm_mock.migrate.call_values import (
    CallList,
    CallValue,
    KeptItems,
    KeywordArguments,
    PositionalArguments,
    SingleCall,
)
from llm_mock.migrate.doubles import (
    ArgumentLog,
    LegacyMock,
    PlainCode,
    SideEffectList,
    TestDouble,
    Value,
)
from llm_mock.migrate.fakes import apply_configuration
from llm_mock.migrate.function_state import FunctionState, UnrelatedMock
from llm_mock.migrate.http_replies import is_response
from llm_mock.migrate.kept_names import keep_name
from llm_mock.migrate.legacy_mock import OUR_MOCK, convert_set_response
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.marked_names import mark_name
from llm_mock.migrate.patches import (
    CannotRewritePatch,
    Patch,
    ends_with_test,
    parse_assigned_module,
    parse_patch,
    replies_to_prompts,
    wrap_class,
)
from llm_mock.migrate.recorded_calls import ALL, SEE_CALLS, format_history
from llm_mock.migrate.started_patches import StartedPatches
from llm_mock.migrate.syntax import (
    collect_names,
    find_nodes,
    get_assigned_name,
    get_first_line,
    get_small_statement,
    has_call,
    is_docstring,
    parse_expression,
    parse_statement,
    split_block,
    strip_leading_lines,
    to_source,
)
from llm_mock.migrate.targets import GETTERS, LIBRARY, LISTINGS
from llm_mock.migrate.value_types import is_error, is_literal

_METHOD_OF_NAME = m.Call(m.Attribute(m.Name()))
_RESULT = m.Name("return_value") | m.Name("side_effect")
# `library.get_models.return_value = [model]`
_RESULT_OF_MEMBER = m.Assign([m.AssignTarget(m.Attribute(m.Attribute(m.Name()), _RESULT))])
# Methods of a project's own mock.
_SET_RESPONSE = m.Call(m.Attribute(attr=m.Name("set_response")))
_RESET = m.Call(m.Attribute(attr=m.Name("reset")), [])
_UNPACKED = "the test unpacks the arguments of a call in an unsupported way"


class StatementRewriter:
    """Rewrites the statements of a function in order.

    Args:
        state: the function; its values, slots and replies grow with each statement.
    """

    def __init__(self, state: FunctionState) -> None:
        self.state = state
        self.table = state.table
        self.reader = state.reader
        self.started_patches = StartedPatches(self._parse_patch)
        self.assigned_modules = AssignedModules(state.function, self.table.scope)
        self._nesting = 0
        self._route_slot = Slot()
        """The end of the block in which the routes of respx are active."""
        self._route_names: set[str] = set()
        """The names that the removed routes and their data use."""

    def rewrite(self) -> list[Part]:
        """Rewrite the body of the function."""
        self.state.add_router()
        self.state.transports.check()
        body = split_block(self.state.function.body)
        parts: list[Part] = []
        if body and is_docstring(body[0]):
            docstring = body.pop(0)
            line = cst.ensure_type(docstring, cst.SimpleStatementLine)
            parts.append(line)
        # Replies of decorators and fixtures go to the start of the body.
        parts.append(self.state.slots[0])
        parts += self._rewrite_block(body)
        self.started_patches.check_ends(self.state.function)
        self.assigned_modules.check_ends()
        self.state.routes.check_all_rewritten()
        self.state.transports.check_all_rewritten()
        if self._needs_call():
            self._route_slot.lines.append(f"assert {format_history(ALL)}")
        if self._route_slot not in parts:
            parts.append(self._route_slot)
        return [self._release(part) for part in parts]

    def _release(self, part: Part) -> Part:
        """Return data as a definition, which is removed if only an old route used it."""
        if not isinstance(part, cst.SimpleStatementLine):
            return part
        statement = _drop_annotation(get_small_statement(part))
        if not isinstance(statement, cst.Assign):
            return part
        value = statement.value
        names = frozenset(_list_assigned_names(statement))
        is_of_route = bool(names) and names <= self._route_names
        if is_of_route and (is_literal(value) or is_response(value, self.table)):
            return LocalDefinition(part, names)
        return part

    def _needs_call(self) -> bool:
        """Return whether the new test must assert that there was a call, as respx did."""
        state = self.state
        if not state.routes.patches or not state.routes.checks_routes:
            return False
        kinds = {reply.kind for reply in state.replies.replies.values()}
        # Each queued reply must be used.
        return not state.reader.expects_calls and kinds != {"queue"}

    def _rewrite_block(self, body: Sequence[cst.BaseStatement]) -> list[Part]:
        parts: list[Part] = []
        for node in body:
            try:
                rewritten = self._rewrite_restore(node) or self._rewrite_transport(node)
                parts += rewritten or self._rewrite_statement(node)
            except CannotRewrite as error:
                error.node = error.node or node
                if not self.state.context.partial or not _is_assertion(node):
                    raise
                self.state.todos.append(error)
                parts.append(_new_todo(node, error))
        return parts

    def _rewrite_transport(self, node: cst.BaseStatement) -> list[Part]:
        """Remove a fake transport, alone or from a client; return nothing for another statement."""
        transports = self.state.transports
        is_first = transports.start(node)
        if is_first:
            self._refuse_nested(node, CannotRewritePatch)
            self.state.add_getters(transports.patches)
        if transports.makes_transport(node):
            return [self._add_slot(Slot.replace(node, configures=True))]
        changed = transports.remove(node)
        slot = Slot(comments=transports.take_comments())
        if is_first:
            # The reply goes between the blank lines above the client and the client.
            leading = get_leading_lines(node)
            slot.blank_lines = [line for line in leading if line.comment is None]
            changed = strip_blank_start(changed)
            self._add_slot(slot)
        elif changed is node:
            return []
        return [slot, *self._rewrite_statement(changed)]

    def _rewrite_statement(self, node: cst.BaseStatement) -> list[Part]:
        if isinstance(node, cst.With):
            return self._rewrite_with(node)
        if isinstance(node, cst.FunctionDef):
            name = node.name.value
            self.table.functions[name] = (node, self.table)
            earlier = self.table.definitions.get(name)
            if earlier is not None and earlier.is_replaced:
                raise CannotRewrite(
                    f"{name} replies to prompts, but the test redefines it",
                    "Rename one of the functions, then run the command again.",
                )
            definition = LocalDefinition(node, frozenset({name}))
            self.table.definitions[name] = definition
            return [definition]
        if isinstance(node, cst.ClassDef):
            name = node.name.value
            self.table.scope.classes[name] = node
            return [LocalDefinition(node, frozenset({name}))]
        if isinstance(node, cst.BaseCompoundStatement):
            return self._rewrite_compound(node)
        part = get_small_statement(node)
        if part is not None:
            line = cst.ensure_type(node, cst.SimpleStatementLine)
            if self.table.find_checked_classes(line):
                return self._keep_check(line)
            rewritten = self._rewrite_mock_statement(line, part)
            if rewritten is not None:
                return rewritten
        return self._rewrite_other_statement(node)

    def _rewrite_with(self, node: cst.With) -> list[Part]:
        """Remove the patches of a `with` statement, and the statement if no item remains."""
        items = []
        removed = []
        for item in node.items:
            wrapped = self._apply_with_item(node, item)
            if wrapped:
                items.append(item.with_changes(item=wrap_class(item.item, wrapped)))
            elif wrapped is not None:
                removed.append(item)
            else:
                expression = self.reader.rewrite(item.item)
                items.append(item.with_changes(item=expression))
        parts: list[Part] = []
        leading = node.leading_lines
        if removed:
            # The slot takes the comments, too.
            parts.append(self._add_slot(new_with_slot(node, removed)))
            leading = []
        if not items:
            parts += self._rewrite_block(split_block(node.body))
            footer = getattr(node.body, "footer", ())
            if self._starts_router(node):
                parts.append(self._route_slot)
            return [*parts, Slot(comments=collect_comments(*footer))]
        body = self._rewrite_whole(node)
        if node.items[-1] in removed:
            items[-1] = items[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        changed = node.with_changes(
            items=items,
            body=body.replace(node.body),
            leading_lines=leading,
        )
        return [*parts, changed]

    def _starts_router(self, node: cst.With) -> bool:
        return any(self.state.routes.is_opening(item.item) for item in node.items)

    def _apply_with_item(self, node: cst.With, item: cst.WithItem) -> str | None:
        """Apply an item that is a patch; return None for any other.

        Returns:
            The class that the patch goes on to wrap; empty if it is removed.
        """
        if self.state.routes.is_opening(item.item):
            self._refuse_nested(node, CannotRewritePatch)
            return ""
        if self.state.transports.makes_transport(item.item):
            return ""
        named = self.started_patches.find_named(item.item)
        patch = named or self._parse_patch(item.item)
        if patch is None:
            return None
        self._refuse_nested(node, CannotRewritePatch)
        if item.asname is not None:
            name = item.asname.name
        else:
            name = None
        if not isinstance(name, cst.Name):
            self.state.add_patch(patch)
            return ""
        self.table.values[name.value] = patch.value
        if named is not None:
            self.state.add_patch(patch)
            return ""
        return self.state.add_named_patch(patch, name.value)

    def _rewrite_finally(self, node: cst.Try) -> list[Part]:
        """Rewrite a `try` with only a `finally`, whose body always runs."""
        final = cst.ensure_type(node.finalbody, cst.Finally)
        if self.assigned_modules.is_restore(split_block(final.body)):
            return self._rewrite_restoring(node, final)
        body = self._rewrite_whole(node)
        self._nesting += 1
        # The cleanup may run after any statement of the body.
        changed = final.visit(BlockRewriter(self._rewrite_block))
        self._nesting -= 1
        return [node.with_changes(body=body.replace(node.body), finalbody=changed)]

    def _rewrite_restoring(self, node: cst.Try, final: cst.Finally) -> list[Part]:
        """Replace a `try` that only restores modules with its body."""
        self._refuse_nested(node, CannotRewritePatch)
        leading = Slot(comments=collect_comments(*node.leading_lines))
        parts = [self._add_slot(leading), *self._rewrite_block(split_block(node.body))]
        if not self._restore_modules(split_block(final.body)):
            raise CannotRewrite("the test restores a module that no mock replaces", node=final)
        return [*parts, Slot(comments=collect_comments(final))]

    def _rewrite_restore(self, node: cst.BaseStatement) -> list[Part]:
        """Remove a statement that only restores real modules; return nothing for another one."""
        if self._restore_modules([node]):
            return [self._add_slot(Slot.replace(node))]
        return []

    def _restore_modules(self, nodes: Sequence[cst.BaseStatement]) -> bool:
        """Note statements that only restore real modules; return False for others."""
        if not self.assigned_modules.restore(nodes):
            return False
        if self._nesting:
            raise CannotRewritePatch(
                "sys.modules is restored under a condition or together with other cleanup",
                "Use `with patch.dict(sys.modules, …)`, then run the command again.",
                nodes[0],
            )
        self.started_patches.has_stopped = True
        return True

    def _replace_module(self, node: cst.SimpleStatementLine, part: cst.Assign) -> bool:
        """Apply `sys.modules["openai"] = mock`, or note the module that was there before it."""
        name = self.assigned_modules.save(part)
        if name is not None:
            module = TestDouble(has_any_attribute=False)
            # Another use of it is refused as that of a mock.
            self.table.values[name] = module
            self.state.replies.replacements.append(module)
            return True
        patch = parse_assigned_module(part, self.table)
        if patch is None:
            return False
        self._refuse_nested(node, CannotRewritePatch)
        self.state.add_patch(patch)
        self.assigned_modules.start(part)
        return True

    def _rewrite_whole(self, node: cst.With | cst.Try) -> Body:
        """Rewrite a block that runs once from start to end."""
        # The replies so far belong before the block, and those of its end into it.
        self.state.replies.update()
        parts = self._rewrite_block(split_block(node.body))
        self.state.replies.update()
        body = assemble_body(parts)
        if is_empty(body.statements):
            raise CannotRewrite("no statement would remain in the block", node=node)
        return body

    def _parse_patch(self, node: cst.BaseExpression) -> Patch | None:
        return parse_patch(node, self.table, self.state.context.path)

    def _rewrite_compound(self, node: cst.BaseCompoundStatement) -> list[Part]:
        """Rewrite a loop, a condition or a `try`, which may read mocks but not configure them."""
        if isinstance(node, cst.Try) and not node.handlers:
            return self._rewrite_finally(node)
        self._nesting += 1
        if isinstance(node, cst.For):
            calls = self.reader.read(node.iter)
            self.reader.add_loop(node)
            if isinstance(calls, CallList):
                node = node.with_changes(iter=parse_expression(calls.source))
        if has_call(node):
            self.state.replies.update()
        changed = node.visit(BlockRewriter(self._rewrite_block))
        self._nesting -= 1
        assert isinstance(changed, cst.BaseCompoundStatement)
        return self._rewrite_other_statement(changed)

    def _refuse_nested(
        self,
        node: cst.CSTNode,
        error: type[CannotRewrite] = CannotRewrite,
    ) -> None:
        if self._nesting:
            raise error("mocks are configured in a loop or under a condition", node=node)

    def _rewrite_mock_statement(
        self,
        node: cst.SimpleStatementLine,
        part: cst.BaseSmallStatement,
    ) -> list[Part] | None:
        """Rewrite a statement that only concerns mocks; return None for any other."""
        part = _drop_annotation(part)
        if isinstance(part, (cst.Import, cst.ImportFrom)):
            return [LocalDefinition(node, self.table.scope.add_import(part))]
        container = self._rewrite_container(node, part)
        if container is not None:
            return [container]
        has_yield = isinstance(getattr(part, "value", None), cst.Yield)
        if has_yield or isinstance(part, cst.Return):
            return self._rewrite_given_value(node, part)
        # The order matters: an assertion or a patch is an expression too, and a value that
        # is read from a call is not a mock to configure.
        if isinstance(part, cst.Expr):
            rewritten = self._rewrite_expression_statement(node, part)
        elif isinstance(part, cst.Assign):
            rewritten = self._rewrite_assignment(node, part)
        else:
            rewritten = None
        if rewritten is not None:
            return rewritten
        if isinstance(part, cst.Assign) and self._is_read(part.value):
            return None
        return self._rewrite_configuration(node, part)

    def _add_log(self, part: cst.BaseSmallStatement) -> bool:
        """Add the list or dict in which fakes may keep arguments; return False for another."""
        name = get_assigned_name(part)
        if self._nesting or name not in self.state.containers:
            return False
        self.table.values[name] = ArgumentLog()
        return True

    def _rewrite_container(
        self,
        node: cst.SimpleStatementLine,
        part: cst.BaseSmallStatement,
    ) -> Part | None:
        """Rewrite a statement that starts a log or a route, or starts or fills a list of mocks.

        Returns:
            What it becomes; None for any other statement.
        """
        if self._add_log(part) or self._add_route(node, part):
            return self._add_slot(Slot.replace(node, configures=True))
        lists = self.state.filled_lists & collect_names(part)
        if not lists:
            return None
        if get_assigned_name(part) in lists:
            return LocalDefinition(node, lists)
        if self._append_mock(part):
            self._refuse_nested(node)
            return self._add_slot(Slot.replace(node, configures=True))
        # A mock may use the list from here on, including items appended later.
        self.state.filled_lists -= lists
        return None

    def _append_mock(self, part: cst.BaseSmallStatement) -> bool:
        """Apply `replies.append(Mock())`; return False for any other statement."""
        if not isinstance(part, cst.Expr) or not m.matches(part.value, APPENDING_CALL):
            return False
        call = cst.ensure_type(part.value, cst.Call)
        [argument] = call.args
        # A value read from a call is not a mock.
        if self._is_read(argument.value):
            return False
        name = to_source(cst.ensure_type(call.func, cst.Attribute).value)
        given = self.table.evaluate(argument.value)
        earlier = self.table.values.get(name)
        items: tuple[Value, ...] = ()
        if isinstance(earlier, SideEffectList):
            items = earlier.values
        elif isinstance(given, PlainCode) and not is_error(given.node, self.table):
            return False
        self.table.values[name] = SideEffectList((*items, given))
        return True

    def _rewrite_library(self, node: cst.SimpleStatementLine, part: cst.Assign) -> Part | None:
        """Rewrite a statement about a whole library; return None for any other."""
        if self._replace_module(node, part):
            return self._add_slot(Slot.replace(node))
        return self._rewrite_listing(node, part)

    def _rewrite_listing(
        self,
        node: cst.SimpleStatementLine,
        part: cst.Assign,
    ) -> cst.SimpleStatementLine | None:
        """Patch a function that lists models if the old test mocks its whole library.

        Returns:
            The patch; None for a statement that does not configure such a function.
        """
        if not m.matches(part, _RESULT_OF_MEMBER):
            return None
        result = cst.ensure_type(part.targets[0].target, cst.Attribute)
        member = cst.ensure_type(result.value, cst.Attribute)
        name = member.attr.value
        library = self.table.evaluate(member.value)
        if name not in LISTINGS or not _is_library(library):
            return None
        mock_class = self.table.scope.find_mock_class()
        listed = self.table.evaluate(part.value)
        if mock_class is None or replies_to_prompts(listed):
            return None
        self._refuse_nested(node)
        keyword = result.attr.value
        source = to_source(part.value)
        new = f"{mock_class}({keyword}={source})"
        line = f'monkeypatch.setattr("{LIBRARY}.{name}", {new})'
        [patch] = _replace_line(node, [line])
        assert isinstance(patch, cst.SimpleStatementLine)
        reads = sorted(self.reader.find_reads(patch))
        if reads:
            self.refuse_read(reads[0], node)
        self.state.lists_models = True
        return patch

    def _keep_check(self, node: cst.SimpleStatementLine) -> list[Part]:
        """Keep a statement about the calls of a class, which its patch still records."""
        others = sorted(self.reader.find_reads(node))
        if others:
            self.refuse_read(others[0], node)
        self._forget_assigned(node)
        return [node]

    def _rewrite_expression_statement(
        self,
        node: cst.SimpleStatementLine,
        part: cst.Expr,
    ) -> list[Part] | None:
        value = part.value
        if get_assertion_name(value) and self.table.find_mocks(value):
            return self._rewrite_assertion(node, cst.ensure_type(value, cst.Call))
        started = self.started_patches.find_started(value)
        if started is not None:
            return [self._apply_patch(node, started)]
        if self.started_patches.stop(value):
            self._refuse_nested(node, CannotRewritePatch)
            return [self._add_slot(Slot.replace(node))]
        patch = self._parse_patch(value)
        if patch is not None:
            return [self._rewrite_patch(node, cst.ensure_type(value, cst.Call), patch)]
        return self._rewrite_legacy_call(node, value)

    def _rewrite_legacy_call(
        self,
        node: cst.SimpleStatementLine,
        value: cst.BaseExpression,
    ) -> list[Part] | None:
        """Rewrite `set_response(…)` or `reset()` of a project's own mock; None for others."""
        mock = self._find_legacy_mock(value, _RESET)
        if mock is not None and self.reader.find_role(mock) is not None:
            self.state.replies.update()
            return _replace_line(node, [f"{OUR_MOCK}.reset()"])
        mock = self._find_legacy_mock(value, _SET_RESPONSE)
        if mock is None:
            return None
        lines: list[str] = []
        if self.reader.find_role(mock) is None:
            # The replies given when it was made come first.
            lines += mock.statements
            mock.statements = ()
        else:
            self.state.replies.update()
        lines.append(convert_set_response(cst.ensure_type(value, cst.Call)))
        return _replace_line(node, lines)

    def _add_route(self, node: cst.SimpleStatementLine, part: cst.BaseSmallStatement) -> bool:
        """Apply `route = router.post(url)`, named or not; return False for another statement."""
        if not isinstance(part, (cst.Expr, cst.Assign)):
            return False
        route = self.state.routes.apply(part.value)
        if route is None:
            return False
        self._refuse_nested(node, CannotRewritePatch)
        self.state.add_getters(self.state.routes.patches)
        self._route_names |= self._collect_route_names(part.value)
        if isinstance(part, cst.Expr):
            return True
        names = _list_assigned_names(part)
        if len(names) != len(part.targets):
            raise CannotRewritePatch(
                f"the route is not assigned to exactly one local variable: {get_first_line(node)}",
                "Assign it to a local variable, then run the command again.",
                node,
            )
        self.table.values[names[0]] = route
        return True

    def _collect_route_names(self, value: cst.BaseExpression) -> set[str]:
        """Return the names in an expression and in the data that it refers to."""
        names: set[str] = set()
        pending = set(collect_names(value))
        while pending:
            name = pending.pop()
            names.add(name)
            for node in self.table.plain.get(name, ()):
                pending |= collect_names(node) - names
        return names

    def _rewrite_assignment(
        self,
        node: cst.SimpleStatementLine,
        part: cst.Assign,
    ) -> list[Part] | None:
        library = self._rewrite_library(node, part)
        if library is not None:
            return [library]
        started = self.started_patches.find_started(part.value)
        patch = started or self._parse_patch(part.value)
        if patch is None:
            items = self._bind_items(node, part)
            if items is not None:
                return items
            return self._bind_call(node, part)
        [target, *others] = part.targets
        name = getattr(target.target, "value", "")
        if others or not isinstance(target.target, cst.Name):
            raise CannotRewritePatch(
                f"the patch is not assigned to exactly one local variable: {get_first_line(node)}",
                "Patch in each test or in a fixture, then run the command again.",
                node,
            )
        call = cst.ensure_type(part.value, cst.Call)
        if started is None and not ends_with_test(call):
            # It replaces nothing before `name.start()`.
            self.started_patches.add(name, patch)
            slot = self._add_slot(Slot.replace(node))
        else:
            slot = self._apply_patch(node, patch)
        self.table.values[name] = patch.value
        return [slot]

    def _rewrite_configuration(
        self,
        node: cst.SimpleStatementLine,
        part: cst.BaseSmallStatement,
    ) -> list[Part] | None:
        if isinstance(part, cst.Pass) or not apply_configuration(part, self.table):
            return None
        self._refuse_nested(node)
        names = [name for name in _list_assigned_names(part) if name in self.state.clients]
        if names:
            return self._rewrite_clients(node, names)
        return [self._add_slot(Slot.replace(node, configures=True))]

    def _rewrite_clients(
        self,
        node: cst.SimpleStatementLine,
        names: Sequence[str],
    ) -> list[Part]:
        """Replace mocks of clients with real clients, which the test passes to the application."""
        lines = [self.new_client(name, node) for name in names]
        return [*_replace_line(node, lines), self._add_slot(Slot())]

    def new_client(self, name: str, node: cst.CSTNode) -> str:
        """Return the statement that makes a real client under the name of a mock."""
        self.state.add_client(name)
        client_class = self.state.clients[name]
        library, _, class_name = client_class.rpartition(".")
        module = self.table.scope.name_library(library, node)
        return f"{name} = {module}.{class_name}()"

    def _find_legacy_mock(self, node: cst.BaseExpression, pattern: m.Call) -> LegacyMock | None:
        """Return the mock whose method an expression calls, or None."""
        if not m.matches(node, pattern):
            return None
        call = cst.ensure_type(node, cst.Call)
        function = cst.ensure_type(call.func, cst.Attribute)
        if not self.table.find_mocks(function):
            return None
        mock = self.table.evaluate(function.value)
        return mock if isinstance(mock, LegacyMock) else None

    def _add_slot(self, slot: Slot) -> Slot:
        self.state.slots.append(slot)
        return slot

    def _rewrite_assertion(
        self,
        node: cst.SimpleStatementLine,
        call: cst.Call,
    ) -> list[Part]:
        return _replace_line(node, convert_assertion(call, self.reader))

    def _rewrite_patch(
        self,
        node: cst.SimpleStatementLine,
        call: cst.Call,
        patch: Patch,
    ) -> Slot:
        """Remove `monkeypatch.setattr(…)` or `mocker.patch(…)`."""
        if not ends_with_test(call):
            raise CannotRewritePatch(
                "a patch is neither started nor used in a `with` statement",
                node=node,
            )
        return self._apply_patch(node, patch)

    def _apply_patch(self, node: cst.SimpleStatementLine, patch: Patch) -> Slot:
        """Remove a statement that patches from here to the end of the test."""
        self._refuse_nested(node, CannotRewritePatch)
        self.state.add_patch(patch)
        return self._add_slot(Slot.replace(node))

    def _rewrite_given_value(
        self,
        node: cst.SimpleStatementLine,
        part: cst.BaseSmallStatement,
    ) -> list[Part] | None:
        """Remove the mock that a fixture gives to its tests, which no longer need it."""
        if not self.state.is_fixture or self._nesting:
            return None
        value = self._evaluate_given(_get_given_expression(part))
        if isinstance(value, PlainCode) and to_source(value.node) != "None":
            if self.state.getters:
                raise CannotRewrite("the fixture provides a value other than the mock")
            return None
        self.state.replies.update()
        slot = self._add_slot(Slot.replace(node))
        parts: list[Part] = [slot]
        self.state.given_value = value
        if isinstance(part, cst.Expr):
            # The statements after the yield run after the test.
            parts.append(parse_statement("yield"))
        else:
            self.state.given_slot = slot
        return parts

    def _evaluate_given(self, node: cst.BaseExpression | None) -> Value | None:
        """Return the value that a fixture provides to its tests, or None."""
        if node is None:
            return None
        value = self.table.evaluate(node)
        is_log = isinstance(value, ArgumentLog) and isinstance(node, cst.Name)
        if is_log and not self.state.replies.replaces_llm(value):
            # The list does not record calls to a model.
            raise UnrelatedMock(to_source(node))
        return value

    def _bind_items(
        self,
        node: cst.SimpleStatementLine,
        part: cst.Assign,
    ) -> list[Part] | None:
        """Apply `text, kwargs = calls[0]` if a fake keeps pairs; return None for others."""
        [first, *others] = part.targets
        value = self.reader.read(part.value)
        if others or not isinstance(value, KeptItems):
            return None
        if not isinstance(first.target, cst.Tuple):
            return None
        elements = first.target.elements
        names = [_get_unpacked_name(element) for element in elements]
        if len(names) != len(value.items):
            raise CannotRewrite(_UNPACKED)
        lines = []
        for position, name in enumerate(names):
            if name == "_":
                continue
            item = self.reader.read_kept_item(
                value,
                str(position),
                part.value,
            )
            if not isinstance(item, cst.BaseExpression):
                self.reader.bind(name, item)
                continue
            source = f"{name} = {to_source(item)}"
            self._forget_assigned(parse_statement(source))
            lines.append(source)
        if lines:
            return _replace_line(node, lines)
        return [self._add_slot(Slot.replace(node))]

    def _bind_call(
        self,
        node: cst.SimpleStatementLine,
        part: cst.Assign,
    ) -> list[Part] | None:
        """Apply `call = prompt.call_args` or `args, kwargs = prompt.call_args`."""
        value = self.reader.read(part.value)
        if value is None or isinstance(value, cst.BaseExpression):
            return None
        if len(part.targets) != 1:
            return None
        target = part.targets[0].target
        if isinstance(target, cst.Name):
            return [self._bind_name(node, target.value, value)]
        if not isinstance(target, cst.Tuple) or not isinstance(value, SingleCall):
            return None
        if len(target.elements) != 2:
            return None
        args, kwargs = map(_get_unpacked_name, target.elements)
        self.reader.bind(args, PositionalArguments(value))
        return [self._bind_name(node, kwargs, KeywordArguments(value))]

    def _bind_name(self, node: cst.SimpleStatementLine, name: str, value: CallValue) -> Part:
        """Bind a name to a value of a call, and return the rest of its statement."""
        kept = keep_name(name, value, self.state.function)
        if kept is None:
            self.reader.bind(name, value)
            return self._add_slot(Slot.replace(node))
        new_value, source = kept
        self.reader.bind(name, new_value)
        marked = mark_name(name)
        [statement] = _replace_line(node, [f"{marked} = {source}"])
        assert isinstance(statement, cst.BaseStatement)
        return LocalDefinition(statement, frozenset({marked}))

    def _is_read(self, node: cst.BaseExpression | None) -> bool:
        """Return whether an expression reads mocks only in ways that can be rewritten."""
        # Without a read it may be a mock to configure.
        if node is None or not self.reader.find_reads(node):
            return False
        return not self.reader.find_reads(self.reader.rewrite(node))

    def _rewrite_other_statement(self, node: cst.BaseStatement) -> list[Part]:
        """Keep a statement, with its reads of mocks rewritten."""
        runs_application = self._may_run_application(node)
        changed = self.reader.rewrite_node(node)
        assert isinstance(changed, cst.BaseStatement)
        if runs_application:
            if self.started_patches.has_stopped:
                raise CannotRewritePatch(
                    "a call after the patch is stopped may reach a real model",
                    "Move the call before patcher.stop(), then run the command again.",
                    node,
                )
            self.reader.forget_last_calls()
        self._forget_assigned(changed)
        reads = sorted(self.reader.find_reads(changed))
        if reads:
            self.refuse_read(reads[0], node)
        # Calls in this statement need the replies configured so far.
        if has_call(changed):
            self.state.replies.update()
        return [_simplify_assertion(changed)]

    def _may_run_application(self, node: cst.BaseStatement) -> bool:
        # A statement that reads calls does not run the application.
        if self.reader.find_reads(node):
            return False
        for call in find_nodes(node, cst.Call):
            function = self.table.scope.qualify(call.func)
            module = function.partition(".")[0]
            if module not in sys.stdlib_module_names and not hasattr(builtins, function):
                return True
        return False

    def _forget_assigned(self, node: cst.CSTNode) -> None:
        part = _drop_annotation(get_small_statement(node))
        if isinstance(part, cst.Expr) and m.matches(part.value, _METHOD_OF_NAME):
            self._forget_value(cst.ensure_type(part.value, cst.Call).func)
        if not isinstance(part, cst.Assign):
            return
        for target in part.targets:
            if isinstance(target.target, cst.Name):
                name = target.target.value
                # From here on, the name has another value.
                self.table.values.pop(name, None)
                self.reader.names.pop(name, None)
                self.table.plain.setdefault(name, []).append(part.value)
            else:
                self._forget_value(target.target)

    def _forget_value(self, node: cst.BaseExpression) -> None:
        """Forget the value of a name whose item, attribute or method a statement uses."""
        owner = getattr(node, "value", None)
        if isinstance(owner, cst.Name) and owner.value in self.table.plain:
            # From here on, the name may have one of several values.
            self.table.plain[owner.value].append(node)

    def refuse_read(self, name: str, node: cst.CSTNode) -> None:
        """Raise the error for a mock that is still used after rewriting."""
        value = self.table.values.get(name)
        if value is not None and not self.state.replies.replaces_llm(value):
            raise UnrelatedMock(name)
        raise CannotRewrite(
            f"this use of the mock {name} cannot be converted: {get_first_line(node)}",
            SEE_CALLS,
            node,
        )


def _is_library(value: Value) -> bool:
    """Return whether a value replaces the whole `llm` module."""
    if not isinstance(value, TestDouble) or not value.library:
        return False
    return value.attributes.keys() >= GETTERS.keys()


PartT = TypeVar("PartT", bound="cst.BaseSmallStatement | None")


def _drop_annotation(part: PartT) -> PartT | cst.Assign:
    """Return `name = value` for `name: type = value`, and any other statement as it is."""
    if not isinstance(part, cst.AnnAssign) or part.value is None:
        return part
    target = cst.AssignTarget(part.target)
    return cst.Assign([target], part.value)


def _get_unpacked_name(element: cst.BaseElement) -> str:
    """Return the name of one value of a pair.

    Raises:
        CannotRewrite: the element is starred, or unpacked again.
    """
    if isinstance(element, cst.Element) and isinstance(element.value, cst.Name):
        return element.value.value
    raise CannotRewrite(_UNPACKED)


def _list_assigned_names(part: cst.BaseSmallStatement) -> list[str]:
    """Return the names that a statement assigns to; none for other statements."""
    if not isinstance(part, cst.Assign):
        return []
    target = part.targets[0].target
    elements: list[cst.BaseExpression] = [target]
    if isinstance(target, cst.Tuple):
        elements = [element.value for element in target.elements]
    names = []
    for element in elements:
        if isinstance(element, cst.Name):
            names.append(element.value)
    return names


def _is_assertion(node: cst.BaseStatement) -> bool:
    """Return whether a statement is an `assert` or an assertion of `unittest.mock`."""
    part = get_small_statement(node)
    if isinstance(part, cst.Expr):
        return get_assertion_name(part.value) is not None
    return isinstance(part, cst.Assert)


def _new_todo(node: cst.BaseStatement, error: CannotRewrite) -> Slot:
    """Return an assertion as a comment, below the reason and what to write instead."""
    lines = [f"TODO llm-mock: {error.reason}. {error.advice}".replace("\n", " ")]
    lines += to_source(strip_leading_lines(node)).rstrip().splitlines()
    comments = get_leading_lines(node)
    for line in lines:
        comment = cst.Comment(f"# {line}")
        comments.append(cst.EmptyLine(comment=comment))
    return Slot(comments=comments)


def _replace_line(node: cst.SimpleStatementLine, lines: Sequence[str]) -> list[Part]:
    """Return statements with the comments of the one that they replace."""
    statements = [parse_statement(line) for line in lines]
    # Comments above go to the first line, a trailing comment to the last.
    leading = node.leading_lines
    statements[0] = statements[0].with_changes(leading_lines=leading)
    trailing = node.trailing_whitespace
    statements[-1] = statements[-1].with_changes(trailing_whitespace=trailing)
    return [*statements]


def _get_given_expression(part: cst.BaseSmallStatement) -> cst.BaseExpression | None:
    value = getattr(part, "value", None)
    if isinstance(value, cst.Yield):
        value = value.value
    return cast("cst.BaseExpression | None", value)


def _simplify_assertion(node: cst.BaseStatement) -> cst.BaseStatement:
    """Replace `assert bool(x)` with `assert x`, also after `not`."""
    part = get_small_statement(node)
    if not isinstance(part, cst.Assert):
        return node
    call = m.Call(m.Name("bool"), [m.Arg(m.MatchIfTrue(_reads_mock))])
    negated_call = m.UnaryOperation(m.Not(), call)
    test = part.test
    if m.matches(test, call):
        test = _unwrap_bool(test)
    elif m.matches(test, negated_call):
        negation = cst.ensure_type(test, cst.UnaryOperation)
        inner = _unwrap_bool(negation.expression)
        test = negation.with_changes(expression=inner)
    else:
        return node
    assertion = part.with_changes(test=test)
    return node.with_changes(body=[assertion])


def _reads_mock(node: cst.BaseExpression) -> bool:
    return to_source(node).startswith("mock_llm_calls.")


def _unwrap_bool(node: cst.BaseExpression) -> cst.BaseExpression:
    call = cst.ensure_type(node, cst.Call)
    return call.args[0].value
