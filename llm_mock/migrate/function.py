"""Rewrite one function: a test or a fixture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.body import Part, Slot, assemble_body, collect_comments
from llm_mock.migrate.conftests import find_unknown_names, is_for_one_test
from llm_mock.migrate.doubles import (
    LegacyMock,
    PatchedGetter,
    ReturnByName,
    SideEffectList,
    TestDouble,
    Value,
)
from llm_mock.migrate.function_state import (
    FileContext,
    FunctionState,
    RewrittenFunction,
    SharedFixtures,
    UnrelatedMock,
)
from llm_mock.migrate.http_routes import PatchedRoute
from llm_mock.migrate.legacy_mock import OUR_FIXTURES, find_legacy_fixture
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.marked_names import restore_names
from llm_mock.migrate.parameters import arrange_parameters, insert_fixtures
from llm_mock.migrate.patches import CannotRewritePatch, gives_argument, parse_patch, wrap_class
from llm_mock.migrate.preparations import format_preparation
from llm_mock.migrate.reply_functions import find_reply_functions, is_used_elsewhere
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.sdk_clients import PatchedClient, find_later_client, guess_client_class
from llm_mock.migrate.sdk_replies import replies_with_mocks
from llm_mock.migrate.statements import StatementRewriter
from llm_mock.migrate.symbol_table import CheckedClass, FunctionDouble, SymbolTable, UnknownUse
from llm_mock.migrate.syntax import (
    MODEL_NAMES,
    collect_names,
    find_nodes,
    get_parameter_names,
    get_small_statement,
    get_statements,
    to_source,
)

# Fixtures that are removed with the patches made through them.
PATCHING_FIXTURES = ("monkeypatch", "mocker")
_ANY_REPLY = """\
# The old mock returned another mock. Replace this text if the application parses it.
mock_llm_responses.set("*", "Hello")"""
# Such as `app.client.batches`.
_PART_OF_ATTRIBUTE = m.Attribute(m.Attribute())
_DOCSTRING = m.SimpleStatementLine([m.Expr(m.SimpleString() | m.ConcatenatedString())])


def rewrite_function(
    name: str,
    function: cst.FunctionDef,
    context: FileContext,
) -> RewrittenFunction:
    """Rewrite a function.

    Raises:
        CannotRewrite: it has a mock of `llm`, and its meaning is uncertain.
    """
    return _rewrite(name, function, context)[1]


def patches_llm(
    name: str,
    function: cst.FunctionDef,
    context: FileContext,
) -> bool:
    """Return whether a function patches `llm`, or may do so, as far as its calls show."""
    state = FunctionState(
        name,
        function,
        context,
        frozenset(),
        {},
        {},
        frozenset(),
    )
    return _FunctionRewriter(state).patches_llm()


def _rewrite(
    name: str,
    function: cst.FunctionDef,
    context: FileContext,
    shared: SharedFixtures | None = None,
) -> tuple[FunctionState, RewrittenFunction]:
    """Rewrite a function, and start again when a pass finds facts that affect all of it.

    A pass may find a name for an unrelated mock, or assertions that name models. It changes the
    mocks of the shared fixtures, so a test evaluates these again in each pass.
    """
    unrelated: frozenset[str] = frozenset()
    asserted_models: dict[str, Sequence[str]] = {}
    clients: dict[str, str] = dict(context.clients)
    checked: frozenset[str] = frozenset()
    problems: list[CannotRewrite] = []
    while True:
        state = FunctionState(
            name,
            function,
            context,
            unrelated,
            asserted_models,
            clients,
            checked,
            shared,
        )
        outcome: RewrittenFunction | CannotRewrite
        try:
            outcome = _FunctionRewriter(state).rewrite()
        except CheckedClass as found:
            checked |= {found.target}
            continue
        except UnrelatedMock as found:
            if _learn_client(found.name, state, clients):
                continue
            if found.name not in unrelated:
                unrelated |= {found.name}
                continue
            # A name that a patch binds refers to a mock in every pass.
            outcome = CannotRewrite(f"the purpose of the mock {found.name} is unknown")
        except CannotRewrite as error:
            outcome = error
        if not asserted_models:
            asserted_models = _collect_asserted_models(state)
            if asserted_models:
                continue
        if not isinstance(outcome, CannotRewrite):
            return state, outcome
        problems.append(outcome)
        unrelated |= _find_logs(state, problems[0])


def _find_logs(state: FunctionState, problem: CannotRewrite) -> frozenset[str]:
    """Return the names that a pass treated as logs; raise its problem if there are none.

    If these are not logs, the new reply function may keep recording its arguments.
    """
    logs = state.find_logs()
    if not logs:
        raise problem
    return logs


def _collect_asserted_models(state: FunctionState) -> dict[str, Sequence[str]]:
    """Return the models that assertions of a function name, by patched target."""
    models: dict[str, Sequence[str]] = {}
    for target, names in state.reader.asserted_models.items():
        models[target] = tuple(dict.fromkeys(names))
    return models


def _learn_client(name: str, state: FunctionState, clients: dict[str, str]) -> bool:
    """Register a mock as a client; return False if it is not one, or is registered already."""
    if name in clients:
        return False
    client_class = _guess_client_class(name, state)
    if client_class is None:
        return False
    clients[name] = client_class
    return True


def _guess_client_class(name: str, state: FunctionState) -> str | None:
    """Return the client class that a mock made in the function imitates, or None."""
    double = state.table.values.get(name)
    sdks = state.context.sdks
    if name in state.inherited:
        sdks |= state.inherited[name].sdks
    elif name in get_parameter_names(state.function):
        return None
    if state.is_fixture or not isinstance(double, TestDouble):
        return None
    client_class = guess_client_class(double, sdks)
    if client_class is not None or name in state.inherited:
        return client_class
    return find_later_client(
        name,
        double,
        state.function,
        sdks,
    )


class _FunctionRewriter:
    def __init__(self, state: FunctionState) -> None:
        self.state = state
        self.statements = StatementRewriter(state)
        self.parameters = [parameter.name.value for parameter in state.function.params.params]
        self.removed_parameters: set[str] = set()
        self.variables = state.context.environment.get(state.name, ())
        """The environment variables that the real client needs."""
        self.fixtures: set[str] = set()
        self.busy_fixtures: set[str] = set()
        """The fixtures that provide a mock without a patch and also do something else."""
        self.unknown_names: dict[str, str] = {}
        """The names that only a conftest.py has, each with the fixture whose mock uses it."""
        self.comments: list[cst.EmptyLine] = []
        """The comments of removed decorators."""

    def rewrite(self) -> RewrittenFunction:
        state = self.state
        for variable in self.variables:
            state.slots[0].lines.append(format_preparation(variable))
        try:
            # In the order of execution: decorators patch before fixtures and the body run.
            decorators = self._apply_decorators()
            self._apply_fixtures()
            parts = self.statements.rewrite()
            state.replies.update()
            state.reader.check_not_called()
            self._check_replies(parts)
        except CannotRewritePatch:
            raise
        except CannotRewrite as error:
            if state.getters or self.patches_llm():
                if error.node is not None:
                    self._refuse_unknown_names(error.node)
                self._check_used(error)
                raise
            if isinstance(error, UnknownUse) and _guess_client_class(error.name, state):
                raise UnrelatedMock(error.name) from None
            # The mock replaces something unrelated to models.
            return RewrittenFunction(None)
        if not state.getters:
            state.give = partial(
                self._give,
                decorators,
                parts,
            )
            does_more = self._does_more(parts)
            return RewrittenFunction(None, given_value=state.given_value, does_more=does_more)
        self._check_sdks()
        self._check_reached()
        self._check_busy_fixtures()
        self._check_kept_fixtures()
        self._check_unknown_names()
        node = self._assemble(decorators, parts)
        self._check_own_mocks(node)
        return RewrittenFunction(
            node,
            frozenset(self.fixtures),
            state.given_value,
            configures_nothing=all(map(_does_nothing, get_statements(node))),
            does_more=self._does_more(parts),
            todos=tuple(state.todos),
            givers=self._collect_givers(node),
            clients=state.clients,
        )

    def _check_own_mocks(self, node: cst.FunctionDef) -> None:
        """Refuse to remove the patch of a client if the test assigns its own mocks to that client.

        The new test would still mock the SDK by hand.
        """
        used = collect_names(node)
        if self.state.is_fixture or used.intersection(OUR_FIXTURES):
            return
        targets = self._list_mock_targets(node)
        mocks = set()
        for target in targets:
            if isinstance(target, cst.Name):
                mocks.add(target.value)
        parts = {}
        for target in targets:
            is_of_mock = not mocks.isdisjoint(collect_names(target))
            if m.matches(target, _PART_OF_ATTRIBUTE) and not is_of_mock:
                parts[to_source(target)] = target
        if not parts:
            return
        source = min(parts)
        raise CannotRewrite(
            f"the test replaces {source} with its own mock",
            "Mock the request that the real client sends: "
            "mock_llm_responses.on(method, path, body).",
            parts[source],
        )

    def _list_mock_targets(self, node: cst.FunctionDef) -> list[cst.BaseExpression]:
        """Return the targets to which a function assigns mocks."""
        targets: list[cst.BaseExpression] = []
        for statement in find_nodes(node.body, cst.Assign):
            if self._makes_mock(statement.value):
                [target, *_] = statement.targets
                targets.append(target.target)
        return targets

    def _makes_mock(self, node: cst.BaseExpression) -> bool:
        get_class = self.state.table.scope.get_mock_class
        calls = find_nodes(node, cst.Call)
        return any(get_class(call.func) is not None for call in calls)

    def _does_more(self, parts: list[Part]) -> bool:
        """Return whether the function or one of its fixtures does more than create mocks."""
        others = set(self.parameters) - self.removed_parameters
        if others.difference(PATCHING_FIXTURES):
            return True
        statements = [part for part in parts if isinstance(part, cst.BaseStatement)]
        return not all(_does_nothing(node) or m.matches(node, _DOCSTRING) for node in statements)

    def _give(
        self,
        decorators: list[cst.Decorator],
        parts: list[Part],
    ) -> cst.FunctionDef:
        """Return a fixture that returns its reply function instead of a mock."""
        state = self.state
        [name] = find_reply_functions(state.table)
        if state.given_slot is None:
            raise CannotRewrite(
                f"the fixture {state.name} yields a mock whose replies depend on the prompt",
                "Return the mock instead, then run the command again.",
            )
        state.given_slot.lines = [f"return {name}"]
        # The old annotation describes the mock.
        return self._assemble(decorators, parts).with_changes(returns=None)

    def _find_givers(self) -> set[str]:
        """Return the fixtures that give a reply function."""
        givers = self.state.givers.items()
        return {name for name, fixture in givers if find_reply_functions(fixture.table)}

    def _collect_givers(self, node: cst.FunctionDef) -> dict[str, cst.FunctionDef]:
        """Return the new nodes of the fixtures whose reply functions a test configures."""
        givers = {}
        for name in sorted(self._find_givers()):
            if is_used_elsewhere(name, node.body):
                raise CannotRewrite(
                    f"the fixture {name} replies to prompts, but the test also uses it directly",
                    "Use another fixture for that, then run the command again.",
                )
            givers[name] = self.state.givers[name].give()
        return givers

    def _check_used(self, error: CannotRewrite) -> None:
        """Raise another error if a mock that is used in an unknown way replaces no model."""
        if not isinstance(error, UnknownUse):
            return
        double = self.state.table.values.get(error.name)
        if isinstance(double, TestDouble) and not self.state.replies.replaces_llm(double):
            raise UnrelatedMock(error.name)

    def patches_llm(self) -> bool:
        """Return whether the function patches `llm` anywhere, as far as its calls show."""
        state = self.state
        if state.routes.is_used or state.routes.problem is not None:
            return True
        if state.transports.is_used:
            return True
        for call in find_nodes(state.function, cst.Call):
            try:
                if parse_patch(call, state.table, state.context.path) is not None:
                    return True
            except CannotRewrite as error:
                if isinstance(error, CannotRewritePatch):
                    return True
        return False

    def _apply_decorators(self) -> list[cst.Decorator]:
        """Apply the decorators that patch `llm`, and return the others."""
        kept: list[cst.Decorator] = []
        # A function may call the mock of a class `cls`.
        is_method = "::" in self.state.name and self.parameters[:1] in (["self"], ["cls"])
        pending = self.parameters[is_method:]
        # The decorator next to the function gives the first argument.
        for decorator in reversed(self.state.function.decorators):
            expression = decorator.decorator
            if self.state.routes.is_opening(expression):
                self.comments[:0] = collect_comments(decorator)
                continue
            patch = parse_patch(
                expression,
                self.state.table,
                self.state.context.path,
            )
            name = None
            if pending and gives_argument(expression, self.state.table.scope):
                name = pending.pop(0)
            if patch is None:
                kept.insert(0, decorator)
                continue
            if name is None:
                self.state.add_patch(patch)
            else:
                self.state.table.values[name] = patch.value
                wrapped = self.state.add_named_patch(patch, name)
                if wrapped:
                    new = wrap_class(expression, wrapped)
                    kept.insert(0, decorator.with_changes(decorator=new))
                    continue
                self.removed_parameters.add(name)
            self.comments[:0] = collect_comments(decorator)
        return kept

    def _apply_fixtures(self) -> None:
        state = self.state
        self.removed_parameters |= state.routes.fixtures
        legacy_fixture = find_legacy_fixture(state.function)
        fixtures = state.context.fixtures
        for name in self.parameters:
            if name in fixtures:
                # A fixture may override one of its own name.
                if name != state.name and name not in self.removed_parameters:
                    self._apply_fixture(name, fixtures[name])
            elif name == legacy_fixture:
                # It is defined in a conftest.py, so only its use tells what it is.
                double = LegacyMock(has_any_attribute=False)
                state.table.values[name] = double
                getter = PatchedGetter(name, double)
                state.getters.append(getter)
                self.removed_parameters.add(name)
            elif name in state.context.inherited and name not in self.removed_parameters:
                self._apply_inherited(name, state.context.inherited[name])

    def _apply_fixture(self, name: str, function: cst.FunctionDef) -> None:
        """Add the patches and replies of a fixture of the file."""
        state = self.state
        fixture, result = self._evaluate_fixture(name, state.context)
        if fixture.getters:
            state.add_getters(fixture.getters)
            configured = fixture.replies.replies
            state.replies.replies.update(configured)
            self.fixtures.add(name)
        if name in state.table.unrelated:
            return
        given_value = result.given_value
        if isinstance(given_value, FunctionDouble):
            _hide_names(
                function,
                given_value.closure,
                state.context.scope,
            )
        if isinstance(given_value, (TestDouble, SideEffectList, ReturnByName)):
            state.table.values[name] = given_value
        if given_value is not None and not fixture.getters:
            if isinstance(given_value, TestDouble) and result.does_more:
                self.busy_fixtures.add(name)
            fixture.table.fixture = name
            state.givers[name] = fixture
        if result.only_makes_mocks:
            self.removed_parameters.add(name)

    def _apply_inherited(self, name: str, conftest: FileContext) -> None:
        """Add the patches of a fixture in another file, which stays unchanged for other tests.

        The new test configures the replies of the fixture itself and no longer requests it.
        """
        state = self.state
        try:
            fixture, result = self._evaluate_fixture(name, conftest)
        except CannotRewrite as error:
            raise _new_inherited_problem(name, f"cannot be rewritten: {error.reason}") from None
        if not self._can_replace(name, conftest, result):
            return
        assert isinstance(result.given_value, TestDouble)
        state.replies.replacements += fixture.replies.replacements
        for getter in fixture.getters:
            state.add_getter(getter)
        state.table.values[name] = result.given_value
        state.inherited[name] = conftest
        self._collect_unknown_names(name, conftest)
        self.removed_parameters.add(name)
        if name in state.clients:
            line = self.statements.new_client(name, state.function.name)
            state.slots[0].lines.append(line)

    def _can_replace(
        self,
        name: str,
        conftest: FileContext,
        result: RewrittenFunction,
    ) -> bool:
        """Return whether a test can create the mock of a fixture itself.

        Raises:
            CannotRewritePatch: it cannot, and the fixture patches `llm`.
        """
        if result.given_value is None:
            # Its own file configures it; the test keeps requesting it.
            return False
        reason = self._find_difference(name, conftest, result)
        if reason is not None and self.state.shared[conftest.path, name][0].getters:
            raise _new_inherited_problem(name, reason)
        return reason is None

    def _evaluate_fixture(
        self,
        name: str,
        context: FileContext,
    ) -> tuple[FunctionState, RewrittenFunction]:
        """Rewrite a fixture once, because all fixtures of a test share its value."""
        key = context.path, name
        shared = self.state.shared
        if key not in shared:
            shared[key] = _rewrite(
                name,
                context.fixtures[name],
                context,
                shared,
            )
        return shared[key]

    def _find_difference(
        self,
        name: str,
        conftest: FileContext,
        result: RewrittenFunction,
    ) -> str | None:
        """Return why a test cannot replace a fixture, or None."""
        is_unrelated = name in self.state.table.unrelated
        if is_unrelated or not isinstance(result.given_value, TestDouble):
            return "provides a value other than its mock"
        if not is_for_one_test(conftest.fixtures[name]):
            return "has arguments, so several tests may share its mock"
        if result.does_more:
            return "does more than create mocks"
        return None

    def _collect_unknown_names(self, name: str, conftest: FileContext) -> None:
        """Add the names of a fixture's mocks that the file of the test does not have."""
        fixture = self.state.shared[conftest.path, name][0]
        roots = [fixture.given_value]
        roots += [getter.double for getter in fixture.getters]
        unknown = find_unknown_names(
            roots,
            self.state.context.scope,
            conftest.scope,
        )
        self.unknown_names |= dict.fromkeys(unknown, name)

    def _check_unknown_names(self) -> None:
        """Refuse a reply with a name that only the file of a fixture has."""
        if not self.unknown_names:
            return
        for slot in self.state.slots:
            for line in slot.lines:
                statement = cst.parse_module(line)
                self._refuse_unknown_names(statement)

    def _refuse_unknown_names(self, node: cst.CSTNode) -> None:
        used = collect_names(node)
        for name in sorted(used & self.unknown_names.keys()):
            fixture = self.unknown_names[name]
            reason = f"uses {name}, which is not defined in this file"
            raise _new_inherited_problem(fixture, reason)

    def _check_replies(self, parts: Sequence[Part]) -> None:
        if not self._needs_reply():
            return
        state = self.state
        may_be_any = all(map(_may_reply_anything, state.getters))
        # Without an assertion on calls, the test may be about the reply.
        if not may_be_any or not state.reader.expects_calls:
            raise CannotRewrite(
                "no reply is configured, so the model replies with another Mock",
                'Configure one: mock_llm_responses.set("*", reply).',
            )
        # The slots of inner blocks have their lines already.
        slots = [part for part in parts if isinstance(part, Slot)]
        configuring = [slot for slot in slots if slot.configures]
        # The old mock was configured before the application ran.
        first = configuring[0] if configuring else state.slots[0]
        first.lines.append(_ANY_REPLY)

    def _needs_reply(self) -> bool:
        state = self.state
        if not state.getters or state.replies.replies:
            return False
        # A test without a reply may still check calls, or leave the replies to others.
        may_lack_reply = any(map(_may_lack_reply, state.getters)) or self._has_silent_model()
        if state.reader.checks_calls or state.given_value or state.lists_models:
            may_lack_reply = True
        if state.reader.expects_calls and any(map(_is_of_sdk, state.getters)):
            may_lack_reply = False
        return not may_lack_reply

    def _has_silent_model(self) -> bool:
        """Return whether no model of the test has replies, because nothing reads them."""
        # A fixture may configure other objects of the application, too.
        if not self.removed_parameters.isdisjoint(self.state.context.fixtures):
            return False
        if self.state.inherited:
            return False
        models = [getter.double.return_value for getter in self.state.getters]
        return all(map(_is_silent, models))

    def _check_sdks(self) -> None:
        """Refuse to use the real SDK in a file that replaces its module."""
        for getter in self.state.getters:
            library = getter.library if isinstance(getter, PatchedClient) else ""
            if library in self.state.context.replaced_sdks:
                raise CannotRewrite(
                    f'the file replaces sys.modules["{library}"] for all of its tests',
                    "Remove that assignment: the new test needs the real SDK.",
                )

    def _check_reached(self) -> None:
        """Refuse to remove mocks that never replaced a part of `llm`."""
        if self.state.is_fixture:
            return
        for name, value in self.state.table.values.items():
            is_own = name in self.parameters and name not in self.state.inherited
            if is_own or not isinstance(value, TestDouble):
                continue
            if not self.state.replies.replaces_llm(value):
                raise UnrelatedMock(name)

    def _check_busy_fixtures(self) -> None:
        """Refuse to replace a mock that other code of its fixture may need."""
        # A fixture that returns a reply function keeps its other code.
        giving_mocks = self.busy_fixtures - self._find_givers()
        for name in sorted(giving_mocks):
            value = self.state.table.values[name]
            if not self.state.replies.replaces_llm(value):
                raise UnrelatedMock(name)
            raise CannotRewrite(
                f"the fixture {name} provides a mock and also does something else",
                "Move the other code to another fixture, then run the command again.",
            )

    def _check_kept_fixtures(self) -> None:
        """Refuse to replace a mock that an unchanged fixture uses as well."""
        fixtures = self._list_fixtures()
        for name in self.parameters:
            if name in self.removed_parameters or name not in fixtures:
                continue
            for inherited in self.state.inherited:
                if inherited in _collect_requests(name, fixtures):
                    reason = f"is also used by the fixture {name}"
                    raise _new_inherited_problem(inherited, reason)

    def _list_fixtures(self) -> dict[str, cst.FunctionDef]:
        fixtures = {}
        for name, conftest in self.state.context.inherited.items():
            fixtures[name] = conftest.fixtures[name]
        return fixtures | dict(self.state.context.fixtures)

    def _assemble(self, decorators: list[cst.Decorator], parts: list[Part]) -> cst.FunctionDef:
        function = self.state.function
        body = assemble_body(parts, is_whole=True)
        statements = body.statements
        if self.state.is_fixture and len(statements) > 1 and _is_yield(statements[-1]):
            # Nothing runs after it, so the fixture need not be a generator.
            last = statements.pop()
            body.footer[:0] = collect_comments(last)
        for node in statements:
            # Those of fixtures that give reply functions are checked later.
            reads = sorted(self.state.table.find_mocks(node) - self._find_givers())
            if reads:
                self.statements.refuse_read(reads[0], node)
        self._check_reply_functions(statements)
        body.statements[:] = map(restore_names, statements)
        parameters = self._convert_parameters(statements)
        return function.with_changes(
            decorators=decorators,
            lines_after_decorators=[*self.comments, *function.lines_after_decorators],
            returns=self._convert_return_annotation(statements),
            params=function.params.with_changes(params=parameters),
            body=body.replace(function.body),
        )

    def _check_reply_functions(self, body: list[cst.BaseStatement]) -> None:
        """Refuse to convert a reply function that the test also uses directly."""
        for name, place in self.state.table.definitions.items():
            is_used = any(is_used_elsewhere(name, node) for node in body)
            if place.is_replaced and is_used:
                raise CannotRewrite(
                    f"{name} replies to prompts, but the test also uses it directly",
                    "Use another function for that, then run the command again.",
                    self.state.table.functions[name][0],
                )

    def _convert_parameters(self, body: list[cst.BaseStatement]) -> list[cst.Param]:
        """Return the parameters without removed ones and with the fixtures that are used."""
        kept = self._collect_parameters(collect_names(cst.IndentedBlock(body)))
        return arrange_parameters(kept, self.state.function)

    def _collect_parameters(self, used: frozenset[str]) -> list[cst.Param]:
        # Keep a parameter that the old test did not use either.
        was_used = collect_names(self.state.function.body)
        unused_patchers = was_used.intersection(PATCHING_FIXTURES) - used
        removed = self.removed_parameters | unused_patchers
        # A parameter of this name may have been another mock; the new body needs ours.
        removed -= used.intersection(OUR_FIXTURES)
        # A fixture that gave a mock may give a reply function now.
        removed -= used.intersection(self._find_givers())
        kept = []
        for parameter in self.state.function.params.params:
            if parameter.name.value not in removed:
                kept.append(parameter)
        fixtures = [*OUR_FIXTURES]
        if self.variables or self.state.lists_models:
            fixtures.append("monkeypatch")
        return insert_fixtures(kept, [name for name in fixtures if name in used])

    def _convert_return_annotation(
        self,
        body: list[cst.BaseStatement],
    ) -> cst.Annotation | None:
        """Return `-> None` for a fixture that is no longer a generator."""
        returns = self.state.function.returns
        has_yield = any(find_nodes(node, cst.Yield) for node in body)
        if returns is None or has_yield or not self.state.is_fixture:
            return returns
        return returns.with_changes(annotation=cst.Name("None"))


