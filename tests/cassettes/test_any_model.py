"""Cassettes of models with events, attachments, errors and many calls at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import nullcontext
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import llm
import pytest

from llm_mock import LLMMock
from llm_mock.boundaries.llm import names
from llm_mock.boundaries.llm.unconsumed_responses import format_unread
from llm_mock.boundaries.llm.versions import get_stream_event_class
from llm_mock.cassettes import Cassette
from llm_mock.cassettes.verification import Verifier
from llm_mock.core.context import current_mock
from llm_mock.errors import CassetteMiss, InvalidFile, LLMMockError
from llm_mock.support.redaction.known_secrets import KnownSecrets
from tests.cassettes.conftest import Run

Execute = Callable[[Any, Any], Iterator[Any]]
PNG = b"\x89PNG\r\n\x1a\n0000"

StreamEvent = get_stream_event_class()
needs_events = pytest.mark.skipif(StreamEvent is None, reason="stream events came with llm 0.32")


class Scripted(llm.Model):
    """A real model, to `llm`: it executes what a test gives it."""

    model_id = "scripted"
    can_stream = True
    attachment_types = frozenset(("image/png",))
    supports_tools = True
    supports_schema = True

    def __init__(self, execute: Execute) -> None:
        self._execute = execute

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[Any]:
        return self._execute(prompt, response)


class AsyncEcho(llm.AsyncModel):
    model_id = "scripted"

    async def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any
    ) -> AsyncGenerator[str, None]:
        await asyncio.sleep(0)
        yield f"{prompt.prompt} of {id(prompt)}"


def never(prompt: Any, response: Any) -> Iterator[str]:
    raise AssertionError("the real model was asked")
    yield ""


@pytest.mark.parametrize("size", [10, 50_000], ids=["in the file", "beside it"])
def test_attachments_that_come_back_are_kept_and_those_sent_are_known_by_their_hash(
    run: Run, size: int
) -> None:
    content = PNG + bytes(size)

    def execute(prompt: Any, response: Any) -> Iterator[str]:
        response.attachments.append(llm.Attachment(type="image/png", content=content))
        response.attachments.append(
            llm.Attachment(type="image/png", url="https://example.com/x.png")
        )
        yield "a picture"

    def use(executed: Execute, sent: bytes = PNG) -> Any:
        response = Scripted(executed).prompt(
            "Draw", attachments=[llm.Attachment(type="image/png", content=sent)]
        )
        return response.text(), response.attachments

    recorded = run("once", lambda: use(execute))

    assert run("none", lambda: use(never)) == recorded
    assert len(run.path.read_bytes()) < 2000
    assert len(list(run.path.parent.iterdir())) == (1 if size < 1000 else 2)
    with pytest.raises(CassetteMiss, match="sha256"):
        run("none", lambda: use(never, PNG + b"another"))
    run("rewrite", lambda: use(lambda prompt, response: iter(["no picture"])))
    assert list(run.path.parent.iterdir()) == [run.path]


needs_tool_attachments = pytest.mark.skipif(
    "attachments" not in {field.name for field in fields(llm.ToolResult)},
    reason="attachments of tools came later",
)


@needs_tool_attachments
def test_a_file_that_a_tool_returned_is_known_by_its_hash(run: Run) -> None:
    def use(executed: Execute, content: bytes) -> str:
        picture = llm.Attachment(type="image/png", content=content)
        result = llm.ToolResult(name="draw", output="drawn", attachments=[picture])
        return str(Scripted(executed).prompt("See", tool_results=[result]).text())

    recorded = run("once", lambda: use(lambda prompt, response: iter(["a picture"]), PNG))
    assert run("none", lambda: use(never, PNG)) == recorded
    with pytest.raises(CassetteMiss, match="sha256"):
        run("none", lambda: use(never, PNG + b"another"))


@needs_tool_attachments
def test_a_file_that_a_tool_returned_is_left_out_of_the_payload(run: Run) -> None:
    picture = llm.Attachment(type="image/png", content=PNG)

    def execute(prompt: Any, response: Any) -> Iterator[str]:
        response._prompt_json = {"image": picture.base64_content()}
        yield "seen"

    def use(executed: Execute) -> Any:
        result = llm.ToolResult(name="draw", output="drawn", attachments=[picture])
        response = Scripted(executed).prompt("See", tool_results=[result])
        return response.text(), response._prompt_json

    recorded = run("once", lambda: use(execute))
    assert run("none", lambda: use(never)) == recorded
    assert picture.base64_content() not in run.path.read_text()


def test_a_sent_attachment_has_its_type_and_is_left_out_of_the_payload(run: Run) -> None:
    sent = llm.Attachment(content=PNG)

    def execute(prompt: Any, response: Any) -> Iterator[str]:
        [attachment] = prompt.attachments
        response._prompt_json = {"image": f"data:image/png;base64,{attachment.base64_content()}"}
        yield "a picture"

    def use(executed: Execute) -> Any:
        response = Scripted(executed).prompt("See", attachments=[sent])
        return response.text(), response._prompt_json

    recorded = run("once", lambda: use(execute))
    assert run("none", lambda: use(never)) == recorded
    [call] = Cassette(run.path).calls
    [attachment] = call.request.attachments
    assert (attachment.type, attachment.bytes) == ("image/png", len(PNG))
    placeholder = f"[attachment {attachment.sha256}]"
    assert call.response.prompt_json == {"image": f"data:image/png;base64,{placeholder}"}


@pytest.mark.skipif(not hasattr(llm, "user"), reason="messages came with llm 0.32")
def test_an_attachment_of_an_earlier_message_is_left_out_of_the_payload(run: Run) -> None:
    sent = llm.Attachment(type="image/png", content=PNG)

    def execute(prompt: Any, response: Any) -> Iterator[str]:
        response._prompt_json = {"image": f"data:image/png;base64,{sent.base64_content()}"}
        yield "a picture"

    def use(executed: Execute) -> Any:
        earlier = [llm.user("See", sent), llm.assistant("What?")]
        response = Scripted(executed).prompt(messages=[*earlier, llm.user("That")])
        return response.text(), response._prompt_json

    recorded = run("once", lambda: use(execute))
    assert run("none", lambda: use(never)) == recorded
    [call] = Cassette(run.path).calls
    image = call.response.prompt_json["image"]
    assert image.startswith("data:image/png;base64,[attachment ")
    assert sent.base64_content() not in run.path.read_text()


def test_a_payload_that_is_no_json_value_is_left_out(run: Run) -> None:
    def execute(prompt: Any, response: Any) -> Iterator[str]:
        response._prompt_json = {"messages": [prompt.prompt], "client": object()}
        yield "Hello"

    def use(executed: Execute) -> Any:
        response = Scripted(executed).prompt("Hi")
        return response.text(), response._prompt_json

    assert run("once", lambda: use(execute))[0] == "Hello"
    assert run.problems == []
    assert run("none", lambda: use(never)) == ("Hello", None)
    assert "prompt_json" not in run.path.read_text()


@pytest.mark.parametrize(
    ("second", "repeated"),
    [(["a", "b", "c"], 2), (["a", "x", "c"], 1), (["x", "b", "c"], 0), (["a"], 1), ("a", 0)],
)
def test_only_what_the_turn_before_began_with_is_left_out_of_a_payload(
    run: Run, second: Any, repeated: int
) -> None:
    payloads = iter([{"messages": ["a", "b"]}, {"messages": second}])

    def execute(prompt: Any, response: Any) -> Iterator[str]:
        response._prompt_json = next(payloads)
        yield "Hello"

    def use(executed: Execute) -> list[Any]:
        conversation = Scripted(executed).conversation()
        responses = [conversation.prompt(text) for text in ("One", "Two")]
        return [(response.text(), response._prompt_json) for response in responses]

    recorded = run("once", lambda: use(execute))
    assert recorded == [("Hello", {"messages": ["a", "b"]}), ("Hello", {"messages": second})]
    assert run("none", lambda: use(never)) == recorded
    response = Cassette(run.path).calls[1].response
    assert response.prompt_json == {"messages": second[repeated:]}
    assert response.prompt_json_repeats == ({"messages": repeated} if repeated else {})


def test_the_content_of_an_attachment_that_was_changed_is_noticed(run: Run) -> None:
    def execute(prompt: Any, response: Any) -> Iterator[str]:
        response.attachments.append(llm.Attachment(type="image/png", content=bytes(50_000)))
        yield "a picture"

    run("once", lambda: Scripted(execute).prompt("Draw").text())
    text = run.path.read_text()
    run.path.write_text(text.replace("bytes: 50000", "bytes: 49999"))
    problem = "the attachment has 50,000 bytes, but `bytes` is 49,999"
    with pytest.raises(InvalidFile, match=rf"cassette.yaml:\d+: {problem}\n"):
        Cassette(run.path)
    run.path.write_text(text)
    beside = next(path for path in run.path.parent.iterdir() if path != run.path)
    beside.write_bytes(b"changed")
    with pytest.raises(
        InvalidFile,
        match=r"cassette.yaml:\d+: the content of the attachment does not match its sha256",
    ):
        Cassette(run.path)
    beside.unlink()
    with pytest.raises(
        InvalidFile, match=r"cassette.yaml:\d+: the attachment cannot be read: .*No such file"
    ):
        Cassette(run.path)


@pytest.mark.parametrize(
    ("payload", "error", "message"),
    [
        (
            {"x": object()},
            None,
            (
                "The response of 'scripted' to 'Hi' cannot be recorded: a part of it is not a "
                "JSON value"
            ),
        ),
        (
            None,
            ValueError(Path("x")),
            "it raised builtins.ValueError, which cannot be raised again",
        ),
    ],
    ids=["payload", "error"],
)
def test_what_cannot_be_recorded_is_a_problem_of_the_test_and_the_other_calls_are_kept(
    run: Run, payload: Any, error: Exception | None, message: str
) -> None:
    def execute(prompt: Any, response: Any) -> Iterator[str]:
        yield "Hello"
        if prompt.prompt == "Hi":
            response.response_json = payload
            if error:
                raise error

    def use() -> None:
        if error:
            with pytest.raises(ValueError, match="x"):
                Scripted(execute).prompt("Hi").text()
        else:
            assert Scripted(execute).prompt("Hi").text() == "Hello"
        assert Scripted(execute).prompt("Ho").text() == "Hello"

    run("once", use)
    assert len(run.problems) == 1
    assert message in run.problems[0]
    assert [call.request.prompt for call in Cassette(run.path).calls] == ["Ho"]


def test_a_new_answer_that_is_verified_is_no_response_that_was_never_read(
    run: Run, mock_llm_calls: LLMMock
) -> None:
    verifier = Verifier(nullcontext)

    async def ask_async() -> None:
        await AsyncEcho().prompt("Hi").text()

    def use() -> None:
        ask("Hi")
        asyncio.run(ask_async())

    def use_verified() -> None:
        run.cassette.on_replay = verifier.note
        use()

    run("once", use)
    run("none", use_verified)
    assert len(verifier.verify()) == 2
    assert format_unread(mock_llm_calls) == ""


def test_a_new_answer_that_cannot_be_recorded_is_not_verified(run: Run) -> None:
    def execute(prompt: Any, response: Any) -> Iterator[str]:
        yield "Hello"
        response.response_json = {"x": object()}

    verifier = Verifier(nullcontext)

    def use() -> None:
        run.cassette.on_replay = verifier.note
        ask("Hi", execute)

    run("once", lambda: ask("Hi"))
    run("none", use)
    [verified] = verifier.verify()
    assert verified.description == "call 1 (scripted  'Hi')"
    [difference] = verified.differences
    assert difference.severity == "error"
    assert difference.text.startswith(
        "not verified: The response of 'scripted' to 'Hi' cannot be recorded: a part of it is not "
        "a JSON value"
    )


@needs_events
@pytest.mark.parametrize("is_later", [False, True])
def test_a_field_of_a_stream_event_that_no_cassette_can_hold_is_a_problem_of_the_test(
    run: Run, is_later: bool
) -> None:
    def execute(prompt: Any, response: Any) -> Iterator[Any]:
        assert StreamEvent is not None
        event = StreamEvent(type="text", chunk="Hello")
        vars(event).update(mood="good")
        if is_later:
            yield event
        vars(event).update(colour="blue")
        if not is_later:
            yield event

    assert run("once", lambda: Scripted(execute).prompt("Hi").text()) == "Hello"
    assert len(run.problems) == 1
    assert (
        "its stream events have colour, mood, which cassettes of this version of pytest-llm-mock "
        "cannot store"
    ) in run.problems[0]
    assert not run.path.exists()


def test_a_cassette_without_calls_is_removed(run: Run) -> None:
    run("rewrite", lambda: ask("Hi"))
    run("once", lambda: None)
    assert run.path.exists()
    run("rewrite", lambda: None)
    assert list(run.path.parent.iterdir()) == []
    run("rewrite", lambda: None)
    assert list(run.path.parent.iterdir()) == []


def test_reading_on_where_the_recorded_application_stopped_is_an_error(run: Run) -> None:
    def execute(prompt: Any, response: Any) -> Iterator[str]:
        yield from ("One ", "two ", "three")

    def start() -> str:
        return str(next(iter(Scripted(execute).prompt("Count"))))

    assert run("once", start) == run("none", start) == "One "
    with pytest.raises(CassetteMiss, match="the application stopped reading here"):
        run("none", lambda: Scripted(never).prompt("Count").text())


def test_the_same_call_made_several_times_gets_its_answers_in_their_order(run: Run) -> None:
    answers = iter(["first", "second", "third"])

    def execute(prompt: Any, response: Any) -> Iterator[str]:
        yield next(answers)

    def use(executed: Execute) -> list[str]:
        return [Scripted(executed).prompt("Again").text() for _ in range(3)]

    assert run("once", lambda: use(execute)) == ["first", "second", "third"]
    assert run("none", lambda: use(never)) == ["first", "second", "third"]


def test_calls_made_at_once_are_recorded_in_the_order_in_which_they_began(run: Run) -> None:
    async def use() -> list[str]:
        prompts = [AsyncEcho().prompt(str(number)) for number in range(20)]
        return await asyncio.gather(*(prompt.text() for prompt in prompts))

    recorded = run("once", lambda: asyncio.run(use()))

    assert run("none", lambda: asyncio.run(use())) == recorded
    assert [call.request.prompt for call in Cassette(run.path).calls] == [
        str(number) for number in range(20)
    ]


def test_the_history_has_data_only_of_a_call_with_a_schema(run: Run) -> None:
    schema = {"type": "object", "properties": {}}

    def answer(prompt: Any, response: Any) -> Iterator[str]:
        yield '{"a": 1}'

    def use(execute: Execute) -> None:
        for given in (None, schema):
            Scripted(execute).prompt("Who?", schema=given).text()

    run("once", lambda: use(answer))
    recorded = run.calls
    run("none", lambda: use(never))
    for calls in (recorded, run.calls):
        assert [call.response for call in calls] == ['{"a": 1}', {"a": 1}]


def test_a_text_that_was_edited_by_hand_is_played_in_one_piece(run: Run) -> None:
    run("once", lambda: Scripted(lambda prompt, response: iter(["Hel", "lo"])).prompt("Hi").text())
    run.path.write_text(run.path.read_text().replace("text: Hello", "text: Good morning"))
    assert run("none", lambda: list(Scripted(never).prompt("Hi"))) == ["Good morning"]


def test_new_episodes_never_asks_again_for_what_is_there(run: Run) -> None:
    def echo(prompt: Any, response: Any) -> Iterator[str]:
        yield f"Answer {prompt.prompt}"

    run("new_episodes", lambda: Scripted(echo).prompt("One").text())

    def use() -> list[str]:
        return [Scripted(never).prompt("One").text(), Scripted(echo).prompt("Two").text()]

    assert run("new_episodes", use) == ["Answer One", "Answer Two"]
    assert [call.request.prompt for call in Cassette(run.path).calls] == ["One", "Two"]


@pytest.mark.parametrize(
    "text",
    ["", "yes", "1e3", "2026-11-22", " a \n b ", "\x00\x1b[31m", "\u2028\ufeff😀", "a: b # c"],
)
def test_any_text_survives_the_file(run: Run, text: str) -> None:
    def use(executed: Execute) -> str:
        return Scripted(executed).prompt(text, system=text).text()

    assert run("once", lambda: use(lambda prompt, response: iter([text]))) == text
    assert run("none", lambda: use(never)) == text


def test_a_text_that_no_file_can_hold_is_a_clear_error(run: Run) -> None:
    with pytest.raises(Exception, match=r"could not be written: .*surrogates not allowed"):
        run("once", lambda: Scripted(lambda prompt, response: iter(["\ud800"])).prompt("Hi").text())
    assert not run.path.exists()


def echo(prompt: Any, response: Any) -> Iterator[str]:
    yield f"You said: {prompt.prompt}"


def ask(text: str, executed: Execute = echo, **arguments: Any) -> str:
    return Scripted(executed).prompt(text, **arguments).text()


def test_what_was_redacted_by_a_pattern_is_no_wildcard(run: Run) -> None:
    redact = (r"customer-\d+",)
    run("once", lambda: ask("Who is customer-1?"), redact=redact)
    assert (
        run("none", lambda: ask("Who is customer-2?", never), redact=redact)
        == "You said: Who is [redacted]?"
    )
    with pytest.raises(CassetteMiss):
        run("none", lambda: ask("Who is the president?", never), redact=redact)


def test_a_secret_of_the_machine_on_which_it_was_recorded_may_be_another_one_elsewhere(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "only-known-here")
    run("once", lambda: ask("Use only-known-here, or only-known-here!"))
    assert "only-known-here" not in run.path.read_text()
    monkeypatch.setenv("SOME_TOKEN", "another")
    assert run("none", lambda: ask("Use another, or another!", never)).startswith(
        "You said: Use [redacted secret], or"
    )
    monkeypatch.delenv("SOME_TOKEN")
    run("none", lambda: ask("Use nothing, or nothing!", never))
    for other in (
        "Use , or another!",
        "Say another, or another!",
        "Use another, or another",
        'Use another, or "another"!',
        'Use "x", or "y"',
        "Use them " * 10_000,
    ):
        with pytest.raises(CassetteMiss):
            run("none", lambda other=other: ask(other, never))


STORED, PROVIDERS_KEY = "Lw6yQf1aZm4oXc8pRj3e", "sk-proj-AbCdEf4hIjKlMnOp7rSt"


@pytest.mark.parametrize("known_later", [True, False])
@pytest.mark.parametrize("known_at_first", [True, False])
@pytest.mark.parametrize("where", ["Use {}", "Get https://x.net/?key={} there", "Send Bearer {}"])
def test_a_prompt_with_secrets_is_found_on_any_machine(
    run: Run, monkeypatch: pytest.MonkeyPatch, where: str, known_at_first: bool, known_later: bool
) -> None:
    prompt = f"{where.format(STORED)} and {PROVIDERS_KEY}."
    for known, mode, executed in ((known_at_first, "once", echo), (known_later, "none", never)):
        machine = KnownSecrets({"SOME_TOKEN": STORED} if known else {})
        monkeypatch.setattr("llm_mock.cassettes.cassette.KNOWN", machine)
        assert run(mode, partial(ask, prompt, executed)).startswith("You said: ")
        assert run.problems == []
    assert PROVIDERS_KEY not in run.path.read_text()
    assert not known_at_first or STORED not in run.path.read_text()


def test_a_prompt_with_a_secret_that_has_a_quote_is_found(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_PASSWORD", 'Lw6yQ"f1aZm4')
    for mode, executed in (("once", echo), ("none", never)):
        answer = run(mode, partial(ask, 'Use Lw6yQ"f1aZm4 now.', executed))
        assert answer.startswith("You said: ")
    assert "f1aZm4" not in run.path.read_text()


def test_a_secret_that_comes_in_pieces_is_not_recorded_and_the_other_pieces_are(run: Run) -> None:
    pieces = [
        "It ",
        f"is {PROVIDERS_KEY[:9]}",
        PROVIDERS_KEY[9:15],
        PROVIDERS_KEY[15:],
        ", so",
        " there.",
    ]

    def use(executed: Execute) -> list[str]:
        return list(Scripted(executed).prompt("Hi"))

    assert run("once", lambda: use(lambda prompt, response: iter(pieces))) == pieces
    replayed = run("none", lambda: use(never))
    assert [piece for piece in replayed if piece] == ["It ", "is [redacted]", ", so", " there."]


def test_a_variable_that_only_the_replaying_machine_has_changes_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("once", lambda: ask("Explain postgres to me"))
    monkeypatch.setenv("DB_PASSWORD", "postgres")
    assert (
        run("none", lambda: ask("Explain postgres to me", never))
        == "You said: Explain postgres to me"
    )


@needs_events
def test_a_history_that_the_application_gives_itself_counts(run: Run) -> None:
    from llm.parts import AttachmentPart, Message, TextPart

    def use(language: str, executed: Execute = echo) -> str:
        picture = AttachmentPart(attachment=llm.Attachment(type="image/png", content=PNG))
        messages = [
            Message("system", [TextPart("Be brief")]),
            Message("user", [TextPart(f"Translate to {language}"), picture]),
            Message("assistant", [TextPart("ok")]),
            Message("user", [TextPart("Good morning")]),
        ]
        response: Any = Scripted(executed).prompt(messages=messages)
        return str(response.text())

    run("once", lambda: use("French"))
    assert run("none", lambda: use("French", never)) == "You said: "
    with pytest.raises(CassetteMiss, match=r"Translate to Klingon[\s\S]*sha256"):
        run("none", lambda: use("Klingon", never))


def test_an_answer_that_is_still_referenced_is_kept_as_far_as_it_was_read(run: Run) -> None:
    kept = []

    def use(executed: Execute) -> str:
        kept.append(iter(Scripted(executed).prompt("Count")))
        return str(next(kept[-1]))

    def count(prompt: Any, response: Any) -> Iterator[str]:
        yield from ("One ", "two ", "three")

    assert run("once", lambda: use(count)) == run("none", lambda: use(never)) == "One "
    assert run.problems == []


def test_a_call_that_was_cancelled_while_it_was_recorded_is_a_problem(run: Run) -> None:
    class Slow(AsyncEcho):
        async def execute(self, *args: Any, **kwargs: Any) -> AsyncGenerator[str, None]:
            await asyncio.Event().wait()
            yield ""

    async def use() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(Slow().prompt("Hi").text(), 0.001)

    run("once", lambda: asyncio.run(use()))
    assert len(run.problems) == 1
    assert (
        "ended with CancelledError while it was recorded, which a cassette cannot store"
        in run.problems[0]
    )


def test_options_that_only_the_real_model_refuses_are_a_problem_of_the_recording(run: Run) -> None:
    def use() -> None:
        mock: Any = current_mock()
        response = mock.get_model("scripted").prompt("Hi", temprature=1)
        with pytest.raises(Exception, match="temprature"):
            response.text()

    llm_models = [
        type("Entry", (), {"model": Scripted(echo), "async_model": None, "aliases": []})()
    ]
    real = names._real_listings.get(names.MODELS)
    names._real_listings[names.MODELS] = lambda: llm_models
    try:
        run("once", use)
    finally:
        if real is not None:
            names._real_listings[names.MODELS] = real
    assert "The call to 'scripted' could not be recorded: ValidationError" in run.problems[0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("events:", "unfinished: true\n    events:", "the application stopped reading here"),
        (
            "events:",
            "error: {class: 'notinstalled_sdk:RateLimitError', args: []}\n    events:",
            "notinstalled_sdk",
        ),
    ],
    ids=["unfinished", "error of an SDK that is missing"],
)
def test_what_goes_wrong_in_a_replay_fails_the_test_although_the_application_goes_on(
    run: Run, old: str, new: str, message: str
) -> None:
    run("once", lambda: ask("Hi"))
    run.path.write_text(run.path.read_text().replace(old, new))
    with pytest.raises(LLMMockError):
        run("none", lambda: ask("Hi", never))
    assert message in run.problems[0]


def test_a_function_that_normalizes_wrongly_fails_the_test_although_the_application_goes_on(
    run: Run,
) -> None:
    def wrong(text: str) -> str:
        raise KeyError("date")

    with pytest.raises(KeyError):
        run("once", lambda: ask("Hi"), normalize=wrong)
    assert (
        "could not be looked up in the cassette: KeyError: 'date'. Correct the function normalize"
        in run.problems[0]
    )


def test_arguments_of_tools_are_replayed_as_they_were_whatever_they_are_called(run: Run) -> None:
    def call(prompt: Any, response: Any) -> Iterator[str]:
        response.add_tool_call(
            llm.ToolCall("order", {"cookie": "oatmeal", "password": "oats and raisins"}, "call_1")
        )
        yield '{"password": "oats and raisins"}'

    def use(executed: Execute) -> Any:
        response = Scripted(executed).prompt("Buy", tools=[order])
        return response.text(), response.tool_calls()

    def order(cookie: str, password: str) -> str:
        return cookie

    assert run("once", lambda: use(call)) == run("none", lambda: use(never))


def test_a_cassette_that_is_a_link_stays_one(run: Run, tmp_path: Path) -> None:
    shared = tmp_path / "shared" / "cassette.yaml"
    shared.parent.mkdir()
    shared.touch()
    run.path.symlink_to(shared)
    run("rewrite", lambda: ask("Hi"))
    assert run.path.is_symlink()
    assert "You said: Hi" in shared.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "version: 1\ncalls:\n- &a\n  request: {model: m, options: {x: *a}}\n  response: {}\n",
            "too large when expanded",
        ),
        (
            "version: 1\ncalls: []\nx0: &x0 [1,2]\n"
            + "".join(f"x{n}: &x{n} [{f'*x{n - 1},' * 9}]\n" for n in range(1, 9)),
            "too large when expanded",
        ),
        (
            "version: 1\ncalls:\n- request: {model: m}\n  response: {events: [{type: nonsense}]}\n",
            "events.0.type",
        ),
    ],
    ids=["a circle", "a bomb", "an unknown event"],
)
def test_a_file_that_cannot_have_been_recorded_is_refused(
    run: Run, text: str, message: str
) -> None:
    run.path.write_text(text)
    with pytest.raises(InvalidFile, match=message):
        Cassette(run.path)
