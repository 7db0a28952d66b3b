"""The text of failures: shorter tracebacks, no secrets in ours, and messages for the report."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from types import TracebackType
from typing import Any

import pytest

import llm_mock
from llm_mock.errors import LLMMockError
from llm_mock.plugin import IS_OURS
from llm_mock.support.redaction import OUTPUT, redact

LONGEST_MESSAGE = 10_000
LONGEST_TRACEBACK = 50_000
"""The maximum numbers of characters in the report."""
MESSAGE, TRACEBACK = "llm_mock_message", "llm_mock_traceback"
"""The attributes of a test's report with its texts.

The process that ran the test redacts them: only there all secrets of the test are known.
"""
PAYLOAD = (
    "response.json() of llm is the provider's payload, as in production (ini "
    "llm_mock_production_responses). To get the data of an answer, use json.loads(response.text())."
)
_PACKAGE = os.path.dirname(llm_mock.__file__) + os.sep
_PLUGIN = os.path.join(_PACKAGE, "plugin", "")
"""The folder whose frames surround every test."""


def prepare_failure(
    call: pytest.CallInfo[None], config: pytest.Config
) -> Callable[[pytest.TestReport], None] | None:
    """Shorten the traceback of a failure.

    Returns:
        A function that removes secrets from the report, if the failure is ours.
    """
    error = None if call.excinfo is None else call.excinfo.value
    # Before the frames are hidden, because they tell who raised the error.
    is_ours = any(map(_is_ours, linked_errors(error)))
    if not config.getoption("fulltrace"):
        _hide_inner_frames(call)
    return _redact_report if is_ours else None


def _redact_report(report: pytest.TestReport) -> None:
    """Remove secrets from the report of a failure that is ours, its traceback included."""
    report.longrepr = _redact_repr(report.longrepr)
    # An attribute, so that a worker of pytest-xdist sends it: the colours below are not sent.
    setattr(report, IS_OURS, True)
    colour(report)


def colour(report: pytest.TestReport) -> None:
    """Write a message without a traceback in the colour that pytest gives to exceptions."""
    traceback = getattr(report.longrepr, "reprtraceback", None)
    for entry in getattr(traceback, "reprentries", ()):
        # The style of `pytest.fail(…, pytrace=False)`, which pytest prints without colour.
        if getattr(entry, "style", None) == "value":
            entry.toterminal = partial(_write_in_colour, entry.lines)


def _write_in_colour(lines: Iterable[str], terminal: Any) -> None:
    for line in lines:
        terminal.line(line, red=True, bold=True)


def _hide_inner_frames(call: pytest.CallInfo[None]) -> None:
    """Remove the frames of this package and of `llm` from a traceback that contains ours."""
    error = None if call.excinfo is None else call.excinfo.value
    errors = list(linked_errors(error))
    if error is None or not any(map(_passes_through_us, errors)):
        return
    hidden = [_PACKAGE]
    llm_file = getattr(sys.modules.get("llm"), "__file__", None)
    if llm_file:
        hidden.append(os.path.dirname(llm_file) + os.sep)
    for each in errors:
        first = each.__context__
        if first is not None and _is_ours(first) and _is_shortened_copy(each, first):
            # Show the error once, with the full message.
            each.args, each.__suppress_context__ = first.args, True
    for each in errors:
        _drop_frames(each, tuple(hidden))
    # A new one, because pytest caches the traceback in it.
    call.excinfo = pytest.ExceptionInfo.from_exception(error)


def _drop_frames(error: BaseException, folders: tuple[str, ...]) -> None:
    """Remove the frames of these folders from a traceback, unless nothing is left then."""
    kept = []
    for frame in list_frames(error):
        if not frame.tb_frame.f_code.co_filename.startswith(folders):
            kept.append(frame)
    if not kept:
        return
    for frame, following in pairwise(kept):
        frame.tb_next = following
    kept[-1].tb_next = None
    error.__traceback__ = kept[0]


def _is_shortened_copy(error: BaseException, first: BaseException) -> bool:
    """Return whether an error was raised again with the beginning of the same message.

    `llm` does that to errors of a response.
    """
    if type(error) is not type(first) or not error.args or not first.args:
        return False
    text = error.args[0]
    return isinstance(text, str) and str(first.args[0]).startswith(text)


def _passes_through_us(error: BaseException) -> bool:
    files = [frame.tb_frame.f_code.co_filename for frame in list_frames(error)]
    return any(file.startswith(_PACKAGE) and not file.startswith(_PLUGIN) for file in files)


def list_frames(error: BaseException) -> list[TracebackType]:
    """Return the frames of the traceback of an error, the outermost first."""
    frames = []
    frame = error.__traceback__
    while frame is not None:
        frames.append(frame)
        frame = frame.tb_next
    return frames


def explain_payload(error: BaseException | None) -> str:
    """Return a hint if the failed function looks for data in the provider's payload; or nothing."""
    if not isinstance(error, (AttributeError, IndexError, KeyError, TypeError)):
        return ""
    frames = list_frames(error)
    if not frames:
        return ""
    try:
        source = inspect.getsource(frames[-1].tb_frame.f_code)
    except OSError:  # code without a file
        return ""
    return PAYLOAD if ".json()" in source else ""


