"""Results of a run that are kept in a file as they come, so that an interrupted run can go on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

import llm_mock
from llm_mock.agents.agent import Agent
from llm_mock.agents.result import ToolCallRecord
from llm_mock.errors import InvalidFile
from llm_mock.suites import explain_run
from llm_mock.suites.results import AssertionResult, Attempt, CaseResult, TurnResult
from llm_mock.suites.role import Role
from llm_mock.suites.schema import TestCase, TestSuiteDefinition
from llm_mock.support.redaction import default_redactor

FOLDER = ".llm_mock_cache"
"""Where the command keeps results, in the current folder; git does not see it."""


def default_path(role: Role, suite: TestSuiteDefinition) -> Path:
    """Where the results of a role with a suite are kept: a file of their own in the current folder's cache."""
    files = [role.path, suite.path or suite.metadata.name]
    digest = _digest(*(str(file.resolve() if isinstance(file, Path) else file) for file in files))
    name = suite.path.stem if suite.path else "suite"
    return Path(FOLDER) / f"{name}-{digest[:12]}.jsonl"


def forget(path: Path) -> None:
    """Remove a file of results, whatever it holds; there need be none.

    Raises:
        InvalidFile: it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidFile(explain_run.not_removed(path, error)) from None


def key_of(agent: Agent, case: TestCase, **settings: Any) -> str:
    """What a result is found by again: changes with the agent, the case and the settings.

    Args:
        agent: the agent; its secrets do not count.
        case: the case, expanded.
        settings: what else the result depends on, values with a repr of their own.
    """
    asked = repr((agent, sorted(settings.items())))
    return _digest(llm_mock.__version__, asked, agent.system or "", case.model_dump_json())


class KeptResults:
    """A file of results, a line each. Secrets and images do not enter it.

    Args:
        path: the file; it and its folder are made when the first result is added.

    Raises:
        InvalidFile: it cannot be read, or was damaged. A last line that was not finished is none.
    """

    def __init__(self, path: Path) -> None:
        __tracebackhide__ = True
        self.path = path
        self._unfinished: int | None = None
        self._kept: dict[str, Any] = {}
        for number, line in enumerate(self._finished_lines(), start=1):
            try:
                self._kept.update(_checked(json.loads(line)))
            except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
                raise InvalidFile(explain_run.damaged_line(path, number)) from None

    def find(self, key: str, case: TestCase) -> CaseResult | None:
        """The result that was added last under a key; None where there is none.

        Args:
            key: see `key_of`.
            case: the case that it belongs to.
        """
        if key not in self._kept:
            return None
        kept = self._kept[key]
        attempts = tuple(_attempt(case, attempt) for attempt in kept["attempts"])
        return CaseResult(case, attempts, kept["threshold"], kept["retried"], _cost(kept["retried_cost"]), kept=True)

    def add(self, key: str, result: CaseResult, secrets: Sequence[str] = ()) -> None:
        """Keep a result, unless a run of it did not come to an end: such a case is to be run again.

        Args:
            key: see `key_of`.
            result: the result.
            secrets: what must not be written, besides the secrets of the environment and what has the form of one.

        Raises:
            InvalidFile: it cannot be written.
        """
        __tracebackhide__ = True
        if any(attempt.error is not None for attempt in result.attempts):
            return
        kept = default_redactor(secrets).clean(_as_json(result))
        self._append(json.dumps({"key": key, "digest": _digest(json.dumps(kept)), "result": kept}) + "\n")
        self._kept[key] = kept

    def make(self) -> None:
        """Make the file and its folder, where they are not there.

        Raises:
            InvalidFile: it cannot be written.
        """
        self._append("")

    def remove(self) -> None:
        """Forget all results, and remove the file.

        Raises:
            InvalidFile: it cannot be removed.
        """
        self._kept, self._unfinished = {}, None
        forget(self.path)

    def _finished_lines(self) -> list[bytes]:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InvalidFile(f"{self.path}: cannot be read: {error.strerror}") from None
        *finished, rest = content.split(b"\n")
        self._unfinished = len(content) - len(rest) if rest else None
        return finished

    def _append(self, line: str) -> None:
        """Write a line after the last finished one, and hand it to the system at once."""
        try:
            self._write(line.encode())
        except OSError as error:
            raise InvalidFile(explain_run.not_kept(self.path, error)) from None

    def _write(self, line: bytes) -> None:
        if self._unfinished is not None:
            os.truncate(self.path, self._unfinished)
            self._unfinished = None
        elif not self.path.parent.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)  # another run may make it just now
            if self.path.parent.name == FOLDER:
                (self.path.parent / ".gitignore").write_text("*\n")
        with self.path.open("ab", buffering=0) as file:
            file.write(line)


def _checked(line: Any) -> dict[str, Any]:
    """The result of a line under its key.

    Raises:
        ValueError: it is not as it was written.
    """
    if _digest(json.dumps(line["result"])) != line["digest"]:
        raise ValueError("the line was changed")
    return {str(line["key"]): line["result"]}


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode(errors="surrogateescape")).hexdigest()


# --- As JSON, and back ----------------------------------------------------------------------------------------------


def _as_json(value: Any) -> Any:
    """Results as JSON values, without the cases, the assertions and the attachments, which the reader has or lacks."""
    if isinstance(value, (CaseResult, Attempt, TurnResult, AssertionResult, ToolCallRecord)):
        shown = [each.name for each in fields(value) if each.name not in ("case", "kept", "assertion", "attachments")]
        return {name: _as_json(getattr(value, name)) for name in shown}
    if isinstance(value, tuple):
        return [_as_json(item) for item in value]
    return str(value) if isinstance(value, Decimal) else value


def _attempt(case: TestCase, kept: Any) -> Attempt:
    asserted = [assertion for turn in case.all_turns for assertion in turn.assertions]
    results = [
        AssertionResult(assertion, **{**result, "cost": _cost(result["cost"])})
        for assertion, result in zip(asserted, kept["assertions"], strict=True)
    ]
    return Attempt(**{**kept, "turns": tuple(map(_turn, kept["turns"])), "assertions": tuple(results)})


def _turn(kept: Any) -> TurnResult:
    calls = tuple(ToolCallRecord(**call) for call in kept["tool_calls"])
    return TurnResult(**{**kept, "tool_calls": calls, "cost": _cost(kept["cost"])})


def _cost(kept: str | None) -> Decimal | None:
    return None if kept is None else Decimal(kept)
