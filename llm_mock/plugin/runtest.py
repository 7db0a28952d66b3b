"""Hooks around each test: fail it for the problems that its mock noted, and show its calls."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.core.context import current_mock_if_created, is_mocked
from llm_mock.errors import LLMMockError
from llm_mock.plugin import IS_OURS, MISSPELT_MODELS, WRONG_MARKERS, MisspeltModel
from llm_mock.plugin.guard import guard, reporting_hook
from llm_mock.plugin.hand_patches import (
    HandPatches,
    LegacyMockDetector,
    find_unused_replies_of_test,
)

if TYPE_CHECKING:
    from types import FrameType

    from llm_mock.core.call import Call
    from llm_mock.core.mock import Mock
    from llm_mock.plugin.cassettes import ItemCassette
    from llm_mock.plugin.run import TestRun

OWN_FIXTURES = {
    "mock_llm_calls",
    "mock_llm_responses",
    "debug_llm",
    "llm_mock_cassette",
    "llm_mock_server",
}
"""The public fixtures of the plugin that a project's own may hide by their names."""
KEYS = "LLM keys"
"""The title of the section with the variables to set."""
AGENT_RUNS = pytest.StashKey[Any]()


class CurrentTest:
    """The state of the running test, and what all tests of a run share.

    One object, as each look into a stash of pytest costs every test several calls.

    Args:
        config: the configuration.
        run: the run.

    Raises:
        ValueError: an entry of ini `llm_mock_legacy_modules` is invalid.
    """

    __slots__ = (
        "cassette",
        "earlier_calls",
        "handled",
        "legacy",
        "patches",
        "run",
        "wrong_markers",
    )

    def __init__(self, config: pytest.Config, run: TestRun) -> None:
        self.run = run
        self.wrong_markers = config.stash.setdefault(WRONG_MARKERS, {})
        self.legacy = LegacyMockDetector(config.getini("llm_mock_legacy_modules"))
        self.patches = HandPatches()
        self.earlier_calls = 0
        """The number of calls of the mock of the run before the test."""
        self.cassette: ItemCassette | None = None
        self.handled: list[FrameType] = []
        """The frames of handled errors that hold a coroutine which did not start."""

    def begin(self) -> None:
        """Forget the state of the previous test."""
        self.patches.begin()
        # Not `run.mock`, which would create it.
        mock = None if self.run.pending is None else self.run.pending.created
        self.earlier_calls = len(mock.calls) if mock else 0
        self.cassette = None
        self.handled = []


