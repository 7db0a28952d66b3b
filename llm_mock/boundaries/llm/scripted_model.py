"""Base classes of mocked models: `llm` models that answer from a script."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import llm.models
from pydantic import ConfigDict

from llm_mock.behaviour import ModelBehaviour
from llm_mock.boundaries.llm.model_mixin import MockedModelMixin
from llm_mock.boundaries.llm.playback import play, play_async
from llm_mock.boundaries.llm.provider_classes import (
    find_patched_model,
    find_patched_prompt,
    has_patched_functions,
)
from llm_mock.boundaries.llm.real_model import ReplacesRealModel
from llm_mock.boundaries.llm.recording import execute_patched
from llm_mock.boundaries.llm.request import LLMRequest, TextRequest
from llm_mock.boundaries.llm.response import (
    MockResponse,
    build_mock_response,
    has_original_classes,
)
from llm_mock.boundaries.llm.unconsumed_responses import (
    UNREGISTER,
    Watch,
    mark_read,
    register_unread,
)
from llm_mock.core.context import current_mock
from llm_mock.core.mock import Mock
from llm_mock.core.request import to_plain_json
from llm_mock.core.settings import ACCEPT_EVERY_CALL
from llm_mock.support.misspelling import MODEL_NAMES
from llm_mock.support.schemas import to_json_schema
from llm_mock.support.text import shorten_message

if TYPE_CHECKING:
    from llm.models import Attachment
    from llm.models import _BaseModel as BaseModel
else:
    # At runtime, the base comes from the class of `llm` that a mocked model also derives from.
    BaseModel = object

LLM_ARGUMENTS = frozenset(inspect.signature(llm.Model.prompt).parameters) | {"key"}
"""The arguments of `prompt` that `llm` accepts by itself."""
CAPABILITIES = (
    "Options",
    "attachment_types",
    "can_stream",
    "key_env_var",
    "needs_key",
    "supports_conversation",
    "supports_schema",
    "supports_tools",
)
"""The attributes that `llm` and applications read from a model."""


class AnyOptions(llm.Options):
    """Options of any name.

    A subclass of a mocked model may declare its own, as every `llm` model may.
    """

    model_config = ConfigDict(extra="allow")


class AnyAttachmentType(frozenset[str]):
    """A set that contains every attachment type."""

    def __contains__(self, attachment_type: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True


SERVER_SIDE_TOOL: type | None = getattr(llm, "ServerSideTool", None)
"""The base class of the tools that providers run; older versions of `llm` have none."""


class PermissiveModel(ReplacesRealModel, BaseModel):
    """A mocked model that accepts everything until it has the capabilities of a real one."""

    can_stream = True
    supports_schema = True
    supports_tools = True
    attachment_types: frozenset[str] | set[str] = AnyAttachmentType()
    has_real_capabilities = False
    """Whether a real model's capabilities were copied. `prompt()` then lets `llm` refuse arguments
    that are no options of the model."""
    _advice_by_name = MODEL_NAMES
    _server_side_tools: tuple[type, ...] = ()

    @property
    def supported_server_side_tools(self) -> tuple[type, ...]:
        """The classes of server-side tools that may be used: the real model's, or else all."""
        if self.has_real_capabilities:
            return self._server_side_tools
        return _list_server_side_tools()

    def _validate_attachments(self, attachments: list[Attachment] | None = None) -> None:
        # If any type is accepted, `llm` would fetch a URL only to find out its type.
        if not isinstance(self.attachment_types, AnyAttachmentType):
            super()._validate_attachments(attachments)

    def copy_capabilities(self, real: object) -> None:
        """Copy the capabilities, options and name of a real model."""
        self.bind_real_model(real, CAPABILITIES)
        # Older versions of `llm` do not have the attribute.
        self._server_side_tools = tuple(getattr(real, "supported_server_side_tools", ()))
        self.has_real_capabilities = True


def _list_server_side_tools() -> tuple[type, ...]:
    if SERVER_SIDE_TOOL is None:
        return ()
    # Cached, because `llm` reads it in every call. It accepts subclasses of these classes too.
    return SERVER_SIDE_TOOL, *SERVER_SIDE_TOOL.__subclasses__()


