"""InvokeModel of Amazon Bedrock, whose bodies have the format of the model's company.

See https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Protocol

from pydantic_core import from_json, to_json

from llm_mock.boundaries.http import event_stream
from llm_mock.boundaries.http.body_types import BEDROCK_PROMPT, CONVERSE, MESSAGES
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.protocols import anthropic_messages, bedrock_converse
from llm_mock.boundaries.http.protocols.bedrock_converse import (
    NO_USER_MESSAGE,
    BedrockRequest,
    Operation,
    parse_path,
)
from llm_mock.boundaries.http.protocols.protocol import (
    extract_options,
    make_text_part,
    parse_json_body,
    parse_json_or_text,
    validate_body,
)
from llm_mock.boundaries.http.providers.anthropic import ANTHROPIC
from llm_mock.boundaries.http.providers.bedrock import BEDROCK
from llm_mock.boundaries.http.request import HTTPRequest, Message
from llm_mock.boundaries.http.wire import WireRequest
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import Wait
from llm_mock.core.mock import Mock
from llm_mock.support.json_types import JSON, JSONObject

API = "invoke_model"
MODEL_VERSION = re.compile(r"-v\d+(:\d+)?$")
METRICS = "amazon-bedrock-invocationMetrics"
"""The field that Bedrock adds to the last chunk of a stream."""
STREAM_ERRORS = {**bedrock_converse.STREAM_ERRORS, 408: "modelTimeoutException"}


class InvokeRequest(BedrockRequest):
    """A call of InvokeModel or InvokeModelWithResponseStream."""

    __slots__ = ()

    def decode_event(self, message: event_stream.EventMessage) -> JSON:
        """Return a chunk of a stream, or an error with its type as the only key."""
        payload = parse_json_or_text(message.payload.decode(errors="replace"))
        kind = message.headers.get(":exception-type")
        if kind is not None:
            return {kind: payload}
        try:
            return parse_json_or_text(base64.b64decode(payload["bytes"]).decode(errors="replace"))
        except (LookupError, TypeError, binascii.Error):
            return payload

    def _encode_answer(self, item: JSON) -> bytes:
        """Encode a chunk of a stream."""
        content = item.encode() if isinstance(item, str) else to_json(item)
        payload = {"bytes": base64.b64encode(content).decode()}
        return event_stream.encode_event("chunk", to_json(payload))


class BodyFormat(Protocol):
    """The body format of a company's models."""

    def parse_body(self, body: JSONObject, operation: Operation, sent: WireRequest) -> HTTPRequest:
        """Return the call for a body.

        Raises:
            WireError: the body is not valid for these models.
        """

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""

    def stream(self, context: ResponseContext) -> Iterator[JSONObject | Wait]:
        """Yield the chunks of a streamed response."""


class AnthropicBodies:
    """The bodies of Claude: Anthropic's Messages without the model."""

    def parse_body(self, body: JSONObject, operation: Operation, sent: WireRequest) -> HTTPRequest:
        """Return the call for a body."""
        # Bedrock passes on the errors of the model's own validation.
        errors = ANTHROPIC.errors
        validate_body(body, MESSAGES, errors, "anthropic_version", "max_tokens", "messages")
        fields = {name: body[name] for name in body if name != "anthropic_version"}
        named = {**fields, "model": operation.model, "stream": operation.is_streamed}
        request = anthropic_messages.build_request(InvokeRequest, named, sent, API)
        request.body = body
        return request

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        context.model = _shorten_model(context.model)
        return anthropic_messages.PROTOCOL.build_body(context, reply)

    def stream(self, context: ResponseContext) -> Iterator[JSONObject | Wait]:
        """Yield the chunks of a streamed response."""
        context.model = _shorten_model(context.model)
        for event in anthropic_messages.PROTOCOL.stream(context):
            # Bedrock sends no pings.
            if event == anthropic_messages.PING:
                continue
            if isinstance(event, Wait):
                yield event
                continue
            chunk: JSONObject = from_json(event.partition(b"data: ")[2])
            if chunk["type"] == "message_stop":
                chunk |= _build_metrics(context)
            yield chunk


