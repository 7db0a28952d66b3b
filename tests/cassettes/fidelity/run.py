"""Run every scenario unmocked, recording or replaying, and print all visible results.

python -m tests.cassettes.fidelity.run {without|record|replay} FOLDER URL WAY...

Each way has its own cassettes, and its models have their own answers of the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import json
import re
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import llm
import llm.cli
import sqlite_utils
from click.testing import CliRunner
from llm.default_plugins import openai_models
from llm.migrations import migrate
from llm.plugins import load_plugins, pm

from tests.cassettes.fidelity.scenarios import SCRIPTED, Scenario, all_scenarios, scenario_path
from tests.cassettes.fidelity.server import SECRETS

KEY = "loopback-key-0123456789abcdef"
WAYS = ("by name", "by hand", "async by name", "async by hand")
"""Whether the application asks `llm` for the model, or makes one of the provider's class itself."""
UNLIKE = {
    *(
        "id",
        "thread_id",
        "conversation_id",
        "response_id",
        "turn_id",
        "tool_id",
        "schema_id",
        "attachment_id",
    ),
    *("datetime_utc", "duration_ms", "created"),
}
"""What differs whenever a call is made anew."""


NOT_KEPT = {*map(str.lower, SECRETS), "date", "server"}
"""Headers that name an account, and those that only the server at the other end can know."""


class Scripted(llm.Model):
    supports_tools = True
    supports_schema = True
    can_stream = True

    def __init__(self, model_id: str, scenario: Scenario) -> None:
        self.model_id, self._scenario = model_id, scenario

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[Any]:
        assert sys.argv[1] != "replay", "the real model was asked"
        return self._scenario.execute(prompt, response)


class AsyncScripted(llm.AsyncModel):
    supports_tools = True
    supports_schema = True
    can_stream = True

    def __init__(self, model_id: str, scenario: Scenario) -> None:
        self.model_id, self._scenario = model_id, scenario

    async def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any
    ) -> AsyncIterator[Any]:
        assert sys.argv[1] != "replay", "the real model was asked"
        for chunk in self._scenario.execute(prompt, response):
            yield chunk


@functools.cache
def one_attempt(kind: Any) -> Any:
    """Return the class without retries; cached, because `llm` registers all models many times."""

    class OneAttempt(kind):
        def get_client(self, *args: Any, **kwargs: Any) -> Any:
            return super().get_client(*args, **kwargs).with_options(max_retries=0)

    return OneAttempt


def model_of(name: str, scenario: Scenario, is_async: bool) -> Any:
    if name in SCRIPTED:
        return (AsyncScripted if is_async else Scripted)(name, scenario)
    kind = getattr(openai_models, f"Async{scenario.kind}" if is_async else scenario.kind, None)
    if kind is None:
        return None

    url = f"{sys.argv[3]}/{scenario_path(name, is_async)}/v1"
    return one_attempt(kind)(
        name,
        key=KEY,
        model_name="gpt-4o-mini",
        api_base=url,
        vision=True,
        supports_schema=True,
        supports_tools=True,
        reasoning=scenario.kind == "Responses",
    )


class Plugin:
    @llm.hookimpl
    def register_models(self, register: Any) -> None:
        for name, scenario in all_scenarios().items():
            register(model_of(name, scenario, False), model_of(name, scenario, True))


def error_seen(error: BaseException | None) -> Any:
    if error is None:
        return None
    response, request = getattr(error, "response", None), None
    with contextlib.suppress(RuntimeError):
        request = getattr(error, "request", None)
    seen: dict[str, Any] = {
        "class": type(error).__qualname__,
        "str": str(error),
        "args": [each if _is_json(each) else str(each) for each in error.args],
        "vars": {
            name: value
            for name, value in vars(error).items()
            if _is_json(value) and not name.startswith("_")
        },
        "notes": getattr(error, "__notes__", []),
        "cause": error_seen(error.__cause__),
        "context": None if error.__suppress_context__ else error_seen(error.__context__),
        "errors": [error_seen(each) for each in getattr(error, "exceptions", ())],
    }
    if request is not None:
        seen["request"] = [request.method, str(request.url)]
    if response is not None:
        seen["response"] = {
            "status": response.status_code,
            "headers": {
                name: value for name, value in response.headers.items() if name not in NOT_KEPT
            },
            "text": response.text,
            "url": str(response.url),
            "reason": response.reason_phrase,
            "encoding": response.encoding,
        }
    return seen


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def response_seen(response: Any, chunks: list[Any], error: BaseException | None) -> dict[str, Any]:
    """All of one response; an asynchronous one is read, and made a synchronous one."""
    seen: dict[str, Any] = {
        "chunks": chunks,
        "error": error_seen(error),
        "text so far": list(response._chunks),
        "json so far": response.response_json,
        "prompt json": response._prompt_json,
        "usage so far": [response.input_tokens, response.output_tokens, response.token_details],
        "tool calls so far": [vars(call) for call in response._tool_calls],
        "resolved": response.resolved_model,
        "attachments": [repr(attachment) for attachment in response.attachments],
        "annotations": getattr(response, "annotations", None),
    }
    if error is not None:
        return seen
    if isinstance(response, llm.AsyncResponse):
        response = asyncio.run(response.to_sync_response())
    seen |= {
        "text": response.text(),
        "json": response.json(),
        "usage": dataclasses.asdict(response.usage()),
        "token usage": response.token_usage(),
        "tool calls": [vars(call) for call in response.tool_calls()],
        "str": str(response),
    }
    if hasattr(response, "to_dict"):
        seen["dict"] = without_unlike(response.to_dict())
        seen["events"] = [dataclasses.asdict(event) for event in response.stream_events()]
        seen["messages"] = [message.to_dict() for message in response.messages()]
    return seen | {"log": logged(response)}


