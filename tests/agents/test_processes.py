"""No process is left behind, even one that resists, by the process table."""

from __future__ import annotations

import asyncio
import gc
import os
import select
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_mock.agents import CLIServer, MCPServer, supervisor
from llm_mock.agents.mcp_stdio import Stdio
from llm_mock.agents.pool import ServerPool
from llm_mock.agents.supervised_process import SupervisedProcess
from llm_mock.errors import ServerError
from tests.process_state import StateWatch, assert_nothing_left

from .conftest import RAW_SERVER
from .processes import processes_with, supervisor_of, wait_until_gone, wait_until_there

Raw = Callable[..., MCPServer]
WHOLE_FAMILY = ("--stubborn", "--child", "--detached-child")
"""A server that ignores SIGTERM and the end of its stdin, a child, and a child that left its process group."""  # noqa: E501
FAMILY = 4
"""The supervisor, the server and its two children."""
SUPERVISE = (sys.executable, "-I", "-S", supervisor.__file__, str(os.getpid()), "9", "9")
"""The start of a command that is supervised as long as this process runs."""

# The marker comes by the environment, so that the command of the run does not contain it.
PROGRAM = f"""
import os, sys, time
from llm_mock.agents import CLIServer, MCPServer
from llm_mock.agents.pool import ServerPool, get_server_pool

marker = os.environ["MARKER"]
server = MCPServer([sys.executable, "-I", "-S", {str(RAW_SERVER)!r}, marker, *{WHOLE_FAMILY!r}])
pool = get_server_pool()
tools = {{tool.name: tool for tool in pool.tools([server])}}
"""


@pytest.fixture
def program(marker: str) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Start a process that starts a server with its children, and then does something else."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM + code],
            env={**os.environ, "MARKER": marker},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_server_that_ends_by_itself_leaves_nothing(
    pool: ServerPool, raw: Raw, marker: str
) -> None:
    pool.tools([raw()])
    assert len(processes_with(marker)) == 2
    pool.close()
    assert processes_with(marker) == {}


def test_a_server_that_ignores_signals_is_ended_with_its_children(
    pool: ServerPool, raw: Raw, marker: str
) -> None:
    pool.tools([raw(*WHOLE_FAMILY)])
    wait_until_there(marker, FAMILY)
    pool.close()
    assert processes_with(marker) == {}


def test_a_server_that_ends_by_itself_takes_its_children_with_it(
    pool: ServerPool, raw: Raw, marker: str
) -> None:
    pool.tools([raw("--child", "--detached-child")])
    wait_until_there(marker, FAMILY)
    pool.close()
    assert processes_with(marker) == {}


def test_a_server_has_time_to_clean_up(pool: ServerPool, raw: Raw, tmp_path: Path) -> None:
    cleaned = tmp_path / "cleaned"
    pool.tools([raw("--cleaned", str(cleaned))])
    pool.close()
    assert cleaned.read_text() == "cleaned"


def test_stubborn_servers_are_ended_at_the_same_time(
    pool: ServerPool, raw: Raw, marker: str
) -> None:
    pool.tools([raw("--stubborn", tools=["echo"]), raw("--stubborn", "--child", tools=["about"])])
    start = time.monotonic()
    pool.close()
    assert time.monotonic() - start < 4  # 2 seconds of grace, not twice
    assert processes_with(marker) == {}


def test_a_start_that_takes_too_long_leaves_nothing(
    pool: ServerPool, raw: Raw, marker: str
) -> None:
    with pytest.raises(ServerError, match=r"did not start within 0\.3 seconds"):
        pool.tools([raw("--hang", *WHOLE_FAMILY, start_timeout=0.3)])
    assert processes_with(marker) == {}


def test_a_server_that_dies_takes_its_children_with_it(
    pool: ServerPool, raw: Raw, marker: str
) -> None:
    tools = {tool.name: tool for tool in pool.tools([raw(*WHOLE_FAMILY)])}
    wait_until_there(marker, FAMILY)
    assert "ended during this call" in tools["die"].call({}).text
    assert processes_with(marker) == {}


def test_a_killed_supervisor_is_noticed_at_the_next_call(
    pool: ServerPool, raw: Raw, marker: str
) -> None:
    tools = {tool.name: tool for tool in pool.tools([raw()])}
    os.kill(supervisor_of(marker), signal.SIGKILL)
    pool.close()
    wait_until_gone(marker)  # its stdin has ended
    assert tools["echo"].call({"text": "?"}).is_error


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_supervisor_that_is_told_to_end_ends_its_server(
    pool: ServerPool, raw: Raw, marker: str, number: signal.Signals
) -> None:
    tools = {tool.name: tool for tool in pool.tools([raw(*WHOLE_FAMILY)])}
    wait_until_there(marker, FAMILY)
    os.kill(supervisor_of(marker), number)
    wait_until_gone(marker)
    assert "had ended before this call, killed by SIGKILL" in tools["echo"].call({"text": "?"}).text


