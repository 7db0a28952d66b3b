"""The explanation of an exception that an SDK raised instead of a configured one."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from llm_mock.core.latency import TIMED_OUT
from llm_mock.core.provider_error import ProviderError
from llm_mock.core.source_location import format_origin
from llm_mock.plugin.failures import linked_errors, list_frames
from llm_mock.support.text import format_count

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.mock import Mock

RETRY_COUNT = "x-stainless-retry-count"
"""The header with the number of attempts that failed."""
WRAPPED_SDKS = ("anthropic", "cohere", "groq", "mistralai", "ollama", "openai", "together")
"""The SDKs whose errors frameworks replace by their own."""


def explain_sdk_error(error: BaseException | None, mock: Mock, calls: Sequence[Call]) -> str:
    """Explain which exception an SDK raised for a configured one; empty for other failures.

    Args:
        error: the error of the test.
        mock: its mock.
        calls: its calls.
    """
    if error is None or not calls or not _is_of_library(error):
        return ""
    last = calls[-1]
    reply = mock.history.answered_by.get(last["number"])
    place = format_origin(getattr(reply, "place", None))
    if str(last["error"]).startswith(TIMED_OUT):
        return _explain_timeout(error, place, calls)
    configured = getattr(getattr(reply, "answer", None), "error", None)
    # The errors of templates are those of the SDK.
    if isinstance(configured, ProviderError):
        return _explain_template_error(error, place)
    # Only a call of an SDK has an `api`; `llm` raises the configured exception itself.
    if configured is None or "api" not in last:
        return ""
    kind = configured if isinstance(configured, type) else type(configured)
    expected = kind.__name__ if kind.__module__ == "builtins" else _get_qualified_name(kind)
    raised = _get_qualified_name(type(error))
    attempts = format_count(_count_attempts(calls), "attempt")
    return (
        f"The {expected} of a reply{place} reaches an SDK as a failed request. The SDK raised "
        f"{raised} after {attempts}, as in production: expect {raised} instead of {expected}."
    )


def _explain_timeout(error: BaseException, place: str, calls: Sequence[Call]) -> str:
    """Explain which exception the SDK raised for the timeout of a client.

    Args:
        error: the error of the test, which is of a library.
        place: the line of the reply, in brackets after a space, or nothing.
        calls: the calls of the test.
    """
    raised = _get_qualified_name(type(error))
    attempts = format_count(_count_attempts(calls), "attempt")
    return (
        f"The latency of the reply{place} is longer than the client's timeout. The SDK raised "
        f"{raised} after {attempts}, as in production: expect {raised}, or shorten the latency."
    )


def _explain_template_error(error: BaseException, place: str) -> str:
    """Explain which exception to expect for a template.

    Args:
        error: the error of the test, which is of a library.
        place: the line of the reply, in brackets after a space, or nothing.
    """
    raised = _get_qualified_name(type(error))
    for link in linked_errors(error):
        if _get_package(link) in WRAPPED_SDKS and _get_package(link) != _get_package(error):
            of_sdk = _get_qualified_name(type(link))
            expected = of_sdk if isinstance(error, type(link)) else type(error).__name__
            advice = f"Expect it with pytest.raises({expected})."
            if not _expects_error(error):
                advice = (
                    f"Catch {expected} in the application, or, if the test expects the error, "
                    f"write pytest.raises({expected})."
                )
            return (
                f"The SDK raised {of_sdk} for the error of the reply{place}. The application's "
                f"framework raised {raised} instead. {advice}"
            )
    return (
        f"The error of the reply{place} is raised as {raised}, as in production. If the test "
        f"expects an error, expect {raised}."
    )


def _expects_error(error: BaseException) -> bool:
    """Return whether a function of the project in the traceback expects an error."""
    for frame in list_frames(error):
        code = frame.tb_frame.f_code
        if "site-packages" in code.co_filename:
            continue
        try:
            source = inspect.getsource(code)
        except (OSError, SyntaxError):
            continue
        # `pytest.raises` and the `assertRaises` of unittest.
        if "raises(" in source.lower():
            return True
    return False


def _get_package(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


def _get_qualified_name(kind: type[BaseException]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def explain_retries(calls: Sequence[Call], error: BaseException | None) -> str:
    """Explain which calls are an SDK's retries after a configured error; empty if none are.

    Args:
        calls: the calls of the test.
        error: the error of the test. Only a failed assertion may have counted the retries.
    """
    retries = [number for number, call in enumerate(calls, start=1) if _is_retry(call)]
    for number in retries:
        call = calls[number - 1]
        failed = calls[number - 2]
        if call["error"] is None and failed["error"] is not None:
            return (
                f"Call {number - 1} failed, and the SDK's retry, call {number}, got an answer. "
                "To fail every attempt, use set_error(). To disable retries, create the client "
                "with max_retries=0."
            )
    if not retries or not isinstance(error, AssertionError):
        return ""
    named = ", ".join(map(str, retries))
    return (
        f"The SDK retried failed calls, and each attempt counts as a call. Retries: {named}. "
        "To disable retries, create the client with max_retries=0."
    )


def _is_retry(call: Call) -> bool:
    """Return whether OpenAI's or Anthropic's SDK, which number the attempts, sent a call again."""
    request = call.request
    if request is None:
        return False
    return request.headers.get(RETRY_COUNT, "0") != "0"


def explain_missing_error(error: BaseException | None, calls: Sequence[Call]) -> str:
    """Explain how to raise an error if `pytest.raises` expected one but no call failed.

    Args:
        error: the error of the test.
        calls: its calls.
    """
    is_missing = isinstance(error, pytest.fail.Exception) and "DID NOT RAISE" in str(error)
    if not is_missing or not calls or any(call["error"] for call in calls):
        return ""
    return (
        "No call failed. To make a call fail, use set_error(model, error) with an error such as "
        "templates.rate_limit() of llm_mock. A reply that describes an error does not fail a call."
    )


def _is_of_library(error: BaseException | None) -> bool:
    """Return whether an error is of an installed library, not of the project or of Python."""
    module = sys.modules.get(type(error).__module__)
    return "site-packages" in str(getattr(module, "__file__", ""))


def _count_attempts(calls: Sequence[Call]) -> int:
    """Return the number of failed calls at the end."""
    attempts = 0
    for call in reversed(calls):
        if call["error"] is None:
            break
        attempts += 1
    return attempts
