"""Gemini with details of replies.

See https://ai.google.dev/api/generate-content and
https://ai.google.dev/gemini-api/docs/google-search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.details.cited_texts import find_cited_spans
from llm_mock.boundaries.http.details.openai_chat import split_events
from llm_mock.boundaries.http.details.token_logprobs import TokenQueue, list_alternatives
from llm_mock.boundaries.http.protocols.gemini import Gemini
from llm_mock.boundaries.http.wire import server_sent_event
from llm_mock.core.events import Wait
from llm_mock.core.reply import Reply
from llm_mock.core.reply_items import Citation, Logprob
from llm_mock.support.json_types import JSONObject


class DetailedGemini(Gemini):
    """`POST …/models/MODEL:generateContent` and `:streamGenerateContent`, with details."""

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        body = super().build_body(context, reply)
        _complete_candidates(context, body)
        logprobs = context.answer.reply.logprobs
        if logprobs:
            for candidate in body["candidates"]:
                candidate["logprobsResult"] = _build_logprobs(context, logprobs)
        return body

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response, each of which is a response of its own."""
        tokens = TokenQueue(context.answer.reply.logprobs)
        for chunk in super().stream(context):
            if isinstance(chunk, Wait):
                yield chunk
                continue
            [event] = split_events(chunk)
            _complete_candidates(context, event)
            taken = tokens.take(_get_text(event))
            if taken:
                for candidate in event["candidates"]:
                    candidate["logprobsResult"] = _build_logprobs(context, taken)
            yield server_sent_event(event)


PROTOCOL = DetailedGemini()


def _complete_candidates(context: ResponseContext, response: JSONObject) -> None:
    """Add the details to the candidates of the last response."""
    scripted = context.answer.reply
    logprobs = [token.logprob for token in scripted.logprobs]
    for candidate in response["candidates"]:
        if "finishReason" not in candidate:
            continue
        candidate |= _build_grounding(scripted)
        if logprobs:
            candidate["avgLogprobs"] = sum(logprobs) / len(logprobs)


def _get_text(response: JSONObject) -> str:
    """Return the text of the answer in a response, without thoughts."""
    content = response["candidates"][0].get("content") or {}
    texts = [part.get("text", "") for part in content.get("parts", ()) if not part.get("thought")]
    return "".join(texts)


def _build_logprobs(context: ResponseContext, logprobs: Iterable[Logprob]) -> JSONObject:
    """Return the log probabilities of some tokens."""
    config = context.request.body.get("generationConfig") or {}
    count = config.get("logprobs") or 0
    result: JSONObject = {"chosenCandidates": [], "topCandidates": []}
    for token in logprobs:
        result["chosenCandidates"].append(_build_token(token.token, token.logprob))
        alternatives = list_alternatives(token.top_logprobs, count)
        top = [_build_token(text, logprob) for text, logprob in alternatives]
        result["topCandidates"].append({"candidates": top})
    if not count:
        del result["topCandidates"]
    return result


def _build_token(text: str, logprob: float) -> JSONObject:
    return {"token": text, "logProbability": logprob}


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
