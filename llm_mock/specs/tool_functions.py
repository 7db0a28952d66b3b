"""Async functions as the tools of an MCP server."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import typing
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs, to_jsonable_python

import llm_mock
from llm_mock.errors import LLMMockError
from llm_mock.support.text import error_text, shorten, shorten_name

SHOWN_ERROR = 1_000
"""How many characters of what a plugin raised are shown."""


class Terminated(SystemExit):
    """The process shall end. A signal raises it, even in a tool that blocks the event loop."""


class ToolFunction:
    """One tool: an async function or a bound method, by its docstring as description and its type hints as schema."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        if any(parameter.kind in _NAMELESS for parameter in inspect.signature(function).parameters.values()):
            raise TypeError("it takes arguments that have no name (*args, or those before a /)")
        self._adapter: TypeAdapter[Any] = TypeAdapter(_with_evaluated_hints(function))
        self.input_schema = self._adapter.json_schema()

    def definition(self) -> types.Tool:
        """What clients of the server are told about it."""
        description = inspect.getdoc(self.function)
        return types.Tool(name=self.name, description=description, input_schema=self.input_schema)

    async def call(self, arguments: dict[str, Any]) -> types.CallToolResult:
        """Call it: an object becomes structured content and JSON text, a text stays, any other value is JSON text."""
        try:
            coroutine = self._adapter.validate_python(ArgsKwargs((), arguments))
        except ValidationError as error:
            found = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False)]
            problems = "\n".join(f"  {shorten_name(problem, 300)}" for problem in found)
            return failure(f"The tool {self.name!r} was not called, because its arguments are invalid:\n{problems}")
        try:
            value = await coroutine
        except (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit, Terminated):
            raise
        except LLMMockError as error:
            return failure(str(error))
        except BaseException as error:  # also what pytest.fail and sys.exit raise, which would end the server
            sys.excepthook(type(error), error, error.__traceback__)  # for those who look for its place
            return failure(f"The tool {self.name!r} failed: {shorten_name(error_text(error), SHOWN_ERROR)}")
        try:
            data = to_jsonable_python(value)
            text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, allow_nan=False)
            text.encode()  # fails for half of a character
        except (ValueError, TypeError, RecursionError) as error:
            problem = shorten_name(error_text(error), SHOWN_ERROR)
            return failure(f"The tool {self.name!r} did its work, but what it returned is no JSON value: {problem}")
        structured = data if isinstance(data, dict) else None
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=structured)


def server_with(tools: Mapping[str, ToolFunction]) -> Server[Any]:
    """A server of the official SDK that has these tools, by their names."""

    async def list_tools(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.definition() for tool in tools.values()])

    async def call_tool(_: Any, call: types.CallToolRequestParams) -> types.CallToolResult:
        if call.name not in tools:
            return failure(f"There is no tool {shorten(call.name)}. There are {', '.join(tools)}.")
        return await tools[call.name].call(call.arguments or {})

    return Server("llm-mock", version=llm_mock.__version__, on_list_tools=list_tools, on_call_tool=call_tool)


_NAMELESS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)


def failure(text: str) -> types.CallToolResult:
    """A result that says that the tool failed."""
    text = text.encode(errors="replace").decode()
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _with_evaluated_hints(function: Callable[..., Any]) -> Any:
    """The function, its type hints as its own module means them: pydantic would look for their names here."""

    async def called(**arguments: Any) -> Any:
        return await function(**arguments)

    called.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    called.__annotations__ = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    namespace = inspect.unwrap(function).__globals__
    called.__annotations__ = typing.get_type_hints(called, namespace, include_extras=True)
    return called
