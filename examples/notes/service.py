"""Notes over HTTP: `python -m notes.service --port 8000`. They are kept in memory; bodies are JSON.

| request                     | answer                                                         |
|-----------------------------|----------------------------------------------------------------|
| `GET /health`               | 200, `{"ok": true, "notes": 2, "mean_length": 9.5}`            |
| `POST /notes`               | 201, the note; what is sent is `{"text": …}`                   |
| `GET /notes?page=1&size=10` | 200, `{"notes": […], "page": 1, "total": 2}`, the oldest first |
| `GET /notes/1`              | 200, `{"number": 1, "text": …}`                                |
| `DELETE /notes/1`           | 204                                                            |
| `DELETE /notes`             | 204; all notes are forgotten, and numbers begin with 1 again   |

What does not exist is a 404, what makes no sense a 400, both with `{"error": …}`.
"""

from __future__ import annotations

import argparse
import json
import re
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Answer = tuple[int, Any]
"""The status, and the body as data; None for no body."""


class Notes:
    """Texts by their numbers. Each method gives the answer to one kind of request."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._last = 0

    def health(self) -> Answer:
        """Return the health, the number of notes and their mean length in characters."""
        lengths = [len(text) for text in self._texts.values()]
        return 200, {
            "ok": True,
            "notes": len(lengths),
            "mean_length": sum(lengths) / max(len(lengths), 1),
        }

    def add(self, sent: Any) -> Answer:
        """Keep a note."""
        text = sent.get("text") if isinstance(sent, dict) else None
        if not isinstance(text, str) or not text:
            return 400, {"error": "A note needs a text."}
        self._last += 1
        self._texts[self._last] = text
        return 201, self._note(self._last)

    def page(self, page: str = "1", size: str = "10") -> Answer:
        """Return some of the notes."""
        if not all(re.fullmatch("[1-9][0-9]?", number) for number in (page, size)):
            return 400, {"error": "page and size are numbers from 1 to 99."}
        first = (int(page) - 1) * int(size)
        shown = [self._note(number) for number in list(self._texts)[first : first + int(size)]]
        return 200, {"notes": shown, "page": int(page), "total": len(self._texts)}

    def get(self, number: int) -> Answer:
        """One note."""
        return (200, self._note(number)) if number in self._texts else _not_found(f"note {number}")

    def delete(self, number: int) -> Answer:
        """Forget a note."""
        return (
            _not_found(f"note {number}") if self._texts.pop(number, None) is None else (204, None)
        )

    def clear(self) -> Answer:
        """Forget all notes."""
        self._texts.clear()
        self._last = 0
        return 204, None

    def _note(self, number: int) -> dict[str, Any]:
        return {"number": number, "text": self._texts[number]}


def _not_found(what: str) -> Answer:
    return 404, {"error": f"There is no {what}."}


def answer(notes: Notes, method: str, target: str, sent: Any) -> Answer:
    """Return the answer to a request.

    Args:
        notes: where the notes are.
        method: such as `GET`.
        target: the path, and what follows a question mark.
        sent: the body as data; None where there was none, or no JSON.
    """
    path, query = urlsplit(target).path, dict(parse_qsl(urlsplit(target).query))
    match method, path.strip("/").split("/"):
        case "GET", ["health"]:
            return notes.health()
        case "POST", ["notes"]:
            return notes.add(sent)
        case "GET", ["notes"]:
            return notes.page(query.get("page", "1"), query.get("size", "10"))
        case "DELETE", ["notes"]:
            return notes.clear()
        case "GET" | "DELETE", ["notes", number] if number.isdecimal():
            return (notes.get if method == "GET" else notes.delete)(int(number))
    return _not_found(f"{method} {path}")


def server(port: int = 0) -> HTTPServer:
    """Return a server with its own notes on 127.0.0.1; it answers once `serve_forever` is called.

    Args:
        port: 0 takes a free one; `server_port` of the result says which.
    """
    notes = Notes()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            status, data = answer(notes, self.command, self.path, self._sent())
            body = b"" if data is None else json.dumps(data).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = _answer

        def _sent(self) -> Any:
            try:
                return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            except ValueError:
                return None

        def log_message(self, format: str, *arguments: Any) -> None:
            """Return requests are not logged."""

    return HTTPServer(("127.0.0.1", port), Handler)


def main() -> None:
    """Serve until the process is told to end. The address is the first line of standard output."""
    parser = argparse.ArgumentParser(prog="python -m notes.service", description="Notes over HTTP.")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (default: 8000)")
    with server(parser.parse_args().port) as serving:
        print(f"http://127.0.0.1:{serving.server_port}", flush=True)
        serving.serve_forever()


if __name__ == "__main__":
    main()
