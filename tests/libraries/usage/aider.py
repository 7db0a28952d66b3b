"""aider, which edits files."""

from __future__ import annotations

from pathlib import Path

from aider.coders import Coder
from aider.io import InputOutput
from aider.models import Model

from tests.libraries.scenario import PROMPT

REQUIREMENTS = "aider-chat>=0.86"
ENVIRONMENT = "aider"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-4o"
VARIABLES = {"OPENAI_API_KEY": "test"}
LACKS = {
    "tools": "The library reads file edits from the text of an answer instead.",
    "structured": "The library reads file edits from the text of an answer instead.",
    "asynchronous": "The library is synchronous.",
}


def make_coder(stream: bool) -> Coder:
    io = InputOutput(yes=True, pretty=False, fancy_input=False)
    Path("notes.txt").touch()
    return Coder.create(
        Model(MODEL), "ask", io, fnames=["notes.txt"], use_git=False, stream=stream, map_tokens=0
    )


def plain() -> str:
    return make_coder(stream=False).run(PROMPT)


def streamed() -> list[str]:
    return list(make_coder(stream=True).run_stream(PROMPT))


def retried() -> str:
    return plain()
