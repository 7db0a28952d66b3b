"""Embedding vectors: configured vectors, and vectors computed from the item."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Protocol, TypedDict

from llm_mock.core.keys import PassedKey
from llm_mock.core.reply import to_exception
from llm_mock.core.script import ScriptedVector
from llm_mock.core.source_location import format_location, format_notes
from llm_mock.errors import InvalidReply
from llm_mock.support.text import described, shorten

if TYPE_CHECKING:
    from llm_mock.core.script import Script

UNKNOWN_DIMENSIONS = 64
"""The length of the vectors of an unknown model."""
# The default lengths that the providers document.
DIMENSIONS = {
    # https://platform.openai.com/docs/guides/embeddings
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    # https://ai.google.dev/gemini-api/docs/embeddings, and the documentation of Vertex AI
    "gemini-embedding-001": 3072,
    "gemini-embedding-2-preview": 3072,
    "gemini-embedding-exp-03-07": 3072,
    "embedding-001": 768,
    "text-embedding-004": 768,
    "text-embedding-005": 768,
    "text-multilingual-embedding-002": 768,
    "multimodalembedding@001": 1408,
    # https://docs.mistral.ai/capabilities/embeddings
    "mistral-embed": 1024,
    "mistral-embed-2312": 1024,
    "codestral-embed": 1536,
    "codestral-embed-2505": 1536,
    # https://docs.voyageai.com/docs/embeddings
    "voyage-4-large": 1024,
    "voyage-4": 1024,
    "voyage-4-lite": 1024,
    "voyage-3.5": 1024,
    "voyage-3.5-lite": 1024,
    "voyage-3-large": 1024,
    "voyage-3": 1024,
    "voyage-3-lite": 512,
    "voyage-code-3": 1024,
    "voyage-code-2": 1536,
    "voyage-finance-2": 1024,
    "voyage-law-2": 1024,
    "voyage-multilingual-2": 1024,
    "voyage-multimodal-3": 1024,
    "voyage-large-2": 1536,
    "voyage-large-2-instruct": 1024,
    "voyage-2": 1024,
    # https://docs.cohere.com/docs/cohere-embed
    "embed-v4.0": 1536,
    "embed-english-v3.0": 1024,
    "embed-english-light-v3.0": 384,
    "embed-multilingual-v3.0": 1024,
    "embed-multilingual-light-v3.0": 384,
    "embed-english-v2.0": 4096,
    "embed-english-light-v2.0": 1024,
    "embed-multilingual-v2.0": 768,
}
"""The length of the vectors of known models."""
SHORTENED_ID = re.compile(r"^(.+)-(\d+)$")
"""An id of `llm`'s plugins for shorter vectors, such as `text-embedding-3-small-512`."""
WORD_WEIGHT = 2
"""The weight of a word; three neighbouring characters have weight 1."""
SEEN_BYTES = 4096
"""The number of bytes of binary data that affect the vector."""


class EmbeddingRecord(TypedDict):
    """One batch that a model embedded, as plain JSON values."""

    timestamp: str
    """ISO 8601, local time."""
    model_id: str
    items: list[str]
    """The texts; binary data as `<N bytes>`."""
    key: PassedKey | None
    """The key that was passed or assigned to the model, shown as `[redacted]`, but equal to it;
    None without a key."""
    error: str | None
    """The message of the error that was raised; None without one."""


class VectorSource(Protocol):
    """The configuration of a mock; importing its class would be circular."""

    replies: Script


