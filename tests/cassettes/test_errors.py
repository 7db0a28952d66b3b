"""Errors of providers: an SDK finds the same in them by each way, as the checked-in table says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_mock import LLMMock
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.cassettes import Cassette
from tests import openai_server
from tests.cassettes import sdk_calls
from tests.cassettes.conftest import Run
from tests.cassettes.fidelity.server import SECRETS, Served, Server
from tests.expected import compare_json

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
LIMITS = {"retry-after": "7", "x-ratelimit-remaining-requests": "0"}


def _openai(message: str, kind: str, code: str | None = None, param: str | None = None) -> Any:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


OPENAI = {
    400: _openai(
        "Invalid value: 'owner'. Supported values are: 'system', 'user'.",
        *("invalid_request_error", "invalid_value", "messages[0].role"),
    ),
    401: _openai("Incorrect API key provided: x.", "invalid_request_error", "invalid_api_key"),
    403: _openai(
        "Country, region, or territory not supported",
        *("request_forbidden", "unsupported_country_region_territory"),
    ),
    404: _openai(
        "The model `gpt-4o` does not exist or you do not have access to it.",
        *("invalid_request_error", "model_not_found"),
    ),
    413: _openai("Maximum content size limit (26214400) exceeded", "server_error"),
    429: _openai("You exceeded your current quota.", "insufficient_quota", "insufficient_quota"),
    500: _openai("The server had an error while processing your request.", "server_error"),
    503: _openai("The engine is currently overloaded, please try again later", "server_error"),
}
ANTHROPIC = {
    status: {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy",
    }
    for status, kind, message in (
        (400, "invalid_request_error", "messages: at least one message is required"),
        (401, "authentication_error", "invalid x-api-key"),
        (402, "billing_error", "Your credit balance is too low."),
        (403, "permission_error", "Your API key cannot use the resource."),
        (404, "not_found_error", "model: claude-opus-4-9"),
        (413, "request_too_large", "Request exceeds the maximum size"),
        (429, "rate_limit_error", "This request would exceed your rate limit."),
        (500, "api_error", "Internal server error"),
        (503, "api_error", "Service unavailable"),
        (529, "overloaded_error", "Overloaded"),
    )
}
GOOGLE = {
    status: {"error": {"code": status, "message": message, "status": kind, **more}}
    for status, kind, message, more in (
        (
            *(400, "INVALID_ARGUMENT", "Invalid value at 'contents'"),
            {
                "details": [
                    {
                        "@type": "type.googleapis.com/google.rpc.BadRequest",
                        "fieldViolations": [{"field": "contents", "description": "Invalid"}],
                    }
                ]
            },
        ),
        (401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", {}),
        (403, "PERMISSION_DENIED", "The caller does not have permission", {}),
        (404, "NOT_FOUND", "models/gemini-3-pro is not found", {}),
        (413, "UNKNOWN", "Request payload size exceeds the limit", {}),
        (
            *(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota"),
            {
                "details": [
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}
                ]
            },
        ),
        (500, "INTERNAL", "An internal error has occurred.", {}),
        (503, "UNAVAILABLE", "The model is overloaded.", {}),
    )
}


def _mistral(status: int, message: str, kind: str, code: str | None) -> Any:
    fields = {"message": message, "type": kind, "param": None, "code": code}
    return {"object": "error", **fields, "raw_status_code": status}


MISTRAL = {
    400: _mistral(400, "Invalid model: mistral-large", "invalid_model", "1500"),
    401: {"detail": "Unauthorized"},
    403: {"message": "You cannot consume this service", "request_id": "1"},
    404: {"detail": "Not Found"},
    413: {"message": "Request size limit exceeded"},
    422: {"detail": [{"type": "missing", "loc": ["body", "messages"], "msg": "Field required"}]},
    429: _mistral(429, "Rate limit exceeded", "rate_limited", "1300"),
    500: _mistral(500, "Internal server error", "internal_server_error", "1000"),
    503: _mistral(503, "Service unavailable.", "internal_server_error", "3800"),
}
BODIES = {
    "chat": OPENAI,
    "responses": OPENAI,
    "messages": ANTHROPIC,
    "gemini": GOOGLE,
    "mistral": MISTRAL,
}
"""The body of each API at each status, as the providers document it."""
MODELS = {
    "chat": "gpt-4o",
    "responses": "gpt-5",
    "messages": "claude-opus-4-9",
    "gemini": "gemini-3-pro",
    "mistral": "mistral-large",
}
ID_HEADERS = {"messages": "request-id", "mistral": "mistral-correlation-id"}
HOSTS = {
    "chat": ("https://api.openai.com", "openai"),
    "responses": ("https://api.openai.com", "openai"),
    "messages": ("https://api.anthropic.com", "anthropic"),
    "gemini": ("https://generativelanguage.googleapis.com", "gemini"),
    "mistral": ("https://api.mistral.ai", "mistral"),
}
"""The host of each provider, and its prefix on the mock's own server."""
ATTRIBUTES = (
    *("status_code", "code", "type", "param", "status", "request_id", "message", "body"),
    *("details", "api_message", "error_code"),
)
HEADERS = (
    *("retry-after", "x-ratelimit-remaining-requests", "content-type"),
    *("x-request-id", *ID_HEADERS.values()),
)