def test_a_process_that_blocks_signals_ends_its_servers_in_time(
    pool: ServerPool, raw: Raw, marker: str
) -> None:
    blocked = signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD}
    )
    try:
        pool.tools([raw(*WHOLE_FAMILY)])
        start = time.monotonic()
        pool.close()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    assert time.monotonic() - start < 4
    assert processes_with(marker) == {}


def test_nothing_is_left_when_the_process_ends(
    program: Callable[[str], subprocess.Popen[str]], marker: str
) -> None:
    _, errors = program("print(tools['echo'].call({'text': 'Hi'}).text)").communicate(timeout=60)
    assert processes_with(marker) == {}
    assert errors == ""


def test_nothing_is_left_when_the_process_ends_without_cleaning_up(
    program: Callable[[str], subprocess.Popen[str]], marker: str
) -> None:
    program("os._exit(3)").communicate(timeout=60)
    wait_until_gone(marker)


def test_nothing_is_left_when_the_process_is_killed(
    program: Callable[[str], subprocess.Popen[str]], marker: str
) -> None:
    process = program("print('ready', flush=True); time.sleep(600)")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert len(wait_until_there(marker, FAMILY)) == FAMILY
    process.kill()
    wait_until_gone(marker)


def test_nothing_is_left_when_the_whole_process_group_is_killed(
    program: Callable[[str], subprocess.Popen[str]], marker: str
) -> None:
    process = program("print('ready', flush=True); time.sleep(600)")
    assert process.stdout is not None
    process.stdout.readline()
    os.killpg(process.pid, signal.SIGKILL)
    wait_until_gone(marker)


def test_nothing_is_left_when_the_process_is_killed_and_one_that_it_forked_off_lives(
    program: Callable[[str], subprocess.Popen[str]], marker: str
) -> None:
    code = "child = os.fork()\nif not child: time.sleep(600)\nprint(child, flush=True); time.sleep(600)"  # noqa: E501
    process = program(code)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.kill()
    try:
        wait_until_gone(marker)
    finally:
        os.kill(child, signal.SIGKILL)


def test_nothing_is_left_when_the_process_is_killed_during_a_command(
    program: Callable[[str], subprocess.Popen[str]], marker: str
) -> None:
    code = """
pool.close()
command = CLIServer("sleep", [sys.executable, "-c", "import time; time.sleep(600)", marker], "sleep")
pool.tools([command])[0].call({})
"""  # noqa: E501
    process = program(code)
    wait_until_there(marker, 2)  # the command and its supervisor: the server has gone
    process.kill()
    wait_until_gone(marker)


def test_a_process_that_was_forked_off_leaves_the_servers_of_its_parent_alone(
    program: Callable[[str], subprocess.Popen[str]], marker: str
) -> None:
    code = """
child = os.fork()
if not child:
    print(tools["echo"].call({"text": "?"}).is_error, repr(pool.stop(server)))
    server = MCPServer([sys.executable, "-I", "-S", server.command[3], marker])
    print([tool.name for tool in pool.tools([server])][0], flush=True)
    sys.exit()
os.waitpid(child, 0)
print(tools["echo"].call({"text": "I am still here"}).text)
"""
    output, errors = program(code).communicate(timeout=60)
    assert output == "True ''\necho\nI am still here\n", errors


