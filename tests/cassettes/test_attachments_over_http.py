"""Images, documents and audio that SDKs send inline: recorded, replayed and imported."""

from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
import vcr
from click.testing import CliRunner
from google import genai
from google.genai import types
from mistralai.client import Mistral, errors

from llm_mock.cli import main
from tests.cassettes.conftest import Run
from tests.provider_server import KEY, TEXT, ProviderServer

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n and more").decode()
PDF = base64.b64encode(b"%PDF-1.7 and more").decode()
WAV = base64.b64encode(b"RIFF and more").decode()
ADDRESS = "https://example.com/cat.png"


def chat(url: str, *parts: Any) -> str:
    content: Any = [{"type": "text", "text": "Describe it"}, *parts]
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        answer = client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": content}]
        )
        return str(answer.choices[0].message.content)


def responses(url: str, *parts: Any) -> str:
    content: Any = [{"type": "input_text", "text": "Describe it"}, *parts]
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        return client.responses.create(
            model="gpt-5", input=[{"role": "user", "content": content}]
        ).output_text


def messages(url: str, *parts: Any) -> str:
    content: Any = [{"type": "text", "text": "Describe it"}, *parts]
    with anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0) as client:
        said: Any = [{"role": "user", "content": content}]
        answer: Any = client.messages.create(model="claude-opus-4-9", max_tokens=99, messages=said)
        return str(answer.content[0].text)


def gemini(url: str, *parts: Any) -> str:
    with closing(genai.Client(api_key=KEY, http_options={"base_url": url})) as client:
        answer = client.models.generate_content(
            model="gemini-3-pro", contents=["Describe it", *parts]
        )
        return str(answer.text)


def mistral(url: str, *parts: Any) -> str:
    content: Any = [{"type": "text", "text": "Describe it"}, *parts]
    with Mistral(api_key=KEY, server_url=url) as client:
        answer = client.chat.complete(
            model="mistral-large", messages=[{"role": "user", "content": content}]
        )
        return str(answer.choices[0].message.content)


def source(kind: str, media_type: str, data: str) -> dict[str, Any]:
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}}


def inline(data: str, media_type: str) -> Any:
    return types.Part.from_bytes(data=base64.b64decode(data), mime_type=media_type)


CASES: dict[str, tuple[Callable[..., str], Any]] = {
    "chat image": (
        chat,
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    ),
    "chat image by URL": (chat, {"type": "image_url", "image_url": {"url": ADDRESS}}),
    "chat audio": (chat, {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}),
    "chat file": (
        chat,
        {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
        },
    ),
    "chat file by id": (chat, {"type": "file", "file": {"file_id": "file-1"}}),
    "responses image": (
        responses,
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
    ),
    "responses image by URL": (responses, {"type": "input_image", "image_url": ADDRESS}),
    "responses image by id": (responses, {"type": "input_image", "file_id": "file-1"}),
    "responses file": (
        responses,
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": f"data:application/pdf;base64,{PDF}",
        },
    ),
    "responses file by URL": (
        responses,
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
    ),
    "messages image": (messages, source("image", "image/png", PNG)),
    "messages image by URL": (
        messages,
        {"type": "image", "source": {"type": "url", "url": ADDRESS}},
    ),
    "messages document": (messages, source("document", "application/pdf", PDF)),
    "messages text": (
        messages,
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "Some text"},
        },
    ),
    "messages content": (
        messages,
        {
            "type": "document",
            "source": {"type": "content", "content": [{"type": "text", "text": "Some text"}]},
        },
    ),
    "gemini image": (gemini, inline(PNG, "image/png")),
    "gemini document": (gemini, inline(PDF, "application/pdf")),
    "gemini audio": (gemini, inline(WAV, "audio/wav")),
    "gemini file by URL": (
        gemini,
        types.Part.from_uri(file_uri="gs://bucket/a.pdf", mime_type="application/pdf"),
    ),
    "mistral image": (mistral, {"type": "image_url", "image_url": f"data:image/png;base64,{PNG}"}),
    "mistral image by URL": (mistral, {"type": "image_url", "image_url": {"url": ADDRESS}}),
    "mistral document": (
        mistral,
        {"type": "document_url", "document_url": f"data:application/pdf;base64,{PDF}"},
    ),
    "mistral audio": (mistral, {"type": "input_audio", "input_audio": WAV}),
    "mistral file by id": (
        mistral,
        {"type": "file", "file_id": "8f8a5b7c-0000-4000-8000-000000000000"},
    ),
}
every_attachment = pytest.mark.parametrize(("ask", "part"), CASES.values(), ids=CASES)


@every_attachment
def test_what_is_attached_is_recorded_and_replayed(
    ask: Callable[..., str], part: Any, run: Run, provider: ProviderServer
) -> None:
    assert run("all", lambda: ask(provider.url, part)) == TEXT
    assert (run.problems, len(provider.requests)) == ([], 1)
    assert run("none", lambda: ask(provider.url, part)) == TEXT
    assert (run.problems, len(provider.requests)) == ([], 1)
    assert [
        PNG in run.path.read_text(),
        PDF in run.path.read_text(),
        WAV in run.path.read_text(),
    ] == [False] * 3


@every_attachment
def test_another_attachment_is_another_call(
    ask: Callable[..., str], part: Any, run: Run, provider: ProviderServer
) -> None:
    run("all", lambda: ask(provider.url, part))
    with pytest.raises(
        (openai.APIError, anthropic.APIError, genai.errors.APIError, errors.SDKError)
    ):
        run("none", lambda: ask(provider.url))
    assert len(provider.requests) == 1
    assert run.problems != []


@pytest.mark.parametrize("streamed", [False, True])
def test_a_later_turn_has_the_attachment_in_its_history(
    run: Run, provider: ProviderServer, streamed: bool
) -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}

    def converse() -> Any:
        said: Any = [{"role": "user", "content": [{"type": "text", "text": "Hello"}, image]}]
        said += [{"role": "assistant", "content": "A cat."}, {"role": "user", "content": "Sure?"}]
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            answer = client.chat.completions.create(model="gpt-4o", messages=said, stream=streamed)
            return len(list(answer)) if streamed else answer.choices[0].message.content

    recorded = run("all", converse)
    assert run("none", converse) == recorded
    assert (run.problems, len(provider.requests)) == ([], 1)


@every_attachment
def test_what_vcr_recorded_with_an_attachment_is_imported(
    ask: Callable[..., str],
    part: Any,
    tmp_path: Path,
    run: Run,
    provider: ProviderServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("llm_mock.boundaries.http.settings.http_settings.hosts", ())
    source, target = tmp_path / "test_it.yaml", tmp_path / "cassette.yaml"
    with vcr.VCR().use_cassette(str(source)):
        assert ask(provider.url, part) == TEXT
    result = CliRunner().invoke(
        main, ["import", str(source), "--host", provider.host, "-o", str(target)]
    )
    assert result.exit_code == 0, result.output
    assert "1 call" in result.output
    monkeypatch.setattr("llm_mock.boundaries.http.settings.http_settings.hosts", (provider.host,))
    assert run("none", lambda: ask(provider.url, part)) == TEXT
    assert (run.problems, len(provider.requests)) == ([], 1)
