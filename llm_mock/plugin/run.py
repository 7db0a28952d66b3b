"""The mock of a run of pytest, and the mock of each test."""

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
from llm_mock.boundaries.http.settings import MODES, http_settings
from llm_mock.boundaries.llm import user_folder
from llm_mock.boundaries.llm.attach import attach
from llm_mock.core.context import (
    LazyMock,
    activate,
    get_activated,
    set_live,
    set_passthrough,
)
from llm_mock.core.ownership import begin_test
from llm_mock.errors import LLMMockError
from llm_mock.plugin.guard import guard
from llm_mock.plugin.options import (
    read_boolean,
    read_choice,
    read_hosts,
    read_mode,
    read_settings,
)
from llm_mock.support.secret_sources import SECRET_SOURCES
from llm_mock.support.temporary_folders import TemporaryFolder

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.get_model import LLMMock
    from llm_mock.core.settings import Settings

RUN = pytest.StashKey["TestRun"]()
"""The run of a configuration."""


class TestRun:
    """A run of pytest, during which `llm` is mocked in this process and in those that it starts.

    A mocked run has an `llm` user folder of its own: the keys, aliases, default model and logs of
    the user are neither read nor written.

    Args:
        mocked: whether to mock `llm`; False leaves it alone, whatever `PFLOW_TESTING` says.
        passthrough: globs of the ids of models that run for real.
        settings: a function that returns the settings of the mock; called for the first call.
        http: the handling of HTTP requests to providers: `answer`, `error` or `off`.
        hosts: further hosts of providers.
        processes: whether processes that a test starts share its configuration.
        within_opted_out_run: whether the run is for one test of a project that opted out.
    """

    # Not a class of tests, despite its name.
    __test__ = False

    def __init__(
        self,
        mocked: bool,
        *,
        passthrough: Sequence[str],
        settings: Callable[[], Settings | None],
        http: str,
        hosts: Sequence[str],
        processes: bool,
        within_opted_out_run: bool,
    ) -> None:
        self._http = http, hosts
        self._processes = processes
        self._within_opted_out_run = within_opted_out_run
        self.pending: LazyMock | None = None
        """The mock of the whole run, created when it is needed; None if models are left alone."""
        if mocked:
            self.pending = LazyMock(lambda: _create_mock(standing_only=True, settings=settings()))
        self._passthrough = passthrough
        self._folder: TemporaryFolder | None = None
        self.agents: dict[str, dict[str, Any]] = {}
        """The results of each agent so far; see `llm_mock.agents.summary`."""

    @property
    def mock(self) -> LLMMock | None:
        """The mock of the whole run; None if models are left alone."""
        return None if self.pending is None else self.pending.get()

    @property
    def created_mock(self) -> LLMMock | None:
        """The mock of the whole run; None also if nothing has needed it yet."""
        return None if self.pending is None else self.pending.created

    def start(self) -> None:
        """Activate the mock; called once."""
        own = (TESTING_VARIABLE, FOLDER_VARIABLE, user_folder.USER_FOLDER_VARIABLE)
        self._environment = {name: os.environ.get(name) for name in own}
        # A test of another run may have started this one; its calls belong to this run.
        os.environ.pop(FOLDER_VARIABLE, None)
        self.user_environment: Mapping[str, str | None] = self._environment
        """The variables of the user; a worker of pytest-xdist gets them from its controller."""
        SECRET_SOURCES.append(self._get_stored_keys)
        self._folder = TemporaryFolder("user") if self.pending else None
        self._previous_mock = activate(self.pending)
        self._previous_passthrough = set_passthrough(self._passthrough)
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
            self.mock_processes()
        os.environ.setdefault(TESTING_VARIABLE, "1")
        attach()
        http.attach()
        placeholder_keys.attach()

    def mock_processes(self) -> None:
        """Mock the processes that are started from now on, unless the project opted out."""
        if self.pending is not None and self._processes:
            subprocesses.attach()
            subprocesses.set_handing_over(True)

    def stop(self) -> None:
        """Restore the state before `start`.

        If the process ends with the run, the mock stays: threads and exit functions may still call
        a model.
        """
        first = self._previous_mock is None and not self._within_opted_out_run
        if self.pending is not None and first and _is_process_of_run():
            return
        from llm_mock.support.environment import set_environment

        activate(self._previous_mock)
        set_passthrough(self._previous_passthrough)
        http_settings.restore(self._previous_http)
        user_folder.set_user_folder(self._previous_folder)
        subprocesses.set_handing_over(self._previous_handing_over)
        set_environment(self._environment)
        if self._folder is not None:
            self._folder.remove()

    @contextmanager
    def as_user(self) -> Iterator[None]:
        """Let this thread use the user's `llm` folder within the context; models stay mocked."""
        folder = self.user_environment[user_folder.USER_FOLDER_VARIABLE]
        with user_folder.switch_user_folder(folder):
            yield

    def _get_stored_keys(self) -> list[str]:
        """Return the keys that `llm` has stored for the user, so that they are redacted."""
        return user_folder.read_stored_keys(self.user_environment[user_folder.USER_FOLDER_VARIABLE])

    @contextmanager
    def live(self) -> Iterator[None]:
        """Use real models, with the user's own folder and keys, within the context."""
        from llm_mock.support.environment import set_environment

        mocked = {name: os.environ.get(name) for name in self._environment}
        set_environment({**self.user_environment, TESTING_VARIABLE: "0"})
        set_live(True)
        try:
            yield
        finally:
            set_live(False)
            set_environment(mocked)


