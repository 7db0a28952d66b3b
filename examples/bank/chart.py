"""Bar charts as PNG images, without a library."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

BAR, GAP, HEIGHT = 12, 4, 60
"""Pixels: the width of a bar, the space after it, and the height of the highest one."""
INK, PAPER = b"\x22\x55\x88", b"\xff\xff\xff"


def bar_chart(values: Sequence[int]) -> bytes:
    """Return a PNG image with a bar for each value.

    Args:
        values: numbers from 0, at least one; the highest bar is that of the highest.
    """
    highest = max(*values, 1)
    heights = [value * HEIGHT // highest for value in values]
    rows = [
        b"".join((INK if bar > HEIGHT - 1 - row else PAPER) * BAR + PAPER * GAP for bar in heights)
        for row in range(HEIGHT)
    ]
    pixels = b"".join(b"\x00" + row for row in rows)
    size = struct.pack(">IIBBBBB", len(values) * (BAR + GAP), HEIGHT, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", size)
        + _chunk(b"IDAT", zlib.compress(pixels))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
