"""Conversion of promptfoo's transforms of outputs into those of a suite."""

from __future__ import annotations

import re

from llm_mock.checks.node import SUFFIXES
from llm_mock.checks.transforms import CODE, validate_transform
from llm_mock.suites.promptfoo.source import FILE

_PATH = re.compile(r"JSON\.parse\(output\)((?:\.\w+|\[\d+\])+);?")
"""Code that only takes a part of the JSON of an output, for which a suite needs no node."""


def convert_transform(code: object) -> str:
    """Return the transform of a suite for one of promptfoo.

    Raises:
        ValueError: there is no counterpart.
    """
    if not isinstance(code, str) or not code.strip():
        raise ValueError("it must be text")
    path = _PATH.fullmatch(code.strip())
    if path:
        return f"${path[1]}"
    if not code.startswith(FILE):
        return f"{CODE} {code.strip()}"
    file, _, function = code.removeprefix(FILE).partition(":")
    if not file.endswith((".py", *SUFFIXES)):
        raise ValueError(f"expected a file that ends in .py, {', '.join(SUFFIXES)}")
    # A file that names no function has its default export, or get_transform.
    default = "default" if file.endswith(SUFFIXES) else "get_transform"
    return validate_transform(f"{file}:{function or default}")
