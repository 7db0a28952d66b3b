"""Images, documents and audio as each SDK sends them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import closing
from typing import Any

import anthropic
import openai
from google import genai
from google.genai import types
from mistralai.client import Mistral

from tests.provider_server import KEY

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


ATTACHMENTS: dict[str, tuple[Callable[..., str], Any]] = {
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
