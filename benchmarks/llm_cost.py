"""The time of a stream, a chain of tool calls and an async call, compared with bare models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import llm
from call_cost import ANSWER, PROMPT, BareModel
from llm.models import ToolCall
from table import Row, compared
from timing import Call, best_times

from llm_mock import AsyncMockLLMModel, Reply, create_mock_get_model

CHUNKS = [f"chunk {number} " for number in range(1_000)]
TURNS = 10
ASYNC_CALLS = 100
LOOP = asyncio.new_event_loop()


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


class BareStream(BareModel):
    """A bare model that streams."""

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        yield from CHUNKS


class BareCaller(BareModel):
    """A bare model that calls a tool in all turns but the last."""

    supports_tools = True

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        if len(conversation.responses) < TURNS - 1:
            response.add_tool_call(ToolCall("double", {"number": 2}, tool_call_id="call"))
        else:
            yield ANSWER


class BareAsyncModel(llm.AsyncModel):
    """The least that `llm` lets an async model be."""

    model_id = "bare-async"

    async def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any
    ) -> AsyncGenerator[str, None]:
        yield ANSWER


def bare_stream() -> Call:
    model = BareStream()
    return lambda: list(model.prompt(PROMPT))


def mocked_stream() -> Call:
    model = create_mock_get_model({"m": Reply(chunks=CHUNKS)})("m")
    return lambda: list(model.prompt(PROMPT))


def bare_chain() -> Call:
    model = BareCaller()
    return lambda: model.chain(PROMPT, tools=[double]).text()


def mocked_chain() -> Call:
    mock = create_mock_get_model()
    model, calling = mock("m"), Reply(tool_calls=[ToolCall("double", {"number": 2})])

    def configure_and_ask() -> str:
        mock.add("m", calling, times=TURNS - 1)
        mock.add("m", ANSWER)
        return str(model.chain(PROMPT, tools=[double]).text())

    return configure_and_ask


def bare_async() -> Call:
    return _in_one_loop(BareAsyncModel())


def mocked_async() -> Call:
    return _in_one_loop(AsyncMockLLMModel("m", default_response=ANSWER))


def _in_one_loop(model: Any) -> Call:
    async def ask() -> None:
        for _ in range(ASYNC_CALLS):
            await model.prompt(PROMPT).text()

    return lambda: LOOP.run_until_complete(ask())


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    comparisons = (
        (f"a stream of {len(CHUNKS):,} chunks", mocked_stream, bare_stream, 1, "≤ 1.5"),
        (f"a chain of {TURNS} turns, {TURNS - 1} tool calls", mocked_chain, bare_chain, 1, "≤ 2"),
        ("`await prompt(…).text()`", mocked_async, bare_async, ASYNC_CALLS, "≤ 2"),
    )
    for what, ours, bare, calls, goal in comparisons:
        times = best_times(
            {"ours": ours, "bare": bare}
        )  # two at a time: the stream would empty the others' caches
        name = "bare `llm.AsyncModel`" if bare is bare_async else "bare `llm.Model`"
        yield compared(what, times["ours"] / calls, name, times["bare"] / calls, goal)
