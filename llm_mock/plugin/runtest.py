"""What happens around each test: it fails for what its models noticed, and its failure shows their calls."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.core.context import current_mock_if_created, is_mocked
from llm_mock.errors import LLMMockError
from llm_mock.plugin.guard import reporting_hook
from llm_mock.plugin.hand_patches import HandPatches
from llm_mock.plugin.legacy import LegacyMockDetector
from llm_mock.plugin.marker_checks import WRONG_MARKERS
from llm_mock.plugin.run import RUN
from llm_mock.plugin.stash import CASSETTE, IS_OURS
from llm_mock.support.exceptions import get_exception_text

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord

LONGEST_REPEATED = 60
"""Characters of an error's message that stand both in the failure and beside its call."""
OWN_FIXTURES = {
    "mock_llm_calls",
    "mock_llm_responses",
    "debug_llm",
    "llm_mock_cassette",
    "llm_mock_server",
}
"""Our fixtures by which a test knows the mock."""
EARLIER_CALLS = pytest.StashKey[int]()
LEGACY = pytest.StashKey[LegacyMockDetector]()
HAND_PATCHES = pytest.StashKey[HandPatches]()
AGENT_RUNS = pytest.StashKey[Any]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if wrong := item.stash.get(WRONG_MARKERS, None):
        pytest.fail(wrong, pytrace=False)
    item.config.stash[HAND_PATCHES].begin()
    mock = item.config.stash[RUN].created_mock
    item.stash[EARLIER_CALLS] = len(mock.calls) if mock else 0
    if agents := sys.modules.get("llm_mock.agents.summary"):
        agents.taken()  # what was run between the tests
    if judged := sys.modules.get("llm_mock.agents.assertions"):
        judged.taken_checks()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    if warning := item.config.stash[LEGACY].check():
        _warn(item, warning)
    passed = False
    try:
        result = yield
        mock: Any = current_mock_if_created()
        if mock is not None and (
            message := next(iter(mock.problems), None) or mock.unused_replies()
        ):
            pytest.fail(message, pytrace=False)
        if mock is not None and mock.misbehaviour is not None and not mock.misbehaviour.calls:
            pytest.skip(mock.misbehaviour.explain_not_applied(len(mock.calls)))
        if (patches := item.config.stash[HAND_PATCHES]).names and (warning := patches.warning()):
            _warn(item, warning)
        passed = True
    except Exception as error:
        if refusal := _refusal_in(error, item):
            raise pytest.fail.Exception(refusal, pytrace=False) from None
        raise
    finally:
        if CASSETTE in item.stash:
            item.stash[CASSETTE].finish(passed)
    return result


