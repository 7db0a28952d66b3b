"""Clients of SDKs are made without a key, and the environment stays as it is."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from llm_mock import LLMMock
from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http.google_tokens import TokenResponse
from llm_mock.cassettes.cassette import Cassette
from llm_mock.core.context import pass_through
from tests.conftest import RunPython

AZURE = {"api_version": "2024-02-01", "azure_endpoint": "https://x.openai.azure.com"}
CLIENTS = [
    ("openai", "OpenAI", {}, "OPENAI_API_KEY"),
    ("openai", "AsyncOpenAI", {}, "OPENAI_API_KEY"),
    ("openai", "AzureOpenAI", AZURE, "AZURE_OPENAI_API_KEY"),
    ("openai", "AsyncAzureOpenAI", AZURE, "AZURE_OPENAI_API_KEY"),
    ("anthropic", "Anthropic", {}, "ANTHROPIC_API_KEY"),
    ("anthropic", "AsyncAnthropic", {}, "ANTHROPIC_API_KEY"),
    ("anthropic", "AnthropicFoundry", {"resource": "x"}, "ANTHROPIC_FOUNDRY_API_KEY"),
    ("google.genai", "Client", {}, "GOOGLE_API_KEY"),
    ("google.genai", "Client", {}, "GEMINI_API_KEY"),
    ("cohere", "Client", {}, "CO_API_KEY"),
    ("cohere", "AsyncClientV2", {}, "CO_API_KEY"),
    ("groq", "Groq", {}, "GROQ_API_KEY"),
    ("groq", "AsyncGroq", {}, "GROQ_API_KEY"),
    ("cerebras.cloud.sdk", "Cerebras", {"warm_tcp_connection": False}, "CEREBRAS_API_KEY"),
    ("together", "Together", {}, "TOGETHER_API_KEY"),
    ("together", "AsyncTogether", {}, "TOGETHER_API_KEY"),
]
"""An SDK, its client, what that needs beside a key, and the variable with the key."""
client_cases = pytest.mark.parametrize(("sdk", "name", "arguments", "variable"), CLIENTS)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every key out of the environment."""
    for name in os.environ:
        if name.startswith(("AWS_", "GOOGLE_")) or name.endswith(("_KEY", "_TOKEN")):
            monkeypatch.delenv(name)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "CLOUDSDK_CONFIG"):
        monkeypatch.setenv(name, os.devnull)


def make(sdk: str, name: str, arguments: dict[str, Any], **key: Any) -> Any:
    """Make a client of an SDK."""
    module = pytest.importorskip(sdk)
    return getattr(module, name)(**arguments, **key)


def key_of(client: Any) -> Any:
    """Return the key that a client sends."""
    inner = getattr(client, "_api_client", None)
    wrapper = getattr(client, "_client_wrapper", None)
    if wrapper is not None:
        return wrapper._get_token()
    return (client if inner is None else inner).api_key


