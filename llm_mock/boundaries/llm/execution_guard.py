"""Guard the execution of responses, so that the mock answers however a model was obtained."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from llm_mock.boundaries.llm.unconsumed_responses import mark_read
from llm_mock.core.context import current_mock, is_live, passes_through, refuse_real_model


def is_mock(model: object) -> bool:
    """Return True for a model of this package."""
    return getattr(model, "is_llm_mock", False) is True


def is_async(model: object) -> bool:
    """Return True for an asynchronous model of `llm`."""
    import llm

    return isinstance(model, (llm.AsyncModel, llm.AsyncKeyModel))


def guard_iterator(original: Callable[[Any], Iterator[Any]], response: object) -> Iterator[Any]:
    """Iterate over an `llm.Response` with the model that must execute it.

    Args:
        original: `llm`'s own function.
        response: the response.
    """
    mark_read(response)
    model = _get_executing_model(response)
    return original(response) if model is None else _iterate_with(model, response, original)


def _iterate_with(
    model: object, response: object, original: Callable[[Any], Iterator[Any]]
) -> Iterator[Any]:
    chunks = original(response)
    # `llm` reads `response.model` before the first chunk only; later ones need no swap.
    with _ModelSwap(response, model):
        first = next(chunks, None)
    if first is not None:
        yield first
        yield from chunks


def guard_start(original: Callable[[Any], None], response: object) -> None:
    """Start an `llm.AsyncResponse` with the model that must execute it."""
    mark_read(response)
    with _ModelSwap(response, _get_starting_model(response)):
        original(response)


async def guard_next_chunk(original: Callable[[Any], Awaitable[str]], response: object) -> str:
    """Return the next chunk of an `llm.AsyncResponse`; before llm 0.32, the first one starts it."""
    mark_read(response)
    with _ModelSwap(response, _get_starting_model(response)):
        return await original(response)


def _get_starting_model(response: Any) -> Any:
    # `_generator` is private: llm sets it when a response starts. Without it the model is looked up
    # again for each chunk, which is slower but correct.
    is_started = hasattr(response, "_generator")
    return (None if is_started else _get_executing_model(response)) or response.model


class _ModelSwap:
    """A context in which another model executes a response."""

    # Not `contextlib.contextmanager`, which takes several times as long in each call.
    def __init__(self, response: Any, model: Any) -> None:
        self._response = response
        self._model = model
        self._own_model = response.model

    def __enter__(self) -> None:
        self._response.model = self._model

    def __exit__(self, *exc_info: object) -> None:
        self._response.model = self._own_model


def _get_executing_model(response: Any) -> Any:
    """Return the model that executes a response instead of its own one; None for its own."""
    __tracebackhide__ = True
    model = response.model
    if is_mock(model):
        # The test kept a mocked model, and calls it while all calls are real.
        return _get_real_model(response) if is_live() and model.mock() is None else None
    mock = current_mock()
    if mock is None or passes_through(model.model_id):
        return None
    refuse_real_model(model.model_id, mock)
    return mock.get_mocked_model("async_model" if is_async(model) else "model", model.model_id)


def _get_real_model(response: Any) -> Any:
    """Return the registered model behind a mocked one, and prepare the prompt for it."""
    import llm

    get = llm.get_async_model if is_async(response.model) else llm.get_model
    real = get(response.model.model_id)
    response.prompt.model = real
    # The options of a mocked model accept anything; the real model validates its own.
    options = {name: value for name, value in response.prompt.options if value is not None}
    response.prompt.options = real.Options(**options)
    return real
