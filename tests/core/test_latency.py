"""Latency on the clock of the response or in real time."""

from __future__ import annotations

import asyncio
import importlib.metadata
import pickle
import time
from collections.abc import Callable
from typing import Any

import llm
import pytest
import sqlite_utils
from llm.migrations import migrate

from llm_mock import BrokenToolCall, InvalidLatency, Latency, LLMMock, Reply, create_mock_get_model
from llm_mock.behaviour.provider_errors import make_provider_error
from tests.conftest import RunPython

TOKENS = ["Hell", "o, w", "orld"]
TEXT = "".join(TOKENS)
HALF_SECOND_A_CHUNK = Latency(first_chunk=1.0, chunks_per_second=2)


def about(milliseconds: int) -> range:
    """Return a range of seconds with room for a busy machine."""
    return range(milliseconds, milliseconds + 400)


def about_seconds(seconds: float) -> Any:
    """Return the same for seconds that a test measures itself."""
    return pytest.approx(seconds + 0.2, abs=0.2)


TWO_SECONDS = about(2000)
"""What TEXT takes with that latency."""

needs_reasoning = pytest.mark.skipif(
    tuple(map(int, importlib.metadata.version("llm").split(".")[:2])) < (0, 32),
    reason="needs stream events",
)


def by_prompt(mock: LLMMock) -> Any:
    return mock("m").prompt("Hi")


def lazily(mock: LLMMock) -> Any:
    return mock("m").prompt("Hi", lazy=True)


def without_streaming(mock: LLMMock) -> Any:
    return mock("m").prompt("Hi", stream=False)


def in_a_conversation(mock: LLMMock) -> Any:
    return mock("m").conversation().prompt("Hi")


def in_a_chain(mock: LLMMock) -> Any:
    return next(mock("m").conversation().chain("Hi").responses())


def asynchronously(mock: LLMMock) -> Any:
    return mock.get_async_model("m").prompt("Hi")


def asynchronously_without_streaming(mock: LLMMock) -> Any:
    return mock.get_async_model("m").prompt("Hi", stream=False)


def asynchronously_in_a_conversation(mock: LLMMock) -> Any:
    return mock.get_async_model("m").conversation().prompt("Hi")


WAYS = [by_prompt, lazily, without_streaming, in_a_conversation, in_a_chain]
ASYNC_WAYS = [asynchronously, asynchronously_without_streaming, asynchronously_in_a_conversation]


def read(response: Any) -> tuple[str, int]:
    """Return the text and the duration of a response, sync or async, in milliseconds."""

    async def read_async() -> tuple[str, int]:
        return await response.text(), await response.duration_ms()

    if isinstance(response, llm.AsyncResponse):
        return asyncio.run(read_async())
    return str(response.text()), response.duration_ms()


def slow_mock(reply: Any = TEXT, latency: Latency = HALF_SECOND_A_CHUNK) -> LLMMock:
    mock = create_mock_get_model({"m": reply})
    mock.set_latency("m", latency)
    return mock


def duration(reply: Any, latency: Latency = HALF_SECOND_A_CHUNK) -> int:
    return read(slow_mock(reply, latency)("m").prompt("Hi"))[1]


@pytest.mark.parametrize("ask", WAYS + ASYNC_WAYS)
def test_the_response_takes_the_time_of_all_its_chunks_and_no_test_waits(
    ask: Callable[..., Any],
) -> None:
    began = time.monotonic()
    text, milliseconds = read(ask(slow_mock()))
    assert text == TEXT
    assert milliseconds in TWO_SECONDS
    assert time.monotonic() - began < 2


def test_without_a_latency_a_response_takes_what_it_takes() -> None:
    mock = create_mock_get_model({"*": TEXT})
    mock.set_latency("other", HALF_SECOND_A_CHUNK)
    assert read(mock("m").prompt("Hi"))[1] < 500
    assert list(mock("m").prompt("Hi")) == [TEXT]


def test_plain_text_is_streamed_in_pieces_of_four_characters() -> None:
    mock = slow_mock()
    assert list(mock("m").prompt("Hi")) == TOKENS
    assert list(mock("m").prompt("Hi", stream=False)) == [TEXT]


def test_the_clock_goes_on_chunk_by_chunk() -> None:
    response = slow_mock()("m").prompt("Hi")
    elapsed = []
    for _ in response:
        assert response._start is not None
        elapsed.append(time.monotonic() - response._start)
    assert elapsed == [about_seconds(1.0), about_seconds(1.5), about_seconds(2.0)]


