"""Embedding vectors: configured ones, and ones computed from the item alone."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict

from llm_mock.core.keys import PassedKey
from llm_mock.core.reply import to_exception

if TYPE_CHECKING:
    pass


WORD_WEIGHT = 2
"""The weight of a word; three neighbouring characters have weight 1."""
SEEN_BYTES = 4096
"""The number of bytes of binary data that make vectors similar."""


class EmbeddingRecord(TypedDict):
    """One batch that a model embedded, as plain JSON values."""

    timestamp: str
    """ISO 8601, local time."""
    model_id: str
    items: list[str]
    """The texts; binary data as `<N bytes>`."""
    key: PassedKey | None
    """Equal to the key that was passed, or assigned to the model; it reads `[redacted]`. None
    without a key."""
    error: str | None
    """The message of the error that was raised, else None."""


class EmbeddingState:
    """The state of one embedding model id, which falls back to that of the parent mock."""

    def __init__(self, parent: EmbeddingState | None = None) -> None:
        self.calls: list[EmbeddingRecord] = []
        self.vectors: dict[str | bytes, list[float]] = {}
        self.error: BaseException | type[BaseException] | None = None
        self.makes_vectors: bool = parent.makes_vectors if parent else False
        """Whether texts without a configured vector are expected."""
        self._dimensions: int = parent.dimensions if parent else 64
        self._parent = parent

    @property
    def dimensions(self) -> int:
        """The length of vectors. Assigning it makes the model compute missing vectors."""
        return self._dimensions

    @dimensions.setter
    def dimensions(self, dimensions: int) -> None:
        self._dimensions = dimensions
        # A test that sets a length wants vectors, so those are expected in strict tests too.
        self.makes_vectors = True

    def is_configured(self, item: str | bytes, dimensions: int | None = None) -> bool:
        """Return whether an error, a vector of the item, or the number of dimensions was set."""
        if self.makes_vectors or self.error is not None:
            return True
        known = len(self.vectors.get(item, ())) == (dimensions or self.dimensions)
        return known or (self._parent is not None and self._parent.is_configured(item, dimensions))

    def embed(self, item: str | bytes, dimensions: int | None = None) -> list[float]:
        """Return a new list with the vector of an item, or raise the configured error.

        Args:
            item: the text or bytes.
            dimensions: the requested length, by default that of the model.
        """
        size = dimensions or self.dimensions
        state: EmbeddingState | None = self
        while state is not None:
            if state.error is not None:
                raise to_exception(state.error).with_traceback(None)
            vector = state.vectors.get(item, ())
            if len(vector) == size:
                return list(vector)
            state = state._parent
        return make_vector(item, size)


def make_vector(item: str | bytes, dimensions: int) -> list[float]:
    """Return a vector of norm 1 for an item without a configured one, the same in every process.

    Each feature of the item adds its weight to one number, or subtracts it, so that items with
    common features have similar vectors.
    """
    sums = [0] * dimensions
    if isinstance(item, str):
        features = _iter_text_features(item)
    else:
        features = _iter_byte_features(item)
    for feature, weight in features:
        # Not `hash()`, which differs in every process.
        digest = hashlib.blake2b(feature, digest_size=8).digest()
        position, sign = divmod(int.from_bytes(digest, "big"), 2)
        sums[position % dimensions] += weight if sign else -weight
    # All zeros have no direction, and would be divided by zero.
    if not any(sums):
        sums[0] = 1
    length = math.sqrt(sum(number * number for number in sums))
    return [number / length for number in sums]


def _iter_text_features(text: str) -> Iterator[tuple[bytes, int]]:
    """Yield the features of a text with their weights: itself, its words and parts of words."""
    words = text.lower().split()
    padded = f" {' '.join(words)} "
    # The text itself, so that texts of the same words differ.
    yield _encode("text", text), 1
    for word in set(words):
        yield _encode("word", word), WORD_WEIGHT
    for part in {padded[start : start + 3] for start in range(len(padded) - 2)}:
        yield _encode("part", part), 1


def _encode(kind: str, text: str) -> bytes:
    return f"{kind} {text}".encode("utf-8", "surrogatepass")


def _iter_byte_features(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the features of binary data with their weights: itself, and each four bytes."""
    yield b"data " + data, 1
    starts = range(min(len(data), SEEN_BYTES) - 3)
    for part in {data[start : start + 4] for start in starts}:
        yield b"bytes " + part, 1
