"""Create a strict mock, and activate it at both boundaries for a part of a process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from llm_mock.boundaries import TESTING_VARIABLE, subprocesses
from llm_mock.boundaries.http import attach as http
from llm_mock.boundaries.http import placeholder_keys
from llm_mock.boundaries.llm.attach import attach
from llm_mock.boundaries.llm.get_model import LLMMock
from llm_mock.boundaries.llm.user_folder import USER_FOLDER_VARIABLE
from llm_mock.core.context import LazyMock, activate, current_mock, get_activated
from llm_mock.core.settings import Settings
from llm_mock.support.environment import set_environment
from llm_mock.support.temporary_folders import TemporaryFolder


def create_strict_mock(
    missing_reply_advice: str,
    unused_reply_advice: str = "",
    at_boundary: bool = True,
) -> LLMMock:
    """Return a mock that refuses calls without a reply.

    Its parent is the mock of the test that runs now, if there is one.

    Args:
        missing_reply_advice: the advice in the error for a call without a reply.
        unused_reply_advice: the advice in the message about an unused reply.
        at_boundary: True to answer calls to models that the code under test creates itself.
    """
    parent = current_mock()
    # In pytest, the settings of the project apply.
    if parent is not None:
        settings = parent.settings
    else:
        settings = Settings(autospec=True)
    settings = settings._replace(
        strict="error",
        missing_reply_advice=missing_reply_advice,
        method_place=" in a test of pytest, as a suite has no such replies",
        unused_reply_advice=unused_reply_advice,
    )
    return LLMMock(parent=parent, at_boundary=at_boundary, settings=settings)


def pass_calls_to_parent(mock: LLMMock) -> None:
    """Add the calls of a finished mock to its parent, and remove the folder that it shared."""
    if mock.parent is not None:
        parent = mock.parent.history
        log = mock.history.log
        for call in mock.calls:
            # The parent's report shows the details in the log.
            if log is not None and parent.log is not None:
                received = log.attach_details(call)
            else:
                received = call
            parent.receive(received)
    if mock.folder is not None:
        mock.folder.remove()


@contextmanager
def activate_in_process(
    mock: LLMMock | LazyMock,
    live: bool = False,
    processes: bool = True,
) -> Iterator[None]:
    """Let a mock answer all calls to models in this process within the context.

    Args:
        mock: the mock, or an object that chooses the mock for each call.
        live: True if calls may reach real models, with the `llm` user folder of this process.
        processes: True to answer the calls of processes that this one starts, too.
    """
    previous = get_activated()
    if previous is not None:
        # The plugin has already patched everything and set a user folder for the test.
        activate(mock)
        try:
            yield
        finally:
            activate(previous)
        return
    # Outside pytest, nothing is patched yet.
    attach()
    http.attach()
    placeholder_keys.attach()
    subprocesses.attach()
    with nullcontext() if live else TemporaryFolder("user") as folder:
        variables: dict[str, str] = {}
        if processes:
            variables[TESTING_VARIABLE] = "1"
        if folder is not None:
            variables[USER_FOLDER_VARIABLE] = str(folder)
        previous_variables = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        previous_handing_over = subprocesses.set_handing_over(processes)
        activate(mock)
        try:
            yield
        finally:
            # In reverse order: the mock must not be active after processes stop getting it.
            activate(None)
            subprocesses.set_handing_over(previous_handing_over)
            set_environment(previous_variables)
