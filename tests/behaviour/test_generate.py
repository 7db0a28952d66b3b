"""Generated answers: valid for their schema, always the same, or a clear error."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import AnyUrl, Base64Str, BaseModel, ConfigDict, Field, RootModel, SecretStr, conint

from llm_mock.behaviour.generate import generate_instance, generate_reply
from llm_mock.errors import LLMMockError
from tests.conftest import RunPython


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(Enum):
    LOW = 1
    HIGH = 2


class Plain(BaseModel):
    name: str
    count: int
    ratio: float
    done: bool
    nothing: None
    anything: Any
    left_out: int = 3


class Numbers(BaseModel):
    positive: Annotated[int, Field(gt=0)]
    negative: Annotated[int, Field(lt=0)]
    narrow: Annotated[int, Field(gt=6, lt=8)]
    tens: Annotated[int, Field(ge=11, multiple_of=10)]
    between: Annotated[float, Field(gt=0, lt=1)]
    tenths: Annotated[float, Field(ge=0.25, le=0.95, multiple_of=0.1)]
    halves: Annotated[float, Field(gt=-1, lt=0, multiple_of=0.5)]
    from_below: Annotated[float, Field(le=-2.5)]
    old_style: conint(ge=5, le=5)  # type: ignore[valid-type]


class Decimals(BaseModel):
    any: Decimal
    price: Annotated[Decimal, Field(gt=0, max_digits=6, decimal_places=2)]
    share: Annotated[Decimal, Field(gt=0, lt=1)]


class Texts(BaseModel):
    short: Annotated[str, Field(max_length=2)]
    long: Annotated[str, Field(min_length=30, max_length=31)]
    empty: Annotated[str, Field(max_length=0)]
    secret: SecretStr
    data: bytes
    encoded: Base64Str
    url: AnyUrl


class Moments(BaseModel):
    day: date
    moment: datetime
    clock: time
    span: timedelta
    id: UUID
    four: IPv4Address
    six: IPv6Address


class Address(BaseModel):
    street: Annotated[str, Field(min_length=1)]
    colour: Colour


class Nested(BaseModel):
    home: Address
    others: Annotated[list[Address], Field(min_length=2)]
    by_name: Annotated[dict[str, Address], Field(min_length=2)]


class Choices(BaseModel):
    maybe: Address | None
    either: Annotated[int, Field(gt=3)] | Address
    literal: Literal["a", 2, None]
    colour: Colour
    level: Level


class Containers(BaseModel):
    colours: Annotated[set[Colour], Field(min_length=2)]
    numbers: Annotated[set[int], Field(min_length=3)]
    mixed: Annotated[set[bool | int | str | None], Field(min_length=5)]
    decimals: Annotated[set[Decimal], Field(min_length=2)]
    days: Annotated[frozenset[date], Field(min_length=3)]
    letters: Annotated[set[Annotated[str, Field(max_length=1)]], Field(min_length=5)]
    pairs: Annotated[set[tuple[bool, Colour]], Field(min_length=2)]
    pair: tuple[int, Address]
    many: tuple[int, ...]
    counts: dict[str, int]
    some_counts: Annotated[dict[str, int], Field(min_length=2)]
    numbered: Annotated[dict[int, list[str]], Field(min_length=2)]
    by_colour: dict[Colour, int]
    by_pattern: dict[Annotated[str, Field(pattern="^a+$")], int]
    ten: Annotated[list[int], Field(min_length=10, max_length=10)]


class Point(BaseModel):
    model_config = ConfigDict(frozen=True)
    x: int
    label: str = "text"


class Points(BaseModel):
    points: Annotated[set[Point], Field(min_length=3)]


class Tree(BaseModel):
    name: str
    left: Tree | None
    children: list[Tree]
    by_name: dict[str, Tree]


class Sum(BaseModel):
    kind: Literal["sum"]
    terms: Annotated[list[Expression], Field(min_length=2)]


class Negation(BaseModel):
    kind: Literal["negation"]
    term: Expression


class Constant(BaseModel):
    kind: Literal["constant"]
    value: float


class Expression(RootModel[Annotated[Sum | Negation | Constant, Field(discriminator="kind")]]):
    pass


class Numbered(RootModel[Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=2)]]):
    pass


class Aliases(BaseModel):
    model_config = ConfigDict(extra="forbid", title="Aliased answer")
    first: Annotated[str, Field(alias="firstName")]
    second: Annotated[int, Field(validation_alias="second-name")]


class Hinted(BaseModel):
    city: Annotated[str, Field(examples=[3, "Oslo"], max_length=5)]
    score: Annotated[int, Field(json_schema_extra={"default": 7})]
    broken: Annotated[int, Field(ge=1, json_schema_extra={"default": 0, "examples": [-1, 5]})]


MODELS: list[type[BaseModel]] = [
    *(
        Plain,
        Numbers,
        Decimals,
        Texts,
        Moments,
        Nested,
        Choices,
        Containers,
        Points,
        Tree,
        Sum,
        Negation,
    ),
    *(Expression, Numbered, Aliases, Hinted),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_model_accepts_what_is_generated_for_it(model: type[BaseModel]) -> None:
    model.model_validate(generate_instance(model.model_json_schema()))


FORMATS = {
    "byte": "dG01",
    "base64": "dG01",
    "base64url": "dG01",
    "uuid": "00000000-0000-4000-8000-000000000001",
    "uuid4": "00000000-0000-4000-8000-000000000001",
    "uri": "https://example.com/1",
    "url": "https://example.com/1",
    "uri-reference": "https://example.com/1",
    "date": "2000-01-01",
    "date-time": "2000-01-01T00:00:00Z",
    "time": "00:00:01Z",
    "duration": "PT1S",
    "email": "user1@example.com",
    "hostname": "host1.example.com",
    "ipv4": "192.0.2.1",
    "ipvanyaddress": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "of our own": "text",
}
REFERENCE = {"$ref": "#/$defs/a~1b"}
SCHEMAS: list[tuple[Any, Any]] = [
    ({}, "text"),
    ({"const": {"a": [1]}}, {"a": [1]}),
    ({"enum": ["x", "y"], "default": "y"}, "y"),
    ({"type": "string", "pattern": "^a+$", "examples": ["b", "aa"]}, "aa"),
    ({"type": "string", "pattern": r"\w"}, "text"),
    ({"enum": ["x", "y"], "not": {"const": "x"}}, "y"),
    ({"type": "integer", "default": "no"}, 0),
    ({"type": ["null", "boolean"]}, True),
    ({"type": "integer", "not": {"enum": [0, 1, -1]}}, 2),
    ({"minimum": 3}, 3),
    ({"type": "integer", "multipleOf": 1.5, "minimum": 1}, 3),
    ({"type": "number", "multipleOf": 0.2, "maximum": 0.5}, 0),
    ({"type": "number", "multipleOf": 0.2, "exclusiveMaximum": 0}, -0.2),
    ({"type": "number", "multipleOf": 0.2, "minimum": -0.5}, 0),
    ({"type": "number", "multipleOf": 0.2, "exclusiveMinimum": 0}, 0.2),
    ({"type": "integer", "minimum": 10**30}, 10**30),
    ({"type": "integer", "minimum": 0.5}, 1),
    ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5}, 0.25),
    *(({"type": "string", "format": name}, value) for name, value in FORMATS.items()),
    ({"type": "string", "format": "date", "examples": ["1 May 2025"]}, FORMATS["date"]),
    ({"type": "string", "minLength": 6}, "textte"),
    ({"required": ["a"]}, {"a": "text"}),
    ({"properties": {"a": {"type": "null"}}}, {}),
    ({"type": "object", "minProperties": 1, "properties": {"a": {"type": "null"}}}, {"a": None}),
    ({"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}}, {"1": 0}),
    ({"type": "array"}, []),
    ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "null"}], "items": False}, [0, None]),  # noqa: E501
    ({"type": "array", "items": {"enum": [1, 1, 2]}, "uniqueItems": True, "minItems": 2}, [1, 2]),
    ({"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, ["text"]),  # noqa: E501
    ({"allOf": [{"type": "number", "minimum": 2}, {"type": "integer", "minimum": 5}], "multipleOf": 4}, 8),  # noqa: E501
    ({"allOf": [{"maximum": -1000}, {"maximum": 5}], "type": "integer"}, -1000),
    ({"allOf": [{"multipleOf": 4}, {"multipleOf": 6}], "type": "integer", "minimum": 1}, 12),
    ({"allOf": [{"properties": {"a": {"minimum": 2}}}, {"properties": {"a": {"type": "integer"}}}], "required": ["a"]},  # noqa: E501
     {"a": 2}),
    ({"allOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"b": {"type": "null"}}}]},
     {"a": "text", "b": None}),
    ({"anyOf": [{"type": "string", "maxLength": 1, "minLength": 2}, {"type": "null"}]}, None),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 0.5),
    ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"}, {"a": "text"}),
    ({**REFERENCE, "$defs": {"a/b": {"type": "integer", "minimum": 2}}}, 2),
    ({**REFERENCE, "minimum": 9, "$defs": {"a/b": {"type": "integer", "minimum": 2}}}, 9),
    ({"$defs": {"x": {"$anchor": "here", "const": 1}}, "$ref": "#here"}, 1),
    ({"type": "object", "properties": {"next": {"$ref": "#"}}}, {}),
    ({"type": "object", "required": ["next"], "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}},  # noqa: E501
     {"next": None}),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"n": {"type": "null"}},
      "type": "array", "items": [{"$ref": "#/definitions/n"}, {"type": "integer"}]}, [None, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "expected"), SCHEMAS, ids=str)
def test_a_schema_gets_a_small_plausible_value(schema: Any, expected: Any) -> None:
    assert json.dumps(generate_instance(schema)) == json.dumps(expected)


def test_every_process_generates_the_same(run_python: RunPython) -> None:
    schemas = [model.model_json_schema() for model in MODELS]
    code = "import json; from llm_mock.behaviour.generate import generate_instance; "
    code += f"schemas = json.loads({json.dumps(schemas)!r}); "
    code += "print(json.dumps([generate_instance(schema) for schema in schemas]))"
    done = run_python(code, PYTHONHASHSEED="7")
    assert done.returncode == 0, done.stderr
    assert done.stdout == json.dumps([generate_instance(schema) for schema in schemas]) + "\n"


def test_the_schema_is_left_as_it_is_and_shares_nothing_with_the_value() -> None:
    schema = {"type": "array", "minItems": 2, "items": {"default": {"a": []}}}
    value = generate_instance(schema)
    value[0]["a"].append(1)
    assert (value, schema["items"]) == ([{"a": [1]}, {"a": []}], {"default": {"a": []}})


def test_a_reply_is_generated_once_for_a_schema() -> None:
    reply = generate_reply(Nested.model_json_schema())
    assert reply is generate_reply(Nested.model_json_schema())
    assert reply.data == generate_instance(Nested.model_json_schema())
    Nested.model_validate_json(reply.content)


IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"title": "Sure", "type": "integer", "minimum": 2, "maximum": 1}, "schema Sure: the answer: no valid value was found"),  # noqa: E501
    (
        {
            "title": "Deep",
            "type": "object",
            "required": ["a"],
            "properties": {"a": {"type": "array", "minItems": 1, "items": {"enum": []}}},
        },
        "schema Deep: the answer.a[0]: no valid value was found",
    ),
    ({"type": "object", "required": ["code"], "properties": {"code": {"type": "string", "pattern": "^[A-Z]+-[0-9]$"}}},  # noqa: E501
     "the answer.code: 'text' does not match '^[A-Z]+-[0-9]$'"),
    ({"type": "array", "minItems": 1, "items": {"type": "integer"}, "contains": {"const": 90}},
     "the answer: [0] does not contain items matching"),
    ({"$ref": "#/$defs/gone"}, "it refers to '/$defs/gone', which it does not define"),
    ({"$ref": "https://example.com/schema"}, ("it refers to 'https://example.com/schema', "
                                              "which it does not define")),
    ({"$ref": "#"}, "the answer: no valid value was found"),
    ({"type": "what"}, "it is not a valid JSON schema: type: 'what' is not valid"),
    ({"type": "string", "pattern": "("}, ("it is not a valid JSON schema: pattern: '(' is not "
                                          "a 'regex'")),
    ({"type": "string", "pattern": "^a$", "minLength": 2}, ("the answer: 'text' does not match "
                                                            "'^a$'")),
    ({"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3}, "the answer: no valid value was found"),  # noqa: E501
    ({"type": "object", "additionalProperties": False, "minProperties": 1}, "the answer.1: no valid value was found"),  # noqa: E501
    ({"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}}, "the answer.next: no valid value was found"),  # noqa: E501
    ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "the answer: 0 is not of type 'string'"),
    ({"type": "array", "minItems": 30_000}, "there are too many possibilities to try"),
    ({"type": "object", "minProperties": 10**12}, "there are too many possibilities to try"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "problem"), IMPOSSIBLE, ids=str)
def test_what_cannot_be_generated_is_an_error_that_says_where_and_why(
    schema: dict[str, Any], problem: str
) -> None:
    with pytest.raises(LLMMockError) as caught:
        generate_instance(schema)
    assert problem in str(caught.value)
    assert str(caught.value).endswith("Configure a reply with set(…, schema=…).")


@pytest.mark.parametrize(
    ("title", "name"), [({}, '{"const": 1, "type": "string"}'), ({"title": "Town"}, "Town")]
)
def test_the_error_names_the_schema(title: dict[str, Any], name: str) -> None:
    with pytest.raises(LLMMockError) as caught:
        generate_instance({"const": 1, "type": "string", **title})
    assert str(caught.value).startswith(f"No answer can be generated for the schema {name}: ")


def test_many_kinds_that_hold_each_other_end_soon() -> None:
    any_kind = {"anyOf": [{"$ref": f"#/$defs/{number}"} for number in range(20)]}
    kinds: dict[str, Any] = {
        str(number): {
            "type": "object",
            "required": ["a", "b"],
            "properties": {"a": any_kind, "b": any_kind},
        }
        for number in range(19)
    }
    schema = {"$ref": "#/$defs/0", "$defs": {**kinds, "19": {"type": "null"}}}
    inner = {"a": None, "b": None}
    assert generate_instance(schema) == {"a": inner, "b": inner}


def test_a_deeper_search_has_as_many_steps_as_the_first() -> None:
    links = {f"link{number}": {"$ref": f"#/$defs/link{number + 1}"} for number in range(5)}
    impossible = {"type": "string", "const": 1, "examples": [1] * 3_000}
    schema = {
        "anyOf": [impossible, {"$ref": "#/$defs/link0"}],
        "$defs": {**links, "link5": {"const": "found"}},
    }
    assert generate_instance(schema) == "found"


@st.composite
def numbers(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": draw(st.sampled_from(["integer", "number"]))}
    low, width = draw(st.integers(-1000, 1000)), draw(st.integers(13, 500))
    schema |= draw(st.sampled_from([{}, {"minimum": low}, {"exclusiveMinimum": low}]))
    schema |= draw(
        st.sampled_from([{}, {"maximum": low + width}, {"exclusiveMaximum": low + width}])
    )
    return schema | draw(
        st.sampled_from([{}, *({"multipleOf": step} for step in (1, 5, 12, 0.5, 0.1, 0.01))])
    )


@st.composite
def texts(draw: st.DrawFn) -> dict[str, Any]:
    low, more = draw(st.integers(0, 40)), draw(st.integers(0, 5))
    lengths = draw(st.sampled_from([{}, {"minLength": low}, {"maxLength": low + more}]))
    return {
        "type": "string",
        **lengths,
        **draw(st.sampled_from([{}, {"minLength": low, "maxLength": low + more}])),
    }


@st.composite
def arrays(draw: st.DrawFn, items: st.SearchStrategy[Any]) -> dict[str, Any]:
    low, more = draw(st.integers(0, 4)), draw(st.integers(0, 3))
    prefix = draw(st.lists(items, max_size=2))
    schema: dict[str, Any] = {
        "type": "array",
        "items": draw(items),
        "minItems": low,
        "maxItems": low + more,
    }
    return schema | ({"prefixItems": prefix} if prefix else {})


@st.composite
def unique_arrays(draw: st.DrawFn) -> dict[str, Any]:
    low = draw(st.integers(0, 10))
    items = draw(
        st.sampled_from(
            [
                {"type": "integer"},
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string"},
            ]
        )
    )
    return {"type": "array", "uniqueItems": True, "minItems": low, "items": items}


@st.composite
def objects(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> dict[str, Any]:
    properties = draw(st.dictionaries(st.sampled_from("abcd"), values, max_size=4))
    required = draw(st.lists(st.sampled_from("abcde"), unique=True))
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if draw(st.booleans()):
        schema["minProperties"] = draw(st.integers(0, 8))
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(values)
    return schema


LEAVES = (
    numbers()
    | texts()
    | unique_arrays()
    | st.sampled_from([{"type": "boolean"}, {"enum": ["a", None]}, True, {}])
)
NESTED = st.recursive(
    LEAVES,
    lambda inner: (
        arrays(inner)
        | objects(inner)
        | st.builds(lambda some: {"anyOf": some}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda one: {"allOf": [one, True, {"title": "Both"}]}, inner)
    ),
    max_leaves=6,
)


@settings(max_examples=40, derandomize=True, database=None)
@given(NESTED)
def test_what_is_generated_keeps_every_constraint(schema: Any) -> None:
    value = generate_instance(schema)
    Draft202012Validator(schema).validate(value)
    assert generate_instance(json.loads(json.dumps(schema))) == value
