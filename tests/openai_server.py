"""An HTTP server on loopback with OpenAI's chat completions, plain and streamed."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

DATE = 1_700_000_000

Server = TypeVar("Server", bound=ThreadingHTTPServer)


class QuietServer(ThreadingHTTPServer):
    """Ignore clients that went away, so that no other test finds the message."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class OpenAIServer(QuietServer):
    """Answers by what the last message says; see `_answer`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


def openai_server() -> AbstractContextManager[OpenAIServer]:
    """Run a server meanwhile."""
    return served(OpenAIServer())


@contextmanager
def served(server: Server) -> Iterator[Server]:
    """Run this server meanwhile."""
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: OpenAIServer

    def log_message(self, *args: Any) -> None: ...

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        number = len(self.server.requests)
        last = body["messages"][-1]
        text = _text(last)
        if text == "Fail":
            self._send(
                429,
                {
                    "error": {
                        "message": "Slow down",
                        "type": "requests",
                        "code": "rate_limit_exceeded",
                    }
                },
            )
            return
        message = self._answer(body, last, text, number)
        if body.get("stream"):
            self._stream(body["model"], message, number)
        else:
            self._send(200, _completion(body["model"], message, number))

    def _answer(
        self, body: dict[str, Any], last: dict[str, Any], text: str, number: int
    ) -> dict[str, Any]:
        if last["role"] == "tool":
            return {"content": f"The tool says {last['content']}."}
        if body.get("tools"):
            name = body["tools"][0]["function"]["name"]
            function = {"name": name, "arguments": '{"city": "Rome"}'}
            return {
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}]
            }
        if "response_format" in body:
            return {"content": '{"name": "Ada", "age": 36}'}
        if text == "Echo my key":
            return {"content": f"You sent {self.headers['Authorization']}, that is all."}
        turn = sum(message["role"] == "assistant" for message in body["messages"]) + 1
        return {"content": f"Answer {turn} to: {text}"}

    def _send(self, status: int, payload: dict[str, Any]) -> None:
        content = json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if status == 429:
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, model: str, message: dict[str, Any], number: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for delta in _deltas(message):
            self._event(
                _chunk(model, number, [{"index": 0, "delta": delta, "finish_reason": None}])
            )
        reason = "tool_calls" if "tool_calls" in message else "stop"
        self._event(_chunk(model, number, [{"index": 0, "delta": {}, "finish_reason": reason}]))
        self._event({**_chunk(model, number, []), "usage": _usage(message)})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, payload: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps(payload)}\n\n".encode())


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return (
        content
        if isinstance(content, str)
        else next(part["text"] for part in content if part["type"] == "text")
    )


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    content = message.get("content") or ""
    for start in range(0, len(content), 7):
        yield {"content": content[start : start + 7]}
    for call in message.get("tool_calls", ()):
        function = call["function"]
        yield {
            "tool_calls": [
                {**call, "index": 0, "function": {"name": function["name"], "arguments": ""}}
            ]
        }
        for start in range(0, len(function["arguments"]), 5):
            piece = function["arguments"][start : start + 5]
            yield {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}


def _chunk(model: str, number: int, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": DATE + number,
        "model": f"{model}-2026",
        "choices": choices,
    }


def _completion(model: str, message: dict[str, Any], number: int) -> dict[str, Any]:
    reason = "tool_calls" if "tool_calls" in message else "stop"
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": DATE + number,
        "model": f"{model}-2026",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None, **message},
                "finish_reason": reason,
            }
        ],
        "usage": _usage(message),
    }


def _usage(message: dict[str, Any]) -> dict[str, Any]:
    return {
        "prompt_tokens": 11,
        "completion_tokens": len(json.dumps(message)) // 4,
        "total_tokens": 11 + len(json.dumps(message)) // 4,
        "completion_tokens_details": {"reasoning_tokens": 0, "accepted_prediction_tokens": 3},
    }
