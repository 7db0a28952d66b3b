"""Every row of the tables of providers, and what differs from a row in one place."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import anthropic
import httpx
import mistralai.client._version
import openai
import pytest
from google import genai

from llm_mock import LLMMock
from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http import placeholder_keys, settings, supported_versions
from llm_mock.boundaries.http.dialects import Upstream, make_environment, resolve_request
from llm_mock.boundaries.http.errors import add_fast_retry_header
from llm_mock.boundaries.http.http1 import RequestReader
from llm_mock.boundaries.http.interception import TELEMETRY, find_provider
from llm_mock.boundaries.http.other_endpoints import ENDPOINTS
from llm_mock.boundaries.http.providers import MODULES, hosts, list_sdks
from llm_mock.boundaries.http.providers.descriptor import ClientKey, ServerAccess
from llm_mock.boundaries.http.providers.registry import find_clients, get_registry
from llm_mock.boundaries.http.routing import find_protocol
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.wire import error_response
from llm_mock.boundaries.http.wire_error import WireError
from tests.boundaries.http import provider_tables as tables

GATEWAY = "llm-gateway.corp.test"
URL = "http://127.0.0.1:1"
JSON = {"content-type": "application/json"}
pytestmark = pytest.mark.usefixtures("mock_llm_calls")


def split(rows: dict[str, str]) -> list[tuple[str, str]]:
    """Return each word of a table beside its key."""
    return [(word, key) for key, words in rows.items() for word in words.split()]


def find(host: str, path: str = "/", **headers: str) -> str | None:
    """Return the provider of a request, as each transport asks for it."""
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return find_provider(host, None, path, named)


# Hosts


def test_each_provider_has_a_row() -> None:
    described = {
        *tables.DOMAINS,
        *tables.REGIONAL_HOSTS,
        *tables.SHARED_PATHS,
        *tables.BASE_URL_VARIABLES,
    }
    assert set(get_registry().by_name) == described
    sdks = ["openai", "anthropic", "google.genai", "cerebras.cloud.sdk", "cohere", "groq"]
    assert list_sdks() == [*sdks, "together"]


def test_a_domain_belongs_to_its_provider_and_a_near_miss_to_none() -> None:
    for domain, name in split(tables.DOMAINS):
        for host in (domain, f"eu.{domain}", f"a.b.{domain}", domain.upper(), f"{domain}."):
            assert find(host) == name, host
        first, _, parent = domain.partition(".")
        near_misses = (f"x{domain}", f"{domain}.test", f"{domain}x", f"{first}-{parent}", parent)
        for host in near_misses:
            assert find(host) is None, host


def test_each_domain_has_a_row() -> None:
    for name, provider in get_registry().by_name.items():
        assert list(provider.domains) == tables.DOMAINS.get(name, "").split(), name


def test_regional_hosts_belong_to_their_provider() -> None:
    unknown = {pattern.pattern for pattern, _ in get_registry().host_patterns}
    for name, known in tables.REGIONAL_HOSTS.items():
        for host in known:
            assert find(host) == name, host
            unknown -= {p.pattern for p, _ in get_registry().host_patterns if p.search(host)}
    assert unknown == set()


def test_a_host_that_looks_like_a_regional_one_belongs_to_none() -> None:
    for host in tables.NO_PROVIDERS:
        assert find(host) is None, host


def test_the_endpoints_of_aws_are_those_of_botocore() -> None:
    """Every endpoint of botocore's rules outside of the closed partitions is known."""
    loaders = pytest.importorskip("botocore.loaders")
    endpoint_provider = pytest.importorskip("botocore.endpoint_provider")
    loader = loaders.Loader(include_default_search_paths=True)
    partitions = loader.load_data("partitions")
    services = {"bedrock-runtime": "bedrock", "bedrock-agent-runtime": "bedrock"}
    services["sagemaker-runtime"] = "sagemaker"
    regions = ("us-east-1", "cn-north-1", "us-gov-west-1", "eusc-de-east-1")
    for service, name in services.items():
        rules = loader.load_service_model(service, "endpoint-rule-set-1")
        rule_set = endpoint_provider.EndpointProvider(rules, partitions)
        for region in regions:
            for fips in (False, True):
                for dual_stack in (False, True):
                    options = {"Region": region, "UseFIPS": fips, "UseDualStack": dual_stack}
                    url = rule_set.resolve_endpoint(**options).url
                    assert find(httpx.URL(url).host) == name, url


def test_a_path_of_a_shared_host_belongs_to_its_provider_and_others_to_none() -> None:
    for name, requests in tables.SHARED_PATHS.items():
        for host, path in requests:
            assert find(host, path) == name, (host, path)
            assert find(host, f"{path}?a=b") == name, (host, path)
            assert find(host) is None, host
    for host, path in tables.OTHER_PATHS:
        assert find(host, path) is None, (host, path)


def test_each_shared_host_has_a_row() -> None:
    shared = {name for _, _, name in get_registry().shared_hosts}
    assert shared == set(tables.SHARED_PATHS)
    assert len(get_registry().shared_hosts) == len(shared)


# Variables


def test_a_variable_with_a_url_names_its_provider_and_a_near_miss_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = split(tables.BASE_URL_VARIABLES)
    for variable, _ in rows:
        monkeypatch.delenv(variable, raising=False)
    url = f"https://{GATEWAY}/v1"
    for variable, name in rows:
        with monkeypatch.context() as patch:
            for other in (f"{variable}_2", f"MY_{variable}", variable.lower()):
                patch.setenv(other, url)
            for value in ("", f"https://{GATEWAY}:8443/v1"):
                patch.setenv(variable, value)
                assert find(GATEWAY, "/v1/models") is None, variable
            patch.setenv(variable, url)
            assert find(GATEWAY, "/v1/models") == name, variable
            assert find(f"eu.{GATEWAY}", "/v1/models") is None
            assert find(GATEWAY.removeprefix("llm-"), "/v1/models") is None


def test_each_variable_with_a_url_has_a_row() -> None:
    assert get_registry().base_url_variables == dict(split(tables.BASE_URL_VARIABLES))


