"""Errors, and answers of endpoints beside the chats, are those that are checked in, in each field.

`test_published_types.py` compares the same answers with the types of the SDKs, which do not tell
one text, number or truth value from another. `REWRITE_EXPECTED=1` rewrites the files of the folder
`answers`; read the difference.
"""

from __future__ import annotations

import re
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from llm_mock import LLMMock
from tests.boundaries.http.exchanges import (
    JSON_LINES,
    Ask,
    Exchange,
    list_errors,
    list_others,
    read_events,
)
from tests.expected import compare_json

FOLDER = Path(__file__).with_name("answers")
RECORDED = [*list_errors(), *list_others()]
LONGEST = 70
"""The characters of a word that are compared; longer ones are images and sounds."""
CHANGING = (
    (re.compile(r"\b[0-9a-f]{8}(?=_\d)"), "hash"),
    (re.compile(r"\breq_mock_\d+"), "req_mock"),
    (re.compile(r"(?<=exchanges\.py:)\d+"), "line"),
)
"""Parts of texts that depend on the test or on the tests before it, with what replaces them."""


def mask(text: str) -> str:
    """Return a text without what changes."""
    for pattern, replacement in CHANGING:
        text = pattern.sub(replacement, text)
    return text


def is_now(value: object) -> bool:
    """Return True for a time in seconds, or a text with one, that is the present one."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value):
        value = datetime.fromisoformat(f"{value[:-1]}+00:00").timestamp()
    return isinstance(value, (int, float)) and abs(value - time.time()) < 60


def fix(value: Any) -> Any:
    """Return JSON values without what changes, and with the size of what is long."""
    if isinstance(value, dict):
        return {name: fix(item) for name, item in value.items()}
    if isinstance(value, list) and len(value) > 4 and isinstance(value[0], (int, float)):
        return f"{len(value)} numbers"
    if isinstance(value, list):
        return [fix(item) for item in value]
    if is_now(value):
        return "now"
    if not isinstance(value, str):
        return value
    is_data = len(value) > LONGEST and " " not in value
    return f"{value[:8]}…" if is_data else mask(value)


def read_content(response: httpx.Response) -> Any:
    """Return the JSON value of an answer, its events, or the size of a file."""
    media_type = response.headers["content-type"].partition(";")[0]
    if media_type == "application/json":
        return fix(response.json())
    if media_type in ("text/event-stream", JSON_LINES):
        return [[event.name, fix(event.data)] for event in read_events(response)]
    return f"{len(response.content)} bytes"


def describe(response: httpx.Response) -> dict[str, Any]:
    """Return what is compared of an answer."""
    headers = {name: mask(value) for name, value in response.headers.items()}
    # Times and ids have different lengths.
    headers.pop("content-length", None)
    request = response.request
    return {
        "request": mask(f"{request.method} {request.url}"),
        "status": response.status_code,
        "headers": headers,
        "content": read_content(response),
    }


@pytest.mark.parametrize("exchange", RECORDED, ids=lambda each: each.name)
def test_answers_are_as_recorded(exchange: Exchange, mock_llm_calls: LLMMock) -> None:
    answers: list[dict[str, Any]] = []
    exchange.send(Ask(lambda response: answers.append(describe(response))), mock_llm_calls)
    # Some requests are refused on purpose, and some replies do not fit.
    mock_llm_calls.refusals.clear()
    mock_llm_calls.problems.clear()
    name = re.sub(r"\W+", "-", exchange.name)
    compare_json(FOLDER / f"{name}.json", answers)


def test_each_file_has_its_exchange() -> None:
    names = {re.sub(r"\W+", "-", exchange.name) for exchange in RECORDED}
    assert {path.stem for path in FOLDER.iterdir()} == names
