"""Quotas of embedding models, whose batches do not count as calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llm_mock.boundaries.http.request import HTTPRequest
from llm_mock.core.call import Call
from llm_mock.core.tokens import count_input_tokens

if TYPE_CHECKING:
    from llm_mock.boundaries.http.wire import WireRequest
    from llm_mock.core.protocols import AppliedQuotas


class EmbeddingQuota:
    """The quota for a batch of an embedding model.

    Args:
        quotas: the quotas of all models.
        model_id: the id of the model.
        provider: the provider in whose format a refusal is.
    """

    def __init__(self, quotas: AppliedQuotas, model_id: str, provider: str) -> None:
        self._quotas = quotas
        self._record = Call({"model_id": model_id, "provider": provider})

    def count(self, sent: WireRequest, items: list[str]) -> None:
        """Count a batch.

        Args:
            sent: the request.
            items: the texts.

        Raises:
            Exception: a limit is exceeded; this is the provider's error.
        """
        record = self._record
        parts = [{"type": "text", "text": item} for item in items]
        request = HTTPRequest(
            record["model_id"],
            [{"role": "user", "parts": parts}],
            api="embeddings",
            sent=sent,
            provider=record["provider"],
        )
        record.update(input_tokens=count_input_tokens(request), output_tokens=0)
        refusal = self._quotas.refuse(record, request)
        if refusal is not None:
            # The quota credits the wait of a client that waits as long as it was told.
            record.update(request.describe_failure(refusal, begun=False))
            raise refusal

    def build_headers(self) -> dict[str, str]:
        """Return the rate-limit headers of the response."""
        return self._quotas.build_headers(self._record)
