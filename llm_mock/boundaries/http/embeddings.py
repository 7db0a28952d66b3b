"""Embed texts with an embedding model of the mock, with records and quotas."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from llm_mock.behaviour.provider_errors import resolve_error
from llm_mock.behaviour.refusals import find_error_dialect
from llm_mock.boundaries.http.providers.registry import find_own_endpoint, find_provider
from llm_mock.boundaries.http.request import read_key
from llm_mock.core.keys import make_passed_key
from llm_mock.core.vectors import EmbeddingRecord

if TYPE_CHECKING:
    from llm_mock.boundaries.http.wire import WireRequest
    from llm_mock.core.mock import Mock

EMBEDDINGS_PATH = re.compile(r"/embeddings$")
"""The end of the path for embeddings of OpenAI and Mistral."""
GEMINI_EMBEDDINGS_PATH = re.compile(r":(embedContent|batchEmbedContents)$")


def has_named_embedding_model(sent: WireRequest, provider: str) -> bool:
    """Return True for a request whose body names an embedding model."""
    own = find_own_endpoint(find_provider(provider), sent.method, sent.path)
    if own is not None:
        return own.calls_model
    return bool(EMBEDDINGS_PATH.search(sent.path))


def is_embedding_request(sent: WireRequest, provider: str) -> bool:
    """Return True for a request to an embedding model."""
    is_of_gemini = bool(GEMINI_EMBEDDINGS_PATH.search(sent.path))
    return is_of_gemini or has_named_embedding_model(sent, provider)


def embed_texts(
    sent: WireRequest,
    provider: str,
    mock: Mock,
    model: str,
    items: list[str],
    dimensions: int | None,
) -> tuple[list[list[float]], dict[str, str]]:
    """Return the vectors of a batch with the headers of its quota, and record it.

    The record has the same form as for a batch in `llm`.

    Raises:
        Exception: the configured error, in the provider's words.
    """
    model_id = mock.configurator.get_model_id(model)
    state = mock.embedding_state(model_id)
    key = read_key(sent.headers)
    # The record has the name that the client sent, the replies are found by the model's id.
    record = EmbeddingRecord(
        timestamp=datetime.now().isoformat(),
        model_id=model,
        items=items,
        key=make_passed_key(key) if key else None,
        error=None,
    )
    state.calls.append(record)
    words = find_error_dialect(provider)
    try:
        headers = _count_for_quota(sent, words, mock, model_id, items)
        return mock.embed_items(model_id, items, dimensions), headers
    except Exception as configured:
        error = resolve_error(configured, model, words)
        record["error"] = str(error) or type(error).__name__
        raise error from None


def _count_for_quota(
    sent: WireRequest, provider: str, mock: Mock, model_id: str, items: list[str]
) -> dict[str, str]:
    """Count a batch for the quota of its model, and return the rate-limit headers.

    Raises:
        Exception: a limit is exceeded; this is the provider's error.
    """
    if mock.quotas is None:
        return {}
    # Imported late: few tests set quotas.
    from llm_mock.boundaries.http.embedding_quotas import EmbeddingQuota

    quota = EmbeddingQuota(mock.quotas, model_id, provider)
    quota.count(sent, items)
    return quota.build_headers()
