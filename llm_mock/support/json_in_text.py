"""Find JSON objects in the text of a model: alone, in a code fence, or within prose."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from llm_mock.support.json_types import JSONObject


def _refuse_duplicate_keys(fields: list[tuple[str, Any]]) -> JSONObject:
    data = dict(fields)
    if len(data) != len(fields):
        raise ValueError("duplicate key")
    return data


_JSON = json.JSONDecoder(strict=False, object_pairs_hook=_refuse_duplicate_keys)
_BEGINNING = re.compile(r"[\[{]")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_STRICT = json.JSONDecoder(parse_constant=_refuse_constant)


_FENCED = re.compile(r"\s*```[^\n]*\n.*```\s*", re.DOTALL)


def parse_json(text: str) -> Any:
    """Parse a text as JSON.

    Raises:
        FencedJSON: the JSON is in a code fence.
        ValueError: the text is not JSON; the message says why.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        if _FENCED.fullmatch(text):
            raise FencedJSON("it is in a code fence") from None
        raise ValueError(f"{error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


class FencedJSON(ValueError):
    """An error for a text that is JSON within a code fence."""


class FoundObject(NamedTuple):
    """A JSON object, and its start and end in the text."""

    data: JSONObject
    start: int
    end: int


def find_json_values(text: str) -> Iterator[Any]:
    """Yield the outermost JSON objects and lists in a text, in order."""
    found = _BEGINNING.search(text)
    while found is not None:
        position = found.end()
        # A bracket in prose does not begin a value, so the search continues after it.
        with contextlib.suppress(ValueError, RecursionError):
            value, position = _STRICT.raw_decode(text, found.start())
            yield value
        found = _BEGINNING.search(text, position)


def find_json_objects(text: str, key: str) -> Iterator[FoundObject]:
    """Yield the outermost JSON objects in a text that have a key, in order.

    An object with a duplicate key is skipped, because its meaning is unclear.
    """
    position = text.find("{")
    while position >= 0:
        end = position + 1
        with contextlib.suppress(ValueError, RecursionError):
            data, parsed = _JSON.raw_decode(text, position)
            if key in data:
                yield FoundObject(data, position, parsed)
                end = parsed
        position = text.find("{", end)
