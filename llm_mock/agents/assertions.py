"""Assertions and scores by a model that judges whether an answer meets criteria."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.agents.check_log import log_check
from llm_mock.agents.judge import Given, Grade, Judgement, NoSchemas, grade_output, judge_output
from llm_mock.agents.result import Finding
from llm_mock.core.judge_choice import get_judge_choice
from llm_mock.errors import JudgeError, LLMMockError
from llm_mock.support.json_types import JSONObject
from llm_mock.support.numbers import is_number
from llm_mock.support.text import (
    described,
    format_count,
    format_error,
    indent_text,
    shorten,
    shorten_name,
    to_compact_json,
)

if TYPE_CHECKING:
    import llm

    Answer = str | llm.Attachment | Sequence[str | llm.Attachment]

SHOWN_REASON = 500
# The names of criteria become properties of a JSON schema, whose names the providers restrict.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Score(float):
    """A score from 0 to 1 with its reasons, which pytest shows if a comparison fails.

    Attributes:
        criterion: the criterion; empty for the mean of several criteria.
        reason: the reason for the score, or the reasons for all criteria.
        parts: the scores by the names of the criteria; empty for a criterion without a name.
        answer: the text that was judged.
    """

    criterion: str
    reason: str
    parts: Mapping[str, Score]
    answer: str

    def __new__(
        cls,
        value: float,
        criterion: str,
        reason: str,
        answer: str,
        parts: Mapping[str, Score] | None = None,
    ) -> Score:
        """Return a float with the given attributes."""
        score = super().__new__(cls, value)
        score.criterion = criterion
        score.reason = reason
        score.answer = answer
        score.parts = dict(parts or {})
        return score

    def __repr__(self) -> str:
        return f"<Score {float(self):.4g}: {shorten_name(self.reason)}>"

    def explain(self) -> list[str]:
        """Return the lines that explain the score."""
        lines = []
        for name, part in self.parts.items():
            criterion = shorten_name(part.criterion)
            reason = _shorten_reason(part.reason)
            lines.append(f"{name} {float(part):.4g} ({criterion}): {reason}")
        if not lines:
            lines.append(f"criterion: {shorten_name(self.criterion)}")
            lines.append(f"reason: {_shorten_reason(self.reason)}")
        return lines + _format_field("answer", self.answer).split("\n")


def llm_assert(answer: Answer, criterion: str, *, judge: str = "") -> Finding:
    """Assert that an answer meets a criterion, with a model as judge.

    Args:
        answer: a string, an image (an `llm.Attachment`), or a list of these.
        criterion: the criterion in plain English.
        judge: the id of the judging model, mocked or live. The default is the ini key
            `llm_mock_judge`. The command-line option `--llm-mock-judge` overrides both.

    Returns:
        A true value with the judge's `reason`.

    Raises:
        AssertionError: the answer does not meet the criterion; the message has the judge's reason.
        JudgeError: no judge is configured, or the judge fails, does not support schemas or returns
            no valid verdict.
        LLMMockError: the mock or the cassette has no reply for the judge.
    """
    __tracebackhide__ = True
    text, attachments = _split_answer(answer)
    _check_text(criterion, "The criterion")
    example = {"reason": "…", "met": True}
    judge = _choose_judge(judge)
    verdict = _ask(
        judge,
        lambda: judge_output(judge, text, criterion, attachments),
        example,
    )
    reason = _shorten_reason(verdict.reason)
    log_check("passed" if verdict.met else "failed", f"{shorten_name(criterion)}: {reason}")
    if not verdict.met:
        raise AssertionError(
            f"Not met: {indent_text(criterion, '    ')}\n"
            f"  the judge {shorten_name(judge)}: {reason}\n"
            f"  {_format_field('answer', text)}"
        )
    return Finding(True, verdict.reason)


def llm_score(
    answer: Answer,
    criteria: str | Mapping[str, str],
    *,
    judge: str = "",
    weights: Mapping[str, float] | None = None,
) -> Score:
    """Score how well an answer meets criteria, with a model as judge.

    Args:
        answer: a string, an image (an `llm.Attachment`), or a list of these.
        criteria: one criterion, or several by name.
        judge: the id of the judging model, as for `llm_assert`.
        weights: the weights of the criteria in the mean, by name; by default 1.

    Returns:
        The score from 0 to 1. With several criteria, it is the weighted mean of its `parts`.

    Raises:
        JudgeError: no judge is configured, or the judge fails, does not support schemas or returns
            no valid scores.
        LLMMockError: the mock or the cassette has no reply for the judge.
    """
    __tracebackhide__ = True
    text, attachments = _split_answer(answer)
    if isinstance(criteria, str):
        by_name = {"": criteria}
    else:
        by_name = dict(criteria)
    all_weights = {**dict.fromkeys(by_name, 1), **(weights or {})}
    _check_criteria(by_name)
    _check_weights(by_name, all_weights)
    grade_example = {"reason": "…", "score": 0.5}
    if "" in by_name:
        example = grade_example
    else:
        example = dict.fromkeys(by_name, grade_example)
    judge = _choose_judge(judge)
    grades = _ask(
        judge,
        lambda: grade_output(judge, text, by_name, attachments),
        example,
    )
    for name, grade in grades.items():
        label = shorten_name(name or by_name[name])
        log_check("scored", f"{label} {grade.score:.4g}: {_shorten_reason(grade.reason)}")
    return _combine_grades(grades, by_name, all_weights, text)


def _combine_grades(
    grades: Mapping[str, Grade],
    criteria: Mapping[str, str],
    weights: Mapping[str, float],
    text: str,
) -> Score:
    parts = {}
    for name, criterion in criteria.items():
        grade = grades[name]
        parts[name] = Score(grade.score, criterion, grade.reason, text)
    if "" in parts:
        return parts[""]
    reasons = []
    total = 0.0
    for name, part in parts.items():
        reasons.append(f"{name} {float(part):.4g}: {part.reason}")
        total += part * weights[name]
    mean = total / sum(weights.values())
    return Score(mean, "", "; ".join(reasons), text, parts)


def _choose_judge(named: str) -> str:
    """Return the judge for a call, given the value of its argument `judge`."""
    __tracebackhide__ = True
    judge = get_judge_choice().resolve(named)
    if not judge:
        raise JudgeError(
            "No judge is configured. Set one for all tests (ini llm_mock_judge = MODEL, or "
            "--llm-mock-judge MODEL), or pass judge=MODEL."
        )
    return judge


def _ask(
    judge: str,
    ask: Callable[[], Judgement[Given]],
    example: JSONObject,
) -> Given:
    """Return the verdict or the grades of a judge.

    Args:
        judge: the id of the model.
        ask: sends the request and returns the judgement.
        example: a valid response, for the error message.
    """
    __tracebackhide__ = True
    named = f"The judge {shorten_name(judge)!r}"
    try:
        judgement = ask()
    except NoSchemas:
        message = f"{named} does not support schemas. Choose another model."
        raise JudgeError(message) from None
    except (LLMMockError, AssertionError, Warning):
        # These errors concern the test, not the judge.
        raise
    except Exception as error:
        raise JudgeError(f"{named} failed: {format_error(error)}") from None
    if judgement.given is None:
        raise JudgeError(
            f"{named} returned no valid verdict: expected JSON such as "
            f"{to_compact_json(example)}, got {shorten(judgement.said)}."
        )
    return judgement.given


def _split_answer(answer: object) -> tuple[str, list[Any]]:
    """Return the text and the attachments of an answer."""
    import llm

    __tracebackhide__ = True
    texts = []
    attachments = []
    for part in answer if isinstance(answer, (list, tuple)) else [answer]:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, llm.Attachment):
            attachments.append(part)
        else:
            given = described(part)
            if isinstance(part, bytes):
                given = "bytes. Pass an image as llm.Attachment(content=…)"
            raise TypeError(
                f"The answer must be a string, an llm.Attachment or a list of these, not {given}."
            )
    if not texts:
        texts.append(f"({format_count(len(attachments), 'attachment')})")
    return "\n\n".join(texts), attachments


def _check_text(value: object, what: str) -> None:
    __tracebackhide__ = True
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{what} is {described(value)}; pass a string that is not empty.")


def _check_criteria(criteria: Mapping[Any, Any]) -> None:
    __tracebackhide__ = True
    if not criteria:
        raise ValueError("llm_score needs at least one criterion.")
    has_names = list(criteria) != [""]
    for name, criterion in criteria.items():
        if has_names and not (isinstance(name, str) and _NAME.fullmatch(name)):
            raise ValueError(
                f"The name of a criterion is {described(name)}; "
                "use letters, digits, _ and - (64 at most)."
            )
        _check_text(criterion, f"The criterion {name}".rstrip())


def _check_weights(criteria: Mapping[Any, Any], weights: Mapping[Any, Any]) -> None:
    __tracebackhide__ = True
    for name, weight in weights.items():
        if name not in criteria:
            raise ValueError(f"weights has {shorten(name)}, which is not the name of a criterion.")
        if not is_number(weight) or not weight:
            raise ValueError(f"weights[{name!r}] is {shorten(weight)}; pass a number above 0.")


def _shorten_reason(reason: str) -> str:
    return shorten_name(reason, SHOWN_REASON)


def _format_field(name: str, text: str) -> str:
    lines = indent_text(text, "    ")
    if "\n" in lines:
        return f"{name}:\n    {lines}"
    return f"{name}: {lines}"
