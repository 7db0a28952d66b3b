"""Helpers around `llm` models and responses for running agents."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.llm.execution_guard import is_async, is_mock
from llm_mock.boundaries.llm.names import find_registered_model
from llm_mock.core.context import current_mock, passes_through

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock


def save_state(response: object) -> Callable[[], None]:
    """Return a function that restores an `llm` response or conversation to its current state."""
    # `llm` cannot repeat a response that failed, so its attributes are set back.
    saved = _copy_state(vars(response))

    def restore() -> None:
        vars(response).clear()
        vars(response).update(_copy_state(saved))

    return restore


def _copy_state(state: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of attributes, with copies of lists and dicts."""
    copied = {}
    for name, value in state.items():
        is_filled_later = type(value) in (list, dict)
        copied[name] = copy.copy(value) if is_filled_later else value
    return copied


def disable_retries(model: Any) -> Any:
    """Return a real model whose SDK does not retry, or the model itself if that is not possible."""
    if is_mock(model):
        return model
    # `llm`'s OpenAI models, and models that derive from them, create a client for each call.
    get_client = getattr(model, "get_client", None)
    if get_client is None:
        return model
    single = copy.copy(model)

    def get_single_client(*args: Any, **kwargs: Any) -> Any:
        client = get_client(*args, **kwargs)
        return client.with_options(max_retries=0) if hasattr(client, "with_options") else client

    single.get_client = get_single_client
    return single


def is_answered_by_mock(model: Any) -> bool:
    """Return True if a mock answers for a model without making a real call for a cassette."""
    mock: Mock | None
    if is_mock(model):
        mock = model.mock()
    elif passes_through(model.model_id):
        mock = None
    else:
        mock = current_mock()
    return mock is not None and (mock.cassette is None or mock.cassette.mode == "none")


def accepts_attachment(model: Any, kind: str | None) -> bool:
    """Return True if a model accepts attachments of a type, such as `image/png`."""
    mock = model.mock() if is_mock(model) else None
    if mock is not None and mock.cassette is not None:
        # The call may be recorded, so the real model must accept it; an unknown one does not.
        real = find_registered_model("async_model" if is_async(model) else "model", model.model_id)
        return real is not None and kind in real.attachment_types
    return kind in model.attachment_types
