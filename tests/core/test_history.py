"""The record of a call."""

from __future__ import annotations

import json
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

import llm
import pytest
from pydantic import BaseModel, Field

from llm_mock import Latency, LLMMock, MockLLMModel, create_mock_get_model
from llm_mock.behaviour.mutations import MutationObserver
from llm_mock.boundaries.llm.request import LLMRequest
from llm_mock.cassettes import Cassette
from llm_mock.cassettes.recording import Recording
from llm_mock.core.call import Call, restore_call
from llm_mock.core.history import History
from llm_mock.core.observation import observe
from llm_mock.core.records import format_call, format_request
from llm_mock.core.request import to_plain_json

KEY = "sk-proj-aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5"


class Answer(BaseModel):
    value: int


class Aliased(BaseModel):
    city: Path = Field(alias="cityName")


def test_reset_history_forgets_the_calls_of_one_model() -> None:
    get_model = create_mock_get_model({"a": "A"})
    get_model("a").prompt("Hi")
    get_model("b").prompt("Hi")
    get_model("a").reset_history()
    assert (
        get_model("a").prompt_count,
        get_model("a").call_history,
        get_model("b").prompt_count,
    ) == (0, [], 1)
    assert [call["model_id"] for call in get_model.calls] == ["b"]
    assert get_model("a").prompt("Hi").text() == "A"


def test_reset_forgets_models_calls_and_replies() -> None:
    get_model = create_mock_get_model({"a": "A"})
    before = get_model("a")
    before.prompt("Hi")
    get_model.set_unknown("b")
    get_model.reset()
    assert (get_model.models, get_model.calls, before.prompt_count) == ({}, [], 0)
    assert get_model("a") is not before
    assert get_model("a").prompt("Hi").json() == {"success": True}
    assert get_model("b").model_id == "b"


def test_history_is_a_snapshot() -> None:
    passed: dict[str, Any] = {"nested": [1]}
    model = MockLLMModel("m")
    model.prompt("Hi", custom=passed)
    passed["nested"].append(2)
    assert model.call_history[0]["kwargs"]["custom"] == {"nested": [1]}


def test_each_call_has_its_time_to_the_microsecond() -> None:
    model = create_mock_get_model()("m")
    for _ in range(2):
        start = datetime.now()
        model.prompt("Hello").text()
        call = model.call_history[-1]
        moment = datetime.fromisoformat(call["timestamp"])
        assert start <= moment <= datetime.now()


def test_history_is_json_whatever_was_passed(tmp_path: Path) -> None:
    get_model = create_mock_get_model()
    attachment = llm.Attachment(type="text/plain", content=b"secret bytes")
    get_model("m").prompt(
        "Hi",
        a=object(),
        b=Answer(value=1),
        c={1: {2}},
        d=Answer,
        e=Aliased(cityName=Path("Bern")),
        attachments=[attachment],
    )
    record = json.loads(json.dumps(get_model.calls))[0]
    assert record["kwargs"] | {"attachments": None} == {
        "schema": None,
        "temperature": 0.0,
        "max_tokens": 1000,
        "model": "m",
        "a": "<object>",
        "b": {"value": 1},
        "c": {"1": [2]},
        "d": "Answer",
        "e": {"cityName": "Bern"},
        "attachments": None,
    }
    assert "secret" not in str(record)


def test_the_schema_and_the_tools_are_recorded_whole_beside_their_names() -> None:
    def look_up(word: str) -> str:
        """Look a word up."""
        return word

    schema = {"title": "Found", "type": "object", "properties": {"at": {"type": "integer"}}}
    model = MockLLMModel("m", {"at": 1, "value": 1})
    model.prompt("Hi", schema=schema, tools=[look_up])
    schema["properties"] = {}
    call = model.last_call
    assert (call["kwargs"]["schema"], call["kwargs"]["tools"]) == ("Found", ["look_up"])
    assert call["schema"] == {
        "title": "Found",
        "type": "object",
        "properties": {"at": {"type": "integer"}},
    }
    [tool] = call["tools"]
    assert (tool["name"], tool["description"]) == ("look_up", "Look a word up.")
    assert tool["input_schema"]["properties"] == {"word": {"type": "string"}}
    model.prompt("Hi")
    assert (model.last_call["schema"], model.last_call["tools"]) == (None, [])
    model.prompt("Hi", schema=Answer)
    assert (model.last_call["schema"] or {})["properties"]["value"]["type"] == "integer"


def test_a_plain_copy_shows_no_addresses() -> None:
    assert to_plain_json([object(), MockLLMModel("m"), Path("a")]) == [
        "<object>",
        "<MockLLMModel: m>",
        repr(Path("a")),
    ]


def test_every_model_in_order_of_the_calls() -> None:
    get_model = create_mock_get_model()
    for name in ("b", "a", "b"):
        get_model(name).prompt(name)
    assert [call["model_id"] for call in get_model.calls] == ["b", "a", "b"]
    assert [len(get_model.calls_of(name)) for name in ("a", "b", "c")] == [1, 2, 0]
    get_model.script("a", "first", "second")
    assert repr(get_model) == "<LLMMock: 2 replies available, 3 calls>"


