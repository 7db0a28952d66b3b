"""What a mocked model gives back: the response of `prompt()`, and how a reply becomes any `llm` response."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import llm

from llm_mock.boundaries.llm import boundary
from llm_mock.core.delivery import Delivery

try:
    from llm.parts import StreamEvent as StreamEvent
except ImportError:  # before llm 0.32
    StreamEvent = None  # type: ignore[assignment, misc]

if TYPE_CHECKING:
    from llm_mock.core.answering import Answered
    from llm_mock.core.records import CallRecord
    from llm_mock.core.reply import Reply


class CallableText(str):
    """A text that may also be called, as `response.text` or `response.text()`."""

    __slots__ = ()

    def __call__(self) -> str:
        return str(self)


class CallableUsage(dict[str, Any]):
    """Token counts as a mapping with `input_tokens` and `output_tokens`; called, it returns the `llm.Usage`."""

    def __init__(self, usage: llm.Usage) -> None:
        super().__init__(input_tokens=usage.input, output_tokens=usage.output)
        self._usage = usage

    def __call__(self) -> llm.Usage:
        return self._usage


NOTHING_PASSED: Mapping[str, Any] = MappingProxyType({})


class MockResponse(llm.Response):
    """The response of `MockLLMModel.prompt()`: an `llm.Response` whose `text` and `usage` need no call.

    `llm`'s own responses have methods there, and their `json()` is the provider's raw payload.
    """

    decided: Answered | None = None
    """What was answered when `prompt()` was called; None where that is decided when the response is read."""
    passed: Mapping[str, Any] = NOTHING_PASSED
    """Arguments of `prompt()` for the history that `llm` does not hand to the model."""

    @property
    def text(self) -> CallableText:
        """The whole text; reading it streams the response to its end."""
        return CallableText(super().text())

    def text_or_raise(self) -> str:
        """The whole text."""
        return super().text()

    @property
    def usage(self) -> CallableUsage:
        """`{"input_tokens": …, "output_tokens": …}`; called, the `llm.Usage`."""
        return CallableUsage(super().usage())

    def json(self) -> Any:
        """The structured reply: its data, or else its text as JSON.

        Raises:
            json.JSONDecodeError: the reply is plain text.
        """
        payload = super().json()
        return json.loads(super().text()) if payload is None else payload

    def log_to_db(self, db: Any) -> None:
        """Log the response to an `llm` database, as `llm` logs its own."""
        super().text()  # read to the end here, so that the copy has nothing left to execute
        response: llm.Response = copy.copy(self)
        response.__class__ = llm.Response  # `llm` before 0.32 asks its own `json()` here, where text has none
        response.log_to_db(db)  # type: ignore[no-untyped-call]


def deliver(answered: Answered, stream: bool, response: Any) -> Iterator[Any]:
    """Play a reply into a response, sync or async.

    Args:
        answered: the reply and the record of the call.
        stream: whether to yield the chunks one by one.
        response: the `llm.Response` or `llm.AsyncResponse` to complete.

    Yields:
        The text in chunks, and from llm 0.32 on stream events.

    Raises:
        Exception: the reply's error, once `error_after` chunks were streamed.
    """
    __tracebackhide__ = True
    reply, record = answered
    if isinstance(reply, Delivery):
        yield from reply.deliver(response)
        return
    error = None if reply.error is None else reply.exception()
    if reply.reasoning is not None:
        yield StreamEvent(type="reasoning", chunk=reply.reasoning)
    for position, chunk in enumerate(reply.stream(stream)):
        if error is not None and (not stream or position == reply.error_after):
            raise error
        yield chunk if isinstance(chunk, str) else copy.copy(chunk)  # `llm` numbers an event in place
    if error is not None:
        raise error
    if reply.tool_calls:
        yield from _make_tool_calls(reply, record, response)
    details = None if reply.usage is None else reply.usage_details()
    response.set_usage(input=record["input_tokens"], output=record["output_tokens"], details=details)
    if reply.attachments:
        response.attachments.extend(reply.attachments)
    if reply.resolved_model:
        response.set_resolved_model(reply.resolved_model)
    response.response_json = reply.raw_json()


async def deliver_async(answered: Answered, stream: bool, response: Any) -> AsyncIterator[Any]:
    """The asynchronous twin of `deliver`."""
    __tracebackhide__ = True
    reply = answered[0]
    if isinstance(reply, Delivery):
        async for chunk in reply.deliver_async(response):
            yield chunk
        return
    for chunk in deliver(answered, stream, response):
        yield chunk


def _make_tool_calls(reply: Reply, record: CallRecord, response: Any) -> Iterator[Any]:
    """Register the calls with `llm`, and stream them as the providers do, unless the script did so itself."""
    scripted = any(getattr(chunk, "tool_call_id", None) for chunk in reply.chunks or ())
    for position, call in enumerate(reply.tool_calls, start=1):
        call_id = call.tool_call_id or f"call_{record['number']}_{position}"
        if StreamEvent is not None and not scripted:
            text = getattr(call, "text", None) or json.dumps(call.arguments)
            yield StreamEvent(type="tool_call_name", chunk=call.name, tool_call_id=call_id)
            yield StreamEvent(type="tool_call_args", chunk=text, tool_call_id=call_id)
        response.add_tool_call(boundary.tool_call(call.name, copy.deepcopy(call.arguments), call_id))
