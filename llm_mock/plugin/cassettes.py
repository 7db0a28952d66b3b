"""Cassettes of tests: their paths, their record modes, and the checks at the end of a test."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.cassettes.cassette import Cassette
from llm_mock.cassettes.config import CassetteConfig
from llm_mock.cassettes.paths import format_file_name, get_cassette_path
from llm_mock.cassettes.recording_command import get_recording_command
from llm_mock.cassettes.storage import is_cassette
from llm_mock.core.context import current_mock_if_created
from llm_mock.errors import IncompleteCassetteWarning, LLMMockError
from llm_mock.plugin import CASSETTE_USE, RECORDINGS, VERIFIED, VERIFY, CallVerification
from llm_mock.plugin.cassette_arguments import check_name, check_record_mode
from llm_mock.plugin.marker_checks import get_strictness
from llm_mock.plugin.options import read_strict
from llm_mock.support.redaction import OUTPUT
from llm_mock.support.text import format_path, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.cassettes import RecordMode
    from llm_mock.cassettes.verification import Verifier
    from llm_mock.plugin.run import TestRun
    from llm_mock.support.strictness import Strictness

SHOWN_CALLS = 5
REMOVE_UNUSED = "Remove them from the cassette: pytest --llm-mock-record rewrite"
"""The fix at the end of the message about unused recordings."""


def read_marker(item: pytest.Item) -> tuple[str | None, str | None]:
    """Return the name of the cassette and the record mode that the marker of a test gives."""
    marker = item.get_closest_marker("llm_mock_cassette")
    if marker is None:
        return None, None
    name = marker.args[0] if marker.args else marker.kwargs.get("name")
    return name, marker.kwargs.get("record")


def get_path(item: pytest.Item, name: str | None) -> Path:
    """Return the path of the cassette of a test.

    Without a name it is `cassettes/<module>/<test>.llm.yaml` beside the file of the test, in the
    folder that pytest-recording also uses.

    Args:
        item: the test.
        name: the name that the marker gives.

    Raises:
        LLMMockError: the name is not a path below the folder `cassettes`.
    """
    if name is None:
        return _get_default_path(item)
    check_name(name)
    file_name = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
    return item.path.parent / "cassettes" / file_name


def _get_default_path(item: pytest.Item) -> Path:
    test_ids = [_remove_repetition(item.nodeid, item), item.nodeid]
    names = [test_id.split("::", 1)[-1] for test_id in test_ids]
    path = get_cassette_path(item.path, names[0])
    if os.path.exists(path):
        return path
    # Cassettes of ours that are named like those of pytest-recording are used, too.
    for name in dict.fromkeys(names):
        candidate = path.with_name(f"{format_file_name(name)}.yaml")
        if is_cassette(candidate):
            return candidate
    return path


def _remove_repetition(test_id: str, item: pytest.Item) -> str:
    """Remove the number that pytest-repeat adds, so that all repetitions replay one cassette."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    step = parameters.get("__pytest_repeat_step_number")
    if step is None:
        return test_id
    number = rf"(?:-|(?<=\[)){step + 1}-\d+\]$"
    return re.sub(number, "]", test_id).removesuffix("[]")


def find_conflicts(items: Iterable[pytest.Item]) -> dict[str, str]:
    """Return the tests that share a cassette with another test, each with a message."""
    users: dict[str, dict[str, tuple[Path, pytest.Item]]] = {}
    for item in items:
        # A test with an invalid name fails when it runs.
        with suppress(LLMMockError):
            path = get_path(item, read_marker(item)[0])
            key = str(path).casefold() if _ignores_case(item.path) else str(path)
            users.setdefault(key, {})[item.nodeid] = path, item
    conflicts: dict[str, str] = {}
    for tests in users.values():
        # Repetitions of one test may share its cassette.
        names = {_remove_repetition(test_id, item) for test_id, (_, item) in tests.items()}
        if len(names) > 1:
            for test_id, (path, _) in tests.items():
                conflicts[test_id] = _format_conflict(path, tests)
    return conflicts


def _ignores_case(file: Path) -> bool:
    """Return whether the file system ignores case, as on most Macs and on Windows."""
    other = file.with_name(file.name.swapcase())
    return other != file and other.exists() and other.samefile(file)


