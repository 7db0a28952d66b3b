"""Change the answers of a model: the text, the data, the tool calls, or into an error."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from llm_mock.core.provider_error import ProviderError
from llm_mock.core.reply import UNSET, Reply
from llm_mock.core.tool_calls import BrokenToolCall, ToolCall
from llm_mock.support import schemas
from llm_mock.support.json_types import JSON, JSONObject

if TYPE_CHECKING:
    from llm_mock.core.request import Request

OTHER_TEXT = "Something else entirely."
"""The text of a changed answer."""
SECOND_TEXT = "Another answer."
"""The text of a changed answer that already was `OTHER_TEXT`."""
MAX_VALUES = 50
"""The maximum number of values in one answer that are changed."""
KEPT_FIELDS = ("usage", "resolved_model", "reasoning", "attachments", "latency")
"""The fields of a reply that survive a change of its content."""


def change_text(request: Request, reply: Reply) -> Reply | None:
    """Return a reply with another text; None if it has no text, or JSON."""
    if not _has_content(reply) or not reply.content or _read_json(reply) is not UNSET:
        return None
    text = SECOND_TEXT if reply.content == OTHER_TEXT else OTHER_TEXT
    return _make_reply(reply, text, tool_calls=reply.tool_calls)


def change_data(request: Request, reply: Reply) -> Reply | None:
    """Return a reply with other data of the same schema; None if there are none."""
    if not _has_content(reply):
        return None
    data = _read_json(reply)
    if data is UNSET:
        return None
    changed = change_json(data, request.schema)
    if changed == data:
        return None
    if reply.data is UNSET:
        text = json.dumps(changed, ensure_ascii=False)
        return _make_reply(reply, text, tool_calls=reply.tool_calls)
    return _make_reply(reply, data=changed, tool_calls=reply.tool_calls)


def remove_tool_calls(request: Request, reply: Reply) -> Reply | None:
    """Return a reply with a text instead of its tool calls; None if it has no tool calls."""
    if not _has_content(reply) or not reply.tool_calls:
        return None
    return _make_reply(reply, reply.content or OTHER_TEXT)


def change_arguments(request: Request, reply: Reply) -> Reply | None:
    """Return a reply with other arguments of its tool calls; None if no value can change."""
    if not _has_content(reply):
        return None
    tool_schemas = {tool.name: tool.input_schema for tool in request.tools}
    calls = []
    is_changed = False
    for call in reply.tool_calls:
        if isinstance(call, BrokenToolCall):
            return None
        schema = tool_schemas.get(call.name)
        arguments = change_json(call.arguments, schema)
        changed = ToolCall(call.name, arguments, call.tool_call_id)
        calls.append(changed)
        if arguments != call.arguments:
            is_changed = True
    if not is_changed:
        return None
    return _make_reply(reply, reply.content, tool_calls=calls)


def empty_answer(request: Request, reply: Reply) -> Reply | None:
    """Return a reply with an empty text; None if it is empty."""
    if reply.error is not None or reply.raw is not None:
        return None
    if not reply.content and not reply.tool_calls:
        return None
    return _make_reply(reply, "")


def answer_error(request: Request, reply: Reply) -> Reply | None:
    """Return an answer instead of an error; None if the reply is an answer."""
    if reply.error is None or reply.error_after is not None:
        return None
    if not request.schema:
        return Reply(OTHER_TEXT)
    from llm_mock.behaviour.generate import generate_reply

    return generate_reply(request.schema)


def fail(request: Request, reply: Reply) -> Reply | None:
    """Return the error of an overloaded provider; None if the reply is an error."""
    if reply.error is not None:
        return None
    return Reply(error=ProviderError("overloaded"))


def _has_content(reply: Reply) -> bool:
    """Return whether a reply is a single answer: no error, no raw body, no candidates."""
    if reply.error is not None:
        return False
    return reply.raw is None and not reply.candidates


def _make_reply(reply: Reply, text: str | None = None, **fields: JSON) -> Reply:
    """Return a reply with other content; the `KEPT_FIELDS` stay."""
    kept = {}
    for name in KEPT_FIELDS:
        kept[name] = getattr(reply, name)
    kept.update(fields)
    # Not checked, because the user did not write this reply.
    return Reply(text, invalid=True, **kept)


def _read_json(reply: Reply) -> JSON:
    """Return the data of a reply, or the object or list in its text; UNSET without them."""
    if reply.data is not UNSET:
        return reply.data
    try:
        data = json.loads(reply.content)
    except ValueError:
        return UNSET
    return data if isinstance(data, (dict, list)) else UNSET


def change_json(data: JSON, schema: JSONObject | None) -> JSON:
    """Return data in which each value is replaced by another one, if the schema permits.

    Args:
        data: the data, which is not modified.
        schema: the JSON schema; None for no schema.
    """
    changed = copy.deepcopy(data)
    choices = list(_iter_choices(schema))
    is_valid = _make_check(schema)
    if not isinstance(data, (dict, list)):
        return next(filter(is_valid, _list_others(data, choices)), data)
    for number, (container, key) in enumerate(list(_iter_places(changed))):
        if number == MAX_VALUES:
            break
        value = container[key]
        for other in _list_others(value, choices):
            container[key] = other
            if is_valid(changed):
                break
        else:
            container[key] = value
    return changed


def _make_check(schema: JSONObject | None) -> Callable[[object], bool]:
    """Return a function that returns whether data is valid."""
    if not schema:
        return lambda data: True
    return lambda data: next(schemas.find_violations(schema, data), None) is None


def _iter_places(data: JSON) -> Iterator[tuple[JSON, JSON]]:
    """Yield the container and the key of each plain value."""
    items: Iterable[JSON] = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        if isinstance(value, (dict, list)):
            yield from _iter_places(value)
        else:
            yield data, key


def _iter_choices(schema: JSON) -> Iterator[JSON]:
    """Yield the values that a schema names."""
    if isinstance(schema, list):
        for item in schema:
            yield from _iter_choices(item)
    elif isinstance(schema, dict):
        yield from schema.get("enum", ())
        if "const" in schema:
            yield schema["const"]
        for item in schema.values():
            yield from _iter_choices(item)


def _list_others(value: object, choices: Iterable[object]) -> list[JSON]:
    """Return other values of the same type, the preferred ones first."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return _list_other_numbers(value)
    if not isinstance(value, str):
        return []
    others = [
        OTHER_TEXT,
        SECOND_TEXT,
        "other",
        value[::-1],
    ]
    for choice in choices:
        if isinstance(choice, str):
            others.append(choice)
    return [other for other in others if other != value]


def _list_other_numbers(value: float) -> list[float]:
    return [
        value + 1,
        value - 1,
        value / 2,
        0,
        1,
    ]