@pytest.mark.parametrize(
    ("value", "whole", "covered", "not_covered"),
    [
        (f"https://{GATEWAY}", True, "/any", None),
        (f"https://{GATEWAY}/", True, "/any", None),
        (GATEWAY, True, "/any", None),
        (f"{GATEWAY.upper()}.", True, "/any", None),
        (f"https://{GATEWAY}/v1", True, "/any", None),
        (f"https://{GATEWAY}/v1/", True, "/any", None),
        (f"https://{GATEWAY}/v1beta", True, "/any", None),
        (f"https://{GATEWAY}/openai", True, "/any", None),
        (f"https://{GATEWAY}/openai/v1", True, "/any", None),
        (f"https://{GATEWAY}/openai/v1/", True, "/any", None),
        (f"https://{GATEWAY}/app", False, "/app/x", "/other"),
        (f"https://{GATEWAY}/version", False, "/version/x", "/other"),
        (f"https://{GATEWAY}/v", False, "/v/x", "/other"),
        (f"https://{GATEWAY}/v1/app", False, "/v1/app/x", "/v1"),
        (f"https://{GATEWAY}/my/openai", False, "/my/openai/x", "/my"),
        (f"https://{GATEWAY}:99999/v1", False, None, "/any"),
        (f"https://[{GATEWAY}/v1", False, None, "/any"),
        ("http://127.0.0.1/v1", False, None, "/any"),
    ],
)
def test_the_url_of_a_variable_covers_its_path_or_the_whole_host(
    value: str,
    whole: bool,
    covered: str | None,
    not_covered: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MISTRAL_BASE_URL", value)
    assert hosts.find_provider_in_environment(GATEWAY, None, None) == ("mistral" if whole else None)
    if covered is not None:
        assert find(GATEWAY, covered) == "mistral"
    if not_covered is not None:
        assert find(GATEWAY, not_covered) is None
    assert find("127.0.0.1", "/any") is None


@pytest.mark.parametrize(("port", "name"), [(8443, "mistral"), (8444, None), (None, None)])
def test_the_port_of_a_variable_counts(
    port: int | None, name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTRAL_BASE_URL", f"https://{GATEWAY}:8443/v1")
    assert find_provider(GATEWAY, port, "/v1/models") == name


# Clients


def test_an_sdk_is_known_by_its_user_agent() -> None:
    for name, samples in tables.USER_AGENTS.items():
        for sample in samples:
            for text in (sample, sample.lower(), sample.upper()):
                assert find(GATEWAY, "/any", user_agent=text) == name, text


def test_a_user_agent_that_contains_a_name_is_none_of_an_sdk() -> None:
    for user_agent in tables.OTHER_USER_AGENTS:
        assert find(GATEWAY, "/any", user_agent=user_agent) is None, user_agent


def test_each_pattern_of_user_agents_has_a_row() -> None:
    for pattern, name in get_registry().user_agents:
        assert any(pattern.search(sample) for sample in tables.USER_AGENTS[name]), pattern
    assert {name for _, name in get_registry().user_agents} == set(tables.USER_AGENTS)


OTHER = {"user_agent": "my-app/1.0"}


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({"anthropic_version": "2023-06-01", **OTHER}, "anthropic"),
        ({"anthropic_versions": "2023-06-01", **OTHER}, None),
        ({"anthropic_beta": "x", **OTHER}, None),
        ({"x_goog_api_client": "google-genai-sdk/3.4.0 gl-python/3.11", **OTHER}, "google"),
        ({"x_goog_api_client": "gl-python/3.11 gapic/1.0", **OTHER}, None),
        ({"x_goog_api_key": "genai", **OTHER}, None),
        ({"x_fern_sdk_name": "cohere", **OTHER}, "cohere"),
        ({"x_fern_sdk_name": "cohere-tools", **OTHER}, None),
        ({"x_fern_sdk_name": "elevenlabs", **OTHER}, None),
        ({"x_stainless_lang": "python", **OTHER}, "openai"),
        ({"x_stainless_lang": "python"}, "openai"),
        ({"x_stainless_lang": "python", "user_agent": "Orb/Python 4.0"}, None),
        ({"x_stainless_lang": "js", "user_agent": "Orb/JS 4.0"}, None),
        ({"x_stainless_lang": "js", "user_agent": "Orb/JSON 4.0"}, "openai"),
        ({"x_stainless_lang": "python", "user_agent": "my Orb/Python 4.0"}, "openai"),
        ({"x_stainless_lang": "python", "user_agent": "Groq/Python 1.7.0"}, "groq"),
        ({"x_stainless_os": "Linux", **OTHER}, None),
        ({"anthropic_version": "1", "x_stainless_lang": "python", **OTHER}, "anthropic"),
    ],
)
def test_an_sdk_is_known_by_its_other_headers(headers: dict[str, str], name: str | None) -> None:
    assert find(GATEWAY, "/any", **headers) == name
    as_bytes = [(key.replace("_", "-").encode(), headers[key].encode()) for key in headers]
    assert find_provider(GATEWAY, None, "/any", as_bytes) == name


# Keys


def make_client(package: str, name: str, arguments: str) -> Any:
    """Return a class with the arguments of a client, patched as the one of the SDK is."""

    def __init__(self: Any, **given: Any) -> None:
        self.api_key = given.get("api_key")

    names = ["api_key", *arguments.split()]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(each, keyword, default=None) for each in names]
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = inspect.Signature([me, *parameters])  # type: ignore[attr-defined]
    module: Any = ModuleType(package)
    setattr(module, name, type(name, (), {"__init__": __init__}))
    placeholder_keys._attach_to_clients(module)
    return getattr(module, name)


