"""Classes and generators of a test file that stand for a streamed response."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import rewrite_file

OLD = """
import asyncio
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock, Mock, patch

import app
from openai import AsyncStream, Stream
from openai.types.chat import ChatCompletionChunk

TEXTS = ["Hel", "lo"]


def chunk(text):
    return Mock(choices=[Mock(delta=Mock(content=text))])


{definition}


def test_it():
    with patch("app.OpenAI") as client_class:
        client_class.return_value.chat.completions.create.return_value = {stream}
        app.run()
"""
CHUNKS = '[chunk("Hel"), chunk("lo")]'
STREAMED = 'mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))'


def migrate(folder: Path, definition: str, stream: str) -> tuple[str, str]:
    """Return the first statement of the new test, and the reason if it is left."""
    (folder / "app.py").write_text("from openai import OpenAI\n")
    source = OLD.format(definition=dedent(definition).strip(), stream=stream)
    path = folder / "test_app.py"
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    body = result.after.partition("def test_it(")[2].splitlines()
    return body[1].strip(), "".join(change.reason for change in result.manual_changes)


STREAM = """
class Chunks{base}:
    def __init__(self, chunks{others}):
        {first}
        self.chunks = chunks

    {method}
"""
GENERATOR = """
def texts(**options):
    {body}
"""
CALLED = """Mock()
        client_class.return_value.chat.completions.create.side_effect = texts"""


def new_class(method: str, *, base: str = "", first: str = "self.number = 0") -> str:
    others = ", client=None, **options" if base else ""
    method = method.replace("\n", "\n    ")
    return STREAM.format(base=base, others=others, first=first, method=method)


NEXT = """def __aiter__(self):
    return self

