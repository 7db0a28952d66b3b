"""Serve functions as the tools of an MCP server."""

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
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_error, shorten, shorten_message, shorten_name

MAX_SHOWN_ERROR = 1_000
"""The maximum number of characters of a plugin's exception in messages."""
_NAMELESS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)


class Terminated(SystemExit):
    """A request to end the process.

    A signal raises it, even in a tool that blocks the event loop.
    """


class ToolFunction:
    """A function as a tool: its docstring is the description, its type hints are the schema.

    Args:
        name: the name of the tool.
        function: a function, async or not, or a bound method.

    Raises:
        TypeError: it has parameters without names.
    """

    def __init__(self, name: str, function: Callable[..., object]) -> None:
        self.name = name
        self.function = function
        parameters = inspect.signature(function).parameters.values()
        if any(parameter.kind in _NAMELESS for parameter in parameters):
            raise TypeError("it has parameters without names (*args, or parameters before a /)")
        self._adapter: TypeAdapter[Any] = TypeAdapter(_resolve_type_hints(function))
        self.input_schema = self._adapter.json_schema()

    def build_definition(self) -> types.Tool:
        """Return the definition of the tool for clients."""
        description = inspect.getdoc(self.function)
        return types.Tool(name=self.name, description=description, input_schema=self.input_schema)

    async def call(self, arguments: JSONObject) -> types.CallToolResult:
        """Call the tool, and return its result, or its error.

        An object becomes structured content and JSON text, a text stays as it is, and any other
        value becomes JSON text, and structured content with the key `result`, so that a number
        stays one.
        """
        try:
            coroutine = self._adapter.validate_python(ArgsKwargs((), arguments))
        except ValidationError as error:
            problems = _format_problems(error)
            return build_error_result(
                f"The tool {self.name!r} was not called, because its arguments are invalid:\n"
                f"{problems}"
            )
        try:
            value = await coroutine
        except (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit, Terminated):
            raise
        except LLMMockError as error:
            return build_error_result(str(error))
        except BaseException as error:
            # pytest.fail and sys.exit raise exceptions that would end the server.
            # The traceback goes to stderr, for the author of the tool.
            sys.excepthook(type(error), error, error.__traceback__)
            text = shorten_name(format_error(error), MAX_SHOWN_ERROR)
            return build_error_result(f"The tool {self.name!r} failed: {text}")
        try:
            return _build_result(value)
        except (ValueError, TypeError, RecursionError) as error:
            text = shorten_name(format_error(error), MAX_SHOWN_ERROR)
            return build_error_result(
                f"The tool {self.name!r} has run, but its result is not a JSON value: {text}"
            )


def _format_problems(error: ValidationError) -> str:
    lines = []
    for problem in error.errors():
        location = ".".join(map(str, problem["loc"]))
        text = shorten_message(f"{location}: {problem['msg']}")
        lines.append(f"  {text}")
    return "\n".join(lines)


def _build_result(value: object) -> types.CallToolResult:
    """Return the result for a value that a tool returned.

    Raises:
        ValueError, TypeError, RecursionError: it is not JSON.
    """
    data = to_jsonable_python(value)
    text = data
    if not isinstance(data, str):
        text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    # Raises an error for a lone surrogate, which the transport could not send.
    text.encode()
    if isinstance(data, dict):
        structured = data
    elif isinstance(data, str):
        structured = None
    else:
        # As in the official SDK, because structured content must be an object.
        structured = {"result": data}
    return types.CallToolResult(
        content=[types.TextContent(text=text)],
        structured_content=structured,
    )


def create_server(tools: Mapping[str, ToolFunction]) -> Server[Any]:
    """Return a server of the official SDK with the given tools, by name."""

    async def list_tools(
        _: object, __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.build_definition() for tool in tools.values()])

    async def call_tool(_: object, call: types.CallToolRequestParams) -> types.CallToolResult:
        if call.name not in tools:
            names = ", ".join(tools)
            return build_error_result(
                f"There is no tool {shorten(call.name)}. The tools are {names}."
            )
        return await tools[call.name].call(call.arguments or {})

    return Server(
        "llm-mock",
        version=llm_mock.__version__,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def build_error_result(text: str) -> types.CallToolResult:
    """Return the result of a tool that failed."""
    # The transport cannot send lone surrogates.
    text = text.encode(errors="replace").decode()
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _resolve_type_hints(function: Callable[..., Any]) -> Any:
    """Return a wrapper of a function with type hints that are not texts.

    pydantic would look up the names in texts in this module, not in the module of the function.
    """

    async def call(**arguments: Any) -> Any:
        returned = function(**arguments)
        return await returned if inspect.isawaitable(returned) else returned

    vars(call)["__signature__"] = inspect.signature(function)
    hints = dict(function.__annotations__)
    # The type of the result is not validated, and may be one that is imported for types only.
    hints.pop("return", None)
    call.__annotations__ = hints
    namespace = inspect.unwrap(function).__globals__
    call.__annotations__ = typing.get_type_hints(call, namespace, include_extras=True)
    return call
