"""Runs the cases of a suite one after the other, or several at once."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from llm_mock.suites.repeating import RepeatingRunner
from llm_mock.suites.results import CaseResult
from llm_mock.suites.schema import TestCase

INTERRUPT_SECONDS = 0.2
"""How long an interrupt may go unseen while cases run in threads."""
Events = Iterator[tuple[int, CaseResult | None]]
"""The position of a case with None when it starts, and with its result when it is done."""


def run_of(runner: RepeatingRunner, cases: Sequence[TestCase], waiting: Iterator[int], jobs: int) -> Events:
    """Run cases, so many at once; one after the other where the runner can do no more.

    Args:
        runner: what runs a case.
        cases: all of them.
        waiting: the positions of those that are to be run, as long as there are any.
        jobs: how many run at once, at most.
    """
    alone = jobs == 1 or runner.one_by_one
    return _one_by_one(runner, cases, waiting) if alone else _at_once(runner, cases, waiting, jobs)


def _one_by_one(runner: RepeatingRunner, cases: Sequence[TestCase], waiting: Iterator[int]) -> Events:
    for position in waiting:
        yield position, None
        yield position, runner.run(cases[position])


def _at_once(runner: RepeatingRunner, cases: Sequence[TestCase], waiting: Iterator[int], jobs: int) -> Events:
    """In threads that end with the process: an interrupt need not wait for the cases under way."""
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    running = 0

    def run(position: int) -> None:
        try:
            done.put((position, runner.run(cases[position])))
        except BaseException as error:  # such as pytest's own: the thread that waits must learn of it
            done.put((position, error))

    while True:
        while running < jobs and (started := next(waiting, None)) is not None:
            yield started, None
            threading.Thread(target=run, args=(started,), daemon=True).start()
            running += 1
        if not running:
            return
        position, result = _next_of(done)
        running -= 1
        if isinstance(result, BaseException):
            raise result
        yield position, result


def _next_of(done: queue.SimpleQueue[Any]) -> Any:
    """The next item. An interrupt that comes just as Python begins to wait would be seen only when the wait is over."""
    while True:
        with contextlib.suppress(queue.Empty):
            return done.get(timeout=INTERRUPT_SECONDS)
