"""Where a response executes its model: however that was obtained, the mock answers for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from llm_mock.boundaries.llm.unconsumed_responses import mark_read
from llm_mock.core.context import current_mock, is_live, passes_through, refuse_real_model


def is_mock(model: Any) -> bool:
    """Whether a model is one of this package's."""
    return getattr(model, "is_llm_mock", False) is True


def is_async(model: Any) -> bool:
    """Whether a model is an asynchronous one."""
    import llm

    return isinstance(model, (llm.AsyncModel, llm.AsyncKeyModel))


def guard_iterator(original: Callable[[Any], Iterator[Any]], response: Any) -> Iterator[Any]:
    """What iterating over an `llm.Response` does, with the model that is to execute it."""
    mark_read(response)
    executing = _get_executing_model(response)
    return original(response) if executing is None else _iterate_with(executing, response, original)


def _iterate_with(
    model: Any, response: Any, original: Callable[[Any], Iterator[Any]]
) -> Iterator[Any]:
    chunks = original(response)
    with _ModelSwap(response, model):
        first = next(chunks, None)  # `llm` looks at the model before the first chunk only
    if first is not None:
        yield first
        yield from chunks


def guard_start(original: Callable[[Any], None], response: Any) -> None:
    """The same for the function that starts an `llm.AsyncResponse`."""
    mark_read(response)
    with _ModelSwap(response, _get_starting_model(response)):
        original(response)


async def guard_next_chunk(original: Callable[[Any], Awaitable[str]], response: Any) -> str:
    """The same for the next chunk of an `llm.AsyncResponse`, which starts it before llm 0.32."""
    mark_read(response)
    with _ModelSwap(response, _get_starting_model(response)):
        return await original(response)


def _get_starting_model(response: Any) -> Any:
    # llm's own mark of a response that has started; without it the model is looked up once more.
    started = hasattr(response, "_generator")
    return (None if started else _get_executing_model(response)) or response.model


class _ModelSwap:
    """Has another model execute a response, and gives the response its own back."""

    def __init__(self, response: Any, model: Any) -> None:
        self._response, self._model, self._own = response, model, response.model

    def __enter__(self) -> None:
        self._response.model = self._model

    def __exit__(self, *exc_info: object) -> None:
        self._response.model = self._own


def _get_executing_model(response: Any) -> Any:
    """The model that executes a response in place of its own; None for its own."""
    __tracebackhide__ = True
    model = response.model
    if is_mock(model):
        return _get_real_model(response) if is_live() and model.mock() is None else None
    mock = current_mock()
    if mock is None or passes_through(model.model_id):
        return None
    refuse_real_model(model.model_id, mock)
    return mock.get_mocked_model("async_model" if is_async(model) else "model", model.model_id)


def _get_real_model(response: Any) -> Any:
    """The registered model behind one that was handed out under a mock and is called when there is none."""
    import llm

    get = llm.get_async_model if is_async(response.model) else llm.get_model
    real = get(response.model.model_id)
    response.prompt.model = real
    response.prompt.options = real.Options(
        **{n: v for n, v in response.prompt.options if v is not None}
    )
    return real
