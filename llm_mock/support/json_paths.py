"""Paths into JSON values, such as `choices.0.message` or `$.choices[0].message`."""

from __future__ import annotations

import re
from typing import Any

from llm_mock.errors import LLMMockError
from llm_mock.support.text import shorten, suggest_name

_STEP = re.compile(r"""\.?([^.\[\]\s"'$*]+)|\[(-?\d+)\]|\[(?:"([^"]+)"|'([^']+)')\]""")
WANTED = "keys and positions, such as choices.0.message.content"


def parse_path(path: str) -> list[str]:
    """Return the keys and positions of a path.

    Raises:
        ValueError: it is not a path.
    """
    rest, steps = path.removeprefix("$"), list[str]()
    while rest:
        match = _STEP.match(rest)
        if match is None or (steps and rest[0] not in ".["):
            break
        steps.append(next(filter(None, match.groups())))
        rest = rest[match.end() :]
    if rest or not steps:
        raise ValueError(f"{path!r} is no path of {WANTED}")
    return steps


def get_value(value: Any, path: str) -> Any:
    """Return the value at a path.

    Raises:
        LLMMockError: there is no value; the message says what there is.
    """
    there = "$"
    for step in parse_path(path):
        if isinstance(value, dict):
            if step not in value:
                if value:
                    keys = suggest_name(step, list(value))
                else:
                    keys = ", which is empty"
                raise LLMMockError(f"there is no {shorten(step, 60)} in {there}{keys}")
            value = value[step]
        elif isinstance(value, list) and re.fullmatch(r"-?\d+", step):
            if not -len(value) <= int(step) < len(value):
                raise LLMMockError(
                    f"there is no position {step} in {there}, a list of {len(value)}"
                )
            value = value[int(step)]
        else:
            if isinstance(value, list):
                kind = "a list"
            else:
                kind = shorten(value, 60)
            raise LLMMockError(f"there is no {shorten(step, 60)} in {there}, which is {kind}")
        there = f"{there}.{step}"
    return value
