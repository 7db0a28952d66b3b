"""The messages noted by the mock that the exception of a failed test reports.

A refusal reaches the test as it is, or as an exception that an SDK makes of it. No function here
depends on the wording of a message: our exceptions are found by their arguments and attributes,
and the error responses of refused requests by a header.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.core.call import Call
from llm_mock.core.records import MESSAGE_ATTRIBUTE, get_shown_calls
from llm_mock.core.source_location import names_location

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock

CAUGHT = (
    "The application or the test caught this error, but the test fails all the same: otherwise the "
    "mistake would go unnoticed. Fix the mistake as described above. To test how your code handles "
    "an error, configure one with set_error()."
)
"""The end of the failure of a test that raised no error."""


def locate_problem(mock: Mock, problem: str) -> str:
    """Return a note with the lines that led to a problem; empty if the problem names a line."""
    places = mock.problem_places.get(problem, ())
    if not places or names_location(problem, places[0]):
        return ""
    return f"The call: {', from '.join(places)}"


def make_failure(text: str, message: str | None = None) -> BaseException:
    """Return the exception that fails a test, and is shown without a traceback.

    Args:
        text: the text of the failure.
        message: the noted message that the text shows; by default the text itself.
    """
    failure = pytest.fail.Exception(text, pytrace=False)
    setattr(failure, MESSAGE_ATTRIBUTE, text if message is None else message)
    return failure


def is_of_project(file: str, item: pytest.Item) -> bool:
    """Return whether a source file belongs to the tested project, not to a library."""
    # A virtual environment may be in the folder of the project.
    return file.startswith(str(item.config.rootpath)) and "site-packages" not in file


def follow_library_chain(error: BaseException | None, item: pytest.Item) -> Iterator[BaseException]:
    """Yield an error and the errors that libraries turned into it, the latest first.

    An error that the project caught ends the chain: what the project raises instead is a failure
    of its own.

    Args:
        error: the error of the test.
        item: the test.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        # The context too, because SDKs raise their errors `from None`.
        error = error.__cause__ or error.__context__
        traceback = None if error is None else error.__traceback__
        # The first frame of a traceback is the one that caught the error.
        if traceback is None or is_of_project(traceback.tb_frame.f_code.co_filename, item):
            return


def find_reported(errors: Iterable[BaseException], messages: Sequence[str]) -> list[str]:
    """Return those of the noted messages that at least one of the errors reports."""
    if not messages:
        return []
    # Without this module no request was refused.
    http_errors: Any = sys.modules.get("llm_mock.boundaries.http.errors")
    reported: set[str | None] = set()
    for error in errors:
        # Errors of sockets and gRPC have the message as one of several arguments.
        reported.update(argument for argument in error.args if isinstance(argument, str))
        reported.add(getattr(error, MESSAGE_ATTRIBUTE, None))
        if http_errors is not None:
            key = http_errors.read_refusal_key(error)
            reported.update(
                message for message in messages if http_errors.make_refusal_key(message) == key
            )
    return [message for message in messages if message in reported]


def shows_calls(errors: Iterable[BaseException], calls: Sequence[Call]) -> bool:
    """Return whether the text of an error lists exactly these calls."""
    return any(get_shown_calls(error) == list(calls) for error in errors)
