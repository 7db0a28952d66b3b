"""The mocked embedding models: real `llm` models with computed or configured vectors."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from llm.models import EmbeddingModel

from llm_mock.behaviour import ModelBehaviour
from llm_mock.behaviour.provider_errors import resolve_error
from llm_mock.boundaries.llm.real_model import ReplacesRealModel
from llm_mock.core.keys import make_passed_key
from llm_mock.core.mock import Mock
from llm_mock.core.provider_error import ProviderError
from llm_mock.core.reply import Reply, to_exception
from llm_mock.core.vectors import (
    EmbeddingRecord,
    EmbeddingState,
    format_unsupported_item,
    parse_vector,
)
from llm_mock.errors import InvalidReply
from llm_mock.support.misspelling import NotAssignable

CAPABILITIES = ("batch_size", "key_env_var", "needs_key", "supports_binary", "supports_text")
"""The attributes that `llm` reads from an embedding model."""
GUESSED_NAMES = {
    "call_args": "call_history[0]",
    "call_args_list": "call_history",
    "call_count": "len(call_history)",
    "called": "len(call_history)",
    "mock_calls": "call_history",
    "return_value": "set(text, vector)",
    "side_effect": "set(text, vector), or set_error(error)",
}
"""The methods to use instead of the attributes of `unittest.mock`, by their names there."""


class MockEmbeddingModel(ReplacesRealModel, EmbeddingModel):
    """An `llm.EmbeddingModel` without network that always returns the same vector for an item.

    A vector that was not set is computed from the words and letters of a text, or from the bytes of
    binary data, and has length 1. The more words two texts share, the closer their vectors are.
    These vectors do not represent meaning.
    """

    is_llm_mock = True
    supports_binary = True
    _advice_by_name = GUESSED_NAMES

    # Without these, an assignment would be accepted and have no effect. Hidden from type checkers,
    # which know that there is nothing to assign.
    if not TYPE_CHECKING:
        return_value = NotAssignable("write set(text, vector) of the model")
        side_effect = NotAssignable("write set(text, vector) or set_error(error) of the model")

    def __init__(
        self,
        model_id: str | None = None,
        dimensions: int | None = None,
        *,
        mock: Callable[[], Mock | None] | None = None,
    ) -> None:
        """Create a model.

        Args:
            model_id: the model id; a subclass may have it as a class attribute instead.
            dimensions: the length of the vectors; by default that of the model with this id, or 64
                if the model is unknown.
            mock: returns the mock that answers calls; by default the model has its own mock.
        """
        self.model_id: str = model_id or self.model_id
        if mock is not None:
            # In the instance, where it overrides the method of the class.
            vars(self)["mock"] = mock
        if dimensions is not None:
            self.dimensions = dimensions

    def mock(self) -> Mock | None:
        """Return the mock that answers calls; None if the real model of the id answers.

        A model without a mock creates its own here, even if a subclass does not call our
        `__init__`.
        """
        own_mock = Mock(ModelBehaviour())
        vars(self)["mock"] = own_mock.get_self
        return own_mock

    def copy_capabilities(self, real: object) -> None:
        """Copy the kinds of items, the batch size and the name of a real model."""
        self.bind_real_model(real, CAPABILITIES)

    @property
    def _state(self) -> EmbeddingState:
        # Without a mock, nothing is configured and nothing is kept.
        mock = self.mock() or Mock(ModelBehaviour())
        return mock.embedding_state(self.model_id)

    @property
    def dimensions(self) -> int:
        """The length of the vectors. Assign it before you set vectors of another length."""
        return self._state.dimensions

    @dimensions.setter
    def dimensions(self, dimensions: int) -> None:
        __tracebackhide__ = True
        state = self._state
        # Not `isinstance`: True is an `int` too.
        if type(dimensions) is not int or dimensions < 1:
            raise InvalidReply(
                f"`dimensions` must be a whole number from 1, but got {dimensions!r}."
            )
        lengths = {len(vector) for vector in state.vectors.values()}
        if lengths - {dimensions}:
            raise InvalidReply(
                f"`dimensions` cannot be changed to {dimensions}, because vectors of another "
                f"length are already set ({len(state.vectors)}). Assign it before you set vectors."
            )
        state.dimensions = dimensions

    @property
    def call_history(self) -> list[EmbeddingRecord]:
        """All embedded batches in order, including failed ones; `embed` is a batch of one item."""
        return self._state.calls

    def reset_history(self) -> None:
        """Remove all calls to this model from the history."""
        self._state.calls.clear()

    def set(self, item: str | bytes, vector: Iterable[float]) -> None:
        """Set the vector of a text or of bytes. The vector is neither scaled nor rounded.

        Raises:
            InvalidReply: the vector does not consist of `dimensions` finite numbers.
        """
        __tracebackhide__ = True
        state = self._state
        if not isinstance(item, (str, bytes)):
            raise InvalidReply(format_unsupported_item(item))
        dimensions = state.dimensions
        expected = f"Pass {dimensions} finite numbers, or change the model's dimensions first."
        state.vectors[item] = parse_vector(vector, expected, dimensions)

    def set_error(self, exception: BaseException | type[BaseException] | Reply | None) -> None:
        """Make every call raise an exception. `set_error(None)` removes it.

        Args:
            exception: an instance, a class, or a reply such as `templates.timeout()`.

        Raises:
            InvalidReply: the argument is not an exception.
        """
        __tracebackhide__ = True
        error = exception.error if isinstance(exception, Reply) else exception
        # A reply that is not an error has None here, which is refused.
        if exception is not None:
            to_exception(error)
        self._state.error = error

    def embed_batch(
        self, items: Iterable[str | bytes], *, key: str | None = None
    ) -> Iterator[list[float]]:
        """Embed a batch; `llm` calls this method. An empty batch is not a call.

        Raises:
            Exception: the error that was set.
            TypeError: an item is neither text nor bytes.
        """
        # `llm` may pass a generator, which can be read only once.
        items = list(items)
        state = self._state
        if not items:
            return
        recorded_items = [_format_item(item) for item in items]
        now = datetime.now().isoformat()
        key = self.key or key
        passed = make_passed_key(key) if key else None
        record = EmbeddingRecord(
            timestamp=now, model_id=self.model_id, items=recorded_items, key=passed, error=None
        )
        # Before embedding, so that a failed call is in the history too.
        state.calls.append(record)
        try:
            # Without a mock nothing is configured.
            mock = self.mock() or Mock(ModelBehaviour())
            vectors = mock.embed_items(self.model_id, items)
        except ProviderError as configured:
            error = resolve_error(configured, self.model_id)
            record["error"] = str(error)
            raise error from None
        except BaseException as error:
            record["error"] = str(error) or type(error).__name__
            raise
        yield from vectors

    def _embed_batch(
        self, items: Iterable[str | bytes], *, key: str | None = None
    ) -> Generator[list[float], None, None]:
        """Embed a batch without asking for a key first, as the method of llm 0.36 would."""
        yield from self.embed_batch(items, key=key)


def _format_item(item: object) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, bytes):
        return f"<{len(item)} bytes>"
    raise TypeError(format_unsupported_item(item))
