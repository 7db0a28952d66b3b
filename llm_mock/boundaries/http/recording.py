"""Record a provider's HTTP response for a cassette while the client reads it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from llm_mock.behaviour.provider_errors import ReceivedError
from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http import event_stream
from llm_mock.boundaries.http.chunks import ToolCallCollector
from llm_mock.boundaries.http.clients import read_client
from llm_mock.boundaries.http.protocols.openai_responses import store_provider_response
from llm_mock.boundaries.http.protocols.protocol import parse_json_or_text
from llm_mock.boundaries.http.providers.hosts import find_provider_of_host
from llm_mock.boundaries.http.providers.registry import get_descriptor
from llm_mock.boundaries.http.readers.text_slots import TextSlots
from llm_mock.boundaries.http.routing import create_reader
from llm_mock.core.events import Wait
from llm_mock.core.protocols import AnswerMetadata, PassthroughCall
from llm_mock.core.tool_calls import BrokenToolCall
from llm_mock.errors import LLMMockError, NotRecordable

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.boundaries.http.wire import WireRequest
    from llm_mock.core.mock import Mock
    from llm_mock.support.json_types import JSONObject

SUPPORTED_ENCODINGS = ("gzip", "deflate", "identity")
"""The content encodings that a recording can decode."""
ZLIB_ENCODINGS = ("gzip", "x-gzip", "deflate")
JSON_LINES = "application/x-ndjson"
"""The media type of a stream whose events are lines of JSON."""
END_OF_EVENT = re.compile(rb"\r\n\r\n|\n\n|\r\r")
COMMON_ERRORS = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
}
SDK_ERRORS = {
    "openai": COMMON_ERRORS,
    "anthropic": {
        **COMMON_ERRORS,
        402: "PaymentRequiredError",
        408: "RequestTimeoutError",
        412: "PreconditionFailedError",
        413: "ContentTooLargeError",
        431: "RequestHeaderFieldsTooLargeError",
        499: "ClientClosedRequestError",
        501: "HTTPNotImplementedError",
        503: "ServiceUnavailableError",
        504: "GatewayTimeoutError",
        529: "OverloadedError",
    },
}
"""The exception for each status, for the SDKs whose exceptions are recorded by name."""


def start_recording(
    call: PassthroughCall,
    request: HTTPRequest,
    sent: WireRequest,
    mock: Mock,
    recording_class: type[WireRecording] | None = None,
) -> WireRecording:
    """Return the recording of a call that is sent to the provider.

    Args:
        call: the call, which stores the answer.
        request: the parsed request.
        sent: the HTTP request.
        mock: the mock that stores the response.
        recording_class: the class of the recording, by default `WireRecording`.

    Raises:
        LLMMockError: the application has no key for the provider.
    """
    host = sent.host
    secrets = sent.secrets()
    has_placeholder = any(PLACEHOLDER_KEY in secret for secret in secrets)
    # The application's own server may not need a key.
    provider = find_provider_of_host(host, None) if has_placeholder else None
    if provider is not None:
        problem = LLMMockError(
            f"There is no API key for {host}, so nothing was sent. "
            f"{_advise_on_key(provider, sent)}, and record again."
        )
        call.report_not_made(problem)
        raise problem
    return (recording_class or WireRecording)(call, request, sent, mock)


def _advise_on_key(provider: str, sent: WireRequest) -> str:
    """Name the variable with the key, if the client is the provider's own SDK."""
    is_own_sdk = read_client(sent.headers.items()).sdk == provider
    # Vertex AI takes Google's credentials instead of a key.
    if is_own_sdk and "aiplatform" not in sent.host:
        clients = get_descriptor(provider).clients.values()
        keys = [key for classes in clients for key in classes.values()]
        if keys:
            return f"Set {keys[0].variables[0]}"
    return "Pass a key to the client, or set the environment variable that it reads"


