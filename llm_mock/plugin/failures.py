"""What pytest shows of a failure, without secrets where the failure is ours; and its text for the report."""

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
from llm_mock.support.redaction import OUTPUT, redact

LONGEST_MESSAGE = 10_000
LONGEST_TRACEBACK = 50_000
MESSAGE, TRACEBACK = "llm_mock_message", "llm_mock_traceback"
"""The attributes of a report with its texts, redacted where the test ran: only there all of its secrets are known."""
PAYLOAD = (
    "response.json() of llm is the provider's payload, as in production (ini llm_mock_response_json = raw): "
    "the data of an answer is json.loads(response.text())."
)
_PACKAGE = os.path.dirname(llm_mock.__file__) + os.sep
_PLUGIN = os.path.join(_PACKAGE, "plugin", "")
"""Its frames surround every test."""


def prepare_failure(
    call: pytest.CallInfo[None], config: pytest.Config
) -> Callable[[pytest.TestReport], None] | None:
    """Shorten the traceback of a failure; what takes secrets out of its report, where it is ours."""
    error = None if call.excinfo is None else call.excinfo.value
    ours = any(map(_is_ours, _with_causes(error)))
    if not config.getoption("fulltrace"):
        _hide_inner_frames(call)
    return _redact if ours else None


def _redact(report: pytest.TestReport) -> None:
    """Take secrets out of a failure that is ours, its traceback included.

    What pytest shows of the project's own assertions and exceptions is left as it is.
    """
    report.longrepr = _redacted(report.longrepr)
    report.llm_mock_says = True  # type: ignore[attr-defined] # travels from a worker
    colour(report)


def colour(report: pytest.TestReport) -> None:
    """Have a message without a traceback written in the colour that pytest gives the message of an exception."""
    shown: Any = report.longrepr
    entries = getattr(getattr(shown, "reprtraceback", None), "reprentries", ())
    for entry in entries:
        if getattr(entry, "style", None) == "value":
            entry.toterminal = partial(_write_in_colour, entry.lines)


def _write_in_colour(lines: Iterable[str], terminal: Any) -> None:
    for line in lines:
        terminal.line(line, red=True, bold=True)


def _hide_inner_frames(call: pytest.CallInfo[None]) -> None:
    """Leave the frames of this package and of `llm` out of a traceback, where it leads through this package.

    What remains is the project's own code, and what it uses. Where `llm` says again what was said here, once is enough.
    """
    error = None if call.excinfo is None else call.excinfo.value
    errors = list(_with_causes(error))
    llm = getattr(sys.modules.get("llm"), "__file__", None)
    hidden = (_PACKAGE, *([os.path.dirname(llm) + os.sep] if llm else []))
    if error is None or not any(map(_leads_through_us, errors)):
        return
    for each in errors:
        if (
            (first := each.__context__) is not None
            and _is_ours(first)
            and _says_the_same(each, first)
        ):
            each.args, each.__suppress_context__ = first.args, True
    for each in errors:
        kept = [
            frame
            for frame in _frames(each)
            if not frame.tb_frame.f_code.co_filename.startswith(hidden)
        ]
        for frame, following in pairwise([*kept, None]):
            frame.tb_next = following  # type: ignore[union-attr] # the last one follows only
        each.__traceback__ = kept[0] if kept else each.__traceback__
    call.excinfo = pytest.ExceptionInfo.from_exception(error)


def _says_the_same(error: BaseException, first: BaseException) -> bool:
    """Whether an error was raised anew of what another said, with no more words than that one."""
    (said, *_), (before, *_) = (*error.args, None), (*first.args, None)
    return type(error) is type(first) and isinstance(said, str) and str(before).startswith(said)


def _leads_through_us(error: BaseException) -> bool:
    files = (frame.tb_frame.f_code.co_filename for frame in _frames(error))
    return any(file.startswith(_PACKAGE) and not file.startswith(_PLUGIN) for file in files)


def _frames(error: BaseException) -> list[TracebackType]:
    frames, frame = [], error.__traceback__
    while frame is not None:
        frames.append(frame)
        frame = frame.tb_next
    return frames


def payload_text(error: BaseException | None) -> str:
    """What to say where a function failed that looks for the data of an answer in the provider's payload."""
    frames = (
        _frames(error)
        if isinstance(error, (AttributeError, IndexError, KeyError, TypeError))
        else []
    )
    try:
        source = inspect.getsource(frames[-1].tb_frame.f_code) if frames else ""
    except OSError:  # the code of no file
        return ""
    return PAYLOAD if ".json()" in source else ""


def message_of(report: Any) -> str | None:
    """Why a test failed or was skipped, without the traceback and secrets."""
    if getattr(report, "wasxfail", None):
        return _cut(str(report.wasxfail))
    longrepr: Any = report.longrepr
    if isinstance(longrepr, tuple):
        longrepr = longrepr[2]
    crash = getattr(longrepr, "reprcrash", None)
    return None if longrepr is None else _cut(str(longrepr if crash is None else crash.message))


def traceback_of(report: pytest.TestReport) -> str | None:
    """Where a test failed, as pytest shows it, without secrets; None where there is no more than the message.

    Of a very long one the end, where the failing line is.
    """
    longrepr: Any = report.longrepr
    if not report.failed or getattr(longrepr, "reprcrash", None) is None:
        return None
    return str(redact(str(longrepr)))[-LONGEST_TRACEBACK:]


def _cut(message: str) -> str:
    return str(redact(message))[:LONGEST_MESSAGE]


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, those that led to it, and those of a group."""
    seen: set[int] = set()
    left = [error]
    while left:
        each = left.pop()
        if (
            each is None or id(each) in seen
        ):  # an exception of a group may have the group as its context
            continue
        seen.add(id(each))
        yield each
        group = getattr(
            each, "exceptions", ()
        )  # exceptions that are no groups may have the attribute, too
        inner = (
            [one for one in group if isinstance(one, BaseException)]
            if isinstance(group, (list, tuple))
            else []
        )
        left += [each.__cause__ or each.__context__, *reversed(inner)]


def _is_ours(error: BaseException) -> bool:
    """Whether an error was raised by the package, perhaps through `pytest.fail`, or in place of a model's."""
    files = [frame.tb_frame.f_code.co_filename for frame in _frames(error)]
    if (
        isinstance(error, pytest.fail.Exception)
        and len(files) > 1
        and not files[-1].startswith(_PACKAGE)
    ):
        files.pop()  # that of the function `fail`
    return isinstance(error, LLMMockError) or (bool(files) and files[-1].startswith(_PACKAGE))


def _redacted(shown: Any) -> Any:
    """What pytest is to show, in which each text is redacted: some lines are one text."""
    if isinstance(shown, str):
        return redact(shown)
    if isinstance(shown, list) and all(isinstance(line, str) for line in shown):
        return [
            line.removesuffix("\n") for line in OUTPUT.clean_pieces([f"{line}\n" for line in shown])
        ]
    if isinstance(shown, (list, tuple)):
        return type(shown)(map(_redacted, shown))
    if type(shown).__module__ == "_pytest._code.code":
        for name, part in vars(shown).items():
            setattr(shown, name, _redacted(part))
    return shown
