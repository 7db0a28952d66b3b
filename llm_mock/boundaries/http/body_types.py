"""Types of the fields of request bodies, checked before a body is parsed, as the providers do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Path = tuple[str | int, ...]


class Shape:
    """The JSON types that a value may have, and the shapes of what is in it. Null stands for a field left out.

    Args:
        types: the types; an `int` is no `bool`.
        fields: the shapes of an object's fields. Other fields may have any shape.
        items: the shape of a list's items; by default they may have any.
    """

    __slots__ = ("fields", "items", "types")

    def __init__(self, *types: type, fields: Mapping[str, Shape] | None = None, items: Shape | None = None) -> None:
        self.types = frozenset(types)
        self.fields = dict(fields or {})
        self.items = items


class Mismatch(NamedTuple):
    """A value of a body that has another type than the API wants."""

    path: Path
    expected: Shape
    value: Any


def find_mismatch(value: Any, shape: Shape) -> Mismatch | None:
    """Return the first value that has not the type its shape wants; None for a body that fits."""
    kind = type(value)
    if kind not in shape.types:
        return Mismatch((), shape, value)
    if kind is dict and shape.fields:
        return _mismatch_in_object(value, shape.fields)
    if kind is list and shape.items is not None:
        return _mismatch_in_list(value, shape.items)
    return None


def _mismatch_in_object(value: dict[str, Any], fields: dict[str, Shape]) -> Mismatch | None:
    for name, given in value.items():
        shape = fields.get(name)
        if shape is None or given is None:
            continue
        found = find_mismatch(given, shape)
        if found is not None:
            return found._replace(path=(name, *found.path))
    return None


def _mismatch_in_list(value: list[Any], shape: Shape) -> Mismatch | None:
    for index, item in enumerate(value):
        found = find_mismatch(item, shape)
        if found is not None:
            return found._replace(path=(index, *found.path))
    return None


TEXT, FLAG, WHOLE, ANY_OBJECT = Shape(str), Shape(bool), Shape(int), Shape(dict)
NUMBER = Shape(int, float)
TEXTS = Shape(list, items=TEXT)
TEXT_OR_OBJECT = Shape(str, dict)
_AUDIO_FIELDS = {"data": TEXT, "format": TEXT}
_SAMPLING = {"temperature": NUMBER, "top_p": NUMBER, "stream": FLAG, "model": TEXT}

_URL = Shape(str, dict, fields={"url": TEXT})
_CHAT_PART = Shape(
    dict,
    fields={
        **{"type": TEXT, "text": TEXT, "refusal": TEXT, "image_url": _URL, "document_url": _URL, "file_id": TEXT},
        "input_audio": Shape(str, dict, fields=_AUDIO_FIELDS),
        "file": Shape(dict, fields={"file_data": TEXT, "file_id": TEXT, "filename": TEXT}),
    },
)
_CHAT_FUNCTION = Shape(dict, fields={"name": TEXT, "description": TEXT, "parameters": ANY_OBJECT})
_CHAT_CALL = Shape(
    dict,
    fields={
        **{"id": TEXT, "type": TEXT, "index": WHOLE},
        "function": Shape(dict, fields={"name": TEXT, "arguments": TEXT_OR_OBJECT}),
    },
)
_CHAT_MESSAGE = Shape(
    dict,
    fields={
        **{"role": TEXT, "name": TEXT, "tool_call_id": TEXT, "reasoning_content": TEXT, "reasoning": TEXT},
        "content": Shape(str, list, items=_CHAT_PART),
        "tool_calls": Shape(list, items=_CHAT_CALL),
    },
)
_JSON_SCHEMA = Shape(dict, fields={"name": TEXT, "schema": ANY_OBJECT})
CHAT = Shape(
    dict,
    fields={
        **_SAMPLING,
        **{"n": WHOLE, "max_tokens": WHOLE, "max_completion_tokens": WHOLE, "seed": WHOLE},
        **{"stream_options": ANY_OBJECT, "metadata": ANY_OBJECT, "stop": Shape(str, list)},
        "messages": Shape(list, items=_CHAT_MESSAGE),
        "tools": Shape(list, items=Shape(dict, fields={"type": TEXT, "function": _CHAT_FUNCTION})),
        "functions": Shape(list, items=_CHAT_FUNCTION),
        "tool_choice": TEXT_OR_OBJECT,
        "function_call": TEXT_OR_OBJECT,
        "response_format": Shape(dict, fields={"type": TEXT, "json_schema": _JSON_SCHEMA}),
    },
)
"""A request of Chat Completions."""

_RESPONSES_PART = Shape(
    dict,
    fields={
        **{"type": TEXT, "text": TEXT, "refusal": TEXT, "image_url": TEXT},
        **{"file_id": TEXT, "file_data": TEXT, "file_url": TEXT},
        "input_audio": Shape(dict, fields=_AUDIO_FIELDS),
    },
)
_RESPONSES_CONTENT = Shape(str, list, items=_RESPONSES_PART)
_RESPONSES_ITEM = Shape(
    dict,
    fields={
        **{"type": TEXT, "role": TEXT, "id": TEXT, "call_id": TEXT, "name": TEXT, "arguments": TEXT, "input": TEXT},
        **{"content": _RESPONSES_CONTENT, "output": Shape(str, list, dict, items=_RESPONSES_PART)},
    },
)
RESPONSES = Shape(
    dict,
    fields={
        **_SAMPLING,
        **{"instructions": TEXT, "previous_response_id": TEXT, "max_output_tokens": WHOLE, "store": FLAG},
        **{"metadata": ANY_OBJECT, "reasoning": ANY_OBJECT, "truncation": TEXT, "parallel_tool_calls": FLAG},
        "input": Shape(str, list, items=_RESPONSES_ITEM),
        "text": Shape(dict, fields={"format": Shape(dict, fields={"type": TEXT, "name": TEXT, "schema": ANY_OBJECT})}),
        "tools": Shape(
            list,
            items=Shape(dict, fields={"type": TEXT, "name": TEXT, "description": TEXT, "parameters": ANY_OBJECT}),
        ),
        "tool_choice": Shape(str, dict, fields={"type": TEXT, "name": TEXT}),
    },
)
"""A request of OpenAI's Responses API."""

