"""The HTML page of a document: one file that loads nothing, and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

SCRIPTS = (
    "elements",
    "numbers",
    "report",
    "filters",
    "texts",
    "calls",
    "tests",
    "list",
    "grids",
    "head",
    "keys",
    "start",
)
"""The files of the script, in their order."""
_FOLDER = Path(__file__).parent
_PLACE = re.compile(rb"\{\{(\w+)\}\}")


def as_page(document: bytes) -> bytes:
    """The page of a document, which is given as JSON in UTF-8."""
    # the scripts stand in one block, so that what they declare is seen by each other and by nothing else in the page
    script = b'"use strict";\n{\n%b}\n' % b"\n".join(_read(f"{name}.js") for name in SCRIPTS)
    style = _read("page.css")
    parts = {
        b"policy": _policy(style, script),
        b"style": style,
        b"script": script,
        b"report": document.replace(b"<", rb"\u003c"),  # so that no text can end the element, or begin a comment in it
    }
    return _PLACE.sub(lambda place: parts[place[1]], _read("page.html"))


def _read(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()


def _policy(style: bytes, script: bytes) -> bytes:
    """Nothing may load or run but these two, and no script may turn a text into markup."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ).encode()


def _hash(source: bytes) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source).digest()).decode()}"
