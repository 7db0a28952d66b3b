"""Chat Completions with details of replies.

See https://platform.openai.com/docs/api-reference/chat/object, …/chat-streaming and
https://platform.openai.com/docs/guides/tools-web-search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic_core import from_json

from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.details.cited_texts import find_cited_spans
from llm_mock.boundaries.http.details.token_logprobs import (
    TokenQueue,
    build_tokens,
    read_top_count,
)
from llm_mock.boundaries.http.protocols.openai_chat import OpenAIChat
from llm_mock.boundaries.http.wire import server_sent_event
from llm_mock.core.events import Wait
from llm_mock.core.reply import Reply
from llm_mock.core.reply_items import Logprob
from llm_mock.support.json_types import JSONObject


class DetailedChat(OpenAIChat):
    """`POST …/chat/completions`, with details."""

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        body = super().build_body(context, reply)
        scripted = context.answer.reply
        # The choices are the same answer, as often as it is asked for.
        body["choices"][0]["message"]["annotations"] = build_annotations(scripted)
        if scripted.logprobs:
            top_count = read_top_count(context.request.body)
            for choice in body["choices"]:
                choice["logprobs"] = _build_logprobs(scripted.logprobs, top_count)
        return body

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        scripted = context.answer.reply
        annotations = build_annotations(scripted)
        tokens = TokenQueue(scripted.logprobs)
        top_count = read_top_count(context.request.body)
        for chunk in super().stream(context):
            if isinstance(chunk, Wait):
                yield chunk
                continue
            # A chunk has the same event for each choice.
            events = list(split_events(chunk))
            content = get_content(events[0])
            if annotations and is_last(events[0]):
                delta = {"annotations": annotations}
                yield b"".join(encode_delta(event, delta) for event in events)
            if scripted.logprobs and content:
                logprobs = _build_logprobs(tokens.take(content), top_count)
                yield b"".join(encode_logprobs(event, logprobs) for event in events)
            else:
                yield chunk


PROTOCOL = DetailedChat()


def split_events(chunk: bytes) -> Iterator[Any]:
    """Yield the data of the events in a chunk, which has one for each choice."""
    for event in chunk.split(b"\n\n")[:-1]:
        data = event.removeprefix(b"data: ")
        yield "[DONE]" if data == b"[DONE]" else from_json(data)


def is_last(event: Any) -> bool:
    """Return whether an event ends a choice."""
    choices = event["choices"] if isinstance(event, dict) else ()
    return any(choice["finish_reason"] for choice in choices)


def get_content(event: Any) -> str:
    """Return the text that an event adds to a choice."""
    choices = event["choices"] if isinstance(event, dict) else ()
    contents = [choice["delta"].get("content") for choice in choices]
    # The thinking of Mistral is a list.
    return "".join(content for content in contents if isinstance(content, str))


def encode_logprobs(event: JSONObject, logprobs: JSONObject) -> bytes:
    """Encode an event with the log probabilities of its text."""
    choice = {**event["choices"][0], "logprobs": logprobs}
    return server_sent_event({**event, "choices": [choice]})


def _build_logprobs(logprobs: Iterable[Logprob], top_count: int) -> JSONObject:
    return {"content": build_tokens(logprobs, top_count), "refusal": None}


def encode_delta(last: JSONObject, delta: JSONObject) -> bytes:
    """Encode a delta that comes before the last event of a choice."""
    choice = {**last["choices"][0], "delta": delta, "finish_reason": None}
    return server_sent_event({**last, "choices": [choice]})


def build_annotations(reply: Reply) -> list[JSONObject]:
    """Return the annotations of a message, whose content is all texts of a reply."""
    annotations: list[JSONObject] = []
    offset = 0
    texts = reply.list_texts()
    for text, spans in zip(texts, find_cited_spans(reply), strict=True):
        for span in spans:
            citation: JSONObject = {
                "url": span.citation.url,
                "title": span.citation.title,
                "start_index": offset + span.start,
                "end_index": offset + span.end,
            }
            annotations.append({"type": "url_citation", "url_citation": citation})
        offset += len(text)
    return annotations