class NovaBodies:
    """The bodies of Amazon Nova: those of Converse with another usage."""

    def parse_body(self, body: JSONObject, operation: Operation, sent: WireRequest) -> HTTPRequest:
        """Return the call for a body."""
        validate_body(body, CONVERSE, BEDROCK.errors)
        if not body.get("messages"):
            raise WireError(400, NO_USER_MESSAGE)
        fields = {name: body[name] for name in body if name != "schemaVersion"}
        request = bedrock_converse.build_request(InvokeRequest, fields, operation, sent, API)
        request.body = body
        return request

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        message = {"role": "assistant", "content": bedrock_converse.build_content(reply)}
        return {
            "output": {"message": message},
            "stopReason": BEDROCK.get_finish_reason(reply.finish_reason),
            **_build_nova_usage(context),
        }

    def stream(self, context: ResponseContext) -> Iterator[JSONObject | Wait]:
        """Yield the chunks of a streamed response."""
        for event in bedrock_converse.build_events(context):
            if isinstance(event, Wait) or "metadata" not in event:
                yield event
            else:
                metadata = {**_build_nova_usage(context), "metrics": {}, "trace": {}}
                yield {"metadata": metadata, **_build_metrics(context)}


class LlamaBodies:
    """The bodies of Meta's Llama: a prompt and its completion."""

    def parse_body(self, body: JSONObject, operation: Operation, sent: WireRequest) -> HTTPRequest:
        """Return the call for a body."""
        return _parse_prompt(body, operation, sent)

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        return {
            "generation": _get_text(reply),
            "prompt_token_count": context.input_tokens,
            "generation_token_count": context.output_tokens,
            "stop_reason": _get_stop_reason(reply.finish_reason),
        }

    def stream(self, context: ResponseContext) -> Iterator[JSONObject | Wait]:
        """Yield the chunks of a streamed response."""
        prompt_tokens: int | None = context.input_tokens
        count = 0
        for text in _read_texts(context):
            if isinstance(text, Wait):
                yield text
                continue
            count += 1
            yield _build_generation(text, prompt_tokens, count)
            # Only the first chunk has this count.
            prompt_tokens = None
        reason = _get_stop_reason(context.get_finish_reason())
        last = _build_generation("", prompt_tokens, context.output_tokens)
        yield {**last, "stop_reason": reason, **_build_metrics(context)}


class MistralBodies:
    """The bodies of Mistral's models: a prompt and its completion."""

    def parse_body(self, body: JSONObject, operation: Operation, sent: WireRequest) -> HTTPRequest:
        """Return the call for a body."""
        return _parse_prompt(body, operation, sent)

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        reason = _get_stop_reason(reply.finish_reason)
        return {"outputs": [{"text": _get_text(reply), "stop_reason": reason}]}

    def stream(self, context: ResponseContext) -> Iterator[JSONObject | Wait]:
        """Yield the chunks of a streamed response."""
        for text in _read_texts(context):
            if isinstance(text, Wait):
                yield text
            else:
                yield {"outputs": [{"text": text, "stop_reason": None}]}
        reason = _get_stop_reason(context.get_finish_reason())
        yield {"outputs": [{"text": "", "stop_reason": reason}], **_build_metrics(context)}


FORMATS: dict[str, BodyFormat] = {
    "anthropic": AnthropicBodies(),
    "amazon.nova": NovaBodies(),
    "meta": LlamaBodies(),
    "mistral": MistralBodies(),
}
"""The formats, by the prefix of the model id after the region."""
REGIONS = re.compile(r"^(us|us-gov|eu|apac|jp|au|global|ca|sa|me|af)\.")
"""Matches the region prefix in the id of a cross-region inference profile."""


def find_format(model: str, body: JSONObject) -> BodyFormat | None:
    """Return the format of a model; for an application's profile, infer it from the body.

    Args:
        model: the id of the model, or an ARN that ends with an id.
        body: the body of the request.
    """
    name = REGIONS.sub("", model.rpartition("/")[2])
    for start, known in FORMATS.items():
        if name.startswith((f"{start}.", f"{start}-")):
            return known
    if "anthropic_version" in body:
        return FORMATS["anthropic"]
    if "max_gen_len" in body:
        return FORMATS["meta"]
    return None


