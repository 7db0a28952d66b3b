"""The schema that a reply or an assertion expects, and its comparison with requests."""

from __future__ import annotations

import functools
import json
import re

from llm_mock.support.json_types import JSON, JSONObject
from llm_mock.support.schemas import get_schema_name, to_json_schema

# Anthropic's SDK moves keywords that its API does not support into the description.
_MOVED_KEYWORDS = re.compile(r"(^|\n\n)\{.*\}$", re.DOTALL)


class ExpectedSchema(str):
    """The name of a schema, with its content, which identifies it in requests without a name.

    Args:
        name: the name; see `get_schema_name`.
        content: the JSON of the schema.
    """

    content: str

    def __new__(cls, name: str, content: str = "") -> ExpectedSchema:
        """Return a name with its content; pickle sets the content afterwards."""
        expected = super().__new__(cls, name)
        expected.content = content
        return expected


def expect_schema(schema: object) -> str | None:
    """Return the name of a schema with its content, or only a name; None for no schema.

    Raises:
        InvalidReply: the value is not a schema.
    """
    __tracebackhide__ = True
    name = get_schema_name(schema)
    if name is None or isinstance(schema, str):
        return name
    return ExpectedSchema(name, _to_text(to_json_schema(schema)))


def is_same_schema(expected: str, name: str | None, schema: JSONObject | None) -> bool:
    """Return whether a request asks for an expected schema.

    Args:
        expected: the result of `expect_schema`.
        name: the name of the requested schema; None without one.
        schema: the requested schema.
    """
    if expected == name:
        return True
    if name is None or not isinstance(expected, ExpectedSchema):
        return False
    # If both schemas have a title, only the titles count, because SDKs change the content.
    if not is_content(expected) and not is_content(name):
        return False
    expected_outline = _outline(expected.content)
    outline = _outline(_to_text(schema))
    return bool(expected_outline == outline)


def is_content(name: str) -> bool:
    """Return whether the name of a schema is its content, because it has no title."""
    return name.startswith("{")


def _to_text(schema: object) -> str:
    return json.dumps(schema, default=repr)


@functools.lru_cache
def _outline(schema: str) -> JSON:
    """Return the parts of a schema that every SDK sends: the fields with types and descriptions.

    SDKs omit titles, defaults, limits and the description of the whole schema, and forbid further
    fields.
    """
    loaded = json.loads(schema)
    outline = _outline_part(loaded)
    if isinstance(outline, dict):
        outline.pop("description", None)
        outline["$defs"] = _outline_named(loaded.get("$defs"))
    return outline


def _outline_part(schema: JSON) -> JSON:
    # True and False are schemas, too.
    if not isinstance(schema, dict):
        return schema
    # Some SDKs omit the keywords beside a reference.
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    outline = {keyword: schema[keyword] for keyword in ("type", "required") if keyword in schema}
    if isinstance(outline.get("required"), list):
        outline["required"] = sorted(map(str, outline["required"]))
    description = _MOVED_KEYWORDS.sub("", str(schema.get("description", "")))
    if description:
        outline["description"] = description
    outline["properties"] = _outline_named(schema.get("properties"))
    outline["items"] = _outline_part(schema.get("items"))
    _outline_choices(schema, outline)
    return outline


def _outline_choices(schema: JSONObject, outline: JSONObject) -> None:
    """Add the values or the alternatives that a part of a schema allows."""
    values = schema.get("enum")
    if "const" in schema:
        values = [schema["const"]]
    if values:
        outline["enum"] = values
        # The values show their type, so some SDKs omit it.
        outline.pop("type", None)
    for keyword in ("anyOf", "oneOf", "allOf"):
        alternatives = schema.get(keyword)
        if isinstance(alternatives, list):
            outline["anyOf"] = [_outline_part(alternative) for alternative in alternatives]


def _outline_named(schemas: JSON) -> JSON:
    """Return the outlines of properties or definitions by their names."""
    if not isinstance(schemas, dict):
        return {}
    return {name: _outline_part(schema) for name, schema in schemas.items()}
