"""The OpenAPI documents that providers publish, by which answers are validated.

They are no part of this repository. An environment variable names the file of each, in YAML or
JSON: see `docs/contributing.md`.
"""

from __future__ import annotations

import functools
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.jsonschema import DRAFT202012

DOCUMENT_URI = "urn:openapi"
STRUCTURE = {"$ref", "properties", "additionalProperties", "allOf", "anyOf", "oneOf"}
"""The keywords that say which fields an object has."""
KEPT = {
    *("type", "enum", "const", "required", "pattern", "minimum", "maximum"),
    *("minLength", "maxLength", "minItems", "maxItems"),
}
"""The other keywords that restrict a value."""


class Publisher(NamedTuple):
    """A provider that publishes an OpenAPI document."""

    variable: str
    """The environment variable with the path of the document."""
    source: str
    """The place where the document is published."""
    prefix: str
    """The begin of the path of a URL that the paths of the document leave out."""
    error: str | None = None
    """The schema of its errors; None if the document has none."""
    event: str | None = None
    """The schema of an event; None if the document has one for each endpoint that streams."""
    has_event_names: bool = False
    """True if the schema of a stream is of the event's name and data, not of the data alone."""
    nullable: Mapping[str, str] = MappingProxyType({})
    """Fields that are null in answers of the provider, unlike in its document, with the reason."""
    unknown: Mapping[str, str] = MappingProxyType({})
    """Fields that the document leaves out, with the reason."""
    optional: Mapping[str, str] = MappingProxyType({})
    """Fields that the document requires, and answers leave out, with the reason."""


NULL_SENT = "null in recorded answers"
NEWER = "in the newer types of the SDK"
OTHERS = "sent by others who speak OpenAI's protocol"
PUBLISHERS = {
    "api.openai.com": Publisher(
        "LLM_MOCK_OPENAI_OPENAPI",
        "openapi.yaml of https://github.com/openai/openai-openapi",
        prefix="/v1",
        error="ErrorResponse",
        nullable={
            "CreateChatCompletionResponse.system_fingerprint": NULL_SENT,
            "CreateChatCompletionStreamResponse.system_fingerprint": NULL_SENT,
            "Response.2.usage": "null until the response is finished",
        },
        unknown={
            "Response.store": "in recorded answers",
            "ChatCompletionResponseMessage.reasoning_content": OTHERS,
            "ChatCompletionStreamResponseDelta.reasoning_content": OTHERS,
            "ChatCompletionStreamResponseDelta.annotations": "sent by the models that search",
            "ChatCompletionStreamResponseDelta.audio": NEWER,
            "ImageGenToolCall.output_format": NEWER,
            "ImageGenToolCall.revised_prompt": NEWER,
            "ResponseLogProb.bytes": "in recorded answers",
            "ResponseLogProb.top_logprobs[].bytes": "in recorded answers",
        },
    ),
    "api.mistral.ai": Publisher(
        "LLM_MOCK_MISTRAL_OPENAPI",
        "public/openapi.yaml of https://github.com/mistralai/platform-docs-public",
        prefix="",
        has_event_names=True,
        unknown={
            "ChatCompletionChoice.logprobs": NEWER,
            "CompletionResponseStreamChoice.logprobs": NEWER,
        },
        optional={"ChatCompletionResponse.1.data": "required without being a property"},
    ),
    "api.cohere.com": Publisher(
        "LLM_MOCK_COHERE_OPENAPI",
        "cohere-openapi.yaml of https://github.com/cohere-ai/cohere-developer-experience",
        prefix="",
        event="StreamedChatResponseV2",
        unknown={
            f"ChatMessageStartEvent.1.delta.message.{name}": "in recorded streams"
            for name in ("content", "tool_plan", "tool_calls", "citations")
        },
        optional={
            "EmbedByTypeResponse.api_version": "required without being a property",
            "EmbedFloatsResponse.api_version": "required without being a property",
        },
    ),
}
"""The publishers, by their hosts."""


class Document:
    """An OpenAPI document.

    Args:
        content: its content.
        publisher: the provider that publishes it.
    """

    def __init__(self, content: dict[str, Any], publisher: Publisher) -> None:
        self._publisher = publisher
        self._paths = content["paths"]
        self._responses = content["components"].get("responses", {})
        schemas = content["components"]["schemas"]
        _amend(schemas, publisher)
        closed = {name: close_schema(schema, "branch") for name, schema in schemas.items()}
        resource = DRAFT202012.create_resource({"components": {"schemas": closed}})
        self._registry = Registry().with_resource(DOCUMENT_URI, resource)

    def find_schema(self, method: str, path: str, status: int, media_type: str) -> Any:
        """Return the schema of a response, or of an event of a stream; None without one."""
        if status >= 400:
            name = self._publisher.error
            return name and {"$ref": f"#/components/schemas/{name}"}
        if media_type == "text/event-stream" and self._publisher.event is not None:
            return {"$ref": f"#/components/schemas/{self._publisher.event}"}
        path = path.removeprefix(self._publisher.prefix)
        for template in (path, f"{path}#stream", *self._match_templates(path)):
            responses = self._paths.get(template, {}).get(method.lower(), {}).get("responses", {})
            response = responses.get(str(status), {})
            schema = response.get("content", {}).get(media_type, {}).get("schema")
            if schema is not None:
                return schema
        return None

    def find_problems(self, value: Any, schema: Any) -> list[str]:
        """Return what a schema finds wrong in a value."""
        closed = close_schema(schema, "whole")
        validator = Draft202012Validator(closed, registry=self._registry)
        errors = _find_causes(list(validator.iter_errors(value)))
        return sorted({f"{error.json_path}: {error.message[:300]}" for error in errors})

    def _match_templates(self, path: str) -> Iterator[str]:
        """Yield the paths with parameters that fit a path."""
        for template in self._paths:
            pattern = re.sub(r"\\\{[^/]+\\\}", "[^/]+", re.escape(template))
            if "{" in template and re.fullmatch(pattern, path):
                yield template


