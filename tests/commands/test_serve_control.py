"""The control API of `llm-mock serve`, and its tests that run in parallel."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import anthropic
import openai
import pytest
from click.testing import CliRunner

from llm_mock.boundaries.http.http1 import RequestHead
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.http.wire import WireResponse
from llm_mock.cli import main
from llm_mock.commands.serve import MISSING_REPLY_ADVICE, UNUSED_REPLY_ADVICE
from llm_mock.commands.serve_control import LOCAL_RULE
from llm_mock.commands.serve_router import ServeRouter
from llm_mock.commands.serve_script import ServeScript
from llm_mock.commands.serve_tests import MAX_NOTES, ServedTests
from llm_mock.core.settings import Settings
from tests.threads import in_threads

ROUTES = (
    "The control API has POST /_llm_mock/replies, POST /_llm_mock/misbehave, GET /_llm_mock/calls, "
    "GET /_llm_mock/unused, GET /_llm_mock/verdict, POST /_llm_mock/reset, GET /_llm_mock/health."
)
SCRIPT = """
replies:
  - {prompt: weather, text: Sunny., times: 1}
  - {prompt: weather, text: Rainy.}
  - {model: gpt-4o, text: From the script.}
"""
SETTINGS = Settings(
    strict="off",
    autospec=True,
    missing_reply_advice=MISSING_REPLY_ADVICE,
    unused_reply_advice=UNUSED_REPLY_ADVICE,
)


class Client(NamedTuple):
    """A client of a server, whose requests are those of one test."""

    url: str
    test: str | None = None

    def send(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, Any]:
        """Send a request, and return the status and the JSON of its answer."""
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            content = response.read()
            return response.status, json.loads(content) if content else None
        finally:
            connection.close()

    def control(self, method: str, name: str, body: object = None) -> tuple[int, Any]:
        """Send a control request."""
        content = None
        if body is not None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
        prefix = "" if self.test is None else f"/t/{self.test}"
        return self.send(method, f"{prefix}/_llm_mock/{name}", content)

    def get(self, name: str) -> Any:
        """Return the answer to a control request that succeeds."""
        status, answer = self.control("GET", name)
        assert status == 200, answer
        return answer

    def post(self, name: str, body: object = None) -> Any:
        """Return the answer to a control request that succeeds."""
        status, answer = self.control("POST", name, body)
        assert status == 200, answer
        return answer

    def reply(self, *replies: dict[str, Any]) -> None:
        """Set replies."""
        assert self.post("replies", {"replies": replies}) == {"added": len(replies)}

    def ask(self, prompt: str = "Hello", model: str = "gpt-4o", **more: Any) -> str:
        """Ask a model with OpenAI's SDK."""
        prefix = "" if self.test is None else f"/t/{self.test}"
        with openai.OpenAI(
            base_url=f"{self.url}{prefix}/openai/v1", api_key="x", max_retries=0
        ) as client:
            messages: Any = [{"role": "user", "content": prompt}]
            completion = client.chat.completions.create(model=model, messages=messages, **more)
            return completion.choices[0].message.content or ""

    def fails_with(self) -> str:
        """Return the message of a verdict that is not passed."""
        verdict = self.get("verdict")
        assert verdict["passed"] is False
        return str(verdict["message"])


