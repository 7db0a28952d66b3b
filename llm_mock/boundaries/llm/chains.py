"""What running an agent needs of `llm`, beyond its chains of tool calls."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from llm_mock.boundaries.llm.execution_guard import is_async, is_mock
from llm_mock.boundaries.llm.names import find_registered_model
from llm_mock.core.context import current_mock, passes_through


def save_state(response: Any) -> Callable[[], None]:
    """A function that makes an `llm` response, or a conversation, again as it is now, to begin anew after an error."""
    kept = _copy_state(vars(response))

    def start_again() -> None:
        vars(response).clear()
        vars(response).update(_copy_state(kept))

    return start_again


def _copy_state(state: dict[str, Any]) -> dict[str, Any]:
    """A state whose lists and dicts may be filled without changing those of the original."""
    return {
        name: copy.copy(value) if type(value) in (list, dict) else value
        for name, value in state.items()
    }


def disable_retries(model: Any) -> Any:
    """A real model whose SDK does not retry by itself, where that can be said; else the model as it is.

    `llm`'s own OpenAI models, and those that derive from them, make a client for each call.
    """
    get_client = getattr(model, "get_client", None)
    if is_mock(model) or get_client is None:
        return model
    own = copy.copy(model)

    def get_single_client(*args: Any, **kwargs: Any) -> Any:
        client = get_client(*args, **kwargs)
        return client.with_options(max_retries=0) if hasattr(client, "with_options") else client

    own.get_client = get_single_client
    return own


def is_answered_by_mock(model: Any) -> bool:
    """Whether a mock answers for a model, without asking the real one, as a cassette does that records."""
    mock: Any = (
        model.mock()
        if is_mock(model)
        else None
        if passes_through(model.model_id)
        else current_mock()
    )
    return mock is not None and (mock.cassette is None or mock.cassette.mode == "none")


def accepts_attachment(model: Any, kind: str | None) -> bool:
    """Whether a model takes attachments of a type, such as `image/png`.

    What a cassette records must be possible for the real model, so nothing is assumed there of one that no plugin has.
    """
    if is_mock(model) and (mock := model.mock()) is not None and mock.cassette is not None:
        real = find_registered_model("async_model" if is_async(model) else "model", model.model_id)
        return real is not None and kind in real.attachment_types
    return kind in model.attachment_types
