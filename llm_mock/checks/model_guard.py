"""Refuse model calls while functions of the project check an output in a dry run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from llm_mock.boundaries.dry_run_hosts import restrict_to_this_machine
from llm_mock.boundaries.llm.get_model import LLMMock
from llm_mock.boundaries.strict_mock import activate_in_process, create_strict_mock

FUNCTION_ADVICE = "In a dry run the functions of a suite cannot call models."


class _Guard:
    """The mock that refuses model calls from functions, shared by all functions that run now."""

    lock = threading.Lock()
    users = 0
    keepers = 0
    mock: LLMMock | None = None
    stack = ExitStack()


@contextmanager
def refuse_models() -> Iterator[Callable[[], Sequence[str]]]:
    """Refuse all models and other machines while functions of the suite check an output.

    Yields:
        A function that returns a message for each call that was refused since.
    """
    with _Guard.lock:
        mock = _Guard.mock or _start_guard()
        _Guard.users += 1
    noted = len(mock.problems)
    try:
        yield lambda: mock.problems[noted:]
    finally:
        with _Guard.lock:
            _Guard.users -= 1
            _end_unused_guard()


@contextmanager
def keep_guard() -> Iterator[None]:
    """Keep the mock of `refuse_models` after its first use, because it takes long to start."""
    with _Guard.lock:
        _Guard.keepers += 1
    try:
        yield
    finally:
        with _Guard.lock:
            _Guard.keepers -= 1
            _end_unused_guard()


def _start_guard() -> LLMMock:
    mock = create_strict_mock(FUNCTION_ADVICE)
    try:
        _Guard.stack.enter_context(restrict_to_this_machine())
        _Guard.stack.enter_context(activate_in_process(mock))
    except BaseException:
        _Guard.stack.close()
        raise
    _Guard.mock = mock
    return mock


def _end_unused_guard() -> None:
    if _Guard.mock is None or _Guard.users or _Guard.keepers:
        return
    _Guard.mock = None
    _Guard.stack.close()