def _format_conflict(path: Path, test_ids: Iterable[str]) -> str:
    tests = "\n".join(f"  {test_id}" for test_id in test_ids)
    return (
        f"These tests share the cassette {format_path(path)}, but each test needs its own:\n"
        f"{tests}\nUse a different name in each marker: llm_mock_cassette('NAME')."
    )


def read_record_mode(item: pytest.Item) -> str:
    """Return the record mode of a test without validating it."""
    option_mode = item.config.getoption("--llm-mock-record")
    if option_mode == VERIFY:
        # The application gets the recorded answers, so that it makes the recorded calls.
        return "none"
    _, marker_mode = read_marker(item)
    return option_mode or marker_mode or item.config.getini("llm_mock_record")


def read_cassette_settings(
    request: pytest.FixtureRequest,
) -> tuple[Path, RecordMode, CassetteConfig]:
    """Return the path, record mode and configuration of the cassette of a test.

    Raises:
        LLMMockError: one of them is wrong.
    """
    name, _ = read_marker(request.node)
    mode = check_record_mode(read_record_mode(request.node))
    config = request.getfixturevalue("llm_mock_cassette_config")
    if not isinstance(config, CassetteConfig):
        arguments = ", ".join(f"{field.name}=…" for field in fields(CassetteConfig))
        raise LLMMockError(
            f"The fixture llm_mock_cassette_config returned {shorten(config)}. Return a "
            f"llm_mock.cassettes.CassetteConfig({arguments})."
        )
    OUTPUT.hide_pattern(*config.redact)
    return get_path(request.node, name), mode, config


