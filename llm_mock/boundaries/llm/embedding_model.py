"""The mocked embedding models: real `llm` models with vectors made from the text itself, or set by a test."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from numbers import Real
from typing import Any

import llm

from llm_mock.behaviour import ModelBehaviour
from llm_mock.behaviour.provider_errors import resolve_error
from llm_mock.boundaries.llm.real_model import ReplacesRealModel
from llm_mock.core.keys import PassedKey
from llm_mock.core.mock import Mock
from llm_mock.core.provider_error import ProviderError
from llm_mock.core.reply import Reply, to_exception
from llm_mock.core.vectors import EmbeddingRecord, EmbeddingState
from llm_mock.errors import InvalidReply
from llm_mock.support.text import described, shorten


class MockEmbeddingModel(ReplacesRealModel, llm.EmbeddingModel):  # type: ignore[name-defined, misc]
    """A real `llm.EmbeddingModel` that needs no network: the same item always gives the same vector.

    A vector that nobody set is made from the words and letters of a text (or the bytes of binary data), is of length
    1, and lies the nearer to that of another text the more words both have in common. It says nothing of meaning.
    """

    is_llm_mock = True
    supports_binary = True

    def __init__(
        self,
        model_id: str | None = None,
        dimensions: int | None = None,
        *,
        mock: Callable[[], Mock | None] | None = None,
    ) -> None:
        """
        Args:
            model_id: the model id; a subclass may give it as a class attribute instead.
            dimensions: how many numbers a vector has, by default 64.
            mock: which mock answers when the model is called; by default one of its own.
        """
        self.model_id: str = model_id or self.model_id
        if mock is not None:
            self.mock = mock  # type: ignore[method-assign]
        if dimensions is not None:
            self.dimensions = dimensions

    def mock(self) -> Mock | None:
        """Says which mock answers when the model is called; None lets the real model of that id answer."""
        self.mock = Mock(ModelBehaviour()).get_self  # type: ignore[method-assign]
        return self.mock()

    def copy_capabilities(self, real: Any) -> None:
        """Become like a real model in what it embeds, and how much of it at once."""
        self.bind_real_model(
            real, ("batch_size", "key_env_var", "needs_key", "supports_binary", "supports_text")
        )

    @property
    def _state(self) -> EmbeddingState:
        return (self.mock() or Mock(ModelBehaviour())).embedding_state(self.model_id)

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has. To be assigned before vectors are set; `InvalidReply` otherwise."""
        return self._state.dimensions

    @dimensions.setter
    def dimensions(self, dimensions: int) -> None:
        __tracebackhide__ = True
        state = self._state
        if (
            type(dimensions) is not int
            or dimensions < 1
            or any(len(v) != dimensions for v in state.vectors.values())
        ):
            raise InvalidReply(
                f"dimensions = {dimensions!r}: give a whole number from 1, before vectors of another length are set "
                f"({len(state.vectors)} set so far)."
            )
        state.dimensions = dimensions

    @property
    def call_history(self) -> list[EmbeddingRecord]:
        """Every batch that was embedded, failed ones included, in order; a single `embed` is a batch of one."""
        return self._state.calls

    def reset_history(self) -> None:
        """Forget every call of this model."""
        self._state.calls.clear()

    def set(self, item: str | bytes, vector: Iterable[float]) -> None:
        """Set the vector of one text or blob; it is given as it is, neither scaled nor rounded.

        Raises:
            InvalidReply: it is not as many finite numbers as the model has `dimensions`.
        """
        __tracebackhide__ = True
        state = self._state
        numbers = (
            list(vector)
            if isinstance(vector, Iterable) and not isinstance(vector, (str, bytes))
            else None
        )
        if not isinstance(item, (str, bytes)):
            raise InvalidReply(_format_unsupported_item(item))
        if numbers is None or len(numbers) != state.dimensions or not all(map(_is_number, numbers)):
            given = f"{len(numbers)} values" if numbers is not None else "no list"
            raise InvalidReply(
                f"This is not a vector of the model, but {given}: {shorten(vector if numbers is None else numbers)}. "
                f"Give {state.dimensions} finite numbers, or assign to the model's dimensions first."
            )
        state.vectors[item] = [float(number) for number in numbers]

    def set_error(self, exception: BaseException | type[BaseException] | Reply | None) -> None:
        """Have every call raise an exception, given as an instance, a class or a reply such as `templates.timeout()`.

        None ends it.

        Raises:
            InvalidReply: it is no exception.
        """
        __tracebackhide__ = True
        error = exception.error if isinstance(exception, Reply) else exception
        if exception is not None:
            to_exception(error)
        self._state.error = error

    def embed_batch(
        self, items: Iterable[str | bytes], *, key: str | None = None
    ) -> Iterator[list[float]]:
        """Called by `llm` to embed. An empty batch is no call.

        Raises:
            Exception: the error that was set.
            TypeError: an item is neither text nor bytes.
        """
        items, state = list(items), self._state
        if not items:
            return
        shown = [_format_item(item) for item in items]
        now = datetime.now().isoformat()
        key = self.key or key
        passed = PassedKey.from_key(key) if key else None
        record = EmbeddingRecord(
            timestamp=now, model_id=self.model_id, items=shown, key=passed, error=None
        )
        state.calls.append(record)
        try:
            if (mock := self.mock()) is not None:
                mock.check_embedded(self.model_id, items)
            vectors = [state.embed(item) for item in items]
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
    ) -> Iterator[list[float]]:
        """What `llm` calls, which would ask for a key first."""
        return self.embed_batch(items, key=key)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _format_item(item: Any) -> str:
    if not isinstance(item, (str, bytes)):
        raise TypeError(_format_unsupported_item(item))
    return item if isinstance(item, str) else f"<{len(item)} bytes>"


def _format_unsupported_item(item: Any) -> str:
    return f"Only str and bytes can be embedded, not {described(item)}."
