"""What a cassette holds of models that do more than OpenAI's: events, attachments, errors, many calls at once."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import Any

import llm
import pytest

from llm_mock import MockGetModel, boundary
from llm_mock.cassettes import Cassette, CassetteConfig
from llm_mock.cassettes.cassette import RecordMode
from llm_mock.errors import CassetteMiss, InvalidFile
from llm_mock.response import StreamEvent

Execute = Callable[[Any, Any], Iterator[Any]]
PNG = b"\x89PNG\r\n\x1a\n0000"

needs_events = pytest.mark.skipif(StreamEvent is None, reason="stream events came with llm 0.32")


class Scripted(llm.Model):
    """A real model, to `llm`: it executes what a test gives it."""

    model_id = "scripted"
    can_stream = True
    attachment_types = frozenset(("image/png",))
    supports_tools = True

    def __init__(self, execute: Execute) -> None:
        self._execute = execute

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[Any]:
        return self._execute(prompt, response)


class AsyncEcho(llm.AsyncModel):
    model_id = "scripted"

    async def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> AsyncGenerator[str, None]:
        await asyncio.sleep(0)
        yield f"{prompt.prompt} of {id(prompt)}"


@dataclasses.dataclass
class Run:
    """A run with the cassette of `path`."""

    path: Path
    problems: list[str] = dataclasses.field(default_factory=list)

    def __call__(self, use: Callable[[], Any], mode: RecordMode, **config: Any) -> Any:
        mock = MockGetModel(at_boundary=True)
        cassette = mock.cassette = Cassette(self.path, mode, CassetteConfig(**config))
        previous = boundary.activate(mock)
        try:
            return use()
        finally:
            boundary.activate(previous)
            cassette.save(passed=True)
            self.problems = mock.problems


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "cassette.yaml")


def never(prompt: Any, response: Any) -> Iterator[str]:
    raise AssertionError("the real model was asked")
    yield ""


@needs_events
def test_stream_events_are_replayed_one_by_one_with_all_that_they_carry(run: Run) -> None:
    events = [
        {"type": "reasoning", "chunk": "", "redacted": True},
        {"type": "reasoning", "chunk": "Think", "provider_metadata": {"anthropic": {"signature": "abc"}}},
        {"type": "reasoning", "chunk": " more", "provider_metadata": {"anthropic": {"signature": "abc"}}},
        {"type": "text", "chunk": "One"},
        {"type": "text", "chunk": "", "part_index": 7},
        {"type": "tool_call_name", "chunk": "look"},
        {"type": "tool_call_name", "chunk": "look"},
        {"type": "tool_call_args", "chunk": "{", "tool_call_id": "a"},
        {"type": "tool_call_args", "chunk": "}", "tool_call_id": "a"},
        {"type": "tool_result", "chunk": "seen", "server_executed": True, "tool_name": "search"},
        {"type": "text", "chunk": "Two\nlines \n", "message_index": 1},
    ]
    known = {field.name for field in dataclasses.fields(StreamEvent)}

    def execute(prompt: Any, response: Any) -> Iterator[Any]:
        yield "plain "
        for event in events:
            yield StreamEvent(**{name: value for name, value in event.items() if name in known})

    def use(executed: Execute) -> Any:
        response: Any = Scripted(executed).prompt("Hi")
        return [dataclasses.asdict(event) for event in response.stream_events()], response.messages()

    recorded = run(lambda: use(execute), "once")
    assert run(lambda: use(never), "none") == recorded
    assert len(recorded[0]) == len(events) + 1


@pytest.mark.parametrize("size", [10, 50_000], ids=["in the file", "beside it"])
def test_attachments_that_come_back_are_kept_and_those_sent_are_known_by_their_hash(run: Run, size: int) -> None:
    content = PNG + bytes(size)

    def execute(prompt: Any, response: Any) -> Iterator[str]:
        response.attachments.append(llm.Attachment(type="image/png", content=content))
        response.attachments.append(llm.Attachment(type="image/png", url="https://example.com/x.png"))
        yield "a picture"

    def use(executed: Execute, sent: bytes = PNG) -> Any:
        response = Scripted(executed).prompt("Draw", attachments=[llm.Attachment(type="image/png", content=sent)])
        return response.text(), response.attachments

    recorded = run(lambda: use(execute), "once")

    assert run(lambda: use(never), "none") == recorded
    assert len(run.path.read_bytes()) < 2000
    assert len(list(run.path.parent.iterdir())) == (1 if size < 1000 else 2)
    with pytest.raises(CassetteMiss, match="sha256"):
        run(lambda: use(never, PNG + b"another"), "none")
    run(lambda: use(lambda prompt, response: iter(["no picture"])), "rewrite")
    assert list(run.path.parent.iterdir()) == [run.path]


def test_the_content_of_an_attachment_that_was_changed_is_noticed(run: Run) -> None:
    def execute(prompt: Any, response: Any) -> Iterator[str]:
        response.attachments.append(llm.Attachment(type="image/png", content=bytes(50_000)))
        yield "a picture"

    run(lambda: Scripted(execute).prompt("Draw").text(), "once")
    beside = next(path for path in run.path.parent.iterdir() if path != run.path)
    beside.write_bytes(b"changed")
    with pytest.raises(
        InvalidFile, match=r"cassette.yaml:\d+: the content of the attachment is not that of its sha256"
    ):
        Cassette(run.path)
    beside.unlink()
    with pytest.raises(InvalidFile, match=r"cassette.yaml:\d+: the attachment cannot be read: .*No such file"):
        Cassette(run.path)


class _Odd(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


@pytest.mark.parametrize(
    ("payload", "error", "message"),
    [
        (
            {"x": object()},
            None,
            "The answer of 'scripted' to 'Hi' cannot be recorded: something of it is no JSON value",
        ),
        (None, _Odd(1, 2), r"it raised tests.cassettes.test_any_model._Odd, which cannot be raised again"),
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
            with pytest.raises(_Odd):
                Scripted(execute).prompt("Hi").text()
        else:
            assert Scripted(execute).prompt("Hi").text() == "Hello"
        assert Scripted(execute).prompt("Ho").text() == "Hello"

    run(use, "once")
    assert len(run.problems) == 1
    assert message in run.problems[0]
    assert [call.request.prompt for call in Cassette(run.path).calls] == ["Ho"]


def test_an_exception_is_raised_again_after_the_chunks_that_came_before_it(run: Run) -> None:
    def execute(prompt: Any, response: Any) -> Iterator[str]:
        yield "Hel"
        raise ConnectionResetError(104, "Connection reset by peer")

    def use(executed: Execute) -> Any:
        chunks = iter(Scripted(executed).prompt("Hi"))
        with pytest.raises(ConnectionResetError) as caught:
            list(chunks)
        return str(caught.value), caught.value.errno

    assert run(lambda: use(execute), "once") == run(lambda: use(never), "none")


def test_reading_on_where_the_recorded_application_stopped_is_an_error(run: Run) -> None:
    def execute(prompt: Any, response: Any) -> Iterator[str]:
        yield from ("One ", "two ", "three")

    def start() -> str:
        return str(next(iter(Scripted(execute).prompt("Count"))))

    assert run(start, "once") == run(start, "none") == "One "
    with pytest.raises(CassetteMiss, match="the application stopped reading here"):
        run(lambda: Scripted(never).prompt("Count").text(), "none")


def test_the_same_call_made_several_times_gets_its_answers_in_their_order(run: Run) -> None:
    answers = iter(["first", "second", "third"])

    def execute(prompt: Any, response: Any) -> Iterator[str]:
        yield next(answers)

    def use(executed: Execute) -> list[str]:
        return [Scripted(executed).prompt("Again").text() for _ in range(3)]

    assert run(lambda: use(execute), "once") == ["first", "second", "third"]
    assert run(lambda: use(never), "none") == ["first", "second", "third"]


def test_calls_made_at_once_are_recorded_in_the_order_in_which_they_began(run: Run) -> None:
    async def use() -> list[str]:
        prompts = [AsyncEcho().prompt(str(number)) for number in range(20)]
        return await asyncio.gather(*(prompt.text() for prompt in prompts))

    recorded = run(lambda: asyncio.run(use()), "once")

    assert run(lambda: asyncio.run(use()), "none") == recorded
    assert [call.request.prompt for call in Cassette(run.path).calls] == [str(number) for number in range(20)]


def test_a_text_that_was_edited_by_hand_is_played_in_one_piece(run: Run) -> None:
    run(lambda: Scripted(lambda prompt, response: iter(["Hel", "lo"])).prompt("Hi").text(), "once")
    run.path.write_text(run.path.read_text().replace("text: Hello", "text: Good morning"))
    assert run(lambda: list(Scripted(never).prompt("Hi")), "none") == ["Good morning"]


def test_new_episodes_never_asks_again_for_what_is_there(run: Run) -> None:
    def echo(prompt: Any, response: Any) -> Iterator[str]:
        yield f"Answer {prompt.prompt}"

    run(lambda: Scripted(echo).prompt("One").text(), "new_episodes")

    def use() -> list[str]:
        return [Scripted(never).prompt("One").text(), Scripted(echo).prompt("Two").text()]

    assert run(use, "new_episodes") == ["Answer One", "Answer Two"]
    assert [call.request.prompt for call in Cassette(run.path).calls] == ["One", "Two"]


@pytest.mark.parametrize(
    "text", ["", "yes", "1e3", "2026-11-22", " a \n b ", "\x00\x1b[31m", "\u2028\ufeff😀", "a: b # c"]
)
def test_any_text_survives_the_file(run: Run, text: str) -> None:
    def use(executed: Execute) -> str:
        return Scripted(executed).prompt(text, system=text).text()

    assert run(lambda: use(lambda prompt, response: iter([text])), "once") == text
    assert run(lambda: use(never), "none") == text


def test_a_text_that_no_file_can_hold_is_a_clear_error(run: Run) -> None:
    with pytest.raises(Exception, match=r"could not be written: .*surrogates not allowed"):
        run(lambda: Scripted(lambda prompt, response: iter(["\ud800"])).prompt("Hi").text(), "once")
    assert not run.path.exists()
