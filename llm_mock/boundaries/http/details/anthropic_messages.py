"""Anthropic's Messages with details of replies.

See https://docs.anthropic.com/en/api/messages and
https://docs.anthropic.com/en/docs/build-with-claude/citations.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.cited_documents import list_documents
from llm_mock.boundaries.http.details.cited_texts import CitedSpan, list_cited_texts
from llm_mock.boundaries.http.details.server_tools import (
    build_tool_blocks,
    count_server_tool_use,
)
from llm_mock.boundaries.http.protocols.anthropic_messages import (
    MESSAGE_STOP,
    PING,
    AnthropicMessages,
    BlockId,
    build_block,
    build_content_block,
    close_block,
    encode_end,
    encode_event,
    encode_start,
    stream_empty_text,
)
from llm_mock.core.events import Event, ItemEvent, Wait, is_reply_item
from llm_mock.core.reply_items import Citation, ReplyItem
from llm_mock.support.json_types import JSONObject

ENCRYPTED_INDEX = "bW9jaw=="
"""The encrypted index of a web page, which clients send back with the citation."""
TEXT_BLOCK: BlockId = ("text", None)


class Segment(NamedTuple):
    """A part of a text that has its own content block."""

    text: str
    citations: list[JSONObject]


class DetailedMessages(AnthropicMessages):
    """`POST …/v1/messages`, with details."""

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        _count_searches(context)
        body = super().build_body(context, reply._replace(parts=()))
        texts = _list_segments(context)
        content: list[JSONObject] = body["content"]
        for part in reply.parts if reply.refusal is None else ():
            if is_reply_item(part):
                suffix = f"{context.number}_{len(content)}"
                content += build_tool_blocks(part, suffix, context.request.body)
                continue
            if not isinstance(part, str):
                content.append(build_content_block(part))
                continue
            for segment in next(texts, [Segment(part, [])]):
                block: JSONObject = {"type": "text", "text": segment.text}
                if segment.citations:
                    block["citations"] = segment.citations
                content.append(block)
        return body

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        yield encode_start(context)
        yield PING
        blocks = _BlockStream(context)
        for chunk in context.read_chunks(stream=True):
            if isinstance(chunk, Wait):
                yield chunk
            else:
                yield from blocks.add(chunk)
        yield from blocks.close()
        if blocks.index < 0 and context.answer.reply.refusal is None:
            yield from stream_empty_text()
        _count_searches(context)
        yield encode_end(context)
        yield MESSAGE_STOP


class _BlockStream:
    """The content blocks of a streamed message.

    Args:
        context: the call and its reply.
    """

    def __init__(self, context: ResponseContext) -> None:
        self._context = context
        self.index = -1
        """The index of the last block."""
        self._open_block: BlockId | None = None
        self._texts = _list_segments(context)
        """The segments of each text that has not begun."""
        self._segments: Iterator[Segment] = iter(())
        """The segments of the text that have not begun."""
        self._in_text = False
        self._missing = 0
        """The number of characters that the open segment still needs."""

    def add(self, chunk: str | Event) -> Iterator[bytes]:
        """Yield the events for a chunk."""
        if isinstance(chunk, str):
            yield from self._add_text(chunk)
            return
        if isinstance(chunk, ItemEvent):
            yield from self.close()
            yield from self._add_item(chunk.item)
            return
        block, start, delta = build_block(chunk)
        if block is None:
            return
        if block != self._open_block:
            yield from self.close()
            yield self._open(block, start)
        if delta is not None:
            yield self._encode_delta(delta)

    def _add_text(self, text: str) -> Iterator[bytes]:
        if not self._in_text:
            yield from self.close()
            self._missing = 0
            self._in_text = True
            self._segments = iter(next(self._texts, []))
        while text or self._open_block is None:
            if not self._missing:
                yield from self._close_segment()
                yield from self._open_segment(text)
            piece = text[: self._missing]
            text = text[self._missing :]
            self._missing -= len(piece)
            yield self._encode_delta({"type": "text_delta", "text": piece})

    def _add_item(self, item: ReplyItem) -> Iterator[bytes]:
        """Yield the events of an item: a call, whose input is streamed, and its result."""
        suffix = f"{self._context.number}_{self.index + 1}"
        call, result = build_tool_blocks(item, suffix, self._context.request.body)
        arguments = json.dumps(call["input"], ensure_ascii=False)
        block: BlockId = (call["type"], call["id"])
        yield self._open(block, {**call, "input": {}})
        yield self._encode_delta({"type": "input_json_delta", "partial_json": arguments})
        yield from close_block(self.index, block)
        yield self._open(block, result)
        yield from close_block(self.index, block)
        self._open_block = None

    def _open_segment(self, text: str) -> Iterator[bytes]:
        """Yield the start of the next segment, with its citations."""
        segment = next(self._segments, Segment(text, []))
        self._missing = len(segment.text)
        start: JSONObject = {"type": "text", "text": ""}
        if segment.citations:
            start["citations"] = []
        yield self._open(TEXT_BLOCK, start)
        # Citations come before the text.
        for citation in segment.citations:
            yield self._encode_delta({"type": "citations_delta", "citation": citation})

    def _open(self, block: BlockId, start: JSONObject) -> bytes:
        self.index += 1
        self._open_block = block
        return encode_event("content_block_start", index=self.index, content_block=start)

    def _encode_delta(self, delta: JSONObject) -> bytes:
        return encode_event("content_block_delta", index=self.index, delta=delta)

    def _close_segment(self) -> Iterable[bytes]:
        block = self._open_block
        self._open_block = None
        return () if block is None else close_block(self.index, block)

    def close(self) -> Iterable[bytes]:
        """Return the events that end the open block and its text."""
        self._in_text = False
        return self._close_segment()


PROTOCOL = DetailedMessages()


def _count_searches(context: ResponseContext) -> None:
    """Add the number of searches to the usage, unless the script sets it."""
    count = count_server_tool_use(context.answer.reply)
    if count is not None:
        context.usage_details = {"server_tool_use": count, **context.usage_details}


def _list_segments(context: ResponseContext) -> Iterator[list[Segment]]:
    """Yield the segments of each text of a reply."""
    reply = context.answer.reply
    documents = list_documents(context.request.body)
    for text, spans in list_cited_texts(reply):
        yield list(_split_text(text, spans, documents))


def _split_text(
    text: str, spans: list[CitedSpan], documents: list[JSONObject]
) -> Iterator[Segment]:
    """Split a text into segments at the start and end of each citation."""
    if not text:
        yield Segment("", [])
        return
    cuts = {0, len(text)}
    for span in spans:
        cuts |= {span.start, span.end}
    for start, end in itertools.pairwise(sorted(cuts)):
        citations = []
        for span in spans:
            if span.start <= start and end <= span.end:
                citations.append(_build_citation(span.citation, documents))
        yield Segment(text[start:end], citations)


def _build_citation(citation: Citation, documents: list[JSONObject]) -> JSONObject:
    if citation.document_index is None:
        return {
            "type": "web_search_result_location",
            "url": citation.url,
            "title": citation.title,
            "encrypted_index": ENCRYPTED_INDEX,
            "cited_text": citation.cited_text,
        }
    document = documents[citation.document_index]
    start = document["source"]["data"].find(citation.cited_text)
    return {
        "type": "char_location",
        "cited_text": citation.cited_text,
        "document_index": citation.document_index,
        "document_title": document.get("title"),
        "file_id": None,
        "start_char_index": start,
        "end_char_index": start + len(citation.cited_text),
    }
