"""The ways to send the requests of the corpus: each SDK, synchronous and asynchronous."""

from __future__ import annotations

import asyncio
import base64
import importlib.metadata
import importlib.util
import inspect
import json
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import anthropic
import openai
import pytest
from google import genai
from google.genai import types
from mistralai.client import Mistral
from pydantic import BaseModel, ConfigDict

from tests.boundaries.http.request_corpus import KEY, PREFIXES, Case

KEY_HEADERS = {
    "messages": {"x-api-key": KEY},
    "gemini": {"x-goog-api-key": KEY},
    "interactions": {"x-goog-api-key": KEY},
}
PYDANTIC_CASE = "schema of a pydantic class"
"""The case whose schema the SDKs make of a class."""
BEARER = {"authorization": f"Bearer {KEY}"}


class Weather(BaseModel):
    """The weather."""

    model_config = ConfigDict(extra="forbid")

    city: str
    degrees: int


class GeminiWeather(BaseModel):
    """The weather."""

    city: str
    degrees: int


GeminiWeather.__name__ = "Weather"


def find_served_url(url: str, server_url: str) -> str | None:
    """Return the address of a provider at the server; None if the server does not have it."""
    parts = urlsplit(url)
    prefix = PREFIXES.get(parts.hostname or "")
    if prefix is None:
        return None
    query = f"?{parts.query}" if parts.query else ""
    return f"{server_url}{prefix}{parts.path}{query}"


def call_chat_completions(client: Any, case: Case, is_async: bool) -> Any:
    """Send a request by `openai`."""
    body = dict(case.body)
    if case.name == PYDANTIC_CASE:
        body["response_format"] = Weather
        # The method itself says that nothing is streamed.
        del body["stream"]
        return client.chat.completions.parse(**body)
    return client.chat.completions.create(**body)


def call_responses(client: Any, case: Case, is_async: bool) -> Any:
    """Send a request by `openai`."""
    body = dict(case.body)
    if case.name == PYDANTIC_CASE:
        del body["text"]
        return client.responses.parse(**body, text_format=Weather)
    return client.responses.create(**body)


def call_messages(client: Any, case: Case, is_async: bool) -> Any:
    """Send a request by `anthropic`."""
    body = dict(case.body)
    if case.name == PYDANTIC_CASE:
        del body["output_config"]
        return client.messages.parse(**body, output_format=Weather)
    return client.messages.create(**body)


def call_vertex(client: Any, case: Case, is_async: bool) -> Any:
    """Send a request by `anthropic`, which itself takes the model from the body."""
    body = dict(case.body)
    # Its default depends on the version of the SDK.
    version = {"anthropic_version": body.pop("anthropic_version")}
    return client.messages.create(model=case.call["model"], **body, extra_body=version)


def call_gemini(client: Any, case: Case, is_async: bool) -> Any:
    """Send a request by `google-genai`, which has all but the contents in its `config`."""
    body = dict(case.body)
    contents = [
        types.Content.model_validate_json(json.dumps(content)) for content in body.pop("contents")
    ]
    config = {**body.pop("generationConfig", {}), **body}
    if case.name == PYDANTIC_CASE:
        config["responseSchema"] = GeminiWeather
    models = (client.aio if is_async else client).models
    method = models.generate_content_stream if case.call["stream"] else models.generate_content
    return method(
        model=case.call["model"],
        contents=contents,
        config=types.GenerateContentConfig.model_validate(config),
    )


def call_interactions(client: Any, case: Case, is_async: bool) -> Any:
    """Send a request by `google-genai`."""
    return (client.aio if is_async else client).interactions.create(**case.body)


def call_mistral(client: Any, case: Case, is_async: bool) -> Any:
    """Send a request by `mistralai`, which has a method for streams and one for classes."""
    body = {name: value for name, value in case.body.items() if name != "stream"}
    name = "stream" if case.call["stream"] else "complete"
    if case.name == PYDANTIC_CASE:
        name = "parse"
        body["response_format"] = Weather
    method = getattr(client.chat, f"{name}_async" if is_async else name)
    return method(**body)