def _refusal_in(error: Exception, item: pytest.Item) -> str | None:
    """What the mock noted, where an SDK raised it as its provider's error: without the frames of the SDK."""
    mock: Any = current_mock_if_created()
    if mock is None or isinstance(error, LLMMockError):
        return None
    noted = [*mock.problems, *mock.refusals]
    if not noted:
        return None
    said = get_exception_text(error)
    problem: str | None = next(
        (problem for problem in noted if problem.splitlines()[0] in said), None
    )
    if problem is None:
        return None
    frames = [
        (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    own = [frame for frame in frames if _is_of_project(frame[0], item)]
    if not own:
        return problem
    from llm_mock.core.source_location import format_location

    # As the problem itself names places, so that the same one is not named twice.
    place = format_location(own[-1])
    return problem if place in problem else f"{problem}\nThe call: {place}"


def _is_of_project(file: str, item: pytest.Item) -> bool:
    return file.startswith(str(item.config.rootpath)) and "site-packages" not in file


def _warn(item: pytest.Item, warning: Warning) -> None:
    try:
        item.warn(warning)
        return
    except type(warning):  # where warnings are errors
        pass
    pytest.fail(str(warning), pytrace=False)


@reporting_hook(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if call.when == "teardown" and (pool := sys.modules.get("llm_mock.agents.pool")):
        pool.pool_of_process().end_test()
    redact_report = None
    if call.excinfo is not None and not isinstance(call.excinfo.value, pytest.skip.Exception):
        from llm_mock.plugin.failures import prepare_failure

        redact_report = prepare_failure(call, item.config)
    report = yield
    if report.outcome == "failed" and redact_report is not None:
        redact_report(report)
    if report.outcome == "failed" and call.when != "teardown":
        mock: Any = current_mock_if_created()
        if mock is not None and mock.misbehaviour is not None:
            report.sections.append(("LLM misbehaviour", str(mock.misbehaviour)))
        if call.excinfo is not None and is_mocked():
            from llm_mock.plugin.missing_keys import missing_key_text

            if missing := missing_key_text(call.excinfo.value):
                report.sections.append(("LLM keys", missing))
        if hidden := _hidden_fixtures(item):
            report.sections.append(("Fixtures of the project", hidden))
        if not hasattr(item, "failure_shows_calls") and (shown := _calls_text(item, call)):
            report.sections.append(("LLM calls", shown))
    if "llm_mock.agents.summary" in sys.modules:
        _take_agent_runs(item, report)
    if (
        report.outcome == "skipped"
        and isinstance(report.longrepr, tuple)
        and _is_ours(report.longrepr[0])
    ):
        from llm_mock.support.redaction import redact

        reason = redact(report.longrepr[2])
        report.longrepr = (
            str(item.path),
            (item.location[1] or 0) + 1,
            reason,
        )  # not where we skipped it
    return report


@reporting_hook(wrapper=True)
def pytest_report_from_serializable() -> Generator[None, Any, Any]:
    """Colour a failure that comes from a worker of pytest-xdist: how a text is written does not travel."""
    report = yield
    if getattr(report, IS_OURS, False):
        from llm_mock.plugin.failures import colour

        colour(report)
    return report


def _hidden_fixtures(item: pytest.Item) -> str:
    """Which fixtures that a failed test asks for have a name of ours, but are the project's own."""
    # A private name of pytest's: no public one has the fixtures of a test. Without it this note is left out.
    fixtures = getattr(item, "_fixtureinfo", None)
    known = getattr(fixtures, "name2fixturedefs", {})
    lines = []
    for name in OWN_FIXTURES.intersection(getattr(fixtures, "initialnames", ())) & known.keys():
        function = known[name][-1].func
        if not function.__module__.startswith("llm_mock."):
            from llm_mock.core.source_location import format_location

            code = getattr(function, "__code__", None)
            where = (
                format_location((code.co_filename, code.co_firstlineno))
                if code
                else function.__module__
            )
            lines.append(
                f"{name} is the fixture of {where}, which hides that of pytest-llm-mock: rename it for ours."
            )
    return "\n".join(sorted(lines))


def _calls_text(item: pytest.Item, call: pytest.CallInfo[None]) -> str:
    """The calls of a failed test, and how its replies met them, unless the failure says that itself."""
    calls, mock = calls_of_test(item) or [], current_mock_if_created()
    if mock is None:
        return ""
    from llm_mock.core.diagnostics import explain_replies
    from llm_mock.core.records import format_calls
    from llm_mock.plugin.failures import payload_text

    said = get_exception_text(call.excinfo and call.excinfo.value)
    unused = None if call.when == "setup" else mock.unused_replies()
    told = any(
        message.partition("\n")[0] in said for message in [*mock.problems, *filter(None, [unused])]
    )
    replies = (
        "" if told or mock is item.config.stash[RUN].created_mock else explain_replies(mock, calls)
    )
    problem = next(iter(mock.problems), "") if not told and not replies else ""
    said += problem
    shown = (
        format_calls([_once(call, said) for call in calls])
        if calls and format_calls(calls) not in said
        else ""
    )
    unread = sys.modules.get("llm_mock.boundaries.llm.unconsumed_responses")
    never_read = unread.format_unread(mock) if unread and call.when == "call" else ""
    patched = item.config.stash[HAND_PATCHES].note() if call.when == "call" else ""
    payload = (
        payload_text(call.excinfo and call.excinfo.value)
        if calls and mock.settings.raw_json
        else ""
    )
    replies = replies if calls or call.when == "call" else ""
    noticed = [refusal for refusal in mock.refusals if refusal.partition("\n")[0] not in said]
    noticed += [
        f"not mocked: {request}"
        for request in mock.not_mocked
        if f"not mocked: {request}" not in said
    ]
    return "\n".join(
        filter(None, [problem, *noticed, shown, payload, never_read, replies, patched])
    )


def _once(call: CallRecord, said: str) -> CallRecord:
    """A call without the long message of its error, where the failure has that, too."""
    error = call["error"] or ""
    return (
        {**call, "error": "see above"} if len(error) > LONGEST_REPEATED and error in said else call
    )


def _take_agent_runs(item: pytest.Item, report: pytest.TestReport) -> None:
    from llm_mock.agents.summary import RunsOfTest

    runs = (
        RunsOfTest() if report.when == "setup" else item.stash.get(AGENT_RUNS, None) or RunsOfTest()
    )
    item.stash[AGENT_RUNS] = runs
    runs.take(report, shown=not hasattr(item, "failure_shows_calls"))
    if report.when == "teardown":
        runs.add_to(item.config.stash[RUN].agents)
        del item.stash[AGENT_RUNS]


def calls_of_test(item: pytest.Item) -> list[CallRecord] | None:
    """The calls of a test so far; None where they are not mocked."""
    mock: Any = current_mock_if_created()
    if mock is None:
        return [] if is_mocked() else None
    calls: list[CallRecord] = mock.calls
    return (
        calls[item.stash.get(EARLIER_CALLS, 0) :]
        if mock is item.config.stash[RUN].created_mock
        else calls
    )


def _is_ours(file: str) -> bool:
    return os.path.dirname(file) == os.path.dirname(__file__)
