"""Where an embedding model embeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llm_mock.boundaries.llm.execution_guard import is_mock
from llm_mock.boundaries.llm.provider_classes import find_patched_embedding_model
from llm_mock.core.context import current_mock, passes_through, refuse_real_model


def embed_with_mock(original: Callable[..., Any], model: Any, *args: Any, **kwargs: Any) -> Any:
    """What `embed` or `embed_multi` of a model gives: the active mock's vectors, or those of the real model."""
    mock = current_mock()
    patched = None if mock is None else find_patched_embedding_model(model)
    if patched is not None:
        model = _DelegatingModel(lambda items, key: patched.embed_batch(items), patched)
    elif is_mock(model):
        if model.mock() is None:
            import llm

            real: Any = llm.get_embedding_model(model.model_id)  # type: ignore[no-untyped-call]
            return getattr(real, original.__name__)(*args, **kwargs)
    elif mock is not None and not passes_through(model.model_id):
        refuse_real_model(model.model_id, mock)
        model = _DelegatingModel(
            mock.get_mocked_model("embedding_model", model.model_id).embed_batch, model
        )
    return original(model, *args, **kwargs)


class _DelegatingModel:
    """A real embedding model whose batches another embeds; what it takes and how much at once stays its own."""

    def __init__(self, embed_batch: Callable[..., Any], model: Any) -> None:
        self._embed, self._model = embed_batch, model

    def embed_batch(self, items: Any, key: str | None = None) -> Any:
        return self._embed(items, key=self._model.key or key)

    _embed_batch = embed_batch  # what `llm` 0.36 calls; its own asks for the key first

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)
