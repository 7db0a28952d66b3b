"""Deadlines: the time that is left, and the timeouts that it shortens."""

from __future__ import annotations

import math
import time

import pytest

from llm_mock.support.deadline import Deadline, DeadlinePassed


class Clock:
    """A clock that is set by hand."""

    now = 100.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "monotonic", lambda: made.now)
    return made


def test_the_time_left_ends_with_nothing(clock: Clock) -> None:
    deadline = Deadline(5)
    assert (deadline.seconds, deadline.left) == (5, 5)
    clock.now += 4
    assert (deadline.seconds, deadline.left) == (5, 1)
    deadline.check()
    for seconds in (1, 2):
        clock.now += seconds
        assert deadline.left == 0
        with pytest.raises(DeadlinePassed):
            deadline.check()


def test_the_time_without_a_deadline_never_ends(clock: Clock) -> None:
    deadline = Deadline()
    clock.now += 10**9
    assert (deadline.seconds, deadline.left) == (math.inf, math.inf)
    deadline.check()


@pytest.mark.parametrize(
    ("seconds", "timeout", "limit"),
    [
        (5, None, 5),
        (5, 3, 3),
        (5, 5, 5),
        (5, 7, 5),
        (5, 0, 0),
        (math.inf, None, None),
        (math.inf, 3, 3),
    ],
)
def test_a_timeout_is_no_longer_than_the_time_left(
    clock: Clock, seconds: float, timeout: float | None, limit: float | None
) -> None:
    assert Deadline(seconds).limit(timeout) == limit