CURRENT_TEST = pytest.StashKey[CurrentTest]()
"""In the configuration."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test with invalid markers, and forget what belongs to no test."""
    current = item.config.stash[CURRENT_TEST]
    if current.wrong_markers and item.nodeid in current.wrong_markers:
        pytest.fail(current.wrong_markers[item.nodeid], pytrace=False)
    current.begin()
    # Runs of agents and checks from between the tests, such as those of session fixtures.
    # Modules are looked up, so that a run without agents does not import them.
    if agents := sys.modules.get("llm_mock.agents.summary"):
        agents.take_results()
    if check_log := sys.modules.get("llm_mock.agents.check_log"):
        check_log.take_checks()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a passed test for problems, unused replies and misbehaviours that were not applied."""
    current = item.config.stash[CURRENT_TEST]
    if warning := current.legacy.check():
        _warn(item, warning)
    passed = False
    try:
        result = yield
        mock: Any = current_mock_if_created()
        if mock is not None:
            _check_mock(item, mock)
        # Last: calls to a patched function never reach the mock, so they pass all other checks.
        if current.patches.names or "monkeypatch" in getattr(item, "funcargs", ()):
            _warn_of_patches(item, current.patches)
        passed = True
    except Exception as error:
        _raise_refusal(error, item)
        raise
    finally:
        if current.cassette is not None:
            current.cassette.finish(passed)
    return result


def _check_mock(item: pytest.Item, mock: Mock) -> None:
    """Fail, skip or warn of a test that passed although its mock shows a mistake."""
    # The first problem, because later ones often follow from it.
    if mock.problems:
        _fail_for_problem(mock, mock.problems[0])
    if "llm_mock.agents.run" in sys.modules:
        _fail_for_unawaited_run(item)
    message = mock.unused_replies()
    if message:
        _fail_for_unused(item, mock, message)
    # Imported with the mock, whose assertions they are.
    from llm_mock.core.uncalled import take_uncalled

    message = take_uncalled(str(item.path))
    if message:
        _fail(message)
    misbehaviour = mock.misbehaviour
    if misbehaviour is not None and not misbehaviour.calls:
        pytest.skip(misbehaviour.explain_not_applied(len(mock.calls)))
    if mock.calls:
        _note_misspelt_model(item, mock)
    else:
        _warn_of_unawaited(item, mock)


def _fail(message: str) -> None:
    """Fail the test with a message of the mock."""
    from llm_mock.plugin.mock_messages import make_failure

    raise make_failure(message)


def _fail_for_unused(item: pytest.Item, mock: Mock, message: str) -> None:
    """Fail a test that left replies unused; name the coroutine that it did not await, if any."""
    from llm_mock.plugin.mock_messages import make_failure
    from llm_mock.plugin.unawaited import explain_unawaited

    unawaited = "" if mock.calls else explain_unawaited(None, item, ())
    text = message
    if unawaited:
        # The advice is to remove the reply, which would hide the mistake.
        replies = message.removesuffix(mock.settings.unused_reply_advice).rstrip()
        text = f"{unawaited}\n{replies}"
    raise make_failure(text, message)


def _fail_for_problem(mock: Mock, problem: str) -> None:
    """Fail a test that passed although the mock noted a problem."""
    from llm_mock.plugin.mock_messages import CAUGHT, locate_problem, make_failure

    notes = [problem, locate_problem(mock, problem)]
    # For other problems the mock sent a response, or they do not concern a call.
    if any(call.error == problem for call in mock.calls):
        notes.append(CAUGHT)
    raise make_failure("\n".join(filter(None, notes)), problem)


def _raise_refusal(error: Exception, item: pytest.Item) -> None:
    """Raise the refusal that an SDK turned into its provider's error, without the SDK's frames."""
    mock: Any = current_mock_if_created()
    # Our own exceptions have the message already, and a short traceback.
    if mock is None or isinstance(error, LLMMockError):
        return
    messages = [*mock.problems, *mock.refusals]
    if not messages:
        return
    from llm_mock.plugin.mock_messages import (
        find_reported,
        follow_library_chain,
        make_failure,
    )

    reported = find_reported(follow_library_chain(error, item), messages)
    if not reported:
        return
    message = reported[0]
    notes = [message, _locate_call(error, item, message)]
    if message in mock.problems:
        from llm_mock.plugin.late_replies import find_late_reply

        notes.append(find_late_reply(error, item))
    raise make_failure("\n".join(filter(None, notes)), message) from None


def _locate_call(error: Exception, item: pytest.Item, message: str) -> str:
    """Return a note about the line that made a call, and the line of the test that led there.

    It is empty if a message names the line.
    """
    from llm_mock.plugin.mock_messages import is_of_project

    frames = traceback.extract_tb(error.__traceback__)
    project_frames = [frame for frame in frames if is_of_project(frame.filename, item)]
    if not project_frames:
        return ""
    from llm_mock.core.source_location import format_location, names_location

    frame = project_frames[-1]
    place = format_location((frame.filename, frame.lineno or 0))
    if names_location(message, place):
        return ""
    outer = project_frames[0]
    if outer is frame:
        return f"The call: {place}"
    return f"The call: {place}, from {format_location((outer.filename, outer.lineno or 0))}"


def _warn_of_patches(item: pytest.Item, patches: HandPatches) -> None:
    _note_monkeypatch(item, patches)
    warning = patches.warning()
    if warning:
        _warn(item, warning)


# It reads private names of pytest, and objects of the project.
@guard
def _note_monkeypatch(item: pytest.Item, patches: HandPatches) -> None:
    """Note the patches that a passed test made by its fixture `monkeypatch`."""
    # It reads the file of the test: only for a warning.
    if find_unused_replies_of_test():
        fixture = getattr(item, "funcargs", {}).get("monkeypatch")
        patches.note_monkeypatch(fixture, getattr(item, "function", None))


@guard
def _note_misspelt_model(item: pytest.Item, mock: Mock) -> None:
    """Note for the summary that a passed test misspelt the model of a reply."""
    calls = mock.calls
    if mock.settings.strict == "off":
        return
    if all(call["configured"] for call in calls):
        return
    # Imported here: most calls have a configured reply.
    from llm_mock.core.diagnostics import find_misspelt_model
    from llm_mock.core.source_location import format_location

    found = find_misspelt_model(mock, calls)
    if found is not None:
        reply, called = found
        misspelt = MisspeltModel(reply.model, called, format_location(reply.place))
        item.config.stash.setdefault(MISSPELT_MODELS, {})[item.nodeid] = misspelt


def _warn_of_unawaited(item: pytest.Item, mock: Mock) -> None:
    """Warn of replies that were unused because of a missing `await`; fail a strict test."""
    # Imported here: most tests have calls. Without this module, no coroutine was left.
    from llm_mock.plugin.unawaited import warn_of_unawaited

    warning = warn_of_unawaited(mock, item)
    if warning is None:
        return
    if mock.settings.strict == "error":
        _fail(str(warning))
    _warn(item, warning)


def _fail_for_unawaited_run(item: pytest.Item) -> None:
    """Fail a test that did not await the run of an agent."""
    from llm_mock.plugin.unawaited import find_unawaited_run

    message = find_unawaited_run(item)
    if message:
        _fail(message)


def _warn(item: pytest.Item, warning: Warning) -> None:
    """Warn of a test; where warnings are errors, fail it."""
    try:
        item.warn(warning)
        return
    except type(warning):
        pass
    # Outside of the handler, so that the failure shows no chain of exceptions.
    _fail(str(warning))


# No `reporting_hook`, which would cost each phase of each test two calls more: only the guarded
# functions below may fail.
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add sections to the report of a failed test, and take secrets out of it."""
    redact_report = None
    if call.excinfo is not None:
        # Before pytest makes the report from the traceback.
        redact_report = _prepare_failure(item, call)
    report = yield
    if report.outcome != "passed":
        _complete_report(report, item, call, redact_report)
    if "llm_mock.agents.summary" in sys.modules:
        _take_agent_runs(item, report)
    return report


