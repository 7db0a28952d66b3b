"""Items of an OpenAI response for tools that the provider ran itself.

The order of the events is that of https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from llm_mock.core.reply_items import (
    CodeInterpreter,
    FileSearch,
    ImageGeneration,
    McpCall,
    ReplyItem,
    WebSearch,
)

if TYPE_CHECKING:
    from llm_mock.boundaries.http.chunks import ResponseContext
    from llm_mock.support.json_types import JSONObject

STAGES = {
    "web_search_call": ("searching", "completed"),
    "code_interpreter_call": ("interpreting", "completed"),
    "mcp_call": ("completed",),
    "file_search_call": ("searching", "completed"),
    "image_generation_call": ("generating", "completed"),
}
"""The event types of an item after `in_progress` and its deltas, by item type."""
UNKNOWN_AT_FIRST: dict[str, JSONObject] = {
    "web_search_call": {},
    "code_interpreter_call": {"code": "", "outputs": None},
    "mcp_call": {"arguments": "", "output": None, "error": None},
    "file_search_call": {"results": None},
    "image_generation_call": {"result": None},
}
"""The fields of an item that has just started, by item type."""
STREAMED_FIELDS = {"code_interpreter_call": "code", "mcp_call": "arguments"}
"""The field of an item that comes in deltas."""


def build_item(context: ResponseContext, item: ReplyItem, index: int) -> JSONObject:
    """Return the item of a response.

    Args:
        context: the call and its reply.
        item: the item of the reply.
        index: its index in the output.
    """
    prefix, build = BUILDERS[type(item).__name__]
    item_id = f"{prefix}_mock_{context.number}_{index}"
    return {"id": item_id, "status": "completed", **build(context, item)}


def iter_item_events(item: JSONObject, index: int) -> Iterator[tuple[str, JSONObject]]:
    """Yield the types and the fields of the events of an item, in order.

    Args:
        item: the item.
        index: its index in the output.
    """
    kind = item["type"]
    begun = {**item, **UNKNOWN_AT_FIRST[kind], "status": "in_progress"}
    position = {"output_index": index, "item_id": item["id"]}
    yield "response.output_item.added", {"output_index": index, "item": begun}
    yield f"response.{kind}.in_progress", position
    field = STREAMED_FIELDS.get(kind)
    if field is not None:
        yield f"response.{kind}_{field}.delta", {**position, "delta": item[field]}
        yield f"response.{kind}_{field}.done", {**position, field: item[field]}
    for stage in STAGES[kind]:
        # Only a tool call may fail.
        name = "failed" if stage == "completed" and item["status"] == "failed" else stage
        yield f"response.{kind}.{name}", position
    yield "response.output_item.done", {"output_index": index, "item": item}


def _is_included(context: ResponseContext, name: str) -> bool:
    return name in (context.request.body.get("include") or ())


def _build_web_search(context: ResponseContext, search: WebSearch) -> JSONObject:
    action: JSONObject = {"type": "search", "query": search.query, "queries": [search.query]}
    if _is_included(context, "web_search_call.action.sources"):
        action["sources"] = [{"type": "url", "url": page.url} for page in search.sources]
    return {"type": "web_search_call", "action": action}


def _build_code_interpreter(context: ResponseContext, run: CodeInterpreter) -> JSONObject:
    outputs = None
    if _is_included(context, "code_interpreter_call.outputs"):
        outputs = [{"type": "logs", "logs": run.output + (run.error or "")}]
    return {
        "type": "code_interpreter_call",
        "code": run.code,
        "container_id": f"cntr_mock_{context.number}",
        "outputs": outputs,
    }


def _build_mcp_call(context: ResponseContext, call: McpCall) -> JSONObject:
    item: JSONObject = {
        "type": "mcp_call",
        "server_label": call.server,
        "name": call.tool,
        "arguments": json.dumps(call.arguments, ensure_ascii=False),
        "output": call.result,
        "error": None,
        "approval_request_id": None,
    }
    if call.error is not None:
        content = [{"type": "text", "text": call.error}]
        item["status"] = "failed"
        item["output"] = None
        item["error"] = {"type": "mcp_tool_execution_error", "content": content}
    return item


def _build_file_search(context: ResponseContext, search: FileSearch) -> JSONObject:
    results = None
    if _is_included(context, "file_search_call.results"):
        results = []
        for found in search.results:
            result: JSONObject = {
                "file_id": found.file_id,
                "filename": found.filename,
                "text": found.cited_text,
                "attributes": {},
            }
            results.append(result)
    return {"type": "file_search_call", "queries": [search.query], "results": results}


def _build_image_generation(context: ResponseContext, image: ImageGeneration) -> JSONObject:
    return {
        "type": "image_generation_call",
        "result": image.data,
        "revised_prompt": image.revised_prompt,
        "output_format": image.media_type.removeprefix("image/"),
    }


BUILDERS: dict[str, tuple[str, Callable[..., JSONObject]]] = {
    "WebSearch": ("ws", _build_web_search),
    "CodeInterpreter": ("ci", _build_code_interpreter),
    "McpCall": ("mcp", _build_mcp_call),
    "FileSearch": ("fs", _build_file_search),
    "ImageGeneration": ("ig", _build_image_generation),
}
"""The start of the id of an item, and the function that builds it."""
