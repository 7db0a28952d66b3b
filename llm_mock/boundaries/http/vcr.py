"""Reads cassettes of VCR, which hold requests and responses as HTTP has them."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from llm_mock.boundaries.http.wire import WireRequest
from llm_mock.errors import InvalidFile
from llm_mock.support.yaml_files import parse, read

MAX_BYTES = 1_000_000_000
"""How many bytes a cassette may have."""
GZIP = b"\x1f\x8b"
EVENTS = (b"data:", b"event:", b":")
"""How the body of a stream begins."""


class Interaction(NamedTuple):
    """One request and its response."""

    line: int
    """Where in the file it begins."""
    sent: WireRequest
    port: int | None
    status: int
    headers: list[tuple[str, str]]
    body: bytes


def read_interactions(path: Path) -> list[Interaction]:
    """What a cassette of VCR holds, in YAML or in JSON.

    Raises:
        InvalidFile: it is none; the message names the line.
    """
    text = read(path, MAX_BYTES)
    data, line_of = _from_json(path, text) if text.lstrip()[:1] == "{" else _from_yaml(path, text)
    found = data.get("interactions") if isinstance(data, dict) else None
    if not isinstance(found, list):
        raise InvalidFile(f"{path}:1: is no cassette of VCR: it should hold a list `interactions`")
    return [_interaction(path, line_of(position), item) for position, item in enumerate(found)]


def _from_yaml(path: Path, text: str) -> tuple[Any, Callable[[int], int]]:
    document = parse(path, text)
    return document.data, lambda position: document.line_of(["interactions", position])


def _from_json(path: Path, text: str) -> tuple[Any, Callable[[int], int]]:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidFile(f"{path}:{error.lineno}: is not valid JSON: {error.msg}") from None
    starts = [
        text.count("\n", 0, found.start()) + 1 for found in re.finditer(r'^\s*"request": *\{', text, re.MULTILINE)
    ]
    return data, lambda position: starts[position] if position < len(starts) else 1


def _interaction(path: Path, line: int, item: Any) -> Interaction:
    try:
        asked, answered = item["request"], item["response"]
        url = urlsplit(str(asked["uri"]))
        port = url.port
        status = answered["status"]
        code = status["code"] if isinstance(status, Mapping) else status
        headers = {name.lower(): ", ".join(values) for name, values in _headers(asked.get("headers"))}
        sent = WireRequest(
            str(asked["method"]).upper(), url.hostname or "", url.path, url.query, headers, _body(asked.get("body"))
        )
        body = _body(answered.get("body"))
        received = [(name, value) for name, values in _headers(answered.get("headers")) for value in values]
        return Interaction(line, sent, port, int(code), _true_of(received, body), body)
    except KeyError as error:
        problem = f"has no {error.args[0]}"
    except (AttributeError, TypeError, ValueError) as error:
        problem = f"is not as VCR has it: {error}"
    raise InvalidFile(f"{path}:{line}: this interaction {problem}")


def _headers(given: Any) -> list[tuple[str, list[str]]]:
    """Headers by name, each of which VCR has once or in a list."""
    items = given.items() if isinstance(given, Mapping) else ()
    return [(str(name), [_text(v) for v in (value if isinstance(value, list) else [value])]) for name, value in items]


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _body(given: Any) -> bytes:
    """A body as VCR has it: text, bytes, or an object that holds either, or base64."""
    if isinstance(given, Mapping):
        if "base64_string" in given:
            try:
                return base64.b64decode(given["base64_string"], validate=False)
            except binascii.Error:
                raise ValueError("its body is no base64") from None
        given = given.get("string")
    if given is None:
        return b""
    if isinstance(given, (str, bytes)):
        return given if isinstance(given, bytes) else given.encode(errors="surrogatepass")
    raise ValueError(f"its body is neither text nor bytes, but {type(given).__name__}")


def _true_of(headers: list[tuple[str, str]], body: bytes) -> list[tuple[str, str]]:
    """The headers that are true of a body: VCR may have decoded it, and a project may have left headers out."""
    kept = [(name.lower(), value) for name, value in headers if name.lower() != "transfer-encoding"]
    if not body.startswith(GZIP) and _is_text(body):
        kept = [(name, value) for name, value in kept if name != "content-encoding"]
    if not any(name == "content-type" for name, _ in kept) and body.lstrip().startswith(EVENTS):
        kept.append(("content-type", "text/event-stream"))
    return kept


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
