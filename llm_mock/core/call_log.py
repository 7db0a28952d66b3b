"""The log of calls for a report, with each complete request and response.

Imported only if a report is requested, here or by the test that started this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from llm_mock.core.call import restore_call
from llm_mock.core.request import describe_attachments, describe_tool_call, to_plain_json
from llm_mock.support.json_types import JSON, JSONObject
from llm_mock.support.redaction import KNOWN

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.events import Chunk
    from llm_mock.core.reply import Reply
    from llm_mock.core.request import Request

Details = JSONObject
"""`request` (see `Request.describe`), `response` (see `describe_reply`), `error_type`, and
`not_described` if one of the descriptions failed."""

LoggedCall = tuple["Call", Details]
"""A call and its details, which are empty for a call from before the report began."""
DETAILS = "details"
"""The key under which a call carries its details from one process to another."""


class CallLog:
    """All calls of a mock and of its child mocks, even if a test clears its history.

    The log is separate from the records that tests read, so that a report does not change them.

    Args:
        detailed: whether to keep details, which take longer than the call itself.
    """

    def __init__(self, detailed: bool = True) -> None:
        self.detailed = detailed
        self._calls: dict[int, LoggedCall] = {}

    def create_child(self) -> CallLog:
        """Return an empty log with the same settings, for a child mock."""
        return CallLog(self.detailed)

    def __getstate__(self) -> dict[str, object]:
        # A copy, because other threads may add calls while this is pickled.
        return {**self.__dict__, "_calls": self._calls.copy()}

    def add(self, call: Call, details: Details) -> None:
        """Add a new call, or a call that another process reported."""
        self._calls[id(call)] = call, details

    def add_request(self, call: Call, request: Request) -> None:
        """Add the request of a call."""
        if self.detailed and id(call) in self._calls:
            # An environment variable that is set only for this call may contain a secret.
            KNOWN.refresh()
            self._describe(call, "request", request.describe)

    def add_response(self, call: Call, reply: Reply) -> None:
        """Add the response to a call."""
        if self.detailed and id(call) in self._calls:
            self._describe(call, "response", lambda: describe_reply(reply, call["number"]))

    def _describe(self, call: Call, part: str, describe: Callable[[], object]) -> None:
        """Add a description. If creating it fails, note the error instead of failing the test."""
        details = self._calls[id(call)][1]
        try:
            details[part] = describe()
        except Exception as error:
            details["not_described"] = f"{part}: {type(error).__name__}: {error}"

    def add_error(self, call: Call, error: BaseException) -> None:
        """Add the error of a call, possibly after a part of its answer."""
        if id(call) in self._calls:
            self._calls[id(call)][1]["error_type"] = type(error).__qualname__

    def attach_details(self, call: Call) -> Any:
        """Return a call with its details, for sending to another process."""
        if id(call) not in self._calls:
            return call
        details = self._calls[id(call)][1]
        return restore_call({**call, DETAILS: details}, call.describe_request(), call.test)

    def detach_details(self, call: Any) -> Details:
        """Remove the details from a call that another process sent, and return them."""
        details: Details = call.pop(DETAILS, {})
        return details

    def __len__(self) -> int:
        return len(self._calls)

    def get_calls(self, number: int) -> list[LoggedCall]:
        """Return the calls after the first `number` of them."""
        return list(self._calls.values())[number:]


def describe_reply(reply: Reply, number: int) -> JSONObject:
    """Return the content of a reply as JSON values.

    Args:
        reply: the reply.
        number: the number of the call, used to create ids for tool calls without one.

    Returns:
        The non-empty fields of `text`, `chunks`, `reasoning`, `tool_calls` (`name`, `arguments`,
        `tool_call_id`), `attachments`, `resolved_model`, `usage_details` and `raw`.
    """
    cut = reply.error_after
    chunks = None
    if reply.chunks is not None:
        chunks = [_describe_chunk(chunk) for chunk in reply.chunks[:cut]]
    tool_calls = []
    # A reply that fails in the middle ends before its tool calls.
    if cut is None:
        for position, call in enumerate(reply.tool_calls, start=1):
            tool_calls.append(describe_tool_call(call, f"call_{number}_{position}"))
    description = {
        "text": reply.content if cut is None else _join_texts(chunks or ()),
        "chunks": chunks,
        "reasoning": reply.reasoning,
        "tool_calls": tool_calls,
        "attachments": describe_attachments(reply.attachments),
        "resolved_model": reply.resolved_model,
        "usage_details": to_plain_json(reply.usage_details()) or None,
        "raw": to_plain_json(reply.response_json),
    }
    return {name: value for name, value in description.items() if value not in (None, [], "")}


def _join_texts(chunks: Iterable[JSON]) -> str:
    texts = []
    for chunk in chunks:
        if isinstance(chunk, str):
            texts.append(chunk)
        elif chunk.get("type") == "text":
            texts.append(chunk["chunk"])
    return "".join(texts)


def _describe_chunk(chunk: Chunk) -> str | JSONObject:
    if isinstance(chunk, str):
        return chunk
    fields = ("type", "chunk", "tool_name", "tool_call_id")
    values = {name: getattr(chunk, name, None) for name in fields}
    return {name: to_plain_json(value) for name, value in values.items() if value is not None}
