"""The mock of `llm.get_model`: resolves names to mocked models, holds replies and records calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from llm_mock.behaviour import ModelBehaviour
from llm_mock.boundaries import TESTING_VARIABLES
from llm_mock.boundaries.llm.names import (
    EMBEDDING_MODELS,
    MODELS,
    LLMNames,
    build_unknown_model_error,
    find_registered,
    find_registered_model,
    format_unknown_model,
    get_model_id,
)
from llm_mock.boundaries.processes import CassetteInOtherProcess, SharedFolder, check_sendable
from llm_mock.core.assertions import CallAssertions, forward_assertion
from llm_mock.core.configurator import ResponseConfigurator, check_name
from llm_mock.core.context import current_mock
from llm_mock.core.mock import Mock
from llm_mock.core.model_names import ANY_MODEL, is_named
from llm_mock.core.reply import UNSET, Reply, to_exception
from llm_mock.core.script import StandingReply
from llm_mock.core.settings import Settings
from llm_mock.errors import InvalidReply, LLMMockError
from llm_mock.support.forwarding import forward_method
from llm_mock.support.misspelling import MisspeltAttribute, NotAssignable
from llm_mock.support.text import described, format_count, shorten

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.embedding_model import MockEmbeddingModel
    from llm_mock.boundaries.llm.model import AsyncMockLLMModel, MockLLMModel
    from llm_mock.core.call import Call

DOCUMENTED_NAMES = (
    "add",
    "script",
    "set",
    "set_error",
    "set_latency",
    "set_price",
    "set_response",
    *("call_every_tool", "on", "set_embedding"),
    "autospec",
    "environment",
    "misbehave",
    "misbehaviour",
    "reset",
    "set_unknown",
    *("advance_clock", "set_quota"),
    "calls",
    "calls_of",
    "last_call",
    "models",
    "requested_models",
    *("get_async_model", "get_embedding_model", "get_model"),
    *("assert_all_replies_used", "assert_any_call", "assert_called_once"),
    *("assert_called_once_with", "assert_called_with", "assert_not_called"),
    *("assert_not_called_with", "assert_resilient"),
)
"""The names of `LLMMock` for users, which `docs/api.md` documents."""


class LLMMock(Mock):
    """A replacement for `llm.get_model` whose models answer from a script and keep a history.

    Calling it, or its `get_model`, returns the `MockLLMModel` of a name, always the same one for
    the same name. A mock may have a parent, which answers the calls that it has no reply for.
    """

    def __init__(
        self,
        responses: Mapping[str, Any] | None = None,
        side_effect: BaseException | type[BaseException] | None = None,
        *,
        parent: LLMMock | None = None,
        at_boundary: bool = False,
        standing_only: bool = False,
        settings: Settings | None = None,
    ) -> None:
        """Create a mock with its first replies.

        Args:
            responses: see `create_mock_get_model`.
            side_effect: see `create_mock_get_model`.
            parent: the mock that answers the calls this one has no reply for.
            at_boundary: replace `llm` itself: aliases are resolved, and models that this mock
                returned are answered by the mock that is current when they are called.
            standing_only: refuse queued replies.
            settings: the rules for answering and checking calls; by default the parent's.
        """
        __tracebackhide__ = True
        self._at_boundary = at_boundary
        names = LLMNames() if at_boundary else None
        super().__init__(
            ModelBehaviour(), parent, names=names, standing_only=standing_only, settings=settings
        )
        self.parent: LLMMock | None = parent
        self.folder: SharedFolder | None = None
        self._version: tuple[int, int] | None = None
        self.server_environment: Callable[[Mapping[str, str]], dict[str, str]] | None = None
        """Adds the address of this test's server to an environment; None without a server."""
        self.requested_models: list[str] = []
        """The model names that the application requested, in order, including repeated requests."""
        self._models: dict[str, MockLLMModel] = {}
        self._get_answering_mock: Callable[[], Mock | None] = (
            current_mock if at_boundary else self.get_self
        )
        self._models_by_kind: dict[tuple[str, str], Any] = {}
        if responses is not None and not isinstance(responses, Mapping):
            raise InvalidReply(
                "`responses` must be a mapping of model names to replies, but got "
                f"{described(responses)}. To answer every model, write {{'*': reply}}."
            )
        for model, response in (responses or {}).items():
            self.set(model, response)
        if side_effect is not None:
            to_exception(side_effect)
            self.configurator.replies.side_effect = StandingReply(
                ANY_MODEL, None, Reply(error=side_effect), None
            )

    set = forward_method("configurator", ResponseConfigurator.set)
    add = forward_method("configurator", ResponseConfigurator.add)
    script = forward_method("configurator", ResponseConfigurator.script)
    set_error = forward_method("configurator", ResponseConfigurator.set_error)
    set_unknown = forward_method("configurator", ResponseConfigurator.set_unknown)
    set_latency = forward_method("configurator", ResponseConfigurator.set_latency)
    set_embedding = forward_method("configurator", ResponseConfigurator.set_embedding)
    on = forward_method("configurator", ResponseConfigurator.on)
    set_response = forward_method("configurator", ResponseConfigurator.set_response)
    assert_not_called = forward_assertion(CallAssertions.assert_not_called)
    assert_called_once = forward_assertion(CallAssertions.assert_called_once)
    assert_called_with = forward_assertion(CallAssertions.assert_called_with)
    assert_called_once_with = forward_assertion(CallAssertions.assert_called_once_with)
    assert_any_call = forward_assertion(CallAssertions.assert_any_call)
    assert_not_called_with = forward_assertion(CallAssertions.assert_not_called_with)
    assert_resilient = forward_assertion(CallAssertions.assert_resilient)

    def call_every_tool(
        self,
        model: str,
        then: object = UNSET,
        *,
        arguments: Mapping[str, Mapping[str, Any]] | None = None,
        skip: Collection[str] = (),
    ) -> None:
        """Set a standing reply that calls each offered tool once and then answers.

        The arguments are the smallest that the tool's schema accepts, the same in every process.
        Over HTTP, only calls that `tool_choice` and `parallel_tool_calls` allow are made.

        Example:
            `mock.call_every_tool("*", then="Done")`

        Args:
            model: id, alias, a glob of ids, or `"*"` for any model.
            then: the reply after the tool results; by default the text `Done`, or a generated
                instance of the schema if the call has one.
            arguments: the values of some arguments, by tool name.
            skip: the names of tools that are not called.

        Raises:
            InvalidReply: `then` is not a reply.
            LLMMockError: when a model is called, if no arguments can be generated for a tool, or a
                tool in `arguments` or `skip` is not offered.
        """
        from llm_mock.behaviour.generated_calls import CallEveryTool

        __tracebackhide__ = True
        self.set(model, CallEveryTool(then, arguments, skip))

    def __call__(self, name: str | None = None, _skip_async: bool = False) -> MockLLMModel:
        """Return the model of a name, as `llm.get_model` does; by default `llm`'s default model."""
        __tracebackhide__ = True
        # `llm` passes a flag.
        if type(_skip_async) is not bool:
            raise InvalidReply(
                f"mock({name!r}, …) takes only the name of a model. To set a reply, write "
                f"mock.set({name!r}, …). To call the model, write mock({name!r}).prompt(…)."
            )
        if name is None:
            import llm

            get_default_model: Callable[[], str] = llm.get_default_model
            name = get_default_model()
        self.requested_models.append(name)
        if isinstance(name, str) and " " in name and find_registered(name, MODELS) is None:
            raise InvalidReply(
                f"mock({shorten(name)}) returns the model with this name, but no model has this "
                "name. To call a model, write mock('gpt-4o').prompt(…)."
            )
        return self.get_model(name)

    # Hidden from type checkers, which would otherwise accept any attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            __tracebackhide__ = True
            # A property that failed comes here too, and shows its own error.
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)
            # Imported here, as most tests write only names that exist.
            from llm_mock.boundaries.llm.guessed_names import find_advice

            advice = find_advice(name)
            if advice is not None:
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}. Use {advice}."
                )
            if name.startswith("call"):
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}. The calls of all "
                    "models are in .calls"
                )
            raise MisspeltAttribute(self, name)

    def __dir__(self) -> Iterable[str]:
        """Return the documented names; the others belong to the machinery."""
        return DOCUMENTED_NAMES

    def __repr__(self) -> str:
        # First, because it also receives the models that other processes called.
        calls = self.calls
        count = len(self.configurator.replies.get_configured())
        replies = "1 reply" if count == 1 else f"{count} replies"
        return f"<LLMMock: {replies} available, {format_count(len(calls), 'call')}>"

    @property
    def _assertions(self) -> CallAssertions:
        calls = self.calls
        embeddings = "" if calls else self.explain_embeddings()
        no_calls = self.explain_left_alone() or embeddings or "No model was called."
        if embeddings:
            embeddings += " For one model, use get_model(…).assert_not_called()."
        return CallAssertions(
            "any model", calls, no_calls, embeddings, self.configurator.get_model_id
        )

    @property
    def last_call(self) -> Call:
        """The record of the last call to any model.

        Raises:
            AssertionError: no model was called.
        """
        __tracebackhide__ = True
        return self._assertions.last_call

    @property
    def models(self) -> dict[str, MockLLMModel]:
        """Every model that was obtained or called, by its id."""
        # A call may come from an SDK, so the model of `llm` is created here. A copy of the ids,
        # because other threads may call models at the same time.
        for model_id in list(self.called):
            if model_id not in self._models:
                self._expose_model(model_id, self.get_mocked_model("model", model_id))
        return self._models

    def set_price(self, model: str, input: object, output: object) -> None:
        """Set the price of a model, which overrides its provider's.

        Args:
            model: an id, an alias, or a glob of ids such as `"ollama/*"`. If several match, the
                one set last counts.
            input: US dollars for a million input tokens.
            output: US dollars for a million output tokens.

        Raises:
            InvalidBudget: a price is not a number from 0.
        """
        from llm_mock.cost.prices import price

        __tracebackhide__ = True
        script = self.configurator.replies
        model_price = price(self.configurator.register_name(model), input, output)
        script.prices = (*script.prices, model_price)

    def get_model(self, name: str) -> MockLLMModel:
        """Return the model with an id or alias, always the same object, with its call history.

        Raises:
            llm.UnknownModelError: the test made the name unknown with `set_unknown`.
        """
        __tracebackhide__ = True
        model_id, entry = self._find_entry(name, MODELS)
        return cast("MockLLMModel", self.resolve_model("model", name, model_id, entry))

    def get_async_model(self, name: str) -> AsyncMockLLMModel:
        """Return the async model with an id or alias. It shares its history with the sync model.

        Raises:
            llm.UnknownModelError: the test made the name unknown with `set_unknown`, or its plugin
                registers no async model.
        """
        __tracebackhide__ = True
        model_id, entry = self._find_entry(name, MODELS)
        model = self.resolve_model("async_model", name, model_id, entry)
        return cast("AsyncMockLLMModel", model)

    def get_embedding_model(self, name: str) -> MockEmbeddingModel:
        """Return the embedding model with an id or alias, always the same object.

        Raises:
            llm.UnknownModelError: the test made the name unknown with `set_unknown`.
        """
        __tracebackhide__ = True
        model_id, entry = self._find_entry(name, EMBEDDING_MODELS)
        model = self.resolve_model("embedding_model", name, model_id, entry)
        return cast("MockEmbeddingModel", model)

    def _find_entry(self, name: str, listing: str) -> tuple[str, Any]:
        """Return the id of a name, and the entry that registers it or None."""
        __tracebackhide__ = True
        check_name(name)
        entry = find_registered(name, listing) if self._at_boundary else None
        model_id = name if entry is None else get_model_id(entry)
        self.configurator.replies.named.add(model_id)
        return model_id, entry

    def resolve_model(self, kind: str, name: str, model_id: str, entry: Any) -> Any:
        """Return the mocked model of a name, always the same one.

        Args:
            kind: `model`, `async_model` or `embedding_model`.
            name: the id or alias that the application asked for.
            model_id: the id.
            entry: the entry of `llm`'s listing that has the name; None if no plugin registers it.

        Raises:
            llm.UnknownModelError: the test made the model unknown with `set_unknown`, its plugin
                registers no async model, or no plugin registers it and the project refuses that.
        """
        __tracebackhide__ = True
        if self.is_unknown(model_id):
            raise build_unknown_model_error(f"Unknown model: {name}")
        if entry is None:
            is_checked = self.settings.known_models_only
            named = self.get_named_ids()
            if is_checked and not is_named(model_id, named):
                setting = self.settings.format_ini(*self.settings.strict_setting)
                is_in_test = not self.configurator.standing_only
                message = format_unknown_model(name, named, setting, is_in_test)
                raise build_unknown_model_error(message)
        elif kind == "async_model" and self.settings.autospec and entry.async_model is None:
            # The wording of `llm` itself, which applications may look for.
            raise build_unknown_model_error(f"Unknown async model (sync model exists): {name}")
        model = self.get_mocked_model(kind, model_id)
        if kind == "model":
            self._expose_model(model_id, model)
        return model

    def get_mocked_model(self, kind: str, model_id: str) -> Any:
        """Return the mocked model of an id without checking it; the one `resolve_model` returns."""
        model = self._models_by_kind.get((kind, model_id))
        if model is None:
            new = self._new_model(kind, model_id)
            with self._lock:
                model = self._models_by_kind.setdefault((kind, model_id), new)
        return model

    def _expose_model(self, model_id: str, model: MockLLMModel) -> None:
        """Add a model to those that `models` returns."""
        if model_id not in self._models:
            with self._lock:
                # Another thread may have called `forget_models`: a forgotten model stays forgotten.
                if self._models_by_kind.get(("model", model_id)) is model:
                    self._models[model_id] = model

    def _new_model(self, kind: str, model_id: str) -> Any:
        if kind == "embedding_model":
            return self._new_embedding_model(model_id)
        # Imported here, because this module must not import `llm`.
        from llm_mock.boundaries.llm.model import AsyncMockLLMModel, MockLLMModel

        if self.settings.autospec:
            real = find_registered_model(kind, model_id)
            if real is not None:
                return self.mock_registered_model(real)
        classes = {"model": MockLLMModel, "async_model": AsyncMockLLMModel}
        return classes[kind](model_id, mock=self._get_answering_mock)

    def _new_embedding_model(self, model_id: str) -> MockEmbeddingModel:
        from llm_mock.boundaries.llm.embedding_model import MockEmbeddingModel

        model = MockEmbeddingModel(model_id, mock=self._get_answering_mock)
        if self.settings.autospec:
            entry = find_registered(model_id, EMBEDDING_MODELS)
            if entry is not None:
                model.copy_capabilities(entry.model)
        return model

    def mock_registered_model(self, real: object) -> Any:
        """Return a mock of a registered model, sync or async, with that model's capabilities."""
        from llm_mock.boundaries.llm.model import create_mock_model

        return create_mock_model(real, self._get_answering_mock)

    def autospec(self, enabled: bool = True) -> None:
        """Make registered models refuse from now on what the real models refuse.

        These are invalid options, and attachments, tools, schemas and conversations that the real
        model does not support. Models that no plugin registers still accept everything.

        Args:
            enabled: False makes all models accept everything, for an application that replaces a
                registered model with a class of its own.
        """
        self.settings = self.settings._replace(autospec=enabled)
        self.forget_models()

    # Without these, an assignment would be accepted and have no effect. Hidden from type checkers,
    # which know that there is nothing to assign.
    if not TYPE_CHECKING:
        autospec = NotAssignable("it is a method: call mock.autospec()", autospec)
        strict = NotAssignable(
            "it is a setting of the project or the test: write ini llm_mock_strict = error, or "
            "@pytest.mark.llm_mock_strict('error')"
        )

        responses = NotAssignable("set the reply of a model: mock.set('gpt-4o', 'Hello')")
        return_value = NotAssignable("set the reply of a model: mock.set('gpt-4o', 'Hello')")
        side_effect = NotAssignable(
            "queue replies with mock.script('gpt-4o', first, second), or raise an error with "
            "mock.set_error('gpt-4o', error)"
        )

    def forget_models(self) -> None:
        """Create new models from now on, with the same replies and history."""
        with self._lock:
            self._models.clear()
            self.called.clear()
            self._models_by_kind.clear()
        if self.parent is not None:
            self.parent.forget_models()

    def environment(self, **variables: str) -> dict[str, str]:
        """Return the environment for another process that this mock answers.

        The process uses the replies of this mock, including those configured later, and uses up
        queued ones. Its calls appear in the history of this mock, even if the process crashes, and
        replies that it does not use are reported as unused. In a test that uses `llm_mock_server`,
        the environment also has the address of that server.

        Args:
            variables: more environment variables.

        Returns:
            The environment of this process and the added variables, for `subprocess.run(env=…)`.

        Raises:
            InvalidReply: a reply cannot be sent to another process.
            LLMMockError: this test has a cassette, which another process cannot use.
        """
        __tracebackhide__ = True
        if self.cassette is not None:
            raise LLMMockError(
                "environment() is not supported in a test with a cassette, which records and "
                "replays the calls of the test's own process. Configure the replies for the other "
                "process in a test without a cassette."
            )
        check_sendable(self.configurator.replies)
        testing = dict.fromkeys(TESTING_VARIABLES, "1")
        environment = self.extend_environment({**os.environ, **testing})
        if self.server_environment is not None:
            environment = self.server_environment(environment)
        return {**environment, **variables}

    def extend_environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return an environment with which another process uses the replies of this mock."""
        __tracebackhide__ = True
        with self._lock:
            folder = self.folder or SharedFolder.create()
            # Assigned before `_share`, which writes the replies into it.
            self.folder = folder
            self._share()
        return {**environment, **folder.get_environment()}

    def join(self, folder: SharedFolder) -> None:
        """Answer with the replies of a test in another process, and report calls to it."""
        self.folder = folder
        self._reload()

    def follow_fork(self) -> None:
        """Report the calls of this forked process to the process that it was forked from."""
        folder = cast("SharedFolder", self.folder)
        folder.mine = False
        # The fork has the replies already, so this version need not be loaded.
        self._version = folder.get_version()

    def _reload(self) -> None:
        folder = cast("SharedFolder", self.folder)
        if self._version == folder.get_version():
            return
        self._version = folder.get_version()
        try:
            (level, *parents), details, has_cassette = folder.read_configuration()
        except FileNotFoundError:  # the test has ended and removed its folder
            return
        self.configurator.replies, self.settings = level
        self.cassette = CassetteInOtherProcess() if has_cassette else None
        parent: LLMMock | None = None
        # The outermost mock is the last one; each is the parent of the one before it.
        for script, settings in reversed(parents):
            parent = LLMMock(parent=parent, at_boundary=True, standing_only=True, settings=settings)
            parent.configurator.replies = script
        self.parent = parent
        if self.misbehaviour is None and self.configurator.replies.misbehaviour is not None:
            self.misbehaviour = self._behaviour.create_misbehaviour(
                *self.configurator.replies.misbehaviour
            )
        self._apply_quotas()
        if details:
            self.history.keep_log(detailed=True)

    def reset(self) -> None:
        """Forget all models and calls, and all configuration."""
        with self._lock:
            super().reset()
            self._models.clear()
            self.called.clear()
            self._models_by_kind.clear()
            self.requested_models.clear()


MockGetModel = LLMMock
"""An earlier name of the class, which existing annotations may use."""
