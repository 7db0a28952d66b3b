"""When `llm` is mocked: for a whole test run, or in any process with `PFLOW_TESTING` set.

A line in site-packages (`llm_mock.pth`) calls `start` when Python starts and the variable is not empty.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from llm_mock.boundaries.llm import boundary
from llm_mock.boundaries.llm.boundary import EXCHANGE_VARIABLE, TESTING_VARIABLE, USER_FOLDER_VARIABLE
from llm_mock.boundaries.llm.registry import MockGetModel
from llm_mock.core.checks import Settings

FALSE_VALUES = frozenset({"", "0", "false", "no", "off"})


def is_requested(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether an environment asks for the mock. Unset, empty, 0, false, no and off, in any case, do not."""
    return environment.get(TESTING_VARIABLE, "").strip().lower() not in FALSE_VALUES


def start() -> None:
    """Mock `llm` in this process from now on, if the environment asks for it.

    Every call is answered as the test configured that started the process with `environment()`, and else with
    `{"success": True}`. The process gets an `llm` user folder of its own, unless
    `LLM_USER_PATH` names one.
    """
    if is_requested():
        boundary.attach(own_user_folder=True)
        folder = os.environ.get(EXCHANGE_VARIABLE)
        boundary.activate(_mock_of_the_test(Path(folder)) if folder else MockGetModel(at_boundary=True))


def _mock_of_the_test(folder: Path) -> MockGetModel:
    """The mock of the test that started this process: its replies, and its ear for calls."""
    from llm_mock.boundaries.processes import Exchange

    mock = MockGetModel(at_boundary=True)
    mock.join(Exchange(folder))
    return mock


class TestRun:
    """Keeps `llm` mocked (or, for a project that opted out, left alone) during a test run.

    That holds in this process and in those that it starts. A mocked run has an `llm` user folder of its own, so the
    keys, aliases, default model and logs of whoever runs it are neither read nor written.

    Args:
        mocked: False leaves `llm` alone, whatever `PFLOW_TESTING` says.
        passthrough: globs of the ids of models that run for real.
        refuse_real_models: refuse to execute a real model, instead of answering for it.
        settings: how calls are decided and checked.
        within_opted_out_run: this is for one test of a run that is not mocked.
    """

    __test__ = False

    def __init__(
        self,
        mocked: bool,
        passthrough: Sequence[str] = (),
        refuse_real_models: bool = False,
        settings: Settings | None = None,
        within_opted_out_run: bool = False,
    ) -> None:
        self._within_opted_out_run = within_opted_out_run
        self.mock = MockGetModel(at_boundary=True, standing_only=True, settings=settings) if mocked else None
        self._passthrough = passthrough
        self._refuse_real_models = refuse_real_models
        self._folder: str | None = None
        self.agents: dict[str, dict[str, Any]] = {}
        """What each agent did so far: see `llm_mock.agents.summary`."""

    def start(self) -> None:
        """Set everything up, once."""
        self._environment = {name: os.environ.get(name) for name in (TESTING_VARIABLE, USER_FOLDER_VARIABLE)}
        self.user_environment: Mapping[str, str | None] = self._environment
        """The variables of whoever runs the tests; a worker is told them by its controller."""
        self._folder = tempfile.mkdtemp(prefix="llm-mock-") if self.mock else None
        self._process = os.getpid()
        self._previous_mock = boundary.activate(self.mock)
        self._previous_passthrough = boundary.set_passthrough(self._passthrough)
        self._previous_refusal = boundary.set_refusal(self._refuse_real_models)
        self._previous_folder = boundary.set_user_folder(self._folder)
        if self._folder is None:
            os.environ[TESTING_VARIABLE] = "0"
            return
        atexit.register(self._remove_folder)
        os.environ[USER_FOLDER_VARIABLE] = self._folder
        if self._within_opted_out_run:
            os.environ[TESTING_VARIABLE] = "1"
        os.environ.setdefault(TESTING_VARIABLE, "1")
        boundary.attach()

    def stop(self) -> None:
        """Put back what was there before `start`.

        Where the process ends with the run, the mock stays: threads and exit functions may still call a model.
        """
        outermost = self._previous_mock is None and not self._within_opted_out_run
        if self.mock is not None and outermost and _process_ends_with_the_run():
            return
        boundary.activate(self._previous_mock)
        boundary.set_passthrough(self._previous_passthrough)
        boundary.set_refusal(self._previous_refusal)
        boundary.set_user_folder(self._previous_folder)
        _set_environment(self._environment)
        self._remove_folder()

    def _remove_folder(self) -> None:
        if self._folder and os.getpid() == self._process:  # not in a forked child
            shutil.rmtree(self._folder, ignore_errors=True)
            atexit.unregister(self._remove_folder)

    @contextmanager
    def as_user(self) -> Iterator[None]:
        """Have this thread look into the `llm` user folder of whoever runs the tests meanwhile; models stay mocked."""
        with boundary.as_user(self.user_environment[USER_FOLDER_VARIABLE]):
            yield

    def stored_keys(self) -> list[str]:
        """The keys that `llm` has stored for whoever runs the tests, to keep them out of files."""
        with self.as_user():
            return boundary.stored_keys()

    @contextmanager
    def live(self) -> Iterator[None]:
        """Leave `llm` alone meanwhile: real models, with the user's own folder and keys."""
        mocked = {name: os.environ.get(name) for name in self._environment}
        _set_environment({**self.user_environment, TESTING_VARIABLE: "0"})
        boundary.set_live(True)
        try:
            yield
        finally:
            boundary.set_live(False)
            _set_environment(mocked)


def mock_of_test() -> Iterator[MockGetModel]:
    """A mock on top of the active one, for as long as the generator is kept open."""
    outer: Any = boundary.active()
    mock = MockGetModel(outer=outer, at_boundary=True)
    previous = boundary.activate(mock)
    try:
        yield mock
    finally:
        boundary.activate(previous)
        if mock.calls and outer is not None:
            outer.add_totals(mock.calls)


def _set_environment(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _process_ends_with_the_run() -> bool:
    """Whether this is a process of pytest or of an xdist worker, and not a program that calls `pytest.main()`."""
    main = sys.modules["__main__"]
    module = getattr(getattr(main, "__spec__", None), "name", "") or ""
    program = os.path.basename(getattr(main, "__file__", None) or sys.argv[0])
    return (
        module.split(".")[0] in ("pytest", "execnet")
        or program in ("pytest", "py.test", "pytest.exe")
        or ("PYTEST_XDIST_WORKER" in os.environ and program in ("-c", ""))
    )
