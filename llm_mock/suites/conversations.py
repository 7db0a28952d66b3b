"""Iterate over the turns of a case: written in the suite, or played by a simulated user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from llm_mock.checks.evaluation import BaseAssertion
from llm_mock.checks.skipped import SkippedAssertion
from llm_mock.errors import LLMMockError
from llm_mock.suites.results import AssertionResult, TurnResult, total_cost
from llm_mock.suites.schema import CaseTurn, TestCase
from llm_mock.suites.simulated_user import SimulatedUser, UserMessage, ask_user

NEEDS_MODEL = "Skipped in a dry run: a model plays the user; add a 'script' to the user"


class UserSession:
    """A conversation with a simulated user.

    Args:
        case: the case.
        user: its user.
        dry_run: whether to use the script instead of a model.

    Raises:
        LLMMockError: the user ends the conversation at once, or its model failed.
    """

    def __init__(self, case: TestCase, user: SimulatedUser, dry_run: bool) -> None:
        self._user = user
        self._script: list[str] | None = None
        self._exchanges: list[tuple[str, str]] = []
        self._asked: list[UserMessage] = []
        """The messages that a model wrote since the last turn."""
        self.message = case.prompt
        """The next message; None at the end of the conversation."""
        if user.is_scripted(dry_run):
            self._script = list(takewhile(lambda text: user.stop not in text, user.script))
        if self.message is None:
            self._speak()
        if self.message is None:
            raise LLMMockError("The simulated user ends the conversation before it begins.")

    @property
    def is_followed(self) -> bool:
        """Return True if another turn may follow the current one."""
        if len(self._exchanges) + 1 >= self._user.max_turns:
            return False
        return self._script is None or bool(self._script)

    def hear(self, result: TurnResult) -> TurnResult:
        """Choose the user's next message, and return the result with its tokens and cost added."""
        self._exchanges.append((self.message or "", result.output))
        self.message = None
        if len(self._exchanges) < self._user.max_turns:
            self._speak()
        asked = self._asked
        self._asked = []
        return replace(
            result,
            input_tokens=result.input_tokens + sum(message.input_tokens for message in asked),
            output_tokens=result.output_tokens + sum(message.output_tokens for message in asked),
            cost=total_cost([result.cost, *(message.cost for message in asked)]),
        )

    def _speak(self) -> None:
        if self._script is not None:
            self.message = self._script.pop(0) if self._script else None
            return
        message = ask_user(self._user, self._exchanges)
        self._asked.append(message)
        if self._user.stop not in message.text:
            self.message = message.text


def iterate_turns(case: TestCase, dry_run: bool) -> Iterable[CaseTurn]:
    """Return the turns of a case; a simulated user's turns depend on the replies.

    Raises:
        LLMMockError: (during iteration) the simulated user ends the conversation at once, or its
            model failed.
    """
    if case.user is None:
        return case.all_turns
    return _iterate_messages(case, case.user, dry_run)


def _iterate_messages(case: TestCase, user: SimulatedUser, dry_run: bool) -> Iterator[CaseTurn]:
    session = UserSession(case, user, dry_run)
    replies = case.replies
    while session.message is not None:
        fields = {
            "prompt": session.message,
            "assertions": (*case.each_turn, *case.assertions),
            "replies": replies,
        }
        turn = case.model_copy(update=fields)
        turn.__dict__["user_session"] = session
        yield turn
        # The first turn configures the replies for the whole conversation.
        replies = ()


def end_turn(turn: CaseTurn, result: TurnResult) -> tuple[CaseTurn, TurnResult]:
    """Return a turn with the assertions on its reply, and the result with the user's costs.

    Raises:
        LLMMockError: the model that plays the user failed.
    """
    session = turn.user_session
    if not isinstance(session, UserSession) or not isinstance(turn, TestCase):
        return turn, result
    result = session.hear(result)
    if session.message is None:
        return turn, result
    # The other assertions apply to the last reply only.
    return turn.model_copy(update={"assertions": turn.each_turn}), result


def skip_all(assertions: Sequence[BaseAssertion], reason: str) -> list[AssertionResult]:
    """Return skipped results of assertions; at least one, as without any a case passes."""
    skipped = assertions or [SkippedAssertion(reason=reason)]
    return [AssertionResult(assertion, None, reason) for assertion in skipped]
