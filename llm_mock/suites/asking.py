"""Asks the application that is the target of a suite: calls it, runs it, or sends it a request."""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import inspect
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from llm_mock.errors import LLMMockError
from llm_mock.suites.assertion_types.base import format_error, format_external_text
from llm_mock.suites.assertion_types.python_functions import find_error_source, load_function
from llm_mock.suites.assertion_types.text_assertion import extract_text, to_text
from llm_mock.suites.dry_run_hosts import ADVICE, is_local_url
from llm_mock.suites.target import PROMPT, Target
from llm_mock.suites.time_limit import CaseTimedOut, check_time, seconds_left
from llm_mock.support.interpolation import interpolated, map_texts
from llm_mock.support.text import exit_status, shorten, shorten_name

SHOWN_ERROR = 2_000
"""Characters of what a command said when it failed, from the end."""
LARGEST_ANSWER = 20_000_000
"""Bytes of the answer of an endpoint."""


class TargetFailed(LLMMockError):
    """The application gave no output; the message says why."""


class TargetMissing(TargetFailed):
    """The application cannot be asked, whatever the case is."""


def ask_function(reference: str, prompt: str, folder: Path) -> str:
    """What a function, sync or async, makes of a prompt."""
    try:
        function = load_function(reference, folder)
    except LLMMockError as error:
        raise TargetMissing(f"{shorten_name(reference)}{error}") from None
    try:
        returned = function(prompt)
        if inspect.iscoroutine(returned):
            returned = _awaited(returned)
    except KeyboardInterrupt:
        raise
    except CaseTimedOut as error:
        error.during = f"{shorten_name(reference)}{find_error_source(error, function)[1]}"
        raise
    except BaseException as error:  # whatever the application raises, such as SystemExit, the other cases go on
        where = find_error_source(error, function)[1]
        raise TargetFailed(f"{shorten_name(reference)} raised {format_error(error)}{where}") from None
    try:
        return to_text(returned)
    except LLMMockError as error:
        raise TargetFailed(f"{shorten_name(reference)}{error}") from None


def _awaited(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives, also where an event loop runs in this thread already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    given: list[Any] = []

    def run() -> None:
        try:
            given.append((asyncio.run(coroutine), None))
        except BaseException as error:
            given.append((None, error))

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,))
    thread.start()
    thread.join()
    value, error = given[0]
    if error is not None:
        raise error
    return value


def run_command(
    words: Sequence[str], prompt: str, folder: Path, timeout: float, environment: Mapping[str, str] | None
) -> str:
    """What a command prints; None as the environment is that of this process."""
    filled = [word.replace(PROMPT, prompt) for word in words]
    stdin = None if any(PROMPT in word for word in words) else prompt.encode()
    try:
        ended = _run(filled, stdin, seconds_left(timeout), folder, environment)
    except subprocess.TimeoutExpired:
        check_time()
        raise TargetFailed(f"the command {shorten(words[0])} did not end within {timeout:g} s") from None
    except OSError as error:
        raise TargetMissing(f"the command {shorten(words[0])} cannot be started: {error.strerror}") from None
    except ValueError as error:
        raise TargetFailed(f"the command {shorten(words[0])} cannot be given the prompt: {error}") from None
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip() or "(nothing)"
        *before, last = said.splitlines()
        status, more = exit_status(ended.returncode), f"\n{said[-SHOWN_ERROR:]}" if before else ""
        raise TargetFailed(f"the command {shorten(words[0])} ended {status}, and said: {last[:SHOWN_ERROR]}{more}")
    output: str = ended.stdout.decode(errors="replace").replace("\r\n", "\n").removesuffix("\n")
    return output


def _run(
    words: Sequence[str], stdin: bytes | None, timeout: float, folder: Path, environment: Mapping[str, str] | None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end; where it is ended before, so is whatever it started."""
    pipe, source = subprocess.PIPE, subprocess.DEVNULL if stdin is None else subprocess.PIPE
    with subprocess.Popen(
        words, stdin=source, stdout=pipe, stderr=pipe, cwd=folder, env=environment, start_new_session=True
    ) as process:
        _under_way.add(process)
        try:
            stdout, stderr = process.communicate(stdin, timeout)
        except BaseException:
            _end(process)
            raise
        finally:
            _under_way.discard(process)
    return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)


_under_way: set[subprocess.Popen[bytes]] = set()
"""The commands that run; after an interrupt those of other threads do, which end with this process."""


@atexit.register
def _end_all() -> None:
    for process in list(_under_way):
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and whatever it started."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def ask_endpoint(target: Target, prompt: str, dry_run: bool) -> str:
    """What an HTTP endpoint answers."""
    url = target.url or ""
    if dry_run and not target.mocked:
        raise TargetMissing(
            f"a dry run does not ask {shorten_name(url)}, as its models may be real. Start it so that "
            "`llm-mock serve replies.yaml` answers them, and say mocked: true in the target; or run without --dry-run"
        )
    if dry_run and not is_local_url(url):
        raise TargetMissing(f"a dry run does not ask {shorten_name(url)}, which is not on this machine. {ADVICE}")
    body = json.dumps(map_texts(target.body, lambda text: text.replace(PROMPT, prompt))).encode()
    headers = {name: interpolated(value, _of_environment) for name, value in target.headers.items()}
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", **headers}, method="POST")
    try:
        with _opener(dry_run).open(request, timeout=seconds_left(target.timeout)) as response:
            answer: bytes = response.read(LARGEST_ANSWER)
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(LARGEST_ANSWER).decode(errors="replace")
        raise TargetFailed(
            f"{shorten_name(url)} answered {error.code} {error.reason}: {format_external_text(said)}"
        ) from None
    except urllib.error.URLError as error:
        check_time()
        raise TargetMissing(
            f"{shorten_name(url)} cannot be reached: {format_external_text(str(error.reason))}"
        ) from None
    except (OSError, ValueError) as error:
        check_time()
        raise TargetFailed(f"{shorten_name(url)} gave no answer: {format_error(error)}") from None
    return answer.decode(errors="replace")


class _StayingHere(urllib.request.HTTPRedirectHandler):
    """Refuses to follow an endpoint of this machine to another one."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if not is_local_url(newurl):
            raise TargetMissing(f"the target leads on to {shorten_name(newurl)}, which is not asked. {ADVICE}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(dry_run: bool) -> urllib.request.OpenerDirector:
    """Return what sends requests: in a dry run without a proxy, which may be another machine."""
    if not dry_run:
        return urllib.request.build_opener()
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), _StayingHere)


def _of_environment(name: str) -> str:
    if name not in os.environ:
        raise TargetMissing(f"the header needs the environment variable {name}, which is not set")
    return os.environ[name]


def part_of(output: str, path: str) -> str:
    """The text, or the JSON, at a path of an output."""
    try:
        return extract_text(output, path)
    except LLMMockError as error:
        raise TargetFailed(f"the target's output {path}{error}") from None
