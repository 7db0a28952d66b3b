"""Gemini with details of replies.

See https://ai.google.dev/api/generate-content and
https://ai.google.dev/gemini-api/docs/google-search.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext, ToolCallText
from llm_mock.boundaries.http.details.cited_texts import list_cited_texts
from llm_mock.boundaries.http.details.token_logprobs import TokenQueue, list_alternatives
from llm_mock.boundaries.http.protocols.gemini import (
    FunctionCalls,
    Gemini,
    build_part,
    build_response,
)
from llm_mock.boundaries.http.wire import server_sent_event
from llm_mock.core.events import ItemEvent, Wait, is_reply_item
from llm_mock.core.reply import Reply
from llm_mock.core.reply_items import (
    Audio,
    Citation,
    CodeInterpreter,
    FileSearch,
    ImageGeneration,
    Logprob,
    ReplyItem,
    WebSearch,
    is_instance,
)
from llm_mock.support.json_types import JSONObject


class DetailedGemini(Gemini):
    """`POST …/models/MODEL:generateContent` and `:streamGenerateContent`, with details."""

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        encoded = list(itertools.chain.from_iterable(map(_build_parts, reply.parts)))
        if reply.reasoning:
            encoded.insert(0, {"text": reply.reasoning, "thought": True})
        body = build_response(context, encoded or [{"text": ""}], is_last=True)
        _complete_candidates(context, body)
        logprobs = context.answer.reply.logprobs
        if logprobs:
            for candidate in body["candidates"]:
                candidate["logprobsResult"] = _build_logprobs(context, logprobs)
        return body

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response; each event is a complete response object."""
        tokens = TokenQueue(context.answer.reply.logprobs)
        for event in _build_events(context):
            if isinstance(event, Wait):
                yield event
                continue
            _complete_candidates(context, event)
            taken = tokens.take(_get_text(event))
            if taken:
                for candidate in event["candidates"]:
                    candidate["logprobsResult"] = _build_logprobs(context, taken)
            yield server_sent_event(event)


PROTOCOL = DetailedGemini()


def _build_parts(part: str | ToolCallText | ReplyItem) -> list[JSONObject]:
    """Return the parts of a message for a part of a reply; none for a search."""
    if isinstance(part, (str, ToolCallText)):
        return [build_part(part)]
    if is_instance(part, ImageGeneration) or is_instance(part, Audio):
        return [{"inlineData": {"mimeType": part.media_type, "data": part.data}}]
    if not is_instance(part, CodeInterpreter):
        return []
    outcome = "OUTCOME_OK" if part.error is None else "OUTCOME_FAILED"
    output = part.output + (part.error or "")
    return [
        {"executableCode": {"language": "PYTHON", "code": part.code}},
        {"codeExecutionResult": {"outcome": outcome, "output": output}},
    ]


def _build_events(context: ResponseContext) -> Iterator[JSONObject | Wait]:
    """Yield the responses of a stream, as `Gemini.stream` does, and the waits between them."""
    calls = FunctionCalls()
    for chunk in context.read_chunks(stream=True):
        if isinstance(chunk, Wait):
            yield chunk
        elif isinstance(chunk, ItemEvent):
            parts = [*calls.pop_parts(), *_build_parts(chunk.item)]
            if parts:
                yield build_response(context, parts)
        elif isinstance(chunk, str):
            yield build_response(context, [*calls.pop_parts(), {"text": chunk}])
        elif chunk.type == "reasoning":
            yield build_response(context, [{"text": chunk.chunk, "thought": True}])
        else:
            calls.add(chunk)
    yield build_response(context, calls.pop_parts() or [{"text": ""}], is_last=True)


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
    """Return the field of a candidate with the sources; empty without sources."""
    metadata = _build_search_metadata(reply)
    chunks: list[JSONObject] = metadata.pop("groundingChunks", [])
    supports: list[JSONObject] = []
    positions = iter(_list_text_positions(reply))
    for text, spans in list_cited_texts(reply):
        position = next(positions)
        for span in spans:
            index = _find_chunk(chunks, span.citation)
            if index == len(chunks):
                chunks.append(_build_chunk(span.citation))
            segment: JSONObject = {
                # Start and end positions are counted in bytes.
                "startIndex": len(text[: span.start].encode()),
                "endIndex": len(text[: span.end].encode()),
                "text": text[span.start : span.end],
            }
            if position:
                segment["partIndex"] = position
            supports.append({"segment": segment, "groundingChunkIndices": [index]})
    if chunks:
        metadata["groundingChunks"] = chunks
    if supports:
        metadata["groundingSupports"] = supports
    return {"groundingMetadata": metadata} if metadata else {}


def _list_text_positions(reply: Reply) -> list[int]:
    """Return the positions of the texts among the parts of a message."""
    position = 0 if reply.reasoning is None else 1
    if reply.parts is None:
        return [position]
    positions: list[int] = []
    in_text = False
    for part in reply.parts:
        if isinstance(part, str) and in_text:
            continue
        in_text = isinstance(part, str)
        if in_text:
            positions.append(position)
        position += len(_build_parts(part)) if is_reply_item(part) else 1
    return positions


def _find_chunk(chunks: list[JSONObject], citation: Citation) -> int:
    """Return the index of a citation's source, or the number of sources if it is new."""
    wanted = _build_chunk(citation)
    for index, chunk in enumerate(chunks):
        is_page = citation.url is not None and chunk.get("web", {}).get("uri") == citation.url
        if is_page or chunk == wanted:
            return index
    return len(chunks)


def _build_search_metadata(reply: Reply) -> JSONObject:
    """Return the queries and the sources of the searches in a reply."""
    metadata: JSONObject = {}
    for part in reply.parts or ():
        found: Iterable[Citation] = ()
        if is_instance(part, WebSearch):
            metadata.setdefault("webSearchQueries", []).append(part.query)
            found = part.sources
        elif is_instance(part, FileSearch):
            metadata.setdefault("retrievalQueries", []).append(part.query)
            found = part.results
        metadata.setdefault("groundingChunks", []).extend(map(_build_chunk, found))
    return metadata


def _build_chunk(citation: Citation) -> JSONObject:
    if citation.url is not None:
        return {"web": {"uri": citation.url, "title": citation.title}}
    return {"retrievedContext": {"title": citation.filename, "text": citation.cited_text}}
