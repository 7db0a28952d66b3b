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
    if code.startswith(FILE):
        return _convert_reference(code.removeprefix(FILE))
    code = code.strip()
    path = _PATH.fullmatch(code)
    if path:
        return f"${path[1]}"
    return f"{CODE} {code}"


def _convert_reference(reference: str) -> str:
    file, _, function = reference.partition(":")
    if file.endswith(SUFFIXES):
        default = "default"
    elif file.endswith(".py"):
        default = "get_transform"
    else:
        suffixes = ", ".join(SUFFIXES)
        raise ValueError(f"expected a file that ends in .py, {suffixes}")
    if not function:
        function = default
    return validate_transform(f"{file}:{function}")
