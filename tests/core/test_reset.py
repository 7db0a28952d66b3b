"""A mock that is reset is as a new one, and one that keeps few calls forgets the others."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import llm
import openai
import pytest

from llm_mock import Latency, LLMMock, LLMMockError
from llm_mock.core.context import activate

USED = (
    *("History._last_number", "History._states", "History.answered_by", "History.calls"),
    *("History.unread", "LLMMock._embedding_states", "LLMMock._models", "LLMMock._models_by_kind"),
    *("LLMMock._problems", "LLMMock._refusals", "LLMMock.called", "LLMMock.requested_models"),
    *("LLMMock.stored_objects", "Script._queues", "Script.embeddings", "Script.errors"),
    *("Script.latencies", "Script.misbehaviour", "Script.prices", "Script.standing"),
    "Script.unknown",
)


def describe(mock: LLMMock) -> dict[str, Any]:
    """Return what a mock holds: plain values, and the sizes of containers."""
    held: dict[str, Any] = {}
    for owner in (mock, mock.history, mock.configurator, mock.configurator.replies):
        for name, value in vars(owner).items():
            if value is None or isinstance(value, (str, int, float)):
                held[f"{type(owner).__name__}.{name}"] = value
            elif isinstance(value, Sized):
                held[f"{type(owner).__name__}.{name}"] = len(value)
    return held


def test_a_mock_that_is_reset_is_as_a_new_one() -> None:
    mock = LLMMock(at_boundary=True)
    before = describe(mock)
    previous = activate(mock)
    try:
        use_everything(mock)
    finally:
        activate(previous)
    # A call without a reply is no answer, and a malformed request is no call.
    responses = [call["response"] for call in mock.calls]
    assert responses == [None, "Hello", "Hello", "once", None, "Hello", "Hello"]
    assert mock.problems
    used = describe(mock)
    assert not [name for name in USED if used[name] == before[name]]
    mock.reset()
    # Positions of queued replies go on.
    assert describe(mock) == {**before, "Script._next_position": used["Script._next_position"]}


def use_everything(mock: LLMMock) -> None:
    """Make a mock hold something of each kind."""
    mock.note_refusal("refused")
    settings = mock.settings
    mock.settings = settings._replace(strict="error")
    with pytest.raises(LLMMockError):
        llm.get_model("nobody").prompt("Hello").text()
    mock.settings = settings
    mock.set("m", "Hello")
    mock.set("m", {"a": 1}, schema={"type": "object", "properties": {"a": {"type": "integer"}}})
    mock.set("*", "Any")
    mock.set("e", [1.0])
    mock.set_embedding("e", "Hello", [1.0])
    mock.add("n", "once", prompt="One")
    mock.add("n", "never")
    mock.set_error("broken", ValueError("no"))
    mock.set_latency("m", Latency(first_chunk=1))
    mock.set_price("m", input=1, output=1)
    mock.set_unknown("gone")
    mock.misbehave("fenced-json")
    llm.get_model("m").prompt("Hello").text()
    llm.get_model("m").prompt("never read")
    llm.get_model("n").prompt("One").text()
    with pytest.raises(ValueError, match="no"):
        llm.get_model("broken").prompt("Hello").text()
    llm.get_embedding_model("e").embed("Hello")
    with openai.OpenAI(api_key="none", max_retries=0) as client:
        answer = client.responses.create(model="m", input="Hello")
        client.responses.create(model="m", input="More", previous_response_id=answer.id)
        with pytest.raises(openai.BadRequestError):
            client.responses.create(model="m", input="Hello", temperature="hot")  # type: ignore[call-overload]


def test_a_mock_that_keeps_few_calls_forgets_all_about_the_others() -> None:
    mock = LLMMock()
    mock.history.limit = 2
    mock.set("kept", "standing")
    for number in range(4):
        mock.add(f"m{number}", "Hello")
        mock.get_model(f"m{number}").prompt(f"{number}").text()
    mock.get_model("kept").prompt("4").text()
    assert [call["number"] for call in mock.calls] == [4, 5]
    assert mock.history.number_of_calls == 5
    assert {call["prompt"] for call in mock.get_model("m3").call_history} == {"3"}
    assert set(mock.history.answered_by) <= {4, 5}
    assert describe(mock)["History._states"] == 2


def test_a_reply_that_is_used_up_is_kept_no_longer() -> None:
    mock = LLMMock()
    before = describe(mock)
    mock.add("m", "Hello", times=2)
    mock.get_model("m").prompt("One").text()
    assert describe(mock)["Script._queues"] == 1
    mock.get_model("m").prompt("Two").text()
    assert describe(mock)["Script._queues"] == before["Script._queues"] == 0


def test_a_standing_reply_that_is_replaced_is_the_latest() -> None:
    mock = LLMMock()
    for text, prompt in (("first", "Hello"), ("second", "World"), ("third", "Hello")):
        mock.set("m", text, prompt=prompt)
        assert mock.get_model("m").prompt("Hello World").text() == text
    assert len(mock.configurator.replies.conditional) == 2


class Unhashable:
    """A value that equals others with the same number, and has no hash."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashable) and self.number == other.number


def test_conditions_without_a_hash_are_the_same_if_they_are_equal() -> None:
    mock = LLMMock()
    for number in (1, 1, 2):
        mock.set("m", "Hello", options={"seed": Unhashable(number)})
    assert len(mock.configurator.replies.conditional) == 2


def test_a_mock_that_is_reset_has_the_quotas_of_its_parent_again() -> None:
    parent = LLMMock()
    parent.set_quota("m", rpm=1)
    mock = LLMMock(parent=parent)
    for _ in range(2):
        mock.get_model("m").prompt("Hello").text()
        with pytest.raises(llm.ModelError, match="Rate limit reached"):
            mock.get_model("m").prompt("Hello").text()
        mock.reset()


def test_a_response_is_unread_until_its_text_is_read(mock_llm_calls: LLMMock) -> None:
    unread = mock_llm_calls.history.unread
    model = llm.get_model("m")
    first, second = model.prompt("One"), model.prompt("Two", stream=False)
    third = model.conversation().prompt("Three")
    assert len(unread) == 3
    first.text()
    assert len(unread) == 2
    second.json()
    assert len(unread) == 1
    list(third)
    assert not unread
