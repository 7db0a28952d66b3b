"""Assert with a model as judge that an answer meets criteria, or score how well it does."""

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
    """A number from 0 to 1 with its reasons, which pytest shows if a comparison fails.

    Attributes:
        criterion: the criterion; empty for a mean.
        reason: the reason for the score; with several criteria, that of each.
        parts: the scores of the criteria by name; empty for a criterion without a name.
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
        answer: a text, an image (an `llm.Attachment`), or a list of both.
        criterion: the criterion in plain English.
        judge: the id of the judging model, mocked or live like any other; by default that of the
            ini key `llm_mock_judge`. The option `--llm-mock-judge` overrides both.

    Returns:
        A true value with the judge's `reason`.

    Raises:
        AssertionError: the criterion is not met; the message has the judge's reason.
        JudgeError: the model failed, cannot judge or gave no verdict.
        LLMMockError: the mock or the cassette of the test has no answer.
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
        answer: a text, an image (an `llm.Attachment`), or a list of both.
        criteria: one criterion, or several by name.
        judge: the id of the judging model, as for `llm_assert`.
        weights: the weights of criteria in the score, by name; by default 1.

    Returns:
        The score from 0 to 1: that of the criterion, or the weighted mean of its `parts`.

    Raises:
        JudgeError: the model failed, cannot judge, or gave no scores from 0 to 1.
        LLMMockError: the mock or the cassette of the test has no answer.
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
    """Return the judge of a call that names this one, or none."""
    __tracebackhide__ = True
    judge = get_judge_choice().resolve(named)
    if not judge:
        raise JudgeError(
            "No model judges: choose one for all tests "
            "(ini llm_mock_judge = MODEL, or --llm-mock-judge MODEL), or give judge=MODEL."
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
        ask: asks it.
        example: a valid response, for the message about another one.
    """
    __tracebackhide__ = True
    named = f"The model {shorten_name(judge)!r}"
    try:
        judgement = ask()
    except NoSchemas:
        message = f"{named} cannot judge, as it supports no schemas: choose another."
        raise JudgeError(message) from None
    except (LLMMockError, AssertionError, Warning):
        # They are about the test, not about the judge.
        raise
    except Exception as error:
        raise JudgeError(f"{named} that judges failed: {format_error(error)}") from None
    if judgement.given is None:
        raise JudgeError(
            f"{named} that judges gave no verdict, such as {to_compact_json(example)}, "
            f"but {shorten(judgement.said)}."
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
                given = "bytes; an image is llm.Attachment(content=…)"
            raise TypeError(
                f"The answer must be a text, an llm.Attachment or a list of both, not {given}."
            )
    if not texts:
        texts.append(f"({format_count(len(attachments), 'attachment')})")
    return "\n\n".join(texts), attachments


def _check_text(value: object, what: str) -> None:
    __tracebackhide__ = True
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{what} is {described(value)}; give a text.")


def _check_criteria(criteria: Mapping[Any, Any]) -> None:
    __tracebackhide__ = True
    if not criteria:
        raise ValueError("llm_score needs a criterion.")
    has_names = list(criteria) != [""]
    for name, criterion in criteria.items():
        if has_names and not (isinstance(name, str) and _NAME.fullmatch(name)):
            raise ValueError(
                f"The name of a criterion is {described(name)}; "
                "give letters, digits, _ and - (64 at most)."
            )
        _check_text(criterion, f"The criterion {name}".rstrip())


def _check_weights(criteria: Mapping[Any, Any], weights: Mapping[Any, Any]) -> None:
    __tracebackhide__ = True
    for name, weight in weights.items():
        if name not in criteria:
            raise ValueError(f"weights has {shorten(name)}, which is not the name of a criterion.")
        if not is_number(weight) or not weight:
            raise ValueError(f"weights[{name!r}] is {shorten(weight)}; give a number above 0.")


def _shorten_reason(reason: str) -> str:
    return shorten_name(reason, SHOWN_REASON)


def _format_field(name: str, text: str) -> str:
    lines = indent_text(text, "    ")
    if "\n" in lines:
        return f"{name}:\n    {lines}"
    return f"{name}: {lines}"
