"""Client of a suite's target: call its function, run its command, or send it a request."""

from __future__ import annotations

import asyncio
import contextvars
import http.client
import inspect
import json
import os
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from llm_mock.boundaries.dry_run_hosts import ADVICE, is_local_url
from llm_mock.checks.base import format_error, format_external_text
from llm_mock.checks.python_functions import find_error_source, load_function
from llm_mock.checks.transforms import extract_text, to_text
from llm_mock.core.context import pass_through
from llm_mock.errors import LLMMockError
from llm_mock.suites.target import Target
from llm_mock.suites.target_session import PROMPT, SESSION_ID, get_session, replace_places
from llm_mock.support.interpolation import interpolate
from llm_mock.support.processes import run_process
from llm_mock.support.text import describe_exit, shorten, shorten_name
from llm_mock.support.time_limit import CaseTimedOut, check_time, get_seconds_left

MAX_ERROR_LENGTH = 2_000
"""The maximum number of characters, from the end of standard error, in a message."""
MAX_RESPONSE_SIZE = 20_000_000
"""The maximum number of bytes to read from the response of an endpoint."""


class TargetError(LLMMockError):
    """The application gave no output; the message says why."""


class TargetUnavailable(TargetError):
    """The application cannot be reached at all, so other cases would fail, too."""


def call_function(reference: str, prompt: str, folder: Path) -> str:
    """Call a sync or async function with a prompt, and return its result as text.

    Args:
        reference: the function: see `Target.function`.
        prompt: its argument.
        folder: the folder of the suite.

    Raises:
        TargetUnavailable: there is no such function.
        TargetError: the function raised, or returned something that is not JSON.
        CaseTimedOut: the time of the case is over.
    """
    name = shorten_name(reference)
    try:
        function = load_function(reference, folder)
    except LLMMockError as error:
        raise TargetUnavailable(f"{name}{error}") from None
    returned = _call(function, name, prompt)
    try:
        return to_text(returned)
    except LLMMockError as error:
        raise TargetError(f"{name}{error}") from None


def _call(function: Callable[..., object], name: str, prompt: str) -> Any:
    try:
        returned = function(prompt, **_get_arguments(function))
        if inspect.iscoroutine(returned):
            return _run_coroutine(returned)
        return returned
    except KeyboardInterrupt:
        raise
    except CaseTimedOut as error:
        error.during = f"{name}{find_error_source(error, function)[1]}"
        raise
    except BaseException as error:
        # Also SystemExit: an application that ends itself must not end the run of the suite.
        location = find_error_source(error, function)[1]
        raise TargetError(f"{name} raised {format_error(error)}{location}") from None


