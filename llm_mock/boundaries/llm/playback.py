"""Plays an answer into an `llm` response, sync or async: the only place where one becomes what `llm` streams."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from llm.models import ToolCall

from llm_mock.boundaries.llm import recording, versions
from llm_mock.core.answer import Answer
from llm_mock.core.events import CompletedEvent, Event, MadeToolCall, Wait
from llm_mock.core.protocols import PassthroughCall

_STREAM_EVENT = versions.get_stream_event_class()


def play(answered: Answer | PassthroughCall, stream: bool, response: Any) -> Iterator[Any]:
    """Play an answer into a response.

    Args:
        answered: the answer; or the call that is to be made for real.
        stream: whether to yield the chunks one by one.
        response: the `llm.Response` to complete.

    Returns:
        The text in chunks, and from llm 0.32 on stream events. Reading it raises the error of the answer, once the
        chunks before it came.
    """
    __tracebackhide__ = True
    if not isinstance(answered, Answer):
        return recording.record(answered, response)
    pieces = _play_pieces(answered, stream, response)
    return _sleep_between(pieces) if answered.real_time else pieces


async def play_async(
    answered: Answer | PassthroughCall, stream: bool, response: Any
) -> AsyncIterator[Any]:
    """The asynchronous twin of `play`, for an `llm.AsyncResponse`; other tasks run while it waits."""
    __tracebackhide__ = True
    if not isinstance(answered, Answer):
        async for chunk in recording.record_async(answered, response):
            yield chunk
        return
    for piece in _play_pieces(answered, stream, response):
        if isinstance(piece, Wait):
            await asyncio.sleep(piece)
        else:
            yield piece


def _sleep_between(pieces: Iterator[Any]) -> Iterator[Any]:
    __tracebackhide__ = True
    for piece in pieces:
        if isinstance(piece, Wait):
            time.sleep(piece)
        else:
            yield piece


def _play_pieces(answer: Answer, stream: bool, response: Any) -> Iterator[Any]:
    """What `llm` is given, and in real time the waits; in virtual time the response's own clock goes on."""
    __tracebackhide__ = True
    if answer.reply.is_recorded:
        yield from _play_recorded(answer, stream, response)
    elif answer.waits is None and answer.reply.is_text:
        yield from answer.reply.stream(stream)
        _complete(response, answer)
    else:
        yield from _play_events(answer, stream, response)
        _complete(response, answer)


def _play_recorded(answer: Answer, stream: bool, response: Any) -> Iterator[Any]:
    """The same of a recorded answer, with what its plugin told beside it, also before an error."""
    __tracebackhide__ = True
    sent_before = versions.get_previous_prompt_json(response)
    completed: list[tuple[Any, dict[str, Any]]] = []
    error = None
    try:
        yield from _play_events(answer, stream, response, completed)
    except Exception as problem:
        error = problem
    for event, later in completed:
        vars(event).update(later)
    _complete(response, answer)
    # What llm logs as the request; plugins set the same private name.
    response._prompt_json = answer.reply.sent(sent_before)
    vars(response).update(copy.deepcopy(dict(answer.reply.attributes)))
    if error is not None:
        raise error


def _play_events(
    answer: Answer, stream: bool, response: Any, completed: Any = None
) -> Iterator[Any]:
    __tracebackhide__ = True
    if _STREAM_EVENT is None and answer.reply.reasoning is not None:
        versions.require_llm("0.32", "Reply(reasoning=…)")
    for event in answer.events(stream):
        kind = type(event)
        if kind is str:
            yield event
        elif kind is MadeToolCall:
            call = ToolCall(event.name, event.arguments, event.tool_call_id)
            vars(call).update(event.attributes)
            response.add_tool_call(call)
        elif kind is not Wait:
            given = _to_stream_event(event)
            if kind is CompletedEvent and _STREAM_EVENT is not None:
                completed.append((given, copy.deepcopy(event.later)))
            if given is not None:
                yield given
        elif answer.real_time:
            yield event
        elif response._start is not None:
            response._start -= event  # the clock of `duration_ms()`


def _to_stream_event(event: Any) -> Any:
    """What `llm` is given for an event; None where this version of it has nothing for one."""
    if _STREAM_EVENT is not None:  # a copy, as `llm` numbers an event in place
        return _STREAM_EVENT(**vars(event)) if isinstance(event, Event) else copy.copy(event)
    return event.chunk if event.type == "text" else None


def _complete(response: Any, answer: Answer) -> None:
    reply, record = answer.reply, answer.record
    details = None if reply.usage is None else reply.usage_details()
    response.set_usage(
        input=record["input_tokens"], output=record["output_tokens"], details=details
    )
    if reply.attachments:
        response.attachments.extend(reply.attachments)
    if reply.resolved_model:
        response.set_resolved_model(reply.resolved_model)
    if answer.raw_json:
        response.raw_json = True
    if reply.over_http():
        response.response_json = _restore_http_body(reply)
    else:
        response.response_json = (
            _build_payload(answer, response) if answer.raw_json else reply.raw_json()
        )


def _build_payload(answer: Answer, response: Any) -> Any:
    from llm_mock.boundaries.llm.payload import build_payload

    return build_payload(answer, response)


def _restore_http_body(reply: Any) -> Any:
    """What the provider told the SDK that asked when the answer was recorded; of a stream there is no whole."""
    from llm_mock.boundaries.http.replay import restore_body

    body = restore_body(reply)
    return body if isinstance(body, dict) else None
