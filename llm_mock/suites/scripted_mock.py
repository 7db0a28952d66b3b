"""The mock that replies to an application as the case scripts it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from llm_mock.behaviour.scripted_replies import ScriptedReply, build_matchers, build_reply
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.strict_mock import create_strict_mock, pass_calls_to_parent
from llm_mock.core.model_names import ANY_MODEL
from llm_mock.core.records import format_call_history

MISSING_REPLY_ADVICE = (
    "Add one to the 'replies' of the case. Replies for another model, variant or run do not count."
)
UNUSED_REPLY_ADVICE = (
    "Remove it from the 'replies' of the case, correct its conditions, or set optional: true if it "
    "may stay unused."
)


class ScriptedTurn(Protocol):
    """A turn of a case, which the schema of suites defines."""

    @property
    def replies(self) -> Sequence[ScriptedReply]:
        """The replies of models to the application."""

    @property
    def expected_output(self) -> str | None:
        """The default reply of all models."""

    @property
    def is_followed(self) -> bool:
        """True if later turns may use the remaining replies."""


class ScriptedMock:
    """A mock for one run of a case, which refuses calls without a reply.

    Its parent is the mock of the test in which the suite runs, if there is one.

    Args:
        processes: whether the application runs in another process, which needs a server.
        at_boundary: whether to mock the models that an application obtains itself; otherwise only
            the models that this mock returns.
    """

    def __init__(self, processes: bool, at_boundary: bool) -> None:
        self.mock = create_strict_mock(MISSING_REPLY_ADVICE, UNUSED_REPLY_ADVICE, at_boundary)
        self._server = MockServer(lambda: self.mock) if processes else None
        self._reported_problems = 0
        self._is_followed = False
        """Whether later turns may use the remaining replies."""

    def script(self, turn: ScriptedTurn) -> None:
        """Configure the replies of a turn that begins now."""
        self._is_followed = turn.is_followed
        for scripted in turn.replies:
            reply = build_reply(scripted)
            self.mock.configurator.add(
                scripted.model,
                reply,
                times=scripted.times or 1,
                optional=scripted.optional,
                **build_matchers(scripted),
            )
        if turn.expected_output is not None:
            self.mock.configurator.set(ANY_MODEL, turn.expected_output)

    def environment(self) -> dict[str, str]:
        """Return the environment for the process of the application."""
        if self._server is not None:
            self.mock.server_environment = self._server.adapt_environment
        return self.mock.environment()

    @property
    def server_url(self) -> str | None:
        """The URL of the server that answers processes, if there is one."""
        return None if self._server is None else self._server.url

    def find_problem(self, succeeded: bool) -> str | None:
        """Return the problem with the calls or unused replies of a turn, or None.

        Args:
            succeeded: whether the application returned an output; otherwise unused replies are not
                a problem.
        """
        problems = self.mock.problems[self._reported_problems :]
        self._reported_problems += len(problems)
        if problems:
            return problems[0]
        if not succeeded or self._is_followed:
            return None
        unused = self.mock.unused_replies()
        if unused is None:
            return None
        return f"{unused}\n{format_call_history(self.mock.calls)}"

    def close(self) -> None:
        """Stop the server, and add the calls to the mock of the test."""
        if self._server is not None:
            self._server.close()
        pass_calls_to_parent(self.mock)
