"""The driver that has the command line of Claude Code, `claude -p`, do the steps of a test and judge it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from llm_mock.agents.background import BackgroundLoop
from llm_mock.agents.environment import whole_environment
from llm_mock.agents.result import ToolCallRecord
from llm_mock.agents.servers import CLIServer
from llm_mock.agents.supervised_process import Output, SupervisedProcess
from llm_mock.errors import DriverError, ServerError
from llm_mock.specs.drivers import Task, given_up
from llm_mock.specs.evidence import checked
from llm_mock.specs.models import SHOWN_OUTPUT, Verdict
from llm_mock.specs.steps import Report
from llm_mock.specs.verdicts import parse_verdict
from llm_mock.support.files import write_atomically
from llm_mock.support.redaction import redacted
from llm_mock.support.temporary import TemporaryFolder
from llm_mock.support.text import exit_status, shorten_name

SERVER = "llm_mock"
"""What the tools' server is called there."""
PREFIX = f"mcp__{SERVER}__"
"""The beginning of the names of its tools there."""
STDOUT_KEPT = 10_000_000
STDERR_KEPT = 32_000
"""Bytes that are kept: the first and the last half."""
SHOWN_LINES = 20
"""The last lines of standard error that a message shows."""
VARIABLES = {"LLM_MOCK": "", "PFLOW_TESTING": "", "CLAUDECODE": ""}
"""The command must ask a real model, and may be run from a terminal of Claude Code itself."""


@dataclass(frozen=True)
class ClaudeCodeDriver:
    """Asks Claude Code, which must be installed and logged in (or have its key in the environment).

    The command gets the user's own environment, the prompt on its standard input, no settings of the user's or the
    project's, and no tools but those of the test, whose calls are reported as it makes them. It is killed, with all
    that it started, when the test's time is up or the test run ends.
    """

    command: str = "claude"
    """A command in PATH, or the path of one."""
    model: str | None = None
    """The value of `--model`; None is the command's own choice."""

    name = "claude-code"
    needs_http = True
    needs_live = True

    def run(self, task: Task) -> Verdict:
        __tracebackhide__ = True
        path = shutil.which(self.command)
        if path is None:
            raise DriverError(
                f"The command {shorten_name(self.command)!r} was not found in PATH. Install Claude Code with "
                "npm install -g @anthropic-ai/claude-code, or choose another driver: ini llm_mock_spec_driver"
            )
        task.report(f"asking {shorten_name(self.command)} …")
        with _configuration(task) as file:
            try:
                status, stdout, stderr = _run_command([path, *self._arguments(file)], task)
            except ServerError as error:
                raise DriverError(f"The command {shorten_name(self.command)!r} cannot be run: {error}") from None
        if status is None:
            raise given_up(self.command)
        messages = _messages(stdout.text())
        end = messages[-1] if messages and "is_error" in messages[-1] else {}
        said = str(end.get("result") or "") if end else stdout.text()
        if status != 0 or end.get("is_error"):
            raise DriverError(_failed(self.command, status, said, stderr))
        return checked(parse_verdict(said), task, stdout.calls if len(messages) > 1 else None)

    def _arguments(self, configuration: Path) -> list[str]:
        arguments = ["-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence"]
        arguments += ["--setting-sources="]  # none: what a test does is not for the settings of whoever runs it
        arguments += ["--mcp-config", str(configuration), "--strict-mcp-config"]
        arguments += ["--tools", "", "--allowedTools", f"mcp__{SERVER}"]
        return [*arguments, "--model", self.model] if self.model else arguments


class _Messages(Output):
    """What the command writes to stdout; a call that it tells of is reported as soon as its result is there."""

    def __init__(self, report: Report) -> None:
        super().__init__(STDOUT_KEPT)
        self.calls: list[ToolCallRecord] = []
        """The calls of the test's tools, in the order of their results."""
        self._report = report
        self._line = b""
        self._asked: dict[Any, tuple[dict[str, Any], float]] = {}

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        *lines, rest = (self._line + data).split(b"\n")
        self._line = rest[:STDOUT_KEPT]
        for message in _messages(b"\n".join(lines).decode(errors="replace")):
            for block in _blocks(message):
                self._take(block)

    def _take(self, block: dict[str, Any]) -> None:
        if block.get("type") == "tool_use" and str(block.get("name")).startswith(PREFIX):
            self._asked[block.get("id")] = block, time.perf_counter()
        elif block.get("type") == "tool_result" and (asked := self._asked.pop(block.get("tool_use_id"), None)):
            call, start = asked
            self.calls.append(replace(_record(call, block), duration=time.perf_counter() - start))
            self._report(f"  {self.calls[-1]}")


def _run_command(words: list[str], task: Task) -> tuple[int | None, _Messages, str]:
    """Run the command. Returns its exit status (None where it took too long), and what it wrote."""
    loop = BackgroundLoop()
    try:
        return loop.run(_execute(words, task))
    finally:
        loop.close(functools.partial(asyncio.sleep, 0))


async def _execute(words: list[str], task: Task) -> tuple[int | None, _Messages, str]:
    # Claude Code keeps its key where no other server gets it from: this one gets the whole environment.
    server = CLIServer("claude", words, env=whole_environment(**VARIABLES), cwd=task.root)
    process = SupervisedProcess(server, with_input=True)
    status, stdout = None, _Messages(task.report)
    try:
        await process.collect_in("stdout", stdout)
        stderr = await process.collect("stderr", STDERR_KEPT)
        prompt = await process.writer()
        prompt.write(task.prompt.encode(errors="replace"))
        prompt.close()
        status = await process.wait(task.deadline.left)
    finally:
        await process.end(at_once=status is None)
    return status, stdout, stderr.text()


@contextlib.contextmanager
def _configuration(task: Task) -> Iterator[Path]:
    """A file that says where the tools are, readable for this user alone."""
    server = {"type": "http", "url": task.tools.url, "headers": dict(task.tools.headers)}
    with TemporaryFolder("tools") as folder:
        file = folder / "servers.json"
        write_atomically(file, json.dumps({"mcpServers": {SERVER: server}}), mode=0o600, durable=False)
        yield file


def _failed(command: str, status: int, said: str, stderr: str) -> str:
    parts = [f"The command {shorten_name(command)!r} failed, {exit_status(status)}."]
    if said.strip():
        parts.append(f"It said: {shorten_name(said, SHOWN_OUTPUT)}")
    if lines := redacted(stderr).strip().splitlines()[-SHOWN_LINES:]:
        parts += ["The last that it wrote to stderr:", *(f"  {shorten_name(line, SHOWN_OUTPUT)}" for line in lines)]
    return "\n".join(parts)


def _messages(stdout: str) -> list[dict[str, Any]]:
    """The messages of `--output-format stream-json`: a JSON object on each line, the last one with the answer."""
    messages = []
    for line in stdout.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            message = json.loads(line)
            if isinstance(message, dict) and "type" in message:
                messages.append(message)
    return messages


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of content that a message or a result has."""
    inner = message.get("message", message)
    content = inner.get("content") if isinstance(inner, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _record(call: dict[str, Any], result: dict[str, Any]) -> ToolCallRecord:
    content = result.get("content")
    text = content if isinstance(content, str) else "\n".join(str(block.get("text", "")) for block in _blocks(result))
    failed = bool(result.get("is_error"))
    name, arguments = str(call["name"]).removeprefix(PREFIX), dict(call.get("input") or {})
    return ToolCallRecord(name, arguments, None if failed else text, text if failed else None)