@guard
def _prepare_failure(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Callable[[pytest.TestReport], None] | None:
    """Shorten the traceback of a failure; return what redacts its report, if that is needed."""
    error = None if call.excinfo is None else call.excinfo.value
    if isinstance(error, pytest.skip.Exception):
        return None
    # Before the frames are hidden, because they tell which function was called.
    if isinstance(error, (TypeError, AttributeError, NameError, ImportError, IndexError)):
        from llm_mock.plugin.misspelt_names import name_nearest

        name_nearest(error)
    if call.when == "call":
        _find_handled(item)
    from llm_mock.plugin.failures import prepare_failure

    return prepare_failure(call, item.config)


def _find_handled(item: pytest.Item) -> None:
    """Keep the coroutines that a failed test without calls never awaited."""
    mock = current_mock_if_created()
    if mock is None or mock.calls:
        return
    from llm_mock.plugin.unawaited import find_handled

    item.config.stash[CURRENT_TEST].handled = find_handled(mock, item)


@guard
def _complete_report(
    report: pytest.TestReport,
    item: pytest.Item,
    call: pytest.CallInfo[None],
    redact_report: Callable[[pytest.TestReport], None] | None,
) -> None:
    """Redact and explain a failure, and let a skipped test name its own line."""
    if report.outcome == "skipped":
        _show_line_of_test(report, item)
        return
    if report.outcome != "failed":
        return
    if redact_report is not None:
        redact_report(report)
    error = None if call.excinfo is None else call.excinfo.value
    if isinstance(error, pytest.FixtureLookupError):
        from llm_mock.plugin.misspelt_names import name_nearest_fixture

        name_nearest_fixture(report, error)
    elif isinstance(error, pytest.fail.Exception) and call.when == "setup":
        from llm_mock.plugin.fixture_scopes import explain_scope

        explanation = explain_scope(error)
        if explanation:
            report.sections.append(("Scope of the mock", explanation))
    if call.when != "teardown":
        _add_sections(report, item, call)


def _add_sections(
    report: pytest.TestReport, item: pytest.Item, call: pytest.CallInfo[None]
) -> None:
    """Add what explains a failure: the calls, the misbehaviour, missing keys, hidden fixtures."""
    mock: Any = current_mock_if_created()
    misbehaviour = None if mock is None else mock.misbehaviour
    if misbehaviour is not None:
        report.sections.append(("LLM misbehaviour", str(misbehaviour)))
    error = None if call.excinfo is None else call.excinfo.value
    sections = {} if error is None else _explain_known_errors(error)
    sections["Fixtures of the project"] = _hidden_fixtures(item)
    # Items of suites show their calls in the text of the failure.
    if mock is not None and not hasattr(item, "failure_shows_calls"):
        from llm_mock.plugin.call_section import CallSection

        current = item.config.stash[CURRENT_TEST]
        calls = get_calls_of_test(item) or []
        is_of_run = mock is current.run.created_mock
        section = CallSection(item, call, mock, calls, current.patches, current.handled, is_of_run)
        sections["LLM calls"] = section.format()
        from llm_mock.plugin.recorded_warnings import drop_shown_warnings

        drop_shown_warnings(sections["LLM calls"], item.config)
    report.sections += [(title, text) for title, text in sections.items() if text]


def _explain_known_errors(error: BaseException) -> dict[str, str]:
    """Explain the common mistakes behind an error, by section title; texts may be empty."""
    if not is_mocked():
        return {}
    from llm_mock.plugin.closed_clients import explain_closed_client
    from llm_mock.plugin.event_loops import explain_running_loop
    from llm_mock.plugin.missing_keys import explain_missing_key, explain_missing_vocabulary
    from llm_mock.plugin.misspelt_names import explain_missing_fixture

    return {
        "Event loop": explain_running_loop(error),
        KEYS: explain_missing_key(error),
        "google-genai": explain_closed_client(error),
        "tiktoken": explain_missing_vocabulary(error),
        "Fixtures": explain_missing_fixture(error),
    }


def _show_line_of_test(report: pytest.TestReport, item: pytest.Item) -> None:
    """Let a test that the plugin skipped name its own line instead of ours."""
    # A skip is a tuple of file, line and reason; an expected failure is not.
    if not isinstance(report.longrepr, tuple):
        return
    file, _, reason = report.longrepr
    if os.path.dirname(file) != os.path.dirname(__file__):
        return
    from llm_mock.support.redaction import redact

    report.longrepr = (str(item.path), (item.location[1] or 0) + 1, redact(reason))


@reporting_hook()
def pytest_exception_interact(
    call: pytest.CallInfo[object], report: pytest.CollectReport | pytest.TestReport
) -> None:
    """Explain the error of a file that imports an unknown name of this package."""
    if isinstance(report, pytest.CollectReport) and call.excinfo is not None:
        from llm_mock.plugin.misspelt_names import explain_failed_import

        explain_failed_import(report, call.excinfo.value)
        _add_explanations(report, call.excinfo.value)


def _add_explanations(report: pytest.CollectReport, error: BaseException) -> None:
    """Explain the error of a file that cannot be imported, such as a client without a key."""
    for title, explanation in _explain_known_errors(error).items():
        if explanation:
            report.sections.append((title, explanation))


@reporting_hook(wrapper=True)
def pytest_report_from_serializable() -> Generator[None, Any, Any]:
    """Colour a failure from a worker of pytest-xdist, which sends the text without its colours."""
    report = yield
    if getattr(report, IS_OURS, False):
        from llm_mock.plugin.failures import colour

        colour(report)
    return report


def _hidden_fixtures(item: pytest.Item) -> str:
    """Return a line for each fixture of the project that hides one of ours from a test."""
    # A private name of pytest's: no public one has the fixtures of a test. Without it this note
    # is left out.
    fixture_info = getattr(item, "_fixtureinfo", None)
    known = getattr(fixture_info, "name2fixturedefs", {})
    requested = getattr(fixture_info, "initialnames", ())
    lines = []
    for name in OWN_FIXTURES.intersection(requested) & known.keys():
        # The last definition is the one that the test gets.
        function = known[name][-1].func
        if not function.__module__.startswith("llm_mock."):
            lines.append(
                f"The fixture {name} of {_locate(function)} hides the fixture of pytest-llm-mock "
                "with this name. To use the fixture of pytest-llm-mock, rename yours."
            )
    return "\n".join(sorted(lines))


def _locate(function: object) -> str:
    """Return the file and line of a function, or its module if it has no code of its own."""
    code = getattr(function, "__code__", None)
    if code is None:
        return str(function.__module__)
    from llm_mock.core.source_location import format_location

    return format_location((code.co_filename, code.co_firstlineno))


@guard
def _take_agent_runs(item: pytest.Item, report: pytest.TestReport) -> None:
    """Add the runs of agents in a phase of a test to its report, and at its end to the summary."""
    from llm_mock.agents.summary import RunsOfTest

    # Absent if agents are only defined.
    pool = sys.modules.get("llm_mock.agents.pool")
    if pool is not None and report.when == "teardown":
        pool.get_server_pool().end_test()
    # A repeated test starts anew.
    runs = None if report.when == "setup" else item.stash.get(AGENT_RUNS, None)
    if runs is None:
        runs = RunsOfTest()
    item.stash[AGENT_RUNS] = runs
    runs.take(report, shown=not hasattr(item, "failure_shows_calls"))
    if report.when == "teardown":
        runs.add_to(item.config.stash[CURRENT_TEST].run.agents)
        del item.stash[AGENT_RUNS]


def get_calls_of_test(item: pytest.Item) -> list[Call] | None:
    """Return the calls of a test so far; None if they are not mocked."""
    mock: Any = current_mock_if_created()
    if mock is None:
        return [] if is_mocked() else None
    calls: list[Call] = mock.calls
    # The mock of the run also has the calls of earlier tests.
    current = item.config.stash[CURRENT_TEST]
    if mock is current.run.created_mock:
        return calls[current.earlier_calls :]
    return calls
