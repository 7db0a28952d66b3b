"""The types of the fields in request bodies, which the mock checks before it parses a body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Path = tuple[str | int, ...]


class Shape:
    """The JSON types that a value may have, and the shapes of the values in it.

    Null is accepted everywhere, as it means that a field is missing.

    Args:
        types: the types. A bool is not accepted as an `int`.
        fields: the shapes of an object's fields; other fields may have any shape.
        items: the shape of a list's items; None for any.
    """

    __slots__ = ("fields", "items", "types")

    def __init__(
        self,
        *types: type,
        fields: Mapping[str, Shape] | None = None,
        items: Shape | None = None,
    ) -> None:
        self.types = frozenset(types)
        self.fields = dict(fields or {})
        self.items = items


class Mismatch(NamedTuple):
    """A value in a body that does not have its expected type."""

    path: Path
    expected: Shape
    value: object


def _make_fields(shape: Shape, *names: str) -> dict[str, Shape]:
    """Return fields of the same shape."""
    return dict.fromkeys(names, shape)


def _make_object(*groups: dict[str, Shape], **fields: Shape) -> Shape:
    """Return the shape of an object.

    Args:
        groups: groups of fields.
        fields: further fields.
    """
    merged: dict[str, Shape] = {}
    for group in groups:
        merged |= group
    return Shape(dict, fields=merged | fields)


def make_tool_calls(arguments: Shape, **fields: Shape) -> Shape:
    """Return the shape of a message's tool calls.

    Args:
        arguments: the shape of their arguments.
        fields: further fields of a call.
    """
    function = _make_object(name=TEXT, arguments=arguments)
    return Shape(list, items=_make_object(id=TEXT, function=function, **fields))


TEXT = Shape(str)
FLAG = Shape(bool)
INTEGER = Shape(int)
NUMBER = Shape(int, float)
ANY_OBJECT = Shape(dict)
TEXTS = Shape(list, items=TEXT)
TEXT_OR_OBJECT = Shape(str, dict)
_AUDIO_FIELDS = _make_fields(TEXT, "data", "format")
_OPENAI_FIELDS = {
    "store": FLAG,
    "parallel_tool_calls": FLAG,
    "top_logprobs": INTEGER,
    "user": TEXT,
    "safety_identifier": TEXT,
    "prompt_cache_key": TEXT,
}
_SAMPLING_FIELDS = {
    "temperature": NUMBER,
    "top_p": NUMBER,
    "stream": FLAG,
    "model": TEXT,
}

# Mistral accepts a bare URL and bare audio, OpenAI has objects for both.
_URL = Shape(str, dict, fields={"url": TEXT})
_CHAT_PART = _make_object(
    _make_fields(TEXT, "type", "text", "refusal", "file_id"),
    _make_fields(_URL, "image_url", "document_url"),
    input_audio=Shape(str, dict, fields=_AUDIO_FIELDS),
    file=_make_object(_make_fields(TEXT, "file_data", "file_id", "filename")),
    thinking=Shape(list, items=_make_object(text=TEXT)),
)
_CHAT_FUNCTION = _make_object(_make_fields(TEXT, "name", "description"), parameters=ANY_OBJECT)
FUNCTION_TOOLS = Shape(list, items=_make_object(type=TEXT, function=_CHAT_FUNCTION))
"""The tools of a request in the form of Chat Completions, which other APIs use, too."""
_CHAT_TOOL_CALLS = make_tool_calls(
    # Mistral's SDK sends arguments as an object.
    TEXT_OR_OBJECT,
    type=TEXT,
    index=INTEGER,
    custom=_make_object(_make_fields(TEXT, "name", "input")),
)
_CHAT_MESSAGE = _make_object(
    _make_fields(TEXT, "role", "name", "tool_call_id", "reasoning_content", "reasoning"),
    refusal=TEXT,
    content=Shape(str, list, items=_CHAT_PART),
    function_call=_make_object(_make_fields(TEXT, "name", "arguments")),
    tool_calls=_CHAT_TOOL_CALLS,
)
_ALLOWED_TOOLS = _make_object(mode=TEXT, tools=Shape(list, items=ANY_OBJECT))
CHAT = _make_object(
    _SAMPLING_FIELDS,
    _OPENAI_FIELDS,
    _make_fields(NUMBER, "frequency_penalty", "presence_penalty"),
    _make_fields(INTEGER, "n", "max_tokens", "max_completion_tokens", "seed"),
    _make_fields(ANY_OBJECT, "stream_options", "metadata"),
    function_call=TEXT_OR_OBJECT,
    tool_choice=Shape(str, dict, fields={"allowed_tools": _ALLOWED_TOOLS}),
    stop=Shape(str, list),
    messages=Shape(list, items=_CHAT_MESSAGE),
    tools=FUNCTION_TOOLS,
    functions=Shape(list, items=_CHAT_FUNCTION),
    response_format=_make_object(type=TEXT, json_schema=_make_object(name=TEXT, schema=ANY_OBJECT)),
)
"""The body of a request of Chat Completions."""

_RESPONSES_PART = _make_object(
    _make_fields(TEXT, "type", "text", "refusal", "image_url", "file_id", "file_data", "file_url"),
    filename=TEXT,
    input_audio=_make_object(_AUDIO_FIELDS),
)
_RESPONSES_ITEM = _make_object(
    _make_fields(TEXT, "type", "role", "id", "call_id", "name", "input"),
    # The arguments of a tool search are an object.
    arguments=TEXT_OR_OBJECT,
    content=Shape(str, list, items=_RESPONSES_PART),
    output=Shape(str, list, dict, items=_RESPONSES_PART),
    summary=Shape(list, items=_RESPONSES_PART),
)
_RESPONSES_TOOL = _make_object(
    _make_fields(TEXT, "type", "name", "description"), parameters=ANY_OBJECT
)
_RESPONSES_FORMAT = _make_object(_make_fields(TEXT, "type", "name"), schema=ANY_OBJECT)
RESPONSES = _make_object(
    _SAMPLING_FIELDS,
    _OPENAI_FIELDS,
    _make_fields(TEXT, "instructions", "previous_response_id", "truncation"),
    _make_fields(INTEGER, "max_output_tokens", "max_tool_calls"),
    _make_fields(ANY_OBJECT, "metadata", "prompt", "reasoning", "stream_options"),
    background=FLAG,
    input=Shape(str, list, items=_RESPONSES_ITEM),
    text=_make_object(format=_RESPONSES_FORMAT),
    tools=Shape(list, items=_RESPONSES_TOOL),
    tool_choice=Shape(str, dict, fields=_make_fields(TEXT, "type", "name") | _ALLOWED_TOOLS.fields),
)
"""The body of a request of OpenAI's Responses API."""

