"""A server on loopback that answers as the providers do, each below its own path."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple

from tests import openai_server

SECRETS = {
    "Set-Cookie": "__cf_bm=cookie-secret; path=/; HttpOnly",
    "openai-organization": "org-secret",
    "openai-project": "proj_secret",
    "anthropic-organization-id": "organization-secret",
}
"""Headers that real answers have, and that name an account."""


class Served(NamedTuple):
    """A status, headers and text; `cut` closes the connection after that many characters."""

    text: str
    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({"content-type": "application/json"})
    cut: int | None = None


def completion(content: str | None = None, **more: Any) -> Served:
    """Return a chat completion; `more` are further fields of its message."""
    message = {"role": "assistant", "content": content, "refusal": None, "annotations": [], **more}
    reason = "tool_calls" if "tool_calls" in more else "stop"
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    return Served(
        json.dumps(
            {**_HEAD, "object": "chat.completion", "choices": [choice], "usage": _USAGE}, indent=2
        )
    )


def streamed_completion(*deltas: dict[str, Any]) -> Served:
    """Return the same in chunks."""
    head = {**_HEAD, "object": "chat.completion.chunk", "usage": None}
    choices = [
        *(
            {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
            for delta in deltas
        ),
        {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"},
    ]
    chunks = [
        *({**head, "choices": [choice]} for choice in choices),
        {**head, "choices": [], "usage": _USAGE},
    ]
    return _events([*map(json.dumps, chunks), "[DONE]"])


def tool_call(name: str, arguments: str, number: int = 1, **more: Any) -> dict[str, Any]:
    """Return a tool call of a completion."""
    function = {"name": name, "arguments": arguments}
    return {"id": f"call_{number}", "type": "function", "function": function, **more}


def refused(status: int, error: Any, **headers: str) -> Served:
    """Return an error as OpenAI reports it, with the headers that it has."""
    limits = {
        "x-request-id": "req_0123",
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-requests": "120ms",
        "openai-processing-ms": "17",
        "openai-version": "2020-10-01",
        "x-should-retry": "false",
    }
    return Served(
        json.dumps({"error": error}, indent=4),
        status,
        {
            "content-type": "application/json",
            **limits,
            **{name.replace("_", "-"): v for name, v in headers.items()},
        },
    )


def responses(*output: dict[str, Any], events: list[dict[str, Any]] | None = None) -> Served:
    """Return an answer of the Responses API; with `events` a streamed one."""
    whole = {
        **{
            "id": "resp_1",
            "object": "response",
            "created_at": 1_700_000_000.0,
            "model": "gpt-5-2026",
            "output": output,
        },
        **{
            "status": "completed",
            "tools": [],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "metadata": {},
        },
        "usage": {
            **{"input_tokens": 75, "output_tokens": 1186, "total_tokens": 1261},
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 1024},
        },
    }
    if events is None:
        return Served(json.dumps(whole))
    numbered = [*events, {"type": "response.completed", "response": whole}]
    return _events(
        [json.dumps({**event, "sequence_number": number}) for number, event in enumerate(numbered)]
    )


def _events(data: list[str]) -> Served:
    text = "".join(f"data: {each}\n\n" for each in data)
    return Served(text, headers={"content-type": "text/event-stream; charset=utf-8"})


_HEAD = {
    "id": "chatcmpl-1",
    "created": 1_700_000_000,
    "model": "gpt-4o-mini-2024-07-18",
    "service_tier": "default",
    "system_fingerprint": "fp_1",
}
_USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 21,
    "total_tokens": 30,
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {
        **{"reasoning_tokens": 16, "audio_tokens": 0},
        **{"accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
    },
}


class Server(ThreadingHTTPServer):
    """Gives the answers of a scenario in turn, and begins anew when all were given."""

    daemon_threads = True

    def __init__(self, answers: dict[str, tuple[Served, ...]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.asked: dict[str, int] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def next(self, scenario: str) -> Served:
        answers, number = self.answers[scenario], self.asked.get(scenario, 0)
        self.asked[scenario] = number + 1
        return answers[number % len(answers)]

    def handle_error(self, request: Any, client_address: Any) -> None: ...  # a client may go away


def served(answers: dict[str, tuple[Served, ...]]) -> AbstractContextManager[Server]:
    """Run the server meanwhile."""
    return openai_server.served(Server(answers))


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *args: Any) -> None: ...

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = self.server.next(self.path.split("/")[1])
        if answer.cut == 0:
            return
        content = answer.text.encode()
        self.send_response(answer.status)
        for name, value in {
            **answer.headers,
            **SECRETS,
            "content-length": str(len(content)),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[: answer.cut])
