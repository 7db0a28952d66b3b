"""Cassettes that are checked in: today's version writes them, and every later one reads them."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import llm
import pytest
from llm.default_plugins.openai_models import AsyncChat, Chat

from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.llm.versions import get_stream_event_class
from llm_mock.cassettes import Cassette
from llm_mock.errors import InvalidFile
from llm_mock.support.redaction import REDACTED_SECRET
from tests.cassettes import sdk_calls
from tests.cassettes.attachments import ATTACHMENTS
from tests.cassettes.conftest import Run, serve_as_provider
from tests.cassettes.sdk_calls import new_openai, said, user
from tests.expected import compare_bytes, compare_json
from tests.openai_server import OpenAIServer
from tests.provider_server import KEY, ProviderServer

FOLDER = Path(__file__).parent / "written"
NOWHERE = "127.0.0.1:1"
"""The server on loopback in the files. Nothing listens there, so a replay that asks it fails."""
LLM_KEY = "loopback-key-0123456789abcdef"
StreamEvent: Any = get_stream_event_class()
# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning"),
    pytest.mark.skipif(StreamEvent is None, reason="recorded with the events of llm 0.32"),
]
PNG = b"\x89PNG\r\n\x1a\n0000"
PERSON = {
    "title": "Person",
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
}


# Through llm


def weather(city: str) -> str:
    """Return what the weather is."""
    return f"{city}: sunny"


def new_chat(url: str, kind: Any = Chat) -> Any:
    return kind(
        "loopback",
        key=LLM_KEY,
        api_base=f"{url}/v1",
        can_stream=True,
        vision=True,
        supports_schema=True,
        supports_tools=True,
    )


def exposed(response: Any) -> dict[str, Any]:
    """Return all that `llm` exposes of a response, but its id and the time."""
    chunks = [dataclasses.asdict(event) for event in response.stream_events()]
    attachments = [
        [each.type, each.url, hashlib.sha256(each.content or b"").hexdigest()]
        for each in response.attachments
    ]
    return {
        "chunks": chunks,
        "text": response.text(),
        "tool_calls": [vars(call) for call in response.tool_calls()],
        "usage": dataclasses.asdict(response.usage()),
        "json": response.json(),
        "sent": response._prompt_json,
        "resolved_model": response.resolved_model,
        "attachments": attachments,
        "annotations": getattr(response, "annotations", None),
        "messages": [message.to_dict() for message in response.messages()],
    }


def raised(use: Callable[[], object]) -> dict[str, Any]:
    """Return what an application finds in the exception that a call raises."""
    try:
        use()
    except Exception as error:
        response: Any = getattr(error, "response", None)
        names = ("status_code", "code", "param", "type", "body", "message", "request_id")
        attributes = {name: getattr(error, name) for name in names if hasattr(error, name)}
        described = {"class": type(error).__qualname__, "text": str(error), **attributes}
        if response is not None:
            names = ("retry-after", "x-request-id", "content-type", "set-cookie")
            described["headers"] = {name: response.headers.get(name) for name in names}
            described["response"] = response.text
        if error.__cause__ is not None:
            described["cause"] = repr(error.__cause__)
        return {**described, "notes": getattr(error, "__notes__", [])}
    raise AssertionError("nothing was raised")


def prompts(url: str) -> list[Any]:
    model = new_chat(url)
    picture = llm.Attachment(type="image/png", content=PNG)
    by_url = llm.Attachment(url="https://example.com/cat.png", type="image/png")
    options = {"temperature": 0.5, "max_tokens": 99, "seed": 7, "stop": "END"}
    return [
        exposed(model.prompt("Hi", system="Be brief", **options)),
        exposed(model.prompt("Hi", stream=False)),
        exposed(model.prompt("Who?", schema=PERSON)),
        exposed(model.prompt("See", attachments=[picture, by_url])),
        exposed(model.prompt("Which weather?", tools=[weather])),
        exposed(model.prompt("The same\n twice: é 😀 \x1b # - ")),
        exposed(model.prompt("The same\n twice: é 😀 \x1b # - ")),
    ]


def chain(url: str) -> list[Any]:
    chains = [
        new_chat(url).chain("Which weather?", tools=[weather], stream=stream)
        for stream in (True, False)
    ]
    return [[exposed(response) for response in each.responses()] for each in chains]


def conversation(url: str) -> list[Any]:
    talk = new_chat(url).conversation()
    picture = llm.Attachment(type="image/png", content=PNG)
    first = exposed(talk.prompt("One", system="Be brief", attachments=[picture]))
    return [first, exposed(talk.prompt("Two")), exposed(talk.prompt("Three", stream=False))]


def asynchronous(url: str) -> list[Any]:
    async def ask() -> list[Any]:
        model = new_chat(url, AsyncChat)
        asked = [
            model.prompt("Hi", system="Be brief"),
            model.prompt("Who?", schema=PERSON, stream=False),
            model.prompt("Which weather?", tools=[weather]),
        ]
        return [exposed(await each.to_sync_response()) for each in asked]

    return asyncio.run(ask())


def refused(url: str) -> list[Any]:
    model = new_chat(url)
    return [raised(lambda: model.prompt("Fail").text())]


def left(url: str) -> list[Any]:
    chunks = iter(new_chat(url).prompt("Hi"))
    return [next(chunks) for _ in range(3)]


def echoed(url: str) -> list[Any]:
    response = new_chat(url).prompt("Echo my key", system=f"My key is {LLM_KEY}")
    return [response.text()]


class Scripted(llm.Model):
    """A real model, to `llm`."""

    model_id = "scripted"
    can_stream = True
    attachment_types = frozenset(("image/png",))
    supports_tools = True

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[Any]:
        return ANSWERS[prompt.prompt](response)


class Refusal(llm.ModelError):
    """An error that has more than its message, and is not made of it."""

    def __init__(self, details: dict[str, Any]) -> None:
        self.details = details
        super().__init__(f"Refused ({details['category']})")


def _everything(response: Any) -> Iterator[Any]:
    response.set_resolved_model("scripted-2026")
    response._prompt_json = {"contents": [{"parts": [{"text": "Everything"}]}], "none": None}
    response.response_json = {"id": "1", "score": 0.25, "none": None, "é": [1, 2**60, "x: y\n "]}
    response.annotations = [{"url": "https://example.com", "start": 3}]
    response.set_usage(input=3, output=4, details={"thoughts": 5})
    response.attachments.append(llm.Attachment(type="image/png", content=PNG))
    response.attachments.append(llm.Attachment(type="image/png", content=PNG + bytes(5000)))
    response.attachments.append(llm.Attachment(url="https://example.com/x.png"))
    call = llm.ToolCall("look", {"at": 1, "id": "x"}, "a")
    call.thought_signature = "EqQBCqEBAb4+9vt=="  # type: ignore[attr-defined]
    response.add_tool_call(call)
    signed = {"anthropic": {"signature": "abc"}}
    late = StreamEvent(
        type="tool_result", chunk="wait", tool_call_id="s", server_executed=True, tool_name="search"
    )
    yield "plain "
    yield StreamEvent(type="reasoning", chunk="", redacted=True)
    yield StreamEvent(type="reasoning", chunk="Think", provider_metadata=signed)
    yield StreamEvent(type="reasoning", chunk=" more", provider_metadata=signed)
    yield StreamEvent(type="text", chunk="One")
    yield StreamEvent(type="tool_call_name", chunk="look", tool_call_id="a")
    yield StreamEvent(type="tool_call_args", chunk='{"at"', tool_call_id="a")
    yield StreamEvent(type="tool_call_args", chunk=": 1}", tool_call_id="a")
    yield late
    yield StreamEvent(type="text", chunk="Two\nlines \n", message_index=1)
    late.chunk = "completed"
    late.provider_metadata = {"openai": {"sources": ["https://example.com"]}}


def _fail_after_text(response: Any) -> Iterator[Any]:
    response.set_usage(input=12, output=2)
    yield "Let me "
    yield "see"
    raise ConnectionResetError(104, "Connection reset by peer")


def _refuse(response: Any) -> Iterator[Any]:
    try:
        raise ConnectionRefusedError(111, "Connection refused")
    except OSError as error:
        refusal = Refusal({"category": "bio", "numbers": [1]})
        if hasattr(refusal, "add_note"):
            refusal.add_note("The region was eu-1.")
        raise refusal from error
    yield ""


ANSWERS: dict[str, Callable[[Any], Iterator[Any]]] = {
    "Everything": _everything,
    "Nothing": lambda response: iter(()),
    "Fail": _fail_after_text,
    "Refuse": _refuse,
}


def plugins(url: str) -> list[Any]:
    model = Scripted()
    return [
        exposed(model.prompt("Everything")),
        exposed(model.prompt("Nothing")),
        raised(lambda: model.prompt("Fail").text()),
        raised(lambda: model.prompt("Refuse").text()),
    ]


# Through SDKs


def calls_of(ask: Callable[..., Any]) -> Callable[[str], list[Any]]:
    """Return a function that asks for texts, reasoning and tool calls, plain and streamed."""
    wanted = [
        (text, stream) for text in ("Hello", "You think", "A tool") for stream in (False, True)
    ]
    return lambda url: [said(ask(url, *each)) for each in wanted]


def responses_conversation(url: str) -> list[Any]:
    with new_openai(url) as client:
        first = client.responses.create(model="gpt-5", input="A tool")
        call: Any = first.output[0]
        result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "warm"}
        stream = client.responses.create(
            model="gpt-5", input=[result], previous_response_id=first.id, stream=True
        )
        ended: Any = list(stream)[-1]
        third = client.responses.create(
            model="gpt-5", input="Sure?", previous_response_id=ended.response.id
        )
        return [said(each) for each in (first, ended, third)]


def chat_conversation(url: str) -> list[Any]:
    call = {"id": "call_1", "type": "function"}
    function = {"name": "weather", "arguments": '{"city": "Bern"}'}
    history: list[Any] = [
        {"role": "developer", "content": "Be brief."},
        *user("How is the weather?"),
        {"role": "assistant", "content": None, "tool_calls": [{**call, "function": function}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "warm"},
        {"role": "assistant", "content": "It is warm."},
        *user("Sure?"),
    ]
    with new_openai(url) as client:
        answer = client.chat.completions.create(
            model="gpt-4o",
            messages=history,
            tools=[{"type": "function", "function": sdk_calls.FUNCTION}],
            response_format={"type": "json_object"},
        )
        return [said(answer)]


def attached(url: str) -> list[Any]:
    return [ask(url, part) for ask, part in ATTACHMENTS.values()]


def sdk_echoed(url: str) -> list[Any]:
    secrets = {"X-Gateway-Token": "header-7716-b"}
    with new_openai(url).with_options(default_headers=secrets) as client:
        asked = {"model": "gpt-4o", "messages": user("an echo of header-7716-b")}
        whole = client.chat.completions.create(**asked)  # type: ignore[call-overload]
        chunks = list(client.chat.completions.create(**asked, stream=True))  # type: ignore[call-overload]
    # The secret comes in several chunks, and its replacement in one.
    texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    return [said(whole), "".join(filter(None, texts))]


def sdk_left(url: str) -> list[Any]:
    with new_openai(url) as client:
        stream = client.chat.completions.create(model="gpt-4o", messages=user("Hello"), stream=True)
        chunks = iter(stream)
        read = [said(next(chunks)) for _ in range(3)]
        stream.close()
        return read


class Scenario(NamedTuple):
    """Calls that are recorded together."""

    use: Callable[[str], list[Any]]
    server: Callable[[], Any] = ProviderServer
    also: Callable[[str], list[Any]] | None = None
    """The same calls in another way, such as asynchronous ones."""


SCENARIOS = {
    "llm_prompts": Scenario(prompts, OpenAIServer),
    "llm_chain": Scenario(chain, OpenAIServer),
    "llm_conversation": Scenario(conversation, OpenAIServer),
    "llm_async": Scenario(asynchronous, OpenAIServer),
    "llm_error": Scenario(refused, OpenAIServer),
    "llm_unfinished": Scenario(left, OpenAIServer),
    "llm_secret": Scenario(echoed, OpenAIServer),
    "llm_plugins": Scenario(plugins, OpenAIServer),
    **{
        f"sdk_{ask.__name__}": Scenario(calls_of(ask), also=calls_of(ask_async))
        for ask, ask_async in zip(sdk_calls.SYNC, sdk_calls.ASYNC, strict=True)
    },
    "sdk_responses_conversation": Scenario(responses_conversation),
    "sdk_chat_conversation": Scenario(chat_conversation),
    "sdk_attachments": Scenario(attached),
    "sdk_secret": Scenario(sdk_echoed),
    "sdk_unfinished": Scenario(sdk_left),
}
every_scenario = pytest.mark.parametrize("name", SCENARIOS)


def described(results: list[Any], calls: list[Any]) -> Any:
    """Return the results of a run, and the records of its calls without their time."""
    records = []
    for call in calls:
        record = {**call, "messages": call.messages}
        for volatile in ("timestamp", "fingerprint", "sdk"):
            record.pop(volatile, None)
        records.append(record)
    text = json.dumps({"results": results, "calls": records})
    # While a call is recorded the application gets the real answer, with what is secret in it.
    for secret in (KEY, LLM_KEY):
        text = text.replace(secret, REDACTED_SECRET)
    return json.loads(text)


@every_scenario
def test_todays_version_writes_this_file(
    name: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = SCENARIOS[name]
    run.path = run.path.with_name(f"{name}.yaml")
    with serve_as_provider(scenario.server(), monkeypatch) as server:
        host = f"127.0.0.1:{server.server_port}"
        results = run("all", lambda: scenario.use(f"http://{host}"))
    assert run.problems == []
    for path in sorted(run.path.parent.iterdir()):
        content = path.read_bytes().replace(host.encode(), NOWHERE.encode())
        compare_bytes(FOLDER / path.name, content)
    compare_json(FOLDER / f"{name}.json", described(results, run.calls))


@every_scenario
def test_this_file_is_replayed_as_it_was_recorded(
    name: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = SCENARIOS[name]
    for path in FOLDER.glob(f"{name}.*"):
        shutil.copy(path, run.path.parent)
    run.path = run.path.with_name(f"{name}.yaml")
    monkeypatch.setattr(http_settings, "hosts", (NOWHERE,))
    expected = json.loads((FOLDER / f"{name}.json").read_bytes())
    for use in filter(None, (scenario.use, scenario.also)):
        results = run("none", lambda use=use: use(f"http://{NOWHERE}"))
        assert (run.problems, run.cassette.unused()) == ([], [])
        assert described(results, run.calls) == expected


@every_scenario
def test_a_damaged_copy_of_this_file_is_refused(name: str, tmp_path: Path) -> None:
    for path in FOLDER.glob(f"{name}.*"):
        shutil.copy(path, tmp_path)
    path = tmp_path / f"{name}.yaml"
    whole = path.read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    last = len(lines) - 1
    damaged = {
        whole.replace("version: 2", "version: 3", 1): (
            f"{path}:2: has version 3, but this version of pytest-llm-mock reads versions 1 to 2\n"
            "Upgrade pytest-llm-mock, or record it again: "
        ),
        "".join(lines[:-1]): f"{path}:{last}: is cut off here: the last line, with the `count`",
        "".join(lines[: last // 2]): f"{path}:{last // 2}: is cut off here: ",
        whole.replace("\ncount: ", "\ncount: 1"): "count is 1",
    }
    for text, message in damaged.items():
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InvalidFile) as caught:
            Cassette(path)
        assert message in str(caught.value)