@pytest.mark.parametrize(("package", "name"), tables.CLIENTS)
def test_each_source_of_a_key_leaves_no_room_for_a_placeholder(
    package: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables, arguments, flags = tables.CLIENTS[package, name]
    client = make_client(package, name, arguments)
    for each in (*variables.split(), *flags.split()):
        for other in (f"{each}_2", f"MY_{each}", each.lower()):
            monkeypatch.setenv(other, "true")
        monkeypatch.setenv(each, "")
    assert client().api_key == PLACEHOLDER_KEY
    for each in variables.split():
        with monkeypatch.context() as patch:
            patch.setenv(each, "any")
            assert client().api_key is None, each
    for each in arguments.split():
        assert client(**{each: "any"}).api_key is None, each
        for nothing in ("", None, False):
            assert client(**{each: nothing}).api_key == PLACEHOLDER_KEY, each
    for each in flags.split():
        for value, key in (
            ("1", None),
            ("True", None),
            ("0", PLACEHOLDER_KEY),
            ("10", PLACEHOLDER_KEY),
        ):
            with monkeypatch.context() as patch:
                patch.setenv(each, value)
                assert client().api_key == key, (each, value)


def test_each_client_has_a_row() -> None:
    described: dict[tuple[str, str], ClientKey] = {}
    for package in {package for packages in MODULES.values() for package in packages}:
        for name, key in find_clients(package):
            described[package, name] = key
    expected = {
        client: ClientKey(*(tuple(words.split()) for words in credentials))
        for client, credentials in tables.CLIENTS.items()
    }
    assert described == expected


# Errors


def respond(name: str, status: int, **fields: Any) -> httpx.Response:
    """Return the error response of a provider, as a client gets it."""
    error = WireError(status, "It failed.", **fields)
    sent = error_response(get_registry().by_name[name].errors, error)
    assert isinstance(sent.body, bytes)
    return httpx.Response(sent.status, headers=sent.headers, content=sent.body)


OPENAI_FORMAT = set(get_registry().by_name) - {
    *("anthropic", "bedrock", "cohere", "google", "huggingface", "mistral", "ollama", "replicate"),
    *("openrouter", "vertex"),
}


def test_openai_and_most_others_have_a_type_for_each_status() -> None:
    for status, kind in tables.OPENAI_TYPES.items():
        for name in OPENAI_FORMAT:
            body = respond(name, status).json()
            nothing = {"param": None, "code": None}
            assert body == {"error": {"message": "It failed.", "type": kind, **nothing}}
        given = respond("openai", status, type="t", param="p", code="c").json()["error"]
        assert given == {"message": "It failed.", "type": "t", "param": "p", "code": "c"}


def test_anthropic_has_a_type_for_each_status() -> None:
    for status, kind in tables.ANTHROPIC_TYPES.items():
        for given in (None, "requests", "server_error"):
            response = respond("anthropic", status, type=given)
            assert response.json() == {
                "type": "error",
                "error": {"type": kind, "message": "It failed."},
                "request_id": response.headers["request-id"],
            }
        for own in ("overloaded_error", "billing_error", "conflict_error"):
            assert respond("anthropic", status, type=own).json()["error"]["type"] == own


def test_openrouter_repeats_the_status_as_a_number() -> None:
    for status in (400, 429, 503):
        error = {"message": "It failed.", "code": status}
        assert respond("openrouter", status, type="t", code="c").json() == {"error": error}
    kept = {"error": {"message": "It is down.", "code": 502, "metadata": {}}}
    assert respond("openrouter", 503, body=kept).json() == kept
    for other in ({}, {"message": "Slow down.", "code": "rate_limit_exceeded"}):
        assert respond("openrouter", 503, body={"error": other}).json()["error"]["code"] == 503


def test_google_has_a_name_for_each_status() -> None:
    for status, kind in tables.GOOGLE_STATUSES.items():
        body = {"code": status, "message": "It failed.", "status": kind}
        assert respond("google", status).json() == {"error": body}


@pytest.mark.parametrize("status", [401, 403, 404, 429, 503])
def test_vertex_ai_has_googles_words_for_what_google_checks(status: int) -> None:
    expected = respond("google", status).json()
    assert respond("vertex", status).json() == expected
    assert respond("vertex", 400, body=expected).json() == expected


@pytest.mark.parametrize("status", [400, 402, 405, 413, 428, 430, 500, 502, 504, 529])
def test_vertex_ai_has_anthropics_words_for_the_rest(status: int) -> None:
    expected = respond("anthropic", status).json()
    assert respond("vertex", status).json()["error"] == expected["error"]
    # The error of an exception of the SDK is kept, whatever its status is.
    assert respond("vertex", 429, body=expected).json() == expected


def test_aws_has_a_type_for_each_status_in_a_header_too() -> None:
    for status, kind in tables.AWS_TYPES.items():
        response = respond("bedrock", status, headers={"retry-after": "1"})
        assert response.json() == {"message": "It failed."}
        assert response.headers["x-amzn-errortype"] == kind
        assert response.headers["retry-after"] == "1"


def test_the_other_formats_have_no_types() -> None:
    assert respond("mistral", 429, code="1300", param="p").json() == {
        "object": "error",
        "message": "It failed.",
        "type": "invalid_request_error",
        "param": None,
        "code": "1300",
        "raw_status_code": 429,
    }
    types = {status: respond("mistral", status).json()["type"] for status in (499, 500, 503)}
    server = "internal_server_error"
    assert types == {499: "invalid_request_error", 500: server, 503: server}
    assert respond("mistral", 503, type="t").json()["type"] == "t"
    response = respond("cohere", 429)
    id_ = response.headers["x-debug-trace-id"]
    assert response.json() == {"id": id_, "message": "It failed."}
    for name in ("huggingface", "ollama"):
        assert respond(name, 503).json() == {"error": "It failed."}
        assert respond(name, 503, body={"error": "Other."}).json() == {"error": "It failed."}
    problem = {"title": "It failed.", "detail": "It failed.", "status": 503}
    assert respond("replicate", 503).json() == problem


@pytest.mark.parametrize(
    ("name", "body", "kept"),
    [
        ("openai", {"error": {"message": "m", "more": 1}}, True),
        ("openai", {"error": {"messages": "m"}}, False),
        ("openai", {"error": "m"}, False),
        ("openai", ["message"], False),
        ("anthropic", {"type": "error", "more": 1}, True),
        ("anthropic", {"type": "errors"}, False),
        ("anthropic", ["error"], False),
        ("google", {"error": {"status": "S", "more": 1}}, True),
        ("google", {"error": {"code": 1}}, False),
        ("google", ["status"], False),
        ("mistral", {"object": "error", "more": 1}, True),
        ("mistral", {"detail": [1]}, True),
        ("mistral", {"object": "list"}, False),
        ("mistral", ["detail"], False),
    ],
)
def test_the_body_of_an_error_is_kept_if_it_is_of_the_provider(
    name: str, body: object, kept: bool
) -> None:
    assert (respond(name, 418, body=body).json() == body) is kept


def test_anthropic_repeats_the_id_of_a_mocked_error_and_keeps_that_of_a_real_one() -> None:
    for own, is_kept in (("req_mock", False), ("req_real", True)):
        body = {"type": "error", "request_id": own}
        response = respond("anthropic", 418, body=body)
        expected = own if is_kept else response.headers["request-id"]
        assert response.json() == {"type": "error", "request_id": expected}


def test_each_error_has_an_id_in_the_header_of_its_provider() -> None:
    for name in get_registry().by_name:
        expected = tables.REQUEST_ID_HEADERS.get(name, "x-request-id")
        headers = respond(name, 500).headers
        ids = {key for key, value in headers.items() if value.startswith("req_mock_")}
        assert ids == ({expected} if expected else set()), name


@pytest.mark.parametrize(
    ("status", "is_retried"),
    [
        *((status, False) for status in (400, 401, 403, 404, 407, 410, 422, 428, 430, 499)),
        *((status, True) for status in (408, 409, 429, 500, 501, 503, 529)),
    ],
)
def test_a_status_after_which_an_sdk_retries_has_a_header_for_fast_retries(
    status: int, is_retried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in get_registry().by_name:
        reads_it = name in tables.RETRY_AFTER_MS
        expected = {"retry-after-ms": "50"} if is_retried and reads_it else {}
        assert add_fast_retry_header(WireError(status, "It failed."), name) == expected, name
    assert add_fast_retry_header(WireError(status, "It failed."), None) == {}
    assert add_fast_retry_header(WireError(status, "It failed."), GATEWAY) == {}
    monkeypatch.setattr(http_settings, "fast_retries", False)
    assert add_fast_retry_header(WireError(status, "It failed."), "openai") == {}


@pytest.mark.parametrize(
    ("headers", "is_changed"),
    [
        ({"Retry-After": "2"}, True),
        ({"retry-after": "0.051"}, True),
        ({"retry-after": "0.05"}, False),
        ({"retry-after": "0"}, False),
        ({"Retry-After-Ms": "51"}, True),
        ({"retry-after-ms": "50"}, False),
        ({"retry-after-ms": "10", "retry-after": "9"}, False),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, True),
        ({"x-should-retry": "false"}, False),
    ],
)
def test_a_header_for_fast_retries_never_makes_a_retry_slower(
    headers: dict[str, str], is_changed: bool
) -> None:
    got = add_fast_retry_header(WireError(429, "It failed.", headers=headers), "openai")
    assert got == ({**headers, "retry-after-ms": "50"} if is_changed else headers)


# Finish reasons, protocols, models


@pytest.mark.parametrize("common", ["stop", "tool_calls", "length", "content_filter", "other"])
def test_each_finish_reason_is_in_the_words_of_the_provider(common: str) -> None:
    for name, provider in get_registry().by_name.items():
        own = tables.FINISH_REASONS.get(name, {}).get(common, common)
        assert provider.get_finish_reason(common) == own, name
        expected = None if common in ("stop", "tool_calls") else common
        assert provider.parse_finish_reason(own) == expected, name


def test_each_provider_has_its_variants_of_the_protocols() -> None:
    for name in get_registry().by_name:
        for path, common in tables.COMMON_PROTOCOLS.items():
            variant = tables.PROTOCOLS.get(name, {}).get(path, common)
            protocol = find_protocol("POST", f"/any{path}", name)
            module = None if protocol is None else type(protocol).__module__.rpartition(".")[2]
            assert module == variant, (name, path)


def test_an_api_that_one_provider_has_is_unknown_to_the_others() -> None:
    for path, (owner, variant) in tables.OWN_PROTOCOLS.items():
        for name in get_registry().by_name:
            protocol = find_protocol("POST", path, name)
            module = None if protocol is None else type(protocol).__module__.rpartition(".")[2]
            assert module == (variant if name == owner else None), (name, path)
            assert find_protocol("GET", path, name) is None
            for other in (f"{path}s", f"{path}/x", f"/x{path[1:]}"):
                assert find_protocol("POST", other, name) is None, other
    paths = {api.path for each in get_registry().by_name.values() for api in each.apis}
    assert paths == {f"{path}$" for path in tables.OWN_PROTOCOLS}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/chat/completions"),
        ("PUT", "/v1/chat/completions"),
        ("POST", "/v1/chat/completions/"),
        ("POST", "/v1/chat/completions/1"),
        ("POST", "/v1/chatxcompletions"),
        ("POST", "/v1/completions"),
        ("POST", "/v1/myresponses"),
        ("POST", "/v1/responses/1"),
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1/mymessages"),
        ("POST", "/v1/threads/1/messages"),
        ("POST", "/v1/models/m:generateContents"),
        ("POST", "/v1/models/m/generateContent"),
        ("POST", "/v1/models/m:embedContent"),
    ],
)
def test_a_path_that_looks_like_that_of_a_model_has_no_protocol(method: str, path: str) -> None:
    for name in get_registry().by_name:
        assert find_protocol(method, path, name) is None