@pytest.mark.parametrize(
    ("reply", "milliseconds"),
    [
        (Reply(chunks=["a", "b"]), 1500),
        (Reply(chunks=["a long chunk that was scripted as one"]), 1000),
        (Reply(""), 1000),
        ({"found": True}, 1000 + 3 * 500),
        (Reply(TEXT, tool_calls=[BrokenToolCall("search", {"query": "x"})]), 2000 + 4 * 500),
        (Reply(parts=["It is sunny.", BrokenToolCall("search", {"query": "x"})]), 2000 + 4 * 500),
        (Reply(parts=[BrokenToolCall("search", {"query": "x"}), "It is sunny."]), 2500 + 3 * 500),
    ],
    ids=["chunks", "one chunk", "nothing", "data", "tool call", "call at the end", "call first"],
)
def test_every_piece_of_a_reply_takes_time(reply: Any, milliseconds: int) -> None:
    assert duration(reply) in about(milliseconds)


@needs_reasoning
def test_reasoning_takes_time() -> None:
    assert duration(Reply(TEXT, reasoning="Think it over")) in about(4000)


@pytest.mark.parametrize("chunks", [[TEXT], ["a ", "b ", "c"]], ids=["one", "three"])
def test_only_the_first_chunk_may_take_time(chunks: list[str]) -> None:
    mock = slow_mock(Reply(chunks=chunks), latency=Latency(first_chunk=3))
    response = mock("m").prompt("Hi")
    assert list(response) == chunks
    assert response.duration_ms() in about(3000)


def test_a_reply_has_a_latency_of_its_own() -> None:
    assert duration(Reply(TEXT, latency=Latency(first_chunk=7))) in about(7000)
    mock = create_mock_get_model({"m": Reply(TEXT, latency=Latency(first_chunk=7))})
    assert read(mock("m").prompt("Hi"))[1] in about(7000)


@pytest.mark.parametrize(
    ("of_the_run", "of_the_test", "seconds"),
    [
        ({"m": 1}, {}, 1),
        ({"*": 1}, {}, 1),
        ({"m": 1}, {"m": 2}, 2),
        ({"m": 1}, {"*": 2}, 2),
        ({"*": 1}, {"*": 2, "m": 3}, 3),
        ({"*": 1, "m": 2}, {}, 2),
        ({"m": 1}, {"other": 2}, 1),
    ],
)
def test_the_latency_of_the_test_goes_before_that_of_the_run_and_a_models_before_that_of_any(
    of_the_run: dict[str, int], of_the_test: dict[str, int], seconds: int
) -> None:
    run = LLMMock()
    for model, first_chunk in of_the_run.items():
        run.set_latency(model, Latency(first_chunk=first_chunk))
    mock = LLMMock(parent=run)
    for model, first_chunk in of_the_test.items():
        mock.set_latency(model, Latency(first_chunk=first_chunk))
    assert read(mock("m").prompt("Hi"))[1] // 1000 == seconds


def test_a_latency_ends() -> None:
    mock = slow_mock()
    mock.set_latency("m", None)
    mock.set_latency("never set", None)
    assert read(mock("m").prompt("Hi"))[1] < 500


