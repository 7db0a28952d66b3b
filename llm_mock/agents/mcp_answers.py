"""What an MCP server answers a call with, as `llm` takes it: text and attachments."""

from __future__ import annotations

import base64
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
    """The text of one block of content; binary content goes to the attachments, where it can be read."""
    import llm

    if isinstance(block, types.ResourceLink):
        kind = f" ({block.mime_type})" if block.mime_type else ""
        return f"[resource {block.name}: {block.uri}{kind}]"
    content = block.resource if isinstance(block, types.EmbeddedResource) else block
    if isinstance(content, (types.TextContent, types.TextResourceContents)):
        return content.text
    mime_type = content.mime_type or "application/octet-stream"
    try:
        data = base64.b64decode(content.data if content is block else content.blob, validate=True)
    except ValueError:
        return f"[{mime_type} left out: its data is no base64]"
    attachments.append(llm.Attachment(type=mime_type, content=data))
    return None
