"""What pytest shows of a failure, without secrets where the failure is ours; and its text for the report."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

import llm_mock
from llm_mock.errors import LLMMockError
from llm_mock.support.redaction import OUTPUT, redacted

LONGEST_MESSAGE = 10_000
LONGEST_TRACEBACK = 50_000
MESSAGE, TRACEBACK = "llm_mock_message", "llm_mock_traceback"
"""The attributes of a report with its texts, redacted where the test ran: only there all of its secrets are known."""
_PACKAGE = os.path.dirname(llm_mock.__file__) + os.sep


def redact_failure(report: pytest.TestReport, error: BaseException | None) -> None:
    """Take secrets out of a failure that is ours, its traceback included.

    What pytest shows of the project's own assertions and exceptions is left as it is.
    """
    if any(map(_is_ours, _with_causes(error))):
        report.longrepr = _redacted(report.longrepr)


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
    return str(redacted(str(longrepr)))[-LONGEST_TRACEBACK:]


def _cut(message: str) -> str:
    return str(redacted(message))[:LONGEST_MESSAGE]


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, those that led to it, and those of a group."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        for inner in getattr(error, "exceptions", ()):
            yield from _with_causes(inner)
        error = error.__cause__ or error.__context__


def _is_ours(error: BaseException) -> bool:
    """Whether an error was raised by the package, perhaps through `pytest.fail`, or in place of a model's."""
    files: list[str] = []
    frames = error.__traceback__
    while frames is not None:
        files.append(frames.tb_frame.f_code.co_filename)
        frames = frames.tb_next
    if isinstance(error, pytest.fail.Exception) and len(files) > 1:
        files.pop()  # that of the function `fail`
    return isinstance(error, LLMMockError) or (bool(files) and files[-1].startswith(_PACKAGE))


def _redacted(shown: Any) -> Any:
    """What pytest is to show, in which each text is redacted: some lines are one text."""
    if isinstance(shown, str):
        return redacted(shown)
    if isinstance(shown, list) and all(isinstance(line, str) for line in shown):
        return [line.removesuffix("\n") for line in OUTPUT.clean_pieces([f"{line}\n" for line in shown])]
    if isinstance(shown, (list, tuple)):
        return type(shown)(map(_redacted, shown))
    if type(shown).__module__ == "_pytest._code.code":
        for name, part in vars(shown).items():
            setattr(shown, name, _redacted(part))
    return shown
