"""The endpoints for interactions that Google stores."""

from __future__ import annotations

import re

from llm_mock.boundaries.http.protocols.gemini_interactions import PROTOCOL, find_stored
from llm_mock.boundaries.http.wire import (
    WireRequest,
    WireResponse,
    error_response,
    json_response,
)
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.mock import Mock
from llm_mock.support.json_types import JSONObject

PATH = re.compile(r"/interactions/([^/]+)(/cancel)?$")


def answer_interaction(sent: WireRequest, mock: Mock) -> WireResponse | None:
    """Answer a request to retrieve, cancel or delete an interaction; None for another one."""
    match = PATH.search(sent.path)
    if match is None:
        return None
    interaction_id, cancels = match.groups()
    try:
        interaction = find_stored(interaction_id, mock)[1]
        body = _handle(sent, mock, interaction, bool(cancels))
    except WireError as error:
        return error_response(PROTOCOL.provider.errors, error)
    return None if body is None else json_response(body)


def _handle(
    sent: WireRequest, mock: Mock, interaction: JSONObject, cancels: bool
) -> JSONObject | None:
    """Return the body of the response; None for an unknown method.

    Raises:
        WireError: the request is refused.
    """
    if cancels:
        if sent.method != "POST":
            return None
        raise WireError(400, f"Interaction '{interaction['id']}' is not in progress.")
    if sent.method == "DELETE":
        del mock.stored_objects[str(interaction["id"])]
        return {}
    # The mock does not store the events of an earlier answer.
    if sent.method != "GET" or "stream=true" in sent.query:
        return None
    return interaction
