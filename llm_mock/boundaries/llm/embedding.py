"""Guard the methods with which embedding models embed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.llm.execution_guard import is_mock
from llm_mock.boundaries.llm.provider_classes import find_patched_embedding_model
from llm_mock.core.context import current_mock, passes_through, refuse_real_model

if TYPE_CHECKING:
    from llm.models import EmbeddingModel


def embed_with_mock(original: Callable[..., Any], model: Any, *args: Any, **kwargs: Any) -> Any:
    """Run `embed` or `embed_multi` with the model that embeds for the given one.

    It is, in this order: a real model that a test patched by hand, the real model if a mocked model
    is called while no mock is current, or the mock of a real model.
    """
    mock = current_mock()
    patched = None
    if mock is not None:
        patched = find_patched_embedding_model(model)
    if patched is not None:
        # Without the key: a patch by hand need not accept one.
        def embed_patched(items: Iterable[str | bytes], key: str | None) -> Any:
            return patched.embed_batch(items)

        model = _DelegatingModel(embed_patched, patched)
    elif is_mock(model):
        if model.mock() is None:
            import llm

            # Untyped in `llm`, so its type is given here.
            get_embedding_model: Callable[[str], Any] = llm.get_embedding_model
            real = get_embedding_model(model.model_id)
            embed = getattr(real, original.__name__)
            return embed(*args, **kwargs)
    elif mock is not None and not passes_through(model.model_id):
        refuse_real_model(model.model_id, mock)
        mocked = mock.get_mocked_model("embedding_model", model.model_id)
        model = _DelegatingModel(mocked.embed_batch, model)
    return original(model, *args, **kwargs)


class _DelegatingModel:
    """A real embedding model with its own attributes, whose batches another model embeds.

    Args:
        embed_batch: embeds a batch.
        model: the real model, with its batch size and the kinds of items that it accepts.
    """

    def __init__(self, embed_batch: Callable[..., object], model: EmbeddingModel) -> None:
        self._embed = embed_batch
        self._model = model

    def embed_batch(self, items: Iterable[str | bytes], key: str | None = None) -> Any:
        """Embed a batch with the other model, which gets the key of this one."""
        own_key = self._model.key or key
        return self._embed(items, key=own_key)

    # Called by llm 0.36 (a private name): its own method asks for the key first.
    _embed_batch = embed_batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)
