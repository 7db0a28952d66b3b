"""The calls that a report shows, with all that was sent and all that came back.

Imported only where a report was asked for, here or by the test that started this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.core.request import described_attachments, described_tool_call, plain
from llm_mock.support.redaction import KNOWN

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord
    from llm_mock.core.reply import Reply
    from llm_mock.core.request import Request

Details = dict[str, Any]
"""`request` and `response` as `Request.describe` and `described_reply` return them, `error_type`, `not_described`."""

LoggedCall = tuple["CallRecord", Details]
"""A call and its details, which are empty for one that was made before the report began."""
DETAILS = "details"
"""The key under which a call carries its details from one process to another."""


class CallLog:
    """Every call of a mock and of the mocks on top of it, in order, also when a test forgets its history.

    They are kept beside the records that tests see, so that asking for a report changes no record.

    Args:
        detailed: whether to keep details, which take longer than the call itself.
    """

    def __init__(self, detailed: bool = True) -> None:
        self.detailed = detailed
        self._calls: dict[int, LoggedCall] = {}

    def another(self) -> CallLog:
        """The same for a mock on top."""
        return CallLog(self.detailed)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_calls": self._calls.copy()}  # other threads may go on to call while this is copied

    def add(self, call: CallRecord, details: Details) -> None:
        """Keep a call that begins, or that another process reported."""
        self._calls[id(call)] = call, details

    def asked(self, call: CallRecord, request: Request) -> None:
        """Describe what a call asks."""
        if self.detailed and id(call) in self._calls:
            KNOWN.look()  # a variable that is set for this call alone is secret, too
            self._describe(call, "request", request.describe)

    def answered(self, call: CallRecord, reply: Reply) -> None:
        """A call was answered."""
        if self.detailed and id(call) in self._calls:
            self._describe(call, "response", lambda: described_reply(reply, call["number"]))

    def _describe(self, call: CallRecord, what: str, describe: Callable[[], Any]) -> None:
        """Describe one side of a call; what cannot be described must not fail the test that is reported."""
        try:
            self._calls[id(call)][1][what] = describe()
        except Exception as error:
            self._calls[id(call)][1]["not_described"] = f"{what}: {type(error).__name__}: {error}"

    def failed(self, call: CallRecord, error: BaseException) -> None:
        """A call was failed, perhaps after a part of its answer."""
        if id(call) in self._calls:
            self._calls[id(call)][1]["error_type"] = type(error).__qualname__

    def for_another_process(self, call: CallRecord) -> Any:
        """A call with its details, as `taken_from` wants it there."""
        return {**call, DETAILS: self._calls[id(call)][1]} if id(call) in self._calls else call

    def taken_from(self, call: Any) -> Details:
        """What a call that another process reported carries beyond its record; it is taken from it."""
        details: Details = call.pop(DETAILS, {})
        return details

    def __len__(self) -> int:
        return len(self._calls)

    def since(self, number: int) -> list[LoggedCall]:
        """The calls after the first `number` of them."""
        return list(self._calls.values())[number:]


def described_reply(reply: Reply, number: int = 0) -> dict[str, Any]:
    """What a model gave back.

    Args:
        reply: the answer.
        number: the number of the call, which ids of tool calls are made of where they have none.

    Returns:
        What there is of `text`, `chunks`, `reasoning`, `tool_calls` (`name`, `arguments`, `tool_call_id`),
        `attachments`, `resolved_model`, `usage_details` and `raw`.
    """
    cut = reply.error_after
    chunks = None if reply.chunks is None else [_described_chunk(chunk) for chunk in reply.chunks[:cut]]
    described = {
        "text": reply.content if cut is None else "".join(_texts(chunks or ())),
        "chunks": chunks,
        "reasoning": reply.reasoning,
        "tool_calls": [
            described_tool_call(call, f"call_{number}_{position}")
            for position, call in enumerate(reply.tool_calls if cut is None else (), start=1)
        ],
        "attachments": described_attachments(reply.attachments),
        "resolved_model": reply.resolved_model,
        "usage_details": plain(reply.usage_details()) or None,
        "raw": plain(reply.response_json),
    }
    return {name: value for name, value in described.items() if value not in (None, [], "")}


def _texts(chunks: Iterable[Any]) -> Iterator[str]:
    for chunk in chunks:
        if isinstance(chunk, str):
            yield chunk
        elif chunk.get("type") == "text":
            yield chunk["chunk"]


def _described_chunk(chunk: Any) -> str | Mapping[str, Any]:
    if isinstance(chunk, str):
        return chunk
    described = {name: getattr(chunk, name, None) for name in ("type", "chunk", "tool_name", "tool_call_id")}
    return {name: plain(value) for name, value in described.items() if value is not None}
