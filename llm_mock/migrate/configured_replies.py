"""Keeps what a rewritten test has said so far of the answers of models."""

from __future__ import annotations

from collections.abc import Sequence

from llm_mock.migrate.body import Slot
from llm_mock.migrate.doubles import LegacyMock, PatchedGetter, ReturnByName, SideEffectList, TestDouble, Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import LEARN, ConfiguredReply, collect_replies, model_argument
from llm_mock.migrate.symbol_table import SymbolTable


class ConfiguredReplies:
    """What the models of a test answer, as far as the new test says it.

    Args:
        getters: what was patched so far; it may grow.
        frame: the names of the test.
        slots: where mocks were configured so far; it may grow.
    """

    def __init__(self, getters: Sequence[PatchedGetter], frame: SymbolTable, slots: Sequence[Slot]) -> None:
        self.answers: dict[str, ConfiguredReply] = {}
        self._getters = getters
        self._frame = frame
        self._slots = slots
        self._reached: list[TestDouble] = []
        self.roots: list[TestDouble] = []
        """What was put in the place of something of `llm`."""

    def is_of_llm(self, double: Value | None) -> bool:
        """Whether a mock was given to `llm`, now or before."""
        self._reach()
        return isinstance(double, LegacyMock) or any(double is reached for reached in self._reached)

    def _reach(self) -> None:
        pending: list[Value | None] = [*self.roots, *(getter.double for getter in self._getters)]
        while pending:
            value = pending.pop()
            if isinstance(value, TestDouble) and not any(value is reached for reached in self._reached):
                self._reached.append(value)
                pending += [*value.attributes.values(), value.result, value.effect]
            elif isinstance(value, SideEffectList):
                pending += value.values
            elif isinstance(value, ReturnByName):
                pending += [each for _, each in value.values]

    def say(self) -> None:
        """Say what the models answer from here on, at the last place where a mock was configured.

        Raises:
            CannotRewrite: it is not known.
        """
        self._reach()
        now: dict[str, ConfiguredReply] = {}
        for getter in self._getters:
            for answer in collect_replies(getter, self._frame):
                if now.setdefault(answer.model, answer) != answer:
                    raise CannotRewrite(
                        "two patches answer differently, and the ids of their models are not known", LEARN
                    )
        for model, answer in now.items():
            before = self.answers.get(model)
            if before != answer:
                self._say_anew(before, answer)

    def _say_anew(self, before: ConfiguredReply | None, answer: ConfiguredReply) -> None:
        if before is not None and {before.kind, answer.kind} & {"queue", "unknown"}:
            raise CannotRewrite(
                "the mock is told anew what it answers, before or after a list of replies",
                "A queued reply must be used up: write one mock_llm_responses.add for each call, in order.",
            )
        slot = self._slots[-1]
        if before is not None and before.kind == "error" and answer.kind != "error":
            slot.lines.append(f"mock_llm_responses.set_error({model_argument(answer.model)}, None)")
        slot.lines += answer.statements
        self.answers[answer.model] = answer
