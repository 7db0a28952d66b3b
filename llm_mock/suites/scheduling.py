"""Execution of the cases of a suite, one after the other or several at once."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator, Sequence

from llm_mock.suites.repeated_runs import RepeatingRunner
from llm_mock.suites.results import CaseResult
from llm_mock.suites.schema import TestCase

# On Windows and before some versions of Python a blocking get cannot be interrupted.
INTERRUPT_SECONDS = 0.2
"""The longest delay of an interrupt while cases run in threads."""
CaseEvents = Iterator[tuple[int, CaseResult | None]]
"""The position of a case, with None when it starts and with its result when it is done."""
_Done = tuple[int, CaseResult | BaseException]


def run_cases(
    runner: RepeatingRunner,
    cases: Sequence[TestCase],
    positions: Iterator[int],
    jobs: int,
) -> CaseEvents:
    """Run cases and yield their events.

    Args:
        runner: the runner of a case.
        cases: all cases.
        positions: the positions of the cases to run, read one by one as cases can start.
        jobs: the maximum number of cases to run at the same time; some runners run only one.
    """
    if jobs == 1 or runner.is_sequential:
        return _run_sequentially(runner, cases, positions)
    return _run_concurrently(runner, cases, positions, jobs)


def _run_sequentially(
    runner: RepeatingRunner,
    cases: Sequence[TestCase],
    positions: Iterator[int],
) -> CaseEvents:
    for position in positions:
        yield position, None
        yield position, runner.run(cases[position])


def _run_concurrently(
    runner: RepeatingRunner,
    cases: Sequence[TestCase],
    positions: Iterator[int],
    jobs: int,
) -> CaseEvents:
    done: queue.SimpleQueue[_Done] = queue.SimpleQueue()
    running = 0

    def run(position: int) -> None:
        try:
            done.put((position, runner.run(cases[position])))
        except BaseException as error:
            # Also pytest's own exceptions: the waiting thread raises them again.
            done.put((position, error))

    while True:
        while running < jobs:
            position = next(positions, None)
            if position is None:
                break
            yield position, None
            # Daemon threads, so that an interrupt does not wait for running cases.
            thread = threading.Thread(target=run, args=(position,), daemon=True)
            _start(thread)
            running += 1
        if not running:
            return
        finished, result = _get_next(done)
        running -= 1
        if isinstance(result, BaseException):
            raise result
        yield finished, result


def _start(thread: threading.Thread) -> None:
    """Start a thread.

    Raises:
        KeyboardInterrupt: also if it comes while this waits for the thread.
    """
    try:
        thread.start()
    except RuntimeError as error:
        # A condition of Python then releases a lock that it did not get again.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise error.__context__ from None
        raise


def _get_next(done: queue.SimpleQueue[_Done]) -> _Done:
    """Return the next item of a queue."""
    while True:
        # With a timeout: an interrupt just before a wait without one is noticed only at its end.
        with contextlib.suppress(queue.Empty):
            return done.get(timeout=INTERRUPT_SECONDS)
