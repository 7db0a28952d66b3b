"""The mock of `llm.get_model`: hands out models, holds their replies, sees every call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
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
from llm_mock.core.assertions import CallAssertions
from llm_mock.core.configurator import ResponseConfigurator, check_name
from llm_mock.core.context import current_mock
from llm_mock.core.mock import Mock
from llm_mock.core.model_names import ANY_MODEL, is_named
from llm_mock.core.reply import Reply, to_exception
from llm_mock.core.script import StandingReply
from llm_mock.core.settings import Settings
from llm_mock.errors import InvalidReply, LLMMockError
from llm_mock.support.forwarding import forward_method
from llm_mock.support.text import described

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.embedding_model import MockEmbeddingModel
    from llm_mock.boundaries.llm.model import AsyncMockLLMModel, MockLLMModel
    from llm_mock.core.records import CallRecord


class LLMMock(Mock):
    """A stand-in for `llm.get_model` whose models answer from a script and keep a history.

    Calling it, or its `get_model`, returns the `MockLLMModel` of a name, always the same for the same name. A mock
    may lie on top of a parent: what it has no reply for, the parent answers.
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
        """See `create_mock_get_model` for `responses` and `side_effect`.

        Args:
            parent: the mock that is asked where this one has no reply.
            at_boundary: the mock stands in for `llm` itself: aliases are resolved, and the mock that is active when a
                model is called answers the models that this one handed out.
            standing_only: refuse queued replies.
            settings: how calls are decided and checked; by default as the parent has it.
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
        """Adds to an environment where the server of this test is; None without one."""
        self._models: dict[str, MockLLMModel] = {}
        self._called: dict[str, None] = {}
        self._get_answering_mock: Any = current_mock if at_boundary else self.get_self
        self._models_by_kind: dict[tuple[str, str], Any] = {}
        if responses is not None and not isinstance(responses, Mapping):
            raise InvalidReply(
                f"This is not a mapping of model names to replies: {described(responses)}. "
                "For any model write {'*': reply}."
            )
        for model, response in (responses or {}).items():
            self.set(model, response)
        if side_effect is not None:
            to_exception(side_effect)
            self.responses.script.side_effect = StandingReply(
                ANY_MODEL, None, Reply(error=side_effect), None
            )

    set = forward_method("responses", ResponseConfigurator.set)
    add = forward_method("responses", ResponseConfigurator.add)
    add_all = forward_method("responses", ResponseConfigurator.add_all)
    set_error = forward_method("responses", ResponseConfigurator.set_error)
    set_unknown = forward_method("responses", ResponseConfigurator.set_unknown)
    set_latency = forward_method("responses", ResponseConfigurator.set_latency)
    set_response = forward_method("responses", ResponseConfigurator.set_response)
    assert_not_called = forward_method("_assertions", CallAssertions.assert_not_called)
    assert_called_once = forward_method("_assertions", CallAssertions.assert_called_once)
    assert_called_with = forward_method("_assertions", CallAssertions.assert_called_with)
    assert_called_once_with = forward_method("_assertions", CallAssertions.assert_called_once_with)
    assert_resilient = forward_method("_assertions", CallAssertions.assert_resilient)

    def __call__(self, name: str | None = None, _skip_async: bool = False) -> MockLLMModel:
        """What an application calls as `llm.get_model`; without a name it is `llm`'s default model."""
        __tracebackhide__ = True
        if name is None:
            import llm

            name = cast("str", llm.get_default_model())  # type: ignore[no-untyped-call]
        return self.get_model(name)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            __tracebackhide__ = True
            hint = ". The calls of all models are in .calls" if name.startswith("call") else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def __repr__(self) -> str:
        calls = self.calls
        return f"<LLMMock: {len({*self._models, *self._called})} models, {len(calls)} calls>"

    @property
    def _assertions(self) -> CallAssertions:
        return CallAssertions("any model", self.calls, "No model was called.")

    @property
    def last_call(self) -> CallRecord:
        """The record of the last call of any model; `AssertionError` where there was none."""
        __tracebackhide__ = True
        return self._assertions.last_call

    @property
    def models(self) -> dict[str, MockLLMModel]:
        """Every model that was asked for or called, by its id."""
        for model_id in [name for name in self._called if name not in self._models]:
            self._expose_model(model_id, self.get_mocked_model("model", model_id))
        return self._models

    def set_price(self, model: str, input: Any, output: Any) -> None:
        """Say what a model costs, before the price that its provider asks.

        Args:
            model: id or alias, or a glob of ids such as `"ollama/*"`. Of several that fit the one set last counts.
            input: US dollars for a million tokens of input.
            output: the same for the output.

        Raises:
            InvalidBudget: one is not an amount from 0.
        """
        from llm_mock.cost.prices import price

        __tracebackhide__ = True
        script = self.responses.script
        script.prices = (*script.prices, price(self.responses.register_name(model), input, output))

    def get_model(self, name: str) -> MockLLMModel:
        """The model of an id or alias, always the same one; to see its calls.

        Raises:
            llm.UnknownModelError: the name was made unknown by `set_unknown`.
        """
        __tracebackhide__ = True
        return cast(
            "MockLLMModel", self.resolve_model("model", name, self._find_entry(name, MODELS))
        )

    def get_async_model(self, name: str) -> AsyncMockLLMModel:
        """The asynchronous model of an id or alias; it shares replies and history with the synchronous one.

        Raises:
            llm.UnknownModelError: the name was made unknown by `set_unknown`, or its plugin registers no such twin.
        """
        __tracebackhide__ = True
        return cast(
            "AsyncMockLLMModel",
            self.resolve_model("async_model", name, self._find_entry(name, MODELS)),
        )

    def get_embedding_model(self, name: str) -> MockEmbeddingModel:
        """The embedding model of an id or alias, always the same one; to set its vectors and to see its calls.

        Raises:
            llm.UnknownModelError: the name was made unknown by `set_unknown`.
        """
        __tracebackhide__ = True
        return cast(
            "MockEmbeddingModel",
            self.resolve_model("embedding_model", name, self._find_entry(name, EMBEDDING_MODELS)),
        )

    def _find_entry(self, name: str, listing: str) -> Any:
        __tracebackhide__ = True
        entry = find_registered(name, listing) if check_name(name) and self._at_boundary else None
        self.responses.script.named.add(name if entry is None else get_model_id(entry))
        return entry

    def resolve_model(self, kind: str, name: str, entry: Any) -> Any:
        """The mocked model that is asked for by a name, always the same one.

        Args:
            kind: `model`, `async_model` or `embedding_model`.
            name: what was asked for.
            entry: what registers a model under the name; None where nothing does.

        Raises:
            llm.UnknownModelError: the model was made unknown by `set_unknown`, its plugin registers no such twin, or
                nobody knows the name and the project wants that refused.
        """
        __tracebackhide__ = True
        model_id = name if entry is None else get_model_id(entry)
        if self.is_unknown(model_id):
            raise build_unknown_model_error(f"Unknown model: {name}")
        if (
            self.settings.autospec
            and entry is not None
            and kind == "async_model"
            and entry.async_model is None
        ):
            raise build_unknown_model_error(f"Unknown async model (sync model exists): {name}")
        if (
            self.settings.refuse_unknown
            and entry is None
            and not is_named(model_id, self.get_named_ids())
        ):
            raise build_unknown_model_error(format_unknown_model(name, self.get_named_ids()))
        model = self.get_mocked_model(kind, model_id)
        if kind == "model":
            self._expose_model(model_id, model)
        return model

    def get_mocked_model(self, kind: str, model_id: str) -> Any:
        """The model of an id, which answers whoever has it executed: the same that `resolve_model` gives."""
        model = self._models_by_kind.get((kind, model_id))
        if model is None:
            new = self._new_model(kind, model_id)
            with self._lock:
                model = self._models_by_kind.setdefault((kind, model_id), new)
        return model

    def _expose_model(self, model_id: str, model: MockLLMModel) -> None:
        if model_id not in self._models:
            with self._lock:  # what is forgotten meanwhile must not come back
                if self._models_by_kind.get(("model", model_id)) is model:
                    self._models[model_id] = model

    def _new_model(self, kind: str, model_id: str) -> Any:
        if kind == "embedding_model":
            from llm_mock.boundaries.llm.embedding_model import MockEmbeddingModel

            embedding_model = MockEmbeddingModel(model_id, mock=self._get_answering_mock)
            entry = find_registered(model_id, EMBEDDING_MODELS) if self.settings.autospec else None
            if entry is not None:
                embedding_model.copy_capabilities(entry.model)
            return embedding_model
        from llm_mock.boundaries.llm.model import AsyncMockLLMModel, MockLLMModel

        real = find_registered_model(kind, model_id) if self.settings.autospec else None
        if real is not None:
            return self.mock_registered_model(real)
        return (MockLLMModel if kind == "model" else AsyncMockLLMModel)(
            model_id, mock=self._get_answering_mock
        )

    def mock_registered_model(self, real: Any) -> Any:
        """The mock of a registered model, sync or async, with the traits by which applications choose one."""
        from llm_mock.boundaries.llm.model import create_mock_model

        return create_mock_model(real, self._get_answering_mock)

    def autospec(self) -> None:
        """From now on the models that `llm` knows refuse what the real ones would refuse.

        That is: options that do not validate, types of attachments, tools, schemas and conversations that they do
        not support. Models that nobody knows accept everything.
        """
        self.settings = self.settings._replace(autospec=True)
        self.forget_models()

    def forget_models(self) -> None:
        """Hand out new models from now on, with the same replies and history."""
        with self._lock:
            self._models.clear()
            self._called.clear()
            self._models_by_kind.clear()
        if self.parent is not None:
            self.parent.forget_models()

    def _note_model(self, model_id: str) -> None:
        self._called[model_id] = (
            None  # a model of `llm` is made when somebody looks: an SDK may have called it
        )

    def environment(self, **variables: str) -> dict[str, str]:
        """The environment for a process that is to be mocked by this mock, and to report to it.

        Such a process answers from the replies of this mock, those configured later included, and uses queued ones
        up. Its calls appear in the history here, also when it crashes, and its unused replies are those of this mock.
        In a test that asks for `llm_mock_server` the environment is that of the server, too.

        Args:
            variables: further environment variables.

        Returns:
            The environment of this process with what the other one needs, for `subprocess.run(…, env=…)`.

        Raises:
            InvalidReply: a reply cannot be sent to another process.
            LLMMockError: the calls of this mock are recorded or replayed, which another process cannot do.
        """
        __tracebackhide__ = True
        if self.cassette is not None:
            raise LLMMockError(
                "environment(): a cassette records and replays the calls of the test's own process, and this test has "
                "one. Configure the replies for the other process in a test without a cassette."
            )
        check_sendable(self.responses.script)
        environment = self.extend_environment(
            {**os.environ, **dict.fromkeys(TESTING_VARIABLES, "1")}
        )
        if self.server_environment is not None:
            environment = self.server_environment(environment)
        return {**environment, **variables}

    def extend_environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """An environment with what a process needs to answer as this mock does, and to report to it."""
        __tracebackhide__ = True
        with self._lock:
            folder = self.folder = self.folder or SharedFolder.create()
            self._share()
        return {**environment, **folder.get_environment()}

    def join(self, folder: SharedFolder) -> None:
        """Answer from the replies that a test configured in another process, and report calls to it."""
        self.folder = folder
        self._reload()

    def follow_fork(self) -> None:
        """This is a process that was forked from that of the test: it has the replies, and reports its calls."""
        folder = cast("SharedFolder", self.folder)
        folder.mine, self._version = False, folder.get_version()

    def _reload(self) -> None:
        folder = cast("SharedFolder", self.folder)
        if self._version == folder.get_version():
            return
        self._version = folder.get_version()
        try:
            (level, *parents), details, has_cassette = folder.read_configuration()
        except FileNotFoundError:  # the test is over
            return
        self.responses.script, self.settings = level
        self.cassette = CassetteInOtherProcess() if has_cassette else None
        parent: LLMMock | None = None
        for script, settings in reversed(parents):
            parent = LLMMock(parent=parent, at_boundary=True, standing_only=True, settings=settings)
            parent.responses.script = script
        self.parent = parent
        if self.misbehaviour is None and self.responses.script.misbehaviour is not None:
            self.misbehaviour = self._behaviour.create_misbehaviour(
                *self.responses.script.misbehaviour
            )
        if details and self.history.log is None:
            from llm_mock.core.call_log import CallLog

            self.history.log = CallLog()

    def reset(self) -> None:
        """Forget all models and calls, and all that was configured."""
        with self._lock:
            super().reset()
            self._models.clear()
            self._called.clear()
            self._models_by_kind.clear()


MockGetModel = LLMMock
"""The name of the class in the first specification."""
