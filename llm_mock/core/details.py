"""What a report shows of a call beyond its record: all that was sent, and all that came back, as JSON values.

Imported only where a report was asked for, here or by the test that started this process.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_mock.core.records import plain

if TYPE_CHECKING:
    import llm

    from llm_mock.core.records import CallRecord

Details = dict[str, Any]
"""`request` and `response` as `describe_request` and `describe_response` return them, `error_type`, `not_described`."""

Kept = tuple["CallRecord", Details]
"""A call and its details, which are empty for one that was made before the report began."""
DETAILS = "details"
"""The key under which a call carries its details from one process to another."""
LARGEST_FILE = 20_000_000
"""Attached files of more bytes are described without their hash."""


class KeptCalls:
    """Every call of a mock and of the mocks on top of it, in order, also when a test forgets its history.

    They are kept beside the records that tests see, so that asking for a report changes no record.

    Args:
        detailed: whether to keep details, which take longer than the call itself.
    """

    def __init__(self, detailed: bool = True) -> None:
        self.detailed = detailed
        self._calls: dict[int, Kept] = {}

    def another(self) -> KeptCalls:
        """The same for a mock on top."""
        return KeptCalls(self.detailed)

    def asked(self, call: CallRecord, prompt: llm.Prompt, conversation: Any) -> None:
        """A call begins."""
        self._calls[id(call)] = call, {}
        if self.detailed:
            self._describe(call, "request", describe_request, prompt, conversation)

    def answered(self, call: CallRecord, answer: Any) -> None:
        """A call was answered; for `answer` see `describe_response`."""
        if self.detailed and id(call) in self._calls:
            self._describe(call, "response", describe_response, answer, call["number"])

    def _describe(self, call: CallRecord, what: str, describe: Callable[..., Any], *parts: Any) -> None:
        """Describe one side of a call; what cannot be described must not fail the test that is reported."""
        try:
            self._calls[id(call)][1][what] = describe(*parts)
        except Exception as error:
            self._calls[id(call)][1]["not_described"] = f"{what}: {type(error).__name__}: {error}"

    def failed(self, call: CallRecord, error: BaseException) -> None:
        """A call was failed, perhaps after a part of its answer."""
        if id(call) in self._calls:
            self._calls[id(call)][1]["error_type"] = type(error).__qualname__

    def for_another_process(self, call: CallRecord) -> Any:
        """A call with its details, as `received` wants it there."""
        return {**call, DETAILS: self._calls[id(call)][1]} if id(call) in self._calls else call

    def received(self, call: Any) -> None:
        """Keep a call that another process reported. What it carries beyond the record is taken from it."""
        self._calls[id(call)] = call, call.pop(DETAILS, {})

    def __len__(self) -> int:
        return len(self._calls)

    def since(self, number: int) -> list[Kept]:
        """The calls after the first `number` of them."""
        return list(self._calls.values())[number:]


def describe_request(prompt: llm.Prompt, conversation: Any) -> dict[str, Any]:
    """What a model was sent.

    Args:
        prompt: what `llm` hands to the model.
        conversation: the conversation, if the call is part of one.

    Returns:
        `conversation` (its id or None), `messages` (all that the model sees, from the first of the conversation on:
        `{"role", "parts"}`, with parts as `llm` 0.32 names them), `schema` (JSON schema or None) and `tools`
        (`name`, `description`, `input_schema`).
    """
    messages = prompt.messages if hasattr(prompt, "messages") else _messages_before_llm_032(prompt, conversation)
    return {
        "conversation": getattr(conversation, "id", None),
        "messages": [
            message if isinstance(message, dict) else {"role": message.role, "parts": [*map(_part, message.parts)]}
            for message in messages
        ],
        "schema": plain(prompt.schema) if prompt.schema else None,
        "tools": [_tool(tool) for tool in prompt.tools],
    }


def describe_response(answer: Any, number: int = 0) -> dict[str, Any]:
    """What a model gave back.

    Args:
        answer: an object with what there is of the following, as a `Reply` has it: `content` (or `text`), `chunks`,
            `reasoning`, `tool_calls`, `attachments`, `resolved_model`, `usage`, `response_json`, `duration_ms`,
            `error_after` (how many chunks came before an error).
        number: the number of the call, which ids of tool calls are made of where they have none.

    Returns:
        What there is of `text`, `chunks`, `reasoning`, `tool_calls` (`name`, `arguments`, `tool_call_id`),
        `attachments`, `resolved_model`, `usage_details`, `raw` and `duration_ms`.
    """
    cut = getattr(answer, "error_after", None)
    chunks = getattr(answer, "chunks", None)
    described = {
        "text": getattr(answer, "content", None) or getattr(answer, "text", None) or "",
        "chunks": None if chunks is None else [_chunk(chunk) for chunk in tuple(chunks)[:cut]],
        "reasoning": getattr(answer, "reasoning", None),
        "tool_calls": [
            _tool_call(call, f"call_{number}_{position}")
            for position, call in enumerate(getattr(answer, "tool_calls", ()) if cut is None else (), start=1)
        ],
        "attachments": [_attachment(attachment) for attachment in getattr(answer, "attachments", ())],
        "resolved_model": getattr(answer, "resolved_model", None),
        "usage_details": _usage_details(getattr(answer, "usage", None)),
        "raw": plain(getattr(answer, "response_json", None)),
        "duration_ms": getattr(answer, "duration_ms", None),
    }
    if cut is not None:
        described["text"] = "".join(_texts(described["chunks"] or ()))
    return {name: value for name, value in described.items() if value not in (None, [], "")}


def _texts(chunks: Iterable[Any]) -> Iterator[str]:
    for chunk in chunks:
        if isinstance(chunk, str):
            yield chunk
        elif chunk.get("type") == "text":
            yield chunk["chunk"]


def _messages_before_llm_032(prompt: llm.Prompt, conversation: Any) -> Iterator[dict[str, Any]]:
    """The messages of the conversation so far and of the prompt, as newer versions give them."""
    earlier = list(conversation.responses) if conversation else []
    if system := next((p.system for p in [*(response.prompt for response in earlier), prompt] if p.system), ""):
        yield {"role": "system", "parts": [{"type": "text", "text": system}]}
    for response in earlier:
        yield from _messages_of_prompt(response.prompt)
        parts = [{"type": "text", "text": response.text_or_raise()}] if response.text_or_raise() else []
        calls = [{"type": "tool_call", **_tool_call(call, None)} for call in response.tool_calls_or_raise()]
        yield {"role": "assistant", "parts": parts + calls}
    yield from _messages_of_prompt(prompt)


def _messages_of_prompt(prompt: llm.Prompt) -> Iterator[dict[str, Any]]:
    if prompt.tool_results:
        yield {"role": "tool", "parts": [_tool_result(result) for result in prompt.tool_results]}
    parts: list[dict[str, Any]] = [{"type": "text", "text": prompt.prompt}] if prompt.prompt else []
    parts += [{"type": "attachment", "attachment": _attachment(attachment)} for attachment in prompt.attachments]
    if parts:
        yield {"role": "user", "parts": parts}


def _part(part: Any) -> dict[str, Any]:
    """A part of a message; what kind it is shows in what it has."""
    if hasattr(part, "attachment"):
        return {"type": "attachment", "attachment": _attachment(part.attachment) if part.attachment else {}}
    if hasattr(part, "output"):
        return _tool_result(part)
    if hasattr(part, "arguments"):
        return {"type": "tool_call", **_tool_call(part, None)}
    if hasattr(part, "redacted"):
        return {"type": "reasoning", "text": part.text or "(withheld by the provider)" if part.redacted else part.text}
    return {"type": "text", "text": part.text if hasattr(part, "text") else repr(part)}


def _tool(tool: Any) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": getattr(tool, "description", None),
        "input_schema": plain(getattr(tool, "input_schema", None)),
    }


def _tool_call(call: Any, tool_call_id: str | None) -> dict[str, Any]:
    return {
        "name": call.name,
        "arguments": plain(call.arguments),
        "tool_call_id": call.tool_call_id or tool_call_id,
    }


def _tool_result(result: Any) -> dict[str, Any]:
    exception = getattr(result, "exception", None)
    if isinstance(exception, BaseException):
        exception = f"{type(exception).__name__}: {exception}"
    described: dict[str, Any] = {
        "type": "tool_result",
        "name": result.name,
        "output": plain(result.output),
        "tool_call_id": result.tool_call_id,
    }
    if exception:
        described["exception"] = exception
    if attachments := getattr(result, "attachments", None):
        described["attachments"] = [_attachment(attachment) for attachment in attachments]
    return described


def _attachment(attachment: llm.Attachment) -> dict[str, Any]:
    """Type, size and hash of an attachment, never its content; a URL is not asked for."""
    described: dict[str, Any] = {"type": attachment.type, "path": attachment.path, "url": attachment.url}
    content = attachment.content
    if content is None and attachment.path:
        with contextlib.suppress(OSError):
            described["bytes"] = os.path.getsize(attachment.path)
            content = Path(attachment.path).read_bytes() if described["bytes"] <= LARGEST_FILE else None
    if content is not None:
        described.update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    if attachment.type is None and attachment.url is None:  # a URL would be asked for its type
        with contextlib.suppress(OSError, ValueError):
            described["type"] = attachment.resolve_type()  # type: ignore[no-untyped-call]
    return {name: value for name, value in described.items() if value is not None}


def _chunk(chunk: Any) -> Any:
    if isinstance(chunk, str):
        return chunk
    described = {name: getattr(chunk, name, None) for name in ("type", "chunk", "tool_name", "tool_call_id")}
    return {name: plain(value) for name, value in described.items() if value is not None}


def _usage_details(usage: Any) -> Any:
    return plain(usage.get("details") if isinstance(usage, Mapping) else getattr(usage, "details", None)) or None
