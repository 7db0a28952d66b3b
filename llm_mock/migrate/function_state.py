"""Hold the state of one function while it is rewritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from llm_mock.migrate.argument_logs import find_containers, find_filled_lists
from llm_mock.migrate.body import Slot
from llm_mock.migrate.configured_replies import ConfiguredReplies
from llm_mock.migrate.doubles import ArgumentLog, PatchedGetter, TestDouble, Value
from llm_mock.migrate.http_routes import RespxRoutes
from llm_mock.migrate.http_transports import FakeTransports
from llm_mock.migrate.recorded_calls import CallReader
from llm_mock.migrate.scope import Scope, collect_parametrized_values
from llm_mock.migrate.sdk_clients import new_handed_client
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import (
    collect_texts,
    count_model_ids,
    find_local_names,
    find_objects,
)

if TYPE_CHECKING:
    import libcst as cst

    from llm_mock.migrate.manual_changes import CannotRewrite
    from llm_mock.migrate.patches import Patch


class UnrelatedMock(Exception):
    """A name refers to a mock that does not replace `llm`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True)
class FileContext:
    """The file of a function, and callbacks for facts outside of it.

    Attributes:
        scope: the names of the file.
        path: its path.
        get_requested_models: returns the models that a test requests from a patched target.
        resolve_model: returns the model id for a name or alias.
        fixtures: the fixtures of the file.
        partial: whether an assertion that is not understood becomes a comment.
        sdks: the SDKs that its text names.
        unused_replies: the number of queued replies that a test leaves, as a run of it showed.
        environment: the variables that a test needs, as a run of it showed.
        inherited: the conftest.py of each fixture that the file has from one above it.
        replaced_sdks: the SDKs that the file replaces in `sys.modules` when it is imported.
        clients: the classes of the clients that its tests hand to the application, by name.
    """

    scope: Scope
    path: Path
    get_requested_models: Callable[[str, str], Sequence[str]]
    resolve_model: Callable[[str], str]
    fixtures: Mapping[str, cst.FunctionDef]
    unused_replies: Mapping[str, int]
    partial: bool = False
    sdks: frozenset[str] = frozenset()
    environment: Mapping[str, Sequence[str]] = field(default_factory=dict)
    inherited: Mapping[str, FileContext] = field(default_factory=dict)
    replaced_sdks: frozenset[str] = frozenset()
    clients: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RewrittenFunction:
    """The result for a function.

    Attributes:
        node: the new function, or None if it has no mock of `llm`.
        fixtures: the fixtures of the file that it depends on.
        given_value: the value that a fixture gives to its tests, if it is a mock.
        configures_nothing: whether the new function configures no reply, and does nothing else.
        does_more: whether the function does something besides mocking.
        todos: the reasons why assertions became comments.
        givers: the new fixtures that give it a reply function, by name.
        clients: the classes of the clients that it hands to the application, by name.
    """

    node: cst.FunctionDef | None
    fixtures: frozenset[str] = frozenset()
    given_value: Value | None = None
    configures_nothing: bool = False
    does_more: bool = False
    todos: tuple[CannotRewrite, ...] = ()
    givers: Mapping[str, cst.FunctionDef] = field(default_factory=dict)
    clients: Mapping[str, str] = field(default_factory=dict)

    @property
    def only_makes_mocks(self) -> bool:
        """Return whether a fixture does nothing that a new test needs."""
        if self.node is None:
            return self.given_value is not None and not self.does_more
        return self.configures_nothing


SharedFixtures: TypeAlias = dict[tuple[Path, str], tuple["FunctionState", RewrittenFunction]]


