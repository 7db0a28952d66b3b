"""A recording of one library answers the same request of another one."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
import pytest

from tests.cassettes.conftest import Run
from tests.provider_server import ARGUMENTS, KEY, TEXT, ProviderServer


def user(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def test_an_answer_is_replayed_by_another_api_and_in_another_way(
    run: Run, provider: ProviderServer
) -> None:
    run("all", lambda: [chat_of("some-model", provider.url, "You think", False) for _ in range(3)])

    def otherwise() -> list[Any]:
        chunks = chat_of("some-model", provider.url, "You think", True)
        with anthropic.Anthropic(base_url=provider.url, api_key=KEY) as client:
            message = client.messages.create(
                model="some-model", max_tokens=9, messages=user("You think")
            )
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY) as client:
            response = client.responses.create(
                model="some-model", input="You think", max_output_tokens=9
            )
        streamed = "".join(
            chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices
        )
        return [
            streamed,
            [block.type for block in message.content],
            message.usage.output_tokens,
            response.output_text,
        ]

    assert run("none", otherwise) == [TEXT, ["thinking", "text"], 7, TEXT]


def chat_of(model: str, url: str, text: str, stream: bool) -> Any:
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        answer = client.chat.completions.create(
            model=model, max_tokens=9, messages=user(text), stream=stream
        )
        return list(answer) if stream else answer


class ThroughLLM:
    """A model of `llm`'s OpenAI plugin that asks the provider."""

    def __init__(self, url: str) -> None:
        from llm.default_plugins.openai_models import Chat

        self.model = Chat(
            "gpt-4o", key=KEY, api_base=f"{url}/v1", supports_tools=True, supports_schema=True
        )

    def ask(self, text: str, stream: bool = False, **more: Any) -> Any:
        response = self.model.prompt(text, stream=stream, **more)
        response.text()
        return response


def test_what_llm_recorded_answers_an_sdk_that_asks_the_same(
    run: Run, provider: ProviderServer
) -> None:
    through_llm = ThroughLLM(provider.url)

    def record() -> None:
        through_llm.ask("Hello", system="Be brief.", temperature=0.5, max_tokens=9)
        through_llm.ask("Hello", stream=True)
        with pytest.raises(openai.RateLimitError):
            through_llm.ask("a fail")

    def ask() -> list[Any]:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            create = client.chat.completions.create
            said = [{"role": "system", "content": "Be brief."}, *user("Hello")]
            whole = create(model="gpt-4o", messages=said, temperature=0.5, max_completion_tokens=9)
            chunks = list(create(model="gpt-4o", messages=user("Hello"), stream=True))
            with pytest.raises(openai.RateLimitError) as caught:
                create(model="gpt-4o", messages=user("a fail"))
        texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
        error = caught.value
        return [whole, texts, error.code, error.response.headers["retry-after"]]

    run("all", record)
    sent = len(provider.requests)
    whole, texts, *error = run("none", ask)
    assert (
        whole.choices[0].message.content,
        whole.usage.prompt_tokens,
        whole.usage.completion_tokens,
    ) == (TEXT, 11, 7)
    assert whole.usage.completion_tokens_details.reasoning_tokens == 3
    assert [text for text in texts if text] == [
        TEXT[start : start + 5] for start in range(0, len(TEXT), 5)
    ]
    assert error == ["rate_limit_exceeded", "0.01"]
    assert (run.problems, len(provider.requests)) == ([], sent)


