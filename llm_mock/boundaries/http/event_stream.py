"""Encode and decode the binary event streams of AWS.

A message consists of its length, the length of its headers, a checksum of both lengths, the
headers, the payload, and a checksum of everything before. See
https://smithy.io/2.0/aws/amazon-eventstream.html.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import NamedTuple

MEDIA_TYPE = "application/vnd.amazon.eventstream"
PRELUDE = struct.Struct("!III")
"""The length of the message, that of its headers, and the checksum of both."""
CHECKSUM = struct.Struct("!I")
STRING_TYPE = 7
"""The type of a header whose value is a text."""
STRING_HEAD = struct.Struct("!BH")
"""The type and the length of a header whose value is a text."""
HEADER_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""The bytes of the values of the other types; a byte array (6) begins with its length."""


class EventMessage(NamedTuple):
    """A message of an event stream."""

    headers: Mapping[str, str]
    """The headers whose values are texts."""
    payload: bytes


def encode_message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Return the bytes of a message."""
    encoded = b"".join(_encode_header(name, value) for name, value in headers.items())
    length = PRELUDE.size + len(encoded) + len(payload) + CHECKSUM.size
    lengths = struct.pack("!II", length, len(encoded))
    message = lengths + CHECKSUM.pack(zlib.crc32(lengths)) + encoded + payload
    return message + CHECKSUM.pack(zlib.crc32(message))


def encode_event(kind: str, payload: bytes) -> bytes:
    """Return the bytes of an event with a payload in JSON."""
    return _encode_json("event", kind, payload)


def encode_exception(kind: str, payload: bytes) -> bytes:
    """Return the bytes of an error with a payload in JSON."""
    return _encode_json("exception", kind, payload)


def damage_message(message: bytes) -> bytes:
    """Return a message whose checksum is wrong, so that no client can read it."""
    (checksum,) = CHECKSUM.unpack(message[-CHECKSUM.size :])
    return message[: -CHECKSUM.size] + CHECKSUM.pack(checksum ^ 1)


def decode_messages(data: bytes) -> tuple[list[EventMessage], bytes]:
    """Return the complete messages at the start of a stream, and the bytes after them.

    Raises:
        ValueError: the bytes are not an event stream.
    """
    messages = []
    while len(data) >= PRELUDE.size:
        length, headers_length, checksum = PRELUDE.unpack_from(data)
        if checksum != zlib.crc32(data[: PRELUDE.size - CHECKSUM.size]):
            raise ValueError("the checksum of an event stream is wrong")
        if len(data) < length:
            break
        end = PRELUDE.size + headers_length
        headers = _decode_headers(data[PRELUDE.size : end])
        messages.append(EventMessage(headers, data[end : length - CHECKSUM.size]))
        data = data[length:]
    return messages, data


def _encode_json(message_type: str, kind: str, payload: bytes) -> bytes:
    headers = {
        f":{message_type}-type": kind,
        ":content-type": "application/json",
        ":message-type": message_type,
    }
    return encode_message(headers, payload)


def _encode_header(name: str, value: str) -> bytes:
    encoded_name = name.encode()
    encoded = value.encode()
    head = STRING_HEAD.pack(STRING_TYPE, len(encoded))
    return bytes([len(encoded_name)]) + encoded_name + head + encoded


def _decode_headers(data: bytes) -> dict[str, str]:
    headers = {}
    position = 0
    while position < len(data):
        start = position + 1
        end = start + data[position]
        name = data[start:end].decode()
        kind = data[end]
        position = end + 1
        size = HEADER_SIZES.get(kind)
        if size is None:
            (size,) = struct.unpack_from("!H", data, position)
            position += 2
        if kind == STRING_TYPE:
            headers[name] = data[position : position + size].decode()
        position += size
    return headers