class FunctionState:
    """One function and the values of its names.

    Args:
        name: the name of the function, with its class.
        function: a test or a fixture.
        context: its file.
        unrelated: the names of mocks that do not replace `llm`.
        asserted_models: the models that its assertions name, by patched target.
        clients: the class of each client that it hands to the application, by its name.
        checked: the targets of patched classes whose calls it checks.
        shared: the evaluated fixtures by file and name; each has one value in a test. By default
            none are.
    """

    def __init__(
        self,
        name: str,
        function: cst.FunctionDef,
        context: FileContext,
        unrelated: frozenset[str],
        asserted_models: Mapping[str, Sequence[str]],
        clients: Mapping[str, str],
        checked: frozenset[str],
        shared: SharedFixtures | None = None,
    ) -> None:
        self.checked = checked
        self.shared: SharedFixtures = {} if shared is None else shared
        self.name = name
        self.function = function
        self.context = context
        self.is_fixture = name in context.fixtures
        names = find_local_names(function)
        self.table = SymbolTable(context.scope.copy_for_function(names))
        self.table.texts = collect_texts(function)
        self.table.model_ids = count_model_ids(function)
        self.table.is_of_test = not self.is_fixture
        self.table.unrelated = unrelated
        self.table.objects = find_objects(function)
        self.filled_lists = find_filled_lists(function) - unrelated
        """The names of lists to which the function may append mocks."""
        self.containers = find_containers(function) - unrelated - self.filled_lists
        """The names that may refer to logs of calls in fakes."""
        self.table.clients = frozenset(clients)
        self.table.sdks = context.sdks
        self.clients = clients
        self.table.plain.update(collect_parametrized_values(function))
        self.inherited: dict[str, FileContext] = {}
        """The conftest.py of each fixture whose mock the function has instead of the fixture."""
        self.getters: list[PatchedGetter] = []
        self.reader = CallReader(
            self.table,
            self.getters,
            context.resolve_model,
        )
        self.slots: list[Slot] = [Slot()]
        """The statements that configured mocks; the first slot is the start of the body."""
        self.replies = ConfiguredReplies(
            self.getters,
            self.table,
            self.slots,
            context.unused_replies.get(name, 0),
        )
        self.lists_models = False
        """Whether the new test patches a function of `llm` that lists models."""
        self.todos: list[CannotRewrite] = []
        """The reasons why assertions became comments."""
        self.given_value: Value | None = None
        """The value of the fixture, if it is a mock."""
        self.given_slot: Slot | None = None
        """The `return` of it, which may return a reply function instead."""
        self.givers: dict[str, FunctionState] = {}
        """The fixtures whose mocks the function uses and that do not patch `llm` themselves."""
        self.give: Callable[[], cst.FunctionDef]
        """Returns the fixture that gives its reply function; set if it patches nothing itself."""
        self.routes = RespxRoutes(
            function,
            self.table,
            context.fixtures,
        )
        self.transports = FakeTransports(function, self.table)
        self._asserted_models = asserted_models

    def add_client(self, name: str) -> None:
        """Add a client that the test makes and hands to the application."""
        double = self.table.values[name]
        assert isinstance(double, TestDouble)
        client = new_handed_client(name, double, self.clients[name])
        self.replies.replacements.append(client.double)
        self.getters.append(client)

    def add_router(self) -> None:
        """Bind the names of the respx router to it."""
        self.routes.bind()
        if self.routes.is_used:
            self.replies.replacements.append(self.routes.router)

    def find_logs(self) -> frozenset[str]:
        """Return the names in the function that refer to logs of calls in fakes."""
        values = self.table.values
        names = [name for name in self.containers if isinstance(values.get(name), ArgumentLog)]
        return frozenset(names)

    def add_patch(self, patch: Patch) -> None:
        """Add a patch of `llm`, with the models that are requested from it."""
        self.replies.replacements.append(patch.value)
        for getter in patch.getters:
            self.add_getter(getter)

    def add_named_patch(self, patch: Patch, name: str) -> str:
        """Add a patch whose mock has a name in the function.

        Returns:
            The class that it goes on to wrap, because the function checks how the class is called;
            empty if the patch is to be removed.
        """
        self.add_patch(patch)
        client = patch.checked_class
        if client is None:
            return ""
        self.table.class_patches[client.target] = client.double
        if client.target not in self.checked:
            return ""
        module = self.table.scope.name_library(client.library)
        self.table.checked_classes[name] = client.double
        _, _, class_name = client.wrapped.rpartition(".")
        return f"{module}.{class_name}"

    def add_getters(self, getters: Sequence[PatchedGetter]) -> None:
        """Add the patched functions of a fixture, each once."""
        for getter in getters:
            if getter not in self.getters:
                self.getters.append(getter)

    def add_getter(self, getter: PatchedGetter) -> None:
        """Add a patched function, with the models that are requested from it."""
        target = getter.target
        # A run of the old tests knows more than their assertions.
        models = self.context.get_requested_models(self.name, target)
        if not models:
            models = self._asserted_models.get(target, ())
        getter.requested_models = tuple(models)
        self.getters.append(getter)