def test_a_call_is_shown_on_one_short_line() -> None:
    get_model = create_mock_get_model()
    get_model("b").prompt("Hello\nthere")
    get_model("b").prompt("Hello\n" * 9_999)
    short, long = map(repr, get_model.calls)
    assert short == "<Call 1: b 'Hello\\nthere'>"
    assert long.startswith("<Call 2: b 'Hello\\nHello")
    assert len(long) < 200
    hostile = Call(number=3, model_id=f"a\nb {KEY} " + "x" * 3_000, prompt="Hi")
    assert len(repr(hostile).splitlines()) == 1
    assert len(repr(hostile)) < 200
    assert KEY not in repr(hostile)
    results = {"tool_results": [{"name": "weather", "output": "sunny"}]}
    assert repr(Call(number=4, model_id="b", prompt="", kwargs=results)) == (
        '<Call 4: b ["sunny"]>'
    )
    assert repr(Call()) == "<Call None: None []>"


def test_no_call_of_many_threads_is_lost() -> None:
    get_model = create_mock_get_model()
    get_model.add("m", "queued", times=16_000)
    answers: list[str] = []

    def ask(thread: int) -> None:
        for number in range(1000):
            answers.append(get_model("m").prompt(f"{thread}:{number}").text())

    threads = [threading.Thread(target=ask, args=(thread,)) for thread in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert get_model("m").prompt_count == 32_000
    assert answers.count("queued") == 16_000
    for number in range(32):
        own = [
            call["prompt"] for call in get_model.calls if call["prompt"].startswith(f"{number}:")
        ]
        assert own == [f"{number}:{call}" for call in range(1000)]


def test_long_prompts_and_many_calls_are_cut_in_messages() -> None:
    model = MockLLMModel("m", "y" * 1000)
    for number in range(30):
        model.prompt(f"{number} {'x' * 1000}")
    with pytest.raises(AssertionError) as caught:
        model.assert_called_with("z")
    lines = str(caught.value).splitlines()
    assert lines[3] == "  … 10 earlier calls"
    assert len(lines) == 24
    assert max(len(line) for line in lines) < 300


def test_calls_that_are_alike_are_shown_once() -> None:
    mock = create_mock_get_model({"m": "Hello"})
    for prompt in ["Hi", "Again", "Again", "Bye", "Bye", "Bye", "Hi"]:
        mock("m").prompt(prompt)
    with pytest.raises(AssertionError) as caught:
        mock.assert_not_called()
    assert str(caught.value).splitlines()[2:] == [
        "  1. m  'Hi'  → 'Hello'",
        "  2. m  'Again'  → 'Hello'",
        "  3. m  'Again'  → 'Hello'",
        "  4. m  'Bye'  → 'Hello'",
        "  5 to 6. the same",
        "  7. m  'Hi'  → 'Hello'",
    ]


def test_reset_forgets_all_that_a_test_configured() -> None:
    get_model = create_mock_get_model({"m": "text"})
    get_model.set_price("m", 1, 1)
    get_model.set_latency("m", Latency(first_chunk=1))
    get_model.set_unknown("n")
    get_model.misbehave("rate-limit")
    get_model.reset()
    assert (get_model.prices, get_model.misbehaviour) == ((), None)
    response = get_model("m").prompt("Hi")
    assert json.loads(response.text()) == {"success": True}
    assert response.duration_ms() < 1000
    assert get_model("n").prompt("Hi").json() == {"success": True}


@pytest.mark.parametrize(("own", "test"), [(None, "a.py::waits"), ("b.py::calls", "b.py::calls")])
def test_a_call_of_another_process_is_of_its_own_test_or_of_the_one_that_gets_it(
    own: str | None, test: str
) -> None:
    history = History()
    history.test = "a.py::waits"
    history.receive(restore_call({"model_id": "m"}, test=own))
    [call] = history.calls
    assert (call.test, call["number"]) == (test, 1)


def test_the_line_of_a_call_has_the_first_one_of_its_error() -> None:
    model = create_mock_get_model({"a": ValueError("two reasons:\nfirst\nsecond")})("a")
    with pytest.raises(ValueError, match="two reasons"):
        model.prompt("Hi")
    [call] = model.call_history
    assert format_call(call) == "a  'Hi'  \N{RIGHTWARDS ARROW} raised: two reasons"


def test_the_line_of_a_call_has_the_results_of_tools_in_place_of_an_empty_prompt() -> None:
    results = [{"name": "weather", "output": "sunny"}]
    kwargs = {"schema": None, "tool_results": results}
    call = restore_call({"model_id": "m", "prompt": "", "kwargs": kwargs})
    assert format_request(call) == "m  weather returned 'sunny'"
    asked = restore_call({"model_id": "m", "prompt": "Hi", "kwargs": kwargs})
    assert format_request(asked) == "m  'Hi', weather returned 'sunny'"


def test_an_observer_is_told_of_the_call_that_is_made_for_real(tmp_path: Path) -> None:
    mock = LLMMock()
    prompt = llm.models.Prompt("Hi", model=mock.get_model("m"))
    request = LLMRequest("m", prompt, None, None)
    # For a mock that is not ignored, the mode of the cassette is enough.
    observer = MutationObserver(lambda mock: True)
    with observe(observer):
        mock.answer(request)
        assert not observer.has_real_calls
        mock.cassette = Cassette(tmp_path / "calls.yaml", "all")
        assert isinstance(mock.answer(request), Recording)
    assert observer.has_real_calls
