"""The tools that are offered to a model, and their answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from llm_mock.agents.background import BackgroundLoop, LoopClosed
from llm_mock.agents.servers import MCPServer, Server
from llm_mock.support import schemas
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten_message

if TYPE_CHECKING:
    import llm

Execute: TypeAlias = Callable[[JSONObject, float | None], Coroutine[Any, Any, "ToolAnswer"]]
"""Calls a tool on the background loop.

The arguments are those of the tool, and the timeout in seconds (None: the server's own)."""

SHOWN_PROBLEMS = 20


@dataclass
class ToolAnswer:
    """The answer of a tool. A failed call raises nothing: its answer has `is_error`.

    Attributes:
        text: the output for the model; structured content without a text is here as JSON.
        structured: the structured content of an MCP result: any JSON value.
        attachments: images, audio and binary resources.
        is_error: whether the tool failed or could not be called, because of invalid arguments, a
            dead server or a timeout.
    """

    text: str
    structured: Any | None = None
    attachments: list[llm.Attachment] = field(default_factory=list)
    is_error: bool = False


@dataclass(eq=False, repr=False)
class AgentTool(ABC):
    """A tool that a model may call. May be called from any thread and any event loop.

    Attributes:
        name: its name.
        description: the description of the server; may be empty.
        input_schema: the JSON schema of its arguments.
    """

    name: str
    description: str
    input_schema: JSONObject

    @property
    def timeout(self) -> float | None:
        """The time limit of a call in seconds; None for no limit."""
        return None

    def call(self, arguments: JSONObject, timeout: float | None = None) -> ToolAnswer:
        """Call the tool.

        Args:
            arguments: a JSON object.
            timeout: the timeout in seconds; None uses the tool's own.

        Returns:
            The answer. `is_error` is also set if the arguments violate the schema, the server died
            or the call timed out.
        """
        return self._check(arguments) or self._call(arguments, timeout)

    async def call_async(
        self,
        arguments: JSONObject,
        timeout: float | None = None,
    ) -> ToolAnswer:
        """Call the tool without blocking the event loop of the caller."""
        return self._check(arguments) or await self._call_async(arguments, timeout)

    @abstractmethod
    def _call(self, arguments: JSONObject, timeout: float | None) -> ToolAnswer: ...

    @abstractmethod
    async def _call_async(
        self,
        arguments: JSONObject,
        timeout: float | None,
    ) -> ToolAnswer: ...

    def _check(self, arguments: JSONObject) -> ToolAnswer | None:
        """Return the answer for invalid arguments, or None."""
        violations = schemas.find_violations(self.input_schema, arguments, "the arguments")
        problems = list(islice(violations, SHOWN_PROBLEMS))
        if not problems:
            return None
        lines = [f"The tool {self.name!r} was not called, because its arguments are invalid:"]
        lines += [f"  {shorten_message(problem)}" for problem in problems]
        return ToolAnswer("\n".join(lines), is_error=True)


@dataclass(eq=False, repr=False)
class ServerTool(AgentTool):
    """A tool of a running server.

    Attributes:
        server: the configuration of the server.
        execute: calls the tool.
        loop: the loop in which `execute` runs.
    """

    server: Server
    execute: Execute
    loop: BackgroundLoop

    def __repr__(self) -> str:
        return f"<ServerTool {self.name} of {self.server.label}>"

    @property
    def timeout(self) -> float:
        """The timeout of a call in seconds, from the configuration of the server."""
        if isinstance(self.server, MCPServer):
            return self.server.call_timeout
        return self.server.timeout

    def _call(self, arguments: JSONObject, timeout: float | None) -> ToolAnswer:
        try:
            return self.loop.run(self.execute(arguments, timeout))
        except LoopClosed:
            return _new_closed_answer()

    async def _call_async(
        self,
        arguments: JSONObject,
        timeout: float | None,
    ) -> ToolAnswer:
        try:
            return await self.loop.run_async(self.execute(arguments, timeout))
        except LoopClosed:
            return _new_closed_answer()


def _new_closed_answer() -> ToolAnswer:
    return ToolAnswer(
        "The server of this tool was stopped. Request its tools from the pool again.",
        is_error=True,
    )
