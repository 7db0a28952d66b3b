"""Record and replay requests that do not generate text: embeddings, token counts, models.

A cassette stores the response unchanged, and finds it by method, path, query and body.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from pydantic_core import to_json

from llm_mock.behaviour.refusals import find_error_dialect
from llm_mock.boundaries.http.embeddings import is_embedding_request
from llm_mock.boundaries.http.endpoint_requests import (
    INPUT_FIELDS,
    EndpointRequest,
    content_response,
)
from llm_mock.boundaries.http.protocols.protocol import make_text_part
from llm_mock.boundaries.http.providers.registry import get_descriptor
from llm_mock.boundaries.http.recording import WireRecording, start_recording
from llm_mock.boundaries.http.request import HTTPRequest
from llm_mock.boundaries.http.wire import WireRequest, WireResponse, exception_response
from llm_mock.core.reply import Received, Reply
from llm_mock.support.redaction import is_secret_name

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.mock import Mock
    from llm_mock.core.protocols import AnswerMetadata
    from llm_mock.support.json_types import JSONObject

API = "endpoint"
MODEL_OF_PATH = re.compile(r"/(?:models?|deployments)/([^/:]+)")
UNRECORDED_PATH = re.compile(r"(/v1/traces/ingest|/v1/tcp_warming)$")
"""Paths of requests without content to record, which are never sent to the provider."""


def answer_from_cassette(
    sent: WireRequest, provider: str, mock: Mock
) -> WireResponse | WireRecording | None:
    """Return the recorded response to a request that does not generate text.

    Args:
        sent: the request.
        provider: its provider.
        mock: the mock with the cassette.

    Returns:
        The response; a recording, if the request must be sent; None if the mock answers.
    """
    if mock.cassette is None or UNRECORDED_PATH.search(sent.path) or "upgrade" in sent.headers:
        return None
    # Configured responses of a test take precedence over its cassette.
    if mock.configurator.replies.embeddings and is_embedding_request(sent, provider):
        return None
    request = create_endpoint_request(sent, provider)
    record = mock.record_request(request)
    try:
        found = mock.cassette.answer(mock, record, request)
        if not isinstance(found, Reply):
            return start_recording(found, request, sent, mock, EndpointRecording)
        return _replay(found, record, request, mock)
    except Exception as error:
        mock.record_failure(record, error, request.describe_failure(error, begun=False))
        return exception_response(get_descriptor(provider).errors, error, request.provider)


def create_endpoint_request(sent: WireRequest, provider: str) -> HTTPRequest:
    """Return a request in the form in which calls are recorded.

    Its options are all fields of the request except the model and the text.
    """
    fields = _read_fields(sent)
    model = fields.pop("model", None)
    path_model = MODEL_OF_PATH.search(sent.path)
    if not isinstance(model, str):
        model = path_model[1] if path_model else sent.path
    messages = []
    for name in INPUT_FIELDS:
        if isinstance(fields.get(name), str):
            messages.append({"role": "user", "parts": [make_text_part(fields.pop(name))]})
            break
    query = {}
    for name, value in parse_qsl(sent.query, keep_blank_values=True):
        if not is_secret_name(name):
            query[name] = value
    if query:
        fields["query"] = query
    return HTTPRequest(
        model,
        messages,
        api=API,
        options={"endpoint": f"{sent.method} {sent.path}", **fields},
        sent=sent,
        provider=find_error_dialect(provider),
    )


def _read_fields(sent: WireRequest) -> JSONObject:
    """Return the fields of a body as JSON; files are described by their hash."""
    request = EndpointRequest(sent)
    if isinstance(request.json, dict):
        return dict(request.json)
    if request.json is not None:
        return {"body": request.json}
    fields: JSONObject = {}
    for name, value in request.form.items():
        fields[name] = value if isinstance(value, str) else _describe_content(value)
    if sent.body and not fields:
        fields["body"] = _describe_content(sent.body)
    return fields


def _describe_content(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class _Content:
    """A binary response body, as an attachment."""

    path: str | None = None
    url: str | None = None

    def __init__(self, media_type: str | None, content: bytes) -> None:
        self.type = media_type
        self.content: bytes | None = content

    def resolve_type(self) -> str:
        """Return the media type."""
        return self.type or "application/octet-stream"


class EndpointRecording(WireRecording):
    """The recording of a request to an endpoint and of the provider's response."""

    api = API

    def begin(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Record the status and the headers of the response."""
        super().begin(status, headers)
        # Events are recorded as one text.
        self._is_streamed = False

    def _read_rest(self) -> Exception | None:
        if self._status < 400 and self._is_content():
            return None
        return super()._read_rest()

    def _is_content(self) -> bool:
        """Return True for a binary body, such as audio."""
        media_type = self._headers.get("content-type", "")
        is_text = media_type.startswith("text/") or "json" in media_type
        return bool(self._data) and not is_text

    def _get_finish_reason(self, has_called_tools: bool) -> str | None:
        return None

    def _build_metadata(self) -> AnswerMetadata:
        metadata = super()._build_metadata()
        if self._status >= 400 or not self._is_content():
            return metadata
        media_type = self._headers.get("content-type")
        return metadata._replace(attachments=[_Content(media_type, self._data)])


def _replay(reply: Reply, record: Call, request: HTTPRequest, mock: Mock) -> WireResponse:
    """Return a recorded response, and complete the record of the request.

    Raises:
        Exception: the recorded error, if there was no response.
    """
    received = reply.over_http()
    if reply.error is not None:
        error = reply.exception()
        if received is None and isinstance(error, Exception):
            raise error
        mock.record_failure(record, error, request.describe_failure(error, begun=False))
    else:
        mock.record_answer(record, reply, request)
    assert received is not None
    return build_endpoint_response(reply, received)


def build_endpoint_response(reply: Reply, received: Received) -> WireResponse:
    """Return a recorded response unchanged."""
    media_type = received.headers.get("content-type", "application/json")
    if received.api is None:
        content = received.body.encode()
    elif reply.attachments:
        content = reply.attachments[0].content
    elif isinstance(received.body, str) and "json" not in media_type:
        content = received.body.encode()
    else:
        content = to_json(received.body)
    headers = {name: value for name, value in received.headers.items() if name != "content-type"}
    return content_response(content, media_type, received.status, headers)
