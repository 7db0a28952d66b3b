"""Compare a recorded response with a new one from the same provider.

Texts differ from call to call, so their structure is compared: the fields of each kind of object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal, NamedTuple

from llm_mock.boundaries.http.replay import read_finish_reason
from llm_mock.cassettes.replay import RecordedReply
from llm_mock.cassettes.schema import RecordedResponse

Severity = Literal["error", "warning", "note"]
SEVERITIES: list[Severity] = ["error", "warning", "note"]
"""The most severe first."""
OPTIONAL_FIELDS = {
    "content",
    "text",
    "refusal",
    "annotations",
    "citations",
    "audio",
    "images",
    "logprobs",
    "reasoning",
    "reasoning_content",
    "thinking",
    "thought",
    "thoughtSignature",
    "signature",
    "tool_calls",
    "function_call",
    "functionCall",
    "groundingMetadata",
    "safetyRatings",
    "usage",
    "obfuscation",
    "role",
    "system_fingerprint",
}
"""The fields that an answer of the same structure may have or lack, depending on its content."""
TRANSIENT = (408, 409, 429)
"""The status codes below 500 of transient errors."""

Shape = dict[str, list[dict[str, str]]]
"""The objects of a body by their path, each with the types of its fields."""


class Difference(NamedTuple):
    """A difference between a recorded response and a new one."""

    severity: Severity
    text: str


def compare_responses(
    recorded: RecordedResponse, new: RecordedResponse, wants_json: bool
) -> list[Difference]:
    """Return the differences between two responses to one request, the most severe first.

    Args:
        recorded: the response in the cassette.
        new: the response that the provider gives now.
        wants_json: whether the request has a schema, so that the answer is JSON.
    """
    old_status = _get_status(recorded)
    new_status = _get_status(new)
    if old_status != new_status:
        difference = _describe_status(old_status, new_status)
        return [difference]
    differences = [
        *_compare_structure(recorded.raw, new.raw),
        *_compare_answers(recorded, new, wants_json),
    ]
    return sorted(differences, key=_get_rank)


def _get_rank(difference: Difference) -> int:
    return SEVERITIES.index(difference.severity)


def _get_status(response: RecordedResponse) -> int:
    """Return the status code; 0 for an error without one."""
    error = response.error
    http = response.http
    if error is not None:
        status = error.get("status_code")
        return status if isinstance(status, int) else 0
    if http is None:
        return 200
    return http.status


def _describe_status(recorded: int, new: int) -> Difference:
    change = f"status {recorded or 'of no response'} → {new or 'no response'}"
    # The recorded error was transient, so the provider's API has not changed.
    if new == 200 and (recorded >= 500 or recorded in TRANSIENT):
        return Difference("note", f"{change}: the recorded error did not occur again")
    return Difference("error", change)


# The content


def _compare_answers(
    recorded: RecordedResponse, new: RecordedResponse, wants_json: bool
) -> Iterator[Difference]:
    old_reason = _read_reason(recorded)
    new_reason = _read_reason(new)
    if old_reason != new_reason:
        yield Difference("warning", f"finish reason {old_reason} → {new_reason}")
    old_tools = _list_tools(recorded)
    new_tools = _list_tools(new)
    if old_tools != new_tools:
        change = f"{_join(old_tools)} → {_join(new_tools)}"
        yield Difference("warning", f"tools {change}")
    elif _list_arguments(recorded) != _list_arguments(new):
        yield Difference("note", "arguments of tools differ")
    old_model = recorded.resolved_model
    new_model = new.resolved_model
    if old_model != new_model:
        yield Difference("note", f"model {old_model} → {new_model}")
    old_text = _join_texts(recorded)
    new_text = _join_texts(new)
    if old_text == new_text:
        return
    yield Difference("note", "text differs")
    if wants_json and not new_tools:
        yield from _compare_data(old_text, new_text)


def _read_reason(response: RecordedResponse) -> str:
    if response.tool_calls:
        return "tool_calls"
    reply = RecordedReply(response, {}, False)
    reason = read_finish_reason(reply)
    return reason or "stop"


def _list_tools(response: RecordedResponse) -> list[str]:
    names = [call.name for call in response.tool_calls]
    names.sort()
    return names


def _list_arguments(response: RecordedResponse) -> list[str]:
    arguments = []
    for call in response.tool_calls:
        text = json.dumps(call.arguments, sort_keys=True)
        arguments.append(text)
    arguments.sort()
    return arguments


def _join(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _join_texts(response: RecordedResponse) -> str:
    texts = []
    for event in response.events:
        if event.type == "text":
            texts.append(event.text)
    return "".join(texts)


def _compare_data(recorded: str, new: str) -> Iterator[Difference]:
    """Compare the structure of two answers that are JSON."""
    try:
        old_data = json.loads(recorded)
    except ValueError:
        # The recorded answer is not JSON either.
        return
    try:
        new_data = json.loads(new)
    except ValueError:
        yield Difference("error", "the structured answer is no longer JSON")
        return
    for difference in _compare_structure(old_data, new_data):
        yield Difference("warning", f"structured answer: {difference.text}")


# The structure


def _compare_structure(recorded: object, new: object) -> Iterator[Difference]:
    """Compare the fields of the objects that both bodies have."""
    old_shape: Shape = {}
    new_shape: Shape = {}
    _collect_objects(recorded, "", old_shape)
    _collect_objects(new, "", new_shape)
    for path, old_objects in sorted(old_shape.items()):
        new_objects = new_shape.get(path)
        # None if the answer is of another kind, such as a tool call instead of a text.
        if new_objects is not None:
            yield from _compare_objects(path, old_objects, new_objects)
    # Without this check, nothing would be compared.
    if old_shape and not new_shape:
        yield Difference("error", "the body is no longer a JSON object")


def _collect_objects(value: object, path: str, shape: Shape) -> None:
    """Collect the objects in a JSON value by their path.

    Objects with a field `type` are of different kinds, such as stream events.
    """
    if isinstance(value, list):
        for item in value:
            _collect_objects(item, f"{path}[]", shape)
    if not isinstance(value, dict):
        return
    kind = value.get("type")
    if isinstance(kind, str):
        path = f"{path}<{kind}>"
    types = {}
    for name, item in value.items():
        types[name] = _get_type(item)
        _collect_objects(item, f"{path}.{name}", shape)
    objects = shape.setdefault(path, [])
    objects.append(types)


def _get_type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, list):
        types = {type(item) for item in value}
        # The dimensions of an embedding are a part of its type.
        if types and types <= {int, float}:
            return f"list of {len(value)} numbers"
        return "list"
    if isinstance(value, dict):
        return "object"
    return "text" if isinstance(value, str) else "null"


def _compare_objects(
    path: str, recorded: list[dict[str, str]], current: list[dict[str, str]]
) -> Iterator[Difference]:
    old_types = _merge_types(recorded)
    new_types = _merge_types(current)
    for name in sorted(old_types.keys() | new_types.keys()):
        place = f"{path}.{name}".lstrip(".")
        old = old_types.get(name)
        new = new_types.get(name)
        if old is not None and new is not None:
            if not _is_compatible(old, new):
                change = f"{_format_types(old)} → {_format_types(new)}"
                yield Difference("error", f"field {place}: {change}")
        elif name not in OPTIONAL_FIELDS:
            if old is None:
                yield Difference("warning", f"field {place} is new")
            elif all(name in types for types in recorded):
                yield Difference("error", f"field {place} is gone")


def _merge_types(objects: list[dict[str, str]]) -> dict[str, set[str]]:
    merged: dict[str, set[str]] = {}
    for types in objects:
        for name, kind in types.items():
            kinds = merged.setdefault(name, set())
            kinds.add(kind)
    return merged


def _format_types(types: set[str]) -> str:
    ordered = sorted(types)
    return _join(ordered)


def _is_compatible(recorded: set[str], new: set[str]) -> bool:
    # Null stands for a missing value of any type.
    if recorded == {"null"} or new == {"null"}:
        return True
    common = recorded & new
    return bool(common - {"null"})
