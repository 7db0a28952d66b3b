"""What is mocked during a run of pytest, and during a test."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.boundaries import FOLDER_VARIABLE, TESTING_VARIABLE, subprocesses
from llm_mock.boundaries.http import attach as http
from llm_mock.boundaries.http import placeholder_keys
from llm_mock.boundaries.http.settings import MODES, TELEMETRY_MODES, http_settings
from llm_mock.boundaries.llm import user_folder
from llm_mock.boundaries.llm.attach import attach
from llm_mock.core.context import (
    LazyMock,
    activate,
    get_activated,
    set_live,
    set_passthrough,
    set_real_models,
)
from llm_mock.core.ownership import begin_test
from llm_mock.errors import LLMMockError
from llm_mock.plugin.guard import guard
from llm_mock.plugin.options import (
    read_boolean,
    read_choice,
    read_settings,
    read_strictness,
)
from llm_mock.support.environment import set_environment
from llm_mock.support.redaction import KNOWN
from llm_mock.support.strictness import EITHER_LEVEL
from llm_mock.support.temporary import TemporaryFolder

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.get_model import LLMMock
    from llm_mock.core.settings import Settings
    from llm_mock.support.strictness import Strictness

RUN = pytest.StashKey["TestRun"]()


class TestRun:
    """Keeps `llm` mocked (or, for a project that opted out, left alone) during a test run.

    That holds in this process and in those that it starts. A mocked run has an `llm` user folder of its own, so the
    keys, aliases, default model and logs of the person who runs it are neither read nor written.

    Args:
        mocked: False leaves `llm` alone, whatever `PFLOW_TESTING` says.
        passthrough: globs of the ids of models that run for real.
        real_models: what becomes of a real model that executes: `off` answers for it, `error`
            refuses it.
        settings: gives how calls are decided and checked, when a call is.
        http: what becomes of HTTP requests to providers: `answer`, `error` or `off`.
        hosts: further hosts that are providers.
        fast_retries: tell the clients of providers that can to try again after milliseconds.
        shared_ssl: have clients share their default SSL context.
        processes: hand what a test configures to the processes that it starts.
        within_opted_out_run: this is for one test of a run that is not mocked.
        telemetry: what becomes of reports of frameworks that they are used: `drop` or `allow`.
    """

    __test__ = False

    def __init__(
        self,
        mocked: bool,
        passthrough: Sequence[str] = (),
        real_models: Strictness = "off",
        settings: Callable[[], Settings | None] = lambda: None,
        http: str = "answer",
        hosts: Sequence[str] = (),
        fast_retries: bool = True,
        shared_ssl: bool = True,
        processes: bool = True,
        within_opted_out_run: bool = False,
        telemetry: str = "drop",
    ) -> None:
        self._http = http, hosts, fast_retries, shared_ssl, telemetry
        self._processes = processes
        self._within_opted_out_run = within_opted_out_run
        self.pending = (
            LazyMock(lambda: _new_mock(standing_only=True, settings=settings())) if mocked else None
        )
        """The mock of the whole run; None where models are left alone."""
        self._passthrough = passthrough
        self._real_models = real_models
        self._folder: TemporaryFolder | None = None
        self.agents: dict[str, dict[str, Any]] = {}
        """What each agent did so far: see `llm_mock.agents.summary`."""

    @property
    def mock(self) -> LLMMock | None:
        """The mock of the whole run; None where models are left alone."""
        return None if self.pending is None else self.pending.get()

    @property
    def mock_if_made(self) -> LLMMock | None:
        """The same, but None where nobody has asked for it yet."""
        return None if self.pending is None else self.pending.created

    def start(self) -> None:
        """Set everything up, once."""
        own = (TESTING_VARIABLE, FOLDER_VARIABLE, user_folder.USER_FOLDER_VARIABLE)
        self._environment = {name: os.environ.get(name) for name in own}
        os.environ.pop(FOLDER_VARIABLE, None)  # a test of another run started this one
        self.user_environment: Mapping[str, str | None] = self._environment
        """The variables of the person who runs the tests; a worker is told them by its controller."""
        KNOWN.add_source(self._stored_keys)
        self._folder = TemporaryFolder("user") if self.pending else None
        self._previous_mock = activate(self.pending)
        self._previous_passthrough = set_passthrough(self._passthrough)
        self._previous_real_models = set_real_models(self._real_models)
        self._previous_http = http_settings.copy()
        http_settings.configure(*self._http)
        self._previous_folder = user_folder.set_user_folder(self._folder)
        self._previous_handing_over = subprocesses.set_handing_over(False)
        if self._folder is None:
            os.environ[TESTING_VARIABLE] = "0"
            return
        os.environ[user_folder.USER_FOLDER_VARIABLE] = str(self._folder.path)
        if self._within_opted_out_run:
            os.environ[TESTING_VARIABLE] = "1"
            self._hand_over_to_processes()
        os.environ.setdefault(TESTING_VARIABLE, "1")
        attach()
        http.attach()
        placeholder_keys.attach()

    def start_tests(self) -> None:
        """Make the processes that are started from now on part of the test."""
        self._hand_over_to_processes()

    def _hand_over_to_processes(self) -> None:
        if self.pending is not None and self._processes:
            subprocesses.attach()
            subprocesses.set_handing_over(True)

    def stop(self) -> None:
        """Put back what was there before `start`.

        Where the process ends with the run, the mock stays: threads and exit functions may still call a model.
        """
        first = self._previous_mock is None and not self._within_opted_out_run
        if self.pending is not None and first and _process_ends_with_the_run():
            return
        activate(self._previous_mock)
        set_passthrough(self._previous_passthrough)
        set_real_models(self._previous_real_models)
        http_settings.restore(self._previous_http)
        user_folder.set_user_folder(self._previous_folder)
        subprocesses.set_handing_over(self._previous_handing_over)
        set_environment(self._environment)
        if self._folder is not None:
            self._folder.remove()

    @contextmanager
    def as_user(self) -> Iterator[None]:
        """Have this thread look into the `llm` user folder of the person who runs the tests; models stay mocked."""
        with user_folder.switch_user_folder(
            self.user_environment[user_folder.USER_FOLDER_VARIABLE]
        ):
            yield

    def _stored_keys(self) -> list[str]:
        """The keys that `llm` has stored for the person who runs the tests, to keep them out of all that is shown."""
        return user_folder.read_stored_keys(self.user_environment[user_folder.USER_FOLDER_VARIABLE])

    @contextmanager
    def live(self) -> Iterator[None]:
        """Leave `llm` alone for a while: real models, with the user's own folder and keys."""
        mocked = {name: os.environ.get(name) for name in self._environment}
        set_environment({**self.user_environment, TESTING_VARIABLE: "0"})
        set_live(True)
        try:
            yield
        finally:
            set_live(False)
            set_environment(mocked)


