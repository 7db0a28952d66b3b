"""The wording of the commands `llm-mock test` and `llm-mock run`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path

from llm_mock.suites.results import SuiteResult
from llm_mock.support.text import count, dollars, shorten, shorten_name

SHOWN_NAMES = 20


# --- Running suites -------------------------------------------------------------------------------------------------


def running(suite: str, cases: int, role: str, dry_run: bool) -> str:
    """What is run."""
    return f"Running {suite} ({count(cases, 'case')}) against {role}{' (dry-run)' if dry_run else ''}"


def running_case(done: int, total: int, names: Sequence[str]) -> str:
    """How far the run is."""
    others = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{done}/{total} {names[0] if names else ''}{others}"


def counts(result: SuiteResult) -> str:
    """How many cases passed of those that were checked, and what became of the others."""
    parts = [f"{result.passed}/{result.passed + result.failed} passed"]
    parts += [f"{result.skipped} skipped"] if result.skipped else []
    parts += [f"{len(result.not_run)} not run"] if result.not_run else []
    return ", ".join(parts)


def verdict(result: SuiteResult) -> str:
    """What the counts mean."""
    if result.failed:
        return "Some tests failed"
    return "Some tests were not run" if result.not_run else "All tests passed"


def used(tokens: int, cost: Decimal | None) -> str:
    """What a live run took."""
    return f"{count(tokens, 'token')}, cost {dollars(cost)}"


def stopped(reason: str) -> str:
    """Why cases were not run."""
    return f"Stopped: {reason}"


def interrupted(done: int, total: int) -> str:
    """The user stopped the run."""
    return f"Interrupted: {done} of {count(total, 'case')} {'is' if total == 1 else 'are'} done."


def no_case_selected(tags: Sequence[str], text: str | None, known_tags: Iterable[str], names: Sequence[str]) -> str:
    """No case has what was asked for."""
    wanted = [f"the tag {' or '.join(map(shorten, tags))}"] if tags else []
    wanted += [f"{shorten(text)} in its name"] if text is not None else []
    there = ", ".join(map(shorten_name, sorted(known_tags))) or "none"
    cases = ", ".join(map(shorten_name, names[:SHOWN_NAMES])) or "none"
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return f"No case has {' and '.join(wanted)}. Tags there are: {there}. Cases there are: {cases}{more}."


def no_cases(suite: object) -> str:
    """A suite that checks nothing."""
    return f"{suite}: the suite has no cases."


# --- Outputs --------------------------------------------------------------------------------------------------------


def bad_suffix(path: Path, known: Iterable[str]) -> str:
    """The name of an output does not say what it is to be."""
    return f"{shorten(str(path))} should end in {', '.join(known)}."


def not_writable(path: Path, error: OSError) -> str:
    """An output cannot be written."""
    return f"{shorten(str(path))} cannot be written: {error.strerror or error}."


def not_run(reason: str | None) -> str:
    """Why a case has no result."""
    return f"not run: {reason or 'the run was interrupted'}"


# --- Running an agent -----------------------------------------------------------------------------------------------


def no_prompt() -> str:
    """There is nothing to say to the agent."""
    return "Give a prompt with -p PROMPT, by standard input, or with -i at the keyboard."


def no_logged_conversation(role: str, path: Path) -> str:
    """There is nothing to resume."""
    return (
        f"There is no logged conversation of {shorten_name(role)} in {path}. Run it once without --resume, and without "
        "--no-audit. `llm logs status` tells whether llm logs."
    )


def not_resumable(role: str, error: Exception) -> str:
    """A logged conversation cannot be read."""
    return f"The last conversation of {shorten_name(role)} cannot be continued: {type(error).__name__}: {error}"


def not_logged(path: Path, error: Exception) -> str:
    """The log cannot be written."""
    return f"The answer could not be logged in {path}: {error}. Leave the log out with --no-audit."


# --- Both -----------------------------------------------------------------------------------------------------------


def needs_suites_extra(module: str) -> str:
    """A library is missing."""
    return f"Running suites needs {module}, which is not installed. Run: pip install 'pytest-llm-mock[suites]'"


def duration(seconds: float) -> str:
    """A time, as short as a column wants it."""
    if seconds >= 60:
        return f"{int(seconds // 60)}m {int(seconds % 60):02}s"
    return f"{seconds:.1f}s" if round(seconds * 1000) >= 1000 else f"{seconds * 1000:.0f}ms"
