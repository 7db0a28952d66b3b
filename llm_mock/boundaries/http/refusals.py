"""Refuse or drop requests that get no reply from the mock."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from llm_mock.boundaries.http.error_formats import ErrorFormat
from llm_mock.boundaries.http.errors import (
    REFUSAL_HEADER,
    convert_to_wire_error,
    make_refusal_key,
    refusal_headers,
)
from llm_mock.boundaries.http.interception import TELEMETRY
from llm_mock.boundaries.http.other_endpoints import find_other_model
from llm_mock.boundaries.http.providers.registry import get_descriptor
from llm_mock.boundaries.http.request_rules.other_forms import advise_on_form
from llm_mock.boundaries.http.wire import WireRequest, WireResponse, error_response, json_response
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.source_location import find_project_line
from llm_mock.errors import RealModelCall
from llm_mock.support.text import bracket_host

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.boundaries.http.request_rules.rule import Violation
    from llm_mock.core.mock import Mock


def refuse_request(
    sent: WireRequest, provider: str, mock: Mock, outdated: str | None
) -> WireResponse | None:
    """Return the response to a request that is refused or dropped before parsing, else None.

    Args:
        sent: the request.
        provider: its provider, or `TELEMETRY`.
        mock: the mock that records the refusal.
        outdated: the message for a library that is too old; None for other libraries.
    """
    if provider == TELEMETRY:
        return _drop_telemetry(sent)
    if outdated:
        return _refuse_client_version(outdated, provider, mock)
    other_model = find_other_model(sent, provider)
    if other_model is None:
        return None
    errors = get_descriptor(provider).errors
    configured = f" with the response of mock.on({sent.method!r}, {sent.path!r}, …)"
    return refuse_model_call(sent, other_model, errors, mock, configured)


def refuse_model_call(
    sent: WireRequest,
    model: str,
    errors: ErrorFormat,
    mock: Mock,
    configured: str = "",
) -> WireResponse:
    """Refuse a call to a model, and let the test fail.

    Args:
        sent: the request.
        model: the model that it calls.
        errors: the format of the provider's errors.
        mock: the mock that notes it.
        configured: the end of the sentence that says how the mock can answer.
    """
    message = (
        f"A call to the model {model!r} was about to reach {sent.host}{sent.path}. Ini "
        "llm_mock_http = error refuses it; with llm_mock_http = answer the mock answers "
        f"it{configured}. To reach the provider, mark the test with @pytest.mark.llm_live."
    )
    mock.note_problem(message)
    wire_error = cast("WireError", convert_to_wire_error(RealModelCall(message)))
    return error_response(errors, wire_error)


def _refuse_client_version(message: str, provider: str, mock: Mock) -> WireResponse:
    """Refuse a request of a library that is too old, and let the test fail."""
    mock.note_problem(message)
    wire_error = WireError(400, message, headers=refusal_headers(message))
    return error_response(get_descriptor(provider).errors, wire_error)


def _drop_telemetry(sent: WireRequest) -> WireResponse:
    """Accept a usage report of a framework without sending it anywhere."""
    if sent.method == "POST":
        return json_response({})
    return json_response({}, 404)


def refuse_call(request: HTTPRequest, host: str, violation: Violation, mock: Mock) -> WireError:
    """Record a call that breaks a rule of its provider, and return the provider's error.

    Args:
        request: the call.
        host: the host of the provider.
        violation: the rule and the error.
        mock: the mock that records it.
    """
    error = violation.error
    rule = violation.rule
    advice = "" if request.sent is None else advise_on_form(request.sent, error)
    lines = [
        f"{host} refuses this call to the model {request.model_id!r} with status {error.status}: "
        f"{error.message.strip()}",
        advice,
        f"{_describe_caller()}Rule {rule.name!r} refuses {rule.refuses}; ini "
        f"llm_mock_disabled_rules switches it off. Source: {rule.source}",
    ]
    message = "\n".join(filter(None, lines))
    # The plugin finds the message for a failed test by this header, which SDKs' exceptions keep.
    error.headers[REFUSAL_HEADER] = make_refusal_key(message)
    mock.record_refused(request, error, message)
    return error


def note_malformed(sent: WireRequest, error: WireError, mock: Mock, advice: str = "") -> None:
    """Note a malformed request, so that a failed test shows it.

    Args:
        sent: the request.
        error: the provider's error.
        mock: the mock that notes it.
        advice: what to write instead; by default advice on the form of another API.
    """
    message = (
        f"{sent.host} refuses this request with status {error.status}: {error.message.strip()}"
    )
    details = f"{_describe_caller()}{advice or advise_on_form(sent, error)}".strip()
    if details:
        message = f"{message}\n{details}"
    error.headers[REFUSAL_HEADER] = make_refusal_key(message)
    mock.note_invalid_request(message)


def refuse_path_without_version(sent: WireRequest, mock: Mock) -> WireResponse:
    """Refuse a request to OpenAI without the version in its path, as OpenAI does."""
    error = WireError(404, f"Invalid URL ({sent.method} {sent.path})")
    advice = f'All OpenAI paths begin with /v1: use base_url="https://{sent.host}/v1".'
    note_malformed(sent, error, mock, advice)
    return error_response(get_descriptor("openai").errors, error)


def refuse_unknown_path(
    sent: WireRequest,
    provider: str,
    mock: Mock,
    served: bool,
) -> WireResponse:
    """Refuse an unsupported request to a provider."""
    problem = f"{sent.method} {sent.path} of {sent.host} is not supported by llm_mock"
    if served:
        message = (
            f"{problem}. The server supports chat/completions, responses, messages, "
            "generateContent, interactions, converse, embeddings, models, token counts, "
            "moderations, images and audio. Check the program's base URL, or configure a response "
            f"with mock.on({sent.method!r}, {sent.path!r}, …){mock.settings.method_place}."
        )
    else:
        configured = mock.configurator.replies.list_endpoints()
        message = (
            f"{problem}; nothing was sent. {_describe_caller()}Configure a response with "
            f"mock.on({sent.method!r}, {sent.path!r}, …).{configured} To reach the provider, mark "
            f"the test with @pytest.mark.llm_live; if {sent.host} is not a provider, add "
            f"!{bracket_host(sent.host)} to ini llm_mock_hosts."
        )
    mock.note_refusal(message)
    wire_error = WireError(404, message, headers=refusal_headers(message))
    return error_response(get_descriptor(provider).errors, wire_error)


def _describe_caller() -> str:
    """Return a sentence with the caller's line; empty if the caller is in another thread."""
    location = find_project_line()
    return f"Requested at {location}. " if location else ""