class ItemCassette:
    """The cassette of a test, from its start to its end.

    Args:
        request: the request of the fixture.
        run: the run of the test.
        conflict: a message about another test with the same cassette, if there is one.
        report_unused: called with a message about recorded calls that the test does not make.

    Raises:
        LLMMockError: the cassette cannot be used in this test.
    """

    def __init__(
        self,
        request: pytest.FixtureRequest,
        run: TestRun,
        conflict: str | None,
        report_unused: Callable[[str], None],
    ) -> None:
        self._item, self._report_unused = request.node, report_unused
        self._strictness = _find_strictness(request.node)
        self._passed = False
        self._finished_calls = 0
        """The number of recorded calls at the last `finish`."""
        if conflict:
            raise LLMMockError(conflict)
        if self._item.get_closest_marker("llm_live"):
            raise LLMMockError(
                "This test is marked llm_live and has a cassette. A live test is never recorded: "
                "remove one of the markers, and record with --llm-mock-record."
            )
        self.cassette = Cassette(*read_cassette_settings(request), run.as_user)
        self._verifier: Verifier | None = None
        if request.config.getoption("--llm-mock-record") == VERIFY:
            from llm_mock.cassettes.verification import Verifier

            self._verifier = Verifier(run.as_user)
            self.cassette.on_replay = self._verifier.note

    def finish(self, passed: bool) -> None:
        """Write the recorded calls, and report problems.

        A problem fails a test that passed. A test that failed gets a section in its report.
        """
        self._passed = passed
        problem = note = None
        try:
            note = self.cassette.save(passed)
            problem = self.cassette.describe_lost_calls()
        except LLMMockError as error:
            problem = str(error)
        self._finished_calls = len(self.cassette.recorded)
        if self.cassette.saved:
            recordings = self._item.config.stash.setdefault(RECORDINGS, {})
            recordings[format_path(self.cassette.path)] = self.cassette.saved
        if passed:
            self._check(problem)
        if note or problem:
            self._item.add_report_section("call", "cassette", str(note or problem))
        # Fail here: after the teardown it would be an error beside a passed test.
        if self._strictness == "error" and not _has_own_teardown(self._item):
            self._report_unused_recordings()

    def _warn_of_incomplete(self) -> None:
        """Warn of a replayed cassette whose recording failed."""
        if not self.cassette.is_incomplete or self.cassette.is_recording:
            return
        message = (
            f"The test that recorded {format_path(self.cassette.path)} failed, so calls may be "
            "missing. Record the rest with --llm-mock-record once, or correct the file and remove "
            "its line `incomplete: true`."
        )
        self._item.warn(IncompleteCassetteWarning(message))

    def _check(self, problem: str | None) -> None:
        """Fail a passed test for a problem or for outdated recorded calls."""
        if problem:
            pytest.fail(problem, pytrace=False)
        self._warn_of_incomplete()
        verifier = self._verifier
        if verifier is None:
            return
        verdicts: list[CallVerification] = []
        for call in verifier.verify():
            differences: list[tuple[str, str]] = []
            for difference in call.differences:
                differences.append((difference.severity, difference.text))
            verdicts.append({"call": call.description, "differences": differences})
        if verdicts:
            verified = self._item.config.stash.setdefault(VERIFIED, {})
            verified.setdefault(self._item.nodeid, []).extend(verdicts)
        lines = []
        for verdict in verdicts:
            for severity, text in verdict["differences"]:
                if severity == "error":
                    lines.append(f"  {verdict['call']}: {text}")
        if lines:
            path = format_path(self.cassette.path)
            problem = f"The verification of the cassette {path} failed:"
            command = get_recording_command("rewrite")
            fix = f"If the provider's answers have changed, record the cassette again: {command}"
            pytest.fail("\n".join([problem, *lines, fix]), pytrace=False)

    def end(self) -> None:
        """Write calls of the teardown of fixtures, and report unused recordings."""
        if len(self.cassette.recorded) > self._finished_calls:
            self.finish(self._passed)
        if self._passed:
            self._report_use()
        self._report_unused_recordings()

    def _report_use(self) -> None:
        """Report the number of calls, and why a cassette stayed empty, for the summary."""
        cassette = self.cassette
        calls = len(cassette.recorded) + cassette.replayed
        uses = self._item.config.stash.setdefault(CASSETTE_USE, {})
        uses[self._item.nodeid] = {
            "calls": calls,
            "empty": None if calls or not cassette.is_recording else self._explain_empty(),
            "left_alone": cassette.left_alone,
        }

    def _explain_empty(self) -> str:
        """Return why a test that passed recorded nothing."""
        if self.cassette.left_alone:
            return "its calls went to hosts that are not mocked"
        mock = current_mock_if_created()
        answered = 0 if mock is None else len(mock.calls)
        if not answered:
            return "it called no model"
        calls = "call was" if answered == 1 else "calls were"
        return (
            f"its {answered:,} {calls} answered by the mock (replies of the test and calls of "
            "other processes are not recorded)"
        )

    def _report_unused_recordings(self) -> None:
        if self._strictness == "off" or not self._passed:
            return
        unused = self.cassette.unused()
        if not unused:
            return
        # Reported only once.
        self._passed = False
        path = format_path(self.cassette.path)
        calls = "call was" if len(unused) == 1 else "calls were"
        lines = [f"  {path}: {len(unused)} recorded {calls} not made"]
        for call in unused[:SHOWN_CALLS]:
            model = shorten_name(call.request.model)
            lines.append(f"    - {model}  {shorten(call.request.prompt, 80)}")
        if len(unused) > SHOWN_CALLS:
            lines.append(f"    … {len(unused) - SHOWN_CALLS} more")
        message = "\n".join(lines)
        if self._strictness == "error":
            failure = f"The test did not make these calls:\n{message}\n{REMOVE_UNUSED}"
            pytest.fail(failure, pytrace=False)
        self._report_unused(message)


def _find_strictness(item: pytest.Item) -> Strictness:
    """Return the level for recorded calls that a test does not make."""
    marker = item.get_closest_marker("llm_mock_strict")
    if marker is not None:
        level: Strictness = get_strictness(marker)
        return level
    return read_strict(item.config) or "warn"


def _has_own_teardown(item: Any) -> bool:
    """Return whether a fixture of the project, which may call a model, has a teardown."""
    # A private name of pytest; without it a test counts as one without such fixtures.
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    functions = [named[-1].func for named in definitions.values() if named[-1].scope == "function"]
    plugins = (plugin for plugin, _ in item.config.pluginmanager.list_plugin_distinfo())
    packages = {getattr(plugin, "__name__", "").split(".")[0] for plugin in plugins}
    packages.add("_pytest")
    return any(
        inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
        for function in functions
        if function.__module__.split(".")[0] not in packages
    )
