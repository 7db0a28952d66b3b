"""With ini `llm_mock_production_responses` a response has the payload that it has in production."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import llm
import pytest
from llm.default_plugins import openai_models

from llm_mock import LLMMock, Reply, ToolCall, create_mock_get_model
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.llm.model import create_mock_model
from llm_mock.core.context import set_passthrough

REPLIES = {
    "text": "Hello",
    "data": {"category": "bug"},
    "tool call": Reply(tool_calls=[ToolCall("look_up", {"word": "kiwi"}, "call_1_1")]),
}
MODEL = "gpt-4o-mini"


def look_up(word: str) -> str:
    return word


@pytest.fixture
def raw(mock_llm_calls: LLMMock) -> LLMMock:
    mock_llm_calls.settings = mock_llm_calls.settings._replace(raw_json=True)
    return mock_llm_calls


@pytest.fixture
def let_through() -> Iterator[None]:
    before = set_passthrough([MODEL])
    yield
    set_passthrough(before)


def shape(payload: Any) -> Any:
    """Return a payload without what differs from call to call."""
    if isinstance(payload, list):
        return [shape(item) for item in payload]
    if not isinstance(payload, dict):
        return payload if isinstance(payload, str) else type(payload).__name__
    # The API of responses says of its own accord what it was asked.
    asked = ("tools", "tool_choice")
    return {
        name: "…" if name == "id" else shape(value)
        for name, value in payload.items()
        if name not in asked
    }


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("name", "options"),
    [("Chat", {}), ("Responses", {}), ("Responses", {"chat_completions": True})],
    ids=["Chat", "Responses", "Responses by chat completions"],
)
def test_a_model_of_llms_own_plugin_has_what_the_plugin_keeps(
    name: str,
    options: dict[str, Any],
    stream: bool,
    reply: Any,
    raw: LLMMock,
    let_through: None,
) -> None:
    kind = getattr(openai_models, name, None)
    if kind is None:
        pytest.skip("the installed llm has no such class")
    arguments: dict[str, Any] = {"stream": stream, "tools": [look_up], **options}
    with MockServer(lambda: create_mock_get_model({"*": reply})) as server:
        real = kind(MODEL, key="none", api_base=server.openai_url)
        real.supports_tools = True
        if not options.keys() <= real.Options.model_fields.keys():
            pytest.skip("the installed llm has no such option")
        production = real.prompt("Hi", **arguments)
        production.text()
    raw.set(MODEL, reply)
    mocked = create_mock_model(real, lambda: raw).prompt("Hi", **arguments)
    assert shape(mocked.json()) == shape(production.json())


def test_code_that_reads_data_from_the_payload_fails_as_in_production(raw: LLMMock) -> None:
    raw.set("*", {"category": "bug"})
    for ask in (llm.get_model(MODEL), llm.get_model(MODEL).conversation()):
        with pytest.raises(KeyError):
            ask.prompt("Which?").json()["category"]
    response = llm.get_model("nobody/knows").prompt("Which?")
    assert (response.json(), json.loads(response.text())) == (None, {"category": "bug"})


def test_a_payload_that_the_reply_says_is_given(raw: LLMMock) -> None:
    raw.set("*", Reply(data={"category": "bug"}, response_json={"stop_reason": "end_turn"}))
    assert llm.get_model("nobody/knows").prompt("Which?").json() == {"stop_reason": "end_turn"}


def test_a_project_asks_for_it_by_ini(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm

        def test_it(mock_llm_responses):
            mock_llm_responses.set("*", {"category": "bug"})
            assert llm.get_model("gpt-4o-mini").prompt("Which?").json()["category"] == "bug"
        """
    )
    pytester.runpytest("-o", "llm_mock_production_responses=false").assert_outcomes(passed=1)
    result = pytester.runpytest("-o", "llm_mock_production_responses=true")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*KeyError: 'category'",
            "*LLM calls*",
            (
                "response.json() of llm is the provider's payload, *. To get the data of an "
                "answer, use json.loads(*"
            ),
        ]
    )


@pytest.mark.parametrize(
    ("call", "is_shown"),
    [
        ('llm.get_model("gpt-4o").prompt("Which?").text()', True),
        ('openai.OpenAI().chat.completions.create(model="gpt-4o", messages=MESSAGES)', False),
    ],
)
def test_the_hint_is_for_responses_of_llm(
    call: str, is_shown: bool, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        f"""
        import llm, openai

        MESSAGES = [{{"role": "user", "content": "Which?"}}]

        class Saved:
            def json(self):
                return {{}}

        def test_it(mock_llm_responses):
            mock_llm_responses.set("*", "bug")
            {call}
            assert Saved().json()["category"] == "bug"
        """
    )
    result = pytester.runpytest("-o", "llm_mock_production_responses=true")
    result.assert_outcomes(failed=1)
    assert ("response.json() of llm is" in result.stdout.str()) is is_shown
