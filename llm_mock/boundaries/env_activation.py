"""Activate the mock in a process with `LLM_MOCK` or `PFLOW_TESTING` set.

If one of the two is not empty, `llm_mock.pth` in site-packages calls `start` when Python starts.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from llm_mock.boundaries import (
    FOLDER_VARIABLE,
    HOSTS_VARIABLE,
    OFFLINE_VARIABLE,
    OWN_VARIABLE,
    TESTING_VARIABLE,
    get_unknown_value,
    is_requested,
)
from llm_mock.boundaries.http import attach as http
from llm_mock.boundaries.http import placeholder_keys
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.llm.attach import attach
from llm_mock.boundaries.patching import attach_on_import, replace
from llm_mock.core.context import LazyMock, activate

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.get_model import LLMMock
    from llm_mock.support.json_types import JSONObject

TEST_VARIABLE = "PYTEST_CURRENT_TEST"
"""The variable that pytest sets during a test, so that its processes inherit it."""
SERIALIZATION_MODULE = b"llm_mock.boundaries.serialization"
"""A name that a serialized configuration contains only if it has functions or exceptions."""


def start() -> None:
    """Mock every model in this process from now on, if the environment enables the mock.

    Calls get the replies of the test that started the process, or `{"success": True}` if no test
    started it. The process gets its own `llm` user folder unless `LLM_USER_PATH` is set.
    """
    value = get_unknown_value()
    if value is not None:
        _warn_of_unknown_value(value)
    if is_requested():
        # The settings must be set first, as `http.attach` reads them.
        http_settings.is_offline = bool(os.environ.get(OFFLINE_VARIABLE))
        http_settings.hosts = tuple(os.environ.get(HOSTS_VARIABLE, "").split())
        attach(has_own_user_folder=True)
        http.attach()
        placeholder_keys.attach()
        folder = os.environ.get(FOLDER_VARIABLE)
        if folder:
            activate(_prepare_test_mock(Path(folder)))
        else:
            activate(LazyMock(_create_variable_mock))
        attach_on_import("multiprocessing.spawn", _attach_to_spawn)


def _attach_to_spawn(spawn: ModuleType) -> None:
    replace(spawn, "prepare", _prepare_process)


def _prepare_process(original: Callable[..., None], data: JSONObject) -> None:
    """Prepare a process of `multiprocessing`, with the mock of the test that started it.

    A fork server has no mock of a test, and a process has the paths of its parent only now.
    """
    folder = data.get(FOLDER_VARIABLE)
    if folder is not None:
        os.environ[FOLDER_VARIABLE] = folder
        # As `prepare` does, but before the functions of replies are imported.
        sys.path = data["sys_path"]
        activate(_prepare_test_mock(Path(folder)))
    original(data)


# Cached, as Python reads the .pth file twice if `lib64` is a link to `lib`.
@functools.cache
def _warn_of_unknown_value(value: str) -> None:
    print(
        f"llm-mock: {OWN_VARIABLE}={value[:50]!a} is ignored: set it to 1, true, yes or on to mock "
        "the models of every Python process, or to 0 to mock none.",
        file=sys.stderr,
    )


def _prepare_test_mock(folder: Path) -> LazyMock:
    """Return the mock of the test that started this process."""
    # The configuration is read now, as the test may be over before the first call.
    try:
        configured = (folder / "script").read_bytes()
    except OSError:  # the test is over already
        configured = b""
    lazy_mock = LazyMock(partial(_create_test_mock, folder, configured))
    # To load functions, modules of the project are imported, which may call a model. With a lazy
    # mock, this would happen during the first call.
    if SERIALIZATION_MODULE in configured:
        lazy_mock.get()
    return lazy_mock


def _create_variable_mock() -> LLMMock:
    """Return the mock of a process that no test started, and print that models are mocked."""
    # A user who set the variable in a shell may have forgotten it.
    if TEST_VARIABLE not in os.environ:
        variable = TESTING_VARIABLE if os.environ.get(TESTING_VARIABLE) else OWN_VARIABLE
        setting = f"{variable}={os.environ[variable]}"
        print(
            f"llm-mock: {setting} is set, so models are mocked in this process: "
            "no provider is called.",
            file=sys.stderr,
        )
    return _create_mock()


def _create_mock() -> LLMMock:
    # Imported at the first call: most processes with the variable call no model.
    from llm_mock.boundaries.llm.get_model import LLMMock
    from llm_mock.core.settings import Settings

    return LLMMock(at_boundary=True, settings=Settings(autospec=True))


def _create_test_mock(folder: Path, configured: bytes) -> LLMMock:
    from llm_mock.boundaries.processes import SharedFolder

    mock = _create_mock()
    mock.join(SharedFolder(folder, configured=configured))
    return mock