def _find_causes(errors: list[ValidationError]) -> list[ValidationError]:
    """Return the errors of the branch that is meant, in place of that of the whole union."""
    found = []
    for error in errors:
        if _is_consequence(error, errors):
            continue
        branches = defaultdict[Any, list[ValidationError]](list)
        for each in error.context or ():
            branches[each.relative_schema_path[0]].append(each)
        inner = [_find_causes(branch) for branch in branches.values()]
        found += min(inner, key=_measure_distance) if inner else [error]
    return found


def _is_consequence(error: ValidationError, errors: list[ValidationError]) -> bool:
    """Return True for fields that count as unknown because something in them is wrong."""
    if error.validator != "unevaluatedProperties":
        return False
    path = list(error.absolute_path)
    for other in errors:
        is_inside = list(other.absolute_path)[: len(path)] == path
        is_deeper = len(other.absolute_path) > len(path)
        if is_inside and (is_deeper or other.validator != error.validator):
            return True
    return False


def _measure_distance(errors: list[ValidationError]) -> tuple[int, int]:
    """Return how far a value is from a branch: one of another `type` is the furthest."""
    others = [error for error in errors if error.path and error.path[-1] == "type"]
    is_another = any(error.validator in ("enum", "const") for error in others)
    deepest = max((len(error.absolute_path) for error in errors), default=0)
    return (1 if is_another else 0), -deepest


def _amend(schemas: dict[str, Any], publisher: Publisher) -> None:
    """Change the schemas as the tables of a publisher say; later documents may have done so."""
    for field in publisher.nullable:
        owner, name = _find_owner(schemas, field)
        if name in owner.get("properties", {}):
            properties = owner["properties"]
            properties[name] = {"anyOf": [properties[name], {"type": "null"}]}
    for field in publisher.unknown:
        owner, name = _find_owner(schemas, field)
        owner.setdefault("properties", {}).setdefault(name, {})
    for field in publisher.optional:
        owner, name = _find_owner(schemas, field)
        owner["required"] = [each for each in owner.get("required", ()) if each != name]


def _find_owner(schemas: dict[str, Any], field: str) -> tuple[dict[str, Any], str]:
    """Return the schema of an object and the name of a field, such as `Response.usage`.

    Between them is the number of a part of `allOf`, or a list such as `items[]`.
    """
    name, *steps, last = field.split(".")
    owner = schemas.get(name, {})
    for step in steps:
        if step.isdecimal():
            owner = owner.get("allOf", [{}] * 9)[int(step)]
        else:
            owner = owner.get("properties", {}).get(step.removesuffix("[]"), {})
            if step.endswith("[]"):
                owner = owner.get("items", {})
    return owner, last


def close_schema(schema: Any, place: str) -> Any:
    """Return a schema that refuses unknown fields, in the dialect of JSON Schema.

    Args:
        schema: a schema of OpenAPI 3.0 or 3.1.
        place: `whole` for the schema of a value, `branch` for one of several, and `part` for one
            that applies together with others.
    """
    if not isinstance(schema, dict):
        return schema
    closed = {name: value for name, value in schema.items() if name in KEPT}
    if "$ref" in schema:
        closed["$ref"] = DOCUMENT_URI + schema["$ref"]
    if "properties" in schema:
        fields = schema["properties"].items()
        closed["properties"] = {name: close_schema(field, "whole") for name, field in fields}
    for name in ("items", "additionalProperties"):
        if name in schema:
            closed[name] = close_schema(schema[name], "whole")
    parts = _close_parts(schema)
    if parts:
        closed["allOf"] = parts
    if not STRUCTURE.isdisjoint(schema):
        if place == "whole":
            closed["unevaluatedProperties"] = False
    elif place != "part" and "object" in schema.get("type", "object"):
        closed["additionalProperties"] = True
    return {"anyOf": [closed, {"type": "null"}]} if schema.get("nullable") else closed


def _close_parts(schema: dict[str, Any]) -> list[Any]:
    """Return the schemas that apply together with the keywords of a schema."""
    parts = [close_schema(part, "part") for part in schema.get("allOf", ())]
    for name in ("anyOf", "oneOf"):
        if name in schema:
            # Several branches of `oneOf` may fit: a discriminator tells them apart.
            parts.append({"anyOf": [close_schema(branch, "branch") for branch in schema[name]]})
    return parts


@functools.lru_cache
def load_document(host: str) -> Document | None:
    """Return the document of the provider at a host; None if no variable names it."""
    publisher = PUBLISHERS[host]
    path = os.environ.get(publisher.variable)
    if not path:
        return None
    # The one in C, as a document has ten thousands of lines.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content = yaml.load(Path(path).read_text(encoding="utf-8"), loader)
    return Document(content, publisher)