def _get_arguments(function: Callable[..., object]) -> dict[str, object]:
    """Return the id and the history of the session, if the function has such parameters."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # Some functions written in C have no signature.
        return {}
    arguments = get_session().get_arguments()
    return {name: value for name, value in arguments.items() if name in parameters}


def _run_coroutine(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end, even if an event loop is running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    values: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            values.append(asyncio.run(coroutine))
        except BaseException as error:
            errors.append(error)

    # The context holds the time limit of the case and the active mock.
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,))
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return values[0]


def run_command(
    words: Sequence[str],
    prompt: str,
    folder: Path,
    timeout: float,
    environment: Mapping[str, str] | None,
) -> str:
    """Run a command and return its standard output.

    Args:
        words: the command; the prompt replaces `{prompt}`.
        prompt: the prompt, which is sent to standard input if no word has `{prompt}`.
        folder: the working directory.
        timeout: seconds that the command may take.
        environment: its environment; None is the environment of this process.

    Raises:
        TargetUnavailable: the command cannot be started.
        TargetError: it failed or took too long.
        CaseTimedOut: the time of the case is over.
    """
    name = f"the command {shorten(words[0])}"
    takes_argument = any(PROMPT in word for word in words)
    session = get_session()
    filled_words = [session.fill(word, prompt) for word in words]
    environment = session.add_to_environment(os.environ if environment is None else environment)
    stdin = None if takes_argument else prompt.encode()
    try:
        completed = run_process(filled_words, stdin, get_seconds_left(timeout), folder, environment)
    except subprocess.TimeoutExpired:
        # If the time of the whole case is over, that is the reason to report.
        check_time()
        raise TargetError(f"{name} did not end within {timeout:g} s") from None
    except OSError as error:
        raise TargetUnavailable(f"{name} cannot be started: {error.strerror}") from None
    except ValueError as error:
        # Arguments cannot contain null characters.
        raise TargetError(f"{name} cannot receive the prompt as an argument: {error}") from None
    if completed.returncode:
        status = describe_exit(completed.returncode)
        message = _format_stderr(completed.stderr)
        raise TargetError(f"{name} ended {status}; stderr: {message}")
    output = completed.stdout.decode(errors="replace")
    return output.replace("\r\n", "\n").removesuffix("\n")


def _format_stderr(stderr: bytes) -> str:
    """Return the last line of standard error, followed by all of it if there are more lines."""
    text = stderr.decode(errors="replace").strip() or "(nothing)"
    lines = text.splitlines()
    # The last line of a traceback is the error itself.
    last_line = lines[-1][:MAX_ERROR_LENGTH]
    if len(lines) == 1:
        return last_line
    return f"{last_line}\n{text[-MAX_ERROR_LENGTH:]}"


def send_request(target: Target, prompt: str, dry_run: bool) -> str:
    """Send a prompt to an HTTP endpoint and return the body of the response.

    Raises:
        TargetUnavailable: the endpoint cannot be reached, or a dry run must not reach it.
        TargetError: the endpoint responded with an error, or not in time.
        CaseTimedOut: the time of the case is over.
    """
    url = target.url or ""
    name = shorten_name(url)
    if dry_run:
        _check_dry_run(target, url, name)
    request = _build_request(target, url, prompt)
    try:
        opener = _create_opener(dry_run)
        # A request to the target is not a model call, even if its URL looks like a provider's.
        with (
            pass_through(),
            opener.open(request, timeout=get_seconds_left(target.timeout)) as response,
        ):
            body: bytes = response.read(MAX_RESPONSE_SIZE + 1)
            missing: int | None = response.length
    except urllib.error.HTTPError as error:
        with error:
            text = error.read(MAX_RESPONSE_SIZE).decode(errors="replace")
        status = f"{error.code} {error.reason}"
        raise TargetError(f"{name} responded with {status}: {format_external_text(text)}") from None
    except urllib.error.URLError as error:
        check_time()
        reason = format_external_text(str(error.reason))
        raise TargetUnavailable(f"{name} cannot be reached: {reason}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        check_time()
        raise TargetError(f"{name} sent no valid response: {format_error(error)}") from None
    if len(body) > MAX_RESPONSE_SIZE:
        megabytes = MAX_RESPONSE_SIZE / 1_000_000
        raise TargetError(f"{name} sent a response of more than {megabytes:g} MB")
    # `read(n)` raises no error if the connection ends too early.
    if missing:
        raise TargetError(f"{name} sent an incomplete response: {missing:,} bytes are missing")
    return body.decode(errors="replace")


def _check_dry_run(target: Target, url: str, name: str) -> None:
    if not target.mocked:
        raise TargetUnavailable(
            f"a dry run does not call {name}, because its models may be real. Configure it to call "
            "`llm-mock serve replies.yaml`, and set mocked: true in the target; or run without "
            "--dry-run"
        )
    if not is_local_url(url):
        problem = f"a dry run does not call {name}, which is not on this machine"
        raise TargetUnavailable(f"{problem}. {ADVICE}")


def _build_request(target: Target, url: str, prompt: str) -> urllib.request.Request:
    session = get_session()
    body = session.fill_json(target.body, prompt)
    headers = {"Content-Type": "application/json"}
    for name, value in target.headers.items():
        filled = replace_places(value, {SESSION_ID: session.id})
        headers[name] = interpolate(filled, _get_variable)
    return urllib.request.Request(
        url,
        json.dumps(body).encode(),
        headers,
        method="POST",
    )


class _LocalRedirectHandler(urllib.request.HTTPRedirectHandler):
    """Refuses redirects to other machines."""

    def redirect_request(
        self,
        req: Any,
        fp: Any,
        code: int,
        msg: str,
        headers: Any,
        newurl: str,
    ) -> Any:
        if not is_local_url(newurl):
            name = shorten_name(newurl)
            problem = f"the target redirects to {name}, which is not on this machine"
            raise TargetUnavailable(f"{problem}. {ADVICE}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _create_opener(dry_run: bool) -> urllib.request.OpenerDirector:
    """Return a URL opener; in a dry run it uses no proxy and follows only local redirects."""
    if not dry_run:
        return urllib.request.build_opener()
    # The proxy of the environment may be another machine.
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), _LocalRedirectHandler)


def _get_variable(name: str) -> str:
    if name not in os.environ:
        problem = f"the header needs the environment variable {name}"
        raise TargetUnavailable(f"{problem}, which is not set")
    return os.environ[name]


def extract_output(text: str, path: str) -> str:
    """Return the text or JSON at a path of the target's output.

    Raises:
        TargetError: the output is not JSON, or the path does not exist in it.
    """
    try:
        return extract_text(text, path)
    except LLMMockError as error:
        raise TargetError(f"the target's output {path}{error}") from None
