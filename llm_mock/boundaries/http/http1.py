"""Requests of HTTP/1.1, read from the pieces in which they come in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from llm_mock.boundaries.http.errors import WireError

LARGEST_BODY = 64 * 1024 * 1024
"""How many bytes a body may have: more than the providers take."""
LARGEST_HEAD = 64 * 1024
"""How many bytes the request line and the headers may have, together."""
LONGEST_SIZE_LINE = 1024
"""How many bytes may say how large a chunk is, or be a trailer."""
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
TARGET = re.compile(r"[!-~]+")
END = b"\r\n"
BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[^\x00-\x08\n-\x1f\x7f]*)?[ \t]*")
CONTROL = re.compile(r"[\x00-\x08\n-\x1f\x7f]")
"""Characters that no header may have, a line feed without a carriage return included."""


class Head(NamedTuple):
    """The request line and the headers, whose names are in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    newest: bool
    """Whether it is HTTP/1.1, and not 1.0."""
    host: str | None
    """Which host is asked, by the header; None where a client asks a proxy, as browsers never do by themselves."""
    length: int | None
    """How many bytes the body has; None where it comes in chunks."""

    @property
    def keeps_alive(self) -> bool:
        """Whether the client goes on to use the connection."""
        said = self.headers.get("connection", "").lower()
        return "close" not in said and (self.newest or "keep-alive" in said)


class RequestReader:
    """Reads the requests of one connection, one after the other."""

    def __init__(self) -> None:
        self.head: Head | None = None
        """The head of the request that is coming in, as soon as it is known."""
        self._buffer = bytearray()
        self._body = bytearray()
        self._left: int | None = None
        """How many bytes of a chunk are to come, with the line end behind it; None where its size is."""
        self._ending = False
        """Whether the last chunk came, and trailers may follow."""

    @property
    def waiting(self) -> int:
        """How many bytes came in that belong to no request yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Take in what came."""
        self._buffer += data

    def request(self) -> tuple[Head, bytes] | None:
        """The next request, with its body; None as long as it is not whole.

        Raises:
            WireError: it is malformed, or too large.
        """
        if self.head is None:
            self.head = self._read_head()
        if self.head is None:
            return None
        body = self._chunked() if self.head.length is None else self._counted(self.head.length)
        if body is None:
            return None
        head, self.head = self.head, None
        return head, body

    def _read_head(self) -> Head | None:
        while self._buffer.startswith(END):  # some clients end a body so
            del self._buffer[:2]
        end = self._buffer.find(END + END)
        if end > LARGEST_HEAD or (end < 0 and len(self._buffer) > LARGEST_HEAD):
            raise WireError(431, f"The headers have more than {LARGEST_HEAD:,} bytes.")
        if end < 0:
            # A client that ends its lines with LF alone would wait for ever for an answer.
            if BARE_LINE_FEED.search(self._buffer):
                raise WireError(400, "The headers have a line feed without a carriage return.")
            return None
        first, *lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        return _parse_head(first, lines)

    def _counted(self, length: int) -> bytes | None:
        if len(self._buffer) < _check_size(length):
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body

    def _chunked(self) -> bytes | None:
        while not self._ending:
            if self._left is None:
                line = self._line()
                if line is None:
                    return None
                self._left = self._size(line) + 2
                if self._left == 2:
                    self._ending, self._left = True, None
                    break
            if len(self._buffer) < self._left:
                return None
            if self._buffer[self._left - 2 : self._left] != END:
                raise WireError(400, "A chunk of the body is longer than it says.")
            self._body += self._buffer[: self._left - 2]
            del self._buffer[: self._left]
            self._left = None
        while (line := self._line()) is not None:
            if not line:
                body, self._body, self._ending = bytes(self._body), bytearray(), False
                return body
            _parse_header(line.decode("latin-1"))  # a trailer: it is checked, and not used
        return None

    def _line(self) -> bytes | None:
        end = self._buffer.find(END, 0, LONGEST_SIZE_LINE)
        if end < 0:
            if len(self._buffer) >= LONGEST_SIZE_LINE:
                raise WireError(400, "The body is not in chunks, as its headers say.")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _size(self, line: bytes) -> int:
        size = CHUNK_SIZE.fullmatch(line)
        if size is None:
            raise WireError(400, "Invalid chunk size.")
        return _check_size(int(size[1], 16), len(self._body))


def _check_size(size: int, before: int = 0) -> int:
    if before + size > LARGEST_BODY:
        raise WireError(413, f"The body has more than {LARGEST_BODY:,} bytes.")
    return size


def _parse_head(first: str, lines: list[str]) -> Head:
    """
    Raises:
        WireError: it is malformed. What is too large is found when the body is read, so that its path is known.
    """
    method, _, rest = first.partition(" ")
    target, _, version = rest.partition(" ")
    if not (
        TOKEN.fullmatch(method)
        and TARGET.fullmatch(target)
        and re.fullmatch(r"HTTP/\d\.\d", version)
    ):
        raise WireError(400, "This is no request of HTTP/1.1.")
    if not version.startswith("HTTP/1."):
        raise WireError(505, f"{version} is not spoken here, HTTP/1.1 is.")
    newest = version != "HTTP/1.0"
    headers: dict[str, str] = {}
    for line in lines:
        name, value = _parse_header(line)
        if name in ("transfer-encoding", "host") and name in headers:
            raise WireError(400, f"The request has two headers {name}.")
        if name == "content-length" and headers.get(name, value) != value:
            raise WireError(400, f"The request has two headers {name}.")
        headers[name] = value
    host = headers.get("host")
    if host is None and newest:
        raise WireError(400, "The header host is missing.")
    if re.match("[A-Za-z][A-Za-z0-9+.-]*://", target):  # as to a proxy
        host = None
        target = "/" + target.split("/", 3)[3] if target.count("/") > 2 else "/"
    path, _, query = target.partition("?")
    return Head(method, path, query, headers, newest, host, _parse_length(headers))


def _parse_header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not TOKEN.fullmatch(name):
        raise WireError(400, "A header of the request is malformed.")
    if CONTROL.search(value):
        raise WireError(400, f"The header {name} has a control character.")
    return name.lower(), value.strip(" \t")


def _parse_length(headers: Mapping[str, str]) -> int | None:
    coding, length = headers.get("transfer-encoding"), headers.get("content-length", "0")
    if coding is None:
        if not re.fullmatch(r"[0-9]{1,18}", length):
            raise WireError(400, "The header content-length is no number.")
        return int(length)
    if "content-length" in headers:
        raise WireError(400, "The request has both content-length and transfer-encoding.")
    if coding.lower() != "chunked":
        raise WireError(501, f"The transfer-encoding {coding} is not spoken here, chunked is.")
    return None