@functools.cache
def empty_log() -> bytes:
    """Return the database that `llm` makes for its log."""
    path = Path(sys.argv[2], "empty.db")
    database = sqlite_utils.Database(path)
    database.execute("pragma synchronous = off")  # hundreds of commits, each waiting for the disk
    migrate(database)
    database.conn.close()
    return path.read_bytes()


def logged(response: Any) -> Any:
    """Return the rows of the log, and what `llm logs` says of them."""
    path = Path(sys.argv[2], "logs.db")
    path.write_bytes(empty_log())
    database = sqlite_utils.Database(path)
    database.execute("pragma synchronous = off")
    response.log_to_db(database)
    tables = [
        table for table in database.table_names() if not re.search("migrations|fts|search", table)
    ]
    rows = {table: repr([without_unlike(row) for row in database[table].rows]) for table in tables}
    database.conn.close()
    output = (
        CliRunner()
        .invoke(llm.cli.cli, ["logs", "--json", "-d", str(path)], catch_exceptions=False)
        .output
    )
    return {"rows": rows, "logs": without_unlike(json.loads(output))}


def without_unlike(value: Any) -> Any:
    """Return a JSON value without what differs whenever a call is made anew."""
    if isinstance(value, dict):
        return {name: without_unlike(item) for name, item in value.items() if name not in UNLIKE}
    if isinstance(value, str):  # before llm 0.32 the log refers to its own rows, also within texts
        return re.sub(r"\b(?:f|r|p|s|fragments?):[0-9a-hjkmnp-tv-z]{26}\b", "reference", value)
    return [without_unlike(item) for item in value] if isinstance(value, list) else value


def ask(model: Any, scenario: Scenario, by_events: bool) -> list[dict[str, Any]]:
    conversation = model.conversation()
    seen = []
    for given in scenario.prompts:
        asked = conversation.chain(**given) if scenario.chain else conversation.prompt(**given)
        error, chunks = None, []
        try:
            if by_events and hasattr(asked, "stream_events"):
                chunks = [dataclasses.asdict(event) for event in asked.stream_events()]
            else:
                for chunk in asked:
                    chunks.append(chunk)
        except Exception as problem:
            error = problem
        all_asked = asked._responses if scenario.chain else [asked]
        seen += [
            response_seen(response, chunks, error if response is all_asked[-1] else None)
            for response in all_asked
        ]
    return seen


async def ask_async(model: Any, scenario: Scenario, by_events: bool) -> list[dict[str, Any]]:
    conversation = model.conversation()
    seen = []
    for given in scenario.prompts:
        asked = conversation.chain(**given) if scenario.chain else conversation.prompt(**given)
        error, chunks = None, []
        try:
            if by_events and hasattr(asked, "astream_events"):
                chunks = [dataclasses.asdict(event) async for event in asked.astream_events()]
            else:
                async for chunk in asked:
                    chunks.append(chunk)
        except Exception as problem:
            error = problem
        all_asked = asked._responses if scenario.chain else [asked]
        seen += [
            (response, chunks, error if response is all_asked[-1] else None)
            for response in all_asked
        ]
    return seen


def seen_of(name: str, scenario: Scenario, way: str) -> Any:
    is_async, by_hand = "async" in way, "hand" in way
    if model_of(name, scenario, is_async) is None:
        return None
    get = llm.get_async_model if is_async else llm.get_model
    model = model_of(name, scenario, is_async) if by_hand else get(name)
    if is_async:
        return [
            response_seen(*each) for each in asyncio.run(ask_async(model, scenario, not by_hand))
        ]
    return ask(model, scenario, by_hand)


def with_cassette(name: str, scenario: Scenario, way: str) -> Any:
    from llm_mock import LLMMock
    from llm_mock.cassettes import Cassette
    from llm_mock.core.context import activate

    mock = LLMMock(at_boundary=True)
    mock.autospec()
    mode: Any = {"record": "once", "replay": "none"}[sys.argv[1]]
    mock.cassette = Cassette(Path(sys.argv[2], way, f"{name}.yaml"), mode)
    activate(mock)
    try:
        seen = seen_of(name, scenario, way)
    finally:
        activate(None)
        mock.cassette.save(passed=True)
    assert mock.problems == []
    return seen


def main() -> None:
    if sys.argv[1] != "without":
        from llm_mock.boundaries.llm.attach import attach

        attach()
    load_plugins()
    pm.register(Plugin(), "fidelity")
    run = seen_of if sys.argv[1] == "without" else with_cassette
    seen = {
        way: {name: run(name, scenario, way) for name, scenario in all_scenarios().items()}
        for way in sys.argv[4:]
    }
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
