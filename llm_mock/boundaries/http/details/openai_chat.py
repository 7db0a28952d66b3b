"""Chat Completions with details of replies.

See https://platform.openai.com/docs/api-reference/chat/object, …/chat-streaming and
https://platform.openai.com/docs/guides/tools-web-search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic_core import from_json

from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.details.cited_texts import list_cited_texts
from llm_mock.boundaries.http.details.token_logprobs import (
    TokenQueue,
    build_tokens,
    read_top_count,
)
from llm_mock.boundaries.http.protocols.openai_chat import OpenAIChat
from llm_mock.boundaries.http.wire import server_sent_event
from llm_mock.core.events import Wait
from llm_mock.core.reply import Reply
from llm_mock.core.reply_items import Audio, Logprob, is_instance
from llm_mock.support.json_types import JSONObject


class DetailedChat(OpenAIChat):
    """`POST …/chat/completions`, with details."""

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        body = super().build_body(context, reply)
        scripted = context.answer.reply
        # The choices are the same answer, as often as it is asked for.
        message = body["choices"][0]["message"]
        message["annotations"] = build_annotations(scripted)
        audio = find_audio(scripted)
        if audio is not None:
            message["content"] = message["content"] or None
            message["audio"] = {
                "id": f"audio_mock_{context.number}",
                "data": audio.data,
                "expires_at": _get_expiry(context),
                "transcript": audio.transcript,
            }
        if scripted.logprobs:
            top_count = read_top_count(context.request.body)
            for choice in body["choices"]:
                choice["logprobs"] = _build_logprobs(scripted.logprobs, top_count)
        return body

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        scripted = context.answer.reply
        tokens = TokenQueue(scripted.logprobs)
        top_count = read_top_count(context.request.body)
        for chunk in super().stream(context):
            if isinstance(chunk, Wait):
                yield chunk
                continue
            # A chunk has the same event for each choice.
            events = list(split_events(chunk))
            content = get_content(events[0])
            if is_last(events[0]):
                for delta in _list_last_deltas(context):
                    yield b"".join(encode_delta(event, delta) for event in events)
            if scripted.logprobs and content:
                logprobs = _build_logprobs(tokens.take(content), top_count)
                yield b"".join(encode_logprobs(event, logprobs) for event in events)
            else:
                yield chunk


PROTOCOL = DetailedChat()


def _list_last_deltas(context: ResponseContext) -> Iterator[JSONObject]:
    """Yield the deltas that come after the text and the tool calls."""
    scripted = context.answer.reply
    annotations = build_annotations(scripted)
    if annotations:
        yield {"annotations": annotations}
    audio = find_audio(scripted)
    if audio is not None:
        yield {"audio": {"id": f"audio_mock_{context.number}", "transcript": audio.transcript}}
        yield {"audio": {"data": audio.data}}
        # The last one has only the time.
        yield {"audio": {"expires_at": _get_expiry(context)}}


def _get_expiry(context: ResponseContext) -> int:
    """Return the expiry time of an audio at the provider: one hour after the response."""
    return context.created + 3600


def find_audio(reply: Reply) -> Audio | None:
    """Return the audio of a reply, as a message has at most one; None without audio."""
    for part in reply.parts or ():
        if is_instance(part, Audio):
            return part
    return None


def split_events(chunk: bytes) -> Iterator[JSONObject]:
    """Yield the data of the events in a chunk, which has one event for each choice.

    The end of a stream has no choices, so its data is an empty object.
    """
    for event in chunk.split(b"\n\n")[:-1]:
        data = event.removeprefix(b"data: ")
        yield {} if data == b"[DONE]" else from_json(data)


def is_last(event: JSONObject) -> bool:
    """Return whether an event ends a choice."""
    choices = event.get("choices") or ()
    return any(choice["finish_reason"] for choice in choices)


def get_content(event: JSONObject) -> str:
    """Return the text that an event adds to a choice."""
    choices = event.get("choices") or ()
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
    """Return the annotations of a message, whose content is all texts of a reply joined."""
    annotations: list[JSONObject] = []
    offset = 0
    for text, spans in list_cited_texts(reply):
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
