"""Generate calls of offered tools, with arguments that their schemas accept."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.behaviour.generate import generate_instance
from llm_mock.core.tool_calls import ToolCall
from llm_mock.errors import LLMMockError

if TYPE_CHECKING:
    from llm_mock.core.value_types import ToolLike


def generate_call(tool: ToolLike, fixed: Mapping[str, Any] | None = None) -> ToolCall:
    """Return a call of a tool with the smallest arguments that its schema accepts.

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
