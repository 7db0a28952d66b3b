"""A plugin of `llm` with plain models, and what they are to answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import llm
from pydantic import Field

from llm_mock import Reply
from llm_mock.boundaries.llm.versions import get_stream_event_class

FULL, BARE, KEYED = "plain-full", "plain-bare", "plain-keyed"
TEXTS, BLOBS, KEYED_TEXTS = "plain-texts", "plain-blobs", "plain-keyed-texts"
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")


@dataclass
class Scripted:
    """A scripted answer in terms of neither `llm` nor the mock."""

    chunks: tuple[str, ...] = ("Hello", ", ", "world")
    tool_calls: tuple[tuple[str, dict[str, Any], str], ...] = ()
    usage: tuple[int, int, dict[str, Any] | None] = (3, 5, {"cached": 1})
    payload: dict[str, Any] | None = field(
        default_factory=lambda: {"id": "chatcmpl-1", "text": "Hello, world"}
    )
    resolved_model: str | None = "plain-2026-01-01"
    error: Exception | None = None
    error_after: int | None = None

    def reply(self) -> Reply:
        """Return the same for the mock."""
        tokens = {
            "input_tokens": self.usage[0],
            "output_tokens": self.usage[1],
            "details": self.usage[2],
        }
        fails_at_once = self.error is not None and self.error_after is None
        return Reply(
            chunks=None if fails_at_once else self.chunks,
            tool_calls=[llm.ToolCall(*call) for call in self.tool_calls],
            usage=tokens,
            response_json=self.payload,
            resolved_model=self.resolved_model,
            error=self.error,
            error_after=self.error_after,
        )

    def play(self, stream: bool, response: Any) -> Iterator[Any]:
        """As a provider's plugin does."""
        for position, chunk in enumerate(self.chunks if stream else ["".join(self.chunks)]):
            if self.error is not None and (not stream or position == (self.error_after or 0)):
                raise self.error
            yield chunk
        if self.error is not None:
            raise self.error
        for name, arguments, call_id in self.tool_calls:
            if event := get_stream_event_class():
                yield event(type="tool_call_name", chunk=name, tool_call_id=call_id)
                yield event(
                    type="tool_call_args", chunk=json.dumps(arguments), tool_call_id=call_id
                )
            response.add_tool_call(llm.ToolCall(name, dict(arguments), call_id))
        response.set_usage(input=self.usage[0], output=self.usage[1], details=self.usage[2])
        response.set_resolved_model(self.resolved_model)
        response.response_json = self.payload


class _Provider:
    """Common parts of the plain models; answers and keys are kept for each run."""

    script: list[Scripted]
    keys: list[str | None]

    def __init__(self, script: list[Scripted], keys: list[str | None]) -> None:
        self.script, self.keys = script, keys
        self.api_base = "https://plain.example/v1"

    def ping(self) -> str:
        """Return what providers add to their models."""
        return "pong"

    def answered(self, stream: bool, response: Any, key: str | None) -> Iterator[Any]:
        self.keys.append(key)
        reply = self.script[0] if self.script[0].error else self.script.pop(0)
        return reply.play(stream, response)


class _Full(_Provider):
    """The abilities of a model that supports everything."""

    model_id = FULL
    can_stream = True
    supports_schema = True
    supports_tools = True
    attachment_types = frozenset({"image/png", "text/plain"})
    json_replacements = {"boilerplate": {"object": "chat.completion", "system_fingerprint": None}}  # noqa: RUF012

    class Options(llm.Options):
        """Options of the kinds there are."""

        temperature: float | None = Field(description="How warm", ge=0, le=2, default=None)
        max_tokens: int | None = Field(description="How long", default=None)
        effort: Literal["low", "high"] | None = None
        json_object: bool | None = None
        stop: list[str] | str | None = None
        seed: int = 7


class PlainModel(_Full, llm.Model):
    """A model that needs no key."""

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[Any]:
        return self.answered(stream, response, None)


class AsyncPlainModel(_Full, llm.AsyncModel):
    """Its twin."""

    async def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any
    ) -> AsyncIterator[Any]:  # type: ignore[override]
        for chunk in self.answered(stream, response, None):
            yield chunk


class BareModel(_Provider, llm.Model):
    """A model that supports nothing, and has no twin."""

    model_id = BARE
    supports_conversation = False

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[Any]:
        return self.answered(stream, response, None)


class KeyedModel(_Full, llm.KeyModel):
    """A model that needs a key."""

    model_id = KEYED
    needs_key = "plain"
    key_env_var = "PLAIN_KEY"

    def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any, key: str | None
    ) -> Iterator[Any]:
        return self.answered(stream, response, key)


class AsyncKeyedModel(_Full, llm.AsyncKeyModel):
    """Its twin."""

    model_id = KEYED
    needs_key = "plain"
    key_env_var = "PLAIN_KEY"

    async def execute(  # type: ignore[override]
        self, prompt: Any, stream: bool, response: Any, conversation: Any, key: str | None
    ) -> AsyncIterator[Any]:
        for chunk in self.answered(stream, response, key):
            yield chunk


VECTORS: dict[str | bytes, list[float]] = {
    "one": [1.0, 0.0, 0.0, 0.0],
    "two": [0.0, 1.0, 0.0, 0.0],
    "three": [0.6, 0.8, 0.0, 0.0],
    b"\x00\xff": [0.0, 0.0, 1.0, 0.0],
}


class TextEmbedder(llm.EmbeddingModel):  # type: ignore[name-defined, misc]
    """Embeds texts, two at once."""

    model_id = TEXTS
    batch_size = 2

    def __init__(self, batches: list[Any]) -> None:
        self.batches = batches
        self.api_base = "https://plain.example/v1"

    def embed_batch(
        self, items: Iterable[str | bytes], *, key: str | None = None
    ) -> Iterator[list[float]]:
        items = list(items)
        self.batches.append(
            [item if isinstance(item, str) else f"<{len(item)} bytes>" for item in items]
        )
        return iter([VECTORS[item] for item in items])


class BlobEmbedder(TextEmbedder):
    """Embeds bytes alone, as many as there are."""

    model_id = BLOBS
    batch_size = None
    supports_binary = True
    supports_text = False


class KeyedEmbedder(TextEmbedder):
    """Needs a key."""

    model_id = KEYED_TEXTS
    needs_key = "plain"
    key_env_var = "PLAIN_KEY"


class Plugin:
    """A plugin of `llm` that registers all of them, as plugins do: anew whenever it is asked."""

    def __init__(self) -> None:
        self.script: list[Scripted] = []
        self.keys: list[str | None] = []
        self.batches: list[Any] = []

    @llm.hookimpl
    def register_models(self, register: Callable[..., None]) -> None:
        state = self.script, self.keys
        register(PlainModel(*state), AsyncPlainModel(*state), aliases=("full", "f"))
        register(BareModel(*state), aliases=("bare",))
        register(KeyedModel(*state), AsyncKeyedModel(*state), aliases=("keyed",))

    @llm.hookimpl
    def register_embedding_models(self, register: Callable[..., None]) -> None:
        for embedder, alias in (
            (TextEmbedder, "texts"),
            (BlobEmbedder, "blobs"),
            (KeyedEmbedder, "keyed-texts"),
        ):
            register(embedder(self.batches), aliases=(alias,))

    @llm.hookimpl
    def register_tools(self, register: Callable[..., None]) -> None:
        register(upper)


def upper(text: str) -> str:
    """Make a text upper case."""
    return text.upper()