def test_what_an_sdk_recorded_answers_llm_where_it_asks_the_same(
    run: Run, provider: ProviderServer
) -> None:
    def record() -> Any:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            create = client.chat.completions.create
            whole = create(model="gpt-4o", messages=user("Hello"), max_completion_tokens=9)
            list(
                create(
                    model="gpt-4o",
                    messages=user("Hello"),
                    stream=True,
                    stream_options={"include_usage": True},
                )
            )
            with pytest.raises(openai.RateLimitError) as caught:
                create(model="gpt-4o", messages=user("a fail"))
            said = [*user("Hello"), {"role": "assistant", "content": TEXT}, *user("Sure?")]
            create(model="gpt-4o", messages=said)
            return whole, caught.value

    def ask() -> None:
        through_llm = ThroughLLM(provider.url)
        answer = through_llm.ask("Hello", max_tokens=9)
        assert (answer.text(), answer.usage().input, answer.usage().output) == (TEXT, 11, 7)
        assert answer.usage().details["completion_tokens_details"] == {"reasoning_tokens": 3}
        assert answer.response_json == {**whole.model_dump(exclude_unset=True)}
        conversation = through_llm.model.conversation()
        streamed = conversation.prompt("Hello", stream=True)
        assert [*streamed] == [TEXT[start : start + 5] for start in range(0, len(TEXT), 5)]
        assert conversation.prompt("Sure?", stream=False).text() == TEXT
        with pytest.raises(openai.RateLimitError) as caught:
            through_llm.ask("a fail")
        assert (caught.value.status_code, caught.value.body) == (429, error.body)

    whole, error = run("all", record)
    run("none", ask)
    assert (run.problems, len(provider.requests)) == ([], 4)


def test_a_conversation_of_llm_answers_an_sdk_that_says_all_of_it(
    run: Run, provider: ProviderServer
) -> None:
    def weather(city: str, days: float) -> str:
        """Says the weather."""
        return "warm"

    def record() -> None:
        model = ThroughLLM(provider.url).model
        conversation = model.conversation()
        conversation.prompt("Hello", stream=False).text()
        conversation.prompt("Sure?", stream=False).text()
        call = model.prompt("A tool", tools=[weather], stream=False)
        call.text()

    def ask(earlier: str) -> list[Any]:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            create = client.chat.completions.create
            said = [*user("Hello"), {"role": "assistant", "content": earlier}, *user("Sure?")]
            parameters = provider.requests[-1]["tools"][0]["function"]["parameters"]
            function = {
                "name": "weather",
                "description": "Says the weather.",
                "parameters": parameters,
            }
            tools = [{"type": "function", "function": function}]
            called = create(model="gpt-4o", messages=user("A tool"), tools=tools).choices[0]
            return [called, create(model="gpt-4o", messages=said).choices[0].message.content]

    run("all", record)
    called, text = run("none", lambda: ask(TEXT))
    assert (called.finish_reason, text) == ("tool_calls", TEXT)
    [call] = called.message.tool_calls
    assert (call.id, call.function.name) == ("call_3", "weather")
    assert json.loads(call.function.arguments) == json.loads(ARGUMENTS)
    with pytest.raises(openai.BadRequestError):
        run("none", lambda: ask("Something else"))
    assert "+  - type: text\n+    text: Something else" in run.problems[0].replace("\n  ", "\n")


def test_a_tool_call_in_a_conversation_of_llm_must_be_the_one_that_an_sdk_says(
    run: Run, provider: ProviderServer
) -> None:
    def record() -> None:
        conversation = ThroughLLM(provider.url).model.conversation()
        conversation.prompt("A tool", stream=False).text()
        conversation.prompt("Sure?", stream=False).text()

    def ask(**changed: str) -> Any:
        function = {"name": "weather", "arguments": ARGUMENTS, **changed}
        made = {"id": "call_x", "type": "function", "function": function}
        answer = {"role": "assistant", "content": None, "tool_calls": [made]}
        said = [*user("A tool"), answer, *user("Sure?")]
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            return client.chat.completions.create(model="gpt-4o", messages=said)

    run("all", record)
    sent = len(provider.requests)
    assert run("none", ask).choices[0].finish_reason == "tool_calls"
    for changed in ({"name": "rain"}, {"arguments": '{"city": "Rome"}'}):
        with pytest.raises(openai.BadRequestError):
            run("none", lambda changed=changed: ask(**changed))
        assert "does not contain this call" in run.problems[0]
    assert len(provider.requests) == sent
