"""Endpoints that a test configures with `on`, and those that the mock answers by itself."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import struct
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anthropic
import httpx
import openai
import openai.types
import openai.types.audio
import openai.types.responses
import pytest
from google import genai
from mistralai.client import Mistral

from llm_mock import InvalidReply, LLMMock, QueuedReplyNotAllowed, Reply, templates
from llm_mock.boundaries.http.providers.hosts import parse_hosts
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.core.records import format_call
from tests.cassettes.conftest import Run, serve_as_provider
from tests.cassettes.test_received_bytes import ByteServer
from tests.provider_server import KEY

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
FILE: dict[str, Any] = {
    "id": "file-1",
    "object": "file",
    "bytes": 3,
    "created_at": 1,
    "filename": "a.jsonl",
    "purpose": "batch",
    "status": "processed",
}
AUDIO = ("a.wav", b"RIFF")


def test_an_endpoint_answers_a_body(client: openai.OpenAI, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.on("GET", "/v1/files/*", FILE)
    mock_llm_responses.on("get", "/v1/files/file-1/content", b"\x00\xff")
    mock_llm_responses.on("POST", "/v1/files", FILE, headers={"X-Request-Id": "req-7"})
    assert client.files.retrieve("file-1").filename == "a.jsonl"
    assert client.files.content("file-1").read() == b"\x00\xff"
    uploaded = client.files.create(file=("a.jsonl", b"{}\n"), purpose="batch")
    assert (uploaded.id, uploaded.purpose) == ("file-1", "batch")


def test_requests_to_endpoints_are_calls(
    client: openai.OpenAI, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.on("POST", "/v1/files", FILE)
    mock_llm_responses.on("POST", "/v1/moderations", {"id": "m", "model": "x", "results": []})
    client.files.create(file=("a.jsonl", b"{}\n"), purpose="batch")
    client.moderations.create(input="Hello", model="omni-moderation-latest")
    upload, moderation = mock_llm_responses.calls
    assert (upload.model, upload["api"]) == ("/v1/files", "POST /v1/files")
    assert (upload.prompt, upload.messages) == ("", [])
    assert upload.request is not None
    assert upload.request.body == {"purpose": "batch", "file": "<3 bytes>"}
    assert upload.response == FILE
    assert (moderation.model, moderation.prompt) == ("omni-moderation-latest", "Hello")
    assert moderation["configured"] is True
    mock_llm_responses.assert_called_with("Hello", model="omni-moderation-latest")
    # A path is no model.
    assert [model.id for model in client.models.list()] == ["omni-moderation-latest"]


@pytest.mark.parametrize(
    ("body", "prompt"),
    [
        ({"input": ["Bern", 7, "Basel"], "query": "b"}, "Bern\nBasel"),
        ({"input": [1, 2], "prompt": "b"}, ""),
        ({"prompt": "A cat", "text": "b"}, "A cat"),
        ({"text": "A dog", "query": "b"}, "A dog"),
        ({"query": "A fish", "documents": ["b"]}, "A fish"),
        ({"documents": ["b"]}, ""),
        (None, ""),
    ],
)
def test_the_text_of_a_request_to_an_endpoint_is_its_prompt(
    body: Any, prompt: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.on("POST", "/v1/rank", {})
    httpx.post("https://api.openai.com/v1/rank", json=body)
    assert mock_llm_responses.last_call.prompt == prompt
    assert len(mock_llm_responses.last_call.messages) == (1 if prompt else 0)


def test_a_function_gets_the_request(client: openai.OpenAI, mock_llm_responses: LLMMock) -> None:
    seen: list[Any] = []

    def answer(request: Any) -> dict[str, Any]:
        seen.append((request.method, request.path, request.query, request.json, request.form))
        assert request.headers["authorization"] == "Bearer any"
        assert request.url.endswith(request.path + ("?after=&limit=2" if request.query else ""))
        return {**FILE, "id": request.parameters.get("file_id", "new")}

    mock_llm_responses.on("*", "/v1/files/{file_id}", answer)
    mock_llm_responses.on("*", "/v1/files", lambda request: {**answer(request), "data": []})
    assert client.files.retrieve("file-2").id == "file-2"
    client.files.list(limit=2, after="")
    assert client.files.create(file=("a", b"\x00\xff"), purpose="batch").id == "new"
    assert seen == [
        ("GET", "/v1/files/file-2", {}, None, {}),
        ("GET", "/v1/files", {"limit": "2", "after": ""}, None, {}),
        ("POST", "/v1/files", {}, None, {"purpose": "batch", "file": b"\x00\xff"}),
    ]


def test_a_part_of_a_form_without_a_name_is_left_out(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.on("POST", "/v1/files", lambda request: request.form)
    disposition = "Content-Disposition: form-data"
    parts = ("\r\n\r\nno", "; name=purpose\r\n\r\nbatch")
    body = "".join(f"--x\r\n{disposition}{part}\r\n" for part in parts) + "--x--\r\n"
    headers = {"content-type": "multipart/form-data; boundary=x"}
    response = httpx.post("https://api.openai.com/v1/files", headers=headers, content=body)
    assert response.json() == {"purpose": "batch"}


async def describe_file(request: Any) -> dict[str, Any]:
    """Return a file."""
    await asyncio.sleep(0)
    return {**FILE, "id": request.parameters["file_id"]}


class FileRetriever:
    """An async function with a state of its own."""

    async def __call__(self, request: Any) -> dict[str, Any]:
        """Return a file."""
        return await describe_file(request)


@pytest.mark.parametrize(
    "function", [describe_file, FileRetriever(), lambda request: describe_file(request)]
)
def test_an_async_function_answers_a_synchronous_client(
    client: openai.OpenAI, mock_llm_responses: LLMMock, function: Any
) -> None:
    mock_llm_responses.on("GET", "/v1/files/{file_id}", function)
    assert client.files.retrieve("file-2").id == "file-2"
    [call] = mock_llm_responses.calls
    assert call.response == {**FILE, "id": "file-2"}


@pytest.mark.parametrize(
    "function", [describe_file, FileRetriever(), lambda request: describe_file(request)]
)
def test_an_async_function_is_awaited_by_an_async_client(
    mock_llm_responses: LLMMock, function: Any
) -> None:
    mock_llm_responses.on("GET", "/v1/files/{file_id}", function)

    async def retrieve() -> list[str]:
        async with openai.AsyncOpenAI(max_retries=0) as client:
            names = ["file-1", "file-2"]
            files = await asyncio.gather(*[client.files.retrieve(name) for name in names])
            return [file.id for file in files]

    assert asyncio.run(retrieve()) == ["file-1", "file-2"]


@pytest.mark.parametrize(
    ("result", "raised"),
    [
        (templates.rate_limit(), openai.RateLimitError),
        (ConnectionError("gone"), openai.APIConnectionError),
    ],
)
def test_an_async_function_may_return_an_error(
    mock_llm_responses: LLMMock, result: Any, raised: type[Exception]
) -> None:
    async def fail(request: Any) -> Any:
        return result

    mock_llm_responses.on("GET", "/v1/files/*", fail)

    async def retrieve() -> None:
        async with openai.AsyncOpenAI(max_retries=0) as client:
            await client.files.retrieve("file-1")

    with pytest.raises(raised):
        asyncio.run(retrieve())
    with openai.OpenAI(max_retries=0) as client, pytest.raises(raised):
        client.files.retrieve("file-1")
    assert [bool(call.error) for call in mock_llm_responses.calls] == [True, True]


def test_a_synchronous_client_in_an_event_loop_cannot_await(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.on("GET", "/v1/files/{file_id}", describe_file)

    async def retrieve() -> None:
        openai.OpenAI(max_retries=0).files.retrieve("file-1")

    with pytest.raises(openai.APIStatusError, match=r"describe_file\(\) is async, but"):
        asyncio.run(retrieve())
    # The test would fail with it, though it caught the error.
    [problem] = mock_llm_responses.problems
    mock_llm_responses.problems.clear()
    assert "describe_file() is async, but" in problem


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (templates.rate_limit(), openai.RateLimitError),
        (templates.authentication(), openai.AuthenticationError),
        (ConnectionError, openai.APIConnectionError),
        (TimeoutError("late"), openai.APITimeoutError),
        (lambda request: templates.overloaded(), openai.InternalServerError),
    ],
)
def test_an_endpoint_answers_an_error_of_its_provider(
    mock_llm_responses: LLMMock, error: Any, raised: type[Exception]
) -> None:
    mock_llm_responses.on("POST", "/v1/moderations", error)
    with openai.OpenAI(max_retries=0) as client, pytest.raises(raised):
        client.moderations.create(input="Hello")
    [call] = mock_llm_responses.calls
    assert call.error


def test_an_endpoint_may_stop_the_program(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.on("GET", "/v1/files", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        httpx.get("https://api.openai.com/v1/files")


def test_each_provider_has_its_own_error(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.on("*", "/**", templates.rate_limit())
    with anthropic.Anthropic(max_retries=0) as claude:
        with pytest.raises(anthropic.RateLimitError) as raised:
            claude.messages.batches.retrieve("b")
        assert "rate_limit_error" in str(raised.value.body)
    google_client = genai.Client()
    with pytest.raises(genai.errors.ClientError) as refused:
        google_client.files.get(name="files/f")
    assert (refused.value.code, refused.value.status) == (429, "RESOURCE_EXHAUSTED")


def test_a_status_is_that_of_the_test(mock_llm_responses: LLMMock) -> None:
    body = {"error": {"message": "No such File object: f", "type": "invalid_request_error"}}
    mock_llm_responses.on("GET", "/v1/files/f", body, status=404)
    with openai.OpenAI() as client, pytest.raises(openai.NotFoundError, match="No such File"):
        client.files.retrieve("f")


@pytest.mark.parametrize(
    ("method", "path", "answers"),
    [
        ("GET", "/v1/files/*", True),
        ("GET", "/v1/files/{id}", True),
        ("GET", "/v1/*/a.b", True),
        ("GET", "/v1/**", True),
        ("GET", "/**/a.b", True),
        ("*", "/v1/files/a.b", True),
        ("GET", "https://api.openai.com/v1/files/a.b", True),
        ("GET", "https://api.openai.com/**", True),
        ("POST", "/v1/files/a.b", False),
        ("GET", "/v1/*", False),
        ("GET", "/v1/files/axb", False),
        ("GET", "/files/a.b", False),
        ("GET", "/v1/files/a.b/*", False),
        ("GET", "https://api.example.com/v1/files/a.b", False),
    ],
)
def test_wildcards_stand_for_segments_of_a_path(
    mock_llm_responses: LLMMock, method: str, path: str, answers: bool
) -> None:
    mock_llm_responses.on(method, path, {"found": True})
    response = httpx.get("https://api.openai.com/v1/files/a.b?x=1")
    assert (response.json() == {"found": True}) is answers
    mock_llm_responses.refusals.clear()


@pytest.mark.parametrize(
    ("listed", "path", "answers"),
    [
        ("[2001:db8::1]", "http://[2001:DB8::1]:4000/v1/files/a", True),
        ("[2001:db8::1]:4000", "http://me:pw@[2001:db8::1]/v1/files/a", True),
        ("[2001:db8::1]:4000", "http://[2001:db8::2]:4000/v1/files/a", False),
    ],
)
def test_a_host_may_be_an_address_of_ipv6(
    mock_llm_responses: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
    listed: str,
    path: str,
    answers: bool,
) -> None:
    monkeypatch.setattr(http_settings, "hosts", parse_hosts([listed]))
    mock_llm_responses.on("GET", path, {"found": True})
    response = httpx.get("http://[2001:db8::1]:4000/v1/files/a")
    assert (response.json() == {"found": True}) is answers
    if not answers:
        (refusal,) = mock_llm_responses.refusals
        assert "add ![2001:db8::1] to ini llm_mock_hosts" in refusal
    mock_llm_responses.refusals.clear()


def test_an_exact_path_goes_before_a_wildcard_and_the_latest_before_earlier_ones(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.on("GET", "/v1/files/f", "exact")
    mock_llm_responses.on("GET", "/v1/files/*", "first")
    mock_llm_responses.on("GET", "/v1/**", "latest")
    mock_llm_responses.on("GET", "/v1/files/*", "once", times=1)
    texts = [httpx.get(f"https://api.openai.com/v1/files/{name}").text for name in ("f", "f", "g")]
    assert texts == ["once", "exact", "latest"]


def test_a_batch_ends_after_it_was_in_progress(
    client: openai.OpenAI, mock_llm_responses: LLMMock
) -> None:
    batch = {"id": "batch_1", "object": "batch", "endpoint": "/v1/responses"}
    mock_llm_responses.on("GET", "/v1/batches/*", {**batch, "status": "in_progress"}, times=2)
    mock_llm_responses.on("GET", "/v1/batches/*", {**batch, "status": "completed"})
    statuses = [client.batches.retrieve("batch_1").status for _ in range(4)]
    assert statuses == ["in_progress", "in_progress", "completed", "completed"]


def test_a_configured_endpoint_goes_before_what_the_mock_answers(
    client: openai.OpenAI, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o", "Hello")
    mock_llm_responses.on("GET", "/v1/models", {"object": "list", "data": []})
    mock_llm_responses.on("POST", "/v1/chat/completions", "<html>", status=502)
    assert list(client.models.list()) == []
    with pytest.raises(openai.InternalServerError):
        client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "a"}])


async def retrieve_file() -> str:
    async with openai.AsyncOpenAI() as client:
        return (await client.files.retrieve("f")).id


def test_async_clients_are_answered_too(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.on("GET", "/v1/files/*", FILE)
    assert asyncio.run(retrieve_file()) == "file-1"


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("PO ST", "/v1/files", {}), {}, "This is not an HTTP method"),
        ((1, "/v1/files", {}), {}, "This is not an HTTP method"),
        (("GET", "v1/files", {}), {}, "This is not the path of an endpoint"),
        (("GET", "/v1/files?a=1", {}), {}, "without a query"),
        (("GET", "http://[2001:db8::1/v1/files", {}), {}, "This is not the path of an endpoint"),
        (("GET", "http://:80/v1/files", {}), {}, "This is not the path of an endpoint"),
        (("GET", "/v1/files", Reply("text")), {}, "An endpoint returns a body"),
        (("GET", "/v1/files", object()), {}, "JSON"),
        (("GET", "/v1/files", {}), {"status": 99}, "status=99"),
        (("GET", "/v1/files", {}), {"times": 0}, "times=0"),
        (("GET", "/v1/files", {}), {"headers": {"a": 1}}, "a dict of texts"),
    ],
)
def test_what_is_no_endpoint_is_refused(
    mock_llm_responses: LLMMock, arguments: Any, options: Any, message: str
) -> None:
    with pytest.raises(InvalidReply, match=message):
        mock_llm_responses.on(*arguments, **options)
    assert mock_llm_responses.configurator.replies.endpoints == {}


def test_a_response_that_is_used_up_is_refused_for_the_whole_run() -> None:
    with pytest.raises(QueuedReplyNotAllowed, match="times=1"):
        LLMMock(standing_only=True).on("GET", "/v1/files", {}, times=1)


def test_unused_responses_and_bugs_of_functions_are_reported(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import asyncio
        import contextlib

        import openai

        def test_unused(mock_llm_responses):
            mock_llm_responses.on("GET", "/v1/files/*", {"id": "f"}, times=2)
            openai.OpenAI().files.retrieve("f")

        def test_standing(mock_llm_responses):
            mock_llm_responses.on("GET", "/v1/batches", {"id": "f"})
            assert False

        def test_optional(mock_llm_responses):
            mock_llm_responses.on("GET", "/v1/files/*", {"id": "f"}, times=1, optional=True)

        def test_bug(mock_llm_responses):
            mock_llm_responses.on("GET", "/v1/files", lambda request: request.nothing)
            try:
                openai.OpenAI().files.list()
            except openai.APIStatusError:
                pass

        async def fail(request):
            await asyncio.sleep(0)
            return request.something

        async def list_files():
            async with openai.AsyncOpenAI() as client:
                await client.files.list()

        def test_async_bug(mock_llm_responses):
            mock_llm_responses.on("GET", "/v1/files", fail)
            with contextlib.suppress(openai.APIStatusError):
                asyncio.run(list_files())
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=4)
    result.stdout.fnmatch_lines(
        [
            "*One queued reply was not used:*",
            "*GET /v1/files/[*]*",
            "*GET /v1/batches*not used*",
            "*A reply function raised at test_*: AttributeError*nothing*",
            "*A reply function raised at test_*: AttributeError*something*",
        ]
    )


def test_endpoints_are_shared_with_processes_and_come_from_the_run(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        """
        def pytest_llm_mock_configure(config, mock):
            mock.on("GET", "/v1/files/*", {"id": "run"})
        """
    )
    pytester.makepyfile(
        """
        import subprocess, sys
        import openai

        def test_it(mock_llm_responses):
            assert openai.OpenAI().files.retrieve("f").id == "run"
            mock_llm_responses.on("GET", "/v1/batches/*", {"id": "test"}, times=1)
            code = "import openai; print(openai.OpenAI().batches.retrieve('b').id)"
            printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            assert printed.stdout == "test\\n", printed.stderr
            assert [call["api"] for call in mock_llm_responses.calls] == [
                "GET /v1/files/f", "GET /v1/batches/b"
            ]
        """
    )
    pytester.runpytest("-Werror").assert_outcomes(passed=1)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_model_is_described_as_it_is_listed(provider: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m", "Hello there.")
    url, headers = f"https://api.{provider}.com/v1/models", {"anthropic-version": "1"}
    [listed] = httpx.get(url, headers=headers).json()["data"]
    assert httpx.get(f"{url}/m", headers=headers).json() == listed


@pytest.mark.parametrize("host", ["api.openai.com", "api.mistral.ai"])
def test_a_fine_tuned_model_is_deleted(host: str, mock_llm_calls: LLMMock) -> None:
    name = "ft:gpt-4o-mini:acme:suffix:abc123"
    response = httpx.delete(f"https://{host}/v1/models/{quote(name)}")
    assert response.json() == {"id": name, "object": "model", "deleted": True}


def test_a_deleted_model_does_not_exist(client: openai.OpenAI, mock_llm_responses: LLMMock) -> None:
    name = "ft:gpt-4o-mini:acme:suffix:abc123"
    mock_llm_responses.set("*", "Hello")
    mock_llm_responses.set(name, "Hi")
    assert [model.id for model in client.models.list()] == [name]
    client.models.delete(name)
    assert [model.id for model in client.models.list()] == []
    requests: list[Callable[[], object]] = [
        lambda: client.models.retrieve(name),
        lambda: client.models.delete(name),
        lambda: client.chat.completions.create(
            model=name, messages=[{"role": "user", "content": "Hi"}]
        ),
    ]
    for request in requests:
        with pytest.raises(openai.NotFoundError) as caught:
            request()
        assert caught.value.code == "model_not_found"


@pytest.mark.parametrize(
    ("provider", "message"),
    [("openai", "The model 'm' does not exist"), ("anthropic", "model: m")],
)
def test_an_unknown_model_is_neither_listed_nor_described(
    provider: str, message: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("m", "Hello there.")
    mock_llm_responses.set_unknown("m")
    url, headers = f"https://api.{provider}.com/v1/models", {"anthropic-version": "1"}
    assert httpx.get(url, headers=headers).json()["data"] == []
    response = httpx.get(f"{url}/m", headers=headers)
    assert (response.status_code, response.json()["error"]["message"]) == (404, message)


@pytest.mark.parametrize(
    "url",
    ["https://api.openai.com/v1/models/gpt-4o", "https://api.anthropic.com/v1/models/ft:claude"],
)
def test_no_other_model_is_deleted(url: str, mock_llm_calls: LLMMock) -> None:
    response = httpx.delete(url)
    assert "is not supported by llm_mock" in response.text
    mock_llm_calls.refusals.clear()


@pytest.mark.parametrize("body", [{}, {"model": None, "input": None}, {"instructions": "a"}])
def test_tokens_are_counted_without_a_model_and_input(
    body: dict[str, Any], mock_llm_calls: LLMMock
) -> None:
    response = httpx.post("https://api.openai.com/v1/responses/input_tokens", json=body)
    assert response.json() == {"object": "response.input_tokens", "input_tokens": 1}


def test_a_moderation_flags_nothing(client: openai.OpenAI, mock_llm_calls: LLMMock) -> None:
    answer = client.moderations.create(input=["a", "b"])
    fields = openai.types.moderation.Categories.model_fields
    categories = {field.alias or name for name, field in fields.items()}
    assert answer.results[0].categories.to_dict().keys() == categories
    assert answer.results[0].category_scores.to_dict().keys() == categories
    assert answer.results[0].category_applied_input_types.to_dict().keys() == categories
    assert [result.flagged for result in answer.results] == [False, False]
    assert answer.model == "omni-moderation-latest"
    parts: Any = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]
    assert len(client.moderations.create(input=parts).results) == 1
    assert [call["configured"] for call in mock_llm_calls.calls] == [False, False]


def test_an_image_is_a_png(client: openai.OpenAI, mock_llm_calls: LLMMock) -> None:
    generated = client.images.generate(model="gpt-image-1", prompt="A cat", n=2).data or []
    assert len(generated) == 2
    assert base64.b64decode(generated[0].b64_json or "").startswith(b"\x89PNG\r\n\x1a\n")
    [linked] = client.images.generate(model="dall-e-3", prompt="A cat").data or []
    assert (linked.url or "").endswith(".png")
    events = list(client.images.generate(model="gpt-image-1", prompt="A cat", stream=True))
    assert [event.type for event in events] == ["image_generation.completed"]
    edited = client.images.edit(model="gpt-image-1", image=("a.png", b"png"), prompt="A cat").data
    assert len(edited or []) == 1
    with pytest.raises(openai.BadRequestError, match="prompt"):
        client.images.generate(model="dall-e-3", prompt=None)  # type: ignore[call-overload]


def test_speech_is_silence(client: openai.OpenAI, mock_llm_calls: LLMMock) -> None:
    speak: Callable[..., Any] = client.audio.speech.create
    arguments = {"model": "tts-1", "voice": "nova", "input": "Hello"}
    spoken = speak(**arguments)
    assert spoken.response.headers["content-type"] == "audio/mpeg"
    # A header of MPEG-1 layer III, once for each frame of 417 bytes.
    assert spoken.content[::417] == b"\xff" * (len(spoken.content) // 417)
    with wave.open(io.BytesIO(speak(**arguments, response_format="wav").content)) as file:
        assert (file.getframerate(), file.getnframes()) == (24_000, 24_000)
        assert set(struct.unpack("<24000h", file.readframes(24_000))) == {0}
    assert len(speak(**arguments, response_format="pcm").content) == 48_000
    assert mock_llm_calls.calls[0].prompt == "Hello"


def test_a_file_that_the_mock_does_not_have_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import openai

        def test_it(mock_llm_calls):
            try:
                openai.OpenAI().audio.speech.create(
                    model="tts-1", voice="nova", input="Hello", response_format="opus"
                )
            except openai.BadRequestError:
                pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*llm_mock has no sample file for response_format='opus'*mock.on(*"]
    )


def test_a_transcription_is_the_reply_of_the_model(
    client: openai.OpenAI, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("whisper-1", "Hello there.")
    create: Callable[..., Any] = client.audio.transcriptions.create
    arguments = {"model": "whisper-1", "file": AUDIO, "language": "en"}
    assert create(**arguments).text == "Hello there."
    assert create(**arguments, response_format="text") == "Hello there.\n"
    assert "00:00:00,000 --> " in create(**arguments, response_format="srt")
    mock_llm_responses.set("gpt-4o-transcribe", "Hello there.")
    events = list(create(model="gpt-4o-transcribe", file=AUDIO, stream=True))
    assert [event.type for event in events] == ["transcript.text.delta", "transcript.text.done"]
    call = mock_llm_responses.calls[0]
    assert (call.options["language"], call.attachments[0]["type"]) == ("en", "audio/*")
    mock_llm_responses.set_error("whisper-1", templates.rate_limit())
    with pytest.raises(openai.RateLimitError):
        create(**arguments)


def test_mistral_speaks_and_transcribes(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("voxtral-mini-latest", "Hello there.")
    with Mistral(api_key="any") as client:
        answer = client.audio.transcriptions.complete(
            model="voxtral-mini-latest", file_url="https://example.com/a.mp3"
        )
        assert answer.text == "Hello there."
        checked = client.classifiers.moderate(model="mistral-moderation-latest", inputs=["a"])
    categories = (
        *("sexual", "hate_and_discrimination", "violence_and_threats"),
        *("dangerous_and_criminal_content", "selfharm", "health", "financial", "law", "pii"),
    )
    assert checked.results[0].categories == dict.fromkeys(categories, False)
    assert (checked.results[0].category_scores or {}).keys() == set(categories)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("moderations", "input"),
        ("images/generations", "prompt"),
        ("audio/speech", "input"),
        ("responses/compact", "input"),
    ],
)
def test_an_endpoint_without_a_response_fails_a_strict_test(
    path: str, field: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        f"""
        import httpx, pytest

        BODY = {{"model": "m", "voice": "nova", {field!r}: "a"}}

        @pytest.mark.llm_mock_strict
        @pytest.mark.parametrize("is_configured", [True, False])
        def test_it(mock_llm_responses, is_configured):
            if is_configured:
                mock_llm_responses.on("POST", "/v1/{path}", b"")
            httpx.post("https://api.openai.com/v1/{path}", json=BODY)
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([f"*No response was configured for POST /v1/{path}*"])
    # A refused call was not answered, by default or otherwise.
    result.stdout.no_fnmatch_line("Answered by default*")


