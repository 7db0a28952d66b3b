"""The tools that are offered to a model, and what calling one gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llm_mock.agents.background import BackgroundLoop, LoopClosed
from llm_mock.agents.servers import MCPServer, Server
from llm_mock.support import schemas
from llm_mock.support.text import shorten_name

if TYPE_CHECKING:
    import llm

Execute = Callable[[dict[str, Any], float | None], Coroutine[Any, Any, "ToolAnswer"]]
"""Calls a tool on the background loop: its arguments, and the seconds that it may take (None: the server's own)."""

SHOWN_PROBLEMS = 20


@dataclass
class ToolAnswer:
    """What a tool answered. Nothing that goes wrong in a call is raised: it is an answer with `is_error`."""

    text: str
    """What the model is told; a tool that answers with data alone has them here as JSON."""
    structured: Any | None = None
    """The structured content of an MCP result: any JSON value."""
    attachments: list[llm.Attachment] = field(default_factory=list)
    """Images, audio and binary resources."""
    is_error: bool = False
    """Whether the tool failed, or could not be called: invalid arguments, a dead server, a timeout."""


@dataclass(eq=False, repr=False)
class Tool(ABC):
    """Something that a model may call. May be called from any thread and any event loop."""

    name: str
    description: str
    """What it does, as the server tells it; may be empty."""
    input_schema: dict[str, Any]
    """The JSON schema of its arguments."""

    @property
    def timeout(self) -> float | None:
        """Seconds that a call may take by itself; None is no end."""
        return None

    def call(self, arguments: dict[str, Any], timeout: float | None = None) -> ToolAnswer:
        """Call the tool with a JSON object, and wait for its answer for so many seconds (None: the tool's own).

        The answer has `is_error` also where the arguments break the schema, a server died or the time is up.
        """
        return self._invalid(arguments) or self._call(arguments, timeout)

    async def call_async(self, arguments: dict[str, Any], timeout: float | None = None) -> ToolAnswer:
        """Like `call`, without blocking the event loop that awaits it."""
        return self._invalid(arguments) or await self._call_async(arguments, timeout)

    @abstractmethod
    def _call(self, arguments: dict[str, Any], timeout: float | None) -> ToolAnswer: ...

    @abstractmethod
    async def _call_async(self, arguments: dict[str, Any], timeout: float | None) -> ToolAnswer: ...

    def _invalid(self, arguments: dict[str, Any]) -> ToolAnswer | None:
        problems = list(schemas.violations(self.input_schema, arguments, "the arguments"))[:SHOWN_PROBLEMS]
        if not problems:
            return None
        listed = "".join(f"\n  {shorten_name(problem, 300)}" for problem in problems)
        called = f"The tool {self.name!r} was not called, because its arguments are invalid:{listed}"
        return ToolAnswer(called, is_error=True)


@dataclass(eq=False, repr=False)
class ServerTool(Tool):
    """One tool of a running server."""

    server: Server
    execute: Execute
    loop: BackgroundLoop
    """Where `execute` runs."""

    def __repr__(self) -> str:
        return f"<ServerTool {self.name} of {self.server.label}>"

    @property
    def timeout(self) -> float:
        """Seconds that a call may take, as the server is configured."""
        return self.server.call_timeout if isinstance(self.server, MCPServer) else self.server.timeout

    def _call(self, arguments: dict[str, Any], timeout: float | None) -> ToolAnswer:
        try:
            return self.loop.run(self.execute(arguments, timeout))
        except LoopClosed:
            return _pool_closed()

    async def _call_async(self, arguments: dict[str, Any], timeout: float | None) -> ToolAnswer:
        try:
            return await self.loop.run_async(self.execute(arguments, timeout))
        except LoopClosed:
            return _pool_closed()


def _pool_closed() -> ToolAnswer:
    return ToolAnswer("The servers of this tool were ended. Ask the pool for its tools again.", is_error=True)
