"""What makes a class of `llm` models a mocked one: it answers from a script."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Any

import llm.models

from llm_mock.behaviour import ModelBehaviour
from llm_mock.boundaries.llm.model_mixin import MockedModelMixin
from llm_mock.boundaries.llm.permissive_model import AnyOptions, PermissiveModel, split_arguments
from llm_mock.boundaries.llm.playback import play, play_async
from llm_mock.boundaries.llm.provider_classes import (
    find_patched_model,
    find_patched_prompt,
    has_patched_functions,
)
from llm_mock.boundaries.llm.recording import execute_patched
from llm_mock.boundaries.llm.request import LLMRequest
from llm_mock.boundaries.llm.response import (
    MockResponse,
    build_mock_response,
    has_original_classes,
)
from llm_mock.boundaries.llm.unconsumed_responses import mark_read
from llm_mock.core.mock import Mock
from llm_mock.core.request import to_plain_json


class ScriptedMixin(PermissiveModel, MockedModelMixin):
    """What both twins share. Their state is kept by their mock, for their model id."""

    def __init__(
        self,
        model_name: str | None = None,
        default_response: Any = None,
        *,
        mock: Callable[[], Mock | None] | None = None,
    ) -> None:
        """
        Args:
            model_name: the model id; a subclass may give it as `model_id` instead.
            default_response: the reply where nothing else was configured, by default `{"success": True}`.
            mock: which mock answers when the model is called; by default one of its own.
        """
        self.model_id = model_name or self.model_id
        if mock is not None:
            self.mock = mock  # type: ignore[method-assign]
        if default_response is not None:
            self.default_response = default_response


class ScriptedModel(ScriptedMixin, llm.models._Model):
    """What a mocked synchronous model does, with a key or without."""

    Options = AnyOptions  # type: ignore[assignment]

    def prompt(
        self, prompt: str | None = None, *, lazy: bool | None = None, **kwargs: Any
    ) -> MockResponse:
        """Ask the model. The call is counted, recorded and, where an error is configured, failed at once.

        Args:
            prompt: the text; `prompt_text=` is the same.
            lazy: True does all that when the response is read, as `llm`'s own models do; by default ini
                `llm_mock_lazy`.
            kwargs: what `llm.Model.prompt` takes (`schema`, `system`, `tools`, …), and options. `temperature`
                (recorded as 0.0 when not passed), `max_tokens` (1000), `model` (None) and any other name are
                recorded too; they become options only where the model's `Options` take them.

        Raises:
            Exception: the error that was configured for this call.
        """
        __tracebackhide__ = True
        if prompt is None and not self.has_real_capabilities:
            prompt = kwargs.pop("prompt_text", None)
        if has_patched_functions():
            if (patched := find_patched_prompt(self)) is not None:
                return patched(prompt, **kwargs)  # type: ignore[no-any-return]
            lazy = find_patched_model(self) is not None or lazy
        for_llm, others = split_arguments(self, kwargs) if kwargs else (kwargs, None)
        mock = self.mock()
        if mock is None or mock.cassette is not None or not has_original_classes():
            # What was recorded is played back as `llm` gave it, and a test's own patch of `llm` wins.
            return super().prompt(prompt, **for_llm)  # type: ignore[return-value]
        response: MockResponse = build_mock_response(self, prompt, **for_llm)
        if others:
            response.passed = to_plain_json(others)
        scripted = type(self).execute is SCRIPTED_EXECUTE and "execute" not in vars(
            self
        )  # else it answers by itself
        if scripted and not (mock.settings.lazy if lazy is None else lazy):
            request = LLMRequest(self.model_id, response.prompt, response, None)
            try:
                response.decided = mock.answer(request)
            except BaseException:
                mark_read(response)  # nobody can
                raise
        return response

    def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any, key: str | None = None
    ) -> Iterator[str]:
        """Called by `llm` to produce the response."""
        __tracebackhide__ = True
        decided = getattr(response, "decided", None) is not None
        if not decided and (real := find_patched_model(self, prompt)) is not None:
            return execute_patched(real, prompt, stream, response, conversation)  # type: ignore[no-any-return]
        return self.execute_scripted(prompt, stream, response, conversation)

    def execute_scripted(
        self, prompt: Any, stream: bool, response: Any, conversation: Any
    ) -> Iterator[str]:
        """Answer from the script."""
        __tracebackhide__ = True
        answered = getattr(response, "decided", None)
        if answered is None:
            mock = self.mock() or Mock(ModelBehaviour())
            answered = mock.answer(LLMRequest(self.model_id, prompt, response, conversation))
        return play(answered, stream, response)


SCRIPTED_EXECUTE = ScriptedModel.execute


class AsyncScriptedModel(ScriptedMixin, llm.models._AsyncModel):
    """The same for an asynchronous model."""

    Options = AnyOptions  # type: ignore[assignment]

    def prompt(self, prompt: str | None = None, **kwargs: Any) -> llm.AsyncResponse:
        """Ask the model, as any `llm.AsyncModel`."""
        patched = find_patched_prompt(self) if has_patched_functions() else None
        return (patched or super().prompt)(prompt, **kwargs)

    def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any, key: str | None = None
    ) -> AsyncIterator[str]:
        """Called by `llm` to produce the response."""
        if (real := find_patched_model(self, prompt)) is not None:
            return execute_patched(real, prompt, stream, response, conversation)  # type: ignore[no-any-return]
        return self.execute_scripted(prompt, stream, response, conversation)

    async def execute_scripted(
        self, prompt: Any, stream: bool, response: Any, conversation: Any
    ) -> AsyncGenerator[str, None]:
        """Answer from the script."""
        __tracebackhide__ = True
        mock = self.mock() or Mock(ModelBehaviour())
        answered = await mock.answer_async(
            LLMRequest(self.model_id, prompt, response, conversation)
        )
        async for chunk in play_async(answered, stream, response):
            yield chunk
