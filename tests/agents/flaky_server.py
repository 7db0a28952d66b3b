"""An OpenAI server on loopback that fails in real ways before it answers."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from typing import Any

from tests.openai_server import OpenAIServer, _Handler, served

RATE_LIMIT = {"error": {"message": "Slow down", "type": "requests", "code": "rate_limit_exceeded"}}
BROKEN = {"error": {"message": "Something broke", "type": "server_error", "code": None}}
REFUSED = {"error": {"message": "No such thing", "type": "invalid_request_error", "code": None}}


class FlakyServer(OpenAIServer):
    """A server with failures to come: `(status, {header: value})`, `"drop"` or `"cut"`."""

    def __init__(self) -> None:
        super().__init__()
        self.RequestHandlerClass = _FlakyHandler
        self.failures: list[Any] = []
        self.attempts = 0


def flaky_server() -> AbstractContextManager[FlakyServer]:
    """Run a server meanwhile."""
    return served(FlakyServer())


class _FlakyHandler(_Handler):
    server: FlakyServer

    def do_POST(self) -> None:
        self.server.attempts += 1
        failure = self.server.failures.pop(0) if self.server.failures else None
        if failure is None:
            super().do_POST()
            return
        self.rfile.read(int(self.headers["Content-Length"]))
        self.close_connection = True
        if failure == "cut":  # in the middle of a streamed answer
            self._start_stream()
        elif failure != "drop":
            self._refuse(*failure)

    def _refuse(self, status: int, headers: dict[str, str]) -> None:
        payload = json.dumps(
            {429: RATE_LIMIT, 500: BROKEN, 503: BROKEN}.get(status, REFUSED)
        ).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(payload)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)

    def _start_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", "100000")
        self.end_headers()
        delta = {"role": "assistant", "content": "This is never finished"}
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        chunk = {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [choice],
        }
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

    def _answer(
        self, body: dict[str, Any], last: dict[str, Any], text: str, number: int
    ) -> dict[str, Any]:
        if body.get("tools") and last["role"] != "tool":
            name = body["tools"][0]["function"]["name"]
            function = {"name": name, "arguments": '{"args": "Rome"}'}
            return {
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}]
            }
        return super()._answer(body, last, text, number)
