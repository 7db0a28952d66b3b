"""Generate calls to offered tools, with arguments that their schemas accept."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.behaviour.generate import generate_instance, generate_reply
from llm_mock.core.reply import UNSET, Reply, to_reply
from llm_mock.core.tool_calls import ToolCall
from llm_mock.errors import InvalidToolCall, LLMMockError
from llm_mock.support.text import suggest_nearest

if TYPE_CHECKING:
    from llm_mock.core.request import Request, ToolDemand
    from llm_mock.core.value_types import ToolLike

DEFAULT_ANSWER = "Done"


class CallEveryTool:
    """A reply function that calls each offered tool once and then answers.

    Args:
        then: the answer; by default `Done`, or a generated one if the call has a schema.
        arguments: the values of some arguments, by tool name.
        skip: the names of tools that are not called.
    """

    def __init__(
        self,
        then: object = UNSET,
        arguments: Mapping[str, Mapping[str, Any]] | None = None,
        skip: Collection[str] = (),
    ) -> None:
        if then is not UNSET:
            # The result is not used: an invalid reply raises here, and not later in a call.
            to_reply(then)
        self._then = then
        # Later changes of the caller's mapping must not change the reply.
        self._fixed = copy.deepcopy(dict(arguments or {}))
        self._skipped = frozenset(skip)

    def __call__(self, prompt: Any) -> Any:
        """Return calls to the tools that were not called yet, or the answer."""
        # Toolboxes of llm are not tools themselves.
        tools = [tool for tool in prompt.tools if hasattr(tool, "input_schema")]
        self._check_names([tool.name for tool in tools])
        calls = []
        for tool in self._list_next_tools(prompt, tools):
            values = self._fixed.get(tool.name, {})
            calls.append(generate_call(tool, values))
        return Reply(tool_calls=calls) if calls else self._answer(prompt)

    def _list_next_tools(self, prompt: Any, tools: list[ToolLike]) -> list[ToolLike]:
        remaining = [tool for tool in tools if tool.name not in self._skipped]
        read_demand = getattr(prompt, "read_tool_demand", None)
        if read_demand is None:
            # `llm` sends the results of tools with the next prompt of the conversation.
            return [] if prompt.tool_results else remaining
        # Over HTTP, a request may restrict the tools, and it has the whole conversation.
        demand: ToolDemand = read_demand()
        unavailable = _find_called_tools(prompt.conversation)
        next_tools = []
        for tool in remaining:
            if tool.name in demand.callable_tools and tool.name not in unavailable:
                next_tools.append(tool)
        return next_tools if demand.is_parallel else next_tools[:1]

    def _answer(self, prompt: Any) -> Any:
        if self._then is UNSET:
            _check_may_answer(prompt)
            return generate_reply(prompt.schema) if prompt.schema else DEFAULT_ANSWER
        answer = to_reply(self._then)
        return answer if isinstance(answer, Reply) else answer(prompt)

    def _check_names(self, offered: list[str]) -> None:
        unknown = sorted({*self._fixed, *self._skipped}.difference(offered))
        if unknown:
            names = ", ".join(unknown)
            shown = ", ".join(offered) or "none"
            nearest = suggest_nearest(unknown[0], offered) or "."
            raise LLMMockError(
                f"call_every_tool: {names} was not offered{nearest} Offered tools: {shown}."
            )


def _check_may_answer(prompt: Request) -> None:
    """Raise an error if a request requires one more tool call, so that no answer is allowed."""
    read_demand = getattr(prompt, "read_tool_demand", None)
    # Data answer a request that forces one tool: they are its arguments.
    if read_demand is None or prompt.schema_is_a_tool:
        return
    demand: ToolDemand = read_demand()
    if not demand.is_required:
        return
    last_tool = demand.callable_tools[-1]
    raise InvalidToolCall(
        "call_every_tool: no tool is left to call, but the request still has "
        f"{demand.wording}, so that a model would call tools without an end. After the first "
        "results, let the application leave the choice to the model, or set the call that ends "
        f"the conversation: then=ToolCall({last_tool!r}, {{…}})."
    )


def _find_called_tools(conversation: list[Any]) -> set[str]:
    """Return the names of the tools that were called since the last message of the user."""
    names = set()
    for message in reversed(conversation):
        if message["role"] == "user":
            break
        for part in message["parts"]:
            if part["type"] == "tool_call":
                names.add(part["name"])
    return names


def generate_call(tool: ToolLike, fixed: Mapping[str, Any] | None = None) -> ToolCall:
    """Return a call to a tool with the smallest arguments that its schema accepts.

    Args:
        tool: the tool.
        fixed: the values of some arguments.

    Raises:
        LLMMockError: no arguments can be generated.
    """
    given = copy.deepcopy(dict(fixed or {}))
    schema = dict(tool.input_schema or {})
    schema["type"] = "object"
    # Only the missing arguments are generated.
    schema["required"] = [name for name in schema.get("required", ()) if name not in given]
    try:
        generated = generate_instance(schema)
    except LLMMockError as error:
        raise LLMMockError(f"The tool {tool.name} cannot be called: {error}") from None
    return ToolCall(tool.name, {**generated, **given})
