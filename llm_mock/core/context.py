"""The current mock, which answers the calls of this process."""

from __future__ import annotations

import fnmatch
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from llm_mock.core.ownership import RunningTest, RunState, get_other_test, owner
from llm_mock.errors import LLMMockError, RealModelCall

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock

NO_MOCK = object()
"""The value for a context that uses real models instead of a mock."""

# The functions below return `Any`, because each boundary knows its own subclass of `Mock`.


class LazyMock:
    """A mock that is created on first use, because most tests call no model.

    Args:
        create: returns the new mock.
    """

    __slots__ = ("_create", "_lock", "created")

    def __init__(self, create: Callable[[], Mock]) -> None:
        self.created: Any = None
        """The mock, or None until its first use."""
        self._create = create
        # Reentrant: creating a mock may import code that asks for it, and signal handlers may too.
        self._lock = threading.RLock()

    def get(self) -> Any:
        """Return the mock, creating it on the first call."""
        if self.created is None:
            with self._lock:
                mock = self.created or self._create()
                # A nested call during `_create` may have created the mock already.
                self.created = self.created or mock
        return self.created


class ContextMocks(LazyMock):
    """Several mocks, each for the threads and tasks that inherit the context of its `use`.

    A thread that was started elsewhere inherits no context. It gets the mock only if exactly one
    is in use.

    Args:
        advice: how to run one case at a time, for the error message.
    """

    __slots__ = ("_advice", "_in_use")

    def __init__(self, advice: str) -> None:
        self._advice = advice
        self._in_use: list[Any] = []

    @property
    def created(self) -> Any:
        """The mock of this context; None if it uses real models, or cannot be determined."""
        mock = self._find()
        return None if mock is NO_MOCK else mock

    def get(self) -> Any:
        """Return the mock of this context; None if it uses real models.

        Raises:
            LLMMockError: the mock cannot be determined.
        """
        mock = self._find()
        if mock is None:
            raise LLMMockError(self._explain_unknown_thread())
        return None if mock is NO_MOCK else mock

    def _find(self) -> Any:
        mock = _context_mock.get()
        if mock is None and len(self._in_use) == 1:
            return self._in_use[0]
        return mock

    def _explain_unknown_thread(self) -> str:
        name = threading.current_thread().name
        number = len(self._in_use)
        if number == 0:
            return (
                f"The thread {name!r} calls a model after the end of its case. Let the case wait "
                "for the thread."
            )
        return (
            f"The thread {name!r} calls a model, but {number} cases run in parallel, and it is "
            f"unknown which of them started the thread. {self._advice}"
        )

    @contextmanager
    def use(self, mock: Mock | None) -> Iterator[None]:
        """Answer the calls of this context with a mock; None makes it use real models."""
        chosen = NO_MOCK if mock is None else mock
        token = _context_mock.set(chosen)
        self._in_use.append(chosen)
        try:
            yield
        finally:
            self._in_use.remove(chosen)
            _context_mock.reset(token)


_context_mock: ContextVar[Any] = ContextVar("llm_mock_of_this_context", default=None)
# A context variable, because threads and tasks make calls at the same time.
_is_passing_through: ContextVar[bool] = ContextVar("llm_mock_is_passing_through", default=False)


class _State:
    """The activated mock, and the settings for real models of this process."""

    mock: Any = None
    live = False
    passthrough: Sequence[str] = ()


def current_mock() -> Any:
    """Return the current mock; None if real models are used.

    Raises:
        RealModelCall: a live test uses real models, but this thread belongs to another test.
    """
    __tracebackhide__ = True
    # A thread or task that outlives its test still uses the mock of that test. The usual case
    # comes first, without a further call.
    if owner.get() is not RunState.test or RunState.test is None:
        other = get_other_test()
        if other is not None:
            return _get_mock_of_other_test(other)
    if _State.live:
        return None
    mock = _State.mock
    if not isinstance(mock, LazyMock):
        return mock
    # After the first use, the method call is skipped.
    return mock.created or mock.get()


def _get_mock_of_other_test(other: RunningTest) -> Any:
    """Return the mock of another test, if this thread belongs to that test."""
    __tracebackhide__ = True
    if not _State.live:
        return other.get_mock()
    raise RealModelCall(
        f"The thread {threading.current_thread().name!r} was started in {other.name}, which is "
        "mocked, but calls a model during a later test that is marked llm_live, so it would call a "
        "real model. Let the first test wait until its threads and tasks end."
    )


def current_mock_if_created() -> Any:
    """Return the current mock, or None if nothing has used it yet."""
    other = get_other_test()
    if other is not None and not _State.live:
        return other.get_mock()
    mock = None if _State.live else _State.mock
    return mock.created if isinstance(mock, LazyMock) else mock


def get_activated() -> Any:
    """Return the last argument of `activate`: a `Mock`, a `LazyMock` or None."""
    return _State.mock


def is_mocked() -> bool:
    """Return whether a mock is active."""
    return not _State.live and (_State.mock is not None or get_other_test() is not None)


def is_passing_through() -> bool:
    """Return whether this thread or task is making a real call."""
    return _is_passing_through.get()


@contextmanager
def pass_through() -> Iterator[None]:
    """Let all calls within this context reach the real models, past every boundary."""
    token = _is_passing_through.set(True)
    try:
        yield
    finally:
        _is_passing_through.reset(token)


def activate(mock: Mock | LazyMock | None) -> Any:
    """Answer all calls of this process with a mock; None deactivates the current one.

    Returns:
        The previous mock, so that it can be activated again later.
    """
    previous = _State.mock
    _State.mock = mock
    return previous


def set_live(live: bool) -> None:
    """Set whether to use real models, even if a mock is activated."""
    _State.live = live


def is_live() -> bool:
    """Return whether real models are used, even if a mock is activated."""
    return _State.live


def set_passthrough(model_ids: Sequence[str]) -> Sequence[str]:
    """Let some models run for real while the others are mocked.

    Args:
        model_ids: globs of model ids.

    Returns:
        The previous globs.
    """
    previous = _State.passthrough
    _State.passthrough = model_ids
    return previous


def has_passthrough() -> bool:
    """Return whether any model runs for real while the others are mocked."""
    return bool(_State.passthrough)


def passes_through(model_id: str) -> bool:
    """Return whether a model runs for real while the others are mocked."""
    patterns = _State.passthrough
    return bool(patterns) and any(fnmatch.fnmatchcase(model_id, pattern) for pattern in patterns)


def refuse_real_model(model_id: str, mock: Mock) -> None:
    """Report and refuse the execution of a real model, if the project forbids it.

    Raises:
        RealModelCall: the project refuses real models.
    """
    __tracebackhide__ = True
    if not mock.settings.known_models_only:
        return
    # The phase that pytest appends is not useful here: the call is in the phase `call`.
    test = os.environ.get("PYTEST_CURRENT_TEST", "code outside of tests").removesuffix(" (call)")
    setting = mock.settings.format_ini("llm_mock_strict", "warn")
    message = (
        f"The real model {model_id!r} was about to execute in {test}. The application created it "
        "without llm.get_model, or obtained it before the mock was active. Obtain it with "
        "llm.get_model, mark the test with @pytest.mark.llm_live, or add the model to ini "
        f"llm_mock_passthrough. With ini {setting}, the mock answers instead."
    )
    mock.note_problem(message)
    raise RealModelCall(message)
