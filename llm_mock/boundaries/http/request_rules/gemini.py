"""Rules of Google's Gemini API, and the subset that certainly applies to Vertex AI.

See https://ai.google.dev/api/generate-content and the types of its SDK, `google.genai.types`. The
messages come from error responses that applications have recorded and reported. Paths in them are
in snake_case.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from llm_mock.boundaries.http.request_rules.rule import Check, Memo, Rule, RuleSet, Violation
from llm_mock.boundaries.http.sdk_fields import has_sdk_field
from llm_mock.boundaries.http.wire_error import WireError

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.support.json_types import JSONObject

REFERENCE = "https://ai.google.dev/api/generate-content"
CONTENTS = "https://ai.google.dev/api/caching#Content"
FUNCTION_GUIDE = "https://ai.google.dev/gemini-api/docs/function-calling"
ROLES = (None, "", "user", "model", "function")
SDK_TYPES = (
    ("google.genai.types", "GenerateContentConfig"),
    ("google.genai.types", "GenerationConfig"),
)
LONGEST_NAME = 128
MOST_TOKENS = 65_536
"""The maximum number of output tokens of Gemini 2.5."""
VERTEX_REFERENCE = "https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini"
"""The address in messages of Vertex AI."""


class ForeignFields(NamedTuple):
    """The fields that only other providers have in an object of the same name."""

    names: frozenset[str]
    """Their names in camelCase."""
    sdk_type: tuple[str, str]
    """The SDK's type of the object, which may have newer fields."""


class UnknownField(NamedTuple):
    """A field that does not exist."""

    name: str
    """Its name as the client sent it."""
    place: str | None
    """The object with the field, as named in messages; None for the body."""


# OpenAI and Anthropic have these fields in a tool or in its function.
FOREIGN_TOOL_FIELDS = ForeignFields(
    frozenset(("description", "function", "inputSchema", "name", "parameters", "strict", "type")),
    ("google.genai.types", "Tool"),
)
FOREIGN_FUNCTION_FIELDS = ForeignFields(
    frozenset(("function", "inputSchema", "strict", "type")),
    ("google.genai.types", "FunctionDeclaration"),
)

UNKNOWN_ROLE = Rule("unknown-role", "a role that does not exist", CONTENTS)
EMPTY_CONTENT = Rule("empty-content", "a message without parts, or an empty part", CONTENTS)
CALL_COUNT = Rule(
    "tool-call-without-result",
    "a turn whose number of function responses differs from the number of function calls in the "
    "previous turn",
    "https://github.com/google-gemini/gemini-cli/issues/16984",
)
RESPONSE_WITHOUT_CALL = Rule(
    "tool-result-without-call", "a function response without a function call", FUNCTION_GUIDE
)
UNKNOWN_PARAMETER = Rule(
    "unknown-parameter", "a parameter that does not exist", f"{REFERENCE}#GenerationConfig"
)
OUT_OF_RANGE = Rule(
    "number-out-of-range",
    "a number outside the range of its parameter",
    f"{REFERENCE}#GenerationConfig",
)
TOOL_NAME = Rule(
    "tool-name",
    "a function without a name, or with characters in its name other than letters, digits, _, ., : "
    "and -",
    "https://ai.google.dev/api/caching#FunctionDeclaration",
)
REPEATED_TOOL = Rule("repeated-tool", "two functions with the same name", FUNCTION_GUIDE)
TOOL_SCHEMA = Rule(
    "tool-schema",
    "parameters that have an array without items",
    "https://ai.google.dev/api/caching#Schema",
)
TOOL_CHOICE = Rule(
    "tool-choice",
    "a function calling configuration for an unknown function, or, before Gemini 3, "
    "without functions",
    FUNCTION_GUIDE,
)
MODEL_FEATURE = Rule(
    "model-feature",
    "functions or a system instruction for a model that does not support them",
    "https://ai.google.dev/gemma/docs/core/gemma_on_gemini_api",
)
ALL_RULES = (
    UNKNOWN_ROLE,
    EMPTY_CONTENT,
    CALL_COUNT,
    RESPONSE_WITHOUT_CALL,
    UNKNOWN_PARAMETER,
    OUT_OF_RANGE,
    TOOL_NAME,
    REPEATED_TOOL,
    TOOL_SCHEMA,
    TOOL_CHOICE,
    MODEL_FEATURE,
)