MODEL = {"id": "m", "object": "model", "created": 1_700_000_000, "owned_by": "llm-mock"}
# The fields of `GetModelResponse` in Cohere's SDK.
COHERE_MODEL = {
    "name": "m",
    "endpoints": ["chat"],
    "finetuned": False,
    "context_length": 256_000,
    "is_deprecated": False,
}
MODELS: dict[str, tuple[Any, Any]] = {
    "https://api.openai.com/v1/models": (MODEL, {"object": "list", "data": [MODEL]}),
    "https://api.groq.com/openai/v1/models": (MODEL, {"object": "list", "data": [MODEL]}),
    "https://api.mistral.ai/v1/models": (
        {**MODEL, "type": "base", "capabilities": {"completion_chat": True}},
        {
            "object": "list",
            "data": [{**MODEL, "type": "base", "capabilities": {"completion_chat": True}}],
        },
    ),
    "https://api.cohere.com/v1/models": (COHERE_MODEL, {"models": [COHERE_MODEL]}),
    "https://generativelanguage.googleapis.com/v1beta/models": (
        {
            "name": "models/m",
            "displayName": "m",
            "supportedGenerationMethods": ["generateContent"],
        },
        {
            "models": [
                {
                    "name": "models/m",
                    "displayName": "m",
                    "supportedGenerationMethods": ["generateContent"],
                }
            ]
        },
    ),
}


@pytest.mark.parametrize("url", MODELS)
def test_models_are_described_in_the_format_of_the_provider(
    url: str, mock_llm_calls: LLMMock
) -> None:
    mock_llm_calls.set("m", "Hi!")
    mock_llm_calls.set("glob-*", "Hi!")
    single, listed = MODELS[url]
    assert httpx.get(f"{url}/m").json() == single
    assert httpx.get(url).json() == listed
    for path in (f"{url}s", f"{url}/", url.replace("/models", "/mymodels")):
        assert httpx.get(path).status_code == 404, path
    assert httpx.post(url, json={}).status_code == 404
    mock_llm_calls.refusals.clear()


def test_models_of_anthropic_are_on_one_page(mock_llm_calls: LLMMock) -> None:
    url = "https://api.anthropic.com/v1/models"
    ends = {"has_more": False, "first_id": None, "last_id": None}
    assert httpx.get(url).json() == {"data": [], **ends}
    mock_llm_calls.set("a", "Hi!")
    mock_llm_calls.set("b", "Hi!")
    body = httpx.get(url).json()
    assert (body["has_more"], body["first_id"], body["last_id"]) == (False, "a", "b")
    created_at = body["data"][0].pop("created_at")
    assert created_at.startswith("2023-11-1")
    assert body["data"][0] == {
        "type": "model",
        "id": "a",
        "display_name": "a",
        "lifecycle": "active",
    }


