"""The tool calls that a request asks for, read from its body.

Imported only for requests that restrict the allowed tools, and for replies with several calls.
See https://platform.openai.com/docs/guides/function-calling,
https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolChoice.html and
https://ai.google.dev/api/caching#FunctionCallingConfig.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.core.request import ToolDemand

if TYPE_CHECKING:
    from llm_mock.support.json_types import JSONObject

FIELDS = ("tool_choice", "function_call", "parallel_tool_calls", "toolConfig")
"""The fields of a body that restrict the allowed tools."""
FUNCTION_FIELDS = ("function", "custom", "input_schema", "functionDeclarations")
"""The fields of a tool that the application runs; the provider runs tools without them."""


def read_tool_demand(body: JSONObject, choice: str | None, offered: Sequence[str]) -> ToolDemand:
    """Return the tool calls that a request asks for.

    Args:
        body: the body of the request.
        choice: the name of a tool, or `required`, `auto` or `none`; None if the body sets none.
        offered: the names of the offered tools.
    """
    is_named = choice in offered
    allowed: Sequence[str]
    if choice == "none":
        allowed = []
    elif is_named:
        allowed = [str(choice)]
    else:
        allowed = _read_allowed_names(body) or offered
    # If the provider runs tools, too, it may have called one of its own.
    is_required = is_named or (choice == "required" and not _has_provider_tools(body))
    wording = " and ".join(_format_fields(body))
    return ToolDemand(is_required and bool(offered), allowed, _is_parallel(body), wording)


def _format_fields(body: JSONObject) -> Iterator[str]:
    for name in FIELDS:
        value = body.get(name)
        if value is None:
            continue
        # Bedrock's configuration contains the tools and the choice, Gemini's only the choice.
        if isinstance(value, dict) and "toolChoice" in value:
            value = {"toolChoice": value["toolChoice"]}
        text = json.dumps(value, ensure_ascii=False)
        yield f"{name}={text}"


def _is_parallel(body: JSONObject) -> bool:
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("disable_parallel_tool_use"):
        return False
    return body.get("parallel_tool_calls") is not False


def _read_allowed_names(body: JSONObject) -> Sequence[str]:
    """Return the names of the allowed tools; empty if all tools are allowed."""
    config: Any = body.get("toolConfig") or {}
    calling = config.get("functionCallingConfig") or {}
    # If the mode does not restrict the calls, the names have no effect.
    mode = calling.get("mode")
    if mode in ("ANY", "VALIDATED"):
        names = calling.get("allowedFunctionNames") or ()
        return list(map(str, names))
    choice = body.get("tool_choice")
    if not isinstance(choice, dict) or choice.get("type") != "allowed_tools":
        return ()
    # Chat Completions nests the tools one level deeper than Responses.
    allowed = choice.get("allowed_tools") or choice
    tools = allowed.get("tools") or ()
    return list(_iter_names(tools))


def _iter_names(tools: Iterable[JSONObject]) -> Iterator[str]:
    for tool in tools:
        function = tool.get("function") or tool.get("custom") or tool
        name = function.get("name")
        if name:
            yield str(name)


def _has_provider_tools(body: JSONObject) -> bool:
    """Return whether the provider runs some of the tools itself."""
    tools = body.get("tools") or ()
    return any(map(_is_run_by_provider, tools))


def _is_run_by_provider(tool: JSONObject) -> bool:
    if tool.get("type") in ("function", "custom"):
        return False
    return not any(name in tool for name in FUNCTION_FIELDS)
