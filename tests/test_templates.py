"""Replies for common patterns."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable
from typing import Any

import anthropic
import llm
import openai
import pytest
from pydantic import BaseModel

import llm_mock
from llm_mock import InvalidReply, InvalidToolCall, LLMMock, Reply, create_mock_get_model, templates


class Person(BaseModel):
    name: str
    age: int


def weather(city: str) -> str:
    return f"{city}: sunny"


def answer(reply: Any, **arguments: Any) -> Any:
    """Return the response of a model that answers with a reply."""
    return create_mock_get_model({"m": reply})("m").prompt("Hi", **arguments)


NAMES = (
    "classification, extraction, yes_no, tool_call, refusal, truncated, long_answer, rate_limit, "
    "overloaded, server_error, context_overflow, authentication, timeout, no_connection"
)


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("rate_limits", "; did you mean 'rate_limit'?"),
        ("api_error", "; did you mean 'server_error'?"),
        ("service_unavailable", "; did you mean 'overloaded'?"),
        ("weather", f"; known are {NAMES}"),
    ],
)
def test_a_template_that_does_not_exist_is_told_with_those_that_do(name: str, end: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(templates, name)
    assert str(caught.value) == f"module 'llm_mock.templates' has no attribute {name!r}{end}"


@pytest.mark.parametrize(
    ("reply", "data"),
    [
        (templates.classification("spam"), {"label": "spam"}),
        (
            templates.classification("spam", confidence=0.9, field="category"),
            {"category": "spam", "confidence": 0.9},
        ),
        (templates.extraction(), {"items": []}),
        (
            templates.extraction({"name": "Ada"}, {"name": "Bob"}),
            {"items": [{"name": "Ada"}, {"name": "Bob"}]},
        ),
        (
            templates.extraction(Person(name="Ada", age=36), field="people"),
            {"people": [{"name": "Ada", "age": 36}]},
        ),
        (templates.yes_no(True, "It is named."), {"answer": True, "reason": "It is named."}),
        (
            templates.yes_no(False, "It is not.", field="passed"),
            {"passed": False, "reason": "It is not."},
        ),
    ],
    ids=str,
)
def test_a_structured_template_is_data(reply: Reply, data: dict[str, Any]) -> None:
    assert answer(reply).json() == data
    assert answer(reply).text() == json.dumps(data)


def test_an_extraction_is_what_a_schema_of_several_asks_for() -> None:
    many = llm.schema_dsl("name, age int", multi=True)
    assert list(many["properties"]) == ["items"]
    assert (
        answer(templates.extraction({"name": "Ada", "age": 36}), schema=many).json()["items"][0][
            "age"
        ]
        == 36
    )


def test_every_template_takes_what_a_reply_takes() -> None:
    details: dict[str, Any] = {
        "usage": {"input_tokens": 5, "output_tokens": 6},
        "resolved_model": "m-2026",
    }
    replies = [
        templates.classification("spam", **details),
        templates.extraction(**details),
        templates.yes_no(True, "x", **details),
        templates.refusal(**details),
        templates.truncated("abc", **details),
        templates.long_answer(3, **details),
    ]
    for reply in replies:
        response = answer(reply)
        response.text()
        assert (response.input_tokens, response.output_tokens, response.resolved_model) == (
            5,
            6,
            "m-2026",
        )


def test_a_tool_call_then_an_answer_is_one_standing_answer() -> None:
    get_model = create_mock_get_model(
        {"m": templates.tool_call("weather", {"city": "Rome"}, then="It is sunny.")}
    )
    for _ in range(2):
        chain = get_model("m").chain("How is it?", tools=[weather])
        assert chain.text() == "It is sunny."
        assert [len(response.tool_calls()) for response in chain._responses] == [1, 0]
        (result,) = chain._responses[1].prompt.tool_results
        assert result.output == "Rome: sunny"

    async def ask() -> str:
        return str(await get_model.get_async_model("m").chain("How is it?", tools=[weather]).text())

    assert asyncio.run(ask()) == "It is sunny."


@pytest.mark.parametrize(
    ("then", "text"),
    [
        (lambda prompt: f"It says {prompt.tool_results[0].output}.", "It says Rome: sunny."),
        ({"sunny": True}, '{"sunny": true}'),
        (Reply("Sunny."), "Sunny."),
    ],
    ids=["function", "data", "reply"],
)
def test_the_answer_may_be_any_reply(then: Any, text: str) -> None:
    get_model = create_mock_get_model()
    get_model.add("m", templates.tool_call("weather", {"city": "Rome"}, then=then), times=2)
    assert get_model("m").chain("How is it?", tools=[weather]).text() == text
    get_model.assert_all_replies_used()


def test_the_answer_may_come_from_a_coroutine_function() -> None:
    async def then(prompt: llm.Prompt) -> str:
        return "later"

    get_model = create_mock_get_model(
        {"m": templates.tool_call("weather", {"city": "Rome"}, then=then)}
    )
    assert get_model("m").chain("How is it?", tools=[weather]).text() == "later"


def test_a_tool_call_is_checked_like_any_other() -> None:
    get_model = create_mock_get_model({"m": templates.tool_call("wether", then="x")})
    with pytest.raises(InvalidToolCall, match="'wether', which the call does not offer"):
        get_model("m").chain("How is it?", tools=[weather]).text()
    with pytest.raises(InvalidReply, match="This is not a reply"):
        templates.tool_call("weather", then=3)


def test_a_tool_call_can_be_sent_to_another_process() -> None:
    reply = templates.tool_call("weather", {"city": "Rome"}, then="It is sunny.")
    assert pickle.loads(pickle.dumps(reply)).then == "It is sunny."


def test_a_refusal_breaks_no_rule_of_the_mock(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m", templates.refusal())
    # The plugins of llm read no refusals.
    assert llm.get_model("m").prompt("Who?", schema=Person).text() == ""
    assert templates.refusal().content == "I'm sorry, but I can't help with that."
    assert templates.refusal("No.").content == "No."


def test_a_truncated_answer_says_why_it_ended() -> None:
    response = answer(templates.truncated("The answer is 42."))
    assert response.text() == "The answ"
    assert response.json() == {
        "content": "The answ",
        "role": "assistant",
        "finish_reason": "length",
    }
    assert answer(templates.truncated("The answer is 42.", after=3)).text() == "The"
    assert answer(
        templates.truncated("ab", response_json={"stop_reason": "max_tokens"})
    ).json() == {"stop_reason": "max_tokens"}


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_sdk_gets_the_reason_of_a_truncated_answer(
    reason: str, mock_llm_responses: LLMMock
) -> None:
    given = {} if reason == "length" else {"finish_reason": reason}
    mock_llm_responses.set("*", templates.truncated("The answer is 42.", **given))
    messages: Any = [{"role": "user", "content": "What?"}]
    completion = openai.OpenAI().chat.completions.create(model="gpt-4o", messages=messages)
    [choice] = completion.choices
    assert (choice.message.content, choice.finish_reason) == ("The answ", reason)


def test_a_truncated_structured_answer_is_no_json() -> None:
    for content in ({"name": "Ada", "age": 36}, Person(name="Ada", age=36)):
        assert answer(templates.truncated(content), schema=Person).text() == '{"name": "Ada'


@pytest.mark.parametrize("words", [0, 1, 9, 68, 1000])
def test_a_long_answer_has_that_many_words_and_streams_them(words: int) -> None:
    text = answer(templates.long_answer(words)).text()
    assert len(text.split()) == words
    assert text == answer(templates.long_answer(words)).text().strip()
    chunks = list(create_mock_get_model({"m": templates.long_answer(words)})("m").prompt("Hi"))
    assert len(chunks) == words
    assert "".join(chunks) == text


def test_a_long_answer_has_a_thousand_words_in_paragraphs() -> None:
    text = answer(templates.long_answer()).text()
    first, second, *_ = text.split("\n\n")
    assert first == second
    assert len(text.split()) == 1000


def test_the_templates_are_a_module_of_the_package() -> None:
    assert llm_mock.templates is templates


ERRORS: list[tuple[Callable[..., Reply], str, str, type[Exception]]] = [
    (templates.rate_limit, "RateLimitError", "RateLimitError", llm.ModelError),
    (templates.overloaded, "InternalServerError", "OverloadedError", llm.ModelError),
    (templates.server_error, "InternalServerError", "InternalServerError", llm.ModelError),
    (templates.context_overflow, "BadRequestError", "BadRequestError", llm.ModelError),
    (templates.authentication, "AuthenticationError", "AuthenticationError", llm.ModelError),
    (templates.timeout, "APITimeoutError", "APITimeoutError", TimeoutError),
    (templates.no_connection, "APIConnectionError", "APIConnectionError", ConnectionRefusedError),
]


@pytest.mark.parametrize(("template", "of_openai", "of_anthropic", "other"), ERRORS)
def test_an_error_is_that_of_whoever_asks(
    template: Callable[..., Reply],
    of_openai: str,
    of_anthropic: str,
    other: type[Exception],
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set_error("*", template())
    expected = {"gpt-4o-mini": (openai, of_openai), "claude-sonnet-4.5": (anthropic, of_anthropic)}
    for model, (sdk, name) in expected.items():
        with pytest.raises(getattr(sdk, name, anthropic.InternalServerError)):
            llm.get_model(model).prompt("Hi").text()
    with pytest.raises(other):
        llm.get_model("nobody/knows").prompt("Hi").text()
    question: Any = [{"role": "user", "content": "Hi"}]
    with openai.OpenAI(max_retries=0) as client, pytest.raises(getattr(openai, of_openai)):
        client.chat.completions.create(model="nobody/knows", messages=question)
    with (
        anthropic.Anthropic(max_retries=0) as claude,
        pytest.raises(getattr(anthropic, of_anthropic, anthropic.InternalServerError)),
    ):
        claude.messages.create(model="nobody/knows", messages=question, max_tokens=9)


def test_a_rate_limit_says_when_to_try_again_and_the_next_reply_comes(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.script("gpt-4o-mini", templates.rate_limit(retry_after=7), "at last")
    for error in (templates.rate_limit(), templates.overloaded(retry_after=3)):
        mock_llm_responses.set_error("gpt-4o", error)
        assert mock_llm_responses.configurator.replies.errors["gpt-4o"].answer is error
    with pytest.raises(openai.RateLimitError) as caught:
        llm.get_model("gpt-4o-mini").prompt("Hi").text()
    assert caught.value.response.headers["retry-after"] == "7"
    assert llm.get_model("gpt-4o-mini").prompt("Hi").text() == "at last"
    with pytest.raises(openai.InternalServerError) as overloaded:
        llm.get_model("gpt-4o").prompt("Hi").text()
    assert overloaded.value.response.headers["retry-after"] == "3"


def test_an_error_of_the_provider_comes_in_the_middle_of_a_stream(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("gpt-4o-mini", templates.timeout(chunks=["Hel", "lo"], error_after=1))
    chunks = iter(llm.get_model("gpt-4o-mini").prompt("Hi"))
    assert next(chunks) == "Hel"
    with pytest.raises(openai.APITimeoutError):
        next(chunks)
    assert mock_llm_responses.last_call["error"] == "Request timed out."


def test_an_error_of_the_provider_is_raised_for_embeddings_too(mock_llm_responses: LLMMock) -> None:
    model = mock_llm_responses.get_embedding_model("text-embedding-3-small")
    model.set_error(templates.rate_limit())
    with pytest.raises(openai.RateLimitError):
        llm.get_embedding_model("text-embedding-3-small").embed("a")
    with openai.OpenAI(max_retries=0) as client, pytest.raises(openai.RateLimitError):
        client.embeddings.create(model="text-embedding-3-small", input="a")
    assert [str(call["error"])[:15] for call in model.call_history] == ["Error code: 429"] * 2
    with pytest.raises(InvalidReply, match="this reply has none"):
        model.set_error(Reply("an answer"))


def test_an_error_of_the_provider_can_be_sent_to_another_process_and_is_shown_by_its_kind() -> None:
    get_model = create_mock_get_model()
    get_model.set_error("m", pickle.loads(pickle.dumps(templates.rate_limit(retry_after=2))))
    [configured] = get_model.configurator.replies.get_configured()
    assert configured.text().startswith("m  → raises the provider's error (rate limit)")
    with pytest.raises(llm.ModelError, match=r"try again in 2s"):
        get_model("m").prompt("Hi")


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (openai.RateLimitError, "rate_limit"),
        (openai.InternalServerError, "server_error"),
        (openai.BadRequestError, "context_overflow"),
        (openai.AuthenticationError, "authentication"),
        (openai.APITimeoutError, "timeout"),
        (openai.APIConnectionError, "no_connection"),
        (anthropic.RateLimitError, "rate_limit"),
    ],
)
def test_an_error_that_cannot_be_made_names_the_template(error: type[Exception], name: str) -> None:
    get_model = create_mock_get_model()
    for method in (get_model.set_error, get_model.set, get_model.add):
        with pytest.raises(
            InvalidReply, match=rf"cannot be raised without arguments .* Pass templates\.{name}\(\)"
        ):
            method("m", error)
    with pytest.raises(InvalidReply, match=r"Pass an instance of it\.$"):
        get_model.set_error("m", openai.NotFoundError)
    with pytest.raises(InvalidReply, match="this reply has none"):
        get_model.set_error("m", Reply("an answer"))


def test_an_editor_offers_only_templates() -> None:
    names = dir(templates)
    assert "rate_limit" in names
    assert [name for name in names if name.startswith("_") or name in ("Reply", "cycle")] == []
    assert all(callable(getattr(templates, name)) for name in names)
