"""The cassette of a pytest test: where it lies, how it records, and what becomes of it when the test ends."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

import pytest

from llm_mock.cassettes.cassette import Cassette
from llm_mock.cassettes.config import CassetteConfig
from llm_mock.cassettes.paths import format_file_name, get_cassette_path
from llm_mock.cassettes.record_modes import RECORD_MODES
from llm_mock.cassettes.storage import is_cassette
from llm_mock.errors import LLMMockError
from llm_mock.plugin.stash import RECORDINGS
from llm_mock.support.redaction import OUTPUT
from llm_mock.support.text import format_path, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.cassettes.record_modes import RecordMode
    from llm_mock.plugin.run import TestRun

SHOWN_CALLS = 5
REMOVE_UNUSED = "Record anew what is still asked: pytest --llm-mock-record rewrite"
"""What to do about recorded calls that nobody asked for."""


def marker_arguments(item: pytest.Item) -> tuple[str | None, str | None]:
    """The name of the cassette, and the record mode, as the marker of a test says them."""
    marker = item.get_closest_marker("llm_mock_cassette")
    if marker is None:
        return None, None
    return next(iter(marker.args), marker.kwargs.get("name")), marker.kwargs.get("record")


def path_of(item: pytest.Item, name: str | None) -> Path:
    """Where the cassette of a test lies: `cassettes/<module>/<test>.llm.yaml` beside it, or as its marker names it.

    That is beside what pytest-recording has of the test, as `<test>.yaml`. So were ours called once, and where there is
    one it still counts.
    """
    if name is None:
        names = [test.split("::", 1)[-1] for test in (_once(item.nodeid, item), item.nodeid)]
        path = get_cassette_path(item.path, names[0])
        candidates = (
            path.with_name(f"{format_file_name(each)}.yaml") for each in dict.fromkeys(names)
        )
        return path if os.path.exists(path) else next(filter(is_cassette, candidates), path)
    parts = PurePosixPath(name).parts if isinstance(name, str) and name.strip() else ()
    if (
        not parts
        or ".." in parts
        or PurePosixPath(name).is_absolute()
        or "\\" in name
        or not name.isprintable()
    ):
        raise LLMMockError(
            f"llm_mock_cassette({shorten(name)}): the name of a cassette is a relative path below the folder "
            "`cassettes` beside the test, such as 'greeting' or 'shared/greeting.yaml'."
        )
    return (
        item.path.parent
        / "cassettes"
        / (name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    )


def _once(test: str, item: pytest.Item) -> str:
    """The id of a test without the number that pytest-repeat gives each repetition: all replay one cassette."""
    step = getattr(getattr(item, "callspec", None), "params", {}).get("__pytest_repeat_step_number")
    if step is None:
        return test
    return re.sub(rf"(?:-|(?<=\[)){step + 1}-\d+\]$", "]", test).removesuffix("[]")


def conflicting_claims(items: Iterable[pytest.Item]) -> dict[str, str]:
    """Which tests name a cassette that another names too: their ids, with what to say."""
    claims: dict[str, dict[str, tuple[Path, pytest.Item]]] = {}
    for item in items:
        with suppress(LLMMockError):  # the test itself says so
            path = path_of(item, marker_arguments(item)[0])
            alike = str(path).casefold() if _ignores_case(item.path) else str(path)
            claims.setdefault(alike, {})[item.nodeid] = path, item
    conflicts: dict[str, str] = {}
    for tests in claims.values():
        if len({_once(test, item) for test, (_, item) in tests.items()}) > 1:
            conflicts |= {test: _conflict(path, tests) for test, (path, _) in tests.items()}
    return conflicts


def _ignores_case(file: Path) -> bool:
    """Whether a file is found by its name in another case, as it is on most Macs and on Windows."""
    other = file.with_name(file.name.swapcase())
    return other != file and other.exists() and other.samefile(file)


def _conflict(path: Path, tests: Iterable[str]) -> str:
    listed = "\n".join(f"  {test}" for test in tests)
    return f"These tests have one cassette, {format_path(path)}, but each needs its own:\n{listed}\nGive each its own name."


def settings_of(request: pytest.FixtureRequest) -> tuple[Path, RecordMode, CassetteConfig]:
    """Where the cassette of a test lies, what is recorded, and how calls are found.

    Raises:
        LLMMockError: the project says something of it that makes no sense.
    """
    name, mode = marker_arguments(request.node)
    mode = (
        request.config.getoption("--llm-mock-record")
        or mode
        or request.config.getini("llm_mock_record")
    )
    if mode not in RECORD_MODES:
        raise LLMMockError(f"{mode!r} is no record mode. Choose one of {', '.join(RECORD_MODES)}.")
    config = request.getfixturevalue("llm_mock_cassette_config")
    if not isinstance(config, CassetteConfig):
        wanted = ", ".join(f"{field.name}=…" for field in fields(CassetteConfig))
        raise LLMMockError(
            f"The fixture llm_mock_cassette_config gave {shorten(config)}. Return a "
            f"llm_mock.cassettes.CassetteConfig({wanted})."
        )
    OUTPUT.hide_pattern(*config.redact)
    return path_of(request.node, name), cast("RecordMode", mode), config


class CassetteOfTest:
    """The cassette of a test, from its start to its end.

    Args:
        conflict: what to say where another test claims the same file.
        report_unused: is told of recorded calls that nobody asked for, unless these are an error.
    """

    def __init__(
        self,
        request: pytest.FixtureRequest,
        run: TestRun,
        conflict: str | None,
        report_unused: Callable[[str], None],
    ) -> None:
        self._item, self._report_unused = request.node, report_unused
        self._unused_recordings = request.config.getini("llm_mock_unused_recordings")
        self._passed = False
        self._finished = 0
        if conflict:
            raise LLMMockError(conflict)
        if self._item.get_closest_marker("llm_live"):
            raise LLMMockError(
                "This test is marked llm_live and has a cassette. A live test is never recorded: remove one of the "
                "two, and use --llm-mock-record for what is to be recorded."
            )
        self.cassette = Cassette(*settings_of(request), run.as_user)

    def finish(self, passed: bool) -> None:
        """Write what was recorded. A problem fails a test that passed, and is shown beside the failure of another."""
        self._passed = passed
        problem = note = None
        try:
            note = self.cassette.save(passed)
            problem = self.cassette.describe_lost_calls()
        except LLMMockError as error:
            problem = str(error)
        self._finished = len(self.cassette.recorded)
        if self.cassette.saved:
            self._item.config.stash.setdefault(RECORDINGS, {})[format_path(self.cassette.path)] = (
                self.cassette.saved
            )
        if problem and passed:
            pytest.fail(problem, pytrace=False)
        if note or problem:
            self._item.add_report_section("call", "cassette", str(note or problem))
        if self._unused_recordings == "error" and not _has_own_teardown(self._item):
            self._look_for_unused()

    def end(self) -> None:
        """The fixtures of the test are torn down, which may have made calls, too: look what was not asked for."""
        if len(self.cassette.recorded) > self._finished:
            self.finish(self._passed)
        self._look_for_unused()

    def _look_for_unused(self) -> None:
        if self._unused_recordings == "off" or not self._passed:
            return
        unused = self.cassette.unused()
        if not unused:
            return
        self._passed = False  # said once
        calls = "call was" if len(unused) == 1 else "calls were"
        lines = [
            f"  {format_path(self.cassette.path)}: {len(unused)} recorded {calls} not asked for"
        ]
        for request in (call.request for call in unused[:SHOWN_CALLS]):
            lines.append(f"    - {shorten_name(request.model)}  {shorten(request.prompt, 80)}")
        lines += [f"    … {len(unused) - SHOWN_CALLS} more"] if len(unused) > SHOWN_CALLS else []
        message = "\n".join(lines)
        if self._unused_recordings == "error":
            pytest.fail(
                f"Recorded calls were not asked for:\n{message}\n{REMOVE_UNUSED}", pytrace=False
            )
        self._report_unused(message)


def _has_own_teardown(item: Any) -> bool:
    """Whether the project's fixtures of a test do something after it, such as asking a model."""
    # A private name of pytest's; without it a test counts as one whose fixtures ask nothing.
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    functions = [named[-1].func for named in definitions.values() if named[-1].scope == "function"]
    plugins = (plugin for plugin, _ in item.config.pluginmanager.list_plugin_distinfo())
    installed = {"_pytest", *(getattr(plugin, "__name__", "").split(".")[0] for plugin in plugins)}
    return any(
        inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
        for function in functions
        if function.__module__.split(".")[0] not in installed
    )