def read_message(report: Any) -> str | None:
    """Return why a test failed or was skipped, without the traceback and secrets."""
    if getattr(report, "wasxfail", None):
        return _cut(str(report.wasxfail))
    longrepr: Any = report.longrepr
    if isinstance(longrepr, tuple):
        longrepr = longrepr[2]
    if longrepr is None:
        return None
    # Items that are not functions have a text instead of a traceback.
    crash = getattr(longrepr, "reprcrash", None)
    return _cut(str(longrepr if crash is None else crash.message))


def read_traceback(report: pytest.TestReport) -> str | None:
    """Return the traceback as pytest shows it, without secrets; None if there is only a message."""
    longrepr: Any = report.longrepr
    if not report.failed or getattr(longrepr, "reprcrash", None) is None:
        return None
    # The end of a very long one, because the failing line is there.
    return str(redact(str(longrepr)))[-LONGEST_TRACEBACK:]


def _cut(message: str) -> str:
    return str(redact(message))[:LONGEST_MESSAGE]


def linked_errors(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, its causes and contexts, and the members of exception groups."""
    seen: set[int] = set()
    remaining = [error]
    while remaining:
        each = remaining.pop()
        # A member of a group may have the group as its context.
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        remaining.append(each.__cause__ or each.__context__)
        # Exceptions that are not groups may have an attribute of this name, too.
        members = getattr(each, "exceptions", ())
        if isinstance(members, (list, tuple)):
            remaining += [one for one in reversed(members) if isinstance(one, BaseException)]


def _is_ours(error: BaseException) -> bool:
    """Return whether this package raised an error, also by `pytest.fail` or for a mocked model."""
    if isinstance(error, LLMMockError):
        return True
    files = [frame.tb_frame.f_code.co_filename for frame in list_frames(error)]
    is_failure = isinstance(error, pytest.fail.Exception)
    # The last frame may be that of the function `fail` itself.
    last_files = files[-2:] if is_failure else files[-1:]
    return any(file.startswith(_PACKAGE) for file in last_files)


def _redact_repr(part: object) -> Any:
    """Return a part of pytest's representation of a failure with all texts redacted."""
    if isinstance(part, str):
        return redact(part)
    if isinstance(part, list) and all(isinstance(line, str) for line in part):
        # The lines are one text, because a secret may span several of them.
        pieces = OUTPUT.clean_pieces([f"{line}\n" for line in part])
        return [piece.removesuffix("\n") for piece in pieces]
    if isinstance(part, (list, tuple)):
        return type(part)(map(_redact_repr, part))
    # Private: pytest has no public list of the classes of its representations. Without it the
    # texts of tracebacks are not redacted.
    if type(part).__module__ == "_pytest._code.code":
        for name, value in vars(part).items():
            setattr(part, name, _redact_repr(value))
    return part
