"""Base classes of mocked models: `llm` models that answer from a script."""

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
    is_llm_patched,
)
from llm_mock.boundaries.llm.unconsumed_responses import mark_read
from llm_mock.core.mock import Mock
from llm_mock.core.request import to_plain_json


class ScriptedMixin(PermissiveModel, MockedModelMixin):
    """Constructor of synchronous and asynchronous models; their mock keeps their state."""

    def __init__(
        self,
        model_name: str | None = None,
        default_response: Any = None,
        *,
        mock: Callable[[], Mock | None] | None = None,
    ) -> None:
        """Create a model.

        Args:
            model_name: the model id; a subclass may set `model_id` instead.
            default_response: the reply if no other is configured; by default `{"success": True}`.
            mock: returns the mock that answers at the time of a call; by default one of its own.
        """
        self.model_id = model_name or self.model_id
        if mock is not None:
            vars(self)["mock"] = mock  # found before the method of that name
        if default_response is not None:
            self.default_response = default_response


class ScriptedModel(ScriptedMixin, llm.models._Model):
    """Behaviour of a mocked synchronous model, with or without a key."""

    Options = AnyOptions  # type: ignore[assignment]

    def prompt(
        self, prompt: str | None = None, *, lazy: bool | None = None, **kwargs: Any
    ) -> MockResponse:
        """Call the model. The call is recorded, and a configured error raised, at once.

        Args:
            prompt: the text; `prompt_text=` is the same.
            lazy: True does all this when the response is read, as `llm`'s own models do; by default
                ini `llm_mock_lazy`.
            kwargs: arguments of `llm.Model.prompt` (`schema`, `system`, `tools`, …) and options.
                Any other name is recorded, too, and `temperature` (by default 0.0), `max_tokens`
                (1000) and `model` (None); they become options only if the model's `Options`
                accept them.

        Raises:
            Exception: the error that is configured for this call.
        """
        __tracebackhide__ = True
        # Rare cases are in methods of their own, as this one runs for every prompt.
        if is_llm_patched():
            patched = self._prompt_patched(prompt, kwargs)
            if patched is not None:
                return patched
        mock = self.mock()
        if mock is None or mock.cassette is not None:
            # A cassette replays what `llm` returned when it recorded, so `llm` responds here, too.
            return self._prompt_by_llm(prompt, kwargs)
        response: MockResponse
        response = self._respond(prompt, kwargs) if kwargs else build_mock_response(self, prompt)
        if lazy is None:
            lazy = mock.settings.lazy
        # A subclass, or a test, may define an `execute` that answers by itself.
        if lazy or getattr(self.execute, "__func__", None) is not SCRIPTED_EXECUTE:
            return response
        request = LLMRequest(self.model_id, response.prompt, response, None)
        try:
            response.decided = mock.answer(request)
        except BaseException:
            mark_read(response)  # the caller gets no response that could be read
            raise
        return response

    def _prompt_patched(self, prompt: str | None, kwargs: dict[str, Any]) -> MockResponse | None:
        """Call the model if a test's own patch of `llm` concerns it; else return None."""
        __tracebackhide__ = True
        patched: Callable[..., MockResponse] | None = find_patched_prompt(self)
        if patched is not None:
            return patched(self._get_prompt_text(prompt, kwargs), **kwargs)
        mock = self.mock()
        if not has_original_classes():
            return self._prompt_by_llm(prompt, kwargs)
        if find_patched_model(self) is None or mock is None or mock.cassette is not None:
            return None
        # The patched `execute` answers, which `llm` calls when the response is read.
        return self._respond(prompt, kwargs)

    def _prompt_by_llm(self, prompt: str | None, kwargs: dict[str, Any]) -> MockResponse:
        """Return `llm`'s own response."""
        text = self._get_prompt_text(prompt, kwargs)
        for_llm, _ = split_arguments(self, kwargs)
        return super().prompt(text, **for_llm)  # type: ignore[return-value]

    def _respond(self, prompt: str | None, kwargs: dict[str, Any]) -> MockResponse:
        """Return a response, still without an answer, to a prompt with arguments."""
        text = self._get_prompt_text(prompt, kwargs)
        for_llm, others = split_arguments(self, kwargs)
        response: MockResponse = build_mock_response(self, text, **for_llm)
        if others:
            response.passed = to_plain_json(others)
        return response

    def _get_prompt_text(self, prompt: str | None, kwargs: dict[str, Any]) -> str | None:
        """Return the prompt, else the argument `prompt_text`, which is taken out of the others."""
        if prompt is None and not self.has_real_capabilities:
            text: str | None = kwargs.pop("prompt_text", None)
            return text
        return prompt

    def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any, key: str | None = None
    ) -> Iterator[str]:
        """Answer a prompt; `llm` calls this when a response is read."""
        __tracebackhide__ = True
        if getattr(response, "decided", None) is None:
            real = find_patched_model(self, prompt)
            if real is not None:
                chunks: Iterator[str]
                chunks = execute_patched(real, prompt, stream, response, conversation)
                return chunks
        return self.execute_scripted(prompt, stream, response, conversation)

    def execute_scripted(
        self, prompt: Any, stream: bool, response: Any, conversation: Any
    ) -> Iterator[str]:
        """Answer from the script, whatever a test has patched."""
        __tracebackhide__ = True
        answered = getattr(response, "decided", None)
        if answered is None:
            mock = self.mock() or Mock(ModelBehaviour())
            answered = mock.answer(LLMRequest(self.model_id, prompt, response, conversation))
        return play(answered, stream, response)


# Kept from the start, as a test may patch the method.
SCRIPTED_EXECUTE = ScriptedModel.execute


class AsyncScriptedModel(ScriptedMixin, llm.models._AsyncModel):
    """Behaviour of a mocked asynchronous model, with or without a key."""

    Options = AnyOptions  # type: ignore[assignment]

    def prompt(self, prompt: str | None = None, **kwargs: Any) -> llm.AsyncResponse:
        """Call the model when the response is awaited, as `llm.AsyncModel.prompt`."""
        patched = find_patched_prompt(self) if has_patched_functions() else None
        return (patched or super().prompt)(prompt, **kwargs)

    def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any, key: str | None = None
    ) -> AsyncIterator[str]:
        """Answer a prompt; `llm` calls this when a response is awaited."""
        real = find_patched_model(self, prompt)
        if real is not None:
            chunks: AsyncIterator[str]
            chunks = execute_patched(real, prompt, stream, response, conversation)
            return chunks
        return self.execute_scripted(prompt, stream, response, conversation)

    async def execute_scripted(
        self, prompt: Any, stream: bool, response: Any, conversation: Any
    ) -> AsyncGenerator[str, None]:
        """Answer from the script, whatever a test has patched."""
        __tracebackhide__ = True
        mock = self.mock() or Mock(ModelBehaviour())
        request = LLMRequest(self.model_id, prompt, response, conversation)
        answered = await mock.answer_async(request)
        async for chunk in play_async(answered, stream, response):
            yield chunk
