"""Send a recorded request to its provider once more, to verify a cassette."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.endpoint_recording import API, EndpointRecording
from llm_mock.boundaries.http.forwarding import receive_body, send_recorded
from llm_mock.boundaries.http.recording import start_recording
from llm_mock.errors import LLMMockError

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.core.mock import Mock
    from llm_mock.core.protocols import PassthroughCall


def repeat_request(request: HTTPRequest, call: PassthroughCall, mock: Mock) -> None:
    """Send a request again with the client's key, and store the answer in the call.

    Raises:
        LLMMockError: there is no key, or the provider cannot be reached.
    """
    sent = request.sent
    assert sent is not None
    recording_class = EndpointRecording if request.api == API else None
    recording = start_recording(call, request, sent, mock, recording_class)
    try:
        connection, response = send_recorded(sent, recording)
        try:
            recording.begin(response.status, response.getheaders())
            for _ in recording.record_body(receive_body(response)):
                pass
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        problem = str(error) or type(error).__name__
        raise LLMMockError(f"{sent.host} cannot be reached: {problem}") from None