Serve = Callable[..., Client]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Return a function that starts a server in this process, and returns a client of it."""
    servers = []

    def start(script: str | None = None, keep: int = 1_000, **settings: Any) -> Client:
        loaded = None
        if script is not None:
            (tmp_path / "script.yaml").write_text(script)
            loaded = ServeScript(str(tmp_path / "script.yaml"))
        tests = ServedTests(SETTINGS._replace(**settings), loaded, keep, None)
        server = MockServer(lambda: tests.unnamed, keep_alive=True, router=ServeRouter(tests))
        servers.append(server)
        return Client(server.url)

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def client(serve: Serve) -> Client:
    return serve()


# Replies and calls


def test_a_reply_is_set_by_one_request_and_the_call_read_by_another(client: Client) -> None:
    assert client.post("replies", {"replies": [{"text": "Hi!"}]}) == {"added": 1}
    assert client.ask("Hello, model") == "Hi!"
    answer = client.get("calls")
    assert answer["total"] == 1
    [call] = answer["calls"]
    assert (call["number"], call["model_id"], call["prompt"], call["response"]) == (
        1,
        "gpt-4o",
        "Hello, model",
        "Hi!",
    )
    assert call["messages"] == [{"role": "user", "text": "Hello, model"}]
    assert call["request"]["method"] == "POST"
    assert call["request"]["url"] == "https://api.openai.com/v1/chat/completions"
    assert call["request"]["body"]["model"] == "gpt-4o"
    assert (call["test"], call["error"], call["configured"]) == (None, None, True)


def test_each_form_of_a_reply_of_a_script_can_be_set(client: Client) -> None:
    client.reply(
        {"prompt": "text", "text": "A text", "finish_reason": "length"},
        {"prompt": "chunks", "chunks": ["A ", "text"]},
        {"prompt": "data", "data": {"name": "Bern"}},
        {"prompt": "twice", "text": "One", "times": 1},
        {"prompt": "twice", "text": "Two", "times": 1},
        {"prompt": "system", "system": "pirate", "text": "Arr"},
        {"prompt": "body", "body": {"choices": [{"message": {"content": "As is"}}]}},
        {"model": "gpt-*", "text": "Of a glob"},
        {"model": "busy", "error": "rate-limit"},
    )
    asked = ["text", "chunks", "data", "twice", "twice", "system", "body", "anything"]
    assert [client.ask(prompt) for prompt in asked] == [
        "A text",
        "A text",
        '{"name": "Bern"}',
        "One",
        "Two",
        "Of a glob",
        "As is",
        "Of a glob",
    ]
    with pytest.raises(openai.RateLimitError):
        client.ask(model="busy")


def test_a_tool_call_can_be_set(client: Client) -> None:
    client.reply({"tool_calls": {"name": "weather", "arguments": {"city": "Bern"}}})
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    assert client.ask(tools=[tool]) == ""
    [call] = client.get("calls")["calls"]
    assert call["tools"][0]["name"] == "weather"
    assert call["response"]["tool_calls"] == [{"name": "weather", "arguments": {"city": "Bern"}}]


def test_what_is_set_goes_before_the_script_and_the_script_answers_the_rest(serve: Serve) -> None:
    client = serve(SCRIPT)
    client.reply({"prompt": "weather in Bern", "text": "Foggy.", "times": 1})
    assert [client.ask("The weather in Bern?") for _ in range(3)] == ["Foggy.", "Sunny.", "Rainy."]
    assert client.ask() == "From the script."
    client.reply({"text": "All mine."})
    assert [client.ask("The weather in Bern?"), client.ask()] == ["All mine.", "All mine."]


def test_a_later_reply_without_a_condition_replaces_the_earlier_one(client: Client) -> None:
    client.reply({"text": "One"}, {"model": "gpt-4o", "text": "Two"})
    client.reply({"model": "gpt-4o", "text": "Three"})
    assert (client.ask(), client.ask(model="gpt-5")) == ("Three", "One")


def test_replies_with_a_condition_are_tried_in_the_order_in_which_they_came(client: Client) -> None:
    client.reply({"prompt": "a", "text": "One", "times": 1})
    client.reply({"prompt": "a", "text": "Two", "times": 1})
    assert (client.ask("a"), client.ask("a")) == ("One", "Two")


def test_a_key_in_a_prompt_is_not_in_the_calls(client: Client) -> None:
    client.ask("sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789")
    assert client.get("calls")["calls"][0]["prompt"] == "[redacted]"


def test_of_calls_that_are_no_longer_kept_the_number_stays(serve: Serve) -> None:
    client = serve(keep=2)
    for prompt in "abc":
        client.ask(prompt)
    answer = client.get("calls")
    assert [call["prompt"] for call in answer["calls"]] == ["b", "c"]
    assert answer["total"] == client.get("verdict")["calls"] == 3


@pytest.mark.parametrize(("keep", "is_stored"), [(0, False), (1, True)])
def test_as_many_responses_are_stored_as_calls_are_kept(
    serve: Serve, keep: int, is_stored: bool
) -> None:
    client = serve(keep=keep)
    with openai.OpenAI(base_url=f"{client.url}/openai/v1", api_key="x") as gpt:
        answer = gpt.responses.create(model="m", input="Hi")
    assert client.send("GET", f"/openai/v1/responses/{answer.id}")[0] == (200 if is_stored else 404)


# Wrong bodies


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"replies": [{"text": "a"}, {"txt": "b"}]},
            "replies[1]: unknown key 'txt'; did you mean 'text'?",
        ),
        (
            {"reply": []},
            "'replies' is missing\nunknown key 'reply'; did you mean 'replies'?",
        ),
        ({}, "'replies' is missing"),
        ({"replies": {}}, "replies: should be a list, not a mapping"),
        ({"replies": ["a"]}, "replies[0]: should be a mapping (key: value), not 'a'"),
        ([], "should be a mapping (key: value), not a list"),
        (
            {"replies": [{"text": 1}]},
            "replies[0].text: should be text, not the number 1; put it in quotes",
        ),
        (
            {"replies": [{"text": "a", "times": 0}]},
            "replies[0].times: should be at least 1",
        ),
        (
            {"replies": [{"tool_calls": [{"name": "a"}, {"nam": "b"}]}]},
            "replies[0].tool_calls[1]: 'name' is missing\n"
            "replies[0].tool_calls[1]: unknown key 'nam'; did you mean 'name'?",
        ),
        ({"replies": [{"text": "a"}, {"model": "m"}]}, "replies[1]: has no content. Set text,"),
        ({"replies": [{"text": "a", "data": {}}]}, "replies[0]: A Reply has either text or data"),
        (
            {"replies": [{"data": {}, "error": "timeout"}]},
            "replies[0]: has an error. Only text or chunks can be combined",
        ),
        (
            {"replies": [{"text": "a"}, {"model": "m", "text": "b"}, {"text": "c"}]},
            "replies[2]: is never used, because replies[0] answers the same calls. "
            "Set prompt, system, tool_result or times for one of them.",
        ),
        (
            {"replies": [{"text": "a", "times": 1}, {"prompt": "", "text": "b"}]},
            "replies[1]: prompt='' matches every text: remove it, or pass a part of the prompt",
        ),
        (
            {"replies": [{"text": "a"}, {"tool_result": "x", "has_tool_result": False}]},
            "replies[1]: has no content.",
        ),
        (b"", "The body is not valid JSON: EOF while parsing a value at line 1 column 0"),
        (b"{", "The body is not valid JSON: EOF while parsing an object at line 1 column 1"),
        (b"\xff", "The body is not valid JSON: "),
        (b'{"replies": [{"text": "\\ud800"}]}', "The body is not valid JSON: "),
        (b'{"replies": [{"data": NaN}]}', "The body is not valid JSON: "),
        (b"[" * 10_000, "The body is not valid JSON: recursion limit exceeded"),
        (b'{"replies": [], "replies": []}', "The body is not valid JSON: duplicate key 'replies'"),
        (b'{"replies": [{"text": "a", "text": "b"}]}', "The body is not valid JSON: duplicate key"),
    ],
)
def test_what_is_wrong_with_replies_is_told_with_its_path_and_nothing_is_set(
    client: Client, body: object, message: str
) -> None:
    status, answer = client.control("POST", "replies", body)
    assert status == 400
    assert list(answer) == ["error"]
    assert answer["error"]["message"].startswith(message)
    assert client.ask() == '{"success": true}'


def test_of_very_many_problems_the_first_are_told(client: Client) -> None:
    replies = [{"a": 1} for _ in range(51)]
    _, answer = client.control("POST", "replies", {"replies": replies})
    lines = answer["error"]["message"].splitlines()
    assert len(lines) == 51
    assert lines[49].startswith("replies[49]: ")
    assert lines[50] == "… and 1 more problems"


@pytest.mark.parametrize(("name", "size"), [("replies", 20_000_001), ("reset", 70_000_000)])
def test_a_body_that_is_too_large_is_refused(client: Client, name: str, size: int) -> None:
    status, answer = client.control("POST", name, b" " * size)
    assert status == 413
    assert "The body is too large; it must have at most " in answer["error"]["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "'name' is missing"),
        ({"name": ""}, "name: should not be empty"),
        ({"name": 1}, "name: should be text, not the number 1"),
        ({"name": "refusal", "times": 0}, "times: should be at least 1"),
        ({"name": "refusal", "times": True}, "times: should be a whole number, not true"),
        ({"name": "refusal", "time": 1}, "unknown key 'time'; did you mean 'times'?"),
        ({"name": "ratelimit"}, "Unknown misbehaviour 'ratelimit'. Did you mean 'rate-limit'?"),
    ],
)
def test_what_is_wrong_with_a_misbehaviour_is_told(
    client: Client, body: object, message: str
) -> None:
    status, answer = client.control("POST", "misbehave", body)
    assert status == 400
    assert answer["error"]["message"].startswith(message)
    client.ask()


def test_reset_takes_no_arguments(client: Client) -> None:
    assert client.control("POST", "reset", {}) == (200, {"reset": True})
    status, answer = client.control("POST", "reset", {"test": "a"})
    assert (status, answer["error"]["message"]) == (400, "unknown key 'test'")


# Misbehaviour, unused replies, verdicts


def test_models_misbehave_as_often_as_they_are_told(client: Client) -> None:
    asked = {"name": "rate-limit", "times": 1}
    assert client.post("misbehave", asked) == {"misbehaviour": "rate-limit", "times": 1}
    with pytest.raises(openai.RateLimitError):
        client.ask()
    client.reply({"text": "Again"})
    assert client.ask() == "Again"
    calls = client.get("calls")["calls"]
    assert calls[0]["misbehaviour"] == "rate-limit"
    assert "misbehaviour" not in calls[1]
    assert client.get("verdict")["passed"] is True


def test_a_misbehaviour_ends_with_a_name_of_null(client: Client) -> None:
    assert client.post("misbehave", {"name": "empty-text"})["times"] is None
    client.reply({"text": "Hi!"})
    assert client.ask() == ""
    assert client.post("misbehave", {"name": None}) == {"misbehaviour": None}
    assert client.ask() == "Hi!"


def test_a_reply_with_times_must_be_used_and_others_need_not(client: Client) -> None:
    client.reply(
        {"prompt": "a", "text": "One", "times": 2},
        {"prompt": "b", "text": "Two"},
        {"text": "Three"},
    )
    client.ask("a")
    unused = ["*  prompt contains 'a'  → 'One'  (1 of 2 uses left)"]
    assert client.get("unused") == {"unused": unused}
    assert client.get("verdict") == {
        "passed": False,
        "message": (f"One queued reply was not used:\n  - {unused[0]}\n{UNUSED_REPLY_ADVICE}"),
        "calls": 1,
        "answered_by_default": 0,
        "problems": [],
        "unused": unused,
        "refusals": [],
    }
    client.ask("a")
    assert client.get("unused") == {"unused": []}
    assert client.get("verdict") == {
        "passed": True,
        "message": None,
        "calls": 2,
        "answered_by_default": 0,
        "problems": [],
        "unused": [],
        "refusals": [],
    }


def test_replies_of_the_script_may_stay_unused(serve: Serve) -> None:
    client = serve(SCRIPT)
    client.ask()
    assert client.get("unused") == {"unused": []}
    assert client.get("verdict")["passed"] is True


def test_an_embedding_is_a_call_for_a_verdict(client: Client) -> None:
    with openai.OpenAI(base_url=f"{client.url}/openai/v1", api_key="x") as gpt:
        gpt.embeddings.create(model="text-embedding-3-small", input="Hi")
    assert client.get("verdict")["passed"] is True


def test_a_verdict_without_a_call_is_not_passed(client: Client) -> None:
    assert client.fails_with() == "No model was called."
    client.reply({"text": "Hi!"})
    assert client.fails_with() == "No model was called."
    client.send("GET", "/openai/v1/models")
    assert client.fails_with() == "No model was called."


def test_a_misbehaviour_that_changed_nothing_is_not_passed(client: Client) -> None:
    client.post("misbehave", {"name": "fenced-json"})
    client.reply({"prompt": "never", "text": "x", "times": 1})
    assert client.ask() == '{"success": true}'
    assert client.fails_with() == (
        "fenced-json changed no call in this test (1 call made): it needs an answer in JSON."
    )
    # The reply is named all the same, where it is asked for.
    assert len(client.get("unused")["unused"]) == 1
    assert client.get("verdict")["unused"] == []


def test_a_problem_is_not_passed_even_if_the_program_handles_it(serve: Serve) -> None:
    client = serve(strict="error")
    client.reply({"prompt": "a", "text": "One"})
    client.ask("a")
    assert client.get("verdict")["passed"] is True
    with pytest.raises(openai.BadRequestError, match="No reply was configured"):
        client.ask("b")
    verdict = client.get("verdict")
    assert verdict["problems"] == [verdict["message"]]
    assert verdict["message"].startswith("No reply was configured for this call:\n  gpt-4o  'b'")
    assert verdict["message"].endswith(MISSING_REPLY_ADVICE)
    assert "  - *  prompt contains 'a'  → 'One'\n" in verdict["message"]


def test_what_the_provider_refuses_is_listed_and_may_be_handled(client: Client) -> None:
    with pytest.raises(openai.BadRequestError):
        client.ask(extra_body={"temprature": 1})
    verdict = client.get("verdict")
    assert (verdict["passed"], verdict["problems"], verdict["calls"]) == (True, [], 1)
    [refusal] = verdict["refusals"]
    assert "Rule 'unknown-parameter'" in refusal


def test_a_refused_request_that_calls_no_model_is_no_call(client: Client) -> None:
    assert client.send("POST", "/v1/unheard-of", b"{}")[0] == 404
    verdict = client.get("verdict")
    assert (verdict["passed"], verdict["message"]) == (False, "No model was called.")
    assert len(verdict["refusals"]) == 1


def test_calls_that_were_answered_by_default_are_counted(client: Client) -> None:
    client.reply({"prompt": "a", "text": "One"})
    for prompt in "abb":
        client.ask(prompt)
    assert client.get("verdict")["answered_by_default"] == 2


@pytest.mark.parametrize(("strict", "key"), [("off", "refusals"), ("error", "problems")])
def test_the_first_problems_are_kept_and_the_others_counted(
    serve: Serve, strict: str, key: str
) -> None:
    client = serve(strict=strict)
    for number in range(MAX_NOTES + 2):
        client.send("GET", f"/v1/unheard-of/{number}")
    verdict = client.get("verdict")
    *notes, rest = verdict[key]
    assert len(notes) == MAX_NOTES
    assert "/v1/unheard-of/0 " in notes[0]
    assert rest == "… and 2 more, which are in the output of the server."
    if key == "problems":
        assert rest in verdict["message"]
    client.post("reset")
    client.send("GET", "/v1/unheard-of/0")
    assert client.get("verdict")[key] == notes[:1]


def test_reset_leaves_the_script_alone(serve: Serve) -> None:
    client = serve(SCRIPT, strict="error")
    assert client.ask("weather") == "Sunny."
    client.reply({"text": "Mine"})
    client.post("misbehave", {"name": "empty-text", "times": 1})
    assert client.ask() == ""
    client.send("GET", "/v1/unheard-of")
    client.post("reset")
    assert client.get("calls") == {"calls": [], "total": 0}
    assert client.get("verdict")["problems"] == []
    assert [client.ask("weather"), client.ask()] == ["Sunny.", "From the script."]
    assert client.get("verdict")["passed"] is True


# Parallel tests


def test_each_test_has_its_own_replies_calls_and_verdict(serve: Serve) -> None:
    base = serve(SCRIPT)
    one, two = base._replace(test="one"), base._replace(test="two")
    one.reply({"text": "I am one."})
    two.post("misbehave", {"name": "rate-limit"})
    assert one.ask("1") == "I am one."
    with pytest.raises(openai.RateLimitError):
        two.ask("2")
    assert base.ask("3") == "From the script."
    for client, prompt in ((one, "1"), (two, "2"), (base, "3")):
        [call] = client.get("calls")["calls"]
        assert (call["prompt"], call["test"]) == (prompt, client.test)
    one.post("reset")
    assert one.get("calls")["calls"] == []
    assert two.get("calls")["total"] == base.get("calls")["total"] == 1
    assert one.ask() == "From the script."


def test_each_test_begins_with_the_whole_script(serve: Serve) -> None:
    base = serve(SCRIPT)
    for test in ("one", "two", None):
        client = base._replace(test=test)
        assert [client.ask("weather") for _ in range(2)] == ["Sunny.", "Rainy."]


def test_a_script_that_is_a_function_is_called_for_each_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own_replies.py").write_text(
        "def script(mock):\n    mock.script('*', 'first')\n    mock.set('*', 'later')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    tests = ServedTests(SETTINGS, ServeScript("own_replies:script"), 10, None)
    with MockServer(lambda: tests.unnamed, keep_alive=True, router=ServeRouter(tests)) as server:
        for test in ("one", "two", None):
            client = Client(server.url, test)
            assert [client.ask(), client.ask()] == ["first", "later"]
            client.post("reset")
            assert client.ask() == "first"


def test_replies_of_a_script_that_is_a_function_may_stay_unused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own_script.py").write_text("def script(mock): mock.script('*', 'one', 'two')")
    tests = ServedTests(SETTINGS, ServeScript("own_script:script"), 10, None)
    with MockServer(lambda: tests.unnamed, keep_alive=True, router=ServeRouter(tests)) as server:
        client = Client(server.url, "a")
        assert client.ask() == "one"
        assert client.get("unused") == {"unused": []}
        assert client.get("verdict")["passed"] is True


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_a_header_names_the_test_as_the_base_url_does(client: Client, sdk: str) -> None:
    client._replace(test="by-url").reply({"text": "By URL"})
    headers = {"X-Test-Id": "by-header"}
    body = json.dumps({"replies": [{"text": "By header"}]}).encode()
    assert client.send("POST", "/_llm_mock/replies", body, **headers)[0] == 200
    ways: list[tuple[str, dict[str, str]]] = [("/t/by-url", {}), ("", headers)]
    answers = []
    question: Any = [{"role": "user", "content": "Hi"}]
    for prefix, more in ways:
        if sdk == "openai":
            with openai.OpenAI(
                base_url=f"{client.url}{prefix}/openai/v1", api_key="x", default_headers=more
            ) as gpt:
                answers.append(gpt.responses.create(model="m", input="Hi").output_text)
        else:
            with anthropic.Anthropic(
                base_url=f"{client.url}{prefix}/anthropic", api_key="x", default_headers=more
            ) as claude:
                message = claude.messages.create(model="m", messages=question, max_tokens=9)
                answers.append(message.content[0].text)  # type: ignore[union-attr]
    assert answers == ["By URL", "By header"]
    [call] = client._replace(test="by-header").get("calls")["calls"]
    assert "x-test-id" not in call["request"]["headers"]
    status, answer = client.send("GET", "/_llm_mock/calls", None, **headers)
    assert (status, answer["total"]) == (200, 1)
    assert client.get("calls")["total"] == 0


MESSAGES = [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    ("path", "body", "answer"),
    [
        ("/openai/v1/chat/completions", {"messages": MESSAGES}, ["choices", 0, "message"]),
        ("/any/gateway/v1/chat/completions", {"messages": MESSAGES}, ["choices", 0, "message"]),
        ("/mistral/v1/chat/completions", {"messages": MESSAGES}, ["choices", 0, "message"]),
        ("/anthropic/v1/messages", {"messages": MESSAGES, "max_tokens": 9}, ["content", 0]),
        ("/v1/messages", {"messages": MESSAGES, "max_tokens": 9}, ["content", 0]),
        (
            "/gemini/v1beta/models/m:generateContent",
            {"contents": [{"parts": [{"text": "Hi"}]}]},
            ["candidates", 0, "content", "parts", 0],
        ),
    ],
)
def test_behind_the_name_each_path_is_known_as_without_it(
    client: Client, path: str, body: dict[str, Any], answer: list[Any]
) -> None:
    client._replace(test="a").reply({"text": "Of a"})
    client.reply({"text": "Of none"})
    content = json.dumps({"model": "m", **body} if "contents" not in body else body).encode()
    for prefix, text in (("/t/a", "Of a"), ("", "Of none")):
        status, part = client.send("POST", f"{prefix}{path}", content)
        assert status == 200, part
        for step in answer:
            part = part[step]
        assert text in part.values()


def test_tests_in_many_threads_see_nothing_of_each_other(serve: Serve) -> None:
    base = serve(SCRIPT)

    def run(number: int) -> tuple[list[str], list[str], bool]:
        client = base._replace(test=f"test-{number}")
        answers = []
        for turn in range(5):
            client.reply({"prompt": f"turn {turn}", "text": f"{number}.{turn}", "times": 1})
            answers.append(client.ask(f"turn {turn}"))
        prompts = [call["prompt"] for call in client.get("calls")["calls"]]
        return answers, prompts, client.get("verdict")["passed"]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run, range(16)))
    prompts = [f"turn {turn}" for turn in range(5)]
    for number, result in enumerate(results):
        assert result == ([f"{number}.{turn}" for turn in range(5)], prompts, True)
    assert base.get("calls")["total"] == 0


def test_each_test_has_its_own_replies_over_websockets(client: Client) -> None:
    async def ask(test: Client) -> str:
        base_url = f"{test.url}/t/{test.test}/openai/v1"
        sdk = openai.AsyncOpenAI(base_url=base_url, api_key="x")
        async with sdk.responses.connect() as connection:
            await connection.response.create(model="gpt-5", input="Hello")
            async for event in connection:
                if event.type == "response.completed":
                    return event.response.output_text
        return ""

    for name in ("a", "b"):
        test = client._replace(test=name)
        test.reply({"text": f"Of {name}", "times": 1})
        assert asyncio.run(ask(test)) == f"Of {name}"
        assert [call["prompt"] for call in test.get("calls")["calls"]] == ["Hello"]
        assert test.get("verdict")["passed"]


def collect_id(client: Client) -> str:
    prefix = "" if client.test is None else f"/t/{client.test}"
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
    return str(client.send("POST", f"{prefix}/v1/chat/completions", body)[1]["id"])


def test_no_id_comes_twice_on_a_server(client: Client) -> None:
    ids = []
    for _ in range(3):
        for test in ("a", "b", "a.r1", None):
            named = client._replace(test=test)
            ids += [collect_id(named), collect_id(named)]
            named.post("reset")
    assert len(set(ids)) == len(ids) == 24


def test_the_ids_of_a_test_are_the_same_on_each_server(serve: Serve) -> None:
    first, second = serve(), serve()
    collect_id(first._replace(test="other"))
    one, two = (collect_id(client._replace(test="a")) for client in (first, second))
    assert one == two


def test_a_test_of_which_nothing_is_known_is_not_passed(client: Client) -> None:
    client._replace(test="test-7").ask()
    missing = client._replace(test="test_7")
    assert missing.fails_with() == (
        "No test named 'test_7' called a model or set a reply; did you mean 'test-7'?"
    )
    assert missing.get("calls") == {"calls": [], "total": 0}
    assert missing.get("unused") == {"unused": []}
    assert missing.post("reset") == {"reset": True}
    # Looking has made no test of that name.
    assert "called a model or set a reply" in missing.fails_with()
    expected = "No test named 'x' called a model or set a reply."
    assert client._replace(test="x").fails_with().endswith(expected)


def test_the_test_that_was_used_the_longest_time_ago_is_dropped(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("llm_mock.commands.serve_tests.MAX_TESTS", 2)
    base = serve()
    first = collect_id(base._replace(test="a"))
    base._replace(test="b").ask()
    base._replace(test="a").get("calls")
    assert "dropped" not in capsys.readouterr().err
    base._replace(test="c").ask()
    assert "Warning: Test 'b' was dropped with its replies and calls: " in capsys.readouterr().err
    assert base._replace(test="a").get("calls")["total"] == 1
    message = base._replace(test="b").fails_with()
    assert message.endswith("The server keeps 1,000 tests, and dropped 1 test.")
    base._replace(test="d").ask()
    base._replace(test="e").ask()
    assert collect_id(base._replace(test="a")) != first


def test_the_calls_of_dropped_tests_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm_mock.commands.serve_tests.MAX_TESTS", 1)
    tests = ServedTests(SETTINGS, None, 1, None)
    with MockServer(lambda: tests.unnamed, keep_alive=True, router=ServeRouter(tests)) as server:
        client = Client(server.url)
        for test in ("a", "a", "b", None):
            client._replace(test=test).ask()
    assert tests.count_calls() == (4, 2)


def test_a_test_that_comes_back_after_it_was_dropped_has_new_ids(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_mock.commands.serve_tests.MAX_TESTS", 1)
    base = serve()
    ids = []
    for _ in range(3):
        for test in ("a", "b"):
            client = base._replace(test=test)
            ids.append(collect_id(client))
            client.post("reset")
            ids.append(collect_id(client))
    assert len(set(ids)) == len(ids) == 12


def test_a_request_by_a_foreign_host_makes_no_test(client: Client) -> None:
    status, answer = client.send("GET", "/t/a/v1/models", None, Host="evil.example")
    assert status == 421
    assert "does not name this machine" in answer["error"]["message"]
    assert "called a model or set a reply" in client._replace(test="a").fails_with()
    [problem] = client.get("verdict")["problems"]
    assert "'evil.example' does not name this machine" in problem


def test_a_script_that_fails_for_a_test_is_an_error_of_its_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "once.py").write_text(
        "names = ['first']\ndef script(mock): mock.set('*', names.pop())\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    tests = ServedTests(SETTINGS, ServeScript("once:script"), 10, None)
    with MockServer(lambda: tests.unnamed, keep_alive=True, router=ServeRouter(tests)) as server:
        client = Client(server.url)
        assert client.ask() == "first"
        message = "once:script raised IndexError: pop from empty list (once.py:2)"
        with pytest.raises(openai.APIStatusError, match="pop from empty list"):
            client._replace(test="a").ask()
        status, answer = client._replace(test="a").control("POST", "replies", {"replies": []})
        assert (status, answer["error"]["message"]) == (400, message)


def test_an_error_of_ours_is_an_answer(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(ServedTests, "reset", fail)
    assert client.control("POST", "reset") == (500, {"error": {"message": "ValueError: broken"}})


# Paths and names


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("POST", "replies"),
        ("POST", "misbehave"),
        ("GET", "calls"),
        ("GET", "unused"),
        ("GET", "verdict"),
        ("POST", "reset"),
        ("GET", "health"),
    ],
)
def test_each_path_takes_one_method(client: Client, method: str, name: str) -> None:
    other = "POST" if method == "GET" else "GET"
    for wrong in (other, "DELETE"):
        status, answer = client.control(wrong, name)
        assert status == 405
        message = f"{name} takes {method}, not '{wrong}'. {ROUTES}"
        assert answer == {"error": {"message": message}}
    assert client.control(method, name)[0] in (200, 400)


def test_a_wrong_method_names_the_right_one_in_a_header(client: Client) -> None:
    address = urlsplit(client.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
    connection.request("GET", "/_llm_mock/reset")
    with connection.getresponse() as response:
        assert response.headers["allow"] == "POST"
    connection.close()


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/_llm_mock", "."),
        ("/_llm_mock/", "."),
        ("/_llm_mock/call", "; did you mean 'calls'?"),
        ("/_llm_mock/calls/", "; did you mean 'calls'?"),
        ("/_llm_mock_calls", "; did you mean 'calls'?"),
        ("/t/a/_llm_mock/verdicts", "; did you mean 'verdict'?"),
    ],
)
def test_an_unknown_path_lists_those_that_exist(client: Client, path: str, hint: str) -> None:
    message = f"There is no '{path}'{hint} {ROUTES}"
    assert client.send("GET", path) == (404, {"error": {"message": message}})


def test_a_query_is_refused_as_nothing_reads_it(client: Client) -> None:
    message = "calls takes no query, but got 'model=gpt-4o'."
    assert client.send("GET", "/_llm_mock/calls?model=gpt-4o") == (
        400,
        {"error": {"message": message}},
    )


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_health_can_be_asked_for(client: Client, method: str) -> None:
    expected = {"status": "ok"} if method == "GET" else None
    assert client.send(method, "/_llm_mock/health") == (200, expected)


@pytest.mark.parametrize("name", ["a", "7", "test-7", "a.b_c-D", "x" * 100])
def test_a_name_is_made_of_letters_digits_and_three_signs(client: Client, name: str) -> None:
    named = client._replace(test=name)
    named.ask()
    assert named.get("calls")["calls"][0]["test"] == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "-a", "_a", "a%20b", "a%2Fb", "a:b", "a\tb", "é", "x" * 101, "a b"]
)
@pytest.mark.parametrize("rest", ["_llm_mock/calls", "v1/models"])
def test_any_other_name_is_refused(client: Client, name: str, rest: str) -> None:
    results = []
    if name.isascii() and not set(name) & {" ", "\t"}:
        results.append(client.send("GET", f"/t/{name}/{rest}"))
    results.append(client.send("GET", f"/{rest}", None, **{"X-Test-Id": name}))
    for status, answer in results:
        assert status == 400
        message = answer["error"]["message"]
        assert message.startswith("Invalid name of a test in ")
        assert message.endswith(
            "It must begin with a letter or a digit, and have at most 100 letters, digits, '.', "
            "'_' and '-'."
        )
    assert client.get("calls")["total"] == 0


@pytest.mark.parametrize(
    ("path", "headers", "message"),
    [
        ("/t/a/t/b/v1/models", {}, "The path names two tests: '/t/a/t/b/v1/models'. Name one."),
        (
            "/t/a/v1/models",
            {"X-Test-Id": "b"},
            "The path names the test 'a', and the header X-Test-Id 'b'. Name one.",
        ),
    ],
)
def test_a_request_is_of_one_test(
    client: Client, path: str, headers: dict[str, str], message: str
) -> None:
    status, answer = client.send("GET", path, None, **headers)
    assert (status, answer["error"]["message"]) == (400, message)
    assert client.send("GET", "/t/a/v1/models", None, **{"X-Test-Id": "a"})[0] == 200


@pytest.mark.parametrize("path", ["/t/a!/anthropic/v1/messages", "/t/a!/v1/messages"])
def test_a_wrong_name_is_told_in_the_words_of_the_provider(client: Client, path: str) -> None:
    status, answer = client.send("POST", path, b"{}")
    assert (status, answer["type"], answer["error"]["type"]) == (
        400,
        "error",
        "invalid_request_error",
    )


def test_the_page_of_a_test_says_that_the_server_is_up_and_makes_no_test(client: Client) -> None:
    assert client.send("GET", "/t/a/") == (200, {"llm-mock": client.url})
    assert "called a model or set a reply" in client._replace(test="a").fails_with()


# Who may control the server


def respond(
    token: str | None = None,
    peer: str = "127.0.0.1",
    host: str | None = "localhost:8080",
    path: str = "/_llm_mock/calls",
    **headers: str,
) -> int:
    """Return the status of the answer to a control request."""
    router = ServeRouter(ServedTests(SETTINGS, None, 10, None), token)
    head = RequestHead("GET", path, "", headers, True, host, 0)
    answer = router.route(head, b"", peer)
    assert isinstance(answer, WireResponse)
    assert isinstance(answer.body, bytes)
    if answer.status == 403:
        assert b"--control-token TOKEN" in answer.body
    return answer.status


@pytest.mark.parametrize(
    ("peer", "status"),
    [
        ("127.0.0.1", 200),
        ("127.8.8.8", 200),
        ("::1", 200),
        ("::ffff:127.0.0.1", 200),
        ("172.17.0.1", 403),
        ("192.168.0.2", 403),
        ("::ffff:192.168.0.2", 403),
        ("fe80::1%eth0", 403),
        ("0.0.0.0", 403),
        ("", 403),
    ],
)
def test_only_programs_on_this_machine_control_the_server(peer: str, status: int) -> None:
    assert respond(peer=peer) == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (None, 200),
        ("localhost", 200),
        ("127.0.0.1:9", 200),
        ("[::1]:9", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("192.168.0.2:8080", 403),
    ],
)
def test_a_control_request_names_this_machine(host: str | None, status: int) -> None:
    assert respond(host=host) == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:3000", 200),
        ("http://127.0.0.1:3000", 200),
        ("https://app.localhost", 200),
        ("https://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("null", 403),
        ("", 403),
        ("file://", 403),
    ],
)
def test_a_page_of_another_site_does_not_control_the_server(origin: str, status: int) -> None:
    assert respond(origin=origin) == status


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ("Bearer secret-77", 200),
        ("bearer  secret-77 ", 200),
        ("Bearer secret-7", 403),
        ("Bearer secret-777", 403),
        ("Bearer SECRET-77", 403),
        ("Bearer", 403),
        ("Basic secret-77", 403),
        ("secret-77", 403),
        ("Bearer é", 403),
    ],
)
def test_who_knows_the_token_controls_the_server_from_anywhere(given: str, status: int) -> None:
    remote = {"peer": "172.17.0.1", "host": "mock:8080", "authorization": given}
    assert respond("secret-77", **remote) == status
    assert respond(None, **remote) == 403


def test_with_a_token_programs_on_this_machine_need_none() -> None:
    assert respond("secret-77") == 200
    assert respond("secret-77", peer="10.0.0.1") == 403


def test_anybody_who_reaches_the_models_may_ask_for_the_health() -> None:
    assert respond(peer="10.0.0.1", host="mock", path="/_llm_mock/health") == 200
    assert respond(peer="10.0.0.1", host="mock", path="/t/a/_llm_mock/health") == 200
    assert respond(peer="10.0.0.1", host="mock", path="/_llm_mock/healthy") == 403


@pytest.mark.parametrize("token", ["", "1234567", "12345 678", "12345678é", "12345678\n"])
def test_a_token_that_is_short_or_cannot_be_sent_is_refused(token: str) -> None:
    result = CliRunner().invoke(main, ["serve", "--control-token", token])
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert result.stderr.startswith("Error: The token of --control-token must have at least 8")


# The command


class Process(NamedTuple):
    """A command that runs."""

    process: subprocess.Popen[str]
    client: Client


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Return a function that runs the command."""
    processes = []

    def start(*arguments: str) -> Process:
        command = [sys.executable, "-m", "llm_mock", "serve", *arguments]
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        processes.append(process)
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert ready.startswith("Ready: "), ready
        url = ready.split()[1].removesuffix("/openai/v1")
        return Process(process, Client(url.replace("0.0.0.0", "127.0.0.1")))

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def end(process: subprocess.Popen[str]) -> list[str]:
    """Press Ctrl-C, and return what the command printed."""
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    return output.splitlines()


