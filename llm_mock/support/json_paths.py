"""Paths into JSON values, such as `choices.0.message` or `$.choices[0].message`."""

from __future__ import annotations

import re
from typing import Any

from llm_mock.errors import LLMMockError
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten, suggest_name

_STEP = re.compile(r"""\.?([^.\[\]\s"'$*]+)|\[(-?\d+)\]|\[(?:"([^"]+)"|'([^']+)')\]""")
STEPS = "keys and positions, such as choices.0.message.content"


def parse_path(path: str) -> list[str]:
    """Return the keys and positions of a path.

    Raises:
        ValueError: it is not a path.
    """
    rest = path.removeprefix("$")
    steps: list[str] = []
    while rest:
        match = _STEP.match(rest)
        # Only the first step may omit the dot or bracket.
        is_separate = not steps or rest[0] in ".["
        if match is None or not is_separate:
            break
        # Each form of a step has its own group.
        groups = filter(None, match.groups())
        steps.append(next(groups))
        rest = rest[match.end() :]
    if rest or not steps:
        raise ValueError(f"{path!r} is not a path of {STEPS}")
    return steps


def get_value(value: object, path: str) -> Any:
    """Return the value at a path.

    Raises:
        LLMMockError: there is no value at the path; the message names the nearest key.
    """
    place = "$"
    for step in parse_path(path):
        if isinstance(value, dict):
            value = _get_field(value, step, place)
        elif isinstance(value, list) and re.fullmatch(r"-?\d+", step):
            position = int(step)
            if not -len(value) <= position < len(value):
                raise LLMMockError(
                    f"there is no position {step} in {place}, a list of {len(value)}"
                )
            value = value[position]
        else:
            if isinstance(value, list):
                kind = "a list"
            else:
                kind = shorten(value, 60)
            raise LLMMockError(f"there is no {shorten(step, 60)} in {place}, which is {kind}")
        place = f"{place}.{step}"
    return value


def _get_field(data: JSONObject, key: str, place: str) -> Any:
    if key in data:
        return data[key]
    if data:
        suggestion = suggest_name(key, list(data))
    else:
        suggestion = ", which is empty"
    raise LLMMockError(f"there is no {shorten(key, 60)} in {place}{suggestion}")
