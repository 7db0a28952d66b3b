"""Count each kind of call in a fresh process, and write the counts as JSON.

    python probe_budget.py bare FILE

`bare` counts models of `llm` without a mock, `hand` counts mocks made by hand, `plugin` counts in
a test under the plugin, and `http` counts SDKs.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock as unittest_mock

import llm
import pytest
from counting import COUNTED_CALLS, Count, Walk, count, walk
from pydantic import BaseModel

Call = Callable[[], object]
PROMPT, ANSWER, DATA = "hello", "Hello!", {"found": True, "name": "a", "confidence": 0.5}
KNOWN, UNKNOWN = "gpt-4o-mini", "unknown-model"
CHUNKS = [f"chunk {number} " for number in range(100)]
TURNS, MATCHERS, HISTORY = 40, 1_000, 10_000
LOOP = asyncio.new_event_loop()


class Decision(BaseModel):
    """A schema as an application has it."""

    found: bool
    name: str
    confidence: float


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


class BareModel(llm.Model):
    """A model with fixed answers: the least that `llm` allows."""

    model_id, supports_schema, supports_tools, can_stream = "bare", True, True, True

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        if self.kind == "stream":
            yield from CHUNKS
        elif self.kind == "chain" and not prompt.tool_results:
            response.add_tool_call(llm.ToolCall("double", {"number": 2}, tool_call_id="call"))
        else:
            yield json.dumps(DATA) if self.kind in ("data", "schema") else ANSWER


class BareAsyncModel(llm.AsyncModel):
    """An async model with a fixed answer."""

    model_id = "bare-async"

    async def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Any:
        yield ANSWER


def calls_of(kind: str, model: Any) -> Call:
    """Return the call of one kind on a model."""
    if kind == "schema":
        return lambda: model.prompt(PROMPT, schema=Decision).text()
    if kind == "stream":
        return lambda: list(model.prompt(PROMPT))
    if kind == "chain":
        return lambda: model.chain(PROMPT, tools=[double]).text()
    if kind == "async":

        async def ask() -> None:
            await model.prompt(PROMPT).text()

        return lambda: LOOP.run_until_complete(ask())
    return lambda: _text(model.prompt(PROMPT))


def _text(response: Any) -> object:
    return response.text()


def count_turn(model: Any, turn: int) -> Count:
    """Count one turn of new conversations; the least counts, as for other calls."""
    counts = []
    for _ in range(COUNTED_CALLS):
        conversation = model.conversation()
        for _ in range(turn - 1):
            conversation.prompt(PROMPT).text()
        ask = partial(_ask, conversation)
        # Each call is another turn, so the earlier turns are all that warms up.
        counts.append(count(ask, warm_calls=0, counted_calls=1))
    return min(counts)


def _ask(conversation: Any) -> str:
    return str(conversation.prompt(PROMPT).text())


LLM_KINDS = ("text", "data", "schema", "stream", "async", "chain")


def count_bare() -> dict[str, Count]:
    """Count bare models of `llm`."""
    counts = {}
    for kind in LLM_KINDS:
        model = BareAsyncModel() if kind == "async" else BareModel(kind)
        counts[kind] = count(calls_of(kind, model))
    model = BareModel("text")
    count_turn(model, TURNS)
    counts["turn 1"], counts["turn 40"] = count_turn(model, 1), count_turn(model, TURNS)

    def create() -> object:
        create_model = unittest_mock.Mock()
        create_model.return_value.prompt.return_value.text.return_value = ANSWER
        return create_model("m").prompt(PROMPT).text()

    counts["create and prompt"] = count(create)
    return counts


def configure(mock: Any, kind: str, model_id: str) -> None:
    """Configure the replies for one kind of call."""
    from llm_mock import Reply, ToolCall

    if kind == "stream":
        mock.set(model_id, Reply(chunks=CHUNKS))
    elif kind == "chain":
        mock.set(model_id, ANSWER)
        mock.set(model_id, Reply(tool_calls=[ToolCall("double", {"number": 2})]), turn=1)
    else:
        mock.set(model_id, DATA if kind in ("data", "schema") else ANSWER)


def count_kinds(mock: Any, get_model: Any, get_async_model: Any, name: str) -> dict[str, Count]:
    """Count every kind on a model of a mock."""
    counts = {}
    for kind in LLM_KINDS:
        mock.reset()
        configure(mock, kind, name)
        model = get_async_model(name) if kind == "async" else get_model(name)
        counts[kind] = count(calls_of(kind, model))
    mock.reset()
    configure(mock, "text", name)
    model = get_model(name)
    count_turn(model, TURNS)
    counts["turn 1"], counts["turn 40"] = count_turn(model, 1), count_turn(model, TURNS)
    return counts


def count_by_hand() -> dict[str, Count]:
    """Count mocks made by hand."""
    from llm_mock import create_mock_get_model

    mock = create_mock_get_model()
    counts = count_kinds(mock, mock, mock.get_async_model, "m")
    counts["create and prompt"] = count(
        lambda: create_mock_get_model({"m": ANSWER})("m").prompt(PROMPT).text()
    )
    for method in ("set", "add"):
        for matcher in ("", " with prompt="):
            mock = create_mock_get_model()
            for number in range(MATCHERS):
                conditions = {"prompt": f"other {number}"} if matcher else {}
                getattr(mock, method)("m" if matcher else f"m{number}", ANSWER, **conditions)
            mock.set("m", ANSWER)
            model = mock("m")
            kind = "standing" if method == "set" else "queued"
            counts[f"among 1,000 {kind}{matcher}"] = count(calls_of("text", model))
    mock = create_mock_get_model({"m": ANSWER})
    model = mock("m")
    for _ in range(HISTORY):
        model.prompt(PROMPT).text()
    counts["after 10,000 calls"] = count(calls_of("text", model))
    return counts


def count_suite() -> dict[str, Sequence[int]]:
    """Count one case of a dry run, and the files of the whole run."""
    from llm_mock.suites import load_role, load_suite, run_suite

    folder = Path("suite")
    folder.mkdir()
    head = "apiVersion: initrunner/v1\nmetadata: {name: a, description: d}\n"
    role = folder / "role.yaml"
    role.write_text(
        f"{head}kind: Agent\nspec:\n  role: Help\n  model: {{provider: openai, name: {KNOWN}}}\n"
    )

    def count_run(cases: int) -> tuple[Count, Walk]:
        path = folder / f"suite{cases}.yaml"
        case = "- {{name: c{}, prompt: hi {}, expected_output: Hello, assertions: [{}]}}\n"
        check = "{type: contains, value: Hello}"
        rows = "".join(case.format(number, number, check) for number in range(cases))
        path.write_text(f"{head}kind: TestSuite\ncases:\n{rows}")
        agent, suite = load_role(role), load_suite(path)
        call = partial(run_suite, agent, suite, dry_run=True)
        return count(call, warm_calls=1), walk(call)

    (few, short_walk), (many, long_walk) = count_run(10), count_run(30)
    return {
        "suite case": [(more - less) // 20 for less, more in zip(few, many, strict=True)],
        "stops, suite case": [(long_walk.stops - short_walk.stops) // 20],
        "files, suite case": [long_walk.files],
    }


def count_cassette() -> dict[str, Sequence[int]]:
    """Count a call that a cassette records, and one that it replays."""
    from llm_mock import create_mock_get_model
    from llm_mock.cassettes import Cassette
    from llm_mock.core.context import activate

    model = BareModel("text")
    path = Path("cassette.yaml")
    counts: dict[str, Sequence[int]] = {}
    previous = activate(None)
    for kind, mode in (("recorded call", "rewrite"), ("replayed call", "none")):
        mock = create_mock_get_model()
        cassette = mock.cassette = Cassette(path, mode)
        activate(mock)
        model.prompt("warm").text()
        stops, files = walk(lambda: model.prompt(PROMPT).text())
        cassette.save(passed=True)
        counts |= {f"stops, {kind}": [stops], f"files, {kind}": [files]}
    activate(previous)
    return counts


def count_http() -> dict[str, Count]:
    """Count calls of SDKs: over fixed bytes, mocked, and mocked by respx."""
    import openai
    from http_call import KINDS, Contest

    from llm_mock import Reply, create_mock_get_model
    from llm_mock.boundaries.http.attach import attach
    from llm_mock.core.context import activate

    attach()
    counts = {}
    for kind, (sdk, ask, _) in KINDS.items():
        contest = Contest(sdk, ask)
        for name, make in contest.makers().items():
            counts[f"{kind}, {name}"] = count(make())
        contest.close()
    mock = create_mock_get_model({"*": Reply(chunks=CHUNKS)})
    activate(mock)
    client: Any = openai.OpenAI(api_key="none", max_retries=0)

    def ask(prompt: str, stream: bool) -> Call:
        messages = [{"role": "user", "content": prompt}]
        return lambda: list(
            client.chat.completions.create(model=KNOWN, messages=messages, stream=stream)
        )

    streamed = ask(PROMPT, True)
    mock.set("*", Reply(chunks=CHUNKS[:10]))
    few = count(streamed)
    mock.set("*", Reply(chunks=CHUNKS))
    many = count(streamed)
    chunks = len(CHUNKS) - 10
    counts["a chunk"] = Count(*((b - a) // chunks for a, b in zip(few, many, strict=True)))
    mock.set("*", ANSWER)
    counts["100 kB of prompt"] = count(ask("word " * 20_000, False))
    counts["5 B of prompt"] = count(ask(PROMPT, False))
    return counts


def test_budget(mock_llm_responses: Any) -> None:
    """Count under the plugin; run by pytest."""
    import openai

    counts: dict[str, Sequence[int]] = {}
    for label, name in (("known", KNOWN), ("unknown", UNKNOWN)):
        kinds = count_kinds(mock_llm_responses, llm.get_model, llm.get_async_model, name)
        counts |= {f"{kind}, {label}": counted for kind, counted in kinds.items()}
    mock_llm_responses.reset()
    counts |= count_suite() | count_cassette()
    mock_llm_responses.set("*", ANSWER)
    known = llm.get_model(KNOWN)
    client: Any = openai.OpenAI(api_key="none")
    ways = {
        "prompt": lambda: known.prompt(PROMPT),
        "get_model, prompt, text": lambda: llm.get_model(KNOWN).prompt(PROMPT).text(),
        "responses.create": lambda: client.responses.create(model="gpt-4o", input=PROMPT),
    }
    for way, call in ways.items():
        call()
        stops, files = walk(call)
        counts |= {f"stops, {way}": [stops], f"files, {way}": [files]}
    _write(os.environ["BUDGET_FILE"], counts)


def _write(path: str, counts: Mapping[str, Sequence[int]]) -> None:
    Path(path).write_text(json.dumps(counts), encoding="utf-8")


if __name__ == "__main__":
    mode, path = sys.argv[1:]
    if mode == "plugin":
        os.environ["BUDGET_FILE"] = path
        plugins = ("-p", "llm_mock.pytest_plugin")
        options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir=.", *plugins)
        sys.exit(pytest.main([*options, __file__]))
    modes = {"bare": count_bare, "hand": count_by_hand, "http": count_http}
    _write(path, modes[mode]())
