"""A driver that runs and judges a test with the command line of Claude Code, `claude -p`."""

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
from llm_mock.agents.environment import merge_environment
from llm_mock.agents.result import ToolCallRecord
from llm_mock.agents.servers import CLIServer
from llm_mock.agents.supervised_process import Output, SupervisedProcess
from llm_mock.errors import DriverError, ServerError
from llm_mock.specs.drivers import Task, build_timeout_error
from llm_mock.specs.models import MAX_SHOWN, Verdict
from llm_mock.specs.steps import Report
from llm_mock.specs.verdict_consistency import check_verdict
from llm_mock.specs.verdicts import parse_verdict
from llm_mock.support.files import write_atomically
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import redact
from llm_mock.support.temporary_folders import TemporaryFolder
from llm_mock.support.text import describe_exit, shorten_name

SERVER = "llm_mock"
"""The name of the tool server in Claude Code."""
PREFIX = f"mcp__{SERVER}__"
"""The prefix of the names of its tools in Claude Code."""
MAX_STDOUT = 10_000_000
MAX_STDERR = 32_000
"""The number of bytes to keep: one half from the start, one half from the end."""
MAX_LINES = 20
"""The number of last lines of stderr that a message shows."""
VARIABLES = {
    # The command calls a real model.
    "LLM_MOCK": "",
    "PFLOW_TESTING": "",
    # It may be run from a terminal of Claude Code itself.
    "CLAUDECODE": "",
}
"""The changes to the environment of the command."""


@dataclass(frozen=True)
class ClaudeCodeDriver:
    """A driver that uses Claude Code, which must be installed and logged in (or have a key).

    The command gets the user's environment, and the prompt on its standard input. It ignores the
    settings of the user and of the project, and can use only the tools of the test, whose calls
    are reported as they happen. The command and all processes that it started are killed when the
    test times out or the test run ends.
    """

    command: str = "claude"
    """The name of a command in PATH, or its path."""
    model: str | None = None
    """The value of `--model`; None is the command's default."""

    name = "claude-code"
    needs_http = True
    needs_live = True

    @property
    def model_id(self) -> str:
        """Return the name of the model, by default that of the command."""
        return self.model or self.name

    def run(self, task: Task) -> Verdict:
        """Run the steps with Claude Code, and return its verdict."""
        __tracebackhide__ = True
        _refuse_servers(task)
        command = shorten_name(self.command)
        path = self._find_command()
        task.report(f"asking {command} …")
        with _write_configuration(task) as file:
            words = [path, *self._build_arguments(file)]
            try:
                status, stdout, stderr = _run_command(words, task)
            except ServerError as error:
                raise DriverError(f"The command {command!r} cannot be run: {error}") from None
        if status is None:
            raise build_timeout_error(self.command)
        messages = _parse_messages(stdout.text())
        # The last message has the answer; without one, the output is an error, or plain text.
        last: JSONObject = {}
        if messages and "is_error" in messages[-1]:
            last = messages[-1]
        answer = str(last.get("result") or "") if last else stdout.text()
        if status != 0 or last.get("is_error"):
            raise DriverError(_describe_failure(self.command, status, answer, stderr))
        # A single message does not contain the calls.
        calls = stdout.calls if len(messages) > 1 else None
        return check_verdict(parse_verdict(answer), task, calls)

    def _find_command(self) -> str:
        __tracebackhide__ = True
        path = shutil.which(self.command)
        if path is None:
            raise DriverError(
                f"The command {shorten_name(self.command)!r} was not found in PATH. Install Claude "
                "Code with npm install -g @anthropic-ai/claude-code, or choose another driver: ini "
                "llm_mock_spec_driver"
            )
        return path

    def _build_arguments(self, configuration: Path) -> list[str]:
        arguments = [
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--no-session-persistence",
            # No settings: the result of a test must not depend on the user who runs it.
            "--setting-sources=",
            *("--mcp-config", str(configuration), "--strict-mcp-config"),
            *("--tools", "", "--allowedTools", f"mcp__{SERVER}"),
        ]
        if self.model:
            arguments += ["--model", self.model]
        return arguments


def _refuse_servers(task: Task) -> None:
    __tracebackhide__ = True
    if task.spec.tools:
        problem = "The driver claude-code supports only the built-in tools and tools of plugins"
        raise DriverError(f"{problem}: use the driver llm for a test with 'tools'.")


_StartedCall = tuple[JSONObject, float]
"""A call without a result yet, and the time at which it started."""


