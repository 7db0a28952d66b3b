"""Content blocks of Anthropic for tools that the provider ran itself.

See https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/web-search-tool,
…/code-execution-tool and https://docs.anthropic.com/en/docs/agents-and-tools/mcp-connector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llm_mock.core.reply_items import CodeInterpreter, McpCall, ReplyItem, WebSearch, is_instance

if TYPE_CHECKING:
    from llm_mock.core.reply import Reply
    from llm_mock.support.json_types import JSONObject

ENCRYPTED_CONTENT = "bW9jaw=="
"""The encrypted content of a web page, which clients send back with the result."""
FIRST_CODE_TOOL = "code_execution_20250522"
"""The tool version that runs Python; later versions run Bash commands."""


def build_tool_blocks(item: ReplyItem, suffix: str, body: JSONObject) -> list[JSONObject]:
    """Return the content blocks of a call and its result.

    Args:
        item: the item of the reply.
        suffix: the end of the id of the call.
        body: the body of the request, which offers the tool.
    """
    if is_instance(item, WebSearch):
        return _build_web_search(item, f"srvtoolu_mock_{suffix}")
    if is_instance(item, McpCall):
        return _build_mcp_call(item, f"mcptoolu_mock_{suffix}")
    assert is_instance(item, CodeInterpreter)
    types = [tool.get("type") for tool in body.get("tools") or ()]
    return _build_code_run(item, f"srvtoolu_mock_{suffix}", FIRST_CODE_TOOL in types)


def count_server_tool_use(reply: Reply) -> JSONObject | None:
    """Return the number of web searches for the usage; None without web searches."""
    searches = [part for part in reply.parts or () if is_instance(part, WebSearch)]
    return {"web_search_requests": len(searches), "web_fetch_requests": 0} if searches else None


def _build_web_search(search: WebSearch, call_id: str) -> list[JSONObject]:
    results = []
    for page in search.sources:
        result = {
            "type": "web_search_result",
            "url": page.url,
            "title": page.title,
            "encrypted_content": ENCRYPTED_CONTENT,
            "page_age": None,
        }
        results.append(result)
    call = {
        "type": "server_tool_use",
        "id": call_id,
        "name": "web_search",
        "input": {"query": search.query},
    }
    return [call, {"type": "web_search_tool_result", "tool_use_id": call_id, "content": results}]


def _build_code_run(run: CodeInterpreter, call_id: str, is_python: bool) -> list[JSONObject]:
    name = "code_execution" if is_python else "bash_code_execution"
    argument = "code" if is_python else "command"
    call = {
        "type": "server_tool_use",
        "id": call_id,
        "name": name,
        "input": {argument: run.code},
    }
    content: JSONObject = {
        "type": f"{name}_result",
        "stdout": run.output,
        "stderr": run.error or "",
        "return_code": 0 if run.error is None else 1,
        "content": [],
    }
    return [call, {"type": f"{name}_tool_result", "tool_use_id": call_id, "content": content}]


def _build_mcp_call(call: McpCall, call_id: str) -> list[JSONObject]:
    text = call.result if call.error is None else call.error
    use = {
        "type": "mcp_tool_use",
        "id": call_id,
        "name": call.tool,
        "server_name": call.server,
        "input": dict(call.arguments),
    }
    result = {
        "type": "mcp_tool_result",
        "tool_use_id": call_id,
        "is_error": call.error is not None,
        "content": [{"type": "text", "text": text}],
    }
    return [use, result]
