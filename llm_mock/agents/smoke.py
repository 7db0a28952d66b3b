"""Tries every tool of a server without a script."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.behaviour.generate import instance
from llm_mock.boundaries.llm.parts import tool_call
from llm_mock.core.reply import Reply
from llm_mock.errors import LLMMockError

if TYPE_CHECKING:
    import llm


def call_every_tool(
    answer: Any = "Done",
    *,
    arguments: Mapping[str, Mapping[str, Any]] | None = None,
    skip: Collection[str] = (),
) -> Callable[[llm.Prompt], Any]:
    """A reply that calls each offered tool once, with valid arguments, and then answers.

    The arguments are the smallest that the tool's schema accepts, the same in every process. Give the function to
    `mock_llm_responses.set`: `set("*", call_every_tool())` plays any model.

    Args:
        answer: the reply once the tools were called, anything that may be one.
        arguments: for tools by name: arguments that are to have these values.
        skip: names of tools that are not called.

    Returns:
        A function of the prompt, to be used as a reply.

    Raises:
        LLMMockError: (when a model is asked) no arguments can be generated for a tool, or one that is named here was
            not offered.
    """
    given = copy.deepcopy(dict(arguments or {}))

    def reply(prompt: llm.Prompt) -> Any:
        tools = [tool for tool in prompt.tools if hasattr(tool, "input_schema")]
        if unknown := sorted({*given, *skip} - {tool.name for tool in tools}):
            offered = ", ".join(tool.name for tool in tools) or "none"
            raise LLMMockError(f"call_every_tool: {', '.join(unknown)} was not offered. Offered were: {offered}.")
        called = [tool for tool in tools if tool.name not in skip]
        if prompt.tool_results or not called:
            return answer
        return Reply(tool_calls=[_call(tool, given.get(tool.name, {})) for tool in called])

    return reply


def _call(tool: Any, given: Mapping[str, Any]) -> Any:
    required = [name for name in tool.input_schema.get("required", ()) if name not in given]
    try:
        generated = instance({**tool.input_schema, "type": "object", "required": required})
    except LLMMockError as error:
        raise LLMMockError(f"call_every_tool: the tool {tool.name}: {error}") from None
    return tool_call(tool.name, {**generated, **copy.deepcopy(dict(given))}, None)
