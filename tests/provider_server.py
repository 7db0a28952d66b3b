"""A server on loopback that answers like OpenAI, Anthropic, Google and Mistral."""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.openai_server import QuietServer, served

__all__ = ["ProviderServer", "served"]

KEY = "sk-loopback-0123456789abcdef"
THOUGHT, TEXT, ARGUMENTS = "It is July. ", "Sunny, and 21 °C: ü.", '{"city": "Bern", "days": 2.50}'
Events = list[tuple[str | None, Any]]


class ProviderServer(QuietServer):
    """Answer by the last word of the prompt: `think`, `tool`, `fail`, `crash`, `echo` or text."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.go_on = threading.Event()
        """Lets a stream that was asked for `slowly` go on after its second event."""
        self.go_on.set()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ProviderServer

    def log_message(self, *args: Any) -> None: ...

    def do_GET(self) -> None:
        self.server.requests.append({})
        if not self._answer_endpoint():
            self._send(404, b"{}", "application/json")

    do_DELETE = do_GET

    def _answer_endpoint(self) -> bool:
        """Answer a request that asks no model for text; return False for other requests."""
        path = self.path.partition("?")[0]
        for end, answer in ENDPOINTS.items():
            if path.endswith(end):
                kind = "audio/mpeg" if isinstance(answer, bytes) else "application/json"
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self._send(200, content, kind)
                return True
        return False

    def do_POST(self) -> None:
        self.server.paths.append(self.path)
        content = self.rfile.read(int(self.headers["Content-Length"]))
        is_form = self.headers["Content-Type"].startswith("multipart/")
        body = {} if is_form else json.loads(content)
        self.server.requests.append(body)
        if " fail" not in json.dumps(body) and self._answer_endpoint():
            return
        number, asked = len(self.server.requests), json.dumps(body)
        wants = next(
            (word for word in ("think", "tool", "fail", "crash", "echo") if f" {word}" in asked),
            "text",
        )
        if wants in ("fail", "crash"):
            self._fail(wants)
            return
        api = _api(self.path, body)
        text = f"You sent {self._key()}." if wants == "echo" else TEXT
        if " as JSON" in asked:
            text = '{"city": "Bern"}'
        if body.get("stream") or ":stream" in self.path:
            self._stream(STREAMED[api](number, wants, text), " slowly" in asked)
        else:
            self._send(
                200, json.dumps(WHOLE[api](number, wants, text)).encode(), "application/json"
            )

    def _key(self) -> str:
        headers = ("authorization", "x-api-key", "x-goog-api-key")
        return next(self.headers[name] for name in headers if self.headers[name]).removeprefix(
            "Bearer "
        )

    def _fail(self, wants: str) -> None:
        if wants == "crash":
            self._send(500, b"<html>Bad gateway</html>", "text/html")
            return
        error = {
            "message": "Slow down",
            "type": "requests",
            "code": "rate_limit_exceeded",
            "param": None,
        }
        if "anthropic-version" in self.headers:
            body: Any = {
                "type": "error",
                "error": {"type": "rate_limit_error", "message": "Slow down"},
            }
        elif "x-goog-api-key" in self.headers:
            body = {
                "error": {
                    "code": 429,
                    "message": "Slow down",
                    "status": "RESOURCE_EXHAUSTED",
                    "details": [],
                }
            }
        else:
            body = {"error": error}
        self._send(429, json.dumps(body).encode(), "application/json", ("Retry-After", "0.01"))

    def _head(self, status: int, kind: str, *more: tuple[str, str]) -> None:
        self.send_response(status)
        common = (
            ("Content-Type", kind),
            ("X-Request-Id", "req_1"),
            ("Set-Cookie", "session=cookie-of-mine"),
        )
        for name, value in (*common, ("Openai-Organization", "org-of-mine"), *more):
            self.send_header(name, value)

    def _send(self, status: int, content: bytes, kind: str, *more: tuple[str, str]) -> None:
        zipped = "gzip" in (self.headers["accept-encoding"] or "")
        content = gzip.compress(content) if zipped else content
        encoding = (("Content-Encoding", "gzip"),) if zipped else ()
        self._head(status, kind, ("Content-Length", str(len(content))), *encoding, *more)
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, events: Events, slowly: bool) -> None:
        self._head(200, "text/event-stream", ("Transfer-Encoding", "chunked"))
        self.end_headers()
        for position, (name, data) in enumerate(events):
            if position == 2 and slowly:
                self.server.go_on.wait(10)
            text = data if isinstance(data, str) else json.dumps(data)
            event = (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
            for piece in (event[: len(event) // 2].encode(), event[len(event) // 2 :].encode()):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")


def _api(path: str, body: dict[str, Any]) -> str:
    if path.endswith("/messages"):
        return "messages"
    if path.endswith("/responses"):
        return "responses"
    if "Content" in path:
        return "gemini"
    return "mistral" if body["model"].startswith("mistral") else "chat"


def _pieces(text: str) -> list[str]:
    return [text[start : start + 5] for start in range(0, len(text), 5)]


def _chat(number: int, wants: str, text: str) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": text,
        "refusal": None,
        "annotations": [],
    }
    if wants == "think":
        message["reasoning_content"] = THOUGHT
    if wants == "tool":
        function = {"name": "weather", "arguments": ARGUMENTS}
        message |= {
            "content": None,
            "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
        }
    reason = "tool_calls" if wants == "tool" else "stop"
    logprobs = {
        "content": [{"token": "Sun", "logprob": -0.25, "bytes": None, "top_logprobs": []}],
        "refusal": None,
    }
    choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": reason}
    return {**_chat_head(number, "chat.completion"), "choices": [choice], "usage": _chat_usage()}


def _chat_head(number: int, kind: str) -> dict[str, Any]:
    head = {
        "id": f"chatcmpl-{number}",
        "object": kind,
        "created": 1_700_000_000 + number,
        "model": "gpt-4o-2026-01-01",
    }
    return {**head, "service_tier": "default", "system_fingerprint": "fp_1"}


def _chat_usage() -> dict[str, Any]:
    details = {"reasoning_tokens": 3, "audio_tokens": 0}
    counted = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return {
        **counted,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": details,
    }


def _chat_stream(number: int, wants: str, text: str) -> Events:
    head = _chat_head(number, "chat.completion.chunk")
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "", "refusal": None}]
    if wants == "think":
        deltas += [{"reasoning_content": piece} for piece in _pieces(THOUGHT)]
    if wants == "tool":
        function = {"name": "weather", "arguments": ""}
        deltas += [
            {
                "tool_calls": [
                    {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
                ]
            }
        ]
        deltas += [
            {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
            for piece in _pieces(ARGUMENTS)
        ]
    else:
        deltas += [{"content": piece} for piece in _pieces(text)]
    events: Events = []
    for position, delta in enumerate(deltas):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        events.append(
            (None, {**head, "choices": [choice], "usage": None, "obfuscation": "x" * position})
        )
    reason = "tool_calls" if wants == "tool" else "stop"
    events.append(
        (
            None,
            {
                **head,
                "choices": [{"index": 0, "delta": {}, "finish_reason": reason}],
                "usage": None,
            },
        )
    )
    events.append((None, {**head, "choices": [], "usage": _chat_usage()}))
    return [*events, (None, "[DONE]")]


def _mistral(number: int, wants: str, text: str) -> dict[str, Any]:
    content: Any = text
    if wants == "think":
        content = [
            {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]},
            {"type": "text", "text": text},
        ]
    message: dict[str, Any] = {
        "role": "assistant",
        "content": content,
        "tool_calls": None,
        "prefix": False,
    }
    if wants == "tool":
        function = {"name": "weather", "arguments": ARGUMENTS}
        message |= {
            "content": "",
            "tool_calls": [{"id": f"call{number}", "index": 0, "function": function}],
        }
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if wants == "tool" else "stop",
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    head = {
        "id": f"cmpl-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "mistral-large-2",
    }
    return {**head, "choices": [choice], "usage": usage}


def _mistral_stream(number: int, wants: str, text: str) -> Events:
    whole = _mistral(number, wants, text)
    message = whole["choices"][0]["message"]
    head = {name: whole[name] for name in ("id", "created", "model")} | {
        "object": "chat.completion.chunk"
    }
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if wants == "think":
        thinking = [
            {"type": "thinking", "thinking": [{"type": "text", "text": piece}]}
            for piece in _pieces(THOUGHT)
        ]
        deltas += [{"content": [part]} for part in thinking]
    deltas += [{"content": piece} for piece in _pieces(text)] if wants != "tool" else []
    events: Events = [
        (None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        for delta in deltas
    ]
    last = {"content": "", "tool_calls": message["tool_calls"]}
    choice = {"index": 0, "delta": last, "finish_reason": whole["choices"][0]["finish_reason"]}
    return [
        *events,
        (None, {**head, "choices": [choice], "usage": whole["usage"]}),
        (None, "[DONE]"),
    ]


def _items(number: int, wants: str, text: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if wants == "think":
        summary = [{"type": "summary_text", "text": THOUGHT}]
        items.append(
            {
                "id": f"rs_{number}",
                "type": "reasoning",
                "summary": summary,
                "encrypted_content": "opaque",
            }
        )
    if wants == "tool":
        head = {
            "id": f"fc_{number}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{number}",
        }
        return [*items, {**head, "name": "weather", "arguments": ARGUMENTS}]
    content = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed"}
    return [*items, {**message, "content": [content]}]


def _responses(number: int, wants: str, text: str) -> dict[str, Any]:
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    usage |= {"input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0}}
    usage |= {"output_tokens_details": {"reasoning_tokens": 3}}
    head = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "completed",
    }
    said = {
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "gpt-5-2026",
    }
    more = {
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }
    return {**head, **said, **more, "output": _items(number, wants, text), "usage": usage}


def _responses_stream(number: int, wants: str, text: str) -> Events:
    whole = _responses(number, wants, text)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index}
        place = {"item_id": item["id"], **at}
        if item["type"] == "function_call":
            opened = {**item, "arguments": "", "status": "in_progress"}
            events.append({"type": "response.output_item.added", **at, "item": opened})
            name = "response.function_call_arguments"
            events += [
                {"type": f"{name}.delta", **place, "delta": piece, "obfuscation": "x"}
                for piece in _pieces(ARGUMENTS)
            ]
            events.append(
                {"type": f"{name}.done", **place, "name": "weather", "arguments": ARGUMENTS}
            )
        else:
            field = "summary" if item["type"] == "reasoning" else "content"
            name, part_name = ("output_text", "content_part")
            if field == "summary":
                name, part_name = "reasoning_summary_text", "reasoning_summary_part"
            [part] = item[field]
            within = {**place, f"{field}_index": 0}
            logprobs = {"logprobs": []} if field == "content" else {}
            events.append({"type": "response.output_item.added", **at, "item": {**item, field: []}})
            events.append(
                {"type": f"response.{part_name}.added", **within, "part": {**part, "text": ""}}
            )
            for piece in _pieces(part["text"]):
                events.append(
                    {"type": f"response.{name}.delta", **within, "delta": piece, **logprobs}
                )
            events.append(
                {"type": f"response.{name}.done", **within, "text": part["text"], **logprobs}
            )
            events.append({"type": f"response.{part_name}.done", **within, "part": part})
        events.append({"type": "response.output_item.done", **at, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return [
        (event["type"], {**event, "sequence_number": number}) for number, event in enumerate(events)
    ]


def _message(number: int, wants: str, text: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if wants == "think":
        content.append({"type": "thinking", "thinking": THOUGHT, "signature": "c2lnbmVk"})
    if wants == "tool":
        content.append(
            {
                "type": "tool_use",
                "id": f"toolu_{number}",
                "name": "weather",
                "input": json.loads(ARGUMENTS),
            }
        )
    else:
        content.append({"type": "text", "text": text, "citations": None})
    head = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-9-2026",
    }
    usage = {
        "input_tokens": 11,
        "output_tokens": 7,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 0,
    }
    ending = {"stop_reason": "tool_use" if wants == "tool" else "end_turn", "stop_sequence": None}
    return {**head, "content": content, **ending, "usage": usage | {"service_tier": "standard"}}


def _message_stream(number: int, wants: str, text: str) -> Events:
    whole = _message(number, wants, text)
    begun = {
        **whole,
        "content": [],
        "stop_reason": None,
        "usage": {**whole["usage"], "output_tokens": 1},
    }
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for index, block in enumerate(whole["content"]):
        at = {"index": index}
        if block["type"] == "tool_use":
            opened = {**block, "input": {}}
            deltas = [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in ["", *_pieces(ARGUMENTS)]
            ]
        elif block["type"] == "thinking":
            opened = {**block, "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(THOUGHT)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        else:
            opened = {**block, "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(text)]
        events.append({"type": "content_block_start", **at, "content_block": opened})
        events += [{"type": "content_block_delta", **at, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", **at})
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events += [
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    return [(event["type"], event) for event in events]


def _gemini(number: int, wants: str, text: str) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": THOUGHT, "thought": True}] if wants == "think" else []
    if wants == "tool":
        call = {"name": "weather", "args": json.loads(ARGUMENTS)}
        parts.append({"functionCall": call, "thoughtSignature": "c2lnbmVk"})
    else:
        parts.append({"text": text})
    ratings = [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"}]
    content = {"parts": parts, "role": "model"}
    candidate = {"content": content, "finishReason": "STOP", "index": 0, "safetyRatings": ratings}
    return {"candidates": [candidate], **_gemini_end(number)}


def _gemini_end(number: int) -> dict[str, Any]:
    usage = {
        "promptTokenCount": 11,
        "candidatesTokenCount": 7,
        "totalTokenCount": 21,
        "thoughtsTokenCount": 3,
    }
    return {
        "usageMetadata": usage,
        "modelVersion": "gemini-3-pro-001",
        "responseId": f"resp{number}",
    }


def _gemini_stream(number: int, wants: str, text: str) -> Events:
    events: Events = []
    [candidate] = _gemini(number, wants, text)["candidates"]
    for part in candidate["content"]["parts"]:
        for piece in _pieces(part["text"]) if "text" in part else [None]:
            said = part if piece is None else {**part, "text": piece}
            content = {"parts": [said], "role": "model"}
            events.append(
                (None, {"candidates": [{"content": content, "index": 0}], **_gemini_end(number)})
            )
    ended = {**candidate, "content": {"parts": [{"text": ""}], "role": "model"}}
    return [*events, (None, {"candidates": [ended], **_gemini_end(number)})]


_VECTOR = [0.1, -2.5, 1e-07, 3.0]
_PAGE = {"has_more": False, "first_id": "claude-1", "last_id": "claude-1"}
_CLAUDE = {"id": "claude-1", "display_name": "C", "created_at": "2026-01-01T00:00:00Z"}
_GPT = {"id": "gpt-4o", "object": "model", "created": 1_700_000_000, "owned_by": "o"}
ENDPOINTS: dict[str, Any] = {
    "/messages/count_tokens": {"input_tokens": 17},
    "/anthropic/v1/models": {"data": [{"type": "model", **_CLAUDE}], **_PAGE},
    "/responses/input_tokens": {"object": "response.input_tokens", "input_tokens": 17},
    "/embeddings": {
        "id": "embd-1",
        "object": "list",
        "model": "text-embedding-3-small",
        "data": [{"object": "embedding", "index": 0, "embedding": _VECTOR}],
        "usage": {"prompt_tokens": 3, "total_tokens": 3, "completion_tokens": 0},
    },
    ":batchEmbedContents": {"embeddings": [{"values": _VECTOR}]},
    ":countTokens": {"totalTokens": 17},
    "/models/gpt-4o": {**_GPT, "type": "base"},
    "/v1beta/models": {"models": [{"name": "models/gemini-3-pro", "version": "001"}]},
    "/models": {"object": "list", "data": [{**_GPT, "type": "base"}]},
    "/audio/speech": b"\xff\xfb\x90\x64" * 4000,
    "/audio/transcriptions": {"text": TEXT},
    "/moderations": {"id": "modr-1", "model": "omni-moderation-latest", "results": []},
    "/rerank": {"results": [{"index": 0, "relevance_score": 0.5}]},
}
"""The answers of endpoints that ask no model for text, by the ends of their paths."""
WHOLE = {
    "chat": _chat,
    "mistral": _mistral,
    "responses": _responses,
    "messages": _message,
    "gemini": _gemini,
}
STREAMED = {
    **{"chat": _chat_stream, "mistral": _mistral_stream, "responses": _responses_stream},
    **{"messages": _message_stream, "gemini": _gemini_stream},
}