async def __anext__(self):
    {}"""


@pytest.mark.parametrize(
    "method",
    [
        "def __iter__(self):\n    yield from self.chunks",
        "def __iter__(self):\n    return iter(self.chunks)",
        "def __iter__(self):\n    for each in self.chunks:\n        yield each",
        "def __iter__(self):\n    yield from self.chunks\n\ndef close(self):\n    pass",
        "async def __aiter__(self):\n    for each in self.chunks:\n        yield each",
        NEXT.format("return next(self.chunks)"),
        "def __iter__(self):\n    return self\n\ndef __next__(self):\n    return next(self.chunks)",
        NEXT.format(
            "if not self.chunks:\n        raise StopAsyncIteration\n    return self.chunks.pop(0)"
        ),
        NEXT.format("item = self.chunks[self.number]\n    self.number += 1\n    return item"),
    ],
)
def test_a_class_that_is_iterated(tmp_path: Path, method: str) -> None:
    assert migrate(tmp_path, new_class(method), f"Chunks({CHUNKS})") == (STREAMED, "")


@pytest.mark.parametrize("base", ["(Stream)", "(Stream[ChatCompletionChunk])"])
def test_a_class_of_the_sdk(tmp_path: Path, base: str) -> None:
    definition = new_class(
        "def __stream__(self):\n    yield from self.chunks",
        base=base,
        first="client = client or MagicMock(); super().__init__(client=client, **options)".replace(
            "; ", "\n        "
        ),
    )
    stream = f"Chunks({CHUNKS}, cast_to=None, response=None)"
    assert migrate(tmp_path, definition, stream) == (STREAMED, "")


@pytest.mark.parametrize(
    "method",
    [
        "def __iter__(self):\n    yield self.chunks",
        NEXT.format("return self.chunks"),
    ],
)
def test_a_class_that_yields_one_chunk(tmp_path: Path, method: str) -> None:
    new = migrate(tmp_path, new_class(method), 'Chunks(chunk("Hi"))')
    assert new == ('mock_llm_responses.set("*", Reply(chunks=["Hi"]))', "")


@pytest.mark.parametrize(
    "method",
    [
        "def __iter__(self):\n    print(self.chunks)\n    yield from self.chunks",
        "def __iter__(self):\n    print(self.chunks)\n    return iter(self.chunks)",
        "def __iter__(self):\n    for each in self.chunks:\n        yield each, each",
        "def __iter__(self):\n    for one in self.chunks:\n        print(one)\n        yield one",
        "def __iter__(self):\n    return self\n\ndef __next__(self):\n    return make(self)",
        "def __iter__(self):\n    return self",
        "def __iter__(self):\n    return other(self)",
        NEXT.format("self.first.pop(0)\n    return self.chunks.pop(0)"),
        NEXT.format("return self.chunks.pop()"),
    ],
)
def test_a_class_that_does_something_else_is_left(tmp_path: Path, method: str) -> None:
    _, reason = migrate(tmp_path, new_class(method), f"Chunks({CHUNKS})")
    assert reason


@pytest.mark.parametrize(
    "body",
    [
        "for text in TEXTS:\n        yield chunk(text)",
        'for text in ["Hel", "lo"]:\n        yield chunk(text)',
        "for text in TEXTS:\n        yield chunk(text)\n    await asyncio.sleep(0)",
        'yield chunk("Hel")\n    await asyncio.sleep(0)\n    yield chunk("lo")',
        f"for each in {CHUNKS}:\n        yield each",
        f"yield from {CHUNKS}",
        f"chunks = {CHUNKS}\n    for each in chunks:\n        yield each",
        f"chunks: list = {CHUNKS}\n    yield from chunks",
        f"chunks = {CHUNKS}\n    pass\n    yield from chunks",
        'first = chunk("He")\n    first.choices[0].delta.content = "Hel"\n    yield first\n'
        '    yield chunk("lo")',
    ],
)
@pytest.mark.parametrize("stream", ["texts()", CALLED])
def test_a_generator(tmp_path: Path, body: str, stream: str) -> None:
    definition = GENERATOR.format(body=body)
    assert migrate(tmp_path, definition, stream) == (STREAMED, "")


@pytest.mark.parametrize(
    "body",
    [
        "for text in TEXTS:\n        yield chunk(text)\n    print('end')",
        "for text in TEXTS:\n        yield chunk(text)\n    else:\n        yield chunk('!')",
        "for text in TEXTS:\n        yield from text",
        "for text in app.texts():\n        yield chunk(text)",
        "for one, two in TEXTS:\n        yield chunk(one)",
        f"yield from {CHUNKS}\n    yield chunk('!')",
        'first = chunk("Hel")\n    yield first\n    first = chunk("lo")\n    yield first',
        f"app.begin()\n    chunks = {CHUNKS}\n    yield from chunks",
        f"first = chunks = {CHUNKS}\n    yield from chunks",
        "chunks = []\n    chunks.append(chunk('Hel'))\n    yield from chunks",
    ],
)
@pytest.mark.parametrize("stream", ["texts()", CALLED])
def test_a_generator_that_does_more_is_left(tmp_path: Path, body: str, stream: str) -> None:
    _, reason = migrate(tmp_path, GENERATOR.format(body=body), stream)
    assert reason


@pytest.mark.parametrize("method", ["__iter__", "__aiter__"])
@pytest.mark.parametrize("result", [f".return_value = {CHUNKS}", f" = lambda self: iter({CHUNKS})"])
def test_a_mock_that_is_iterated(tmp_path: Path, method: str, result: str) -> None:
    definition = "\n    ".join(
        [
            "def stream():",
            "stream = MagicMock(spec=Stream)",
            f"stream.{method}{result}",
            "return stream",
        ]
    )
    assert migrate(tmp_path, definition, "stream()") == (STREAMED, "")


@pytest.mark.parametrize(
    "stream",
    [
        '[{"choices": [{"delta": {"content": "Hel"}}]}, '
        '{"choices": [{"delta": {"content": "lo"}}]}]',
        f"AsyncMock(return_value={CHUNKS})()",
    ],
)
def test_a_list_of_chunks(tmp_path: Path, stream: str) -> None:
    assert migrate(tmp_path, "", stream) == (STREAMED, "")