class EmbeddingState:
    """The state of one embedding model id, which falls back to that of the parent mock.

    Args:
        model_id: the model id.
        responses: the configuration of the mock.
        parent: the state of the same model in the parent mock.
    """

    def __init__(
        self, model_id: str, responses: VectorSource, parent: EmbeddingState | None = None
    ) -> None:
        self.calls: list[EmbeddingRecord] = []
        self.vectors: dict[str | bytes, list[float]] = {}
        self.error: BaseException | type[BaseException] | None = None
        self.makes_vectors: bool = parent.makes_vectors if parent else False
        """Whether texts without a configured vector are expected."""
        self._model_id = model_id
        self._responses = responses
        self._parent = parent
        self._known = find_dimensions(model_id)
        self._assigned: int | None = None

    @property
    def dimensions(self) -> int:
        """The length of vectors. If you assign it, the model computes missing vectors."""
        assigned = self._assigned
        state = self._parent
        while assigned is None and state is not None:
            assigned = state._assigned
            state = state._parent
        # For an unknown model, the first vector that is set defines the length.
        return assigned or self._known or self._find_scripted_length() or UNKNOWN_DIMENSIONS

    @dimensions.setter
    def dimensions(self, dimensions: int) -> None:
        self._assigned = dimensions
        # A test that sets a length expects computed vectors, even in a strict test.
        self.makes_vectors = True

    def is_configured(self, item: str | bytes) -> bool:
        """Return whether an error, a vector of the item, or the number of dimensions was set."""
        if self.makes_vectors or self.error is not None:
            return True
        if self._find_vector(item) is not None:
            return True
        return self._parent is not None and self._parent.is_configured(item)

    def embed(self, item: str | bytes, dimensions: int | None = None) -> list[float]:
        """Return a new list with the vector of an item, or raise the configured error.

        Args:
            item: the text or bytes.
            dimensions: the requested length, by default that of the model.

        Raises:
            InvalidReply: the vector of the item does not have this length.
        """
        size = dimensions or self.dimensions
        is_redefined = False
        state: EmbeddingState | None = self
        while state is not None:
            if state.error is not None:
                raise to_exception(state.error).with_traceback(None)
            vector = state._find_vector(item)
            if vector is not None and _fits(vector.numbers, size):
                return [*vector.numbers, *[0.0] * (size - len(vector.numbers))]
            # A test may assign a length that differs from the vectors of the whole run.
            if vector is not None and (dimensions or not is_redefined):
                raise InvalidReply(_format_wrong_length(self._model_id, item, vector, size))
            is_redefined = is_redefined or state._assigned is not None
            state = state._parent
        return make_vector(item, size)

    def _find_vector(self, item: str | bytes) -> ScriptedVector | None:
        """Return the vector that is set in this mock for an item; None without one."""
        numbers = self.vectors.get(item)
        if numbers is not None:
            return ScriptedVector(numbers, None)
        by_model = self._responses.replies.embeddings.get(item)
        return None if by_model is None else by_model.find(self._model_id)

    def _find_scripted_length(self) -> int | None:
        """Return the length of the first vector that is set for the model; None without one."""
        # A copy, because other threads may set vectors now.
        for by_model in list(self._responses.replies.embeddings.values()):
            vector = by_model.find(self._model_id)
            if vector is not None:
                return len(vector.numbers)
        return None if self._parent is None else self._parent._find_scripted_length()


def _fits(numbers: Sequence[float], size: int) -> bool:
    """Return whether numbers are a vector of a length, or short enough to be padded with zeros."""
    is_short = len(numbers) < UNKNOWN_DIMENSIONS
    return len(numbers) == size or (is_short and len(numbers) < size)


def find_dimensions(model_id: str) -> int | None:
    """Return the length of the vectors of a model by its id; None for an unknown model."""
    # Plugins and gateways put a provider before the name: `gemini/…`, `models/…`, `cohere.…`.
    name = model_id.rpartition("/")[2].removeprefix("cohere.")
    known = DIMENSIONS.get(name)
    if known is not None:
        return known
    shortened = SHORTENED_ID.match(name)
    if shortened is None or shortened[1] not in DIMENSIONS:
        return None
    return int(shortened[2]) or None


def parse_vector(vector: object, expected: str, dimensions: int | None = None) -> list[float]:
    """Return the numbers of a vector.

    Args:
        vector: the vector.
        expected: the end of the message, with the advice.
        dimensions: the length; None for any. Short vectors of any length are accepted.

    Raises:
        InvalidReply: it does not consist of finite numbers, or has a wrong length.
    """
    __tracebackhide__ = True
    # A text is iterable, too, but its letters are not a vector.
    if not isinstance(vector, Iterable) or isinstance(vector, (str, bytes)):
        raise InvalidReply(
            f"The vector must be a list of numbers, not {shorten(vector)}. {expected}"
        )
    numbers = list(vector)
    is_complete = _fits(numbers, dimensions or len(numbers))
    if not numbers or not is_complete or not all(map(_is_number, numbers)):
        raise InvalidReply(
            f"Expected a vector of the model, got {len(numbers)} values: {shorten(numbers)}. "
            f"{expected}"
        )
    return [float(number) for number in numbers]


def _is_number(value: object) -> bool:
    # A bool is a number in Python, but probably a mistake in a vector.
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    return math.isfinite(value)


def format_unsupported_item(item: object) -> str:
    """Return the message about an item that no model can embed."""
    message = f"Only str and bytes can be embedded, not {described(item)}."
    if isinstance(item, (list, tuple)):
        message += " Pass the text before the vector: set_embedding(model, text, [0.1, …])."
    return message


def _format_wrong_length(
    model_id: str, item: str | bytes, vector: ScriptedVector, size: int
) -> str:
    shown_item = shorten(item) if isinstance(item, str) else f"{len(item)} bytes"
    return (
        f"The vector for {shown_item} has {len(vector.numbers)} numbers, but this request to "
        f"{model_id!r} needs {size}. Set a vector of {size} numbers, or set another length in "
        f"mock.get_embedding_model({model_id!r}).dimensions."
        f"{format_notes(format_location(vector.place))}"
    )


def make_vector(item: str | bytes, dimensions: int) -> list[float]:
    """Return a computed vector of norm 1 for an item, the same in every process.

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
    # A vector of zeros cannot be normalized.
    if not any(sums):
        sums[0] = 1
    length = math.sqrt(sum(number * number for number in sums))
    return [number / length for number in sums]


def _iter_text_features(text: str) -> Iterator[tuple[bytes, int]]:
    """Yield the features of a text with their weights: itself, its words and parts of words."""
    words = text.lower().split()
    padded = f" {' '.join(words)} "
    # The text itself, so that texts with the same words differ.
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