_BLOCK = _make_object(
    _make_fields(TEXT, "type", "text", "thinking", "id", "name", "tool_use_id", "file_id"),
    input=ANY_OBJECT,
)
_BLOCKS = Shape(str, list, items=_BLOCK)
# These fields hold blocks again, and are added when the shape of a block exists. An object is the
# error of a tool that Anthropic runs itself.
_BLOCK.fields["content"] = Shape(str, list, dict, items=_BLOCK)
_SOURCE_FIELDS = _make_fields(TEXT, "type", "media_type", "data", "url", "file_id")
# The source of a search result is a string.
_BLOCK.fields["source"] = Shape(str, dict, fields={**_SOURCE_FIELDS, "content": _BLOCKS})
_MESSAGES_TOOL = _make_object(
    _make_fields(TEXT, "type", "name", "description"), input_schema=ANY_OBJECT
)
_OUTPUT_FORMAT = _make_object(_make_fields(TEXT, "type", "name"), schema=ANY_OBJECT)
MESSAGES = _make_object(
    _SAMPLING_FIELDS,
    _make_fields(ANY_OBJECT, "metadata", "thinking"),
    max_tokens=INTEGER,
    stop_sequences=TEXTS,
    messages=Shape(list, items=_make_object(role=TEXT, content=_BLOCKS)),
    system=_BLOCKS,
    tools=Shape(list, items=_MESSAGES_TOOL),
    tool_choice=_make_object(_make_fields(TEXT, "type", "name")),
    output_format=_OUTPUT_FORMAT,
    output_config=_make_object(format=_OUTPUT_FORMAT),
)
"""The body of a request of Anthropic's Messages API."""

_GEMINI_FUNCTION_CALL = _make_object(_make_fields(TEXT, "id", "name"), args=ANY_OBJECT)
_GEMINI_FILES = {
    "inlineData": _make_object(_make_fields(TEXT, "mimeType", "data")),
    "fileData": _make_object(_make_fields(TEXT, "mimeType", "fileUri")),
}
_GEMINI_FUNCTION_RESPONSE = _make_object(
    _make_fields(TEXT, "id", "name"),
    response=ANY_OBJECT,
    parts=Shape(list, items=_make_object(_GEMINI_FILES)),
)
_GEMINI_PART = _make_object(
    _GEMINI_FILES,
    text=TEXT,
    thought=FLAG,
    functionCall=_GEMINI_FUNCTION_CALL,
    functionResponse=_GEMINI_FUNCTION_RESPONSE,
)
_GEMINI_PARTS = Shape(list, dict, items=_GEMINI_PART, fields=_GEMINI_PART.fields)
GEMINI_CONTENT = Shape(str, dict, fields={"role": TEXT, "parts": _GEMINI_PARTS})
_GEMINI_FUNCTION = _make_object(
    _make_fields(TEXT, "name", "description"),
    _make_fields(ANY_OBJECT, "parameters", "parametersJsonSchema"),
)
_GEMINI_TOOL = _make_object(functionDeclarations=Shape(list, items=_GEMINI_FUNCTION))
GEMINI = _make_object(
    contents=Shape(list, items=_make_object(role=TEXT, parts=_GEMINI_PARTS)),
    systemInstruction=GEMINI_CONTENT,
    # Like every list in a protocol buffer, it may be a single object instead of a list.
    tools=Shape(list, dict, items=_GEMINI_TOOL, fields=_GEMINI_TOOL.fields),
    toolConfig=_make_object(
        functionCallingConfig=_make_object(mode=TEXT, allowedFunctionNames=TEXTS)
    ),
    generationConfig=_make_object(
        _make_fields(NUMBER, "temperature", "topP"),
        _make_fields(ANY_OBJECT, "responseSchema", "responseJsonSchema"),
        maxOutputTokens=INTEGER,
        stopSequences=TEXTS,
        responseMimeType=TEXT,
    ),
)
"""The body of a request of Gemini, with field names in camelCase."""