def test_lines_name_their_test_and_the_last_one_counts_all_calls(
    run: Callable[..., Process],
) -> None:
    process, base = run("--strict", "error", "--keep", "1")
    one, two = base._replace(test="one"), base._replace(test="two")
    for client in (one, one, two, base):
        client.reply({"text": "Hi!"})
        client.ask()
    two.post("reset")
    with pytest.raises(openai.BadRequestError):
        two.ask("no reply")
    lines = end(process)
    assert lines[:4] == [
        "one: gpt-4o  'Hello'  → 'Hi!'",
        "one: gpt-4o  'Hello'  → 'Hi!'",
        "two: gpt-4o  'Hello'  → 'Hi!'",
        "gpt-4o  'Hello'  → 'Hi!'",
    ]
    assert "Problem: two: No reply was configured for this call:" in lines
    assert lines[-1] == "Ended after 5 calls; the last 3 were kept."


def test_a_call_is_printed_at_once(run: Callable[..., Process]) -> None:
    process, client = run()
    client.ask("Hello")
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line == "gpt-4o  'Hello'  → {\"success\": true}  (answered by default)\n"


def test_the_process_answers_tests_in_many_threads(run: Callable[..., Process]) -> None:
    base = run().client
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        client = base._replace(test=f"test-{number}")
        client.reply({"text": f"I am {number}.", "times": 1})
        answers[number] = client.ask()
        assert client.get("verdict")["passed"] is True

    in_threads(8, ask)
    assert answers == {number: f"I am {number}." for number in range(8)}


