"""Parse HTTP/1.1 requests from bytes as they arrive."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from llm_mock.boundaries.http.wire_error import WireError

MAX_BODY_BYTES = 64 * 1024 * 1024
"""The maximum size of a body, which is more than the providers accept."""
MAX_HEAD_BYTES = 64 * 1024
"""The maximum size of a request line with its headers."""
MAX_CHUNK_LINE_BYTES = 1024
"""The maximum length of a line with a chunk size or a trailer."""
TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
"""Matches a method or a header name."""
REQUEST_LINE = re.compile(rf"({TOKEN}) ([!-~]+) (HTTP/\d\.\d)")
HEADER_NAME = re.compile(TOKEN)
SINGULAR_HEADERS = ("transfer-encoding", "host", "content-length")
"""The headers that must not be repeated, as this allows request smuggling."""
LENGTH = re.compile(r"[0-9]{1,18}")
ABSOLUTE_URL = re.compile("[A-Za-z][A-Za-z0-9+.-]*://")
LINE_END = b"\r\n"
BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[^\x00-\x08\n-\x1f\x7f]*)?[ \t]*")
"""Matches a chunk size with its extensions."""
CONTROL_CHARACTER = re.compile(r"[\x00-\x08\n-\x1f\x7f]")
"""Matches a character that is not allowed in headers, such as a bare line feed."""


class RequestHead(NamedTuple):
    """The request line and the headers, whose names are in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    is_http_1_1: bool
    """False for HTTP/1.0."""
    host: str | None
    """The header `Host`; None for a request to a proxy, which no web page can send."""
    length: int | None
    """The size of the body in bytes; None for a body in chunks."""

    @property
    def has_keep_alive(self) -> bool:
        """True if the client keeps the connection open for further requests."""
        connection = self.headers.get("connection", "").lower()
        if "close" in connection:
            return False
        return self.is_http_1_1 or "keep-alive" in connection


class RequestReader:
    """Reads the requests of one connection, one after the other."""

    def __init__(self) -> None:
        self.head: RequestHead | None = None
        """The head of the request that is arriving, as soon as it is complete."""
        self._buffer = bytearray()
        self._body = bytearray()
        """The chunks of the body so far."""
        self._chunk_bytes: int | None = None
        """The size of the next chunk including its line end; None before the size is read."""
        self._reads_trailers = False
        """True after the last chunk."""

    @property
    def buffered_bytes(self) -> int:
        """The number of bytes that are not parsed yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Add bytes that arrived."""
        self._buffer += data

    def read_request(self) -> tuple[RequestHead, bytes] | None:
        """Return the next request with its body; None until it is complete.

        Raises:
            WireError: the request is malformed or too large.
        """
        if self.head is None:
            self.head = self._read_head()
        if self.head is None:
            return None
        if self.head.length is None:
            body = self._read_chunked_body()
        else:
            body = self._read_body(self.head.length)
        if body is None:
            return None
        head, self.head = self.head, None
        return head, body

    def _read_head(self) -> RequestHead | None:
        # RFC 9112, 2.2: some clients send empty lines after a body, which a server should skip.
        while self._buffer.startswith(LINE_END):
            del self._buffer[:2]
        end = self._buffer.find(LINE_END + LINE_END)
        size = len(self._buffer) if end < 0 else end
        if size > MAX_HEAD_BYTES:
            raise WireError(
                431, f"The headers are too large; they must have at most {MAX_HEAD_BYTES:,} bytes."
            )
        if end < 0:
            # Without this check, a client that ends its lines with only LF would wait forever.
            if BARE_LINE_FEED.search(self._buffer):
                raise WireError(400, "Invalid headers: line feed without a carriage return.")
            return None
        # Latin-1 is the encoding of HTTP headers, and never fails.
        text = self._buffer[:end].decode("latin-1")
        del self._buffer[: end + 4]
        return _parse_head(text)

    def _read_body(self, length: int) -> bytes | None:
        # Checked here and not with the head, so that the error has the format of the path.
        if length > MAX_BODY_BYTES:
            raise _body_too_large()
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body

    def _read_chunked_body(self) -> bytes | None:
        while not self._reads_trailers:
            if self._chunk_bytes is None:
                line = self._read_line()
                if line is None:
                    return None
                size = self._parse_chunk_size(line)
                if size == 0:
                    self._reads_trailers = True
                    break
                self._chunk_bytes = size + len(LINE_END)
            if len(self._buffer) < self._chunk_bytes:
                return None
            content_end = self._chunk_bytes - len(LINE_END)
            if self._buffer[content_end : self._chunk_bytes] != LINE_END:
                raise WireError(400, "Invalid chunk: its content does not match its size.")
            self._body += self._buffer[:content_end]
            del self._buffer[: self._chunk_bytes]
            self._chunk_bytes = None
        return self._read_trailers()

    def _read_trailers(self) -> bytes | None:
        """Return the body after its trailers, which are validated but not used."""
        while True:
            line = self._read_line()
            if line is None:
                return None
            if not line:
                body = bytes(self._body)
                self._body = bytearray()
                self._reads_trailers = False
                return body
            _parse_header(line.decode("latin-1"))

    def _read_line(self) -> bytes | None:
        end = self._buffer.find(LINE_END, 0, MAX_CHUNK_LINE_BYTES)
        if end < 0:
            if len(self._buffer) >= MAX_CHUNK_LINE_BYTES:
                raise WireError(400, "Invalid chunk: expected a line with its size.")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + len(LINE_END)]
        return line

    def _parse_chunk_size(self, line: bytes) -> int:
        match = CHUNK_SIZE.fullmatch(line)
        if match is None:
            raise WireError(400, "Invalid chunk size.")
        size = int(match[1], 16)
        if len(self._body) + size > MAX_BODY_BYTES:
            raise _body_too_large()
        return size


