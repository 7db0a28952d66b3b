"""Mocks any process with `LLM_MOCK` (or `PFLOW_TESTING`) set.

A line in site-packages (`llm_mock.pth`) calls `start` when Python starts and one of them is not empty.
"""

from __future__ import annotations

import functools
import os
import sys
from functools import partial
from pathlib import Path
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
from llm_mock.core.context import LazyMock, activate

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.get_model import LLMMock

TEST_VARIABLE = "PYTEST_CURRENT_TEST"
"""What pytest sets for a test, and so for the processes that it starts."""
SERIALIZATION_MODULE = b"llm_mock.boundaries.serialization"
"""What is in a configuration with functions or exceptions, which are imported from their modules."""


def start() -> None:
    """Mock every model in this process from now on, if the environment asks for it.

    Every call is answered as the test configured that started the process, and else with `{"success": True}`. The
    process gets an `llm` user folder of its own, unless `LLM_USER_PATH` names one.
    """
    value = get_unknown_value()
    if value is not None:
        _warn_of_unknown_value(value)
    if is_requested():
        http_settings.is_offline = bool(os.environ.get(OFFLINE_VARIABLE))
        http_settings.hosts = tuple(os.environ.get(HOSTS_VARIABLE, "").split())
        attach(has_own_user_folder=True)
        http.attach()
        placeholder_keys.attach()
        folder = os.environ.get(FOLDER_VARIABLE)
        activate(_prepare_test_mock(Path(folder)) if folder else LazyMock(_create_variable_mock))


@functools.cache  # Python reads the .pth file once for `lib` and once for `lib64`, where that is a link
def _warn_of_unknown_value(value: str) -> None:
    print(
        f"llm-mock: {OWN_VARIABLE}={value[:50]!a} is ignored: set it to 1, true, yes or on to mock the models of "
        "every Python process, or to 0.",
        file=sys.stderr,
    )


def _prepare_test_mock(folder: Path) -> LazyMock:
    """The mock of the test that started this process; what is configured is read at once: the test may soon be over."""
    try:
        configured = (folder / "script").read_bytes()
    except OSError:  # it is
        configured = b""
    pending = LazyMock(partial(_create_test_mock, folder, configured))
    if SERIALIZATION_MODULE in configured:  # which may ask for a model when they are imported
        pending.get()
    return pending


def _create_variable_mock() -> LLMMock:
    """The mock where the variable alone asks for it; a person who set it in a shell may have forgotten it."""
    if TEST_VARIABLE not in os.environ:
        variable = TESTING_VARIABLE if os.environ.get(TESTING_VARIABLE) else OWN_VARIABLE
        set_to = f"{variable}={os.environ[variable]}"
        print(
            f"llm-mock: {set_to} is set, so models are mocked in this process: no provider is asked.",
            file=sys.stderr,
        )
    return _create_mock()


def _create_mock() -> LLMMock:
    from llm_mock.boundaries.llm.get_model import LLMMock
    from llm_mock.core.settings import Settings

    return LLMMock(at_boundary=True, settings=Settings(autospec=True))


def _create_test_mock(folder: Path, configured: bytes) -> LLMMock:
    from llm_mock.boundaries.processes import SharedFolder

    mock = _create_mock()
    mock.join(SharedFolder(folder, configured=configured))
    return mock
