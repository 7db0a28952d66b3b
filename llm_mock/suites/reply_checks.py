"""Check that the replies of a suite are valid and belong to runs that exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from llm_mock.behaviour.scripted_replies import build_reply
from llm_mock.core.model_names import ANY_MODEL, matches_name
from llm_mock.errors import LLMMockError
from llm_mock.suites.matrix import Matrix
from llm_mock.suites.schema import CaseTurn, Target, TestCase, TestSuiteDefinition
from llm_mock.suites.suite_replies import SuiteReply
from llm_mock.support.text import shorten, suggest_name

SuiteProblem = tuple[tuple[str | int, ...], str]
"""The place of a problem in a turn, and its message."""


class ReplyChecks:
    """Checks of the replies of one suite.

    Args:
        suite: the suite.
        targets: its targets; empty if it tests agents.
    """

    def __init__(self, suite: TestSuiteDefinition, targets: Sequence[Target]) -> None:
        self._targets = targets
        self._repeat = suite.defaults.repeat
        self._has_matrix = suite.matrix is not None
        self._variants: dict[str, None] = {}
        self._models: list[str] = []
        if suite.matrix is not None:
            self._variants = _list_variant_names(suite.matrix)
            self._models = [entry.model for entry in suite.matrix.models]

    def find_problems(self, case: TestCase, turn: CaseTurn) -> Iterator[SuiteProblem]:
        """Yield the problems with the replies of a turn."""
        if not turn.replies:
            return
        if any(target.url is not None for target in self._targets):
            # The application was started before the suite, with an environment of its own.
            message = (
                "a suite with a url target cannot have 'replies': move them to a script for "
                "`llm-mock serve`, and configure the application to call that server"
            )
            yield ("replies",), message
        if turn.expected_output is not None or turn.expected_output_file is not None:
            reason = "both set the replies of the models"
            yield ("replies",), f"'replies' and 'expected_output' cannot be combined: {reason}"
        for number, reply in enumerate(turn.replies):
            for problem in self._find_reply_problems(case, reply):
                yield ("replies", number), f"reply {number + 1}: {problem}"

    def _find_reply_problems(self, case: TestCase, reply: SuiteReply) -> Iterator[str]:
        try:
            build_reply(reply)
        except LLMMockError as error:
            yield str(error)
        repeat = case.repeat or self._repeat
        for run in reply.run:
            if run > repeat:
                yield f"run {run} does not exist: 'repeat' of the case is {repeat}"
        for name in reply.variant:
            if not self._has_matrix:
                yield f"unknown variant {shorten(name)}: the suite has no 'matrix'"
            elif name not in self._variants:
                yield f"unknown variant {shorten(name)}{suggest_name(name, list(self._variants))}"
        yield from self._find_model_problem(reply.model)

    def _find_model_problem(self, model: str) -> Iterator[str]:
        # An application chooses its own models.
        if model == ANY_MODEL or self._targets or not self._models:
            return
        if not any(matches_name(model, known) for known in self._models):
            hint = suggest_name(model, self._models)
            yield f"no variant uses the model {shorten(model)}{hint}"


def _list_variant_names(matrix: Matrix) -> dict[str, None]:
    """Return the names of the entries of a matrix, and of its variants."""
    # A dictionary as an ordered set.
    names: dict[str, None] = {}
    axes = []
    for entries in matrix.axes.values():
        labels = [entry.display_name for entry in entries]
        axes.append(labels)
        names |= dict.fromkeys(labels)
    for combination in product(*axes):
        names[", ".join(combination)] = None
    return names