def test_endpoints_are_refused_where_requests_are(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_http = error")
    pytester.makepyfile(
        """
        import openai, pytest

        def test_it():
            with pytest.raises(openai.BadRequestError):
                openai.OpenAI(api_key="any").moderations.create(input="a", model="guard")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*A call to the model 'guard' was about to reach*; with llm_mock_http = answer the "
            "mock answers it with the response of mock.on('POST', '/v1/moderations', …). To reach*"
        ]
    )


@pytest.mark.llm_mock_strict("warn")
def test_a_call_that_is_answered_by_default_says_how_to_configure_it(
    mock_llm_calls: LLMMock,
) -> None:
    client = openai.OpenAI()
    client.moderations.create(input="Hello")
    client.images.generate(prompt="a cat", model="gpt-image-1")
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello"}])
    notes = [
        format_call(call).partition("  (answered by default")[2] for call in mock_llm_calls.calls
    ]
    assert notes == [
        "; configure it with mock.on('POST', '/v1/moderations', …))",
        "; configure it with mock.on('POST', '/v1/images/generations', …))",
        ")",
    ]
    mock_llm_calls.on("POST", "/v1/moderations", {"id": "1", "model": "m", "results": []})
    client.moderations.create(input="Hello")
    assert "mock.on" not in format_call(mock_llm_calls.last_call)


# Recorded endpoints


def test_bytes_without_a_type_are_recorded_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path / "cassette.yaml")
    headers = {"authorization": f"Bearer {KEY}"}
    with serve_as_provider(ByteServer(), monkeypatch) as provider:
        provider.content, provider.headers = b"\x00\xff", {}
        url = provider.url.replace("chat/completions", "files")

        def upload(content: bytes) -> bytes:
            return httpx.post(url, content=content, headers=headers).content

        assert run("once", lambda: upload(b"\xfe")) == b"\x00\xff"
    [call] = run.calls
    assert call.options["body"] == f"sha256:{hashlib.sha256(bytes([254])).hexdigest()}"
    assert run("none", lambda: upload(b"\xfe")) == b"\x00\xff"
    assert run.problems == []


def test_a_connection_to_an_endpoint_that_failed_fails_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path / "cassette.yaml")
    headers = {"authorization": f"Bearer {KEY}"}
    with serve_as_provider(ByteServer(), monkeypatch) as provider:
        url = provider.url.replace("chat/completions", "files")
    # The server is closed.
    monkeypatch.setattr(http_settings, "hosts", (f"127.0.0.1:{provider.server_port}",))
    for mode in ("once", "none"):
        with pytest.raises(httpx.ConnectError):
            run(mode, lambda: httpx.post(url, content=b"x", headers=headers))
    assert run.problems == []
