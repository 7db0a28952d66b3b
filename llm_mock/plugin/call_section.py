"""The section of a failed test with its calls, the configured replies and refused requests."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import pytest

from llm_mock.core.call import Call
from llm_mock.core.diagnostics import (
    explain_late_replies,
    explain_replies,
    find_unused_replies,
)
from llm_mock.core.records import format_calls
from llm_mock.plugin.failures import explain_payload
from llm_mock.plugin.hand_patches import HandPatches
from llm_mock.plugin.mock_messages import (
    find_reported,
    follow_library_chain,
    locate_problem,
    shows_calls,
)
from llm_mock.plugin.sdk_errors import explain_missing_error, explain_retries, explain_sdk_error
from llm_mock.plugin.unawaited import explain_unawaited
from llm_mock.support.exceptions import get_exception_text

LONGEST_REPEATED = 60
"""The maximum length of an error's message that is shown in the failure and beside its call."""


class CallSection:
    """The section `LLM calls`, without what the failure itself shows.

    Args:
        item: the test.
        call: its failed phase.
        mock: its mock.
        calls: its calls.
        patches: its patches of functions that return models, and of SDKs.
        handled: its frames with coroutines that did not start.
        is_of_run: whether the mock is that of the run.
    """

    def __init__(
        self,
        item: pytest.Item,
        call: pytest.CallInfo[None],
        mock: Any,
        calls: Sequence[Call],
        patches: HandPatches,
        handled: Sequence[FrameType],
        is_of_run: bool,
    ) -> None:
        self._item = item
        self._patches = patches
        self._handled = handled
        self._is_of_run = is_of_run
        self._is_call_phase = call.when == "call"
        self._mock = mock
        self._calls = calls
        self._error = None if call.excinfo is None else call.excinfo.value
        # Replies may still be used after the setup.
        self._unused = None if call.when == "setup" else mock.unused_replies()
        self._monkeypatch = getattr(item, "funcargs", {}).get("monkeypatch")
        self._chain = list(follow_library_chain(self._error, item))

    def format(self) -> str:
        """Return the text of the section; empty if there is nothing to add."""
        mock = self._mock
        fatal = [*mock.problems, *filter(None, [self._unused])]
        reported = find_reported(self._chain, [*fatal, *mock.refusals])
        is_explained = any(message in reported for message in fatal)
        replies = self._explain_replies(reported, is_explained)
        problem = "" if is_explained else next(iter(mock.problems), "")
        location = locate_problem(mock, problem)
        # The list of replies explains more than a call that none of them answers.
        if replies:
            problem = self._shorten_unanswered(problem)
        shown = [*reported, problem]
        parts = [problem, location]
        parts += [*self._list_refusals(shown), self._list_calls(shown)]
        # Calls over HTTP have an `api`, and responses of an SDK another `json()`.
        if mock.settings.raw_json and any("api" not in call for call in self._calls):
            parts.append(explain_payload(self._error))
        parts.append(explain_sdk_error(self._error, mock, self._calls))
        if self._is_call_phase:
            parts.append(explain_retries(self._calls, self._error))
            parts.append(explain_missing_error(self._error, self._calls))
            parts += [self._explain_unread(), replies, self._describe_patches()]
            parts.append(self._patches.explain_other_mocks(self._error))
            parts += self._explain_unused()
        elif self._calls:
            parts.append(replies)
        return "\n".join(filter(None, parts))

    def _shorten_unanswered(self, problem: str) -> str:
        """Return a problem; only the fix if no reply was configured for one of the listed calls."""
        answered_by = self._mock.history.answered_by
        for number, call in enumerate(self._calls, start=1):
            is_answered = answered_by.get(call["number"]) is not None
            if call["error"] == problem and not is_answered:
                return f'Call {number} has no reply. Configure one: set("{call["model_id"]}", …).'
        return problem

    def _explain_replies(self, reported: Sequence[str], is_explained: bool) -> str:
        # The mock of the run has standing replies for all tests; this test uses few of them.
        # The message about unused replies has all of them.
        if self._is_of_run or self._unused in reported:
            return ""
        # The failure lists the replies that it found, but not those that were configured later.
        if is_explained:
            hints = self._mock.configurator.replies.hints
            late = explain_late_replies(self._mock, self._calls)
            return "\n".join(filter(None, [*hints, late]))
        return explain_replies(self._mock, self._calls)

    def _list_refusals(self, shown: Sequence[str]) -> list[str]:
        """Return the refusals and the requests to local servers that are not shown yet."""
        mock = self._mock
        lines = [refusal for refusal in mock.refusals if refusal not in shown]
        for request in mock.not_mocked:
            # In a strict test each such request is a problem, too.
            if mock.not_mocked_problems.get(request) not in shown:
                lines.append(f"not mocked: {request}")
        lines += [f"left alone: {request}. {why}" for request, why in mock.left_alone.items()]
        return lines

    def _list_calls(self, shown: Sequence[str]) -> str:
        if not self._calls or shows_calls(self._chain, self._calls):
            return ""
        texts = [get_exception_text(self._error), *shown]
        return format_calls([_shorten_error(call, texts) for call in self._calls])

    def _explain_unread(self) -> str:
        """Return the coroutines that were not awaited, and the responses that were not read."""
        unawaited = explain_unawaited(self._error, self._item, self._handled)
        # An async response that was never awaited has no text that the test could have read.
        unread = "" if "AsyncResponse." in unawaited else self._list_unread()
        # The failure itself may name the coroutine.
        if unawaited in get_exception_text(self._error):
            unawaited = ""
        return "\n".join(filter(None, [unawaited, unread]))

    def _list_unread(self) -> str:
        # Without this module no response of `llm` was made.
        unread: Any = sys.modules.get("llm_mock.boundaries.llm.unconsumed_responses")
        return "" if unread is None else str(unread.format_unread(self._mock))

    def _explain_unused(self) -> list[str]:
        """Explain why no call used the unused replies; return nothing if all were used."""
        if not find_unused_replies(self._mock, self._calls):
            return []
        # Imported here: most failing tests have no unused replies.
        from llm_mock.plugin.kept_results import explain_kept_results
        from llm_mock.plugin.other_mocks import explain_test_model
        from llm_mock.plugin.own_environments import explain_own_environments
        from llm_mock.plugin.unread_generators import explain_unread_generators

        uncalled = []
        if not self._calls:
            uncalled.append(explain_kept_results(self._item))
            uncalled.append(explain_unread_generators(self._error, self._item))
        places = self._mock.own_environments
        return [explain_test_model(self._item), *uncalled, explain_own_environments(places)]

    def _describe_patches(self) -> str:
        # If warnings are errors, this warning may be the failure itself.
        warning = str(self._patches.warning() or "")
        if find_reported(self._chain, [warning]):
            return ""
        test = getattr(self._item, "function", None)
        self._patches.note_monkeypatch(self._monkeypatch, test)
        return self._patches.note()


def _shorten_error(call: Call, texts: Sequence[str]) -> Call:
    """Return a call without the long message of its error, if one of the texts contains it."""
    error = call["error"] or ""
    is_repeated = any(error in text for text in texts)
    if len(error) > LONGEST_REPEATED and is_repeated:
        return Call({**call, "error": "see above"})
    return call