def test_each_turn_of_a_chain_takes_its_time() -> None:
    def search(query: str) -> str:
        return "found"

    mock = slow_mock(TEXT)
    mock.add("m", Reply(tool_calls=[llm.ToolCall("search", {"query": "x"})]))
    turns = list(mock("m").chain("Hi", tools=[search]).responses())
    assert [read(turn)[1] // 500 for turn in turns] == [5, 4]


def test_the_log_shows_the_time() -> None:
    database = sqlite_utils.Database(memory=True)
    migrate(database)
    slow_mock()("m").prompt("Hi").log_to_db(database)
    (row,) = database["turns" if "turns" in database.table_names() else "responses"].rows
    database.close()
    assert row["duration_ms"] in TWO_SECONDS


@pytest.mark.parametrize("ask", WAYS + ASYNC_WAYS)
def test_jitter_is_the_same_for_the_same_seed_and_call(ask: Callable[..., Any]) -> None:
    latency = Latency(first_chunk=100, chunks_per_second=1, jitter=0.5, seed=7)
    mock, again = slow_mock(latency=latency), slow_mock(latency=latency)
    first = [read(ask(mock))[1] for _ in range(3)]
    assert [read(ask(again))[1] for _ in range(3)] == pytest.approx(first, abs=400)
    assert max(first) - min(first) > 1000  # each call has its own


def test_jitter_stays_within_its_fraction_and_depends_on_the_seed() -> None:
    def first_waits(seed: int) -> list[float]:
        latency = Latency(first_chunk=10, chunks_per_second=1, jitter=0.2, seed=seed)
        return [latency.compute_waits([1, 1], number)[0] for number in range(50)]

    assert all(8 <= seconds <= 12 for seconds in first_waits(0))
    assert max(first_waits(0)) - min(first_waits(0)) > 2
    assert first_waits(0) != first_waits(1)


def test_jitter_is_the_same_in_every_process(run_python: RunPython) -> None:
    expression = "Latency(1, 5, jitter=0.3, seed=4).compute_waits([1, 1, 2], 9)"
    code = f"from llm_mock import Latency; print({expression})"
    outputs = {run_python(code, PYTHONHASHSEED=seed).stdout for seed in ("1", "2")}
    assert outputs == {f"{Latency(1, 5, jitter=0.3, seed=4).compute_waits([1, 1, 2], 9)}\n"}


def cut_after(seconds: float) -> Latency:
    return Latency(first_chunk=1.0, chunks_per_second=2, timeout=seconds)


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(("timeout", "arrived"), [(0.5, 0), (1.0, 1), (1.2, 1), (1.9, 2)])
def test_a_timeout_cuts_a_reply_after_the_chunks_that_came_before(
    timeout: float, arrived: int, streamed: bool
) -> None:
    mock = slow_mock(latency=cut_after(timeout))
    response = mock("m").prompt("Hi", stream=streamed)
    chunks: list[str] = []
    with pytest.raises(TimeoutError):
        collect(response, chunks)
    assert chunks == (TOKENS[:arrived] if streamed else [])
    assert response._start is not None
    assert time.monotonic() - response._start == about_seconds(timeout)
    call = mock.calls[0]
    assert (call["response"], call["error"]) == ("".join(TOKENS[:arrived]), "Request timed out.")
    assert call["output_tokens"] == max(arrived, 1)


def collect(source: Any, into: list[Any]) -> None:
    """Keep what comes before an error."""
    for item in source:
        into.append(item)


def test_a_timeout_that_is_not_reached_changes_nothing() -> None:
    assert duration(TEXT, cut_after(2.0)) in TWO_SECONDS


@pytest.mark.parametrize("ask", ASYNC_WAYS)
def test_a_timeout_reaches_an_async_response(ask: Callable[..., Any]) -> None:
    with pytest.raises(TimeoutError):
        read(ask(slow_mock(latency=cut_after(1.2))))


def test_a_timeout_is_that_of_the_providers_sdk() -> None:
    expected = type(make_provider_error("gpt-4o-mini", "timeout"))
    assert expected.__name__ == "APITimeoutError"
    mock = create_mock_get_model({"gpt-4o-mini": Reply(TEXT, latency=cut_after(0.5))})
    with pytest.raises(expected):
        mock("gpt-4o-mini").prompt("Hi").text()


@needs_reasoning
@pytest.mark.parametrize(
    ("timeout", "shown"), [(0.5, []), (1.5, ["Think"]), (2.4, ["Think", "Hell"])]
)
def test_a_timeout_may_come_before_or_after_the_reasoning(timeout: float, shown: list[str]) -> None:
    latency = Latency(first_chunk=1.0, chunks_per_second=1, timeout=timeout + 1)
    response: Any = slow_mock(Reply(TEXT, reasoning="Think"), latency)("m").prompt("Hi")
    events: list[Any] = []
    with pytest.raises(TimeoutError):
        collect(response.stream_events(), events)
    assert [event.chunk for event in events] == shown


def test_a_timeout_within_a_tool_call_comes_after_the_text() -> None:
    reply = Reply(TEXT, tool_calls=[BrokenToolCall("search", {"query": "x" * 100})])
    response = slow_mock(reply, cut_after(3))("m").prompt("Hi")
    chunks: list[str] = []
    with pytest.raises(TimeoutError):
        collect(response, chunks)
    assert chunks == TOKENS
    assert response._start is not None
    assert time.monotonic() - response._start == about_seconds(3.0)


@pytest.mark.parametrize("error_after", [0, 2])
def test_a_scripted_error_comes_after_its_chunks_and_their_time(error_after: int) -> None:
    reply = Reply(chunks=TOKENS, error=ConnectionError("lost"), error_after=error_after)
    response = slow_mock(reply)("m").prompt("Hi")
    with pytest.raises(ConnectionError):
        response.text()
    assert response._start is not None
    assert time.monotonic() - response._start == about_seconds({0: 1.0, 2: 1.5}[error_after])


def test_an_error_without_an_answer_comes_at_once() -> None:
    mock = slow_mock(ConnectionError("down"), Latency(first_chunk=100, real_time=True))
    with pytest.raises(ConnectionError, match="down"):
        mock("m").prompt("Hi")


@pytest.mark.parametrize("ask", WAYS + ASYNC_WAYS)
def test_real_time_really_passes(ask: Callable[..., Any]) -> None:
    mock = slow_mock(latency=Latency(first_chunk=0.004, chunks_per_second=1000, real_time=True))
    response = ask(mock)
    began = time.monotonic()
    text, milliseconds = read(response)
    assert time.monotonic() - began >= 0.006
    assert (text, milliseconds >= 6) == (TEXT, True)


def test_other_tasks_run_while_an_async_model_takes_its_time() -> None:
    mock = slow_mock(latency=Latency(first_chunk=0.01, real_time=True))
    order = []

    async def ask() -> None:
        order.append("asked")
        await mock.get_async_model("m").prompt("Hi").text()
        order.append("answered")

    async def work() -> None:
        order.append("worked")

    async def both() -> None:
        await asyncio.gather(ask(), work())

    asyncio.run(both())
    assert order == ["asked", "worked", "answered"]


def test_a_timeout_in_real_time_comes_when_it_is_over() -> None:
    latency = Latency(first_chunk=60, timeout=0.01, real_time=True)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        slow_mock(latency=latency)("m").prompt("Hi").text()
    assert 0.01 <= time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"first_chunk": -1}, "Latency(first_chunk=-1): pass a number of seconds of at least 0."),
        ({"first_chunk": "1"}, "Latency(first_chunk='1'): pass a number of seconds of at least 0."),
        (
            {"first_chunk": float("nan")},
            "Latency(first_chunk=nan): pass a number of seconds of at least 0.",
        ),
        ({"chunks_per_second": 0}, "Latency(chunks_per_second=0): pass a number above 0, or None."),
        ({"jitter": 1.5}, "Latency(jitter=1.5): pass a fraction from 0 to 1."),
        ({"jitter": True}, "Latency(jitter=True): pass a fraction from 0 to 1."),
        ({"seed": "x"}, "Latency(seed='x'): pass a whole number of at most 30 digits."),
        ({"seed": True}, "Latency(seed=True): pass a whole number of at most 30 digits."),
        ({"real_time": 1}, "Latency(real_time=1): pass True or False."),
        (
            {"first_chunk": 1e30},
            "Latency(first_chunk=1e+30): the maximum is 86,400 seconds.",
        ),
        (
            {"chunks_per_second": 1e-9},
            "Latency(chunks_per_second=1e-09): the maximum is 86,400 seconds.",
        ),
        ({"timeout": 0}, "Latency(timeout=0): pass a number of seconds above 0, or None."),
    ],
)
def test_a_latency_that_no_model_has_is_refused(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidLatency) as caught:
        Latency(**arguments)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    "give", [lambda value: Reply("x", latency=value), lambda v: LLMMock().set_latency("m", v)]
)
def test_what_is_no_latency_is_refused(give: Callable[[Any], Any]) -> None:
    with pytest.raises(InvalidLatency, match=r"This is not a latency: '3'\. Pass the seconds"):
        give("3")
    with pytest.raises(InvalidLatency, match=r"first_chunk=-3\): pass a number of seconds"):
        give(-3)


def test_a_latency_is_frozen_and_can_be_sent() -> None:
    with pytest.raises(AttributeError):
        HALF_SECOND_A_CHUNK.first_chunk = 2  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(HALF_SECOND_A_CHUNK)) == HALF_SECOND_A_CHUNK


def test_another_process_takes_the_time_too(mock_llm_calls: LLMMock, run_python: RunPython) -> None:
    mock_llm_calls.set("m", TEXT)
    mock_llm_calls.set_latency("m", HALF_SECOND_A_CHUNK)
    code = "import llm; r = llm.get_model('m').prompt('Hi'); r.text(); print(r.duration_ms())"
    assert int(run_python(code, **mock_llm_calls.environment()).stdout) in TWO_SECONDS


def test_the_latency_of_the_run_is_set_in_the_hook(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "from llm_mock import Latency\n"
        "def pytest_llm_mock_configure(mock): mock.set_latency('*', Latency(first_chunk=5))"
    )
    pytester.makepyfile(
        """
        import llm

        def test_it():
            response = llm.get_model("m").prompt("Hi")
            response.text()
            assert 5000 <= response.duration_ms() < 5100
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)
