"""Change requests: remove or replace one part before a mock records and matches them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator

from llm_mock.core.request import Request
from llm_mock.support.json_types import JSON, JSONObject

OTHER_MODEL = "another-model"
"""The id that replaces that of the called model."""
TOOL_FIELDS = frozenset(
    ("tools", "tool_choice", "toolConfig", "tool_config", "functions", "function_call")
)
"""The fields of a body that offer tools, of all APIs."""
SCHEMA_FIELDS = frozenset(
    (
        "response_format",
        "text_format",
        "output_format",
        "output_config",
        "format",
        "responseSchema",
        "responseJsonSchema",
        "response_schema",
        "response_json_schema",
    )
)
"""The fields of a body that request a schema, of all APIs."""
MESSAGE_LISTS = ("messages", "contents", "input")
"""The fields of a body with the conversation."""
FIELDS_WITHOUT_TEXT = frozenset(("role", "type", "model", "name", "id"))
"""The fields of a body that contain no text of a prompt."""
Sent = tuple[str, str, dict[str, str], JSONObject]
"""Method, URL, headers and body."""


def empty_prompt(request: Request) -> Request | None:
    """Return a request with an empty prompt; None if it has no prompt."""
    if not request.prompt:
        return None
    texts = {request.prompt, *_list_last_texts(request)}
    return _change_texts(request, lambda text: "" if text in texts else text, in_system=False)


def empty_system(request: Request) -> Request | None:
    """Return a request without its system prompt; None if it has none."""
    system = request.system
    if not system:
        return None
    messages = [each for each in request.messages() if each["role"] != "system"]
    changed = _copy(request, lambda body: _replace_texts(body, _replacer(system, "")))
    _set_system(changed, "")
    return _set_messages(changed, messages)


def replace_text(request: Request, old: str, new: str) -> Request | None:
    """Return a request in which a part of its prompt or system prompt is replaced.

    Returns:
        None if neither prompt has that part.
    """
    if old not in request.prompt and old not in request.system:
        return None
    return _change_texts(request, lambda text: text.replace(old, new), in_system=True)


def remove_message(request: Request, position: int) -> Request | None:
    """Return a request without one message of its history; None if the position has none."""
    messages = request.messages()
    if position >= len(messages):
        return None
    removed = messages[position]
    changed = _copy(request, lambda body: _remove_message(body, removed))
    return _set_messages(changed, messages[:position] + messages[position + 1 :])


def remove_tool_results(request: Request) -> Request | None:
    """Return a request without its tool results; None if it has none."""
    if not request.tool_results:
        return None
    messages = request.messages()
    kept = [each for each in messages if not _has_kind(each, "tool_result")]
    results = [each for each in messages if each not in kept]

    def change_body(body: JSONObject) -> JSONObject:
        for message in results:
            body = _remove_message(body, message)
        return body

    changed = _copy(request, change_body)
    changed.tool_results = ()
    return _set_messages(changed, kept)


def swap_model(request: Request) -> Request | None:
    """Return a request to another model."""
    model = request.model_id

    def change_body(body: JSONObject) -> JSONObject:
        return {**body, "model": OTHER_MODEL} if "model" in body else body

    changed = _copy(request, change_body, lambda url: url.replace(model, OTHER_MODEL))
    changed.model_id = OTHER_MODEL
    return changed


def remove_tools(request: Request) -> Request | None:
    """Return a request that offers no tools; None if it has none."""
    if not request.tools or request.schema_is_a_tool:
        return None
    changed = _copy(request, lambda body: _drop_fields(body, TOOL_FIELDS))
    changed.tools = ()
    return changed


def remove_schema(request: Request) -> Request | None:
    """Return a request without its schema; None if it has none."""
    if not request.schema:
        return None
    is_tool = request.schema_is_a_tool
    fields = TOOL_FIELDS if is_tool else SCHEMA_FIELDS
    changed = _copy(request, lambda body: _drop_fields(body, fields))
    changed.schema = None
    if is_tool:
        changed.tools = ()
    return changed


def find_earlier_messages(request: Request) -> list[int]:
    """Return the positions of the oldest and the newest message before the prompt."""
    if request.is_simple:
        return []
    messages = request.messages()
    last_answer = -1
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            last_answer = index
    # Without an earlier answer, the prompt is the only message.
    earlier = [
        index
        for index, message in enumerate(messages[: last_answer + 1])
        if message["role"] != "system"
    ]
    return sorted({earlier[0], earlier[-1]}) if earlier else []


def _copy(
    request: Request,
    change_body: Callable[[JSONObject], JSONObject],
    change_url: Callable[[str], str] = str,
) -> Request:
    """Return a copy of a request whose HTTP request is changed as well."""
    changed = copy.copy(request)
    # Most calls are recorded by a shortcut that ignores changed messages.
    _override(changed, is_text=False)
    sent = request.get_sent_request()
    if sent is not None:
        method, url, headers, body, extra_body = sent
        # Changed now, because the application may reuse the body.
        new_body = change_body(copy.deepcopy(body))
        new_sent = (method, change_url(url), headers, new_body, extra_body)
        _override(changed, body=new_body, get_sent_request=lambda: new_sent)
    return changed


def _override(changed: object, **values: object) -> None:
    """Replace attributes and methods of one object."""
    for name, value in values.items():
        setattr(changed, name, value)


def _set_messages(changed: Request, messages: list[JSONObject]) -> Request:
    given = [each for each in messages if each["role"] != "system"]
    _override(changed, is_simple=False, messages=lambda: messages, given_messages=lambda: given)
    return changed


def _set_system(changed: Request, system: str) -> None:
    changed.system = system
    _override(changed, system_message=lambda: system)
    _change_native(changed, _system=system, system_fragments=[])


def _change_native(changed: Request, **values: object) -> None:
    """Change the prompt of `llm` that reply functions get; over HTTP it is the request itself."""
    native = getattr(changed, "native", None)
    if native is changed or not hasattr(native, "_prompt"):
        return
    changed.native = copy.copy(native)
    _override(changed.native, **values)


def _change_texts(request: Request, change: Callable[[str], str], in_system: bool) -> Request:
    """Return a request with changed texts.

    Args:
        request: the request.
        change: returns the new text.
        in_system: whether to change the system prompt too.
    """
    last_user = _find_last_user(request)
    messages = []
    for index, message in enumerate(request.messages()):
        if index == last_user or (in_system and message["role"] == "system"):
            message = {
                **message,
                "parts": [_change_part(part, change) for part in message["parts"]],
            }
        messages.append(message)
    changed = _copy(request, lambda body: _replace_texts(body, change))
    changed.prompt = change(request.prompt)
    _change_native(changed, _prompt=changed.prompt, fragments=[])
    if in_system:
        _set_system(changed, change(request.system))
    return _set_messages(changed, messages)


def _change_part(part: JSONObject, change: Callable[[str], str]) -> JSONObject:
    return {**part, "text": change(part["text"])} if part["type"] == "text" else part


def _find_last_user(request: Request) -> int:
    last = -1
    for index, message in enumerate(request.messages()):
        if message["role"] == "user":
            last = index
    return last


def _list_last_texts(request: Request) -> list[str]:
    """Return the texts of the last message of the user."""
    messages = request.messages()
    index = _find_last_user(request)
    if index < 0:
        return []
    return [part["text"] for part in messages[index]["parts"] if part["type"] == "text"]


def _replacer(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


def _replace_texts(value: JSON, change: Callable[[str], str]) -> JSON:
    """Return a JSON value with changed texts; names and roles stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_replace_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {
            name: item if name in FIELDS_WITHOUT_TEXT else _replace_texts(item, change)
            for name, item in value.items()
        }
    return value