def test_only_embeddings_of_mistral_have_an_id() -> None:
    ids = {name: each.embedding_id for name, each in get_registry().by_name.items()}
    assert {name for name, id_ in ids.items() if id_ is not None} == {"mistral"}
    body = {"model": "mistral-embed", "input": ["a"]}
    answered = httpx.post("https://api.mistral.ai/v1/embeddings", json=body).json()
    assert answered["id"] == "embd_mock_mistral-embed_1"
    assert "id" not in httpx.post("https://api.openai.com/v1/embeddings", json=body).json()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/embeddings"),
        ("POST", "/v1beta/models/m:embedContent"),
        ("POST", "/v1beta/models/m:batchEmbedContents"),
        ("POST", "/v1/messages/count_tokens"),
        ("POST", "/v1beta/models/m:countTokens"),
        ("POST", "/v1/responses/input_tokens"),
        ("POST", "/v1/moderations"),
        ("POST", "/v1/images/generations"),
        ("POST", "/v1/images/edits"),
        ("POST", "/v1/images/variations"),
        ("POST", "/v1/audio/speech"),
        ("POST", "/v1/audio/transcriptions"),
        ("POST", "/v1/audio/translations"),
        ("POST", "/v1/traces/ingest"),
        ("GET", "/v1/tcp_warming"),
        ("GET", "/v1/models"),
    ],
)
def test_each_other_endpoint_is_answered_and_a_near_miss_refused(
    method: str, path: str, mock_llm_calls: LLMMock
) -> None:
    url = f"https://api.openai.com{path}"
    # Some of them find fault with an empty body, and none refuses it.
    assert httpx.request(method, url, json={}).status_code in (200, 400)
    other = "GET" if method == "POST" else "POST"
    last = path.rpartition("/")[2]
    near_misses = [(method, f"{url}s"), (method, f"{url}/x/y"), (method, url[:-1])]
    near_misses.append((method, url.removesuffix(last) + f"my{last}".replace("mym:", "m:my")))
    if not path.startswith("/v1beta"):
        near_misses.append((other, url))
    if path == "/v1/models":
        del near_misses[1]
    for near_method, near_url in near_misses:
        response = httpx.request(near_method, near_url, json={})
        assert response.status_code == 404, (near_method, near_url)
    mock_llm_calls.refusals.clear()


def test_each_other_endpoint_has_a_row() -> None:
    # What OpenAI and Google store, and models that are deleted, are tested elsewhere.
    assert len(ENDPOINTS) == 10


# The server


def test_each_program_is_led_to_the_server() -> None:
    assert make_environment(URL, {"PATH": "/bin"}) == {
        "PATH": "/bin",
        **tables.SERVER_ENVIRONMENT,
    }


def test_optional_keys_and_urls_of_a_provider_lead_to_the_server() -> None:
    optional = tables.OPTIONAL_SERVER_ENVIRONMENT
    given = dict.fromkeys(
        [*optional, *tables.REMOVED_VARIABLES, *tables.SERVER_ENVIRONMENT], "real"
    )
    assert make_environment(URL, given) == {**tables.SERVER_ENVIRONMENT, **optional}
    empty = dict.fromkeys(optional, "")
    assert make_environment(URL, empty) == {**empty, **tables.SERVER_ENVIRONMENT}
    others = {f"{name}_2": "real" for name in given}
    assert make_environment(URL, others) == {**others, **tables.SERVER_ENVIRONMENT}


@pytest.mark.parametrize("name", ["HF_TOKEN", "REPLICATE_API_TOKEN", "XAI_API_KEY"])
def test_an_optional_key_that_is_not_named_after_its_provider_is_replaced(name: str) -> None:
    assert make_environment(URL, {name: "real"})[name] == "no-key-needed-by-llm-mock"


def test_a_key_that_is_also_that_of_other_services_stays() -> None:
    given = {"DATABRICKS_API_KEY": "real", "STRIPE_API_KEY": "real"}
    assert make_environment(URL, given) == {**given, **tables.SERVER_ENVIRONMENT}


def test_a_server_that_forwards_keeps_all_keys() -> None:
    names = [*tables.OPTIONAL_SERVER_ENVIRONMENT, *tables.SERVER_ENVIRONMENT]
    keys = [name for name in names if name.endswith(("_KEY", "_TOKEN"))]
    given = dict.fromkeys([*keys, *tables.REMOVED_VARIABLES], "real")
    kept = make_environment(URL, given, keep_keys=True)
    assert {name: kept[name] for name in given} == given
    assert make_environment(URL, {}, keep_keys=True) == tables.SERVER_ENVIRONMENT


def test_a_provider_outside_of_the_tables_leads_no_program_anywhere() -> None:
    others = [each for each in get_registry().by_name.values() if each.server == ServerAccess()]
    with_access = {each.name for each in get_registry().by_name.values()} - {
        each.name for each in others
    }
    assert with_access == {
        *("anthropic", "azure", "bedrock", "cohere", "google", "groq", "huggingface", "mistral"),
        *("ollama", "openai", "replicate", "together", "vertex", "x.ai"),
    }


@pytest.mark.parametrize(
    ("variables", "bypassed"),
    [
        ({}, None),
        ({"https_proxy": "http://proxy"}, None),
        ({"http_proxy": ""}, None),
        ({"http_proxy": "http://proxy"}, "127.0.0.1"),
        ({"HTTP_PROXY": "http://proxy"}, "127.0.0.1"),
        ({"all_proxy": "http://proxy"}, "127.0.0.1"),
        ({"ALL_PROXY": "http://proxy", "no_proxy": "a"}, "a,127.0.0.1"),
        ({"ALL_PROXY": "http://proxy", "NO_PROXY": "a"}, "a,127.0.0.1"),
        ({"ALL_PROXY": "http://proxy", "no_proxy": "a", "NO_PROXY": "b"}, "a,127.0.0.1"),
    ],
)
def test_programs_bypass_a_proxy_for_the_server(
    variables: dict[str, str], bypassed: str | None
) -> None:
    environment = make_environment(URL, variables)
    given = variables.get("no_proxy"), variables.get("NO_PROXY")
    expected = given if bypassed is None else (bypassed, bypassed)
    assert (environment.get("no_proxy"), environment.get("NO_PROXY")) == expected


def resolve(path: str, headers: str = "", **upstreams: Upstream) -> tuple[str, str, str]:
    """Return the provider, the host and the path of a request to the server."""
    reader = RequestReader()
    reader.feed(f"POST {path} HTTP/1.1\r\nhost: a\r\n{headers}\r\n".encode())
    request = reader.read_request()
    assert request is not None
    sent, provider = resolve_request(*request, upstreams)
    return provider, sent.host, sent.path


NAMES = {"gemini": "google"}


@pytest.mark.parametrize(("prefix", "host"), tables.SERVER_PREFIXES.items())
def test_the_first_part_of_a_path_names_the_provider(prefix: str, host: str) -> None:
    name = NAMES.get(prefix, prefix)
    assert resolve(f"/{prefix}/any/path") == (name, host, "/any/path")
    assert resolve(f"/{prefix}") == (name, host, "/")
    for other in (f"/my{prefix}/any", f"/{prefix}s/any", f"/any/{prefix}/any"):
        assert resolve(other) == ("openai", "api.openai.com", other)


