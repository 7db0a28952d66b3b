"""The mock that answers the models of an application as a case says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from llm_mock.behaviour.scripted_replies import matchers_of, reply_of
from llm_mock.boundaries import TESTING_VARIABLE, starting
from llm_mock.boundaries.http import attach as http
from llm_mock.boundaries.http import placeholder_keys
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.llm.attach import attach
from llm_mock.boundaries.llm.get_model import LLMMock
from llm_mock.boundaries.llm.user_folder import USER_FOLDER_VARIABLE
from llm_mock.core.context import LazyMock, activate, current_mock, get_activated
from llm_mock.core.model_names import ANY_MODEL
from llm_mock.core.records import call_line, calls_made
from llm_mock.core.settings import Settings
from llm_mock.suites.schema import CaseTurn
from llm_mock.support.environment import set_environment
from llm_mock.support.temporary import TemporaryFolder

MISSING_REPLY_ADVICE = "Write one into the 'replies' of the case."
UNUSED_REPLY_ADVICE = "Remove it from the 'replies' of the case, or correct what it wants."


class ScriptedMock:
    """A mock for one run of a case, on top of that of the test, if there is one. Calls without a reply are refused.

    Args:
        processes: whether the application is another process: it is answered by a server, too, whatever its language.
    """

    def __init__(self, processes: bool) -> None:
        parent = current_mock()
        settings = parent.settings if parent is not None else Settings(autospec=True)
        settings = settings._replace(
            strict=True,
            missing_reply_advice=MISSING_REPLY_ADVICE,
            unused_reply_advice=UNUSED_REPLY_ADVICE,
        )
        self.mock = LLMMock(parent=parent, at_boundary=True, settings=settings)
        self._server = MockServer(lambda: self.mock) if processes else None
        self._seen = self._noted = 0

    def script(self, turn: CaseTurn) -> None:
        """From now on the models answer as a turn says."""
        self._seen = len(self.mock.calls)
        for scripted in turn.replies:
            self.mock.responses.add(
                scripted.model, reply_of(scripted), times=scripted.times or 1, **matchers_of(scripted)
            )
        if turn.expected_output is not None:
            self.mock.responses.set(ANY_MODEL, turn.expected_output)

    def environment(self) -> dict[str, str]:
        """The environment of the application."""
        self.mock.server_environment = self._server.environment_of if self._server else None
        return self.mock.environment()

    def problem_of_turn(self, succeeded: bool) -> str | None:
        """What was wrong with the calls of a turn, or with replies that were not asked for; None for nothing."""
        if problems := self.mock.problems[self._noted :]:
            self._noted += len(problems)
            return problems[0]
        unused = self.mock.unused_replies() if succeeded else None
        if unused is None:
            return None
        return f"{unused}\n{calls_made(self.mock.calls)}"

    def asked(self) -> tuple[str, ...]:
        """The calls of the turn, each on a line."""
        return tuple(map(call_line, self.mock.calls[self._seen :]))

    def prompts(self) -> tuple[str, str]:
        """The prompts of the calls of the turn, and their system prompts."""
        calls = self.mock.calls[self._seen :]
        systems = [str(call["kwargs"]["system"]) for call in calls if call["kwargs"].get("system")]
        return "\n".join(call["prompt"] for call in calls), "\n".join(systems)

    def close(self) -> None:
        """The case is over: the mock of the test is told of the calls, and processes are told nothing any more."""
        if self._server is not None:
            self._server.close()
        tell_parent(self.mock)


def tell_parent(mock: LLMMock) -> None:
    """What a mock answered for is over: the mock of the test, if there is one, is told of the calls."""
    if mock.parent is not None:
        log = mock.history.log
        for call in mock.calls:
            mock.parent.history.receive(log.attach_details(call) if log is not None else call)
    if mock.folder is not None:
        mock.folder.remove()


@contextmanager
def mocking_process(mock: LLMMock | LazyMock, live: bool = False, processes: bool = True) -> Iterator[None]:
    """Let a mock answer the models of this process, within pytest or without.

    Args:
        mock: what answers.
        live: whether it has real models asked, with the `llm` user folder of the person who runs the process.
        processes: whether it answers the processes that this one starts, too.
    """
    previous = get_activated()
    if previous is not None:
        activate(mock)
        try:
            yield
        finally:
            activate(previous)
        return
    attach()
    http.attach()
    placeholder_keys.attach()
    starting.attach()
    with nullcontext() if live else TemporaryFolder("user") as folder:
        variables = {TESTING_VARIABLE: "1"} if processes else {}
        variables |= {USER_FOLDER_VARIABLE: str(folder)} if folder is not None else {}
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        handing_over = starting.set_handing_over(processes)
        activate(mock)
        try:
            yield
        finally:
            activate(None)
            starting.set_handing_over(handing_over)
            set_environment(before)
