"""Record requests to endpoints without a conversation, and return configured responses."""

from __future__ import annotations

import email.parser
import email.policy
import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl

from llm_mock.behaviour.provider_errors import resolve_error
from llm_mock.behaviour.refusals import find_error_dialect
from llm_mock.boundaries.http.errors import ReplyFunctionError, convert_to_wire_error
from llm_mock.boundaries.http.protocols.protocol import extract_options, make_text_part
from llm_mock.boundaries.http.providers.registry import get_descriptor
from llm_mock.boundaries.http.request import HTTPRequest
from llm_mock.boundaries.http.wire import (
    PendingResponse,
    WireRequest,
    WireResponse,
    add_request_id,
    exception_response,
    json_response,
)
from llm_mock.core.endpoints import (
    JSON_TYPE,
    EndpointBody,
    EndpointResponse,
    call_endpoint_function,
    call_endpoint_function_async,
)
from llm_mock.core.reply import Reply
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.boundaries.http.error_formats import ErrorFormat
    from llm_mock.core.call import Call
    from llm_mock.core.endpoints import EndpointFunction, EndpointReply
    from llm_mock.core.mock import Mock
    from llm_mock.core.script import StandingReply

INPUT_FIELDS = ("input", "prompt", "text", "query")
"""The fields of a body that may hold its text, in order of preference."""


class EndpointRequest:
    """A request to an endpoint, as passed to a function configured with `mock.on`."""

    def __init__(self, sent: WireRequest, parameters: Mapping[str, str] | None = None) -> None:
        """Create the request.

        Args:
            sent: the request.
            parameters: the named segments of the path.
        """
        self._sent = sent
        self.method: str = sent.method
        """The method, such as `POST`."""
        self.url: str = sent.url
        """The URL, including the query."""
        self.path: str = sent.path
        """The path without the query."""
        self.headers: Mapping[str, str] = sent.headers
        """The headers, with lower-case names."""
        self.content: bytes = sent.body
        """The body as it was sent."""
        self.parameters: dict[str, str] = dict(parameters or {})
        """The values of the placeholders in the configured path, such as `{file_id}`."""

    @property
    def query(self) -> dict[str, str]:
        """The query parameters."""
        return dict(parse_qsl(self._sent.query, keep_blank_values=True))

    @cached_property
    def json(self) -> Any:
        """The body parsed as JSON; None if the body is not JSON."""
        try:
            return json.loads(self.content)
        except ValueError:
            return None

    @cached_property
    def form(self) -> dict[str, str | bytes]:
        """The fields of a form: text as str, files as bytes; empty if the body is not a form."""
        return parse_form(self._sent)

    def get_fields(self) -> JSONObject:
        """Return the fields of a JSON object or a form; files are replaced by their size."""
        if isinstance(self.json, dict):
            return self.json
        fields: JSONObject = {}
        for name, value in self.form.items():
            fields[name] = value if isinstance(value, str) else f"<{len(value)} bytes>"
        return fields


def parse_form(sent: WireRequest) -> dict[str, str | bytes]:
    """Return the fields of a form: text as str, files as bytes; empty for other bodies."""
    media_type = sent.headers.get("content-type", "")
    if media_type.startswith("application/x-www-form-urlencoded"):
        return dict(parse_qsl(sent.body.decode("utf-8", "replace"), keep_blank_values=True))
    if not media_type.startswith("multipart/form-data"):
        return {}
    head = f"Content-Type: {media_type}\r\n\r\n".encode("latin-1", "replace")
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + sent.body)
    fields: dict[str, str | bytes] = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            continue
        is_file = part.get_filename() is not None
        fields[name] = content if is_file else content.decode("utf-8", "replace")
    return fields


def create_call_request(
    sent: WireRequest, provider: str, model: str | None = None, api: str | None = None
) -> HTTPRequest:
    """Return a request to an endpoint in the form in which calls are recorded.

    Args:
        sent: the request.
        provider: its provider.
        model: the called model; by default the model in the body, or else the path.
        api: the name of the API; by default the method and the path.
    """
    fields = EndpointRequest(sent).get_fields()
    name = model or fields.get("model")
    messages = []
    text = find_text(fields)
    if text:
        messages.append({"role": "user", "parts": [make_text_part(text)]})
    return HTTPRequest(
        str(name) if name else sent.path,
        messages,
        api=api or f"{sent.method} {sent.path}",
        options=extract_options(fields, "model", *INPUT_FIELDS),
        sent=sent,
        body=fields,
        provider=find_error_dialect(provider),
    )


def find_text(fields: JSONObject) -> str:
    """Return the input text of a request to an endpoint; empty without text."""
    for name in INPUT_FIELDS:
        value = fields.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            texts = [item for item in value if isinstance(item, str)]
            return "\n".join(texts)
    return ""


