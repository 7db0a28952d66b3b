"""OpenAI's Responses with details of replies.

See https://platform.openai.com/docs/api-reference/responses/object and …/responses-streaming.
"""

from __future__ import annotations

from collections.abc import Iterator

from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.details.cited_texts import CitedSpan, list_cited_texts
from llm_mock.boundaries.http.details.response_items import build_item, iter_item_events
from llm_mock.boundaries.http.details.token_logprobs import (
    TokenQueue,
    build_tokens,
    read_top_count,
)
from llm_mock.boundaries.http.protocols.openai_responses import (
    OpenAIResponses,
    ResponseStream,
    build_function_call_item,
    build_message_item,
    build_reasoning_item,
    finish_response,
)
from llm_mock.core.events import Event, ItemEvent, Wait, is_reply_item
from llm_mock.support.json_types import JSONObject


class DetailedResponses(OpenAIResponses):
    """`POST …/responses`, with details."""

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        if reply.refusal is not None:
            return super().build_body(context, reply)
        output: list[JSONObject] = []
        if context.answer.reply.reasoning is not None or reply.reasoning:
            output.append(build_reasoning_item(context, reply.reasoning))
        cited_spans = _iter_spans(context)
        for part in reply.parts:
            if isinstance(part, str):
                item = build_message_item(context, part, len(output))
                item["content"][0]["annotations"] = _build_annotations(next(cited_spans, []))
                item["content"][0]["logprobs"] = _build_tokens(context)
            elif is_reply_item(part):
                item = build_item(context, part, len(output))
            else:
                item = build_function_call_item(part)
            output.append(item)
        response = finish_response(context, output, reply.finish_reason)
        if context.request.body.get("background"):
            # Imported late: few applications use the background.
            from llm_mock.boundaries.http.stored_objects import start_in_background

            return start_in_background(context.mock, response)
        return response

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Return the events of a streamed response."""
        return _DetailedStream(context).build_events()


class _DetailedStream(ResponseStream):
    """A streamed response with details."""

    def __init__(self, context: ResponseContext) -> None:
        super().__init__(context)
        self._cited_spans = _iter_spans(context)
        """The spans of the texts that are not closed yet."""
        self._tokens = TokenQueue(context.answer.reply.logprobs)
        self._annotations: list[JSONObject] = []
        """The annotations of the text that is being closed."""

    def close(self, status: str = "completed") -> list[bytes]:
        """Close the open item, and return the events for it."""
        if self.open_item is None or self.open_item[0] != "message":
            return super().close(status)
        self._annotations = _build_annotations(next(self._cited_spans, []))
        events = []
        for index, annotation in enumerate(self._annotations):
            fields = {**self.position, "annotation_index": index, "annotation": annotation}
            events.append(self.encode("response.output_text.annotation.added", fields))
        return [*events, *super().close(status)]

    def add_chunk(self, chunk: str | Event) -> list[bytes]:
        """Return the events for a chunk of the reply."""
        if not isinstance(chunk, ItemEvent):
            return super().add_chunk(chunk)
        events = self.close()
        index = len(self.output)
        item = build_item(self.context, chunk.item, index)
        for kind, fields in iter_item_events(item, index):
            events.append(self.encode(kind, fields))
        self.output.append(item)
        return events

    def encode(self, kind: str, fields: JSONObject) -> bytes:
        """Encode an event with the next sequence number."""
        if kind == "response.content_part.done":
            self._complete_part(fields["part"])
        elif kind == "response.output_item.done" and fields["item"]["type"] == "message":
            # The response at the end contains the same item.
            part = fields["item"]["content"][0]
            self._complete_part(part)
            if part["type"] == "output_text":
                part["logprobs"] = _build_tokens(self.context)
        elif kind == "response.output_text.delta":
            tokens = self._tokens.take(fields["delta"])
            fields["logprobs"] = build_tokens(tokens, read_top_count(self.context.request.body))
        elif kind == "response.output_text.done":
            fields["logprobs"] = _build_tokens(self.context)
        return super().encode(kind, fields)

    def _complete_part(self, part: JSONObject) -> None:
        if part["type"] == "output_text":
            part["annotations"] = self._annotations


PROTOCOL = DetailedResponses()


def _iter_spans(context: ResponseContext) -> Iterator[list[CitedSpan]]:
    """Yield the cited spans of each text of the reply."""
    for _, spans in list_cited_texts(context.answer.reply):
        yield spans


def _build_tokens(context: ResponseContext) -> list[JSONObject]:
    """Return all tokens of the text."""
    return build_tokens(context.answer.reply.logprobs, read_top_count(context.request.body))


def _build_annotations(spans: list[CitedSpan]) -> list[JSONObject]:
    """Return the annotations of a text."""
    annotations: list[JSONObject] = []
    for span in spans:
        citation = span.citation
        if citation.url is not None:
            annotations.append(
                {
                    "type": "url_citation",
                    "url": citation.url,
                    "title": citation.title,
                    "start_index": span.start,
                    "end_index": span.end,
                }
            )
            continue
        annotations.append(
            {
                "type": "file_citation",
                "file_id": citation.file_id,
                "filename": citation.filename,
                # The position after the cited words.
                "index": span.end,
            }
        )
    return annotations
