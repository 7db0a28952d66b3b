"""The mock of `llm.get_model`: hands out models, holds their replies, sees every call.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from llm_mock import explain
from llm_mock.boundaries.llm import boundary
from llm_mock.boundaries.llm.boundary import EXCHANGE_VARIABLE, TESTING_VARIABLE
from llm_mock.core.answering import AnsweringMock
from llm_mock.core.checks import Settings
from llm_mock.core.records import Numbers
from llm_mock.core.reply import Reply, exception_from
from llm_mock.core.script import ANY_MODEL, Script
from llm_mock.errors import InvalidReply, LLMMockError

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.embedding import MockEmbeddingModel
    from llm_mock.boundaries.llm.model import AsyncMockLLMModel, MockLLMModel
    from llm_mock.boundaries.processes import Exchange
    from llm_mock.core.vectors import EmbeddingState


class MockGetModel(AnsweringMock):
    """A stand-in for `llm.get_model` whose models answer from a script and keep a history.

    Calling it, or its `get_model`, returns the `MockLLMModel` of a name, always the same for the same name. A mock
    may lie on top of an outer one: what the inner one has no reply for, the outer one answers.
    """

    def __init__(
        self,
        responses: Mapping[str, Any] | None = None,
        side_effect: BaseException | type[BaseException] | None = None,
        *,
        outer: MockGetModel | None = None,
        at_boundary: bool = False,
        standing_only: bool = False,
        settings: Settings | None = None,
    ) -> None:
        """See `create_mock_get_model` for `responses` and `side_effect`.

        Args:
            outer: the mock that is asked where this one has no reply.
            at_boundary: the mock stands in for `llm` itself: aliases are resolved, and whichever mock is active
                when a model is called answers the models that this one handed out.
            standing_only: refuse queued replies.
            settings: how calls are decided and checked; by default as the outer mock has it.
        """
        super().__init__(outer, at_boundary=at_boundary, standing_only=standing_only, settings=settings)
        self._outer: MockGetModel | None = outer
        self.models: dict[str, MockLLMModel] = {}
        """Every model that was asked for or called, by its id."""
        self._answering: Any = boundary.active if at_boundary else self.itself
        self._sync_models: dict[str, MockLLMModel] = {}
        self._async_models: dict[str, AsyncMockLLMModel] = {}
        self._embedding_models: dict[str, MockEmbeddingModel] = {}
        self._embedding_states: dict[str, EmbeddingState] = {}
        if responses is not None and not isinstance(responses, Mapping):
            raise InvalidReply(explain.no_responses(responses))
        for model, response in (responses or {}).items():
            self.set(model, response)
        if side_effect is not None:
            exception_from(side_effect)
            self._script.side_effect = Reply(error=side_effect)

    def __call__(self, name: str | None = None, _skip_async: bool = False) -> MockLLMModel:
        """What an application calls as `llm.get_model`; without a name it is `llm`'s default model."""
        if name is None:
            import llm

            name = cast("str", llm.get_default_model())  # type: ignore[no-untyped-call]
        return self.get_model(name)

    def itself(self) -> MockGetModel:
        """This mock: what answers the models that it handed out, away from the boundary."""
        return self

    def __repr__(self) -> str:
        return f"<MockGetModel: {len(self.models)} models, {len(self.calls)} calls>"

    def get_model(self, name: str) -> MockLLMModel:
        """The model of an id or alias, always the same one; to see its calls.

        Raises:
            llm.UnknownModelError: the name was made unknown by `set_unknown`.
        """
        model = self._sync_model(self._known(name, self._model_id_of(name)))
        self.models.setdefault(model.model_id, model)
        return model

    def listed(self, real: Any) -> Any:
        """The mock of a registered model, sync or async, with the traits by which applications choose one."""
        from llm_mock.boundaries.llm.model import AsyncMockLLMModel, MockLLMModel

        kind = AsyncMockLLMModel if boundary.is_async(real) else MockLLMModel
        model = kind(real.model_id, mock=self._answering)
        model.take_traits(real)
        return model

    def autospec(self) -> None:
        """From now on the models that `llm` knows refuse what the real ones would refuse.

        That is: options that do not validate, types of attachments, tools, schemas and conversations that they do
        not support. Models that nobody knows accept everything.
        """
        self.settings = self.settings._replace(autospec=True)
        self.forget_models()

    def forget_models(self) -> None:
        """Hand out new models from now on, with the same replies and history."""
        for models in (self.models, self._sync_models, self._async_models, self._embedding_models):
            models.clear()
        if self._outer is not None:
            self._outer.forget_models()

    def get_async_model(self, name: str) -> AsyncMockLLMModel:
        """The asynchronous model of an id or alias; it shares replies and history with the synchronous one.

        Raises:
            llm.UnknownModelError: the name was made unknown by `set_unknown`.
        """
        model_id = self._known(name, self._model_id_of(name))
        if model_id not in self._async_models:
            from llm_mock.boundaries.llm.model import AsyncMockLLMModel

            model = self._specified("async_model", model_id) or AsyncMockLLMModel(model_id, mock=self._answering)
            self._async_models.setdefault(model_id, model)
        return self._async_models[model_id]

    def get_embedding_model(self, name: str) -> MockEmbeddingModel:
        """The embedding model of an id or alias, always the same one; to set its vectors and to see its calls.

        Raises:
            llm.UnknownModelError: the name was made unknown by `set_unknown`.
        """
        model_id = self._known(name, boundary.embedding_model_id_of(name) if self._at_boundary else name)
        if model_id not in self._embedding_models:
            from llm_mock.boundaries.llm.embedding import MockEmbeddingModel

            self._embedding_models.setdefault(model_id, MockEmbeddingModel(model_id, mock=self._answering))
        return self._embedding_models[model_id]

    def embedding_state(self, model_id: str) -> EmbeddingState:
        """What this mock knows of an embedding model; where it knows nothing, its outer mock does."""
        from llm_mock.core.vectors import EmbeddingState

        if model_id not in self._embedding_states:
            outer = self._outer.embedding_state(model_id) if self._outer else None
            self._embedding_states.setdefault(model_id, EmbeddingState(outer))
        return self._embedding_states[model_id]

    def _note_model(self, model_id: str) -> None:
        if model_id not in self.models:
            self.models[model_id] = self._sync_model(model_id)

    def _sync_model(self, model_id: str) -> MockLLMModel:
        if model_id not in self._sync_models:
            from llm_mock.boundaries.llm.model import MockLLMModel

            model = self._specified("model", model_id) or MockLLMModel(model_id, mock=self._answering)
            self._sync_models.setdefault(model_id, model)
        return self._sync_models[model_id]

    def registered_model(self, model_id: str) -> Any:
        """The model that a plugin of `llm` registers under an id; None where none does."""
        return boundary.registered_model("model", model_id)

    def _specified(self, kind: str, model_id: str) -> Any:
        real = boundary.registered_model(kind, model_id) if self.settings.autospec else None
        return None if real is None else self.listed(real)

    def _known(self, name: str, model_id: str) -> str:
        if self.is_unknown(model_id):
            import llm

            raise llm.UnknownModelError(f"Unknown model: {name}")
        return model_id

    def is_unknown(self, model_id: str) -> bool:
        """Whether the model was made unknown by `set_unknown`, here or in an outer mock."""
        return bool(self._unknown & {model_id, ANY_MODEL}) or (
            self._outer is not None and self._outer.is_unknown(model_id)
        )

    def environment(self, **variables: str) -> dict[str, str]:
        """The environment for a process that is to be mocked by this mock, and to report to it.

        Such a process answers from the replies of this mock, those configured later included, and uses queued ones
        up. Its calls appear in the history here, also when it crashes, and its unused replies are those of this mock.

        Args:
            variables: further environment variables.

        Returns:
            The environment of this process with what the other one needs, for `subprocess.run(…, env=…)`.

        Raises:
            InvalidReply: a reply cannot be sent to another process.
            LLMMockError: the calls of this mock are recorded or replayed, which another process cannot do.
        """
        from llm_mock.boundaries.processes import Exchange

        __tracebackhide__ = True
        if self.cassette is not None:
            raise LLMMockError(explain.cassette_beside_process())
        if self._exchange is None:
            self._exchange = Exchange.create()
            self._share_script()
        ours = {TESTING_VARIABLE: "1", EXCHANGE_VARIABLE: str(self._exchange.folder)}
        return {**os.environ, **ours, **variables}

    def join(self, exchange: Exchange) -> None:
        """Answer from the replies that a test configured in another process, and report calls to it."""
        self._exchange = exchange
        self._version = (0, 0)
        self._reload()

    def _reload(self) -> None:
        exchange = cast("Exchange", self._exchange)
        if self._version == exchange.version():
            return
        self._version = exchange.version()
        try:
            (self._script, self._unknown, self.settings), *outer = exchange.levels()
        except FileNotFoundError:  # the test is over
            return
        except Exception as error:
            self._script.side_effect = Reply(error=InvalidReply(explain.not_received(error)))
            return
        mock = self
        for script, unknown, settings in outer:
            mock._outer = MockGetModel(at_boundary=True, standing_only=True, settings=settings)
            mock._outer._script, mock._outer._unknown = script, unknown
            mock = mock._outer
        if self.misbehaviour is None and self.settings.misbehaviour is not None:
            from llm_mock.behaviour.misbehaviour import Misbehaviour

            self.misbehaviour = Misbehaviour(*self.settings.misbehaviour)

    def set_response(self, model: str, response: Any) -> None:
        """The same as `set` without a schema."""
        self.set(model, response)

    def reset(self) -> None:
        """Forget all models, calls and replies."""
        self._problems.clear()
        self._script = Script()
        self._unknown.clear()
        self._states.clear()
        self._sync_models.clear()
        self._async_models.clear()
        self._embedding_models.clear()
        self._embedding_states.clear()
        self.models.clear()
        self._calls.clear()
        self._numbers = Numbers()
        self._share_script()


def create_mock_get_model(
    responses: Mapping[str, Any] | None = None,
    side_effect: BaseException | type[BaseException] | None = None,
) -> MockGetModel:
    """Create a mock of `llm.get_model`.

    Args:
        responses: what each model answers: a mapping of model names (or `"*"` for any) to replies.
        side_effect: an exception (or its class) that every call of every model raises.

    Returns:
        A callable `name -> MockLLMModel` with a state of its own, apart from the fixtures'.

    Raises:
        InvalidReply: a response can be no reply, or `side_effect` is no exception.

    Example:
        >>> get_model = create_mock_get_model({"gpt-4o-mini": {"found": True}, "*": "Hello"})
        >>> get_model("gpt-4o-mini").prompt("Is there one?").json()
        {'found': True}
    """
    return MockGetModel(responses, side_effect)
