"""Parser for responses of endpoints that generate no text, such as embeddings."""

from __future__ import annotations

from collections.abc import Iterator

from llm_mock.boundaries.http.readers.reader import ResponseReader, TextSlot


class EndpointReader(ResponseReader):
    """A parser that reads only the token counts, and leaves the response unchanged."""

    def find_slots(self, body: object) -> Iterator[TextSlot]:
        """Yield nothing, as no text of the response can be edited."""
        if isinstance(body, dict):
            self._update_usage(body.get("usage"), "prompt_tokens", "completion_tokens")
        yield from ()


READER = EndpointReader