_AWS_SOURCE = _make_object(_make_fields(TEXT, "bytes", "text"), s3Location=_make_object(uri=TEXT))
_AWS_FILE = _make_object(_make_fields(TEXT, "format", "name"), source=_AWS_SOURCE)
_AWS_BLOCK = _make_object(
    _make_fields(_AWS_FILE, "image", "document", "video", "audio"),
    text=TEXT,
    toolUse=_make_object(_make_fields(TEXT, "toolUseId", "name")),
    reasoningContent=_make_object(
        reasoningText=_make_object(_make_fields(TEXT, "text", "signature")),
        redactedContent=TEXT,
    ),
    guardContent=_make_object(text=_make_object(text=TEXT), image=_AWS_FILE),
)
_AWS_BLOCKS = Shape(list, items=_AWS_BLOCK)
# These fields hold blocks again, and are added when the shape of a block exists.
_AWS_CONTENT = _make_object(content=_AWS_BLOCKS)
_AWS_SOURCE.fields["content"] = _AWS_BLOCKS
_AWS_BLOCK.fields.update(_make_fields(_AWS_CONTENT, "searchResult", "citationsContent"))
_AWS_BLOCK.fields["toolResult"] = _make_object(
    _AWS_CONTENT.fields, _make_fields(TEXT, "toolUseId", "status")
)
_AWS_TOOL = _make_object(
    toolSpec=_make_object(
        _make_fields(TEXT, "name", "description"), inputSchema=_make_object(json=ANY_OBJECT)
    )
)
CONVERSE = _make_object(
    _make_fields(ANY_OBJECT, "additionalModelRequestFields", "performanceConfig", "serviceTier"),
    messages=Shape(list, items=_make_object(role=TEXT, content=_AWS_BLOCKS)),
    system=_AWS_BLOCKS,
    inferenceConfig=_make_object(
        _make_fields(NUMBER, "temperature", "topP"), maxTokens=INTEGER, stopSequences=TEXTS
    ),
    toolConfig=_make_object(
        tools=Shape(list, items=_AWS_TOOL),
        toolChoice=_make_object(
            _make_fields(ANY_OBJECT, "auto", "any"), tool=_make_object(name=TEXT)
        ),
    ),
    outputConfig=_make_object(
        textFormat=_make_object(
            type=TEXT,
            structure=_make_object(jsonSchema=_make_object(_make_fields(TEXT, "schema", "name"))),
        )
    ),
)
"""The body of a request of Bedrock's Converse, and of Nova."""
BEDROCK_PROMPT = _make_object(
    _make_fields(TEXT, "prompt"),
    _make_fields(NUMBER, "temperature", "top_p"),
    _make_fields(INTEGER, "max_gen_len", "max_tokens", "top_k"),
    stop=TEXTS,
)
"""The body of a request of Meta's and Mistral's models on Bedrock."""

INTERACTION = _make_object(
    _make_fields(TEXT, "model", "agent", "system_instruction", "previous_interaction_id"),
    _make_fields(FLAG, "stream", "store", "background"),
    input=Shape(str, list, dict, items=ANY_OBJECT),
    tools=Shape(list, items=_make_object(_make_fields(TEXT, "type", "name", "description"))),
    response_format=Shape(dict, list, items=ANY_OBJECT),
    generation_config=_make_object(
        _make_fields(NUMBER, "temperature", "top_p"),
        _make_fields(INTEGER, "max_output_tokens", "seed"),
        stop_sequences=TEXTS,
        tool_choice=TEXT_OR_OBJECT,
    ),
)
"""The body of a request of Google's Interactions."""

EMBEDDINGS = _make_object(
    _make_fields(TEXT, "model", "encoding_format"),
    _make_fields(Shape(str, list, items=Shape(str, int, list, dict)), "input", "inputs"),
    _make_fields(INTEGER, "dimensions", "output_dimension"),
)
"""The body of a request for embeddings of OpenAI, Mistral and others."""
_GEMINI_EMBEDDING = _make_object(
    content=GEMINI_CONTENT,
    outputDimensionality=INTEGER,
    embedContentConfig=ANY_OBJECT,
)
GEMINI_EMBEDDINGS = _make_object(
    _GEMINI_EMBEDDING.fields,
    requests=Shape(list, items=_GEMINI_EMBEDDING),
)
"""The body of a request for embeddings of Google."""
