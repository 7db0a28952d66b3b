"""Outlines of schemas for messages, which show the expected answer."""

from __future__ import annotations

from llm_mock.support.json_types import JSON, JSONObject
from llm_mock.support.text import to_compact_json

_MOST_PARTS = 60
"""The maximum number of parts in an outline, because a schema may be recursive."""
_ANYTHING = "…"


class SchemaForm:
    """The outline of a schema, such as `{"city": string, "days": integer}`.

    Args:
        schema: the JSON schema.
    """

    def __init__(self, schema: JSONObject) -> None:
        self.has_alternatives = False
        """Whether a part of the answer may be one of several objects."""
        self._definitions = schema.get("$defs")
        self._parts = 0
        self._text = self._format(schema)

    def __str__(self) -> str:
        return self._text

    def _format(self, part: JSON) -> str:
        schema = self._resolve(part)
        self._parts += 1
        if self._parts > _MOST_PARTS:
            return _ANYTHING
        if "const" in schema:
            return to_compact_json(schema["const"])
        # The schema may be invalid: it is not checked for texts that are not JSON.
        for keyword in ("enum", "anyOf", "oneOf"):
            choices = schema.get(keyword)
            if isinstance(choices, list):
                return self._format_choices(keyword, choices)
        names = _list_fields(schema)
        if names:
            return self._format_object(schema, names)
        if "items" in schema:
            return f"[{self._format(schema['items'])}]"
        return str(schema.get("type", _ANYTHING))

    def _resolve(self, schema: JSON) -> JSONObject:
        """Return a part of the schema, or the definition that it refers to."""
        if not isinstance(schema, dict):
            return {}
        if "$ref" not in schema or not isinstance(self._definitions, dict):
            return schema
        name = str(schema["$ref"]).rpartition("/")[2]
        definition = self._definitions.get(name)
        return definition if isinstance(definition, dict) else {}

    def _format_choices(self, keyword: str, choices: list[JSON]) -> str:
        """Return the values or the alternatives that a part may be."""
        if keyword == "enum":
            return " or ".join(map(to_compact_json, choices))
        objects = [each for each in choices if _list_fields(self._resolve(each))]
        if len(objects) > 1:
            self.has_alternatives = True
        return " or ".join(map(self._format, choices))

    def _format_object(self, schema: JSONObject, names: list[str]) -> str:
        properties = _get_properties(schema)
        fields = [
            f"{to_compact_json(name)}: {self._format(properties.get(name))}" for name in names
        ]
        # The other fields are optional, so they are not named.
        if not {*properties} <= {*names}:
            fields.append(_ANYTHING)
        return f"{{{', '.join(fields)}}}"


def _get_properties(schema: JSONObject) -> JSONObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _list_fields(schema: JSONObject) -> list[str]:
    """Return the required fields of an object, or all fields if none is required."""
    required = schema.get("required")
    fields = required if isinstance(required, list) else []
    return [*map(str, fields)] or [*_get_properties(schema)]