class BedrockInvoke:
    """`POST /model/ID/invoke` and `/model/ID/invoke-with-response-stream`."""

    provider = BEDROCK

    def parse_request(self, sent: WireRequest, mock: Mock) -> HTTPRequest:
        """Parse the body of a request."""
        body = parse_json_body(sent.body)
        operation = parse_path(sent.path)
        body_format = find_format(operation.model, body)
        if body_format is None:
            message = (
                f"InvokeModel is not supported by llm_mock for the model {operation.model!r}, only "
                "for models of Anthropic, Amazon Nova, Meta and Mistral. Use Converse, or "
                f"configure a response with mock.on('POST', {sent.path!r}, …)"
                f"{mock.settings.method_place}."
            )
            raise WireError(400, message)
        return body_format.parse_body(body, operation, sent)

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> JSONObject:
        """Return the body of a response that is not streamed."""
        return _get_format(context).build_body(context, reply)

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response."""
        for chunk in _get_format(context).stream(context):
            yield chunk if isinstance(chunk, Wait) else context.request.encode_event(chunk)

    def build_unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        return bedrock_converse.PROTOCOL.build_unknown_model_error(model_id)

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """Encode an error within a stream."""
        kind = STREAM_ERRORS.get(error.status, "modelStreamErrorException")
        return event_stream.encode_exception(kind, to_json(self.provider.errors.build_body(error)))


PROTOCOL = BedrockInvoke()


def parse_counted_request(sent: WireRequest, mock: Mock) -> HTTPRequest:
    """Return the call whose tokens `POST /model/ID/count-tokens` must count.

    Raises:
        WireError: the body has no call, or an invalid one.
    """
    counted = parse_json_body(sent.body).get("input")
    if not isinstance(counted, dict):
        raise BEDROCK.errors.build_missing_field_error("input")
    converse = counted.get("converse")
    if isinstance(converse, dict):
        return bedrock_converse.PROTOCOL.parse_request(sent._replace(body=to_json(converse)), mock)
    invoked = counted.get("invokeModel")
    encoded = invoked.get("body") if isinstance(invoked, dict) else None
    if not isinstance(encoded, str):
        raise BEDROCK.errors.build_missing_field_error("input")
    try:
        body = base64.b64decode(encoded)
    except binascii.Error:
        raise WireError(400, "Invalid base64 data.") from None
    return PROTOCOL.parse_request(sent._replace(body=body), mock)


def _get_format(context: ResponseContext) -> BodyFormat:
    request = context.request
    body_format = find_format(request.model_id, request.body)
    # The request was parsed by it.
    assert body_format is not None
    return body_format


def _shorten_model(model: str) -> str:
    """Return Anthropic's own id of a model, which its error messages contain."""
    name = model.rpartition("anthropic.")[2]
    return MODEL_VERSION.sub("", name)


def _build_metrics(context: ResponseContext) -> JSONObject:
    if not context.sends_usage:
        return {}
    metrics = {
        "inputTokenCount": context.input_tokens,
        "outputTokenCount": context.output_tokens,
        "invocationLatency": 1,
        "firstByteLatency": 1,
    }
    return {METRICS: metrics}


def _build_nova_usage(context: ResponseContext) -> JSONObject:
    if not context.sends_usage:
        return {}
    usage = bedrock_converse.build_usage(context)
    read = usage.pop("cacheReadInputTokens", 0)
    written = usage.pop("cacheWriteInputTokens", 0)
    counts = {"cacheReadInputTokenCount": read, "cacheWriteInputTokenCount": written}
    return {"usage": {**usage, **counts}}


def _build_generation(text: str, prompt_tokens: int | None, count: int) -> JSONObject:
    return {
        "generation": text,
        "prompt_token_count": prompt_tokens,
        "generation_token_count": count,
        "stop_reason": None,
    }


def _parse_prompt(body: JSONObject, operation: Operation, sent: WireRequest) -> HTTPRequest:
    validate_body(body, BEDROCK_PROMPT, BEDROCK.errors, "prompt")
    message: Message = {"role": "user", "parts": [make_text_part(body["prompt"])]}
    return InvokeRequest(
        operation.model,
        [message],
        api=API,
        options=extract_options(body, "prompt"),
        stream=operation.is_streamed,
        sent=sent,
        body=body,
    )


def _get_text(reply: CompleteReply) -> str:
    return reply.text if reply.refusal is None else reply.refusal


def _get_stop_reason(reason: str) -> str:
    """Return the stop reason: `length` or `stop`."""
    return "length" if reason == "length" else "stop"


def _read_texts(context: ResponseContext) -> Iterator[str | Wait]:
    """Yield the texts and the waits of a reply, as these formats have no other parts."""
    for chunk in context.read_chunks(stream=True):
        if isinstance(chunk, (str, Wait)):
            yield chunk
        elif chunk.type == "refusal":
            yield chunk.chunk
