"""Execute a response with the real model, for a cassette that records it."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import llm

from llm_mock.boundaries.llm import versions
from llm_mock.boundaries.llm.execution_guard import is_async, is_mock
from llm_mock.boundaries.llm.names import list_registered_models
from llm_mock.boundaries.llm.provider_classes import REAL_CALL_MARK
from llm_mock.boundaries.llm.unconsumed_responses import mark_read
from llm_mock.core.protocols import AnswerMetadata, PassthroughCall

if TYPE_CHECKING:
    from llm.models import _BaseResponse  # private: the common base of both kinds

    from llm_mock.boundaries.llm.request import LLMRequest
    from llm_mock.core.mock import Mock

ADVICE = (
    "Recording needs the plugin of the real model and its key (`llm keys set`, or an environment "
    "variable)."
)


def record(call: PassthroughCall, response: _BaseResponse) -> Iterator[Any]:
    """Make a call for real, and yield its chunks."""
    chunks = _start(call, response)
    with _end_with_stream(call):
        for chunk in chunks:
            call.take(chunk)
            yield chunk


async def record_async(call: PassthroughCall, response: _BaseResponse) -> AsyncIterator[Any]:
    """Make a call of an `llm.AsyncResponse` for real, and yield its chunks."""
    chunks = _start(call, response)
    with _end_with_stream(call):
        async for chunk in chunks:
            call.take(chunk)
            yield chunk


def repeat_call(
    request: LLMRequest,
    conversation: llm.Conversation | None,
    call: PassthroughCall,
    mock: Mock,
) -> None:
    """Make a call for real again, to verify a cassette.

    Args:
        request: the call.
        conversation: the conversation as it was before the call; None without one.
        call: receives the answer.
        mock: receives the problems of the call.
    """
    # A copy, because the plugin of the model may change it.
    prompt = copy.copy(request.native)
    model = prompt.model
    # The new response is marked as read, because the test cannot read it.
    if is_async(model):
        async_conversation = cast("llm.AsyncConversation", conversation)
        async_response = llm.AsyncResponse(
            prompt, model, False, conversation=async_conversation, key=request.key
        )
        mark_read(async_response)
        asyncio.run(_drain(record_async(call, async_response)))
        return
    response = llm.Response(prompt, model, False, conversation=conversation, key=request.key)
    mark_read(response)
    for _ in record(call, response):
        pass


async def _drain(chunks: AsyncIterator[object]) -> None:
    async for _ in chunks:
        pass


@contextmanager
def _end_with_stream(call: PassthroughCall) -> Iterator[None]:
    """End a recording when its stream ends, with the error if there is one."""
    try:
        yield
    except BaseException as error:  # a `GeneratorExit` too: the application stops reading
        call.end(error)
        raise
    call.end(None)


def _start(call: PassthroughCall, response: _BaseResponse) -> Any:
    try:
        # The tests have their own user folder, in which no keys are stored.
        with call.as_user():
            model, arguments = _get_real_model(response)
        call.hide(arguments.get("key"), getattr(model, "key", None))
        setattr(response, REAL_CALL_MARK, True)
        prompt = response.prompt
        conversation = response.conversation
        chunks = _execute(model, prompt, response.stream, response, conversation, arguments)
    except Exception as error:
        call.report_not_made(error, ADVICE)
        raise
    sent_before = versions.get_previous_prompt_json(response)
    known = {*dir(response)}  # what the plugin adds from now on is recorded as its own
    call.watch(lambda: _collect_metadata(response, sent_before, known))
    return chunks


def _get_real_model(response: _BaseResponse) -> tuple[Any, dict[str, Any]]:
    """Return the real model of a response, and more arguments for its `execute`."""
    called = response.prompt.model
    model: Any = called
    if is_mock(called):
        kind = "async_model" if is_async(called) else "model"
        model = getattr(list_registered_models().get(called.model_id), kind, None)
        if model is None:
            raise llm.UnknownModelError(f"Unknown model: {called.model_id}")
    # `_key` is private: the key of `prompt(key=…)`, which llm keeps nowhere else.
    key = called.key or model.get_key(response._key)
    if isinstance(model, (llm.KeyModel, llm.AsyncKeyModel)):
        return model, {"key": key}
    if model is not called:
        model.key = key
    return model, {}


def execute_patched(
    model: object, prompt: object, stream: bool, response: _BaseResponse, conversation: object
) -> Any:
    """Execute a real model whose `execute` a test has patched; it needs no key."""
    arguments = {}
    if isinstance(model, (llm.KeyModel, llm.AsyncKeyModel)):
        arguments["key"] = _find_key(model, getattr(response, "_key", None))
    return _execute(model, prompt, stream, response, conversation, arguments)


def _find_key(model: Any, key: str | None) -> str | None:
    try:
        found: str | None = model.get_key(key)
    except llm.NeedsKeyException:  # the patch sends nothing, so the key does not matter
        return None
    return found


def _execute(
    model: Any,
    prompt: Any,
    stream: bool,
    response: _BaseResponse,
    conversation: Any,
    arguments: dict[str, Any],
) -> Any:
    if prompt.model is not model:
        # Only the options that were passed, so that the real model sets its own defaults.
        options = prompt.options
        passed = {name: getattr(options, name) for name in options.model_fields_set}
        prompt.model = model
        prompt.options = model.Options(**passed)
    return model.execute(
        prompt, stream=stream, response=response, conversation=conversation, **arguments
    )


def _collect_metadata(
    response: _BaseResponse, sent_before: object, known: set[str]
) -> AnswerMetadata:
    attributes = {
        name: value
        for name, value in vars(response).items()
        if name not in known and not name.startswith("_")
    }
    # Private names, as the public methods would execute the model again or wait for it.
    return AnswerMetadata(
        tool_calls=response._tool_calls,
        attachments=response.attachments,
        usage={
            "input": response.input_tokens,
            "output": response.output_tokens,
            "details": response.token_details,
        },
        resolved_model=response.resolved_model,
        raw=response.response_json,
        sent=response._prompt_json,
        sent_before=sent_before,
        attributes=attributes,
    )
