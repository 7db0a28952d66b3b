"""Gemini with details of replies.

See https://ai.google.dev/api/generate-content and
https://ai.google.dev/gemini-api/docs/google-search.
"""

from __future__ import annotations

from collections.abc import Iterator

from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.details.cited_texts import find_cited_spans
from llm_mock.boundaries.http.details.openai_chat import split_events
from llm_mock.boundaries.http.protocols.gemini import Gemini
from llm_mock.boundaries.http.wire import server_sent_event
from llm_mock.core.events import Wait
from llm_mock.core.reply import Reply
from llm_mock.core.reply_items import Citation
from llm_mock.support.json_types import JSONObject


class DetailedGemini(Gemini):
    """`POST …/models/MODEL:generateContent` and `:streamGenerateContent`, with details."""

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        body = super().build_body(context, reply)
        _complete_candidates(context, body)
        return body

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response, each of which is a response of its own."""
        for chunk in super().stream(context):
            if isinstance(chunk, Wait):
                yield chunk
                continue
            for event in split_events(chunk):
                _complete_candidates(context, event)
                yield server_sent_event(event)


PROTOCOL = DetailedGemini()


def _complete_candidates(context: ResponseContext, response: JSONObject) -> None:
    """Add the details to the candidates of the last response."""
    for candidate in response["candidates"]:
        if "finishReason" in candidate:
            candidate |= _build_grounding(context.answer.reply)


def _build_grounding(reply: Reply) -> JSONObject:
    """Return the field of a candidate that has the sources; empty without any."""
    chunks: list[JSONObject] = []
    supports: list[JSONObject] = []
    texts = reply.list_texts()
    for text, spans in zip(texts, find_cited_spans(reply), strict=True):
        for span in spans:
            chunk = _build_chunk(span.citation)
            if chunk not in chunks:
                chunks.append(chunk)
            segment = {
                # Both are counted in bytes.
                "startIndex": len(text[: span.start].encode()),
                "endIndex": len(text[: span.end].encode()),
                "text": text[span.start : span.end],
            }
            indices = [chunks.index(chunk)]
            supports.append({"segment": segment, "groundingChunkIndices": indices})
    if not chunks:
        return {}
    return {"groundingMetadata": {"groundingChunks": chunks, "groundingSupports": supports}}


def _build_chunk(citation: Citation) -> JSONObject:
    if citation.url is not None:
        return {"web": {"uri": citation.url, "title": citation.title}}
    return {"retrievedContext": {"title": citation.filename, "text": citation.cited_text}}
