"""Run JavaScript of the project with `node`, in its own process."""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
from pathlib import Path

from llm_mock.checks.base import RunContext, format_external_text
from llm_mock.checks.python_functions import ModelRefused, find_path_problem, resolve_file
from llm_mock.errors import LLMMockError
from llm_mock.support.json_types import JSONObject
from llm_mock.support.processes import run_process
from llm_mock.support.text import describe_exit
from llm_mock.support.time_limit import check_time, get_seconds_left

MAX_SECONDS = 60.0
"""The time limit of the code, if the case has no shorter one."""
SUFFIXES = (".js", ".cjs", ".mjs", ".ts")
_PROGRAM = Path(__file__).with_name("run_javascript.cjs")


def find_reference_problem(reference: str) -> str | None:
    """Return the problem with a reference `file.js` or `file.js:function`, or None."""
    file, _, name = reference.partition(":")
    # A name of JavaScript may also have a dollar sign.
    if not file.endswith(SUFFIXES) or not (name or "x").replace("$", "_").isidentifier():
        return "should be file.js or file.js:function"
    return find_path_problem(file)


def is_installed() -> bool:
    """Return whether Node.js is installed."""
    return shutil.which("node") is not None


def run_javascript(code: JSONObject, output: object, context: RunContext) -> JSONObject:
    """Run JavaScript with an output, and return the answer of the program.

    Args:
        code: `code`, or a `function`; and `config` and `transform` for the program.
        output: the first argument of the code: an output, or the input of a prompt function.
        context: the source of the second argument.

    Raises:
        LLMMockError: the code returned no value; the message is the part after its name.
        ModelRefused: the code opened a connection in a dry run.
    """
    node = shutil.which("node")
    if node is None:
        raise LLMMockError(" needs node, which is not installed: install Node.js")
    folder = (context.folder or Path()).resolve()
    # Random, so that no line of the code's own output can begin with it.
    mark = secrets.token_hex(16)
    request = {
        **code,
        "mark": mark,
        "refuse": _refuses_connections(context),
        "output": output,
        "context": _make_context(output, context, code.get("config", {})),
    }
    if code.get("function") is not None:
        request |= _locate_function(code["function"], folder)
    try:
        stdin = json.dumps(request).encode()
        timeout = get_seconds_left(MAX_SECONDS)
        completed = run_process([node, str(_PROGRAM)], stdin, timeout, folder, None)
    except subprocess.TimeoutExpired:
        # If the time of the whole case is over, that is the reason to report.
        check_time()
        raise LLMMockError(f" did not end within {MAX_SECONDS:g} s") from None
    except OSError as error:
        raise LLMMockError(f": node cannot be started: {error.strerror}") from None
    except (TypeError, ValueError) as error:
        raise LLMMockError(f": a variable is not JSON: {error}") from None
    return _read_answer(completed, mark)


def _read_answer(completed: subprocess.CompletedProcess[bytes], mark: str) -> JSONObject:
    _, found, line = completed.stdout.decode(errors="replace").rpartition(mark)
    if not found:
        status = describe_exit(completed.returncode)
        said = format_external_text(completed.stderr.decode(errors="replace").strip())
        raise LLMMockError(f" gave no result: node ended {status}: {said or '(nothing)'}")
    answer: JSONObject = json.loads(line)
    if answer["refused"]:
        raise ModelRefused("its code opens a connection")
    if "error" in answer:
        raise LLMMockError(f" threw {format_external_text(answer['error'])}")
    return answer


def _locate_function(reference: str, folder: Path) -> JSONObject:
    file, _, name = reference.partition(":")
    path = resolve_file(file, folder)
    if not path.is_file():
        raise LLMMockError(f": there is no file {file} beside the suite")
    return {"file": str(path), "name": name}


def _make_context(output: object, context: RunContext, config: JSONObject) -> JSONObject:
    variables: JSONObject = {}
    description = None
    if context.case is not None:
        variables = dict(context.case.values)
        description = context.case.name
    return {
        "vars": variables,
        "prompt": context.prompt,
        "config": config,
        "test": {"description": description, "vars": variables},
        "providerResponse": {"output": output},
    }


def _refuses_connections(context: RunContext) -> bool:
    """Return whether to refuse connections, because models called by node cannot be mocked."""
    if context.case is None or context.dry_run:
        return True
    return context.cassette == "replayed"
