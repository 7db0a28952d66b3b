"""Play an answer into an `llm` response: turn its events into the chunks that `llm` streams."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from llm.models import ToolCall

from llm_mock.boundaries.llm import recording, versions
from llm_mock.core.answer import Answer
from llm_mock.core.events import CompletedEvent, Event, MadeToolCall, Wait
from llm_mock.core.protocols import PassthroughCall
from llm_mock.core.reply import UNSET, Reply

if TYPE_CHECKING:
    from llm.models import (
        _BaseResponse,  # private: the common base of both kinds
    )

    from llm_mock.support.json_types import JSONObject

_STREAM_EVENT = versions.get_stream_event_class()


def play(
    answered: Answer | PassthroughCall, stream: bool, response: _BaseResponse
) -> Iterator[Any]:
    """Play an answer into a response.

    Args:
        answered: the answer, or a call to make for real.
        stream: yield the chunks one by one.
        response: the `llm.Response` to complete.

    Returns:
        The text in chunks, and from llm 0.32 on stream events. The error of the answer is raised
        after the chunks that come before it.
    """
    if not isinstance(answered, Answer):
        return recording.record(answered, response)
    chunks = _play_answer(answered, stream, response)
    return _sleep_between(chunks) if answered.real_time else chunks


async def play_async(
    answered: Answer | PassthroughCall, stream: bool, response: _BaseResponse
) -> AsyncIterator[Any]:
    """Play an answer into an `llm.AsyncResponse`, like `play`; other tasks run while it waits."""
    __tracebackhide__ = True
    if not isinstance(answered, Answer):
        async for chunk in recording.record_async(answered, response):
            yield chunk
        return
    for chunk in _play_answer(answered, stream, response):
        if isinstance(chunk, Wait):
            await asyncio.sleep(chunk)
        else:
            yield chunk


def _sleep_between(chunks: Iterator[Any]) -> Iterator[Any]:
    __tracebackhide__ = True
    for chunk in chunks:
        if isinstance(chunk, Wait):
            time.sleep(chunk)
        else:
            yield chunk


def _play_answer(answer: Answer, stream: bool, response: _BaseResponse) -> Iterator[Any]:
    """Yield chunks, and in real time the waits between them; complete the response after them."""
    __tracebackhide__ = True
    if _STREAM_EVENT is None and answer.reply.reasoning is not None:
        versions.require_llm("0.32", "Reply(reasoning=…)")
    if answer.reply.is_recorded:
        yield from _play_recorded(answer, stream, response)
    elif answer.waits is None and answer.reply.is_text:
        # Most replies: plain text needs no events.
        yield from answer.reply.stream(stream)
        complete(response, answer)
    else:
        yield from _play_events(answer, stream, response, [])
        complete(response, answer)


def _play_recorded(answer: Answer, stream: bool, response: _BaseResponse) -> Iterator[Any]:
    """Yield the chunks of a recorded answer, and restore the metadata that its plugin set.

    An error is raised last: the plugin had set the metadata before it failed.
    """
    __tracebackhide__ = True
    sent_before = versions.get_previous_prompt_json(response)
    completed: list[tuple[Any, dict[str, Any]]] = []
    error: Exception | None = None
    try:
        yield from _play_events(answer, stream, response, completed)
    except Exception as problem:
        error = problem
    if _STREAM_EVENT is not None:  # before, events are plain texts or None
        for event, attributes in completed:
            vars(event).update(attributes)
    complete(response, answer)
    # `_prompt_json` is private, but plugins set it, too: llm logs it as the request.
    response._prompt_json = answer.reply.sent(sent_before)
    vars(response).update(copy.deepcopy(dict(answer.reply.attributes)))
    if error is not None:
        raise error


def _play_events(
    answer: Answer,
    stream: bool,
    response: _BaseResponse,
    completed: list[tuple[Any, dict[str, Any]]],
) -> Iterator[Any]:
    """Yield the events of an answer.

    Args:
        answer: the answer.
        stream: yield the chunks one by one.
        response: gets the tool calls.
        completed: filled with events and attributes that a plugin set after it yielded them.
    """
    __tracebackhide__ = True
    for event in answer.events(stream):
        kind = type(event)
        if kind is str:
            yield event
        elif kind is MadeToolCall:
            call = ToolCall(event.name, event.arguments, event.tool_call_id)
            vars(call).update(event.attributes)
            response.add_tool_call(call)
        elif kind is not Wait:
            stream_event = _to_stream_event(event)
            if kind is CompletedEvent:
                completed.append((stream_event, copy.deepcopy(event.later)))
            if stream_event is not None:
                yield stream_event
        elif answer.real_time:
            yield event
        elif response._start is not None:
            # Virtual time: `_start` is private, `duration_ms()` counts from it.
            response._start -= event


def _to_stream_event(event: Any) -> Any:
    """Return `llm`'s own event for an event; None if this version of `llm` has none for it."""
    if _STREAM_EVENT is None:  # before llm 0.32
        return event.chunk if event.type == "text" else None
    if isinstance(event, Event):
        # The plugins of `llm` ignore refusals and searches, so a refusal has an empty text.
        if event.type in ("refusal", "item"):
            return None
        return _STREAM_EVENT(**vars(event))
    return copy.copy(event)  # as `llm` numbers events in place


def complete(response: _BaseResponse, answer: Answer) -> None:
    """Set the usage, attachments, model and payload of a response."""
    reply, record = answer.reply, answer.record
    # Most replies, as in `MockResponse`.
    if reply.is_text_alone and not reply.is_recorded and not answer.raw_json:
        response.set_usage(input=record["input_tokens"], output=record["output_tokens"])
        return
    input_tokens, output_tokens = record["input_tokens"], record["output_tokens"]
    details = None
    if reply.usage is not UNSET:
        # As the provider counts them; the record includes cached tokens.
        details = reply.usage_details()
        input_tokens, output_tokens = reply.given_tokens()
    response.set_usage(input=input_tokens, output=output_tokens, details=details)
    if reply.attachments:
        attachments: list[Any] = response.attachments
        attachments.extend(reply.attachments)
    if reply.resolved_model:
        response.set_resolved_model(reply.resolved_model)
    if answer.raw_json:
        vars(response)["raw_json"] = True  # read by `MockResponse` only
    if reply.over_http():
        response.response_json = _restore_http_body(reply)
    elif answer.raw_json:
        from llm_mock.boundaries.llm.payload import build_payload

        response.response_json = build_payload(answer, response)
    else:
        response.response_json = reply.raw_json()


def _restore_http_body(reply: Reply) -> JSONObject | None:
    """Return the body of an answer that was recorded from an SDK; None for a streamed one."""
    from llm_mock.boundaries.http.replay import restore_body

    body = restore_body(reply)
    return body if isinstance(body, dict) else None
