"""What a call asked, as a cassette holds it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from llm_mock.cassettes import schema
from llm_mock.core.request import described_tool, plain

if TYPE_CHECKING:
    from llm_mock.core.request import Request


def request_of(request: Request) -> schema.Request:
    """What a call asked; the history that a conversation gave it was recorded before.

    Args:
        request: the call.
    """
    return schema.Request(
        model=request.model_id,
        turn=request.turn,
        system=request.system_message(),
        prompt=request.prompt,
        tool_results=[_tool_result(result) for result in request.tool_results],
        attachments=[_attachment(attachment) for attachment in request.attachments],
        messages=list(_given_history(request)),
        options={name: value for name, value in request.options.items() if value is not None},
        schema=plain(request.schema) or None,
        tools=[schema.Tool(**described_tool(tool)) for tool in request.tools],
    )


def digest(content: bytes) -> str:
    """The hash by which a cassette knows the content of an attachment."""
    return hashlib.sha256(content).hexdigest()


def _given_history(request: Request) -> Iterator[dict[str, Any]]:
    """The messages that the application gave itself, but for the system prompt and the text that is asked now."""
    messages = request.given_messages()
    for position, message in enumerate(messages, start=1):
        for part in message["parts"]:
            if content := part.get("attachment", {}).pop("content", None):
                part["attachment"]["sha256"] = digest(base64.b64decode(content))
        asked_now = {"role": "user", "parts": [{"type": "text", "text": request.prompt}]}
        if position < len(messages) or message != asked_now:
            yield message


def _tool_result(result: Any) -> schema.ToolResult:
    attachments = [_attachment(attachment) for attachment in getattr(result, "attachments", None) or ()]
    return schema.ToolResult(name=result.name, output=str(result.output), attachments=attachments)


def _attachment(attachment: Any) -> schema.Attachment:
    if attachment.url:
        return schema.Attachment(type=attachment.type, url=attachment.url)
    content: bytes = attachment.content_bytes()
    kind = attachment.type or attachment.resolve_type()
    return schema.Attachment(type=kind, sha256=digest(content), bytes=len(content))
