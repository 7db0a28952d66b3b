"""The summary of a run that records calls: the empty cassettes, and the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import pytest

from llm_mock.plugin import CASSETTE_USE, VERIFIED, VERIFY, CallVerification, CassetteUse
from llm_mock.support.text import format_count

SHOWN_LINES = 10
OUTCOMES = ("error", "warning", "note", "unchanged")
"""The outcomes of a verified call, the most severe first."""
FAILURE = pytest.StashKey[str]()
"""In the configuration: why the run fails, although its tests passed."""


def check_recordings(session: pytest.Session) -> None:
    """Fail a recording run that passed but neither recorded nor replayed a call."""
    config = session.config
    mode = config.getoption("--llm-mock-record")
    if mode in (None, "none") or session.exitstatus != pytest.ExitCode.OK:
        return
    if mode == VERIFY:
        problem, outcome = _find_verify_problem(config), "verified"
    else:
        problem, outcome = _find_problem(config), "recorded"
    if problem is None:
        return
    config.stash[FAILURE] = f"--llm-mock-record={mode} {outcome} nothing: {problem}"
    session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _find_verify_problem(config: pytest.Config) -> str | None:
    """Return why no call was verified; None if one was."""
    if config.stash.get(VERIFIED, {}) or not _has_passed_tests(config):
        return None
    return (
        "none of the passed tests replayed a call from a cassette. Record cassettes first with "
        "--llm-mock-record=once. The cassettes of suites are not verified."
    )


def _find_problem(config: pytest.Config) -> str | None:
    """Return why nothing was recorded; None if calls were recorded or replayed."""
    uses = config.stash.get(CASSETTE_USE, {})
    if not uses:
        if not _has_passed_tests(config):
            return None
        return (
            "none of the passed tests has a cassette. Mark each test that calls a model with "
            "@pytest.mark.llm_mock_cassette, or run without the option."
        )
    if any(use["calls"] for use in uses.values()):
        return None
    # Otherwise the cassettes were recorded earlier, and the tests no longer make their calls.
    if not any(use["empty"] for use in uses.values()):
        return None
    return (
        "the cassettes of the passed tests are empty. Fix the problems listed above, or run "
        "without the option if these tests do not call a model."
    )


def _has_passed_tests(config: pytest.Config) -> bool:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return reporter is not None and bool(reporter.stats.get("passed"))


def write_cassette_use(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the calls that were not recorded, the empty cassettes, and why the run fails."""
    uses = config.stash.get(CASSETTE_USE, {})
    _write_left_alone(reporter, uses)
    _write_verdicts(reporter, config.stash.get(VERIFIED, {}))
    # Not for the mode of the ini file: some tests of such a project may not call a model.
    if config.getoption("--llm-mock-record"):
        lines = [f"  {test}: {use['empty']}" for test, use in uses.items() if use["empty"]]
        if lines:
            reporter.section("Empty cassettes")
            reporter.write_line(_join_lines(sorted(lines)))
    if FAILURE in config.stash:
        reporter.write_line(config.stash[FAILURE], red=True)


def _write_left_alone(reporter: pytest.TerminalReporter, uses: Mapping[str, CassetteUse]) -> None:
    lines = []
    fixes = set()
    for test, use in uses.items():
        for request, fix in use["left_alone"].items():
            lines.append(f"  {test}: {request}")
            fixes.add(fix)
    if not lines:
        return
    reporter.section("LLM calls that cassettes did not record")
    reporter.write_line(_join_lines(sorted(lines)))
    reporter.write_line("The hosts of these calls are not mocked. To record and replay the calls:")
    reporter.write_line(_join_lines(f"  {fix}" for fix in sorted(fixes)))


def _write_verdicts(
    reporter: pytest.TerminalReporter, verified: dict[str, list[CallVerification]]
) -> None:
    """Write the differences of the verified calls, and the number of calls by outcome."""
    if not verified:
        return
    reporter.section("Verified LLM calls")
    counts = Counter[str]()
    for test, verdicts in sorted(verified.items()):
        for verdict in verdicts:
            differences = verdict["differences"]
            # The most severe one comes first.
            counts[differences[0][0] if differences else "unchanged"] += 1
            for severity, text in differences:
                reporter.write_line(f"  {severity:8} {test}: {verdict['call']}: {text}")
    total = format_count(counts.total(), "call")
    numbers = [f"{counts[name]:,} {name}" for name in OUTCOMES if counts[name]]
    reporter.write_line(f"{total} verified: {', '.join(numbers)}.")


def _join_lines(lines: Iterable[str]) -> str:
    """Join the first lines, and count the others."""
    all_lines = list(lines)
    shown = all_lines[:SHOWN_LINES]
    more = len(all_lines) - len(shown)
    return "\n".join([*shown, f"  … {more:,} more"] if more else shown)
