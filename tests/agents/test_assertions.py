"""`llm_assert` and `llm_score`: their requests, their verdicts and their failures."""

from __future__ import annotations

from typing import Any

import llm
import pytest

from llm_mock import LLMMock, Reply, ResponseConfigurator, UnexpectedCall
from llm_mock.agents import Score, llm_assert, llm_score
from llm_mock.errors import JudgeError

PNG = b"\x89PNG\r\n\x1a\n"


def graded(score: float, reason: str = "Because") -> dict[str, Any]:
    return {"reason": reason, "score": score}


def test_what_meets_its_criterion_is_true_with_the_reason(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set("judge", {"reason": "It says hello.", "met": True})
    verdict = llm_assert("Hello!", "Is a greeting", judge="judge")
    assert verdict
    assert verdict.reason == "It says hello."
    (call,) = mock_llm_calls.calls
    assert call["prompt"].startswith(
        "The criteria:\nIs a greeting\n\nThe answer:\n========\nHello!\n"
    )
    assert call["kwargs"]["schema"] == "Verdict"


def test_what_does_not_fails_by_itself_with_answer_criterion_and_reason(
    mock_llm_responses: ResponseConfigurator,
) -> None:
    mock_llm_responses.set("judge", {"reason": "It sends the user\naway.", "met": False})
    with pytest.raises(AssertionError) as failure:
        llm_assert("Go away.\nNow!", "Is a greeting", judge="judge")
    assert str(failure.value) == (
        "Not met: Is a greeting\n  the judge judge: It sends the user away.\n  answer:\n"
        "    Go away.\n    Now!"
    )


def test_an_image_is_judged_with_or_without_a_text(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set("judge", {"reason": "Four bars", "met": True})
    image = llm.Attachment(type="image/png", content=PNG)
    assert llm_assert(image, "Shows four bars", judge="judge")
    assert llm_assert(["The sales:", image], "Shows four bars", judge="judge")
    alone, beside = mock_llm_calls.calls
    assert [call["kwargs"]["attachments"][0]["type"] for call in (alone, beside)] == [
        "image/png"
    ] * 2
    assert "========\n(1 attachment)\n========" in alone["prompt"]
    assert beside["prompt"].endswith(
        "\nThe sales:\n========\n\nWhat is attached belongs to the answer."
    )


def test_a_score_is_a_number_with_its_reason(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("judge", graded(0.75, "A little long"))
    score = llm_score("Dear Sir …", "Is brief", judge="judge")
    assert score == 0.75
    assert (score.reason, dict(score.parts), repr(score)) == (
        "A little long",
        {},
        "<Score 0.75: A little long>",
    )


def test_the_score_of_several_criteria_is_their_weighted_mean(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set(
        "judge", {"tone": graded(1, "Polite"), "facts": graded(0.5, "One is wrong")}
    )
    criteria = {"tone": "Is polite", "facts": "Is correct"}
    assert llm_score("Text", criteria, judge="judge") == 0.75
    score = llm_score("Text", criteria, judge="judge", weights={"facts": 3})
    assert score == 0.625
    assert {name: float(part) for name, part in score.parts.items()} == {"tone": 1, "facts": 0.5}
    assert score.parts["facts"].reason == "One is wrong"
    assert score.reason == "tone 1: Polite; facts 0.5: One is wrong"
    assert (score.criterion, score.parts["facts"].criterion) == ("", "Is correct")
    assert score.explain() == [
        "tone 1 (Is polite): Polite",
        "facts 0.5 (Is correct): One is wrong",
        "answer: Text",
    ]
    call = mock_llm_calls.calls[0]
    assert "The criteria:\ntone: Is polite\nfacts: Is correct\n" in call["prompt"]
    assert call["kwargs"]["schema"] == "Grades"


@pytest.mark.parametrize(
    ("criteria", "reply"),
    [
        ("x", {"reason": "r", "score": 8}),
        ("x", {"reason": "r"}),
        ("x", "Good!"),
        ("x", '{"reason": "r", "score": 0} {"reason": "r", "score": 1}'),
        ("x", '{"reason": "r", "score": 0, "score": 1}'),
        ({"a": "x", "b": "y"}, {"a": graded(1)}),
        ({"a": "x"}, graded(1)),
    ],
)
def test_what_is_no_score_is_an_error_and_never_a_number(
    criteria: Any, reply: Any, mock_llm_responses: ResponseConfigurator
) -> None:
    given = {"data": reply} if isinstance(reply, dict) else {"text": reply}
    mock_llm_responses.set("judge", Reply(**given, invalid=True))
    with pytest.raises(
        JudgeError, match="The judge 'judge' returned no valid verdict: expected JSON such as "
    ) as failure:
        llm_score("Text", criteria, judge="judge")
    graded = '{"reason": "…", "score": 0.5}'
    named = ", ".join(f'"{name}": {graded}' for name in criteria)
    assert (graded if criteria == "x" else f"{{{named}}}") in str(failure.value)


def test_a_judge_that_fails_or_cannot_judge_is_no_verdict(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set_error("judge", RuntimeError("no power"))
    with pytest.raises(JudgeError, match="The judge 'judge' failed: RuntimeError: no power"):
        llm_assert("Text", "x", judge="judge")
    mock_llm_calls.get_model("plain").supports_schema = False
    with pytest.raises(JudgeError, match="'plain' does not support schemas"):
        llm_assert("Text", "x", judge="plain")
    with pytest.raises(JudgeError, match=r"No judge is configured. .*llm_mock_judge.*judge=MODEL"):
        llm_assert("Text", "x", judge="")


@pytest.mark.llm_mock_strict
def test_a_judge_for_whom_nothing_is_scripted_is_an_unexpected_call(
    mock_llm_responses: ResponseConfigurator,
) -> None:
    mock_llm_responses.set("another", "x")
    with pytest.raises(UnexpectedCall):
        llm_assert("Text", "x", judge="judge")
    mock_llm_responses.reset()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((PNG, "x"), r"not bytes. Pass an image as llm.Attachment\(content=…\)"),
        (([3], "x"), "not 3"),
        (("text", {}), "needs at least one criterion"),
        (("text", {"a b": "x"}), "The name of a criterion is 'a b'"),
        (("text", {"a": " "}), "The criterion a is ' '; pass a string"),
        (("text", "x", {"a": 1}), "weights has 'a', which is not the name of a criterion"),
        (("text", {"a": "x"}, {"a": 0}), r"weights\['a'\] is 0; pass a number above 0"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_model_is_asked(
    arguments: tuple[Any, ...], error: str, mock_llm_calls: LLMMock
) -> None:
    answer, criteria, weights = (*arguments, None)[:3]
    with pytest.raises((TypeError, ValueError), match=error):
        llm_score(answer, criteria, judge="judge", weights=weights)
    assert mock_llm_calls.calls == []


@pytest.mark.parametrize("criterion", ["", " ", None, 5])
def test_a_criterion_without_a_text_is_refused_before_a_model_is_asked(
    criterion: Any, mock_llm_calls: LLMMock
) -> None:
    with pytest.raises(ValueError, match=r"^The criterion is .*; pass a string that is not empty"):
        llm_assert("text", criterion, judge="judge")
    assert mock_llm_calls.calls == []


def test_a_score_compares_as_a_number() -> None:
    assert max(Score(0.2, "", "a", ""), Score(0.4, "", "b", "")) == pytest.approx(0.4)