class _MessageOutput(Output):
    """The stdout of the command, which reports each call of a tool when its result arrives."""

    def __init__(self, report: Report) -> None:
        super().__init__(MAX_STDOUT)
        self.calls: list[ToolCallRecord] = []
        """The calls of the test's tools, in the order of their results."""
        self._report = report
        self._line = b""
        self._started: dict[Any, _StartedCall] = {}

    def data_received(self, data: bytes) -> None:
        """Keep the output, and look for calls in its complete lines."""
        super().data_received(data)
        *lines, rest = (self._line + data).split(b"\n")
        self._line = rest[:MAX_STDOUT]
        text = b"\n".join(lines).decode(errors="replace")
        for message in _parse_messages(text):
            for block in _get_blocks(message):
                self._handle_block(block)

    def _handle_block(self, block: JSONObject) -> None:
        kind = block.get("type")
        if kind == "tool_use" and str(block.get("name")).startswith(PREFIX):
            call_id = block.get("id")
            self._started[call_id] = block, time.perf_counter()
        elif kind == "tool_result":
            started = self._started.pop(block.get("tool_use_id"), None)
            if started is None:
                return
            call, start = started
            duration = time.perf_counter() - start
            record = replace(_build_record(call, block), duration=duration)
            self.calls.append(record)
            self._report(f"  {record}")


def _run_command(words: list[str], task: Task) -> tuple[int | None, _MessageOutput, str]:
    """Run the command, and return its exit status (None if it took too long), stdout and stderr."""
    loop = BackgroundLoop()
    try:
        return loop.run(_execute(words, task))
    finally:
        loop.close(functools.partial(asyncio.sleep, 0))


async def _execute(words: list[str], task: Task) -> tuple[int | None, _MessageOutput, str]:
    # The whole environment, as the key of Claude Code may be in any variable.
    environment = merge_environment(**VARIABLES)
    server = CLIServer("claude", words, env=environment, cwd=task.root)
    process = SupervisedProcess(server, with_input=True)
    status = None
    stdout = _MessageOutput(task.report)
    try:
        await process.collect_in("stdout", stdout)
        stderr = await process.collect("stderr", MAX_STDERR)
        prompt = await process.writer()
        prompt.write(task.prompt.encode(errors="replace"))
        prompt.close()
        status = await process.wait(task.deadline.left)
    finally:
        await process.end(at_once=status is None)
    return status, stdout, stderr.text()


@contextlib.contextmanager
def _write_configuration(task: Task) -> Iterator[Path]:
    """Write a file with the address of the tools that only this user can read."""
    server = {"type": "http", "url": task.tools.url, "headers": dict(task.tools.headers)}
    configuration = json.dumps({"mcpServers": {SERVER: server}})
    with TemporaryFolder("tools") as folder:
        file = folder / "servers.json"
        write_atomically(file, configuration, mode=0o600, durable=False)
        yield file


def _describe_failure(command: str, status: int, answer: str, stderr: str) -> str:
    lines = [f"The command {shorten_name(command)!r} failed, {describe_exit(status)}."]
    if answer.strip():
        lines.append(f"Its output: {shorten_name(answer, MAX_SHOWN)}")
    stderr_lines = redact(stderr).strip().splitlines()
    last_lines = stderr_lines[-MAX_LINES:]
    if last_lines:
        lines.append("The last lines of its stderr:")
        lines += [f"  {shorten_name(line, MAX_SHOWN)}" for line in last_lines]
    return "\n".join(lines)


def _parse_messages(stdout: str) -> list[JSONObject]:
    """Return the messages of `--output-format stream-json`, a JSON object on each line."""
    messages = []
    for line in stdout.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            message = json.loads(line)
            if isinstance(message, dict) and "type" in message:
                messages.append(message)
    return messages


def _get_blocks(message: JSONObject) -> list[JSONObject]:
    """Return the blocks in the content of a message or of a result."""
    inner = message.get("message", message)
    content = inner.get("content") if isinstance(inner, dict) else None
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict)]


def _build_record(call: JSONObject, result: JSONObject) -> ToolCallRecord:
    text = result.get("content")
    if not isinstance(text, str):
        texts = [str(block.get("text", "")) for block in _get_blocks(result)]
        text = "\n".join(texts)
    has_failed = bool(result.get("is_error"))
    name = str(call["name"]).removeprefix(PREFIX)
    arguments = dict(call.get("input") or {})
    return ToolCallRecord(
        name,
        arguments,
        None if has_failed else text,
        text if has_failed else None,
    )
