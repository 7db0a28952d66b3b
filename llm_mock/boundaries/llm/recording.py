"""Has a real model execute a response, for a cassette that records it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import llm

from llm_mock.boundaries.llm import versions
from llm_mock.boundaries.llm.execution_guard import is_async, is_mock
from llm_mock.boundaries.llm.names import list_registered_models
from llm_mock.boundaries.llm.provider_classes import REAL_CALL_MARK
from llm_mock.core.protocols import AnswerMetadata, PassthroughCall


def record(call: PassthroughCall, response: Any) -> Iterator[Any]:
    """Make a call for real."""
    chunks = _start(call, response)
    with _end_with_stream(call):
        for chunk in chunks:
            call.take(chunk)
            yield chunk


async def record_async(call: PassthroughCall, response: Any) -> AsyncIterator[Any]:
    """The asynchronous twin of `record`, for an `llm.AsyncResponse`."""
    chunks = _start(call, response)
    with _end_with_stream(call):
        async for chunk in chunks:
            call.take(chunk)
            yield chunk


@contextmanager
def _end_with_stream(call: PassthroughCall) -> Iterator[None]:
    """End a recording, however the stream ends."""
    try:
        yield
    except BaseException as error:
        call.end(error)
        raise
    call.end(None)


def _start(call: PassthroughCall, response: Any) -> Any:
    try:
        with call.as_user():
            model, arguments = _get_real_model(response)
        call.hide(arguments.get("key"), getattr(model, "key", None))
        setattr(response, REAL_CALL_MARK, True)
        chunks = _execute(
            model, response.prompt, response.stream, response, response.conversation, arguments
        )
    except Exception as error:
        call.report_not_made(error)
        raise
    sent_before, known = versions.get_previous_prompt_json(response), {*dir(response)}
    call.watch(lambda: _collect_metadata(response, sent_before, known))
    return chunks


def _get_real_model(response: Any) -> tuple[Any, dict[str, Any]]:
    """The real model behind a response, and further arguments for its `execute`."""
    __tracebackhide__ = True
    model = asked = response.prompt.model
    if is_mock(model):
        kind = "async_model" if is_async(model) else "model"
        found = getattr(list_registered_models().get(model.model_id), kind, None)
        if found is None:
            raise llm.UnknownModelError(f"Unknown model: {model.model_id}")
        model = found
    # `_key` is the key that `prompt(key=…)` gave, which llm keeps nowhere else.
    key = asked.key or model.get_key(response._key)
    if isinstance(model, (llm.KeyModel, llm.AsyncKeyModel)):
        return model, {"key": key}
    if model is not asked:
        model.key = key
    return model, {}


def execute_patched(model: Any, prompt: Any, stream: bool, response: Any, conversation: Any) -> Any:
    """Execute a real model whose `execute` somebody patched; no key is needed for that."""
    arguments = {}
    if isinstance(model, (llm.KeyModel, llm.AsyncKeyModel)):
        arguments["key"] = _find_key(model, getattr(response, "_key", None))
    return _execute(model, prompt, stream, response, conversation, arguments)


def _find_key(model: Any, key: str | None) -> str | None:
    try:
        found: str | None = model.get_key(key)
    except llm.NeedsKeyException:
        return None
    return found


def _execute(
    model: Any,
    prompt: Any,
    stream: bool,
    response: Any,
    conversation: Any,
    arguments: dict[str, Any],
) -> Any:
    if prompt.model is not model:
        prompt.model = model
        given = prompt.options
        prompt.options = model.Options(
            **{name: getattr(given, name) for name in given.model_fields_set}
        )
    return model.execute(
        prompt, stream=stream, response=response, conversation=conversation, **arguments
    )


def _collect_metadata(response: Any, sent_before: Any, known: set[str]) -> AnswerMetadata:
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
        attributes={
            name: value
            for name, value in vars(response).items()
            if name not in known and name[0] != "_"
        },
    )
