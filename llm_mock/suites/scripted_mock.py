"""The mock that gives an application the replies of a case."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from llm_mock.behaviour.scripted_replies import build_matchers, build_reply
from llm_mock.boundaries import TESTING_VARIABLE, subprocesses
from llm_mock.boundaries.http import attach as http
from llm_mock.boundaries.http import placeholder_keys
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.llm.attach import attach
from llm_mock.boundaries.llm.get_model import LLMMock
from llm_mock.boundaries.llm.user_folder import USER_FOLDER_VARIABLE
from llm_mock.core.context import LazyMock, activate, current_mock, get_activated
from llm_mock.core.model_names import ANY_MODEL
from llm_mock.core.records import format_call, format_call_history
from llm_mock.core.settings import Settings
from llm_mock.suites.schema import CaseTurn
from llm_mock.support.environment import set_environment
from llm_mock.support.temporary_folders import TemporaryFolder

MISSING_REPLY_ADVICE = "Write one into the 'replies' of the case."
UNUSED_REPLY_ADVICE = "Remove it from the 'replies' of the case, or correct what it wants."


class ScriptedMock:
    """A mock for one run of a case, which refuses calls without a reply.

    Its parent is the mock of the test in which the suite runs, if there is one.

    Args:
        processes: whether the application is another process, in any language; it needs a server.
    """

    def __init__(self, processes: bool) -> None:
        parent = current_mock()
        # Within pytest the settings of the project apply.
        if parent is not None:
            settings = parent.settings
        else:
            settings = Settings(autospec=True)
        settings = settings._replace(
            strict="error",
            missing_reply_advice=MISSING_REPLY_ADVICE,
            unused_reply_advice=UNUSED_REPLY_ADVICE,
        )
        self.mock = LLMMock(parent=parent, at_boundary=True, settings=settings)
        self._server = MockServer(lambda: self.mock) if processes else None
        self._first_call = 0
        """The number of calls before the current turn."""
        self._reported_problems = 0

    def script(self, turn: CaseTurn) -> None:
        """Configure the replies of a turn, which begins now."""
        self._first_call = len(self.mock.calls)
        for scripted in turn.replies:
            reply = build_reply(scripted)
            times = scripted.times or 1
            self.mock.responses.add(scripted.model, reply, times=times, **build_matchers(scripted))
        if turn.expected_output is not None:
            self.mock.responses.set(ANY_MODEL, turn.expected_output)

    def environment(self) -> dict[str, str]:
        """Return the environment for the process of the application."""
        if self._server:
            self.mock.server_environment = self._server.adapt_environment
        else:
            self.mock.server_environment = None
        return self.mock.environment()

    def find_problem(self, succeeded: bool) -> str | None:
        """Return what is wrong with the calls or unused replies of a turn; None if nothing.

        Args:
            succeeded: whether the application gave an output; otherwise it may rightly leave
                replies unused.
        """
        problems = self.mock.problems[self._reported_problems :]
        self._reported_problems += len(problems)
        if problems:
            return problems[0]
        unused = self.mock.unused_replies() if succeeded else None
        if unused is None:
            return None
        return f"{unused}\n{format_call_history(self.mock.calls)}"

    def format_calls(self) -> tuple[str, ...]:
        """Return a line for each call of the turn."""
        return tuple(map(format_call, self.mock.calls[self._first_call :]))

    def get_prompts(self) -> tuple[str, str]:
        """Return the prompts of the turn's calls, and their system prompts."""
        prompts: list[str] = []
        systems: list[str] = []
        for call in self.mock.calls[self._first_call :]:
            prompts.append(call["prompt"])
            system = call["kwargs"].get("system")
            if system:
                systems.append(str(system))
        return "\n".join(prompts), "\n".join(systems)

    def close(self) -> None:
        """Stop answering processes, and add the calls to the mock of the test."""
        if self._server is not None:
            self._server.close()
        pass_calls_to_parent(self.mock)


def pass_calls_to_parent(mock: LLMMock) -> None:
    """Add the calls of a finished mock to its parent, and remove the folder that it shared."""
    if mock.parent is not None:
        log = mock.history.log
        for call in mock.calls:
            # The log has the details of the call, which a report shows.
            if log is not None:
                received = log.attach_details(call)
            else:
                received = call
            mock.parent.history.receive(received)
    if mock.folder is not None:
        mock.folder.remove()


@contextmanager
def activate_in_process(
    mock: LLMMock | LazyMock,
    live: bool = False,
    processes: bool = True,
) -> Iterator[None]:
    """Have a mock answer the models of this process within the context.

    Args:
        mock: the mock, or what decides which one answers.
        live: whether it may call real models, with the `llm` user folder of this process.
        processes: whether it also answers the processes that this one starts.
    """
    previous = get_activated()
    if previous is not None:
        # The plugin has patched everything already, and gave the test a user folder.
        activate(mock)
        try:
            yield
        finally:
            activate(previous)
        return
    # Outside of pytest nothing is patched yet.
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
            # In reverse order: no mock may be active once the processes are on their own.
            activate(None)
            subprocesses.set_handing_over(previous_handing_over)
            set_environment(previous_variables)
