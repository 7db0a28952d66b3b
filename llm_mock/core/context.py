"""The mock that answers at this moment: a pointer, one a process, that every boundary asks."""

from __future__ import annotations

import fnmatch
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from llm_mock.core.ownership import RunningTest, other_test
from llm_mock.errors import LLMMockError, RealModelCall

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock


class LazyMock:
    """A mock that is made when it is first asked for: most tests of most projects call no model."""

    __slots__ = ("_lock", "_make", "created")

    def __init__(self, make: Callable[[], Mock]) -> None:
        self.created: Any = None
        """The mock, a `Mock`; None as long as nobody asked."""
        self._make = make
        self._lock = threading.RLock()  # what makes it may import code that asks for it, and signals may come

    def get(self) -> Any:
        """The mock, a `Mock`, always the same one."""
        if self.created is None:
            with self._lock:
                mock = self.created or self._make()
                self.created = self.created or mock
        return self.created


class ContextMocks(LazyMock):
    """Several mocks that answer at once, each in its own context: a thread, or a task, that goes on from `answering`.

    A thread that somebody else started has no context of its own; as long as there is one mock alone, that answers.

    Args:
        alone: what to do so that there is one alone, for the message where that is not so.
    """

    __slots__ = ("_alone", "_answering")

    def __init__(self, alone: str) -> None:
        self._alone = alone
        self._answering: list[Any] = []

    @property
    def created(self) -> Any:
        """The mock that answers here; None where that is not known."""
        mock = _here.get()
        return self._answering[0] if mock is None and len(self._answering) == 1 else mock

    def get(self) -> Any:
        """The mock that answers here.

        Raises:
            LLMMockError: it is not known which does.
        """
        if (mock := self.created) is None:
            name = threading.current_thread().name
            number = len(self._answering)
            raise LLMMockError(
                f"The thread {name!r} asks for a model, and it is not known for which of {number} cases that run at "
                f"once. {self._alone}"
                if number
                else f"The thread {name!r} asks for a model, and no case runs any more. Have the case wait for it."
            )
        return mock

    @contextmanager
    def answering(self, mock: Mock) -> Iterator[None]:
        """Let a mock answer in this context."""
        token = _here.set(mock)
        self._answering.append(mock)
        try:
            yield
        finally:
            self._answering.remove(mock)
            _here.reset(token)


_here: ContextVar[Any] = ContextVar("llm_mock_of_this_context", default=None)


class _State:
    """The activated mock, and the models that run for real beside it."""

    mock: Any = None
    live = False
    refuse_real_models = False
    passthrough: Sequence[str] = ()


def current_mock() -> Any:
    """The mock that answers at this moment, a `Mock`; None when real models are left alone.

    Raises:
        RealModelCall: they are left alone for a live test, and this thread is of another one.
    """
    __tracebackhide__ = True
    other = other_test()
    if other is not None:
        return _mock_of(other)
    if _State.live:
        return None
    mock = _State.mock
    return mock.get() if isinstance(mock, LazyMock) else mock


def _mock_of(other: RunningTest) -> Any:
    """Return the mock of a test that this thread belongs to, and that is not the running one."""
    __tracebackhide__ = True
    if not _State.live:
        return other.mock()
    raise RealModelCall(
        f"The thread {threading.current_thread().name!r} was started in {other.name}, which is mocked, and asks for a "
        "model in a later test that is marked llm_live: it would reach a real one. Have the first test wait for its "
        "threads and tasks to end."
    )


def current_mock_if_created() -> Any:
    """The same, but None where nobody has asked for the mock yet."""
    other = other_test()
    if other is not None and not _State.live:
        return other.mock()
    mock = None if _State.live else _State.mock
    return mock.created if isinstance(mock, LazyMock) else mock


def get_activated() -> Any:
    """What answers at this moment as it stands: a `Mock`, a `LazyMock` or None; to put another mock on top of it."""
    return _State.mock


def is_mocked() -> bool:
    """Whether a mock answers at this moment."""
    return not _State.live and (_State.mock is not None or other_test() is not None)


def activate(mock: Mock | LazyMock | None) -> Any:
    """Let a mock answer from now on, or none. Returns the one that did before, to be put back."""
    previous, _State.mock = _State.mock, mock
    return previous


def set_live(live: bool) -> None:
    """Leave real models alone for a while, whatever mock is activated in that time."""
    _State.live = live


def is_live() -> bool:
    """Whether real models are left alone for a while."""
    return _State.live


def set_refusal(refuse: bool) -> bool:
    """Refuse to execute real models, instead of answering for them. Returns what was set before."""
    previous, _State.refuse_real_models = _State.refuse_real_models, refuse
    return previous


def set_passthrough(model_ids: Sequence[str]) -> Sequence[str]:
    """Name the models that run for real, as globs of model ids. Returns those named before, to be put back."""
    previous, _State.passthrough = _State.passthrough, model_ids
    return previous


def has_passthrough() -> bool:
    """Whether some model runs for real beside the mock."""
    return bool(_State.passthrough)


def passes_through(model_id: str) -> bool:
    """Whether a model runs for real beside the mock."""
    patterns = _State.passthrough
    return bool(patterns) and any(fnmatch.fnmatchcase(model_id, pattern) for pattern in patterns)


def refuse_real_model(model_id: str, mock: Mock) -> None:
    """Note and raise that a real model was about to execute, where the project wants that refused."""
    __tracebackhide__ = True
    if not _State.refuse_real_models:
        return
    test = os.environ.get("PYTEST_CURRENT_TEST", "code outside of tests").removesuffix(" (call)")
    message = (
        f"The real model {model_id!r} was about to execute in {test}. It was made by hand, or obtained before the "
        "mock was there. Ask llm.get_model for it, or mark the test with @pytest.mark.llm_live, or name the model in "
        "ini llm_mock_passthrough; with ini llm_mock_real_models = answer the mock answers for it."
    )
    mock.note_problem(message)
    raise RealModelCall(message)