def _drop_fields(value: JSON, names: frozenset[str]) -> JSON:
    """Return a JSON object without some fields, including those of the objects in it."""
    if not isinstance(value, dict):
        return value
    return {name: _drop_fields(item, names) for name, item in value.items() if name not in names}


def _remove_message(body: JSONObject, message: JSONObject) -> JSONObject:
    """Return a body without the item that contains a message."""
    marks = list(_iter_marks(message))
    for name in MESSAGE_LISTS:
        items = body.get(name)
        if not isinstance(items, list):
            continue
        for index, item in enumerate(items):
            texts = set(_iter_texts(item))
            if marks and texts.issuperset(marks):
                return {**body, name: items[:index] + items[index + 1 :]}
    return body


def _iter_marks(message: JSONObject) -> Iterator[str]:
    """Yield the texts by which a message is found in a body."""
    for part in message["parts"]:
        if part["type"] in ("text", "reasoning"):
            yield part["text"]
        elif part["type"] == "tool_call":
            yield part["name"]
        elif part["type"] == "tool_result":
            output = part["output"]
            yield output if isinstance(output, str) else json.dumps(output)


def _iter_texts(value: JSON) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _iter_texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _iter_texts(item)


def _has_kind(message: JSONObject, kind: str) -> bool:
    return any(part["type"] == kind for part in message["parts"])
