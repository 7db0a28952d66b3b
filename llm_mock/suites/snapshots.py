"""Snapshots of a suite: accepted outputs that later runs must reproduce."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pydantic

from llm_mock.checks.base import AssertionOutcome, RunContext
from llm_mock.checks.evaluation import AssertionResult, BaseAssertion, evaluate_assertion
from llm_mock.suites.matrix import format_case_name, format_variant_name
from llm_mock.suites.results import Attempt, CaseResult, SuiteResult, TurnResult
from llm_mock.support import yaml_files
from llm_mock.support.files import write_atomically
from llm_mock.support.redaction import redact
from llm_mock.support.text import shorten_name

FOLDER = "__snapshots__"
SUFFIX = ".snap"
"""Not `.yaml`, so that no glob takes the file for a suite."""
MAX_DIFF_LINES = 2_000
"""The maximum number of lines to compare; for more lines, a diff takes too long."""
NO_TURN = "(no such turn)"


class SnapshotAssertion(BaseAssertion):
    """The output equals the saved output."""

    dry_run_skip = "only the output of a real model is compared"

    type: Literal["snapshot"] = "snapshot"
    expected: str

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Compare the output with the saved one; the message contains the diff."""
        if output == self.expected:
            return AssertionOutcome(True, "Output matches its snapshot")
        difference = _format_difference(self.expected, output)
        return AssertionOutcome(
            False,
            "Output differs from its snapshot; to accept it, run `llm-mock test --update`:\n"
            f"{difference}",
        )


def _format_difference(expected: str, output: str) -> str:
    # Imported here: most runs have no difference to show.
    import difflib

    before = expected.splitlines()
    after = output.splitlines()
    if max(len(before), len(after)) > MAX_DIFF_LINES:
        return f"expected {len(before):,} lines, got {len(after):,}"
    if before == after:
        return "only the line endings differ"
    lines = difflib.unified_diff(before, after, "snapshot", "output", lineterm="")
    return "\n".join(lines)


class _SnapshotFile(pydantic.BaseModel):
    """The content of a file of snapshots."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    version: Literal[1]
    cases: dict[str, list[str]]


@dataclass(frozen=True)
class Snapshots:
    """The saved outputs of a suite.

    Attributes:
        path: their file.
        outputs: the outputs of the turns of each case, by its name with its variant.
    """

    path: Path
    outputs: dict[str, list[str]] = field(default_factory=dict)

    def check(self, name: str, turns: Sequence[TurnResult], dry_run: bool) -> list[AssertionResult]:
        """Return a result for each turn of a case; an empty list without a snapshot."""
        expected = self.outputs.get(name)
        if expected is None:
            return []
        found = list_outputs(turns)
        results = []
        context = RunContext(dry_run=dry_run)
        for number in range(max(len(expected), len(found))):
            assertion = SnapshotAssertion(expected=_get(expected, number))
            result = evaluate_assertion(assertion, _get(found, number), context)
            results.append(AssertionResult(assertion, result.passed, result.message, number))
        return results


def _get(outputs: Sequence[str], number: int) -> str:
    return outputs[number] if number < len(outputs) else NO_TURN


def list_outputs(turns: Sequence[TurnResult]) -> list[str]:
    """Return the outputs of turns as a snapshot stores them: transformed, without secrets."""
    outputs = []
    for turn in turns:
        text = redact(turn.checked_output)
        # A file in UTF-8 cannot have half of a surrogate pair.
        outputs.append(text.encode(errors="backslashreplace").decode())
    return outputs


def get_snapshot_path(suite: Path) -> Path:
    """Return the file of the snapshots of a suite."""
    return suite.parent / FOLDER / f"{suite.stem}{SUFFIX}"


def load_snapshots(suite: Path | None) -> Snapshots | None:
    """Return the snapshots of a suite; None if it has none.

    Args:
        suite: the file of the suite; None for a suite made in Python.

    Raises:
        InvalidFile: their file is invalid.
    """
    if suite is None:
        return None
    path = get_snapshot_path(suite)
    if not path.exists():
        return None
    content = yaml_files.load(path).as_model(_SnapshotFile)
    return Snapshots(path, content.cases)


@dataclass
class SnapshotUpdate:
    """The outcome of an update: the names of cases, by what happened to their snapshots."""

    path: Path
    written: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """The reasons why the output of a case was not saved."""

    def format_lines(self) -> list[str]:
        """Return the lines of a report about the update."""
        counts = []
        for label in ("written", "updated", "unchanged"):
            counts.append(f"{len(getattr(self, label))} {label}")
        lines = [f"Snapshots in {self.path}: {', '.join(counts)}"]
        for name, reason in self.refused.items():
            lines.append(f"  not saved: {shorten_name(name)}, because {reason}")
        return lines


def update_snapshots(suite: Path, results: Sequence[SuiteResult]) -> SnapshotUpdate:
    """Save the outputs of the cases that passed, and keep the snapshots of other cases.

    Args:
        suite: the file of the suite.
        results: its results, one for each variant.

    Raises:
        InvalidFile: the existing file is invalid.
        OSError: it cannot be written.
    """
    path = get_snapshot_path(suite)
    snapshots = load_snapshots(suite) or Snapshots(path)
    update = SnapshotUpdate(path)
    for result in results:
        variant = format_variant_name(result.variant)
        for case in result.case_results:
            name = format_case_name(case.case.name, variant)
            _update_case(snapshots, update, name, case)
    if update.written or update.updated:
        data = {"version": 1, "cases": snapshots.outputs}
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, yaml_files.dump(data).encode())
    return update


def _update_case(snapshots: Snapshots, update: SnapshotUpdate, name: str, case: CaseResult) -> None:
    reason = _find_refusal(case)
    if reason is not None:
        update.refused[name] = reason
        return
    before = snapshots.outputs.get(name)
    outputs = list_outputs(case.attempts[0].turns)
    snapshots.outputs[name] = outputs
    if before is None:
        update.written.append(name)
    elif before == outputs:
        update.unchanged.append(name)
    else:
        update.updated.append(name)


def _find_refusal(case: CaseResult) -> str | None:
    """Return why the output of a case cannot be a snapshot, or None."""
    attempts: tuple[Attempt, ...] = case.attempts
    if any(attempt.status == "failed" for attempt in attempts):
        return "it failed"
    if case.status != "passed":
        return "it was not checked"
    outputs = [list_outputs(attempt.turns) for attempt in attempts]
    if any(each != outputs[0] for each in outputs):
        return "its runs returned different outputs"
    return None
