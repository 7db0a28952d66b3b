"""The events of a stored response that is retrieved as a stream."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.stored_objects import show_unfinished
from llm_mock.boundaries.http.wire import server_sent_event
from llm_mock.support.json_types import JSONObject

PART_NAMES = {
    "output_text": ("content_part", "output_text", "content_index", "text"),
    "refusal": ("content_part", "refusal", "content_index", "refusal"),
    "summary_text": (
        "reasoning_summary_part",
        "reasoning_summary_text",
        "summary_index",
        "text",
    ),
}
"""The names of a part's events and of its deltas, its index and its text, by its type."""

Fields = tuple[str, JSONObject]
"""The type of an event and its fields."""


def build_stored_events(response: JSONObject, starting_after: int) -> Iterator[bytes]:
    """Yield the events of a response, with each text in one delta.

    Args:
        response: the finished response.
        starting_after: the number of the last event that the client received; -1 for none.
    """
    numbers = itertools.count()
    for kind, fields in _list_events(response):
        number = next(numbers)
        if number > starting_after:
            yield server_sent_event({"type": kind, "sequence_number": number, **fields}, kind)


def _list_events(response: JSONObject) -> Iterator[Fields]:
    started = show_unfinished(response, "in_progress")
    if response.get("background"):
        queued = {**started, "status": "queued"}
        yield "response.created", {"response": queued}
        yield "response.queued", {"response": queued}
    else:
        yield "response.created", {"response": started}
    yield "response.in_progress", {"response": started}
    for index, item in enumerate(response["output"]):
        yield from _list_item_events(item, index)
    yield f"response.{response['status']}", {"response": response}


def _list_item_events(item: JSONObject, index: int) -> Iterator[Fields]:
    """Yield the events of an item of the output at an index."""
    empty = {**item}
    if "status" in item:
        empty["status"] = "in_progress"
    for name, value in (("content", []), ("summary", []), ("arguments", "")):
        if name in item:
            empty[name] = value
    yield "response.output_item.added", {"output_index": index, "item": empty}
    position = {"item_id": item.get("id"), "output_index": index}
    if item["type"] == "function_call":
        yield from _list_argument_events(item, position)
    parts: Any = item.get("content") or item.get("summary") or ()
    for part_index, part in enumerate(parts):
        yield from _list_part_events(part, part_index, position)
    yield "response.output_item.done", {"output_index": index, "item": item}


def _list_argument_events(item: JSONObject, position: JSONObject) -> Iterator[Fields]:
    name = "response.function_call_arguments"
    arguments = item["arguments"]
    if arguments:
        yield f"{name}.delta", {**position, "delta": arguments}
    yield f"{name}.done", {**position, "name": item["name"], "arguments": arguments}


def _list_part_events(part: JSONObject, index: int, position: JSONObject) -> Iterator[Fields]:
    """Yield the events of a part of a message or of a summary; none for an unknown type."""
    names = PART_NAMES.get(part["type"])
    if names is None:
        return
    part_name, delta_name, index_name, text_name = names
    place = {**position, index_name: index}
    text = part[text_name]
    # Only texts of messages have probabilities.
    more: JSONObject = {"logprobs": []} if part["type"] == "output_text" else {}
    yield f"response.{part_name}.added", {**place, "part": {**part, text_name: ""}}
    if text:
        yield f"response.{delta_name}.delta", {**place, "delta": text, **more}
    yield f"response.{delta_name}.done", {**place, text_name: text, **more}
    yield f"response.{part_name}.done", {**place, "part": part}