_BLOCK = Shape(
    dict,
    fields={
        **{"type": TEXT, "text": TEXT, "thinking": TEXT, "id": TEXT, "name": TEXT, "tool_use_id": TEXT},
        "input": ANY_OBJECT,
    },
)
_BLOCKS = Shape(str, list, items=_BLOCK)
_BLOCK.fields["content"] = Shape(str, list, dict, items=_BLOCK)  # an object is the error of a tool of Anthropic's own
_BLOCK.fields["source"] = Shape(
    dict,
    fields={
        **{"type": TEXT, "media_type": TEXT, "data": TEXT, "url": TEXT, "file_id": TEXT},
        "content": _BLOCKS,
    },
)
_OUTPUT_FORMAT = Shape(dict, fields={"type": TEXT, "name": TEXT, "schema": ANY_OBJECT})
MESSAGES = Shape(
    dict,
    fields={
        **_SAMPLING,
        **{"max_tokens": WHOLE, "stop_sequences": TEXTS, "metadata": ANY_OBJECT, "thinking": ANY_OBJECT},
        "messages": Shape(list, items=Shape(dict, fields={"role": TEXT, "content": _BLOCKS})),
        "system": _BLOCKS,
        "tools": Shape(
            list,
            items=Shape(dict, fields={"type": TEXT, "name": TEXT, "description": TEXT, "input_schema": ANY_OBJECT}),
        ),
        "tool_choice": Shape(dict, fields={"type": TEXT, "name": TEXT}),
        "output_format": _OUTPUT_FORMAT,
        "output_config": Shape(dict, fields={"format": _OUTPUT_FORMAT}),
    },
)
"""A request of Anthropic's Messages."""

_GEMINI_PART = Shape(
    dict,
    fields={
        **{"text": TEXT, "thought": FLAG},
        "functionCall": Shape(dict, fields={"id": TEXT, "name": TEXT, "args": ANY_OBJECT}),
        "functionResponse": Shape(dict, fields={"id": TEXT, "name": TEXT, "response": ANY_OBJECT}),
        "inlineData": Shape(dict, fields={"mimeType": TEXT, "data": TEXT}),
        "fileData": Shape(dict, fields={"mimeType": TEXT, "fileUri": TEXT}),
    },
)
_GEMINI_PARTS = Shape(list, dict, items=_GEMINI_PART, fields=_GEMINI_PART.fields)
GEMINI_CONTENT = Shape(str, dict, fields={"role": TEXT, "parts": _GEMINI_PARTS})
_GEMINI_FUNCTION = Shape(
    dict, fields={"name": TEXT, "description": TEXT, "parameters": ANY_OBJECT, "parametersJsonSchema": ANY_OBJECT}
)
_GEMINI_CALLING = Shape(dict, fields={"mode": TEXT, "allowedFunctionNames": TEXTS})
GEMINI = Shape(
    dict,
    fields={
        "contents": Shape(list, items=Shape(dict, fields={"role": TEXT, "parts": _GEMINI_PARTS})),
        "systemInstruction": GEMINI_CONTENT,
        "tools": Shape(list, items=Shape(dict, fields={"functionDeclarations": Shape(list, items=_GEMINI_FUNCTION)})),
        "toolConfig": Shape(dict, fields={"functionCallingConfig": _GEMINI_CALLING}),
        "generationConfig": Shape(
            dict,
            fields={
                **{"temperature": NUMBER, "topP": NUMBER, "maxOutputTokens": WHOLE, "stopSequences": TEXTS},
                **{"responseMimeType": TEXT, "responseSchema": ANY_OBJECT, "responseJsonSchema": ANY_OBJECT},
            },
        ),
    },
)
"""A request of Gemini, with its names in camelCase."""

EMBEDDINGS = Shape(
    dict,
    fields={
        **{"model": TEXT, "dimensions": WHOLE, "encoding_format": TEXT},
        **dict.fromkeys(("input", "inputs"), Shape(str, list, items=Shape(str, int, list, dict))),
    },
)
"""A request for embeddings of OpenAI, Mistral and those who speak as they do."""
_GEMINI_EMBEDDING = Shape(
    dict, fields={"content": GEMINI_CONTENT, "outputDimensionality": WHOLE, "embedContentConfig": ANY_OBJECT}
)
GEMINI_EMBEDDINGS = Shape(dict, fields={**_GEMINI_EMBEDDING.fields, "requests": Shape(list, items=_GEMINI_EMBEDDING)})
"""A request for embeddings of Google."""