def call_converse(client: Any, case: Case, is_async: bool) -> Any:
    """Send a request by `botocore`, which has no asynchronous client, and read the whole answer."""

    def send() -> list[Any]:
        body = {"modelId": case.call["model"], **decode_bytes(case.body)}
        if not case.call["stream"]:
            return [client.converse(**body)]
        return list(client.converse_stream(**body)["stream"])

    return asyncio.to_thread(send) if is_async else send()


def call_invoke_model(client: Any, case: Case, is_async: bool) -> Any:
    """Send a request by `botocore`, which has no asynchronous client, and read the whole answer."""

    def send() -> list[Any]:
        body = {"modelId": case.call["model"], "body": json.dumps(case.body)}
        if not case.call["stream"]:
            return [client.invoke_model(**body)["body"].read()]
        return list(client.invoke_model_with_response_stream(**body)["body"])

    return asyncio.to_thread(send) if is_async else send()


def decode_bytes(value: Any) -> Any:
    """Return JSON values with bytes in place of base64, which `botocore` itself encodes."""
    if isinstance(value, list):
        return [decode_bytes(item) for item in value]
    if not isinstance(value, dict):
        return value
    decoded = {name: decode_bytes(item) for name, item in value.items()}
    for name in ("bytes", "redactedContent"):
        if name in decoded:
            decoded[name] = base64.b64decode(decoded[name])
    return decoded


def call_cohere(client: Any, case: Case, is_async: bool) -> Any:
    """Send a request by `cohere`, which has a method for streams."""
    body = {name: value for name, value in case.body.items() if name != "stream"}
    method = client.chat_stream if case.call["stream"] else client.chat
    return method(**body)


def call_ollama(client: Any, case: Case, is_async: bool) -> Any:
    """Send a request by `ollama`, which has one method for both kinds of answers."""
    method = client.generate if case.url.endswith("/generate") else client.chat
    return method(**case.body)


class SDK(NamedTuple):
    """An SDK, for one API."""

    make_client: Callable[[str | None], Any]
    """Makes a client; the argument is the URL of the server, or None for the provider."""
    make_async_client: Callable[[], Any]
    call: Callable[[Any, Case, bool], Any]
    """Sends a request; the last argument is True for the asynchronous client."""
    name: str
    """A regular expression for the name of the client in the record."""


def make_openai(server_url: str | None) -> openai.OpenAI:
    """Return a client of `openai`."""
    url = server_url and f"{server_url}/openai/v1"
    return openai.OpenAI(api_key=KEY, base_url=url, max_retries=0)


def make_anthropic(server_url: str | None) -> anthropic.Anthropic:
    """Return a client of `anthropic`."""
    url = server_url and f"{server_url}/anthropic"
    return anthropic.Anthropic(api_key=KEY, base_url=url, max_retries=0)


def make_vertex(server_url: str | None, is_async: bool = False) -> Any:
    """Return a client of `anthropic` for Vertex AI."""
    make: Any = anthropic.AsyncAnthropicVertex if is_async else anthropic.AnthropicVertex
    return make(
        region="global",
        project_id="p",
        access_token=KEY,
        base_url=server_url and f"{server_url}/vertex/v1",
        max_retries=0,
    )


def make_gemini(server_url: str | None = None) -> genai.Client:
    """Return a client of `google-genai`."""
    options = {"base_url": f"{server_url}/gemini"} if server_url else None
    return genai.Client(api_key=KEY, http_options=options)


def make_mistral(server_url: str | None = None) -> Mistral:
    """Return a client of `mistralai`."""
    return Mistral(api_key=KEY, server_url=server_url and f"{server_url}/mistral")


def make_cohere(server_url: str | None = None) -> Any:
    """Return a client of `cohere`."""
    cohere = pytest.importorskip("cohere")
    return cohere.ClientV2(KEY, base_url=server_url and f"{server_url}/cohere", max_retries=0)


def make_async_cohere() -> Any:
    """Return an asynchronous client of `cohere`."""
    return pytest.importorskip("cohere").AsyncClientV2(KEY, max_retries=0)