def _body_too_large() -> WireError:
    return WireError(413, f"The body is too large; it must have at most {MAX_BODY_BYTES:,} bytes.")


def _parse_head(text: str) -> RequestHead:
    """Parse a request line and headers.

    Raises:
        WireError: they are malformed. A body that is too large is reported when it is read.
    """
    first_line, _, header_lines = text.partition("\r\n")
    request_line = REQUEST_LINE.fullmatch(first_line)
    if request_line is None:
        raise WireError(400, "Invalid request line; expected an HTTP/1.1 request.")
    method, target, version = request_line.groups()
    if not version.startswith("HTTP/1."):
        raise WireError(505, f"Unsupported HTTP version {version}; only HTTP/1.1 is supported.")
    is_http_1_1 = version != "HTTP/1.0"
    headers = _parse_headers(header_lines)
    host = headers.get("host")
    if host is None and is_http_1_1:
        raise WireError(400, "The header host is missing.")
    # For a request to a proxy, use the target and ignore `Host` (RFC 9112, 3.2.2).
    if ABSOLUTE_URL.match(target):
        host = None
        has_path = target.count("/") > 2
        target = "/" + target.split("/", 3)[3] if has_path else "/"
    path, _, query = target.partition("?")
    return RequestHead(method, path, query, headers, is_http_1_1, host, _parse_length(headers))


def _parse_headers(text: str) -> dict[str, str]:
    """Parse the lines of all headers.

    Raises:
        WireError: a header is malformed, or repeated although it must not be.
    """
    headers: dict[str, str] = {}
    if not text:
        return headers
    for line in text.split("\r\n"):
        name, value = _parse_header(line)
        if name in headers and name in SINGULAR_HEADERS:
            is_same_length = name == "content-length" and headers[name] == value
            if not is_same_length:
                raise WireError(400, f"Duplicate header {name}.")
        headers[name] = value
    return headers


# A client sends most of its headers with each request.
@lru_cache
def _parse_header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not HEADER_NAME.fullmatch(name):
        raise WireError(400, "Invalid header; expected a name, a colon and a value.")
    if CONTROL_CHARACTER.search(value):
        raise WireError(400, f"Invalid header {name}: it contains a control character.")
    return name.lower(), value.strip(" \t")


def _parse_length(headers: Mapping[str, str]) -> int | None:
    """Return the size of the body; None for a body in chunks."""
    coding = headers.get("transfer-encoding")
    length = headers.get("content-length", "0")
    if coding is None:
        if not LENGTH.fullmatch(length):
            raise WireError(400, "Invalid header content-length; expected a number.")
        return int(length)
    if "content-length" in headers:
        raise WireError(400, "A request must not have both content-length and transfer-encoding.")
    if coding.lower() != "chunked":
        raise WireError(501, f"Unsupported transfer-encoding {coding}; only chunked is supported.")
    return None
