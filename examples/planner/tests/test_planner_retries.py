"""The planner with models that fail or answer badly."""

import llm
import pytest
from planner.components import pick_components
from planner.errors import PlannerError
from planner.retry import Retry
from planner.schemas import ComponentChoice

from llm_mock import LLMMock, Reply, assert_llm_called_times

MODEL = "gpt-4o-mini"


def pick(retry: Retry) -> list[str]:
    return pick_components("Read notes.txt", llm.get_model(MODEL), retry)


def test_a_model_that_recovers_after_two_failures_is_asked_three_times(
    mock_llm_calls: LLMMock, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add(MODEL, ConnectionError("connection reset"), times=2)
    mock_llm_responses.add(MODEL, {"components": ["read-file"]})

    assert pick(Retry(attempts=3)) == ["read-file"]

    assert_llm_called_times(mock_llm_calls, MODEL, 3)
    errors = [call["error"] for call in mock_llm_calls.get_model(MODEL).call_history]
    assert errors == ["connection reset", "connection reset", None]


@pytest.mark.parametrize(
    "bad_answer",
    [
        Reply("Sure! I would read the file.", invalid=True),
        Reply(data={"parts": ["read-file"]}, invalid=True),
        Reply(data={"components": []}, invalid=True),
        {"components": ["teleport"]},
    ],
    ids=["plain text", "another schema", "empty", "unknown component"],
)
def test_a_bad_answer_is_asked_again(mock_llm_responses: LLMMock, bad_answer: object) -> None:
    mock_llm_responses.add(MODEL, bad_answer, schema=ComponentChoice)
    mock_llm_responses.add(MODEL, {"components": ["read-file"]}, schema=ComponentChoice)

    assert pick(Retry(attempts=2)) == ["read-file"]


def test_a_model_that_keeps_failing_is_given_up_and_its_last_error_reported(
    mock_llm_calls: LLMMock, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set_error(MODEL, llm.ModelError("overloaded"))

    with pytest.raises(PlannerError, match=r"^No usable answer in 3 attempts: overloaded$"):
        pick(Retry(attempts=3))

    assert_llm_called_times(mock_llm_calls, MODEL, 3)


def test_a_missing_key_is_reported_at_once(
    mock_llm_calls: LLMMock, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set_error(MODEL, llm.NeedsKeyException("No key found"))

    with pytest.raises(PlannerError, match=r"^No key found$"):
        pick(Retry(attempts=3))

    assert_llm_called_times(mock_llm_calls, MODEL, 1)


def test_pauses_double_and_lie_between_attempts_only(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_error(MODEL, TimeoutError)
    pauses: list[float] = []

    with pytest.raises(PlannerError, match="TimeoutError"):
        pick(Retry(attempts=4, pause=0.5, sleep=pauses.append))

    assert pauses == [0.5, 1.0, 2.0]
