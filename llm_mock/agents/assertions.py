"""Assertions that a model judges: whether a text or an image is as a test wants it, and how well it is."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.agents.judging import Given, Grade, Judgement, NoSchemas, grades_of, verdict_of
from llm_mock.agents.result import Finding
from llm_mock.errors import JudgeError, LLMMockError
from llm_mock.support.numbers import is_number
from llm_mock.support.text import compact, count, described, error_text, indented, shorten, shorten_name

if TYPE_CHECKING:
    import llm

    Answer = str | llm.Attachment | Sequence[str | llm.Attachment]

SHOWN_REASON = 500
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Of a criterion: what the providers take as the name of a property."""
_new_checks: deque[dict[str, str]] = deque()


class Score(float):
    """A number from 0 to 1 with its reasons, which pytest shows where a comparison of it fails."""

    criterion: str
    """What was to be true of the answer; empty where it is a mean."""
    reason: str
    """Why it is no other; with several criteria, that of each."""
    parts: Mapping[str, Score]
    """The scores of the criteria by their names; empty where there is one criterion without a name."""
    answer: str
    """What was judged."""

    def __new__(
        cls, value: float, criterion: str, reason: str, answer: str, parts: Mapping[str, Score] | None = None
    ) -> Score:
        score = super().__new__(cls, value)
        score.criterion, score.reason, score.answer, score.parts = criterion, reason, answer, dict(parts or {})
        return score

    def __repr__(self) -> str:
        return f"<Score {float(self):.4g}: {shorten_name(self.reason)}>"

    def explained(self) -> list[str]:
        """Lines that say why it is no other."""
        own = [f"criterion: {shorten_name(self.criterion)}", f"reason: {_reported(self.reason)}"]
        parts = [
            f"{name} {float(part):.4g} ({shorten_name(part.criterion)}): {_reported(part.reason)}"
            for name, part in self.parts.items()
        ]
        return [*(parts or own), *_shown("answer", self.answer).split("\n")]


def llm_assert(answer: Answer, criterion: str, *, judge: str) -> Finding:
    """Have a model judge whether an answer meets a criterion, and fail the test where it does not.

    Args:
        answer: a text, an image (an `llm.Attachment`), or a list of both.
        criterion: what must be true of it, in plain English.
        judge: the id of the model that judges, mocked or live as any other; the fixture of this name has that of the
            option `--llm-mock-judge`, or of the ini key `llm_mock_judge`.

    Returns:
        What is true, with the judge's `reason`.

    Raises:
        AssertionError: the criterion is not met; the message has the judge's reason.
        JudgeError: the model failed, cannot judge or gave no verdict.
        LLMMockError: the mock or the cassette of the test has no answer.
    """
    __tracebackhide__ = True
    text, attachments = _taken_apart(answer)
    _check_text(criterion, "The criterion")
    verdict = _asked(judge, lambda: verdict_of(judge, text, criterion, attachments), {"reason": "…", "met": True})
    _note("passed" if verdict.met else "failed", f"{shorten_name(criterion)}: {_reported(verdict.reason)}")
    if not verdict.met:
        said = f"  the judge {shorten_name(judge)}: {_reported(verdict.reason)}"
        raise AssertionError(f"Not met: {indented(criterion, '    ')}\n{said}\n  {_shown('answer', text)}")
    return Finding(True, verdict.reason)


def llm_score(
    answer: Answer,
    criteria: str | Mapping[str, str],
    *,
    judge: str,
    weights: Mapping[str, float] | None = None,
) -> Score:
    """Have a model judge how well an answer meets criteria.

    Args:
        answer: a text, an image (an `llm.Attachment`), or a list of both.
        criteria: one criterion, or several by their names.
        judge: the id of the model that judges, as for `llm_assert`.
        weights: how much criteria count in the score, by their names; 1 where nothing is said.

    Returns:
        The score, from 0 to 1: that of the criterion, or the weighted mean of all, which are its `parts`.

    Raises:
        JudgeError: the model failed, cannot judge, or gave no scores from 0 to 1.
        LLMMockError: the mock or the cassette of the test has no answer.
    """
    __tracebackhide__ = True
    text, attachments = _taken_apart(answer)
    wanted = {"": criteria} if isinstance(criteria, str) else dict(criteria)
    counted = {**dict.fromkeys(wanted, 1), **(weights or {})}
    _check_criteria(wanted, counted)
    one = {"reason": "…", "score": 0.5}
    example = one if "" in wanted else dict.fromkeys(wanted, one)
    grades = _asked(judge, lambda: grades_of(judge, text, wanted, attachments), example)
    for name, grade in grades.items():
        _note("scored", f"{shorten_name(name or wanted[name])} {grade.score:.4g}: {_reported(grade.reason)}")
    return _score(grades, wanted, counted, text)