def activate_test_mock() -> Iterator[LazyMock]:
    """Activate a mock on top of the active one until the generator is closed."""
    parent = get_activated()
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]

    def create() -> LLMMock:
        mock = _create_mock(parent=parent.get() if isinstance(parent, LazyMock) else parent)
        mock.history.test = test
        return mock

    pending = LazyMock(create)
    activate(pending)
    end_test = begin_test(test, pending.get)
    try:
        yield pending
    finally:
        activate(parent)
        end_test()
        mock = pending.created
        if mock is not None and mock.parent is not None:
            mock.parent.history.add_totals(
                mock.calls, test, mock.settings.strict != "off", mock.history.generated_embeddings
            )
        if mock is not None and mock.parent is not None:
            mock.parent.add_not_mocked(mock.not_mocked)
        if mock is not None and mock.folder is not None:
            folder = mock.folder
            # Before the folder is removed: a thread that the test left running may still call.
            mock.folder = None
            folder.remove()


def _create_mock(**settings: Any) -> LLMMock:
    from llm_mock.boundaries.llm.get_model import LLMMock

    return LLMMock(at_boundary=True, **settings)


def _is_process_of_run() -> bool:
    """Return whether pytest or xdist started this process, and not a call of `pytest.main()`."""
    main = sys.modules["__main__"]
    module = getattr(getattr(main, "__spec__", None), "name", "") or ""
    if module.split(".")[0] in ("pytest", "execnet"):
        return True
    program = os.path.basename(getattr(main, "__file__", None) or sys.argv[0])
    if program in ("pytest", "py.test", "pytest.exe"):
        return True
    # execnet starts a worker with `python -c`.
    return "PYTEST_XDIST_WORKER" in os.environ and program in ("-c", "")


def get_run(config: pytest.Config) -> TestRun:
    """Return the run of a configuration, and start it on the first call.

    Raises:
        pytest.UsageError: an ini key is wrong, or the mock cannot be activated.
    """
    if RUN not in config.stash:
        try:
            run = create_run(config, mocked=read_mode(config) != "false")
        except pytest.UsageError:
            from llm_mock.plugin.ini_errors import collect_ini_errors

            raise collect_ini_errors(config, has_all_keys=False) from None
        try:
            run.start()
        except LLMMockError as error:
            raise pytest.UsageError(str(error)) from None
        config.stash[RUN] = run
        config.add_cleanup(guard(run.stop))
        # A cleanup, and not a hook, because it also runs after Ctrl-C.
        config.add_cleanup(guard(_end_servers))
    return config.stash[RUN]


def _end_servers() -> None:
    """End the servers of agents, if some were started."""
    # Not imported: if the module is not loaded, no server runs.
    pool = sys.modules.get("llm_mock.agents.pool")
    if pool is not None:
        pool.get_server_pool().close()


def create_run(config: pytest.Config, mocked: bool, within_opted_out_run: bool = False) -> TestRun:
    """Create a run with the configuration of the ini keys; it is not started yet.

    Raises:
        pytest.UsageError: an ini key is wrong.
    """
    return TestRun(
        mocked,
        passthrough=config.getini("llm_mock_passthrough"),
        settings=read_settings(config),
        http=read_choice(config, "llm_mock_http", MODES),
        hosts=read_hosts(config),
        processes=read_boolean(config, "llm_mock_processes"),
        within_opted_out_run=within_opted_out_run,
    )