def answer_configured_endpoint(
    sent: WireRequest, provider: str, mock: Mock
) -> WireResponse | PendingResponse | None:
    """Return the response configured with `mock.on` for a request, or None.

    Raises:
        ConnectionFailure: the response is a failed connection.
    """
    errors = get_descriptor(provider).errors
    level: Mock | None = mock
    while level is not None:
        script = level.configurator.replies
        names = script.match_endpoints(sent.method, sent.host, sent.path)
        if names:
            request = create_call_request(sent, provider)
            record = mock.record_request(request)
            reply = script.find_endpoint_reply(names, record)
            # Another process may have used up the last reply in the meantime.
            if reply is not None:
                answering = ConfiguredCall(mock, record, request, errors, reply)
                return answering.defer() if answering.has_function else answering.answer()
        level = level.parent
    return None


class ConfiguredCall:
    """A request for which a response is configured.

    Args:
        mock: the mock that answers.
        record: the record of the request.
        request: the request.
        errors: the format of the provider's errors.
        reply: the configured response.
    """

    def __init__(
        self,
        mock: Mock,
        record: Call,
        request: HTTPRequest,
        errors: ErrorFormat,
        reply: StandingReply,
    ) -> None:
        mock.history.answered_by[record["number"]] = reply
        self._mock = mock
        self._record = record
        self._request = request
        self._errors = errors
        self._response: EndpointResponse = cast("EndpointReply", reply).response
        self._answer = self._response.answer
        self.has_function = not isinstance(self._answer, (EndpointBody, Reply))

    def answer(self) -> WireResponse:
        """Return the response.

        Raises:
            ConnectionFailure: the response is a failed connection.
        """
        try:
            answer = self._answer
            if not isinstance(answer, (EndpointBody, Reply)):
                answer = call_endpoint_function(answer, self._describe_request())
            return self._complete(answer)
        except Exception as error:
            return self._fail(error)

    def defer(self) -> PendingResponse:
        """Return a response that calls the function later, as the function may be async."""
        return PendingResponse(self.answer, self._wait)

    async def _wait(self) -> WireResponse:
        try:
            function = cast("EndpointFunction", self._answer)
            answer = await call_endpoint_function_async(function, self._describe_request())
            return self._complete(answer)
        except Exception as error:
            return self._fail(error)

    def _describe_request(self) -> EndpointRequest:
        """Return the request in the form that is passed to functions."""
        sent = cast("WireRequest", self._request.sent)
        parameters = self._response.endpoint.match(sent.method, sent.host, sent.path)
        return EndpointRequest(sent, parameters)

    def _complete(self, answer: EndpointBody | Reply) -> WireResponse:
        """Return the response for an answer, and complete the record of the request.

        Raises:
            Exception: the configured error.
        """
        request = self._request
        if isinstance(answer, Reply):
            raise resolve_error(_get_exception(answer), request.model_id, request.provider)
        self._mock.record_answer(self._record, _to_recorded_reply(answer), request)
        return add_request_id(_build_response(self._response, answer), self._errors)

    def _fail(self, error: Exception) -> WireResponse:
        """Return the response for an error, and complete the record of the request."""
        failure = self._request.describe_failure(error, begun=False)
        self._mock.record_failure(self._record, error, failure)
        wire_error = convert_to_wire_error(error)
        if isinstance(wire_error, ReplyFunctionError):
            # The test fails with this error, because the application may catch the SDK's exception.
            self._mock.note_problem(wire_error.explanation)
        return exception_response(self._errors, wire_error, self._request.provider)


def _get_exception(reply: Reply) -> Exception:
    error = reply.exception()
    # Exceptions such as `KeyboardInterrupt` are not converted.
    if not isinstance(error, Exception):
        raise error
    return error


def _to_recorded_reply(body: EndpointBody) -> Reply:
    if body.media_type == JSON_TYPE:
        return Reply(data=body.value)
    if isinstance(body.value, bytes):
        return Reply(f"<{len(body.value)} bytes>")
    return Reply(body.value)


def _build_response(response: EndpointResponse, body: EndpointBody) -> WireResponse:
    if body.media_type == JSON_TYPE:
        return json_response(body.value, response.status, response.headers)
    content = body.value if isinstance(body.value, bytes) else str(body.value).encode()
    return content_response(content, body.media_type, response.status, response.headers)


def content_response(
    content: bytes,
    media_type: str,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> WireResponse:
    """Return a response with a body that is not JSON."""
    all_headers = {"content-type": media_type, "content-length": str(len(content))}
    all_headers.update(headers or {})
    return WireResponse(status, list(all_headers.items()), content)