class WireRecording:
    """The recording of a request to the provider and of its response.

    An error in the recording never reaches the client, which gets the provider's response.

    Args:
        call: the call, which stores the chunks and the metadata of the answer.
        request: the parsed request.
        sent: the HTTP request.
        mock: the mock that stores the response, if its API does so.
    """

    api: str | None = None
    """The API under which the response is recorded; None for the API of the request."""

    def __init__(
        self, call: PassthroughCall, request: HTTPRequest, sent: WireRequest, mock: Mock
    ) -> None:
        self._call = call
        self._request = request
        self._sent = sent
        self._mock = mock
        self._reader = create_reader(self.api or request.api)
        self._text_slots = TextSlots(self._reader)
        self._status = 0
        self._headers: dict[str, str] = {}
        self._is_streamed = False
        self._is_binary = False
        """True for a stream of AWS."""
        self._are_lines = False
        """True for a stream of Ollama."""
        self._has_ended = False
        self._data = b""
        """The decoded body, or for a stream the part after the last event."""
        self._received_bytes = 0
        self._events: list[object] = []
        self._body: object = None
        self._tool_calls = ToolCallCollector()
        self._problem: Exception | None = None
        """The reason why the answer cannot be recorded."""
        self._decompressor: zlib._Decompress | None = None
        self.delay = Wait(0)
        """Always zero: transports read the delay of each response."""
        call.hide(request.key, *sent.secrets())

    def get_header_overrides(self) -> dict[str, str]:
        """Return the headers that replace the client's.

        They must not accept an encoding that cannot be decoded here, such as Brotli.
        """
        header = self._sent.headers.get("accept-encoding", "")
        accepted = [part.strip() for part in header.split(",")]
        supported = []
        for part in accepted:
            encoding = part.partition(";")[0]
            if encoding in SUPPORTED_ENCODINGS:
                supported.append(part)
        if accepted == supported:
            return {}
        return {"accept-encoding": ", ".join(supported) or "identity"}

    def refuse(self, problem: Exception) -> None:
        """Report that the request was not sent."""
        self._call.report_not_made(problem)

    @contextmanager
    def guard_send(self) -> Iterator[None]:
        """Record an error that is raised while the request is sent."""
        try:
            yield
        # Cancellation ends the call, too.
        except BaseException as error:
            self._call.watch(self._build_metadata)
            self._finish(error)
            raise

    def begin(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Record the status and the headers of the response."""
        self._status = status
        self._headers = {name.lower(): value for name, value in headers}
        content_type = self._headers.get("content-type", "")
        self._is_binary = content_type.startswith(event_stream.MEDIA_TYPE)
        self._are_lines = content_type.startswith(JSON_LINES)
        is_events = content_type.startswith("text/event-stream")
        is_stream = self._is_binary or self._are_lines or is_events
        self._is_streamed = status < 400 and is_stream
        encoding = self._headers.get("content-encoding", "identity").strip().lower()
        if encoding in ZLIB_ENCODINGS:
            # With 32, zlib detects gzip or deflate from the header of the data.
            self._decompressor = zlib.decompressobj(zlib.MAX_WBITS | 32)
        elif encoding != "identity":
            self._problem = NotRecordable(f"its encoding {encoding!r} is not supported")
        self._call.watch(self._build_metadata)

    def take(self, data: bytes) -> None:
        """Record a chunk of the body."""
        self._received_bytes += len(data)
        if self._problem is not None:
            return
        try:
            self._data += self._decompressor.decompress(data) if self._decompressor else data
            if self._is_streamed:
                self._read_events()
        except Exception as problem:
            self._problem = problem

    def end(self, error: BaseException | None = None) -> None:
        """End the recording.

        Args:
            error: the error that interrupted the body; None for a complete body.
        """
        if self._has_ended:
            return
        if error is None and self._problem is None:
            try:
                error = self._read_rest()
            except Exception as problem:
                self._problem = problem
        self._finish(error)

    def close(self) -> None:
        """End the recording of a body that the client stops reading."""
        # Many clients stop at the final event, and never read the end of the body.
        has_all_bytes = self._headers.get("content-length") == str(self._received_bytes)
        is_complete = self._reader.has_ended or has_all_bytes
        self.end(None if is_complete else GeneratorExit())

    def record_body(self, body: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the chunks of a body, and record each of them."""
        with self.guard_read():
            for chunk in body:
                self.take(chunk)
                yield chunk

    @contextmanager
    def guard_read(self) -> Iterator[None]:
        """End the recording after the body is read, as far as the client reads it."""
        try:
            yield
        except Exception as error:
            self.end(error)
            raise
        except GeneratorExit:
            self.close()
            raise
        self.end()

    def _finish(self, error: BaseException | None) -> None:
        self._has_ended = True
        self._call.end(error)

    def _read_rest(self) -> Exception | None:
        """Read the rest of the body; return the error that the response stands for."""
        if self._is_streamed:
            if not self._is_binary:
                # The last event may lack its empty line.
                self._data += b"\n\n"
            self._read_events()
            return None
        text = self._data.decode(errors="replace")
        if self._status >= 400:
            url = f"https://{self._sent.host}{self._sent.path}"
            return ReceivedError(self._status, self._headers, text, url, self._get_sdk_error_name())
        self._body = parse_json_or_text(text)
        self._extract_texts(self._body)
        return None

    def _get_sdk_error_name(self) -> str | None:
        """Return the name of the exception that the SDK raises, as `openai:RateLimitError`."""
        client = (self._request.sdk or "").lower()
        default = "InternalServerError" if self._status >= 500 else "APIStatusError"
        for sdk, errors in SDK_ERRORS.items():
            if f"{sdk}/python" in client:
                return f"{sdk}:{errors.get(self._status, default)}"
        return None

    def _read_events(self) -> None:
        """Read the complete events of a stream, and keep the rest of the data."""
        if self._is_binary:
            messages, self._data = event_stream.decode_messages(self._data)
            for message in messages:
                self._take_event(self._request.decode_event(message))
            return
        if self._are_lines:
            self._read_lines()
            return
        *events, self._data = END_OF_EVENT.split(self._data)
        for event in events:
            lines = event.decode(errors="replace").splitlines()
            data_lines = [line for line in lines if line.startswith("data:")]
            data = [line[5:].removeprefix(" ") for line in data_lines]
            if data:
                self._take_event(parse_json_or_text("\n".join(data)))

    def _read_lines(self) -> None:
        *lines, self._data = self._data.split(b"\n")
        for line in lines:
            if line.strip():
                self._take_event(parse_json_or_text(line.decode(errors="replace")))

    def _take_event(self, event: object) -> None:
        self._extract_texts(event)
        self._events.append(event)

    def _extract_texts(self, body: object) -> None:
        # Stored before its texts are replaced by placeholders.
        if self._request.api == "responses":
            store_provider_response(self._mock, self._request, body)
        for chunk in self._text_slots.extract(body):
            self._call.take(chunk)
            if not isinstance(chunk, str):
                self._tool_calls.add(chunk)

    def _get_finish_reason(self, has_called_tools: bool) -> str | None:
        """Return why the answer ended, in the terms of Chat Completions; None for an error."""
        if self._describe_http() is None:
            return None
        normal_reason = "tool_calls" if has_called_tools else "stop"
        return self._reader.finish_reason or normal_reason

    def _describe_http(self) -> JSONObject | None:
        """Return the HTTP details of the response, or None without a response."""
        if not self._status or self._status >= 400:
            return None
        return {
            "api": self.api or self._request.api,
            "streamed": self._is_streamed,
            "status": self._status,
            "headers": self._headers,
        }

    def _build_metadata(self) -> AnswerMetadata:
        """Return the metadata of the answer.

        Raises:
            NotRecordable: a part of the response could not be read.
        """
        if self._problem is not None:
            raise NotRecordable(str(self._problem) or type(self._problem).__name__)
        tool_calls = []
        for call in self._tool_calls.finish():
            # As text, so that a call with broken JSON is recorded unchanged.
            arguments = call.arguments or "{}"
            tool_calls.append(BrokenToolCall(call.name, arguments, call.id or None))
        model = self._reader.model
        http = self._describe_http()
        return AnswerMetadata(
            tool_calls=tool_calls,
            attachments=(),
            usage=self._reader.usage,
            resolved_model=None if model == self._request.model_id else model,
            raw=self._events if self._is_streamed else self._body,
            sent=None,
            sent_before=None,
            attributes={},
            http=http,
            finish_reason=self._get_finish_reason(bool(tool_calls)),
        )