@client_cases
def test_a_client_without_a_key_has_a_placeholder(
    sdk: str,
    name: str,
    arguments: dict[str, Any],
    variable: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No variable is set, not even for a moment."""
    put: list[bytes] = []
    putenv = os.putenv

    def put_and_note(name: bytes, value: bytes) -> None:
        put.append(name)
        putenv(name, value)

    with monkeypatch.context() as patch:
        patch.setattr(os, "putenv", put_and_note)
        assert key_of(make(sdk, name, arguments)) == PLACEHOLDER_KEY
    assert [name for name in put if b"KEY" in name] == []
    assert variable not in os.environ


@client_cases
def test_empty_keys_are_none(
    sdk: str, name: str, arguments: dict[str, Any], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "")
    assert key_of(make(sdk, name, arguments)) == PLACEHOLDER_KEY
    assert key_of(make(sdk, name, arguments, api_key="")) == PLACEHOLDER_KEY


@client_cases
def test_a_key_that_is_given_stays(
    sdk: str, name: str, arguments: dict[str, Any], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert key_of(make(sdk, name, arguments, api_key="wrong")) == "wrong"
    monkeypatch.setenv(variable, "of-the-environment")
    assert key_of(make(sdk, name, arguments)) == "of-the-environment"


@pytest.mark.parametrize(
    ("sdk", "name", "arguments"),
    [
        ("openai", "OpenAI", {"admin_api_key": "other"}),
        ("openai", "OpenAI", {"api_key": lambda: "other"}),
        ("openai", "AzureOpenAI", {**AZURE, "azure_ad_token": "other"}),
        ("openai", "AzureOpenAI", {**AZURE, "azure_ad_token_provider": lambda: "other"}),
        ("anthropic", "Anthropic", {"auth_token": "other"}),
        ("anthropic", "AnthropicFoundry", {"resource": "x", "azure_ad_token_provider": str}),
    ],
)
def test_other_credentials_leave_no_room_for_a_placeholder(
    sdk: str, name: str, arguments: dict[str, Any]
) -> None:
    assert key_of(make(sdk, name, arguments)) != PLACEHOLDER_KEY


def test_the_first_argument_of_cohere_is_the_key() -> None:
    cohere = pytest.importorskip("cohere")
    assert key_of(cohere.Client("wrong")) == "wrong"
    assert key_of(cohere.Client(None)) == PLACEHOLDER_KEY


def test_a_class_of_the_project_and_a_copy_have_the_placeholder() -> None:
    import openai

    class Client(openai.OpenAI):
        """A client of the project."""

    assert Client().with_options(timeout=3).api_key == PLACEHOLDER_KEY


def test_errors_of_a_constructor_are_its_own() -> None:
    import openai

    with pytest.raises(TypeError, match="nonsense"):
        openai.OpenAI(nonsense=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="azure_endpoint"):
        openai.AzureOpenAI(api_version="2024-02-01")


@pytest.mark.parametrize("setting", ["llm_mock = false", "llm_mock_http = off"])
def test_without_the_mock_errors_are_the_sdks(pytester: pytest.Pytester, setting: str) -> None:
    pytester.makeini(f"[pytest]\n{setting}")
    pytester.makepyfile(
        """
        import anthropic, openai, pytest
        from google import genai

        def test_it():
            with pytest.raises(openai.OpenAIError, match="OPENAI_API_KEY"):
                openai.OpenAI()
            with pytest.raises(ValueError, match="API key"):
                genai.Client()
            assert anthropic.Anthropic().api_key is None
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_aws_asks_models_without_credentials_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    boto3 = pytest.importorskip("boto3")
    # For other services botocore asks the metadata server of AWS's machines, with and without us.
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    session = boto3.Session(region_name="us-east-1")
    client = session.client("bedrock-runtime")
    assert client._request_signer._credentials.access_key == PLACEHOLDER_KEY
    assert session.client("s3")._request_signer._credentials is None
    assert session.get_credentials() is None


def test_credentials_of_aws_that_are_given_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    boto3 = pytest.importorskip("boto3")
    given = {"aws_access_key_id": "wrong", "aws_secret_access_key": "wrong"}
    client = boto3.client("bedrock-runtime", region_name="us-east-1", **given)
    assert client._request_signer._credentials.access_key == "wrong"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-environment")
    client = boto3.Session(region_name="us-east-1").client("bedrock-runtime")
    assert client._request_signer._credentials.access_key == "of-the-environment"


@pytest.mark.llm_mock_strict("warn")
def test_vertex_asks_without_credentials_and_other_code_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import google.auth
    from google import genai

    monkeypatch.setenv("NO_GCE_CHECK", "true")
    client = genai.Client(vertexai=True, location="us-central1")
    assert client.models.generate_content(model="gemini-2.0-flash", contents="Hello").text
    with pytest.raises(google.auth.exceptions.DefaultCredentialsError):
        google.auth.default()


def test_credentials_of_a_machine_keep_their_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    # The variable is read on import, and by another test later.
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    import google.auth
    from google.auth.compute_engine import _metadata

    # The metadata server of Google's machines, which no test can ask
    monkeypatch.setattr(_metadata, "is_on_gce", lambda **kwargs: True)
    monkeypatch.setattr(_metadata, "get_project_id", lambda *args, **kwargs: "of-the-machine")
    of_default = google.auth.default(quota_project_id="mine")
    # Which `default` calls so, before it sets the project for quotas once more
    auth: Any = google.auth._default
    of_machine = auth._get_gce_credentials(None, quota_project_id="mine")
    for credentials, project in (of_default, of_machine):
        assert (credentials.quota_project_id, project) == ("mine", "of-the-machine")


def make_user_credentials() -> Any:
    """Return credentials of a user, who has no token yet."""
    from google.oauth2 import credentials

    return credentials.Credentials(
        None,
        refresh_token="of-ada",
        token_uri="https://oauth2.googleapis.com/token",
        client_id="id",
        client_secret="secret",
    )


class NoSession:
    """A session of requests that sends nothing."""

    def request(self, *args: object, **kwargs: object) -> None:
        """Raise an error."""
        raise ConnectionError("Something was sent.")

    def close(self) -> None:
        """Do nothing."""


def ask_gemini(credentials: Any) -> str | None:
    from google import genai

    place = {"project": "p", "location": "us-central1"}
    client = genai.Client(vertexai=True, credentials=credentials, **place)
    return client.models.generate_content(model="gemini-2.0-flash", contents="Hello").text


def ask_claude(credentials: Any) -> str | None:
    import anthropic

    place = {"project_id": "p", "region": "us-east5"}
    client = anthropic.AnthropicVertex(credentials=credentials, **place)
    messages: Any = [{"role": "user", "content": "Hello"}]
    answer = client.messages.create(model="claude-opus-4-9", max_tokens=9, messages=messages)
    return answer.content[0].text  # type: ignore[union-attr]


ASK_VERTEX = pytest.mark.parametrize("ask", [ask_gemini, ask_claude])


@ASK_VERTEX
@pytest.mark.llm_mock_strict("warn")
def test_credentials_of_google_are_not_refreshed_for_models(
    ask: Callable[[Any], str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    import requests

    monkeypatch.setattr(requests.Session, "request", NoSession.request)
    credentials = make_user_credentials()
    assert ask(credentials)
    assert credentials.token == PLACEHOLDER_KEY


@pytest.mark.usefixtures("mock_llm_calls")
def test_the_client_of_anthropic_for_bedrock_needs_no_region(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import anthropic

    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    assert anthropic.AnthropicBedrock().aws_region == "us-east-1"
    assert anthropic.AnthropicBedrock(aws_region="eu-west-1").aws_region == "eu-west-1"
    with pass_through(), pytest.raises(ValueError, match="No AWS region"):
        anthropic.AnthropicBedrock()
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    assert anthropic.AnthropicBedrock().aws_region == "eu-west-3"


def test_a_token_of_google_has_the_fields_of_every_kind_of_account() -> None:
    response = TokenResponse()
    assert (response.status, response.headers) == (200, {"content-type": "application/json"})
    assert json.loads(response.data) == {
        "access_token": PLACEHOLDER_KEY,
        "expires_in": 3600,
        "token_type": "Bearer",
        "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "accessToken": PLACEHOLDER_KEY,
        "expireTime": "2999-01-01T00:00:00Z",
    }


def test_credentials_of_google_are_refreshed_for_other_services() -> None:
    from google.auth.exceptions import TransportError
    from google.auth.transport.requests import Request

    session: Any = NoSession()
    with pytest.raises((ConnectionError, TransportError), match="Something was sent"):
        make_user_credentials().refresh(Request(session))


@ASK_VERTEX
@pytest.mark.parametrize("reason", ["passthrough", "recording"])
def test_credentials_of_google_are_refreshed_where_a_model_may_be_called_for_real(
    ask: Callable[[Any], str | None],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    mock_llm_calls: LLMMock,
    tmp_path: Path,
) -> None:
    import requests
    from google.auth.exceptions import TransportError

    monkeypatch.setattr(requests.Session, "request", NoSession.request)
    if reason == "passthrough":
        monkeypatch.setattr("llm_mock.core.context._State.passthrough", ["some-model"])
    else:
        cassette = Cassette(tmp_path / "calls.yaml", mode="once")
        monkeypatch.setattr(mock_llm_calls, "cassette", cassette)
    with pytest.raises((ConnectionError, TransportError), match="Something was sent"):
        ask(make_user_credentials())


def test_a_cassette_that_is_only_replayed_needs_no_credentials(
    monkeypatch: pytest.MonkeyPatch, mock_llm_calls: LLMMock, tmp_path: Path
) -> None:
    mock_llm_calls.set("*", "Hi!")
    cassette = Cassette(tmp_path / "calls.yaml", mode="none")
    monkeypatch.setattr(mock_llm_calls, "cassette", cassette)
    assert ask_claude(make_user_credentials()) == "Hi!"


PUTS = """
import sys
puts = []
sys.addaudithook(lambda event, args: puts.append(args) if event == "os.putenv" else None)
import openai
clients = [openai.OpenAI(), openai.AsyncOpenAI()]
message = {"role": "user", "content": "Hello"}
print(clients[0].chat.completions.create(model="gpt-4o", messages=[message]).choices[0].message.content)
print([name for name, _ in puts if b"KEY" in name])
"""  # noqa: E501


def test_no_variable_is_set_while_an_sdk_is_imported(run_python: RunPython) -> None:
    result = run_python(PUTS, LLM_MOCK="1")
    assert result.stdout == '{"success": true}\n[]\n', result.stderr


def test_an_application_that_chooses_by_a_variable_sees_none(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        memory=(
            "import os\nPROVIDER = 'router' if os.environ.get('OPENROUTER_API_KEY') else 'openai'"
        ),
        test_memory="""
        import os, subprocess, sys
        import memory
        import openai

        CLIENT = openai.OpenAI()
        CODE = "import openai, memory; openai.OpenAI(); print(memory.PROVIDER)"

        def test_it():
            assert memory.PROVIDER == "openai"
            assert not [name for name in os.environ if name.endswith("_API_KEY")]

        def test_its_processes():
            ended = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
            assert ended.stdout == "openai\\n", ended.stderr
        """,
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("raises", "shown"),
    [
        ("os.environ['OPENROUTER_API_KEY']", "*OPENROUTER_API_KEY is not set*setenv*"),
        (
            "fail('Set `XAI_API_KEY` or `GROQ_API_KEY`.')",
            "*XAI_API_KEY or GROQ_API_KEY is not set*",
        ),
        ("botocore.session.get_session().create_client('sqs')", "*AWS_DEFAULT_REGION is not set*"),
    ],
)
def test_a_failure_for_want_of_a_key_names_the_variable(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, raises: str, shown: str
) -> None:
    if "botocore" in raises:
        pytest.importorskip("botocore.session")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    imports = "import botocore.session" if "botocore" in raises else ""
    pytester.makepyfile(
        f"""
        import os
        {imports}

        def fail(text):
            raise ValueError(text)

        def test_it():
            {raises}
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*LLM keys*", shown])


@pytest.mark.parametrize(
    "fails",
    ["assert os.environ.get('GROQ_API_KEY')", "raise ValueError('STRIPE_API_KEY is missing')"],
)
def test_other_failures_name_no_variable(pytester: pytest.Pytester, fails: str) -> None:
    pytester.makepyfile(f"import os\ndef test_it():\n    {fails}")
    pytester.runpytest().stdout.no_fnmatch_line("*LLM keys*")


AZURE_SCOPE = "https://cognitiveservices.azure.com/.default"


@pytest.mark.parametrize("method", ["get_token", "get_token_info"])
def test_azure_gives_a_placeholder_token_for_models(method: str) -> None:
    identity = pytest.importorskip("azure.identity")
    asynchronous = pytest.importorskip("azure.identity.aio")
    token = getattr(identity.DefaultAzureCredential(), method)(AZURE_SCOPE)
    assert token.token == PLACEHOLDER_KEY
    assert datetime.fromtimestamp(token.expires_on, timezone.utc).year == 2999

    async def request() -> Any:
        return await getattr(asynchronous.DefaultAzureCredential(), method)(AZURE_SCOPE)

    assert asyncio.run(request()).token == PLACEHOLDER_KEY


def test_a_client_of_azure_sends_its_placeholder_token(mock_llm_responses: LLMMock) -> None:
    identity = pytest.importorskip("azure.identity")
    import openai

    provider = identity.get_bearer_token_provider(identity.DefaultAzureCredential(), AZURE_SCOPE)
    client = openai.AzureOpenAI(azure_ad_token_provider=provider, **AZURE)
    mock_llm_responses.set("gpt-4o", "Hello")
    message: Any = {"role": "user", "content": "Hi"}
    answer = client.chat.completions.create(model="gpt-4o", messages=[message])
    assert answer.choices[0].message.content == "Hello"


@pytest.mark.parametrize(
    "scopes",
    [
        ("https://management.azure.com/.default",),
        (AZURE_SCOPE, "https://management.azure.com/.default"),
        ("https://cognitiveservices.azure.com.example.com/.default",),
        (),
    ],
)
def test_azure_gives_its_own_token_for_other_services(
    monkeypatch: pytest.MonkeyPatch, scopes: tuple[str, ...]
) -> None:
    identity = pytest.importorskip("azure.identity")
    monkeypatch.setattr(
        identity.ChainedTokenCredential, "get_token", lambda self, *scopes, **kwargs: scopes
    )
    assert identity.DefaultAzureCredential().get_token(*scopes) == scopes


def test_asynchronous_credentials_of_azure_give_their_own_token_for_other_services(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    identity = pytest.importorskip("azure.identity.aio")

    async def describe(self: object, *scopes: str, **options: object) -> object:
        return scopes, options["tenant_id"]

    monkeypatch.setattr(identity.ChainedTokenCredential, "get_token", describe)
    scope = "https://management.azure.com/.default"

    async def request() -> Any:
        return await identity.DefaultAzureCredential().get_token(scope, tenant_id="t")

    assert asyncio.run(request()) == ((scope,), "t")


def test_azure_gives_its_own_token_while_calls_are_real(monkeypatch: pytest.MonkeyPatch) -> None:
    identity = pytest.importorskip("azure.identity")
    monkeypatch.setattr(
        identity.ChainedTokenCredential, "get_token", lambda self, *scopes, **kwargs: scopes
    )
    with pass_through():
        assert identity.DefaultAzureCredential().get_token(AZURE_SCOPE) == (AZURE_SCOPE,)
