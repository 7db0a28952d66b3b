"""Mocks any process with `PFLOW_TESTING` set.

A line in site-packages (`llm_mock.pth`) calls `start` when Python starts and the variable is not empty.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from llm_mock.boundaries import FOLDER_VARIABLE, TESTING_VARIABLE
from llm_mock.boundaries.http import attach as http
from llm_mock.boundaries.http import keys
from llm_mock.boundaries.llm.attach import attach
from llm_mock.core.active import Pending, activate

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.get_model import MockGetModel

FALSE_VALUES = frozenset({"", "0", "false", "no", "off"})


def is_requested(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether an environment asks for the mock. Unset, empty, 0, false, no and off, in any case, do not."""
    return environment.get(TESTING_VARIABLE, "").strip().lower() not in FALSE_VALUES


def start() -> None:
    """Mock `llm` in this process from now on, if the environment asks for it.

    Every call is answered as the test configured that started the process with `environment()`, and else with
    `{"success": True}`. The process gets an `llm` user folder of its own, unless `LLM_USER_PATH` names one.
    """
    if is_requested():
        attach(own_user_folder=True)
        http.attach()
        keys.attach()
        os.environ.update(keys.missing_keys())
        folder = os.environ.get(FOLDER_VARIABLE)
        activate(_mock_of_the_test(Path(folder)) if folder else Pending(_new_mock))


def _new_mock() -> MockGetModel:
    from llm_mock.boundaries.llm.get_model import MockGetModel
    from llm_mock.core.settings import Settings

    return MockGetModel(at_boundary=True, settings=Settings(autospec=True))


def _mock_of_the_test(folder: Path) -> MockGetModel:
    """The mock of the test that started this process, made at once: the test may end before the first call."""
    from llm_mock.boundaries.processes import SharedFolder

    mock = _new_mock()
    mock.join(SharedFolder(folder))
    return mock
