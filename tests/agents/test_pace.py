"""Requests and tokens per minute: when the next request goes, for live models only."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from llm_mock import LLMMock
from llm_mock.agents import Agent, Provider, rate_limit, result_from_json, result_to_json
from llm_mock.agents.rate_limit import RequestLog
from llm_mock.errors import InvalidAgent
from tests.agents.flaky_server import FlakyServer
from tests.agents.runs import Run

from .test_retry import running as running
from .test_retry import server as server


@pytest.mark.parametrize(
    ("requests", "processes", "times", "starts"),
    [
        (2, 1, [0, 1, 2, 3, 70], [0, 1, 60, 61, 120]),
        (2, 1, [0, 61, 62, 63], [0, 61, 62, 121]),
        (None, 1, [0, 0, 0], [0, 0, 0]),
        (4, 2, [0, 0, 0], [0, 0, 60]),
        (1, 3, [0, 0], [0, 180]),
    ],
)
def test_so_many_requests_are_made_in_a_minute(
    requests: int | None, processes: int, times: list[float], starts: list[float]
) -> None:
    asked = RequestLog()
    assert [asked.reserve(now, requests, None, processes) for now in times] == starts


@pytest.mark.parametrize(
    ("took", "now", "start"),
    [
        ([], 0, 0),
        ([(0, 99)], 1, 1),
        ([(0, 100)], 1, 60),
        ([(0, 60), (10, 60)], 11, 60),
        ([(0, 60), (10, 60), (20, 60)], 21, 70),
        ([(0, 500), (10, 500)], 65, 70),
        ([(0, 500)], 61, 61),
    ],
)
def test_after_so_many_tokens_the_next_request_waits(
    took: list[tuple[float, int]], now: float, start: float
) -> None:
    asked = RequestLog()
    for at, tokens in took:
        asked.add_tokens(at, tokens)
    assert asked.reserve(now, None, 100, 1) == start


@pytest.mark.parametrize("limit", ["requests_per_minute", "tokens_per_minute"])
def test_a_live_model_is_waited_for_and_the_result_says_so(
    limit: str, server: FlakyServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(
        "PYTEST_XDIST_WORKER_COUNT", raising=False
    )  # whose processes would share the limits
    monkeypatch.setattr(rate_limit, "MINUTE", 0.1)
    monkeypatch.setattr(rate_limit, "time", SimpleNamespace(monotonic=lambda: 100.0))
    monkeypatch.setattr(rate_limit, "_logs", rate_limit.defaultdict(RequestLog))
    agent = Agent(Provider("loopback", key="none", **{limit: 1}))
    first, second = run(agent, "Hello"), run(agent, "Hello")
    assert first.turns[0].waited == 0
    assert second.turns[0].waited == pytest.approx(0.1)
    assert second.duration >= 0.1
    assert "waited " in str(second)
    assert result_from_json(result_to_json(second)).turns[0].waited == second.turns[0].waited


def test_nobody_waits_where_a_mock_answers(run: Run, mock_llm_calls: LLMMock) -> None:
    agent = Agent(Provider("m", requests_per_minute=1, tokens_per_minute=1))
    results = [run(agent, "Hello") for _ in range(3)]
    assert [result.turns[0].waited for result in results] == [0, 0, 0]


@pytest.mark.parametrize("value", [0, 1.5, True, "10"])
def test_a_limit_is_a_whole_number(value: object) -> None:
    with pytest.raises(
        InvalidAgent,
        match=r"requests_per_minute of Provider\(…\) is .*; pass a whole number from 1",
    ):
        Provider("m", requests_per_minute=value)  # type: ignore[arg-type]