@pytest.mark.parametrize(
    ("name", "path", "provider"),
    [
        ("anthropic", "/any", "anthropic"),
        ("anthropic", "/v1/chat/completions", "anthropic"),
        ("corp", "/v1/messages", "anthropic"),
        ("corp", "/v1/chat/completions", "openai"),
    ],
)
def test_an_upstream_with_the_name_of_a_provider_is_one(
    name: str, path: str, provider: str
) -> None:
    upstream = Upstream("https", "llm.corp.test", None, "/base")
    found = resolve(f"/{name}{path}", **{name: upstream})
    assert found == (provider, "llm.corp.test", f"/base{path}")


def test_each_first_part_of_a_path_has_a_row() -> None:
    prefixes = {each.server.prefix for each in get_registry().by_name.values()}
    assert prefixes == {"", *tables.SERVER_PREFIXES}


@pytest.mark.parametrize(
    ("path", "headers", "name"),
    [
        ("/v1/messages", "", "anthropic"),
        ("/v1/messages/batches", "", "anthropic"),
        ("/v1/mymessages", "", "openai"),
        ("/v1/messagesx", "", "openai"),
        ("/v1/threads/t/messages", "", "openai"),
        ("/v1/any", "anthropic-version: 2023-06-01\r\n", "anthropic"),
        ("/v1/any", "anthropic-beta: a\r\n", "openai"),
        ("/v1/any", "x-goog-api-key: a\r\n", "google"),
        ("/v1/any", "x-api-key: a\r\n", "openai"),
        ("/v1beta/any", "", "google"),
        ("/v1/beta", "", "openai"),
        ("/x/v1beta/any", "", "openai"),
        ("/v1/models/m:generateContent", "", "google"),
        ("/v1/models/m:countTokens", "", "google"),
        ("/v1/models/ft:gpt-4o:acme::9f", "", "openai"),
        ("/v1/models/llama:free", "", "openai"),
        ("/v1/models/m:generateContent/x", "", "openai"),
        ("/v1/chat/completions", "", "openai"),
        ("/v2/chat", "", "cohere"),
        ("/v2/chats", "", "openai"),
        ("/v1/rerank", "", "cohere"),
        ("/api/chat", "", "ollama"),
        ("/api/tags", "", "ollama"),
    ],
)
def test_a_path_without_a_first_part_is_known_by_the_rest(
    path: str, headers: str, name: str
) -> None:
    hosts_of = {NAMES.get(each, each): host for each, host in tables.SERVER_PREFIXES.items()}
    assert resolve(path, headers) == (name, hosts_of[name], path)


# Model APIs at hosts that no table names


INVOKE = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hello"}],
}
CONVERSE = {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]}
CHAT: dict[str, Any] = {"model": "m", "messages": []}
PROMPT: dict[str, Any] = {"model": "m", "prompt": "Hello"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/chat/completions", CHAT, 400),
        ("/v1/chat/completions", {"messages": []}, 400),
        ("/v1/chat/completions", {"model": "m"}, 400),
        ("/v1/responses", {"model": "m", "input": "Hello"}, 200),
        ("/v1/responses/input_tokens", {"model": "m", "input": "Hello"}, 200),
        ("/v1/messages", CHAT, 400),
        ("/v1/messages/count_tokens", CHAT, 400),
        ("/v1/embeddings", {"model": "m", "input": "Hello"}, 200),
        ("/v1/models/m:generateContent", {}, 400),
        ("/v1/models/m:streamGenerateContent", {}, 400),
        ("/v1/models/m:embedContent", {}, 200),
        ("/v1/models/m:batchEmbedContents", {}, 200),
        ("/v1/models/m:countTokens", {}, 400),
        ("/v1/completions", PROMPT, 404),
        ("/v1/images/generations", PROMPT, 200),
        ("/v1/images/edits", PROMPT, 400),
        ("/v1/images/variations", PROMPT, 400),
        ("/v1/audio/speech", {"model": "m", "input": "Hello"}, 400),
        ("/v1/moderations", {"model": "m", "input": "Hello"}, 200),
        ("/v1/rerank", {"model": "m", "query": "Hello"}, 400),
        ("/v2/rerank", {"model": "m", "query": "Hello", "documents": ["a"]}, 200),
        ("/v2/embed", {"model": "m", "texts": ["a"]}, 200),
        ("/rerank", {"model": "m", "query": "Hello"}, 404),
        ("/v1/ocr", {"model": "m", "document": {}}, 404),
        ("/api/chat", CHAT, 200),
        ("/api/generate", PROMPT, 200),
        ("/api/embed", {"model": "m", "input": "Hello"}, 200),
        ("/api/embeddings", {"model": "m", "prompt": "Hello"}, 200),
        ("/v2/chat", CHAT, 400),
        ("/v1/fim/completions", PROMPT, 404),
        ("/v1/completions", {"model": "m", "inputs": "Hello"}, 404),
        ("/v1/completions", {"model": "m", "contents": "Hello"}, 404),
        ("/v1/completions", {"model": "m", "text": "Hello"}, 404),
        ("/openai/deployments/m/completions", {"prompt": "Hello"}, 404),
        ("/model/m/converse", CONVERSE, 200),
        ("/model/m/converse-stream", CONVERSE, 200),
        ("/model/m/converse", {}, 400),
        ("/model/anthropic.m/invoke", INVOKE, 200),
        ("/model/anthropic.m/invoke-with-response-stream", INVOKE, 200),
        ("/model/m/invoke", {}, 400),
    ],
)
def test_a_model_api_is_known_by_path_and_body_at_any_host(
    path: str, body: Any, status: int, mock_llm_calls: LLMMock
) -> None:
    mock_llm_calls.set("*", "Hi!")
    response = httpx.post(f"https://{GATEWAY}{path}", json=body)
    assert response.status_code == status, response.text
    mock_llm_calls.refusals.clear()


class Sent(Exception):
    """The request went past the mock."""


