"""Rewrite one test file."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from llm_mock.errors import InvalidFile
from llm_mock.migrate import fakes
from llm_mock.migrate.agent_models import rewrite_agent_models, sets_model_switch
from llm_mock.migrate.body import strip_blank_start
from llm_mock.migrate.class_patches import add_patches, find_class_patches, remove_patches
from llm_mock.migrate.conftests import (
    CONFTEST,
    find_hiding_fixtures,
    find_inherited,
    find_sdks,
    is_fixture,
    names_fixture,
    outlasts_test,
    serves_several_tests,
)
from llm_mock.migrate.framework_models import find_framework_model
from llm_mock.migrate.function import patches_llm, rewrite_function
from llm_mock.migrate.function_state import FileContext, RewrittenFunction
from llm_mock.migrate.imports import update_imports
from llm_mock.migrate.manual_changes import CannotRewrite, ManualChange
from llm_mock.migrate.preparations import MODEL_SWITCH
from llm_mock.migrate.scope import JSON_MODULE, Scope
from llm_mock.migrate.sdk_modules import find_replaced_sdks
from llm_mock.migrate.setup_methods import (
    SetupMethods,
    SplitTest,
    collect_mocks,
    find_setup_methods,
)
from llm_mock.migrate.syntax import (
    collect_names,
    find_nodes,
    get_parameter_names,
    split_block,
    to_source,
)
from llm_mock.migrate.unittest_cases import add_fixture, is_test_case, use_attribute
from llm_mock.support.text import format_path

# libcst parses slowly, so files that cannot have a mock of `llm` or of an SDK are skipped.
_MAY_MOCK_LLM = re.compile(
    rb"get_(async_)?model\b|\bllm\b|call_history|set_response|OpenAI\b|Anthropic\b|openai|anthropic|litellm"
    rb"|genai|generate_?[Cc]ontent|[Mm]istral|pydantic_ai|langchain"
)

NewNodes = dict[cst.FunctionDef, cst.FunctionDef | None]
"""The new definitions of functions by their old ones; None for one that is removed."""

GetRequestedModels = Callable[[str, str], Sequence[str]]


@dataclass(frozen=True)
class Findings:
    """The findings of a run of rewritten tests about the functions of a file, by their names.

    Attributes:
        refused: the functions that must stay unchanged.
        unused_replies: the number of queued replies that a test does not use.
        environment: the settings that a test needs, such as environment variables for the region
            or version of an API.
        removed: the fixtures to remove because they hide ours.
    """

    refused: Mapping[str, CannotRewrite] = field(default_factory=dict)
    unused_replies: Mapping[str, int] = field(default_factory=dict)
    environment: Mapping[str, Sequence[str]] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()


NO_FINDINGS = Findings()


@dataclass(frozen=True)
class FileResult:
    """The result for a file.

    Attributes:
        path: its path.
        source: its content.
        before: its old text.
        after: its new text.
        encoded: its new text in the encoding of the file.
        changed: the names of the rewritten tests and fixtures.
        fixtures: the names of the rewritten fixtures.
        manual_changes: the changes that are left to a person.
        agents: the functions in which a reply replaces the model of an agent, so that their tests
            must call the mock.
        hiding: the fixtures of a conftest.py that make a project's own mock and hide ours, because
            they have the same names.
    """

    path: Path
    source: bytes
    before: str
    after: str
    encoded: bytes
    changed: tuple[str, ...]
    fixtures: frozenset[str]
    manual_changes: tuple[ManualChange, ...]
    agents: frozenset[str] = frozenset()
    hiding: frozenset[str] = frozenset()


def parse_file(path: Path, source: bytes) -> cst.Module:
    """Parse a Python file.

    Raises:
        InvalidFile: it has a syntax error, or cannot be decoded.
    """
    try:
        return cst.parse_module(source)
    except cst.ParserSyntaxError as error:
        line, problem = _describe_syntax_error(source, error)
        message = f"{format_path(path)}:{line}: {problem}."
        raise InvalidFile(message) from None
    except (UnicodeDecodeError, LookupError, SyntaxError) as error:
        message = f"{format_path(path)}: the file cannot be decoded: {error}."
        raise InvalidFile(message) from None


def _describe_syntax_error(source: bytes, error: cst.ParserSyntaxError) -> tuple[int, str]:
    """Return line and message; those of Python are clearer than those of libcst."""
    try:
        ast.parse(source)
    except SyntaxError as problem:
        return problem.lineno or 1, f"invalid Python: {problem.msg}"
    except ValueError as problem:  # a null byte
        return 1, f"invalid Python: {problem}"
    return error.raw_line, f"libcst cannot parse this: {error.message}"


def rewrite_file(
    path: Path,
    source: bytes,
    get_requested_models: GetRequestedModels,
    resolve_model: Callable[[str], str],
    findings: Findings = NO_FINDINGS,
    *,
    partial: bool = False,
) -> FileResult:
    """Rewrite the tests of a file whose meaning is certain.

    Args:
        path: the path of the file.
        source: its content.
        get_requested_models: returns the models that a test requests from a patched target.
        resolve_model: returns the model id for a name or alias.
        findings: the results of a run of the rewritten tests.
        partial: whether an assertion that is not understood becomes a comment.

    Raises:
        InvalidFile: it is not valid Python.
    """
    is_concerned = _MAY_MOCK_LLM.search(source) or names_fixture(path, source, _MAY_MOCK_LLM)
    if not is_concerned:
        text = source.decode(errors="replace")
        return FileResult(path, source, text, text, source, (), frozenset(), ())
    # A parsed module has no node twice, so it need not be copied.
    wrapper = MetadataWrapper(parse_file(path, source), unsafe_skip_copy=True)
    rewriter = _FileRewriter(
        path,
        source,
        wrapper,
        get_requested_models,
        resolve_model,
        findings,
        partial,
    )
    return rewriter.rewrite()


@dataclass(frozen=True)
class _Function:
    """A function of a file.

    Attributes:
        name: its name, with the class that it is in.
        node: its definition.
        owner: the class that it is in.
    """

    name: str
    node: cst.FunctionDef
    owner: cst.ClassDef | None = None

    @property
    def class_name(self) -> str:
        """The name of its class; empty for a function of the file."""
        return "" if self.owner is None else self.owner.name.value


class _FileRewriter:
    def __init__(
        self,
        path: Path,
        source: bytes,
        wrapper: MetadataWrapper,
        get_requested_models: GetRequestedModels,
        resolve_model: Callable[[str], str],
        findings: Findings,
        partial: bool,
    ) -> None:
        self.path = path
        self.source = source
        self.refused = findings.refused
        self.removed = findings.removed
        self.module = wrapper.module
        self.wrapper = wrapper
        self.functions = list(_iterate_functions(self.module))
        fixtures = {
            function.name: function.node
            for function in self.functions
            if function.owner is None and is_fixture(function.node)
        }
        scope = Scope(self.module, fakes, path)
        context = FileContext(
            scope,
            path,
            get_requested_models,
            resolve_model,
            fixtures,
            findings.unused_replies,
            partial,
            find_sdks(source),
            findings.environment,
            replaced_sdks=find_replaced_sdks(self.module, scope),
        )
        self.context = replace(context, inherited=find_inherited(context))
        self.results: dict[str, RewrittenFunction] = {}
        self.problems: dict[str, CannotRewrite] = {}
        self.fake_models: dict[str, CannotRewrite] = {}
        """The functions with fake models of frameworks; they do not block other functions."""
        self.hiding = frozenset[str]()
        if path.name == CONFTEST:
            self.hiding = find_hiding_fixtures(self.module)
        self.agents: set[str] = set()
        """The functions in which a reply replaces such a model."""
        self.class_patches: dict[str, list[cst.Decorator]] = {}
        """The decorators of each class that patch `llm` for its tests."""
        self.setups: dict[str, SetupMethods] = {}
        """The methods of each class that patch `llm` for its tests."""
        self.clients: dict[str, dict[str, str]] = {}
        """The clients that each test of a class gets from `setUp`, by the names of the classes."""
        self.split_tests: dict[str, SplitTest] = {}
        """The rewritten tests of these classes, with the new methods for each."""

    @cached_property
    def positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        """The positions of all nodes, for reasons: finding them takes as long as parsing."""
        return self.wrapper.resolve(PositionProvider)

    def rewrite(self) -> FileResult:
        for node in self.module.body:
            if isinstance(node, cst.ClassDef):
                self._check_class(node)
        joined: list[cst.FunctionDef] = []
        for methods in self.setups.values():
            joined += methods.nodes
        for function in self.functions:
            is_refused = function.class_name in self.problems
            is_refused |= function.name in self.removed
            if not is_refused and function.node not in joined:
                self._rewrite_function(function)
        for class_name, methods in self.setups.items():
            self._check_setup(class_name, methods)
        self._block_dependents()
        changed = self._changed_functions()
        before = after = self.module.code
        encoded = self.source
        if changed or self.removed:
            new_nodes = self._collect_new_nodes(changed)
            new = self._replace_functions(changed, new_nodes)
            module = update_imports(
                self.module,
                new,
                self.path,
                self._find_unused_fixtures(new) | self.removed,
                needs_json=self._needs_json(new_nodes),
            )
            after = module.code
            encoded = module.bytes
            self._forget_removed(module)
        return FileResult(
            self.path,
            self.source,
            before,
            after,
            encoded,
            (*changed, *sorted(self.removed)),
            frozenset(changed.keys() & self.context.fixtures.keys()) | self.removed,
            tuple(self._list_manual_changes()),
            frozenset(self.agents.intersection(changed)),
            self.hiding,
        )

    def _forget_removed(self, module: cst.Module) -> None:
        """Forget the problems of helpers that were removed."""
        remaining = {function.name for function in _iterate_functions(module)}
        for function in self.functions:
            if function.name not in remaining:
                self.problems.pop(function.name, None)

    def _changed_functions(self) -> dict[str, cst.FunctionDef]:
        changed = {}
        for name, result in self.results.items():
            if result.node is not None:
                changed[name] = result.node
        return changed

    def _needs_json(self, new_nodes: NewNodes) -> bool:
        """Return whether a rewritten function has a reply of a helper that imports `json`."""
        if JSON_MODULE in self.context.scope.imports:
            return False
        for old, new in new_nodes.items():
            if new is None:
                continue
            new_names = collect_names(new) - collect_names(old)
            if JSON_MODULE in new_names:
                return True
        return False

    @cached_property
    def lasting_patch(self) -> str | None:
        """The fixture of a conftest.py whose patch may affect tests that do not name it."""
        used: set[str] = set()
        for function in self.functions:
            used |= set(get_parameter_names(function.node))
        for name, conftest in self.context.inherited.items():
            node = conftest.fixtures[name]
            if outlasts_test(node, used) and patches_llm(name, node, conftest):
                return name
        return None

    def _check_lasting_patch(self) -> None:
        """Refuse to rewrite a test if a patch made for another test may affect it."""
        if self.lasting_patch is not None:
            raise CannotRewrite(
                _describe_lasting_patch(f"{self.lasting_patch} in a conftest.py"),
                'Use scope="function" for that fixture, then run the command again.',
            )

    def _check_class(self, node: cst.ClassDef) -> None:
        """Find the decorators of a class that patch `llm` for its methods."""
        name = node.name.value
        try:
            patches = find_class_patches(
                node,
                self.context.scope,
                self.path,
            )
        except CannotRewrite as error:
            self.problems[name] = error
        else:
            self.class_patches[name] = patches
            self._find_setup(node)

    def _find_setup(self, node: cst.ClassDef) -> None:
        """Find the methods of a class that patch `llm` for its tests."""
        name = node.name.value
        methods = find_setup_methods(node, self.context.scope)
        if methods is None or not self._list_tests(name):
            return
        setup = methods.setup
        is_patching = patches_llm(f"{name}::{setup.name.value}", setup, self.context)
        if is_patching or self._makes_mock(name, methods):
            self.setups[name] = methods

    def _makes_mock(self, class_name: str, methods: SetupMethods) -> bool:
        """Return whether `setUp` makes a mock of `llm`, as far as one of the tests shows."""
        mocks = collect_mocks(methods.setup, self.context.scope)
        if not mocks:
            return False
        makes_mock = False
        clients: dict[str, str] = {}
        for test in self._list_tests(class_name):
            try:
                joined = methods.join(test.node)
                result = rewrite_function(test.name, joined, self.context)
            except CannotRewrite:
                continue
            if result.node is None:
                continue
            split = methods.split(test.node, result.node)
            if not mocks.isdisjoint(methods.find_changed(split)):
                makes_mock = True
            for name, client_class in methods.select_clients(result.clients).items():
                if clients.setdefault(name, client_class) != client_class:
                    return False
        # A test that configures no reply has the same client as the others.
        self.clients[class_name] = clients
        return makes_mock

    def _list_tests(self, class_name: str) -> list[_Function]:
        """Return the tests of a class."""
        prefix = f"{class_name}::test"
        return [function for function in self.functions if function.name.startswith(prefix)]

    def _rewrite_function(self, function: _Function) -> None:
        name = function.name
        try:
            if name in self.refused:
                raise self.refused[name]
            if name in self.hiding:
                raise CannotRewrite(
                    "it has the name of an llm_mock fixture and hides that fixture from new tests",
                    "With --write, it is removed if all tests in its folder pass without it.",
                )
            node = function.node
            if function.owner is not None:
                patches = self.class_patches[function.owner.name.value]
                node = add_patches(node, patches)
            methods = self.setups.get(function.class_name)
            if methods is None or not _is_test(node):
                result = rewrite_function(name, node, self.context)
                self._add_result(function, result)
            elif f"{function.class_name}::{methods.setup.name.value}" not in self.problems:
                self._rewrite_joined(function, node, methods)
        except CannotRewrite as error:
            is_class_fixture = function.owner is not None and is_fixture(function.node)
            if is_class_fixture:
                self.problems[name] = _new_class_fixture_problem(function)
            else:
                self.problems[name] = error

    def _rewrite_joined(
        self,
        function: _Function,
        node: cst.FunctionDef,
        methods: SetupMethods,
    ) -> None:
        """Rewrite a test together with the methods that patch for it."""
        joined = methods.join(node)
        context = replace(
            self.context,
            get_requested_models=partial(self._list_models_of_class, function.class_name),
            clients=self.clients.get(function.class_name, {}),
        )
        try:
            result = rewrite_function(function.name, joined, context)
        except CannotRewrite as error:
            method, problem = methods.locate(error, node, joined)
            if method is node:
                raise problem from None
            self.problems[f"{function.class_name}::{method.name.value}"] = problem
            return
        added = self._add_result(function, result)
        if result.node is None or added.node is None:
            return
        split = methods.split(node, added.node)
        self.split_tests[function.name] = split
        self.results[function.name] = replace(added, node=split.test)

    def _list_models_of_class(self, class_name: str, test: str, target: str) -> list[str]:
        """Return the models that the tests of a class request, which have one `setUp`."""
        models: list[str] = []
        for function in self._list_tests(class_name):
            models += self.context.get_requested_models(function.name, target)
        return list(dict.fromkeys(models))

    def _add_result(self, function: _Function, result: RewrittenFunction) -> RewrittenFunction:
        """Add the result for a function, and return it adapted to its class and its file."""
        name = function.name
        if result.node is None:
            result = self._replace_fake_model(function, result)
        if result.node is not None:
            self._check_lasting_patch()
            _check_owner(function)
            result = self._adapt_to_owner(function, result)
            if name in self.context.fixtures:
                self._check_conftest(result)
        self.results[name] = result
        return result

    def _check_setup(self, class_name: str, methods: SetupMethods) -> None:
        """Refuse to rewrite a class if one of its methods needs the old `setUp`."""
        names = {f"{class_name}::{node.name.value}" for node in methods.nodes}
        tests = {}
        new_methods = {}
        for function in self.functions:
            name = function.name
            if function.class_name != class_name or name in self.problems.keys() | names:
                continue
            new_methods[name] = function.node
            if name in self.split_tests:
                tests[name] = self.split_tests[name]
                new_methods[name] = tests[name].test
        if names & self.problems.keys():
            # One report is enough.
            for name in tests:
                del self.results[name]
        elif tests:
            problems = methods.find_problems(tests, new_methods)
            for name, problem in problems.items():
                self.results.pop(name, None)
                self.problems[name] = problem

    def _replace_fake_model(
        self,
        function: _Function,
        result: RewrittenFunction,
    ) -> RewrittenFunction:
        """Return a function with a reply in place of a fake model of a framework.

        If that is not possible, note the reason and return the result as it is.
        """
        name = function.name
        problem = find_framework_model(function.node, self.context.scope)
        try:
            new = None
            # A fixture that gives a mock may be removed with it.
            if result.given_value is None:
                new = self._rewrite_agents(function)
            if new is not None:
                _check_owner(function)
                if function.owner is not None and is_fixture(function.node):
                    raise _new_class_fixture_problem(function)
                self.agents.add(name)
                return replace(result, node=new)
        except CannotRewrite as error:
            problem = error
        if problem is not None:
            self.fake_models[name] = problem
        return result

    def _rewrite_agents(self, function: _Function) -> cst.FunctionDef | None:
        """Return a function with replies in place of the models of agents; None without them."""
        if b"pydantic_ai" not in self.source:
            return None
        environment = [*self.context.environment.get(function.name, ())]
        if sets_model_switch(self.module) and MODEL_SWITCH not in environment:
            environment.append(MODEL_SWITCH)
        return rewrite_agent_models(
            function.node,
            self.module,
            self.context.scope,
            environment,
        )

    def _adapt_to_owner(
        self,
        function: _Function,
        result: RewrittenFunction,
    ) -> RewrittenFunction:
        """Return a result without arguments if it is a method of `unittest.TestCase`."""
        owner = function.owner
        if owner is None or not is_test_case(owner, self.context.scope):
            return result
        assert result.node is not None
        return replace(result, node=use_attribute(result.node, owner))

    def _check_conftest(self, result: RewrittenFunction) -> None:
        if self.path.name == CONFTEST and result.given_value is not None:
            raise CannotRewrite(
                "tests in other files use this mock",
                "Run the command for their folder; the rewritten tests no longer request this "
                "fixture. Delete it when no test requests it.",
            )

    def _block_dependents(self) -> None:
        """Rewrite a fixture with all of its tests, or not at all."""
        users = self._collect_fixture_users()
        # Each blocked function may block others.
        while (
            self._block_fixtures(users)
            | self._block_users()
            | self._block_receivers(users)
            | self._block_methods()
            | self._block_reached()
        ):
            pass
        self._add_givers()

    def _collect_fixture_users(self) -> dict[str, set[str]]:
        users: dict[str, set[str]] = {}
        for function in self.functions:
            for parameter in function.node.params.params:
                users.setdefault(parameter.name.value, set()).add(function.name)
        return users

    def _block_fixtures(self, users: dict[str, set[str]]) -> bool:
        """Block the fixtures whose mock a blocked test uses; return whether there are any."""
        has_blocked = False
        for fixture in self.context.fixtures:
            result = self.results.get(fixture)
            if result is None or result.node is None:
                continue
            # A blocked test may have the replies of a fixture, but not its mock.
            if result.given_value is None and not result.configures_nothing:
                continue
            blocked_users = sorted(users.get(fixture, set()) & self.problems.keys())
            if not blocked_users:
                continue
            if result.configures_nothing and not _is_autouse(self.context.fixtures[fixture]):
                # The rewritten tests no longer request it; the other tests need it unchanged.
                self.results[fixture] = replace(result, node=None)
                continue
            self._block(fixture, f"{blocked_users[0]} uses it and cannot be rewritten")
            has_blocked = True
        return has_blocked

    def _block_users(self) -> bool:
        """Block the tests that use a blocked fixture; return whether there are any."""
        has_blocked = False
        for name, result in list(self.results.items()):
            blocked_fixtures = sorted(result.fixtures & self.problems.keys())
            if blocked_fixtures:
                fixture = blocked_fixtures[0]
                self._block(name, f"it uses the fixture {fixture}, which cannot be rewritten")
                has_blocked = True
        return has_blocked

    def _block_reached(self) -> bool:
        """Block all functions if an unchanged fixture may patch for them; return whether any is."""
        changed = self._changed_functions()
        name = self._find_staying_patch(changed)
        if name is None:
            return False
        for function in changed:
            self._block(function, _describe_lasting_patch(name))
        return bool(changed)

    def _find_staying_patch(self, changed: Mapping[str, cst.FunctionDef]) -> str | None:
        """Return an unchanged fixture whose patch may affect tests that do not name it."""
        for name, node in self.context.fixtures.items():
            if name in changed or not serves_several_tests(node):
                continue
            if patches_llm(name, node, self.context):
                return name
        return None

    def _block_methods(self) -> bool:
        """Block tests if another method of their class needs its patch; return whether any is."""
        blocked = {}
        for function in self.functions:
            result = self.results.get(function.name)
            if result is None or result.node is None or not self._is_patched(function.class_name):
                continue
            problems = sorted(self._list_problems_of_class(function.class_name))
            if problems:
                reason = f"{problems[0]} needs the same patches and cannot be rewritten"
                blocked[function.name] = reason
        for name, reason in blocked.items():
            self._block(name, reason)
        return bool(blocked)

    def _is_patched(self, class_name: str) -> bool:
        """Return whether a class patches for all of its tests."""
        return bool(self.class_patches.get(class_name)) or class_name in self.setups

    def _list_problems_of_class(self, class_name: str) -> list[str]:
        return [name for name in self.problems if name.startswith(f"{class_name}::")]

    def _block_receivers(self, users: Mapping[str, set[str]]) -> bool:
        """Block the tests of a fixture that others need unchanged; return whether there are any."""
        blocked = {}
        for name, result in self.results.items():
            for fixture, node in result.givers.items():
                for user in sorted(users[fixture]):
                    if not self._is_given(user, fixture, node):
                        blocked[name] = f"{user} cannot use the rewritten fixture {fixture}"
        for name, reason in blocked.items():
            self._block(name, reason)
        return bool(blocked)

    def _is_given(self, user: str, fixture: str, node: cst.FunctionDef) -> bool:
        """Return whether a function needs the same new fixture."""
        result = self.results.get(user)
        if result is None:
            return False
        if result.node is not None and fixture not in get_parameter_names(result.node):
            return True
        if fixture not in result.givers:
            return False
        return to_source(result.givers[fixture]) == to_source(node)

    def _add_givers(self) -> None:
        """Replace the fixtures that give reply functions to their tests."""
        givers: dict[str, cst.FunctionDef] = {}
        for result in self.results.values():
            givers |= result.givers
        for fixture, node in givers.items():
            self.results[fixture] = replace(self.results[fixture], node=node)

    def _block(self, name: str, reason: str) -> None:
        del self.results[name]
        self.problems[name] = CannotRewrite(
            reason,
            "Rewrite that one first, then run the command again.",
        )

    def _list_manual_changes(self) -> list[ManualChange]:
        names: dict[str, cst.Name] = {}
        for node in self.module.body:
            if isinstance(node, cst.ClassDef):
                names[node.name.value] = node.name
        for function in self.functions:
            names[function.name] = function.node.name
        problems = [*self.problems.items(), *self.fake_models.items()]
        for name, result in self.results.items():
            problems += [(name, todo) for todo in result.todos]
        changes = []
        for name, problem in problems:
            # A node of rewritten code has no position.
            position = None
            if problem.node is not None:
                position = self.positions.get(problem.node)
            if position is None:
                position = self.positions.get(names[name])
            line = 1
            if isinstance(position, CodeRange):
                line = position.start.line
            change = ManualChange(
                self.path,
                line,
                name,
                problem.reason,
                problem.advice,
            )
            changes.append(change)
        return sorted(changes, key=lambda change: change.line)

    def _collect_new_nodes(self, changed: Mapping[str, cst.FunctionDef]) -> NewNodes:
        """Return the new definition of each function that changes, and of the methods for it."""
        new_nodes: NewNodes = {}
        for function in self.functions:
            if function.name not in changed:
                continue
            new_nodes[function.node] = changed[function.name]
            split = self.split_tests.get(function.name)
            if split is None:
                continue
            new_methods = (split.setup, split.teardown)
            new_nodes.update(zip(self.setups[function.class_name].nodes, new_methods, strict=False))
        return new_nodes

    def _replace_functions(
        self,
        changed: Mapping[str, cst.FunctionDef],
        new_nodes: NewNodes,
    ) -> cst.Module:
        new_classes: dict[str, list[cst.Decorator]] = {}
        for class_name, patches in self.class_patches.items():
            if any(name.startswith(f"{class_name}::") for name in changed):
                new_classes[class_name] = patches
        test_cases = []
        for node in self.module.body:
            if isinstance(node, cst.ClassDef) and is_test_case(node, self.context.scope):
                test_cases.append(node)
        replacer = _FunctionReplacer(
            new_nodes,
            new_classes,
            test_cases,
        )
        module = self.module.visit(replacer)
        assert isinstance(module, cst.Module)
        return module

    def _find_unused_fixtures(self, module: cst.Module) -> set[str]:
        """Return the fixtures that only made mocks and are no longer requested."""
        unused = set()
        for name in self.context.fixtures:
            result = self.results.get(name)
            if result is not None and result.only_makes_mocks:
                unused.add(name)
        for function in _iterate_functions(module):
            unused -= {parameter.name.value for parameter in function.node.params.params}
        # usefixtures and getfixturevalue have the name as a string.
        for text in find_nodes(module, cst.SimpleString):
            unused.discard(str(text.evaluated_value))
        return unused


def _iterate_functions(module: cst.Module) -> Iterator[_Function]:
    """Yield the functions of a file and the methods of its classes."""
    for node in module.body:
        if isinstance(node, cst.FunctionDef):
            yield _Function(node.name.value, node)
        elif isinstance(node, cst.ClassDef):
            for inner in node.body.body:
                if isinstance(inner, cst.FunctionDef):
                    name = f"{node.name.value}::{inner.name.value}"
                    yield _Function(name, inner, node)


def _is_test(node: cst.FunctionDef) -> bool:
    return node.name.value.startswith("test")


def _describe_lasting_patch(fixture: str) -> str:
    return f"the patch of the fixture {fixture} lasts for several tests and may affect this one"


def _is_autouse(node: cst.FunctionDef) -> bool:
    return any("autouse" in to_source(decorator) for decorator in node.decorators)


def _new_class_fixture_problem(function: _Function) -> CannotRewrite:
    # Fixtures in a class are not resolved for its tests.
    return CannotRewrite(
        "it is a fixture of a class",
        "Move it out of the class, remove self, and run the command again, which then rewrites "
        "the fixture and its tests.",
        function.node.name,
    )


def _check_owner(function: _Function) -> None:
    """Refuse functions that cannot take our fixtures as arguments."""
    if not function.node.name.value.startswith("test") and not is_fixture(function.node):
        raise CannotRewrite(
            "it is neither a test nor a fixture, so it cannot request fixtures",
            "Pass mock_llm_responses to it as an argument.",
        )


def _strip_first_line(node: cst.ClassDef) -> cst.ClassDef:
    """Return a class without the blank lines above its first statement."""
    first, *others = split_block(node.body)
    body = [strip_blank_start(first), *others]
    return node.with_changes(body=node.body.with_changes(body=body))


class _FunctionReplacer(cst.CSTTransformer):
    def __init__(
        self,
        new_nodes: NewNodes,
        class_patches: Mapping[str, Sequence[cst.Decorator]],
        test_cases: Sequence[cst.ClassDef],
    ) -> None:
        self.new_nodes = new_nodes
        self.removed = [old for old, new in new_nodes.items() if new is None]
        self.class_patches = class_patches
        self.test_cases = test_cases

    def leave_FunctionDef(
        self,
        original_node: cst.FunctionDef,
        updated_node: cst.FunctionDef,
    ) -> cst.FunctionDef | cst.RemovalSentinel:
        new = self.new_nodes.get(original_node, updated_node)
        return cst.RemoveFromParent() if new is None else new

    def leave_ClassDef(
        self,
        original_node: cst.ClassDef,
        updated_node: cst.ClassDef,
    ) -> cst.ClassDef:
        patches = self.class_patches.get(original_node.name.value)
        if patches:
            without_patches = remove_patches(original_node, patches)
            updated_node = without_patches.with_changes(body=updated_node.body)
        if original_node.body.body[0] in self.removed:
            updated_node = _strip_first_line(updated_node)
        if original_node in self.test_cases:
            return add_fixture(updated_node)
        return updated_node