def _score(grades: Mapping[str, Grade], criteria: Mapping[str, str], weights: Mapping[str, float], text: str) -> Score:
    parts = {name: Score(grades[name].score, criteria[name], grades[name].reason, text) for name in criteria}
    if "" in parts:
        return parts[""]
    reason = "; ".join(f"{name} {float(part):.4g}: {part.reason}" for name, part in parts.items())
    mean = sum(part * weights[name] for name, part in parts.items()) / sum(weights.values())
    return Score(mean, "", reason, text, parts)


def taken_checks() -> list[dict[str, str]]:
    """What was judged in tests since this was last asked: `status` (passed, failed or scored) and `message`."""
    return [_new_checks.popleft() for _ in range(len(_new_checks))]


def _note(status: str, message: str) -> None:
    if "PYTEST_CURRENT_TEST" in os.environ:
        _new_checks.append({"status": status, "message": message})


def _asked(judge: str, ask: Callable[[], Judgement[Given]], example: dict[str, Any]) -> Given:
    """What a model that judges gave, which looks like the example."""
    __tracebackhide__ = True
    if not judge:
        chosen = "ini llm_mock_judge = MODEL, or --llm-mock-judge MODEL"
        raise JudgeError(f"No model judges: choose one for all tests ({chosen}), or give judge=MODEL.")
    named = f"The model {shorten_name(judge)!r}"
    try:
        judgement = ask()
    except NoSchemas:
        raise JudgeError(f"{named} cannot judge, as it supports no schemas: choose another.") from None
    except (LLMMockError, AssertionError, Warning):
        raise
    except Exception as error:
        raise JudgeError(f"{named} that judges failed: {error_text(error)}") from None
    if judgement.given is None:
        raise JudgeError(
            f"{named} that judges gave no verdict, such as {compact(example)}, but {shorten(judgement.said)}."
        )
    return judgement.given


def _taken_apart(answer: Any) -> tuple[str, list[Any]]:
    """The text of an answer, and what is attached to it."""
    import llm

    __tracebackhide__ = True
    listed = list(answer) if isinstance(answer, (list, tuple)) else [answer]
    for each in listed:
        if not isinstance(each, (str, llm.Attachment)):
            given = "bytes; an image is llm.Attachment(content=…)" if isinstance(each, bytes) else described(each)
            raise TypeError(f"What is judged is a text, an llm.Attachment or a list of both, not {given}.")
    attachments = [each for each in listed if not isinstance(each, str)]
    texts = [each for each in listed if isinstance(each, str)]
    return "\n\n".join(texts or [f"({count(len(attachments), 'attachment')})"]), attachments


def _check_text(value: Any, what: str) -> None:
    __tracebackhide__ = True
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{what} is {described(value)}; give a text.")


def _check_criteria(criteria: Mapping[Any, Any], weights: Mapping[Any, Any]) -> None:
    __tracebackhide__ = True
    if not criteria:
        raise ValueError("llm_score is given no criterion.")
    for name, criterion in criteria.items():
        if list(criteria) != [""] and not (isinstance(name, str) and _NAME.fullmatch(name)):
            raise ValueError(
                f"The name of a criterion is {described(name)}; give letters, digits, _ and - (64 at most)."
            )
        _check_text(criterion, f"The criterion {name}".rstrip())
    for name, weight in weights.items():
        if name not in criteria:
            raise ValueError(f"weights has {shorten(name)}, which is no name of a criterion.")
        if not is_number(weight) or not weight:
            raise ValueError(f"weights[{name!r}] is {shorten(weight)}; give a number above 0.")


def _reported(reason: str) -> str:
    return shorten_name(reason, SHOWN_REASON)


def _shown(name: str, text: str) -> str:
    lines = indented(text, "    ")
    return f"{name}:\n    {lines}" if "\n" in lines else f"{name}: {lines}"
