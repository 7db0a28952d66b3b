"""A request comes in, the mock is asked, and a response goes out: the same for every library and for the server."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from llm_mock.behaviour.pacing import SlowStart
from llm_mock.behaviour.provider_errors import StreamEnds, StreamStalls
from llm_mock.boundaries import NO_KEY
from llm_mock.boundaries.http.chunks import ResponseContext, collect_reply
from llm_mock.boundaries.http.error_formats import ErrorFormat, get_error_format
from llm_mock.boundaries.http.errors import (
    NO_RETRY_HEADERS,
    ConnectionFailure,
    ReplyFunctionError,
    WireError,
    to_wire_error,
)
from llm_mock.boundaries.http.providers import provider_of
from llm_mock.boundaries.http.routing import add_request_id, error_response, exception_response, find_protocol
from llm_mock.boundaries.http.wire import WireRequest, WireResponse, event_stream_response, json_response
from llm_mock.core.answer import Answer
from llm_mock.core.events import RealWait, Silence, Wait
from llm_mock.core.protocols import PassthroughCall
from llm_mock.core.source_location import find_project_line
from llm_mock.errors import LLMMockError, RealModelCall

if TYPE_CHECKING:
    from llm_mock.boundaries.http.protocols.protocol import WireProtocol
    from llm_mock.boundaries.http.recording import WireRecording
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.core.mock import Mock


class ModelRequest(NamedTuple):
    """A request that asks a model for an answer."""

    protocol: WireProtocol
    request: HTTPRequest
    sent: WireRequest


def parse_request(sent: WireRequest, provider: str, mock: Mock, served: bool = False) -> ModelRequest | WireResponse:
    """What a model is asked; or the response at once, where none is to be asked for an answer.

    Args:
        sent: the request.
        provider: as `provider_of` names it.
        mock: what answers.
        served: whether it was sent to the server, and not to the provider.
    """
    protocol = find_protocol(sent, provider)
    if protocol is None:
        from llm_mock.boundaries.http.other_endpoints import answer_other_endpoint

        return answer_other_endpoint(sent, provider, mock) or _unknown_path(sent, provider, mock, served)
    try:
        return ModelRequest(protocol, protocol.parse_request(sent), sent)
    except WireError as error:
        return error_response(protocol.errors, error)


def respond(asked: ModelRequest, mock: Mock) -> WireResponse | WireRecording:
    """Have a mock answer. What cannot be an answer is an error in the provider's words.

    Returns:
        The response; or, where the request is to be sent for real, what takes in the provider's.

    Raises:
        ConnectionFailure: the reply is that the connection fails.
    """
    try:
        _check_is_known(asked, mock)
        return _response(asked, mock.answer(asked.request))
    except Exception as error:
        return _failed(asked, error, mock)


async def respond_async(asked: ModelRequest, mock: Mock) -> WireResponse | WireRecording:
    """The asynchronous twin of `respond`: a reply function may be a coroutine function."""
    try:
        _check_is_known(asked, mock)
        return _response(asked, await mock.answer_async(asked.request))
    except Exception as error:
        return _failed(asked, error, mock)


def _failed(asked: ModelRequest, error: Exception, mock: Mock) -> WireResponse:
    """Return the response that an exception is; a bug in a reply function fails the test, which the SDK would hide."""
    wire_error = to_wire_error(error)
    if isinstance(wire_error, ReplyFunctionError):
        mock.note_problem(wire_error.explanation)
    return exception_response(asked.protocol.errors, wire_error, asked.request.provider)


def _check_is_known(asked: ModelRequest, mock: Mock) -> None:
    """Raise what the provider answers for a model that `set_unknown` made unknown."""
    if mock.is_unknown(asked.request.model_id):
        raise asked.protocol.unknown_model_error(asked.request.model_id)


def refuse_model_call(sent: WireRequest, model: str, errors: ErrorFormat, mock: Mock) -> WireResponse:
    """Refuse a call of a provider, where the project wants that, and note it for the test to fail with.

    Args:
        sent: the request.
        model: the model that it asks.
        errors: how the provider words an error.
        mock: what notes it.
    """
    message = (
        f"A call of the model {model!r} was about to reach {sent.host}{sent.path}. Ini llm_mock_http = refuse refuses "
        "it; with llm_mock_http = answer the mock answers it. To reach the provider, mark the test with "
        "@pytest.mark.llm_live."
    )
    mock.note_problem(message)
    return error_response(errors, cast("WireError", to_wire_error(RealModelCall(message))))


def refuse_client_version(message: str, provider: str, mock: Mock) -> WireResponse:
    """Refuse a request of a library that is too old, and note it for the test to fail with."""
    mock.note_problem(message)
    return error_response(get_error_format(provider), WireError(400, message, headers=NO_RETRY_HEADERS))


def drop_telemetry(sent: WireRequest) -> WireResponse:
    """Answer a report of a framework that it is used: it is accepted, and goes nowhere."""
    return json_response({}) if sent.method == "POST" else json_response({}, 404)


def _unknown_path(sent: WireRequest, provider: str, mock: Mock, served: bool) -> WireResponse:
    message = f"{sent.method} {sent.path} of {sent.host} was asked for, which llm_mock does not know how to answer; "
    if served:
        message += (
            "the server knows chat/completions, responses, messages, generateContent, embeddings, models and counts of "
            "tokens. Check the base URL that the program was given."
        )
    else:
        message += (
            f"nothing was sent. {_where()}To reach the provider, mark the test with @pytest.mark.llm_live; if "
            f"{sent.host} is none, add !{sent.host} to ini llm_mock_hosts."
        )
    mock.note_refusal(message)
    return error_response(get_error_format(provider), WireError(404, message, headers=NO_RETRY_HEADERS))


def _where() -> str:
    """Return a sentence with the line of the project that asked; empty where another thread asked."""
    place = find_project_line()
    return f"Asked at {place}. " if place else ""


def _response(asked: ModelRequest, answered: Answer | PassthroughCall) -> WireResponse | WireRecording:
    if not isinstance(answered, Answer):
        return _recording(asked, answered)
    context = ResponseContext(asked.request, answered)
    if answered.reply.is_recorded:
        from llm_mock.boundaries.http.replay import read_finish_reason, replay_response

        context.recorded_reason = read_finish_reason(answered.reply)
        if response := replay_response(context):
            if isinstance(response.body, bytes):
                return response
            return response._replace(body=_streamed(asked.protocol, context, response.body))
    errors = asked.protocol.errors
    if asked.request.stream:
        response = _begun(answered, _streamed(asked.protocol, context, asked.protocol.stream(context)))
        return add_request_id(response, errors)
    whole = collect_reply(context)
    response = add_request_id(json_response(asked.protocol.build_body(context, whole)), errors)
    return response._replace(delay=_kind_of_wait(answered)(whole.seconds)) if whole.seconds else response


def _kind_of_wait(answered: Answer) -> type[Wait]:
    if answered.real_time:
        return RealWait
    return Silence if isinstance(answered.reply.latency, SlowStart) else Wait


def _begun(answered: Answer, pieces: Iterator[bytes | Wait]) -> WireResponse:
    """A streamed response; it begins when its first piece comes, as the providers have it."""
    if not (answered.waits and answered.waits[0]):
        return event_stream_response(pieces)
    before: list[bytes | Wait] = []
    for piece in pieces:
        if isinstance(piece, Wait):
            return event_stream_response(itertools.chain(before, pieces))._replace(delay=piece)
        before.append(piece)
    return event_stream_response(before)


def _recording(asked: ModelRequest, call: PassthroughCall) -> WireRecording:
    from llm_mock.boundaries.http.recording import WireRecording

    if any(NO_KEY in secret for secret in asked.sent.secrets()) and provider_of(asked.sent.host, None):
        problem = LLMMockError(
            f"There is no key for {asked.sent.host}, so nothing was sent: set the environment variable in which the "
            "SDK looks for it, and record again."
        )
        call.not_made(problem)
        raise problem
    return WireRecording(call, asked.request, asked.sent)


def _streamed(
    protocol: WireProtocol, context: ResponseContext, pieces: Iterable[bytes | Wait]
) -> Iterator[bytes | Wait]:
    """The stream; an error within it is an event of it, or the end of the connection, or of the stream."""
    wait = _kind_of_wait(context.answer)
    event, events = b"", 0
    try:
        for piece in pieces:
            if isinstance(piece, bytes):
                event = piece
                events += 1
                yield piece
            else:
                yield wait(piece)
    except StreamStalls:
        yield Silence(math.inf)
    except StreamEnds as end:
        if end.malformed:
            yield event[: len(event) // 2].rstrip() + b"\n\n"
    except Exception as error:
        wire_error = to_wire_error(error)
        if isinstance(wire_error, ConnectionFailure):
            raise wire_error from None
        yield protocol.encode_error_event(wire_error, events)