def split_arguments(
    model: PermissiveModel, arguments: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the keyword arguments of `prompt` by whether `llm` accepts them.

    A pydantic class as `schema` becomes its JSON schema here, which `llm` would generate again for
    each call.

    Returns:
        The arguments for `llm`, and those that only the history has.
    """
    options = model.Options
    takes_any = options.model_config.get("extra") == "allow"
    for_llm: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in arguments.items():
        if name == "schema":
            value = to_json_schema(value)
        is_declared = name in LLM_ARGUMENTS or name in options.model_fields
        # The mock accepts `model` for the history; no real model has such an option.
        is_accepted = is_declared or (takes_any and name != "model")
        if is_accepted or model.has_real_capabilities:
            for_llm[name] = value
        else:
            others[name] = value
    return for_llm, others


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

    def _note_refused(self, error: Exception) -> None:
        """Note that the real model refuses a call; the application may handle the error."""
        mock = self.mock()
        if mock is None or not self.has_real_capabilities:
            return
        problem = shorten_message(str(error)).removesuffix(".")
        mock.note_invalid_request(
            f"The registered model {self.model_id!r} refuses this call: {problem}. If a "
            f"class of your application answers for this name, write {ACCEPT_EVERY_CALL}."
        )


class ScriptedModel(ScriptedMixin, llm.models._Model):
    """Base class of mocked synchronous models, with or without a key."""

    Options = AnyOptions  # type: ignore[assignment]

    def prompt(
        self, prompt: str | None = None, *, lazy: bool | None = None, **kwargs: Any
    ) -> MockResponse:
        """Call the model. The call is recorded and a configured error is raised immediately.

        Args:
            prompt: the text of the prompt, which can also be passed as `prompt_text`.
            lazy: True defers the call until the response is read, as `llm`'s own models do. The
                default is ini `llm_mock_production_responses`.
            kwargs: arguments of `llm.Model.prompt` (`schema`, `system`, `tools`, …) and options.
                Other names are recorded too, including `temperature` (default 0.0), `max_tokens`
                (1000) and `model` (None). They become options only if the model's `Options` accept
                them.

        Raises:
            Exception: the error that is configured for this call.
        """
        __tracebackhide__ = True
        # Rare cases are in separate methods, because this one runs for every prompt.
        if has_patched_functions():
            patched = self._prompt_patched(prompt, kwargs)
            if patched is not None:
                return patched
        mock = self.mock()
        if mock is None or mock.cassette is not None:
            # A cassette replays the response of `llm` itself, so `llm` must respond here too.
            return self._prompt_by_llm(prompt, kwargs)
        request: LLMRequest
        # Not a subclass, such as an enumeration, because its `str()` may be another text.
        if type(prompt) is str and not kwargs:
            response = self._respond_to_text(prompt, mock)
            request = TextRequest(self.model_id, response.prompt, prompt, self.key)
        else:
            response = self._respond(prompt, kwargs)
            # Before the registration, because it fails if the prompt is not a string.
            request = LLMRequest(self.model_id, response.prompt, response, None)
            register_unread(response)
        if self._is_lazy(mock, lazy):
            return response
        try:
            response.decided = mock.answer(request)
        except BaseException:
            mark_read(response)  # the caller gets no response to read
            raise
        return response

    def _is_lazy(self, mock: Mock, lazy: bool | None) -> bool:
        """Return whether a prompt is answered only when its response is read."""
        if lazy is None:
            lazy = mock.settings.lazy
        # A subclass, or a test, may define an `execute` that answers by itself.
        function = getattr(self.execute, "__func__", None)
        return lazy or function is not SCRIPTED_EXECUTE

    def _respond_to_text(self, prompt: str, mock: Mock) -> MockResponse:
        """Return the response that `llm.Model.prompt` returns to a text, in half the time."""
        prompt_class: Any = llm.models.Prompt
        native = prompt_class(prompt, self, options=self.Options())
        response: MockResponse = MockResponse(native, self, True)
        # The same as in `register_unread`, for a known mock.
        if self.mock is current_mock:
            unread = mock.history.unread
            unread[id(response)] = response
            vars(response)[UNREGISTER] = unread.pop
        elif Watch.is_on:
            register_unread(response)
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
        response = self._respond(prompt, kwargs)
        register_unread(response)
        return response

    def _prompt_by_llm(self, prompt: str | None, kwargs: dict[str, Any]) -> MockResponse:
        """Return `llm`'s own response."""
        text = self._get_prompt_text(prompt, kwargs)
        for_llm, _ = split_arguments(self, kwargs)
        return super().prompt(text, **for_llm)  # type: ignore[return-value]

    def _respond(self, prompt: str | None, kwargs: dict[str, Any]) -> MockResponse:
        """Return a response, still without an answer, to a prompt with arguments."""
        text = self._get_prompt_text(prompt, kwargs)
        for_llm, others = split_arguments(self, kwargs)
        try:
            response: MockResponse = build_mock_response(self, text, **for_llm)
        except Exception as error:
            self._note_refused(error)
            raise
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


# Stored at import, because a test may patch the method.
SCRIPTED_EXECUTE = ScriptedModel.execute


class AsyncScriptedModel(ScriptedMixin, llm.models._AsyncModel):
    """Base class of mocked asynchronous models, with or without a key."""

    Options = AnyOptions  # type: ignore[assignment]

    def prompt(self, prompt: str | None = None, **kwargs: Any) -> llm.AsyncResponse:
        """Call the model when the response is awaited, like `llm.AsyncModel.prompt`."""
        patched = find_patched_prompt(self) if has_patched_functions() else None
        if patched is not None:
            response: llm.AsyncResponse = patched(prompt, **kwargs)
            return response
        try:
            return super().prompt(prompt, **kwargs)
        except Exception as error:
            self._note_refused(error)
            raise

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
