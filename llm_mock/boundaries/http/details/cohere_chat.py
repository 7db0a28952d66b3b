"""Cohere's Chat with details of replies.

See https://docs.cohere.com/docs/rag-citations and https://docs.cohere.com/reference/chat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.cited_documents import describe_cohere_document
from llm_mock.boundaries.http.details.cited_texts import list_cited_texts
from llm_mock.boundaries.http.details.token_logprobs import TokenQueue, make_token_id
from llm_mock.boundaries.http.protocols.cohere_chat import CohereChat, build_events
from llm_mock.core.events import Wait
from llm_mock.core.reply_items import Logprob
from llm_mock.support.json_types import JSONObject


class DetailedCohereChat(CohereChat):
    """`POST /v2/chat`, with details."""

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        body = super().build_body(context, reply)
        citations = _build_citations(context)
        if citations:
            body["message"]["citations"] = citations
        logprobs = context.answer.reply.logprobs
        if logprobs:
            body["logprobs"] = [_build_logprobs([token]) for token in logprobs]
        return body

    def build_events(self, context: ResponseContext) -> Iterator[JSONObject | Wait]:
        """Yield the events of a streamed response as JSON."""
        return _build_detailed_events(context)


PROTOCOL = DetailedCohereChat()


def _build_detailed_events(context: ResponseContext) -> Iterator[JSONObject | Wait]:
    """Yield the events of a streamed response, with the citations after the complete text."""
    tokens = TokenQueue(context.answer.reply.logprobs)
    citations = _build_citations(context)
    kind = ""
    for event in build_events(context):
        if isinstance(event, Wait):
            yield event
            continue
        if event["type"] == "content-start":
            kind = event["delta"]["message"]["content"]["type"]
        elif event["type"] == "content-delta":
            text = event["delta"]["message"]["content"].get("text", "")
            taken = tokens.take(text)
            if taken:
                event["logprobs"] = _build_logprobs(taken)
        elif _ends_text(event["type"], kind):
            for index, citation in enumerate(citations):
                message = {"citations": citation}
                yield {"type": "citation-start", "index": index, "delta": {"message": message}}
                yield {"type": "citation-end", "index": index}
            citations = []
        yield event


def _ends_text(event_type: str, content_kind: str) -> bool:
    """Return True if all text of the answer came before an event.

    Args:
        event_type: the type of the event.
        content_kind: the type of the last part of the content.
    """
    if event_type == "content-end":
        return content_kind == "text"
    # The plan for tool calls has no end event.
    return event_type in ("tool-call-start", "message-end")


def _build_citations(context: ResponseContext) -> list[JSONObject]:
    """Return the citations of a message, whose content is all texts of a reply joined."""
    reply = context.answer.reply
    if reply.tool_calls:
        place: JSONObject = {"type": "PLAN"}
    else:
        place = {"content_index": 1 if reply.reasoning else 0, "type": "TEXT_CONTENT"}
    citations: list[JSONObject] = []
    offset = 0
    for text, spans in list_cited_texts(reply):
        for span in spans:
            index = span.citation.document_index or 0
            document = describe_cohere_document(context.request.body, index)
            source = {"type": "document", "id": document["id"], "document": document}
            citation: JSONObject = {
                "start": offset + span.start,
                "end": offset + span.end,
                "text": text[span.start : span.end],
                "sources": [source],
            }
            citations.append({**citation, **place})
        offset += len(text)
    return citations


def _build_logprobs(tokens: Iterable[Logprob]) -> JSONObject:
    """Return the log probabilities of a text in tokens."""
    item: JSONObject = {"text": "", "token_ids": [], "logprobs": []}
    for token in tokens:
        item["text"] += token.token
        item["token_ids"].append(make_token_id(token.token))
        item["logprobs"].append(token.logprob)
    return item
