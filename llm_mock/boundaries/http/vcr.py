"""Read VCR cassettes, which contain HTTP requests and responses."""

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
"""The maximum size of a cassette."""
GZIP_MAGIC = b"\x1f\x8b"
EVENT_PREFIXES = (b"data:", b"event:", b":")
"""The first bytes of an event stream; a colon starts a comment."""


class Interaction(NamedTuple):
    """A request and its response."""

    line: int
    """The line of the file in which the interaction starts."""
    sent: WireRequest
    port: int | None
    status: int
    headers: list[tuple[str, str]]
    body: bytes


def read_interactions(path: Path) -> list[Interaction]:
    """Read a VCR cassette in YAML or JSON.

    Raises:
        InvalidFile: the file is not a VCR cassette; the message names the line.
    """
    text = read(path, MAX_BYTES)
    # The YAML parser reads JSON too, but is far slower.
    is_json = text.lstrip().startswith("{")
    data, find_line = _parse_json(path, text) if is_json else _parse_yaml(path, text)
    items = data.get("interactions") if isinstance(data, dict) else None
    if not isinstance(items, list):
        raise InvalidFile(f"{path}:1: a VCR cassette must have a list `interactions`")
    interactions = []
    for position, item in enumerate(items):
        line = find_line(position)
        interactions.append(_parse_interaction(path, line, item))
    return interactions


def _parse_yaml(path: Path, text: str) -> tuple[Any, Callable[[int], int]]:
    """Return the data, and a function that returns the line of an interaction."""
    document = parse(path, text)
    return document.data, lambda position: document.line_of(["interactions", position])


def _parse_json(path: Path, text: str) -> tuple[Any, Callable[[int], int]]:
    """Return the data, and a function that returns the line of an interaction."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidFile(f"{path}:{error.lineno}: is not valid JSON: {error.msg}") from None
    # The JSON parser has no line numbers. VCR indents its files, so each request starts a line.
    lines = []
    line = 1
    position = 0
    for match in re.finditer(r'^\s*"request": *\{', text, re.MULTILINE):
        # Count from the previous match, as large cassettes have thousands of interactions.
        line += text.count("\n", position, match.start())
        position = match.start()
        lines.append(line)

    def find_line(number: int) -> int:
        # A file without line breaks has no matching lines.
        return lines[number] if number < len(lines) else 1

    return data, find_line


def _parse_interaction(path: Path, line: int, item: Any) -> Interaction:
    try:
        request = item["request"]
        response = item["response"]
        url = urlsplit(str(request["uri"]))
        status = response["status"]
        # VCR for Python writes `{"code", "message"}`, other tools write the number.
        code = status["code"] if isinstance(status, Mapping) else status
        body = _parse_body(response)
        return Interaction(
            line=line,
            sent=_parse_request(request),
            port=url.port,
            status=int(code),
            headers=_adapt_headers(_parse_headers(response.get("headers")), body),
            body=body,
        )
    except KeyError as error:
        problem = f"has no {error.args[0]}"
    except (AttributeError, TypeError, ValueError) as error:
        problem = f"is not in the format of VCR: {error}"
    raise InvalidFile(f"{path}:{line}: this interaction {problem}")


def _parse_request(request: Any) -> WireRequest:
    url = urlsplit(str(request["uri"]))
    headers: dict[str, str] = {}
    for name, value in _parse_headers(request.get("headers")):
        lowered = name.lower()
        headers[lowered] = f"{headers[lowered]}, {value}" if lowered in headers else value
    return WireRequest(
        method=str(request["method"]).upper(),
        host=url.hostname or "",
        path=url.path,
        query=url.query,
        headers=headers,
        body=_parse_body(request),
    )


def _parse_headers(headers: object) -> list[tuple[str, str]]:
    """Return each value of the headers with its name; VCR writes a single value or a list."""
    parsed: list[tuple[str, str]] = []
    if not isinstance(headers, Mapping):
        return parsed
    for name, value in headers.items():
        values = value if isinstance(value, list) else [value]
        parsed += [(str(name), _to_text(item)) for item in values]
    return parsed


def _to_text(value: object) -> str:
    # Latin-1 is the encoding of HTTP headers, and never fails.
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _parse_body(message: Mapping[str, Any]) -> bytes:
    """Return the bytes of the body of a request or a response.

    The body is text, bytes, base64, or an object with one of them. Serializers that keep JSON
    readable, such as that of pydantic-ai's tests, write the JSON as `parsed_body` or as `body`.
    """
    if "parsed_body" in message:
        return json.dumps(message["parsed_body"]).encode()
    body = message.get("body")
    if isinstance(body, Mapping):
        if body and not {"string", "base64_string"} & {*body}:
            return json.dumps(body).encode()
        if "base64_string" in body:
            try:
                return base64.b64decode(body["base64_string"], validate=False)
            except binascii.Error:
                raise ValueError("its body is not valid base64") from None
        body = body.get("string")
    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        # JSON can contain halves of surrogate pairs, which strict UTF-8 does not allow.
        return body.encode(errors="surrogatepass")
    raise ValueError(f"its body must be text or bytes, got {type(body).__name__}")


def _adapt_headers(headers: list[tuple[str, str]], body: bytes) -> list[tuple[str, str]]:
    """Adapt the headers to the body in the cassette.

    VCR may have decoded the body, and a project may have filtered out headers.
    """
    is_decoded = not body.startswith(GZIP_MAGIC) and _is_text(body)
    kept = []
    has_content_type = False
    for original_name, value in headers:
        name = original_name.lower()
        if name == "transfer-encoding" or (name == "content-encoding" and is_decoded):
            continue
        has_content_type = has_content_type or name == "content-type"
        kept.append((name, value))
    if not has_content_type and body.lstrip().startswith(EVENT_PREFIXES):
        kept.append(("content-type", "text/event-stream"))
    return kept


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