@pytest.fixture
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise `Sent` for a request that the mock leaves alone."""

    def send(*args: Any, **kwargs: Any) -> None:
        raise Sent

    monkeypatch.setattr("httpcore._sync.connection_pool.PoolRequest.__init__", send)


@pytest.mark.usefixtures("_no_network")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"message": "Hello"}),
        ("/v1/chat/completions", {"messages": "Hello"}),
        ("/v1/chat/completions", {"model": 5}),
        ("/v1/chat/completions", [CHAT]),
        ("/v1/chat/completions/", CHAT),
        ("/v1/chat/completions/1", CHAT),
        ("/v1/mychat/completionsx", CHAT),
        ("/v1/responses", {"model": "m"}),
        ("/v1/responses", {"input": "Hello"}),
        ("/v1/responses", {"model": None, "input": "Hello"}),
        ("/v1/responses/1", {"model": "m", "input": "Hello"}),
        ("/v1/myresponses", {"model": "m", "input": "Hello"}),
        ("/v1/messages", {"model": "m", "message": "Hello"}),
        ("/v1/embedding", {"model": "m", "input": "Hello"}),
        ("/v1/models/m:generateText", CHAT),
        ("/v1/models/m/generateContent", CHAT),
        ("/v1/models/m:embedContents", {"model": "m"}),
        ("/v1/images/generation", PROMPT),
        ("/v1/images", PROMPT),
        ("/v1/audio/speeches", PROMPT),
        ("/v1/chat", CHAT),
        ("/v2/chats", CHAT),
        ("/api/chats", CHAT),
        ("/myapi/chat", CHAT),
        ("/model/m/n/converse", CHAT),
        ("/model/m/conversed", CHAT),
        ("/models/m/converse", CHAT),
        ("/v1/completions", {"model": "m", "prompts": "Hello"}),
        ("/v1/completions", {"prompt": "Hello"}),
        ("/deployments/completions", {"inputting": "Hello"}),
    ],
)
def test_a_request_that_differs_in_one_place_is_left_alone(path: str, body: Any) -> None:
    with pytest.raises(Sent):
        httpx.post(f"https://{GATEWAY}{path}", json=body)


@pytest.mark.parametrize(
    ("content_type", "is_read"),
    [
        ("application/json", True),
        ("application/vnd.api+json; charset=utf-8", True),
        (None, True),
        ("text/plain", False),
        ("multipart/form-data", False),
    ],
)
def test_only_bodies_of_json_are_read(content_type: str | None, is_read: bool) -> None:
    headers = {} if content_type is None else {"content_type": content_type}
    found = find(GATEWAY, "/v1/chat/completions", **headers)
    assert (found is not None) is is_read


@pytest.mark.parametrize(
    ("path", "upgrade", "name"),
    [
        ("/v1/realtime", "websocket", "openai"),
        ("/v1/realtime", "WebSocket", "openai"),
        ("/v1/x.BidiGenerateContent", "websocket", "openai"),
        ("/v1/responses", "websocket", "openai"),
        ("/openai/v10/responses", "websocket", "openai"),
        ("/v1/responses", "h2c", None),
        ("/responses", "websocket", None),
        ("/v1/responses/1", "websocket", None),
        ("/v1/realtime", "h2c", None),
        ("/v1/realtimes", "websocket", None),
        ("/v1/myrealtime", "websocket", None),
        ("/v1/xBidiGenerateContent", "websocket", None),
        ("/v1/chat/completions", "websocket", None),
    ],
)
def test_a_websocket_of_a_model_is_known_by_its_path(
    path: str, upgrade: str, name: str | None
) -> None:
    headers = {"upgrade": upgrade, "content_type": "text/plain"}
    assert find(GATEWAY, path, **headers) == name


@pytest.mark.parametrize(
    ("path", "user_agent", "name"),
    [
        ("/v1/messages", "Groq/Python 1.7.0", "anthropic"),
        ("/v1/messages/count_tokens", "Groq/Python 1.7.0", "anthropic"),
        ("/v1/messages/batches", "Groq/Python 1.7.0", "groq"),
        ("/v1/threads/t/messages", "Groq/Python 1.7.0", "groq"),
        ("/v1/models/m:generateContent", "Groq/Python 1.7.0", "google"),
        ("/v1/models/m:embedContent", "Groq/Python 1.7.0", "google"),
        ("/v1/models/m:generateText", "Groq/Python 1.7.0", "groq"),
        ("/v1/responses", "Groq/Python 1.7.0", "openai"),
        ("/v1/responses/1", "Groq/Python 1.7.0", "groq"),
        ("/v1/chat/completions", "Groq/Python 1.7.0", "groq"),
        ("/v2/chat", "Groq/Python 1.7.0", "cohere"),
        ("/v2/chats", "Groq/Python 1.7.0", "groq"),
    ],
)
def test_the_path_chooses_the_dialect_before_the_sdk(path: str, user_agent: str, name: str) -> None:
    assert find(GATEWAY, path, user_agent=user_agent) == name


def test_a_variable_says_which_provider_is_called_with_the_sdk_of_openai(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOGETHER_BASE_URL", f"https://{GATEWAY}/v1")
    assert find(GATEWAY, "/v1/any", user_agent="OpenAI/Python 3.54.0") == "together"
    assert find(GATEWAY, "/v1/any", user_agent="Groq/Python 1.7.0") == "groq"
    assert find(GATEWAY, "/v1/messages") == "anthropic"


# This machine, telemetry, listed hosts


@pytest.mark.parametrize(
    "host",
    [
        *("", "localhost", "LOCALHOST.", "app.localhost", "127.0.0.1", "127.9.9.9", "0.0.0.0"),
        *("::1", "[::1]", "::", "::ffff:127.0.0.1", "fe80::1%lo", "/run/app.sock"),
        "%2Frun%2Fapp.sock",
    ],
)
def test_this_machine_is_left_alone(host: str) -> None:
    expected = host != "fe80::1%lo"
    assert hosts.is_this_machine(host) is expected


@pytest.mark.parametrize(
    "host",
    [
        *("localhosts", "mylocalhost", "localhost.test", "128.0.0.1", "126.255.255.255"),
        *("1.0.0.0", "::2", "::ffff:128.0.0.1", "app.test", "127.0.0.1.test"),
    ],
)
def test_other_machines_are_not_this_one(host: str) -> None:
    assert not hosts.is_this_machine(host)


@pytest.mark.parametrize("domain", tables.TELEMETRY_DOMAINS)
def test_usage_reports_are_dropped_and_those_of_others_are_not(
    domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find(domain) == TELEMETRY
    assert find(f"eu.{domain}") == TELEMETRY
    for host in (f"x{domain}", f"{domain}.test", domain.partition(".")[2], f"eu-{domain}"):
        assert find(host) is None, host
    monkeypatch.setattr(http_settings, "hosts", (f"!{domain}",))
    assert find(domain) is None


def test_each_domain_for_usage_reports_has_a_row() -> None:
    assert hosts.TELEMETRY_DOMAINS == tables.TELEMETRY_DOMAINS


@pytest.mark.parametrize(
    ("host", "path", "found"),
    [
        ("raw.githubusercontent.com", "/BerriAI/litellm/main/prices.json", TELEMETRY),
        ("raw.githubusercontent.com", "/BerriAI/litellm-docs/main", None),
        ("raw.githubusercontent.com", "/x/BerriAI/litellm/main", None),
        ("raw.githubusercontent.com", "/", None),
        ("x.raw.githubusercontent.com", "/BerriAI/litellm/main", None),
        ("githubusercontent.com", "/BerriAI/litellm/main", None),
        ("huggingface.co", "/api/agent-harnesses", TELEMETRY),
        ("huggingface.co", "/api/models/x", None),
        ("x.huggingface.co", "/api/agent-harnesses", None),
    ],
)
def test_lists_that_libraries_fetch_for_themselves_are_refused(
    host: str, path: str, found: str | None
) -> None:
    assert find(host, path) == found


def test_usage_reports_are_accepted_and_fetched_lists_are_missing() -> None:
    response = httpx.post("https://eu.posthog.com/batch/", json={})
    assert (response.status_code, response.json()) == (200, {})
    prices = "https://raw.githubusercontent.com/BerriAI/litellm/main/prices.json"
    for url in (prices, "https://huggingface.co/api/agent-harnesses"):
        response = httpx.get(url)
        assert (response.status_code, response.json()) == (404, {})


@pytest.mark.parametrize(
    ("listed", "host", "port", "path", "found"),
    [
        ("models.test", "models.test", None, "/any", "openai"),
        ("models.test", "models.test", 8443, "/any", "openai"),
        ("models.test", "MODELS.test.", 8443, "/any?a=/v1/messages", "openai"),
        ("models.test", "models.test", None, "/v1/messages?a", "anthropic"),
        ("models.test", "eu.models.test", None, "/any", None),
        ("models.test", "mymodels.test", None, "/any", None),
        ("models.test:8443", "models.test", 8443, "/any", "openai"),
        ("models.test:8443", "models.test", 8444, "/any", None),
        ("models.test:8443", "models.test", None, "/any", None),
        ("localhost:1", "localhost", 1, "/any", "openai"),
        ("localhost:1", "localhost", 2, "/any", None),
        ("!api.openai.com", "api.openai.com", 443, "/v1/chat/completions", None),
        ("!api.openai.com:8443", "api.openai.com", 443, "/any", "openai"),
        ("!api.openai.com:8443", "api.openai.com", 8443, "/any", None),
        ("!openai.com", "api.openai.com", 443, "/any", "openai"),
        ("api.mistral.ai", "api.mistral.ai", 443, "/v1/messages", "mistral"),
        ("[::1]:8000", "::1", 8000, "/any", "openai"),
        ("[::1]:8000", "::1", 8001, "/any", None),
        ("[2001:db8::1]", "2001:DB8::1", 8000, "/any", "openai"),
        ("![2001:db8::1]", "2001:db8::1", 443, "/v1/messages", None),
        ("![2001:db8::1]:8000", "[2001:db8::1]", 8000, "/v1/messages", None),
    ],
)
def test_hosts_are_listed_with_or_without_a_port(
    listed: str,
    host: str,
    port: int | None,
    path: str,
    found: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_settings, "hosts", (listed,))
    assert find_provider(host, port, path) == found


# Supported versions


SENT = {
    "openai": (
        "OpenAI/Python {}",
        "AsyncOpenAI/Python {}",
        "AIProjectClient AzureOpenAI/Python {}",
    ),
    "anthropic": ("Anthropic/Python {}", "AsyncAnthropicBedrock/Python {}"),
    "google-genai": ("google-genai-sdk/{} gl-python/3.11", "a/0.1 google-genai-sdk/{} gl-python/3"),
    "mistralai": ("mistral-client-python/{}",),
    "requests": ("python-requests/{}",),
    "botocore": ("Botocore/{} Python/3.11", "Boto3/0.1 md/Botocore#{} ua/2.1"),
}
OLDER = {
    "aiohttp": "3.7.4",
    "anthropic": "0.39.0",
    "botocore": "1.33.13",
    "google-genai": "0.8.0",
    "httpx": "0.22.0",
    "httpx2": "1.9.9",
    "mistralai": "1.4.3",
    "openai": "1.55.2",
    "requests": "2.27.1",
    "urllib3": "1.25.11",
    "websockets": "13.0.1",
}


def test_each_oldest_version_has_a_row() -> None:
    assert supported_versions.OLDEST == tables.OLDEST
    assert set(supported_versions.USER_AGENTS) == set(SENT)


@pytest.mark.parametrize(("library", "oldest"), tables.OLDEST.items())
def test_the_oldest_version_is_supported_and_the_one_before_is_not(
    library: str, oldest: str
) -> None:
    explain = supported_versions.explain_version
    for version in (oldest, f"{oldest}.0", f"{oldest}rc1", "99", "100.0.0"):
        assert explain(library, version) is None, version
    assert explain(library, OLDER[library]) == (
        f"{library} {OLDER[library]} is older than {oldest}, the oldest version that llm_mock "
        "supports; its calls are refused, and nothing was sent. Install a newer one: "
        f"pip install '{library}>={oldest}'"
    )
    assert explain(f"my-{library}", OLDER[library]) is None


@pytest.mark.parametrize(
    ("library", "template"), [(name, each) for name, all_ in SENT.items() for each in all_]
)
def test_an_old_sdk_is_known_by_its_user_agent(library: str, template: str) -> None:
    explain = supported_versions.explain_user_agent
    old = OLDER[library]
    assert explain(template.format(tables.OLDEST[library])) is None
    assert explain(template.format(old)) == supported_versions.explain_version(library, old)
    for other in (f"my-{template}", template.replace("{}", "x{}")):
        if not other.startswith(("my-a/", "my-AIP", "my-Boto3")):
            assert explain(other.format(old)) is None, other


def test_a_request_of_an_old_sdk_is_refused(mock_llm_calls: LLMMock) -> None:
    headers = {"user-agent": "OpenAI/Python 1.55.2"}
    url = "https://api.openai.com/v1/chat/completions"
    response = httpx.post(url, json=CHAT, headers=headers)
    [problem] = mock_llm_calls.problems
    mock_llm_calls.problems.clear()
    assert (response.status_code, response.json()["error"]["message"]) == (400, problem)
    assert response.headers["x-should-retry"] == "false"
    assert problem.startswith("openai 1.55.2 is older than 1.55.3")


def test_the_installed_sdks_send_user_agents_of_the_table() -> None:
    sent = {
        openai.AsyncAzureOpenAI(api_version="1", azure_endpoint=URL).user_agent: "openai",
        openai.OpenAI().user_agent: "openai",
        anthropic.AsyncAnthropic().user_agent: "anthropic",
        mistralai.client._version.__user_agent__: "mistral",
    }
    http_options: Any = genai.Client()._api_client._http_options
    sent[http_options.headers["user-agent"]] = "google"
    for package, name in (("groq", "Groq"), ("together", "AsyncTogether")):
        client = getattr(pytest.importorskip(package), name)()
        sent[client.user_agent] = package
    cohere = pytest.importorskip("cohere").Client()
    sent[cohere._client_wrapper.get_headers()["User-Agent"]] = "cohere"
    for user_agent, name in sent.items():
        assert find(GATEWAY, "/any", user_agent=user_agent) == name, user_agent


def test_the_settings_have_the_documented_modes() -> None:
    assert settings.MODES == ("answer", "error", "off")
