"""Logs of a plain model are read with the mocked one, and the other way round."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import Any

import llm
import pytest
import sqlite_utils
from click.testing import CliRunner
from llm.cli import cli, load_conversation

from tests.boundaries.llm.comparison import World, normalised, outcome, rows, world
from tests.boundaries.llm.documented import check
from tests.boundaries.llm.plain_models import FULL, Scripted, upper
from tests.boundaries.llm.test_like_a_plain_model import DOG, TOOL_CALL, seen_of_response

BOILERPLATE = Scripted(
    payload={"id": "1", "meta": {"object": "chat.completion", "system_fingerprint": None}}
)
WRITTEN = [
    "-m full One -s S -o temperature 0.5",
    "-c Two --schema 'name str'",
    "-m full Three -T upper -f notes",
]
READ = [
    "logs -n 0",
    "logs --json -n 0",
    "logs -r",
    "logs -u -n 0",
    "logs -q One",
    "logs -m full -n 0",
    "schemas list",
]


def run(command: str) -> Any:
    result = CliRunner().invoke(cli, shlex.split(command))
    return result.exit_code, result.output, repr(result.exception)


def read(folder: Path) -> dict[str, Any]:
    """All that a log has to say, and a conversation that goes on from it."""
    seen: dict[str, Any] = {command: run(command) for command in READ}
    seen["continued"] = run("-c Four")
    seen["rows"] = rows(sqlite_utils.Database(folder / "logs.db"))
    conversation = outcome(load_conversation, None)
    seen["conversation"] = repr(conversation)
    seen["its responses"] = [
        seen_of_response(response) for response in getattr(conversation, "responses", ())
    ]
    return normalised(seen, folder)


@pytest.mark.parametrize("writer_is_mocked", [False, True])
def test_a_log_is_read_alike_whoever_wrote_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer_is_mocked: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").write_text("Some notes")
    seen = []
    for reader_is_mocked in (False, True):
        folder = tmp_path / f"read by {reader_is_mocked}"
        with world(folder, writer_is_mocked) as there:
            there.script(FULL, BOILERPLATE, DOG, TOOL_CALL, BOILERPLATE)
            written = [run(command) for command in WRITTEN]
            assert [code for code, _, _ in written] == [0, 0, 0], written
        with world(folder, reader_is_mocked) as there:
            there.script(FULL, Scripted(chunks=("Last",)))
            seen.append(read(folder))
    plain, mocked = seen
    assert '"system_fingerprint": null' in plain["logs --json -n 0"][1]
    assert mocked == plain


def of_a_row(there: World) -> dict[str, Any]:
    """Conversations of a row of the log, as versions before 0.36 wrote them."""
    there.script(FULL, Scripted())
    row = {"id": "c1", "name": "Old", "model": FULL}
    conversation = llm.Conversation.from_row(row)
    seen = {
        "conversation": repr(conversation),
        "model": str(conversation.model),
        "name": conversation.name,
    }
    return seen | {
        "text": conversation.prompt("Hi").text(),
        "unknown": outcome(llm.Conversation.from_row, {**row, "model": ""}),
    }


def half_read(there: World) -> dict[str, Any]:
    """Responses that are read in pieces, and then as a whole."""
    there.script(FULL, Scripted(), Scripted())
    response = llm.get_model(FULL).prompt("Hi")
    chunks = iter(response)
    seen = {
        "first": next(chunks),
        "repr": repr(response),
        "rest": list(chunks),
        "text": str(response.text()),
    }
    again = llm.get_model(FULL).conversation().prompt("Hi")
    return seen | {"of a conversation": [next(iter(again)), repr(again)]}


def asynchronous(there: World) -> dict[str, Any]:
    """Asynchronous responses: by chunk, by event, as a whole, and turned into synchronous ones."""
    there.script(FULL, Scripted(), TOOL_CALL, Scripted(), TOOL_CALL, Scripted())
    model = llm.get_async_model(FULL)

    async def ask() -> dict[str, Any]:
        told: list[str] = []

        async def note(response: Any) -> None:
            told.append(await response.text())

        response = model.prompt("One")
        await response.on_done(note)
        seen: dict[str, Any] = {
            "chunks": [chunk async for chunk in response],
            "told": told,
            "repr": repr(response),
        }
        response = model.prompt("Two", tools=[upper])
        if hasattr(response, "astream_events"):
            seen["events"] = [vars(event) async for event in response.astream_events()]
        seen["results"] = [vars(result) for result in await response.execute_tool_calls()]
        sync = await (await model.prompt("Three")).to_sync_response()
        seen["sync"] = [repr(sync), sync.text(), sync.json(), sync.usage(), sync.resolved_model]
        chain = model.chain("Four", tools=[upper])
        seen["chain"] = [chunk async for chunk in chain]

        return seen | {"log": chain}

    seen = asyncio.run(ask())
    return seen | {"log": there.log(seen["log"])}


@pytest.mark.parametrize("scenario", [of_a_row, half_read, asynchronous])
def test_what_else_is_done_with_responses_is_alike(tmp_path: Path, scenario: Any) -> None:
    check(scenario, tmp_path, scenario.__name__)