def _may_lack_reply(getter: PatchedGetter) -> bool:
    # A test may patch a client class only to avoid a real client; it needs no reply.
    is_class = isinstance(getter, PatchedClient) and not getter.is_function
    return is_class or isinstance(getter.double, LegacyMock)


def _may_reply_anything(getter: PatchedGetter) -> bool:
    """Return whether the application does not depend on what a patched client replies."""
    is_route = isinstance(getter, PatchedRoute)
    return isinstance(getter, PatchedClient) and not is_route and replies_with_mocks(getter)


def _is_of_sdk(getter: PatchedGetter) -> bool:
    return isinstance(getter, PatchedClient)


def _is_silent(model: Value | None) -> bool:
    if not isinstance(model, TestDouble) or model.attributes.keys() - MODEL_NAMES:
        return False
    return model.has_any_attribute and model.is_unconfigured


def _hide_names(function: cst.FunctionDef, closure: SymbolTable, scope: Scope) -> None:
    """Make the names that a fixture binds unknown, because its tests do not have them."""
    names = set(get_parameter_names(function))
    targets: list[cst.CSTNode] = []
    for assignment in find_nodes(function, cst.AssignTarget):
        targets.append(assignment.target)
    for annotation in find_nodes(function, cst.AnnAssign):
        targets.append(annotation.target)
    for loop in find_nodes(function, cst.For):
        targets.append(loop.target)
    for alias in find_nodes(function, cst.AsName):
        targets.append(alias.name)
    for target in targets:
        # Includes owners of attributes: at worst, a test stays unchanged.
        names |= collect_names(target)
    for line in find_nodes(function, cst.Import):
        names |= scope.find_hidden_imports(line)
    for line_from in find_nodes(function, cst.ImportFrom):
        names |= scope.find_hidden_imports(line_from)
    for name in names - closure.values.keys():
        closure.values[name] = TestDouble()


def _collect_requests(name: str, fixtures: dict[str, cst.FunctionDef]) -> set[str]:
    """Return the fixtures that a fixture requests directly or through other fixtures."""
    found: set[str] = set()
    pending = [name]
    while pending:
        function = fixtures.get(pending.pop())
        if function is None:
            continue
        requested = set(get_parameter_names(function)) - found
        found |= requested
        pending += requested
    return found


def _new_inherited_problem(name: str, reason: str) -> CannotRewrite:
    return CannotRewritePatch(
        f"the fixture {name} in a conftest.py {reason}",
        "Patch in the test, or move the fixture to this file, then run the command again.",
    )


def _does_nothing(node: cst.BaseStatement) -> bool:
    return _is_yield(node) or isinstance(get_small_statement(node), cst.Pass)


def _is_yield(node: cst.BaseStatement) -> bool:
    return m.matches(node, m.SimpleStatementLine([m.Expr(m.Yield(value=None))]))
