"""What an MCP server answers a call with, as `llm` takes it: text and attachments."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

import mcp_types as types

from llm_mock.agents.tools import ToolAnswer

if TYPE_CHECKING:
    import llm


def answer_of(result: types.CallToolResult) -> ToolAnswer:
    """The answer that a result of `tools/call` is.

    Texts, and resources that are texts, are joined, each starting on a new line. A result that has nothing but
    structured content has it as its text too, because that is all that a model is told.
    """
    answer = ToolAnswer("", structured=result.structured_content, is_error=bool(result.is_error))
    texts = [text for block in result.content if (text := _take(block, answer.attachments)) is not None]
    if not texts and not answer.attachments and answer.structured is not None:
        texts = [json.dumps(answer.structured, ensure_ascii=False)]
    answer.text = "\n".join(texts)
    return answer


def _take(block: Any, attachments: list[llm.Attachment]) -> str | None:
    """The text of one block of content; binary content goes to the attachments instead."""
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.ResourceLink):
        kind = f" ({block.mime_type})" if block.mime_type else ""
        return f"[resource {block.name}: {block.uri}{kind}]"
    if isinstance(block, types.EmbeddedResource):
        resource = block.resource
        if isinstance(resource, types.TextResourceContents):
            return resource.text
        return _attach(resource.blob, resource.mime_type or "application/octet-stream", attachments)
    return _attach(block.data, block.mime_type, attachments)


def _attach(data: str, mime_type: str, attachments: list[llm.Attachment]) -> str | None:
    """Add an attachment; where its data cannot be read, a text that says so."""
    import llm

    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"[{mime_type} left out: its data is no base64]"
    attachments.append(llm.Attachment(type=mime_type, content=content))
    return None
