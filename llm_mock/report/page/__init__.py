"""Render a document as an HTML page: one file that loads nothing from elsewhere."""

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
"""The files of the script in order: each uses what the ones before it declare."""
_FOLDER = Path(__file__).parent
_PLACEHOLDER = re.compile(rb"\{\{(\w+)\}\}")


def render_page(document: bytes) -> bytes:
    """Render a document, given as JSON in UTF-8, as an HTML page."""
    # One block keeps the declarations of the scripts out of the global scope of the page.
    script = b'"use strict";\n{\n%b}\n' % b"\n".join(_read(f"{name}.js") for name in SCRIPTS)
    style = _read("page.css")
    parts = {
        b"policy": _policy(style, script),
        b"style": style,
        b"script": script,
        # Without "<" no text of the document can end the element or begin a comment in it.
        b"report": document.replace(b"<", rb"\u003c"),
    }
    return _PLACEHOLDER.sub(lambda match: parts[match[1]], _read("page.html"))


def _read(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()


def _policy(style: bytes, script: bytes) -> bytes:
    """Return a policy that allows only this style and script, and no markup made from text."""
    directives = (
        "default-src 'none'",
        f"style-src '{_hash(style)}'",
        f"script-src '{_hash(script)}'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return "; ".join(directives).encode()


def _hash(source: bytes) -> str:
    digest = hashlib.sha256(source).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
