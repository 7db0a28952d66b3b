"""Generate a reply that calls every tool of a server."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.behaviour.generated_calls import generate_call
from llm_mock.core.reply import Reply
from llm_mock.errors import LLMMockError

if TYPE_CHECKING:
    import llm


def call_every_tool(
    answer: object = "Done",
    *,
    arguments: Mapping[str, Mapping[str, Any]] | None = None,
    skip: Collection[str] = (),
) -> Callable[[llm.Prompt], Any]:
    """Return a reply that calls each offered tool once with valid arguments, then answers.

    The arguments are the smallest that the tool's schema accepts, the same in every process. Give
    the function to `mock_llm_responses.set`: `set("*", call_every_tool())` works for any model.

    Args:
        answer: the reply after the tool calls; any valid reply.
        arguments: the values of some arguments, by tool name.
        skip: the names of tools that are not called.

    Returns:
        A function of the prompt, to be used as a reply.

    Raises:
        LLMMockError: (when a model is prompted) no arguments can be generated for a tool, or a tool
            that is named here was not offered.
    """
    # Later changes of the caller's mapping must not change the reply.
    fixed = copy.deepcopy(dict(arguments or {}))

    def reply(prompt: llm.Prompt) -> Any:
        # Toolboxes of llm are no tools themselves.
        tools: list[Any] = [tool for tool in prompt.tools if hasattr(tool, "input_schema")]
        offered = [tool.name for tool in tools]
        _check_names({*fixed, *skip}, offered)
        called = [tool for tool in tools if tool.name not in skip]
        if prompt.tool_results or not called:
            return answer
        calls = []
        for tool in called:
            values = fixed.get(tool.name, {})
            calls.append(generate_call(tool, values))
        return Reply(tool_calls=calls)

    return reply


def _check_names(named: set[str], offered: list[str]) -> None:
    unknown = sorted(named.difference(offered))
    if unknown:
        raise LLMMockError(
            f"call_every_tool: {', '.join(unknown)} was not offered. "
            f"Offered were: {', '.join(offered) or 'none'}."
        )