def test_an_open_server_is_still_controlled_from_this_machine_alone(
    run: Callable[..., Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_MOCK_CONTROL_TOKEN", "wiggle-77-waggle")
    process, client = run("--host", "0.0.0.0")
    foreign = {"Host": "mock:8080"}
    assert client.send("GET", "/_llm_mock/calls", None, **foreign)[0] == 403
    assert client.send("GET", "/_llm_mock/health", None, **foreign)[0] == 200
    token = {"Authorization": "Bearer wiggle-77-waggle"}
    assert client.send("GET", "/_llm_mock/calls", None, **foreign, **token)[0] == 200
    assert client.get("calls")["total"] == 0
    client.ask("My token is wiggle-77-waggle.")
    assert end(process)[0].startswith("gpt-4o  'My token is [redacted secret].'")


def find_own_address() -> str:
    """Return an address of this machine that is not loopback; empty if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting sends nothing: it chooses the address that a packet would come from.
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        address = str(probe.getsockname()[0])
    return "" if address.startswith("127.") else address


SENDER = """
import json, sys, urllib.error, urllib.request
url, requests = sys.argv[1], json.loads(sys.argv[2])
for path, body, headers in requests:
    request = urllib.request.Request(url + path, body and body.encode(), headers)
    try:
        answer = urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        answer = error
    print(json.dumps([answer.status, json.load(answer)]))
"""


@pytest.mark.skipif(not find_own_address(), reason="needs a network interface")
def test_a_client_with_another_address_asks_models_and_needs_the_token_for_more(
    run: Callable[..., Process],
) -> None:
    client = run("--host", "0.0.0.0", "--control-token", "wiggle-77-waggle").client
    url = client.url.replace("127.0.0.1", find_own_address())
    question = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
    local = {"Host": "localhost"}
    token = {"Authorization": "Bearer wiggle-77-waggle"}
    requests = [
        ("/v1/chat/completions", question, local),
        ("/_llm_mock/calls", None, local),
        ("/_llm_mock/reset", "{}", local),
        ("/_llm_mock/health", None, local),
        ("/_llm_mock/calls", None, token),
    ]
    # In a process of its own, as requests to other addresses than loopback are mocked here.
    environment = {name: value for name, value in os.environ.items() if name != "PFLOW_TESTING"}
    output = subprocess.check_output(
        [sys.executable, "-c", SENDER, url, json.dumps(requests)], env=environment, text=True
    )
    answers = [json.loads(line) for line in output.splitlines()]
    assert [status for status, _ in answers] == [200, 403, 403, 200, 200]
    assert answers[1][1] == {"error": {"message": LOCAL_RULE}}
    assert answers[4][1]["total"] == 1


def test_what_is_recorded_is_for_all_tests_and_a_script_goes_before_it(
    run: Callable[..., Process], tmp_path: Path
) -> None:
    call = {
        "request": {"model": "gpt-4o", "prompt": "Hi"},
        "response": {"events": [{"text": "Recorded."}]},
    }
    (tmp_path / "calls.yaml").write_text(json.dumps({"version": 1, "calls": [call]}))
    (tmp_path / "script.yaml").write_text(SCRIPT.replace("model: gpt-4o", "prompt: Hello"))
    client = run("script.yaml", "--record", "calls.yaml").client._replace(test="one")
    assert [client.ask("weather"), client.ask("Hi")] == ["Sunny.", "Recorded."]
    client.reply({"text": "Mine"})
    assert client.ask("Hi") == "Mine"


def test_a_client_that_sends_nonsense_ends_nothing(run: Callable[..., Process]) -> None:
    client = run().client
    for body in (b"{" * 5_000_000, b"\x00" * 1000, b'"' + b"\xf0" * 1000, b"1e999999", b"9" * 5000):
        assert client.control("POST", "replies", body)[0] == 400
    assert client.send("GET", "/_llm_mock/health") == (200, {"status": "ok"})