def answers_of(api: str) -> dict[str, Served]:
    """Return the answer of the provider for each status, and that of a gateway before it."""
    request_id = {ID_HEADERS.get(api, "x-request-id"): "req_0123"}
    answers = {}
    for status, body in BODIES[api].items():
        limits = LIMITS if status in (429, 503, 529) else {}
        headers = {"content-type": "application/json", **request_id, **limits}
        answers[str(status)] = Served(json.dumps(body), status, headers)
    page = Served("<html>Bad gateway</html>\n", 502, {"content-type": "text/html"})
    return {**answers, "gateway": page}


class ErrorServer(Server):
    """Answers each request by the answer that is set."""

    answer: Served

    def next(self, scenario: str) -> Served:
        self.asked[""] = self.asked.get("", 0) + 1
        return self.answer


def find_errors(api: str, client: Any) -> list[Any]:
    """Return the errors of a plain and of a streamed request."""
    errors = []
    for stream in (False, True):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            getattr(sdk_calls, api)(client, "Hello", stream)
        errors.append(caught.value)
    return errors


def describe(error: Any) -> dict[str, Any]:
    """Return what an application finds in the exception of an SDK."""
    response = getattr(error, "response", None) or getattr(error, "raw_response", None)
    headers = {name: response.headers[name] for name in HEADERS if name in response.headers}
    # The mock gives an id to what came without one.
    headers = {name: value for name, value in headers.items() if "req_mock" not in value}
    attributes = {}
    for name in ATTRIBUTES:
        value = getattr(error, name, None)
        if value is not None and "req_mock" not in str(value):
            attributes[name] = value if isinstance(value, (int, dict, list)) else str(value)
    kind = f"{type(error).__module__.split('.')[0]}.{type(error).__qualname__}"
    return {"class": kind, "text": str(error), **attributes, "headers": headers}


@pytest.fixture(params=BODIES)
def api(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ErrorServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with openai_server.served(ErrorServer({})) as server:
        yield server


def table_of(api: str) -> Path:
    return Path(__file__).parent / "errors" / f"{api}.json"


def test_an_error_is_the_same_while_it_is_recorded_and_when_it_is_replayed(
    api: str, provider: ErrorServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_settings, "hosts", (f"127.0.0.1:{provider.server_port}",))
    recorded, replayed = {}, {}
    with sdk_calls.using(sdk_calls.CLIENTS[api], provider.url) as client:
        for name, provider.answer in answers_of(api).items():
            # Each has a cassette of its own, as the requests are the same.
            run.path = run.path.with_name(f"{name}.yaml")

            def ask() -> list[Any]:
                return [describe(error) for error in find_errors(api, client)]

            recorded[name] = run("all", ask)
            asked = dict(provider.asked)
            replayed[name] = run("none", ask)
            assert (run.problems, provider.asked) == ([], asked)
            text = run.path.read_text()
            assert [secret for secret in (*SECRETS, *SECRETS.values()) if secret in text] == []
    compare_json(table_of(api), recorded)
    assert replayed == json.loads(table_of(api).read_bytes())


def test_an_error_that_a_test_raises_is_the_same_in_process_and_served(
    api: str, provider: ErrorServer, mock_llm_responses: LLMMock, llm_mock_server: MockServer
) -> None:
    in_process, served = {}, {}
    host, prefix = HOSTS[api]
    make = sdk_calls.CLIENTS[api]
    with (
        sdk_calls.using(make, provider.url) as unmocked,
        sdk_calls.using(make, host) as mocked,
        sdk_calls.using(make, f"{llm_mock_server.url}/{prefix}") as connected,
    ):
        for name, provider.answer in answers_of(api).items():
            # A server on loopback is not mocked, so this is the exception of the SDK itself.
            mock_llm_responses.set_error(MODELS[api], find_errors(api, unmocked)[0])
            in_process[name] = [describe(error) for error in find_errors(api, mocked)]
            served[name] = [describe(error) for error in find_errors(api, connected)]
    expected = json.loads(table_of(api).read_bytes())
    assert in_process == expected
    assert served == expected


STATUSES = (400, 401, 402, 403, 404, 408, 409, 412, 413, 418, 422, 429, 431, 499, 500, 501)
MORE_STATUSES = (502, 503, 504, 529, 599)


@pytest.mark.parametrize("sdk", ["chat", "messages"])
def test_a_recorded_error_has_the_class_that_the_sdk_raises(
    sdk: str, provider: ErrorServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_settings, "hosts", (f"127.0.0.1:{provider.server_port}",))
    raised, recorded = {}, {}
    with sdk_calls.using(sdk_calls.CLIENTS[sdk], provider.url) as client:
        for status in (*STATUSES, *MORE_STATUSES):
            provider.answer = Served(json.dumps({"error": {"message": "No."}}), status)
            run.path = run.path.with_name(f"{status}.yaml")
            kinds = run("all", lambda: [type(error) for error in find_errors(sdk, client)])
            raised[status] = {f"{kind.__module__.split('.')[0]}:{kind.__name__}" for kind in kinds}
            calls = Cassette(run.path).calls
            recorded[status] = {(call.response.error or {})["class"] for call in calls}
    assert recorded == raised
