"""An MCP server whose tool is a Python function of the project.

    python -m llm_mock.specs.function_server REFERENCE NAME

REFERENCE is `file.py:function` in the working directory, or `package.module:function`. The
docstring of the function is the description of the tool, and its type hints are the schema.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.stdio import stdio_server

from llm_mock.checks.python_functions import load_function
from llm_mock.errors import LLMMockError
from llm_mock.specs.tool_functions import ToolFunction, create_server
from llm_mock.support.text import format_error


def load_tool(reference: str, name: str) -> ToolFunction:
    """Return a function as a tool.

    Raises:
        LLMMockError: there is no such function, or it cannot be a tool.
    """
    try:
        function = load_function(reference, Path.cwd())
    except LLMMockError as error:
        raise LLMMockError(f"{reference}{error}") from None
    try:
        return ToolFunction(name, function)
    except Exception as error:  # pydantic raises several kinds for types that it cannot handle.
        problem = f"{reference} cannot be a tool: {format_error(error)}"
        raise LLMMockError(f"{problem}. Its parameters must have names and JSON types.") from None


async def _serve(tool: ToolFunction) -> None:
    server = create_server({tool.name: tool})
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def main() -> None:
    """Serve until standard input ends; exit with 1 if the function cannot be loaded."""
    reference, name = sys.argv[1:]
    messages = os.dup(1)
    # Output that a module prints while it is loaded must not be taken for a message.
    os.dup2(2, 1)
    try:
        tool = load_tool(reference, name)
    except LLMMockError as error:
        sys.exit(f"Error: {error}")
    sys.stdout.flush()
    os.dup2(messages, 1)
    os.close(messages)
    asyncio.run(_serve(tool))


if __name__ == "__main__":
    main()