def make_ollama(server_url: str | None = None) -> Any:
    """Return a client of `ollama`."""
    ollama = pytest.importorskip("ollama")
    url = f"{server_url}/ollama" if server_url else "https://ollama.com"
    return ollama.Client(url, headers=BEARER)


def make_async_ollama() -> Any:
    """Return an asynchronous client of `ollama`."""
    return pytest.importorskip("ollama").AsyncClient("https://ollama.com", headers=BEARER)


def has_ollama() -> bool:
    """Return True if `ollama` is installed, in a version that names tools and thinks."""
    if importlib.util.find_spec("ollama") is None:
        return False
    return tuple(map(int, importlib.metadata.version("ollama").split(".")[:2])) >= (0, 5)


def has_converse() -> bool:
    """Return True if `botocore` is installed, in a version that knows the whole of Converse."""
    try:
        import botocore
    except ImportError:
        return False
    return tuple(map(int, botocore.__version__.split(".")[:2])) >= (1, 40)


def has_cohere() -> bool:
    """Return True if `cohere` is installed, in a version whose clients have all arguments."""
    try:
        import cohere
    except ImportError:
        return False
    return int(cohere.__version__.partition(".")[0]) >= 7


def make_bedrock(server_url: str | None = None) -> Any:
    """Return a client of `botocore`, which `boto3` is made of."""
    session = pytest.importorskip("botocore.session").get_session()
    config = pytest.importorskip("botocore.config").Config(retries={"max_attempts": 0})
    return session.create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key="secret-of-ada",
        endpoint_url=server_url and f"{server_url}/bedrock",
        config=config,
    )


BINARY = ("converse", "invoke_model")
"""The APIs of Bedrock, whose streams are binary."""
SDKS = {
    "chat_completions": SDK(
        make_openai,
        lambda: openai.AsyncOpenAI(api_key=KEY, max_retries=0),
        call_chat_completions,
        r"(Async)?OpenAI/Python",
    ),
    "responses": SDK(
        make_openai,
        lambda: openai.AsyncOpenAI(api_key=KEY, max_retries=0),
        call_responses,
        r"(Async)?OpenAI/Python",
    ),
    "messages": SDK(
        make_anthropic,
        lambda: anthropic.AsyncAnthropic(api_key=KEY, max_retries=0),
        call_messages,
        r"(Async)?Anthropic/Python",
    ),
    "gemini": SDK(make_gemini, make_gemini, call_gemini, r"google-genai-sdk/"),
    "ollama": SDK(make_ollama, make_async_ollama, call_ollama, r"ollama-python/"),
    "cohere": SDK(make_cohere, make_async_cohere, call_cohere, r"cohere/"),
    "converse": SDK(make_bedrock, make_bedrock, call_converse, r"Botocore/"),
    "invoke_model": SDK(make_bedrock, make_bedrock, call_invoke_model, r"Botocore/"),
    "interactions": SDK(make_gemini, make_gemini, call_interactions, r"google-genai-sdk/"),
    "vertex": SDK(
        make_vertex,
        lambda: make_vertex(None, is_async=True),
        call_vertex,
        r"(Async)?AnthropicVertex/Python",
    ),
    "mistral": SDK(make_mistral, make_mistral, call_mistral, r"mistral-client-python/"),
}


def read_stream(answer: Any) -> None:
    """Read a streamed answer to its end, and any other not at all."""
    if not isinstance(answer, BaseModel):
        for _ in answer:
            pass


def is_installed(api: str) -> bool:
    """Return True if the SDK for an API is installed."""
    if api == "cohere":
        return has_cohere()
    if api == "ollama":
        return has_ollama()
    return api not in BINARY or has_converse()


async def send_async(sdk: SDK, client: Any, case: Case) -> None:
    """Send a request by an asynchronous client, and read the whole answer."""
    answer = sdk.call(client, case, True)
    # Some SDKs return a stream at once.
    if inspect.isawaitable(answer):
        answer = await answer
    if hasattr(answer, "__aiter__"):
        async for _ in answer:
            pass