def test_a_supervisor_that_does_not_answer_is_killed(
    pool: ServerPool, raw: Raw, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_mock.agents.supervised_process.GRACE", 0.05)
    monkeypatch.setattr(supervisor, "KILLING", -1)
    pool.tools([raw(stop_timeout=0.05)])
    os.kill(supervisor_of(marker), signal.SIGSTOP)
    pool.close()
    wait_until_gone(marker)


async def cancel(ending: Coroutine[Any, Any, None]) -> None:
    """Cancel a coroutine at its first pause."""
    task = asyncio.create_task(ending)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


CLOSED = "import os, time; os.close(1); time.sleep(60)"
"""The code of a server that closes its stdout, and then has a moment to exit."""


async def end_command(marker: str) -> None:
    server = CLIServer("nap", [sys.executable, "-I", "-S", "-c", CLOSED, marker])
    process = SupervisedProcess(server)
    await (await process.collect("stdout", 1)).ended.wait()
    await cancel(process.end())


async def end_server(marker: str) -> None:
    over = asyncio.Event()
    stdio = Stdio(MCPServer([sys.executable, "-I", "-S", "-c", CLOSED, marker]), over)
    async with stdio.transport():
        await over.wait()
        await cancel(stdio.end(at_once=True))


@pytest.mark.parametrize("end", [end_command, end_server])
def test_a_process_has_ended_also_if_its_end_is_cancelled(
    end: Callable[[str], Coroutine[Any, Any, None]], marker: str
) -> None:
    """Cancel it as the end of the loop does with all that Ctrl-C has already cancelled."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(end(marker))
        gc.collect()
    # Python warns of a process that nobody waited for.
    assert [str(warning.message) for warning in caught] == []
    assert processes_with(marker) == {}


def test_the_pipes_of_a_command_are_closed_even_if_nobody_read_them(marker: str) -> None:
    sleep = [sys.executable, "-c", "import time; time.sleep(600)", marker]

    async def start_and_end() -> SupervisedProcess:
        process = SupervisedProcess(CLIServer("sleep", sleep), with_input=True)
        await process.end(at_once=True)
        return process

    watch = StateWatch(kinds=("descriptor",))
    process = asyncio.run(start_and_end())
    assert_nothing_left(watch.take_changes())
    assert process.status is not None
    wait_until_gone(marker)


def test_nothing_is_left_after_ctrl_c_in_a_test(
    pytester: pytest.Pytester, raw: Raw, marker: str
) -> None:
    pytester.makepyfile(
        f"""
        import time
        from llm_mock.agents import MCPServer
        from llm_mock.agents.pool import get_server_pool

        def test_waits():
            get_server_pool().tools([MCPServer({[*raw(*WHOLE_FAMILY).command]!r})])
            time.sleep(600)
        """
    )
    process = pytester.popen([sys.executable, "-m", "pytest"], stdin=subprocess.DEVNULL)
    wait_until_there(marker, FAMILY)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0].decode()
    assert "KeyboardInterrupt" in output
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert processes_with(marker) == {}


def test_nothing_is_left_after_ctrl_c_while_a_server_starts(
    pytester: pytest.Pytester, raw: Raw, marker: str
) -> None:
    pytester.makepyfile(
        f"""
        from llm_mock.agents import MCPServer
        from llm_mock.agents.pool import get_server_pool

        def test_waits():
            get_server_pool().tools([MCPServer({[*raw("--hang", *WHOLE_FAMILY).command]!r})])
        """
    )
    process = pytester.popen([sys.executable, "-m", "pytest"], stdin=subprocess.DEVNULL)
    wait_until_there(marker, FAMILY)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert processes_with(marker) == {}


def test_a_command_that_runs_too_long_is_killed_with_its_children(
    pool: ServerPool, marker: str, raw: Raw
) -> None:
    family = CLIServer("family", [*raw("--hang", *WHOLE_FAMILY).command], timeout=600)
    (tool,) = pool.tools([family])
    answers: list[str] = []
    call = threading.Thread(target=lambda: answers.append(tool.call({}, timeout=1).text))
    call.start()
    wait_until_there(marker, FAMILY)
    call.join()
    assert processes_with(marker) == {}
    assert answers[0].startswith(
        "The command 'family' was still running after 1 seconds, and was killed.\nstderr:\n"
    )


def test_what_a_command_leaves_in_the_background_is_ended_with_it(
    pool: ServerPool, marker: str
) -> None:
    script = f"{sys.executable} -c 'import time; time.sleep(600)' {marker} & echo started"
    (tool,) = pool.tools([CLIServer("shell", ["sh", "-c", script])])
    assert tool.call({}).text == "started\n"
    assert processes_with(marker) == {}


def test_a_supervisor_needs_no_program_beside_python(marker: str, tmp_path: Path) -> None:
    """Start the command with the environment of its server, which may break a Python."""
    server = CLIServer(
        "env",
        ["env"],
        env={"PYTHONHOME": str(tmp_path), "PYTHONPATH": marker, "PYTHONSTARTUP": "x"},
    )
    pool = ServerPool()
    try:
        assert f"PYTHONPATH={marker}" in pool.tools([server])[0].call({}).text
    finally:
        pool.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups")
def test_a_supervisor_without_a_program_ends_as_a_shell_does() -> None:
    ended = subprocess.run([*SUPERVISE, "no-such-program"], capture_output=True, timeout=60)
    assert ended.returncode == 127
    assert ended.stderr == b"no-such-program: No such file or directory\n"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_pipe_ends_when_the_command_closes_it(stream: str) -> None:
    number = {"stdout": 1, "stderr": 2}[stream]
    code = f"import os, sys; os.close({number}); sys.stdin.read()"
    with subprocess.Popen(
        [*SUPERVISE, sys.executable, "-I", "-S", "-c", code],
        stdin=subprocess.PIPE,
        **{stream: subprocess.PIPE},
    ) as process:
        pipe = getattr(process, stream)
        ended, _, _ = select.select([pipe], [], [], 20)
        assert ended
        assert pipe.read() == b""
        assert process.poll() is None
        assert process.stdin is not None
        process.stdin.close()
    assert process.returncode == 0