_NAME = re.compile(rf"^[a-zA-Z_][a-zA-Z0-9_.:-]{{0,{LONGEST_NAME - 1}}}$")
_BEFORE_3 = re.compile(r"^gemini-[12]\.")
_NO_FUNCTIONS = re.compile(r"^(gemma-3|gemini-[^/]*-(tts|image)(-|$))")
_NO_INSTRUCTION = re.compile(r"^(gemma-3|gemini-[^/]*-tts(-|$))")
_LIMITED_TO_65536 = re.compile(r"^gemini-2\.5-(pro|flash|flash-lite)$")
_passed_tools = Memo()
_passed_vertex_tools = Memo()


def _make(rule: Rule, message: str) -> Violation:
    return Violation(rule, WireError(400, message))


def _make_field_violation(rule: Rule, path: str, problem: str) -> Violation:
    # The API ends such a message with a newline, as it may list several fields.
    return _make(rule, f"* GenerateContentRequest.{path}: {problem}\n")


def check_contents(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the conversation at the Gemini API."""
    for index, content in enumerate(request.body["contents"]):
        parts = content.get("parts")
        path = f"contents[{index}].parts"
        if not parts:
            yield _make_field_violation(EMPTY_CONTENT, path, "contents.parts must not be empty.")
        elif isinstance(parts, list) and {} in parts:
            problem = "required oneof field 'data' must have one initialized field"
            place = f"{path}[{parts.index({})}].data"
            yield _make_field_violation(EMPTY_CONTENT, place, problem)
    yield from check_turns(request)


# Each request has the whole conversation, so that this runs for each message of each request.
def check_turns(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the order of the conversation."""
    calls = responses = 0
    is_model_before = False
    for content in request.body["contents"]:
        role = content.get("role")
        if role not in ROLES:
            yield _make(UNKNOWN_ROLE, "Please use a valid role: user, model.")
        is_model = role == "model"
        # Consecutive messages of a role are one turn.
        if is_model and not is_model_before:
            yield from _check_counts(calls, responses)
            calls = responses = 0
        is_model_before = is_model
        for part in _get_parts(content):
            if is_model and part.get("functionCall"):
                calls += 1
            elif part.get("functionResponse"):
                responses += 1
    # A call in the last turn has no response yet.
    if not is_model_before:
        yield from _check_counts(calls, responses)


def _get_parts(content: JSONObject) -> list[JSONObject]:
    parts: Any = content.get("parts") or []
    return [parts] if isinstance(parts, dict) else parts


def _check_counts(calls: int, responses: int) -> Iterator[Violation]:
    """Yield the violation of a user turn.

    Args:
        calls: the number of function calls in the turn before.
        responses: the number of function responses in this turn.
    """
    if responses and not calls:
        message = (
            "Please ensure that function response turn comes immediately after a function call "
            "turn."
        )
        yield _make(RESPONSE_WITHOUT_CALL, message)
    elif responses != calls:
        message = (
            "Please ensure that the number of function response parts is equal to the number of "
            "function call parts of the function call turn."
        )
        yield _make(CALL_COUNT, message)


def check_tools(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the tools on offer."""
    if request.tools and _NO_FUNCTIONS.match(request.model_id):
        yield _make_disabled("Function calling", request.model_id)
    check_new_tools = functools.partial(_check_new_tools, request)
    yield from _passed_tools.check_once(_list_tools(request), check_new_tools)


def check_vertex_tools(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violation of tools in the form of another provider at Vertex AI."""
    check_new_tools = functools.partial(_check_tool_fields, request)
    return _passed_vertex_tools.check_once(_list_tools(request), check_new_tools)


def _list_tools(request: HTTPRequest) -> list[JSONObject]:
    tools: list[JSONObject] | JSONObject = request.body["tools"]
    return [tools] if isinstance(tools, dict) else tools


def _check_new_tools(request: HTTPRequest, tools: list[JSONObject]) -> Iterator[Violation]:
    # In this order, as the API parses the body before it checks the functions.
    yield from _check_tool_fields(request, tools)
    yield from _check_functions(tools)


def _check_tool_fields(request: HTTPRequest, tools: list[JSONObject]) -> Iterator[Violation]:
    """Yield the violation of tools in the form of another provider."""
    # The API names all of them: https://github.com/lbjlaq/Antigravity-Manager/pull/73
    unknown: list[UnknownField] = []
    for index, tool in enumerate(tools):
        place = f"tools[{index}]"
        unknown += _find_foreign_fields(request, tool, place, FOREIGN_TOOL_FIELDS)
        for position, function in enumerate(tool.get("functionDeclarations") or ()):
            path = f"{place}.function_declarations[{position}]"
            unknown += _find_foreign_fields(request, function, path, FOREIGN_FUNCTION_FIELDS)
    if unknown:
        yield _make_unknown_violation(unknown)


def _find_foreign_fields(
    request: HTTPRequest, value: JSONObject, place: str, foreign: ForeignFields
) -> list[UnknownField]:
    """Return the fields of a tool or of a function that only other providers have.

    Args:
        request: the request.
        value: the tool or the function.
        place: its place in the body.
        foreign: the fields of other providers.
    """
    unknown = []
    for name in value:
        snake_name = _convert_to_snake_case(name)
        if name in foreign.names and not has_sdk_field(snake_name, foreign.sdk_type):
            is_in_snake_case = f'"{snake_name}"' in _get_sent_text(request)
            unknown.append(UnknownField(snake_name if is_in_snake_case else name, place))
    return unknown


def _get_sent_text(request: HTTPRequest) -> str:
    """Return the body as sent, with field names in the client's case."""
    return "" if request.sent is None else request.sent.body.decode("utf-8", "replace")


def check_instruction(request: HTTPRequest) -> Iterable[Violation]:
    """Return the violation of a system instruction for a model that does not support it."""
    if not _NO_INSTRUCTION.match(request.model_id):
        return ()
    return (_make_disabled("Developer instruction", request.model_id),)


def _make_disabled(feature: str, model: str) -> Violation:
    """Return the violation of a feature that a model does not support."""
    # The API names the model only for other model families.
    shown = f"models/{model}" if model.startswith("gemma-") else "this model"
    return _make(MODEL_FEATURE, f"{feature} is not enabled for {shown}")


def _check_functions(tools: list[JSONObject]) -> Iterator[Violation]:
    names: set[str] = set()
    for index, tool in enumerate(tools):
        for position, function in enumerate(tool.get("functionDeclarations") or ()):
            path = f"tools[{index}].function_declarations[{position}]"
            name = function.get("name")
            if not _NAME.match(name or ""):
                problem = (
                    "Invalid function name. Must start with a letter or an underscore. Must be "
                    "alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes "
                    f"(-), with a maximum length of {LONGEST_NAME}."
                )
                yield _make_field_violation(TOOL_NAME, f"{path}.name", problem)
            elif name in names:
                yield _make(REPEATED_TOOL, f"Duplicate function declaration found: {name}")
            names.add(name)
            parameters = function.get("parameters")
            if isinstance(parameters, dict):
                yield from _check_schema(parameters, f"{path}.parameters")


def _check_schema(schema: JSONObject, path: str) -> Iterator[Violation]:
    """Yield the violations of arrays without `items` in a Gemini schema."""
    kind = schema.get("type")
    items = schema.get("items")
    has_items = items is not None or "prefixItems" in schema
    if isinstance(kind, str) and kind.upper() == "ARRAY" and not has_items:
        yield _make_field_violation(TOOL_SCHEMA, f"{path}.items", "missing field.")
    if isinstance(items, dict):
        yield from _check_schema(items, f"{path}.items")
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, child in properties.items():
            if isinstance(child, dict):
                yield from _check_schema(child, f"{path}.properties[{name}]")


def check_tool_config(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the configuration of function calls."""
    config = request.body["toolConfig"].get("functionCallingConfig")
    if not config:
        return
    # Later models accept it.
    if not request.tools and _BEFORE_3.match(request.model_id):
        message = "Function calling config is set without function_declarations."
        yield _make(TOOL_CHOICE, message)
    offered = {tool.name for tool in request.tools}
    if not offered.issuperset(config.get("allowedFunctionNames") or ()):
        message = "allowed_function_names should be a subset of the provided function_declarations"
        yield _make(TOOL_CHOICE, message)


def check_config(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the configuration."""
    config = request.body["generationConfig"]
    yield from check_config_names(request)
    for name, (minimum, maximum, problem) in RANGES.items():
        value = config.get(name)
        if isinstance(value, (int, float)) and not minimum <= value <= maximum:
            field = _convert_to_snake_case(name)
            path = f"generation_config.{field}"
            yield _make_field_violation(OUT_OF_RANGE, path, f"{field} {problem}")


def check_vertex_contents(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the conversation at Vertex AI."""
    for content in request.body["contents"]:
        if any(part.get("text") == "" for part in _get_parts(content)):
            message = (
                "Unable to submit request because it has an empty text parameter. Add a value to "
                f"the parameter and try again. Learn more: {VERTEX_REFERENCE}"
            )
            yield _make(EMPTY_CONTENT, message)
    yield from check_turns(request)


def check_vertex_config(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the configuration at Vertex AI."""
    yield from check_config_names(request)
    most = request.body["generationConfig"].get("maxOutputTokens")
    is_limited = isinstance(most, int) and _LIMITED_TO_65536.match(request.model_id)
    if is_limited and not 1 <= most <= MOST_TOKENS:
        message = (
            f"Unable to submit request because it has a maxOutputTokens value of {most} but the "
            f"supported range is from 1 (inclusive) to {MOST_TOKENS + 1} (exclusive). Update the "
            "value and try again."
        )
        yield _make(OUT_OF_RANGE, message)


def check_config_names(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations of parameters of the configuration that do not exist."""
    for name in request.body["generationConfig"]:
        if name not in CONFIG_FIELDS:
            yield from _check_name(request, name, "generationConfig", "generation_config")


def check_unknown(request: HTTPRequest, name: str) -> Iterable[Violation]:
    """Return the violation of a parameter that does not exist."""
    return _check_name(request, name, None, None)


def _check_name(
    request: HTTPRequest, name: str, parent: str | None, place: str | None
) -> Iterator[Violation]:
    """Yield the violation of a field that does not exist.

    Args:
        request: the request.
        name: the field in camelCase.
        parent: the field of the body that has it; None for the body itself.
        place: the parent as named in the message.
    """
    # The installed SDK may know a newer parameter of the configuration.
    if parent is not None and has_sdk_field(_convert_to_snake_case(name), *SDK_TYPES):
        return
    field = UnknownField(_find_sent_name(request, name, parent), place)
    yield _make_unknown_violation([field])


def _make_unknown_violation(fields: Iterable[UnknownField]) -> Violation:
    """Return one violation for all fields that do not exist."""
    descriptions = []
    violations = []
    for name, place in fields:
        where = f" at '{place}'" if place else ""
        description = (
            f'Invalid JSON payload received. Unknown name "{name}"{where}: Cannot find field.'
        )
        field = {"field": place} if place else {}
        descriptions.append(description)
        violations.append({**field, "description": description})
    message = "\n".join(descriptions)
    details = {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": violations,
    }
    error = {
        "code": 400,
        "message": message,
        "status": "INVALID_ARGUMENT",
        "details": [details],
    }
    return Violation(UNKNOWN_PARAMETER, WireError(400, message, body={"error": error}))


def _find_sent_name(request: HTTPRequest, name: str, parent: str | None) -> str:
    """Return the name of a field as the client sent it, possibly in snake_case."""
    sent: Any = {} if request.sent is None else from_json(request.sent.body)
    if parent is not None:
        sent = sent.get(parent) or sent.get(_convert_to_snake_case(parent)) or {}
    snake_name = _convert_to_snake_case(name)
    return snake_name if snake_name in sent else name


def _convert_to_snake_case(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()


RANGES = {
    "temperature": (0, 2, "must be in the range [0.0, 2.0]."),
    "topP": (0, 1, "must be in the range [0.0, 1.0]."),
    "candidateCount": (1, 8, "must be in the range [1, 8]."),
    "maxOutputTokens": (1, float("inf"), "must be positive."),
}
"""The least and the greatest value of a parameter, and the words for others."""
CONFIG_FIELDS = frozenset(
    {
        "audioTimestamp",
        "audioTranscriptionConfig",
        "candidateCount",
        "enableAffectiveDialog",
        "enableEnhancedCivicAnswers",
        "frequencyPenalty",
        "imageConfig",
        "logprobs",
        "maxOutputTokens",
        "mediaResolution",
        "modelConfig",
        "modelSelectionConfig",
        "presencePenalty",
        "responseFormat",
        "responseJsonSchema",
        "responseLogprobs",
        "responseMimeType",
        "responseModalities",
        "responseSchema",
        "routingConfig",
        "seed",
        "speechConfig",
        "stopSequences",
        "temperature",
        "thinkingConfig",
        "topK",
        "topP",
        "translationConfig",
    }
)
"""The parameters in `generationConfig`."""
_OTHERS: dict[str, Check | None] = dict.fromkeys(
    (
        "cachedContent",
        "continuationToken",
        "labels",
        "model",
        "modelArmorConfig",
        "outputConfig",
        "safetySettings",
        "serviceTier",
        "store",
    )
)
RULES = RuleSet(
    {
        **_OTHERS,
        "contents": check_contents,
        "tools": check_tools,
        "toolConfig": check_tool_config,
        "systemInstruction": check_instruction,
        "generationConfig": check_config,
    },
    check_unknown,
)
# Vertex AI's messages for fields that are out of range or empty differ; most are not known.
VERTEX_RULES = RuleSet(
    {
        **_OTHERS,
        "contents": check_vertex_contents,
        "tools": check_vertex_tools,
        "toolConfig": None,
        "systemInstruction": None,
        "generationConfig": check_vertex_config,
    },
    check_unknown,
)