def mock_of_test() -> Iterator[LazyMock]:
    """A mock on top of the active one, for as long as the generator is kept open."""
    parent = get_activated()
    pending = LazyMock(
        lambda: _new_mock(parent=parent.get() if isinstance(parent, LazyMock) else parent)
    )
    activate(pending)
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    end_test = begin_test(test, pending.get)
    try:
        yield pending
    finally:
        activate(parent)
        end_test()
        mock = pending.created
        if mock is not None and mock.calls and mock.parent is not None:
            count_default_replies = mock.settings.strict != "off"
            mock.parent.history.add_totals(mock.calls, test, count_default_replies)
        if mock is not None and mock.parent is not None:
            mock.parent.add_not_mocked(mock.not_mocked)
        if mock is not None and mock.folder is not None:
            folder, mock.folder = mock.folder, None  # a thread that is left over may still call
            folder.remove()


def _new_mock(**settings: Any) -> LLMMock:
    from llm_mock.boundaries.llm.get_model import LLMMock

    return LLMMock(at_boundary=True, **settings)


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


def run_of(config: pytest.Config) -> TestRun:
    """The run of a configuration, started when it is first asked for."""
    if RUN not in config.stash:
        run = new_run(config, read_boolean(config, "llm_mock"))
        try:
            run.start()
        except LLMMockError as error:
            raise pytest.UsageError(str(error)) from None
        config.stash[RUN] = run
        config.add_cleanup(guard(run.stop))
        config.add_cleanup(guard(_end_servers))  # also after Ctrl-C
    return config.stash[RUN]


def _end_servers() -> None:
    """End the servers of agents, where some were started."""
    if pool := sys.modules.get("llm_mock.agents.pool"):
        pool.pool_of_process().close()


def new_run(config: pytest.Config, mocked: bool, within_opted_out_run: bool = False) -> TestRun:
    """A run as the configuration wants it, not started."""
    real_models = read_strictness(config, "llm_mock_real_models", EITHER_LEVEL)
    passthrough = config.getini("llm_mock_passthrough")
    http_mode, hosts = read_choice(config, "llm_mock_http", MODES), config.getini("llm_mock_hosts")
    fast, processes = (
        read_boolean(config, "llm_mock_fast_retries"),
        read_boolean(config, "llm_mock_processes"),
    )
    wanted = http_mode, hosts, fast, read_boolean(config, "llm_mock_shared_ssl")
    telemetry = read_choice(config, "llm_mock_telemetry", TELEMETRY_MODES)
    return TestRun(
        mocked,
        passthrough,
        real_models,
        read_settings(config),
        *wanted,
        processes,
        within_opted_out_run,
        telemetry,
    )
