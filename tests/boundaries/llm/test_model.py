"""A mocked model is an `llm` model, with the promises of the specification on top."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from enum import Enum
from typing import Any

import llm
import pytest
import sqlite_utils
from llm.migrations import migrate
from pydantic import BaseModel, ValidationError

from llm_mock import AsyncMockLLMModel, LLMMock, MockLLMModel, Reply, create_mock_get_model
from llm_mock.errors import InvalidReply


class Answer(BaseModel):
    value: int


def test_a_mocked_model_is_a_model_of_llm() -> None:
    get_model = create_mock_get_model()
    assert isinstance(get_model("m"), llm.Model)
    assert isinstance(get_model.get_async_model("m"), llm.AsyncModel)
    assert (
        get_model("m").model_id
        == get_model("m").model_name
        == get_model.get_async_model("m").model_id
        == "m"
    )
    assert str(get_model("m")) == "MockLLMModel: m"


@pytest.mark.parametrize("kind", [MockLLMModel, AsyncMockLLMModel])
def test_a_model_has_an_id_of_its_own_or_of_its_class(kind: type[Any]) -> None:
    named = type("Named", (kind,), {"model_id": "of the class"})
    assert [named().model_id, named("own").model_id, kind().model_id] == ["of the class", "own", ""]
    assert isinstance(named(), kind)
    assert not isinstance(named, kind)


def test_text_usage_and_json_work_as_attribute_and_as_call() -> None:
    response = MockLLMModel("m", "Hello").prompt("Hi")
    assert isinstance(response, llm.Response)
    assert type(response.text()) is str
    assert json.dumps({"text": response.text}) == '{"text": "Hello"}'
    assert response.text.upper() == "HELLO"
    assert dict(response.usage) == {"input_tokens": 1, "output_tokens": 2}
    assert str(response) == response.text_or_raise() == "Hello"


def test_a_text_reply_that_is_json_can_be_read_as_json() -> None:
    assert MockLLMModel("m", '{"a": 1}').prompt("Hi").json() == {"a": 1}


def test_usage_is_deterministic_and_counts_the_system_prompt() -> None:
    model = MockLLMModel("m", "x" * 100)
    assert model.prompt("p" * 30, system="s" * 10).usage == {
        "input_tokens": 10,
        "output_tokens": 25,
    }
    assert model.prompt("").usage["input_tokens"] == 1


@pytest.mark.parametrize("arguments", [("Hello",), {"prompt": "Hello"}, {"prompt_text": "Hello"}])
def test_the_prompt_may_be_passed_by_either_name(arguments: Any) -> None:
    model = MockLLMModel("m")
    model.prompt(**arguments) if isinstance(arguments, dict) else model.prompt(*arguments)
    model.assert_called_with("Hello")


class Greeting(str, Enum):
    HELLO = "Hello"


def test_a_prompt_that_is_an_enumeration_member_is_recorded_by_its_value() -> None:
    get_model = create_mock_get_model()
    get_model("m").prompt(Greeting.HELLO)
    call = get_model.calls[0]
    assert call.prompt == "Hello"
    assert call.messages == [{"role": "user", "text": "Hello"}]


def test_prompt_counts_and_raises_at_once_but_streams_when_read() -> None:
    model = MockLLMModel("m", "Hello")
    done = []
    response = model.prompt("Hi")
    assert model.prompt_count == 1
    response.on_done(done.append)
    assert not done
    assert "".join(response) == "Hello"
    assert done == [response]
    model.default_response = ValueError("bad")
    with pytest.raises(ValueError, match="bad"):
        model.prompt("Hi")


def test_a_lazy_prompt_does_nothing_until_it_is_read() -> None:
    model = MockLLMModel("m", ValueError("bad"))
    response = model.prompt("Hi", lazy=True, custom=1)
    assert model.prompt_count == 0
    with pytest.raises(ValueError, match="bad"):
        response.text()
    assert model.call_history[0]["kwargs"]["custom"] == 1


def test_reading_twice_counts_once() -> None:
    model = MockLLMModel("m")
    response = model.prompt("Hi")
    assert response.text() == response.text() == "".join(response)
    assert model.prompt_count == 1


def test_conversations_and_their_history_are_those_of_llm() -> None:
    get_model = create_mock_get_model({"m": lambda prompt: prompt.prompt.upper()})
    conversation = get_model("m").conversation()
    assert [conversation.prompt(text).text() for text in ("one", "two")] == ["ONE", "TWO"]
    assert [response.text() for response in conversation.responses] == ["ONE", "TWO"]
    assert [call["prompt"] for call in get_model("m").call_history] == ["one", "two"]


@pytest.mark.parametrize("answer", ["Hello", {"value": 1}], ids=["text", "structured"])
@pytest.mark.parametrize("through", ["prompt", "conversation"])
def test_a_response_is_logged_by_llm(answer: Any, through: str) -> None:
    database = sqlite_utils.Database(memory=True)
    migrate(database)
    model = MockLLMModel("m", answer)
    response = (model if through == "prompt" else model.conversation()).prompt(
        "Hi", system="Be brief", temperature=0.5
    )
    response.text()
    response.log_to_db(database)
    (row,) = database["turns" if "turns" in database.table_names() else "responses"].rows
    assert (row["model"], json.loads(row["options_json"])) == ("m", {"temperature": 0.5})
    assert json.loads(row["response_json"] or "null") == (
        answer if isinstance(answer, dict) else None
    )
    database.close()


def test_options_go_where_the_model_declares_them() -> None:
    class Strict(MockLLMModel):
        class Options(llm.Options):
            temperature: float | None = None

    seen: list[llm.Prompt] = []
    model = Strict("m", lambda prompt: seen.append(prompt) or "ok")
    model.prompt("Hi", temperature=0.5, max_tokens=5, model="other")
    assert dict(seen[0].options) == {"temperature": 0.5}
    assert model.call_history[0]["kwargs"] == {
        "schema": None,
        "temperature": 0.5,
        "max_tokens": 5,
        "model": "other",
    }
    with pytest.raises(ValidationError):
        model.conversation().prompt("Hi", max_tokens=5)


def test_a_model_that_nobody_knows_accepts_everything() -> None:
    seen: list[llm.Prompt] = []
    model = MockLLMModel("m", lambda prompt: seen.append(prompt) or {"value": 1})
    attachment = llm.Attachment(type="audio/x-unheard-of", content=b"la")
    model.prompt("Hi", top_p=0.1, attachments=[attachment], schema=Answer, tools=[len_of])
    assert seen[0].options.top_p == 0.1  # type: ignore[attr-defined]
    assert model.attachment_types
    assert "audio/x-unheard-of" in model.attachment_types
    assert model.call_history[0]["kwargs"]["tools"] == ["len_of"]


def len_of(text: str) -> int:
    return len(text)


def test_a_subclass_names_itself() -> None:
    class Fake(MockLLMModel):
        model_id = "fake"

    assert (Fake().model_name, Fake().model_id, Fake("other").model_id) == ("fake", "fake", "other")


def test_both_twins_share_one_history() -> None:
    get_model = create_mock_get_model({"m": "Hello"})

    async def ask() -> str:
        return str(await get_model.get_async_model("m").prompt("async").text())

    assert asyncio.run(ask()) == "Hello"
    get_model("m").prompt("sync")
    assert [call["prompt"] for call in get_model("m").call_history] == ["async", "sync"]
    assert get_model.get_async_model("m").prompt_count == 2


def test_an_async_model_is_lazy_and_streams() -> None:
    get_model = create_mock_get_model({"m": "Hello"})

    async def ask() -> tuple[int, list[str]]:
        response = get_model.get_async_model("m").prompt("Hi")
        return get_model("m").prompt_count, [chunk async for chunk in response]

    assert asyncio.run(ask()) == (0, ["Hello"])


def test_own_models_keep_their_own_state(mock_llm_calls: LLMMock) -> None:
    one, other, factory = (
        MockLLMModel("m", "one"),
        MockLLMModel("m", "other"),
        create_mock_get_model({"m": "made"}),
    )
    assert [model.prompt("Hi").text() for model in (one, other, factory("m"))] == [
        "one",
        "other",
        "made",
    ]
    assert [model.prompt_count for model in (one, other, factory("m"))] == [1, 1, 1]
    assert AsyncMockLLMModel("m").prompt_count == 0
    assert mock_llm_calls.calls == []


def test_messages_alone_are_a_prompt() -> None:
    if not hasattr(llm, "user"):
        pytest.skip("messages= came with llm 0.32")
    model = MockLLMModel("m")
    model.prompt(messages=[llm.system("Be brief"), llm.user("Hello there")])
    assert model.call_history[0]["prompt"] == "Hello there"


@pytest.mark.skipif(not hasattr(llm, "user"), reason="llm < 0.32 has no messages")
def test_the_tokens_of_a_shortened_conversation_are_counted_anew() -> None:
    get_model = create_mock_get_model()
    talk = get_model("m").conversation()
    for text in ("x" * 400, "x"):
        talk.prompt("Go on", messages=[llm.user(text)]).text()
    assert [call["input_tokens"] for call in get_model.calls] == [102, 2]


@pytest.mark.parametrize("lazy", [False, True])
def test_a_response_can_be_logged_before_it_is_read(lazy: bool) -> None:
    database = sqlite_utils.Database(memory=True)
    migrate(database)
    model, done = MockLLMModel("m", "Hello"), []
    response = model.prompt("Hi", lazy=lazy)
    response.on_done(done.append)
    response.log_to_db(database)
    database.close()
    assert response.text() == "Hello"
    assert (done, model.prompt_count) == ([response], 1)


def test_looking_at_a_mock_changes_nothing() -> None:
    get_model = create_mock_get_model()
    get_model.add("m", Reply("queued"))
    model = get_model("m")
    script = pickle.dumps(get_model.configurator.replies)
    for look in (repr, str, copy.copy, copy.deepcopy, dir, vars, bool):
        look(get_model)
        look(model)
        look(get_model.configurator.replies)
    assert pickle.dumps(get_model.configurator.replies) == script
    assert get_model.calls == []
    assert model.prompt("Hi").text() == "queued"


def test_replies_can_be_copied() -> None:
    for reply in (Reply("Hello"), Reply(data={"a": 1}), Reply(error=ValueError("bad"))):
        for copied in (copy.deepcopy(reply), pickle.loads(pickle.dumps(reply))):
            assert (copied.content, repr(copied)) == (reply.content, repr(reply))
            assert copied.raw_json() == reply.raw_json()


def test_a_subclass_need_not_call_the_constructor() -> None:
    class Fake(MockLLMModel):
        model_id = "fake"

        def __init__(self) -> None:
            self.own = 1

    class AsyncFake(AsyncMockLLMModel):
        model_id = "fake"

        def __init__(self) -> None:
            self.own = 1

    one, other = Fake(), Fake()
    one.default_response = "Hello"
    assert one.prompt("Hi").text() == "Hello"
    assert (one.prompt_count, other.prompt_count, one.model_name) == (1, 0, "fake")
    assert asyncio.run(text_of(AsyncFake())) == '{"success": true}'
    assert (str(one), str(AsyncFake())) == ("Fake: fake", "AsyncFake (async): fake")


async def text_of(model: AsyncMockLLMModel) -> str:
    return str(await model.prompt("Hi").text())


def test_a_subclass_may_answer_by_itself() -> None:
    class Own(MockLLMModel):
        def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Any:
            yield "own answer"

    model = Own("m", ValueError("never"))
    assert model.prompt("Hi").text() == model.conversation().prompt("Hi").text() == "own answer"
    assert model.call_history == []


def test_a_subclass_declares_what_it_does_not_support() -> None:
    class Small(MockLLMModel):
        supports_tools = False
        supports_schema = False
        attachment_types = frozenset({"image/png"})

    for arguments in (
        {"tools": [len_of]},
        {"schema": Answer},
        {"attachments": [llm.Attachment(type="audio/wav", content=b"x")]},
    ):
        with pytest.raises(ValueError, match="does not support"):
            Small("m").prompt("Hi", **arguments)


def test_a_patch_of_llm_by_hand_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    model = MockLLMModel("m")
    monkeypatch.setattr(llm.Model, "prompt", lambda self, prompt, **kwargs: f"patched: {prompt}")
    assert model.prompt("Hi") == "patched: Hi"
    assert model.call_history == []


class Plan(BaseModel):
    nodes: list[str]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"schema": Plan, "response": {"nodes": []}}, "schema=Plan"),
        (("m", Plan, {"nodes": []}), "schema=Plan"),
        (("m", None, "Hi"), "schema=…"),
    ],
)
def test_the_ways_of_another_mock_are_answered_with_ours(arguments: Any, named: str) -> None:
    mock = create_mock_get_model()
    with pytest.raises(InvalidReply, match=rf"write set\('m', reply, {named}\)"):
        mock.set_response("m", **arguments) if isinstance(arguments, dict) else mock.set_response(
            *arguments
        )
    with pytest.raises(
        AttributeError, match=r"'call_history'\. The calls of all models are in \.calls"
    ):
        mock.call_history  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'sett'; did you mean 'set'\?$"):
        mock.sett  # noqa: B018


@pytest.mark.parametrize(
    ("value", "shown"),
    [("Paris", "'Paris'"), ({"city": "Rome"}, '{"city": "Rome"}'), (object(), "…"), (7, "…")],
)
def test_the_advice_for_an_assigned_value_shows_a_text_or_a_dict(
    value: object, shown: str, mock_llm_responses: LLMMock
) -> None:
    model = mock_llm_responses.get_model("gpt-4o")
    advice = f"write mock_llm_responses.set('gpt-4o', {shown})."
    with pytest.raises(AttributeError) as caught:
        model.return_value = value
    assert str(caught.value) == f"return_value cannot be assigned; {advice}"
