"""The HTML page of a report: one file that loads nothing, and runs no script but its own.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

FOLDER = Path(__file__).parent
_PLACE = re.compile(rb"\{\{(\w+)\}\}")


def page(report: bytes) -> bytes:
    """The page of a report.

    Args:
        report: the report as JSON, in UTF-8.
    """
    style, script = ((FOLDER / name).read_bytes() for name in ("page.css", "page.js"))
    parts = {
        b"policy": _policy(style, script),
        b"style": style,
        b"script": script,
        b"report": report.replace(b"<", rb"\u003c"),  # so that no text can end the element, or begin a comment in it
    }
    return _PLACE.sub(lambda place: parts[place[1]], (FOLDER / "page.html").read_bytes())


def _policy(style: bytes, script: bytes) -> bytes:
    """Nothing may load or run but these two, and no script may turn a text into markup."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ).encode()


def _hash(source: bytes) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source).digest()).decode()}"
