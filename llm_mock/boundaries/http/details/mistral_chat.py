"""Mistral's chat completions with details of replies. See https://docs.mistral.ai/api."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.details.openai_chat import (
    encode_logprobs,
    get_content,
    split_events,
)
from llm_mock.boundaries.http.details.token_logprobs import (
    TokenQueue,
    build_tokens,
    make_token_id,
    read_top_count,
)
from llm_mock.boundaries.http.protocols.mistral_chat import MistralChat
from llm_mock.core.events import Wait
from llm_mock.core.reply_items import Logprob
from llm_mock.support.json_types import JSONObject


class DetailedMistralChat(MistralChat):
    """`POST …/chat/completions` of Mistral, with details."""

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        body = super().build_body(context, reply)
        logprobs = context.answer.reply.logprobs
        if logprobs:
            for choice in body["choices"]:
                choice["logprobs"] = _build_logprobs(context, logprobs)
        return body

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        tokens = TokenQueue(context.answer.reply.logprobs)
        for chunk in super().stream(context):
            if isinstance(chunk, Wait):
                yield chunk
                continue
            # A chunk has the same event for each choice.
            events = list(split_events(chunk))
            taken = tokens.take(get_content(events[0]))
            if taken:
                logprobs = _build_logprobs(context, taken)
                yield b"".join(encode_logprobs(event, logprobs) for event in events)
            else:
                yield chunk


PROTOCOL = DetailedMistralChat()


def _build_logprobs(context: ResponseContext, logprobs: Iterable[Logprob]) -> JSONObject:
    tokens = build_tokens(logprobs, read_top_count(context.request.body))
    for token in tokens:
        for each in (token, *token["top_logprobs"]):
            each["token_id"] = make_token_id(each["token"])
    return {"content": tokens}
