"""Every field of a request has the types that its API accepts, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from llm_mock.boundaries.http import body_types
from llm_mock.boundaries.http.protocols import cohere_chat, ollama
from llm_mock.boundaries.http.protocols.protocol import find_mismatch, validate_body
from llm_mock.boundaries.http.providers.registry import get_registry
from llm_mock.boundaries.http.wire_error import WireError
from tests.boundaries.http import body_tables

Path = tuple[str, ...]
BODIES: dict[str, body_types.Shape] = {
    "CHAT": body_types.CHAT,
    "RESPONSES": body_types.RESPONSES,
    "MESSAGES": body_types.MESSAGES,
    "GEMINI": body_types.GEMINI,
    "EMBEDDINGS": body_types.EMBEDDINGS,
    "GEMINI_EMBEDDINGS": body_types.GEMINI_EMBEDDINGS,
    "CONVERSE": body_types.CONVERSE,
    "BEDROCK_PROMPT": body_types.BEDROCK_PROMPT,
    "INTERACTION": body_types.INTERACTION,
    "OLLAMA_CHAT": ollama.BODIES[ollama.CHAT_API],
    "OLLAMA_GENERATE": ollama.BODIES[ollama.GENERATE_API],
    "OLLAMA_EMBED": ollama.EMBED_BODY,
    "COHERE_CHAT": cohere_chat.CHAT_BODY,
    "COHERE_EMBED": cohere_chat.EMBED_BODY,
    "COHERE_RERANK": cohere_chat.RERANK_BODY,
}
VALUES = {"str": "ä", "int": 5, "float": 1.5, "bool": True, "list": [], "dict": {}}


def list_expected(rows: body_tables.Rows, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the path and the types of each row."""
    for name, row in rows.items():
        types, inner = row if isinstance(row, tuple) else (row, {})
        yield (*path, name), types
        yield from list_expected(inner, (*path, name))


def list_actual(
    shape: body_types.Shape, path: Path = (), outer: tuple[int, ...] = ()
) -> Iterator[tuple[Path, str]]:
    """Yield the path and the types of each field of a shape."""
    inner = dict(shape.fields)
    if shape.items is not None:
        inner["[]"] = shape.items
    seen = (*outer, id(shape))
    for name, each in inner.items():
        if id(each) in seen:
            yield (*path, name), body_tables.AGAIN
            continue
        yield (*path, name), " ".join(kind for kind in VALUES if _is_accepted(each, kind))
        yield from list_actual(each, (*path, name), seen)


def _is_accepted(shape: body_types.Shape, kind: str) -> bool:
    return type(VALUES[kind]) in shape.types


def build_body(path: Path, value: object) -> Any:
    """Return a body with a value at a path, and nothing else."""
    for name in reversed(path):
        value = [value] if name == "[]" else {name: value}
    return value


@pytest.mark.parametrize("name", BODIES)
def test_each_field_has_a_row(name: str) -> None:
    expected = dict(list_expected(getattr(body_tables, name)))
    assert dict(list_actual(BODIES[name])) == expected


@pytest.mark.parametrize("name", BODIES)
def test_each_field_accepts_its_types_and_no_others(name: str) -> None:
    shape = BODIES[name]
    for path, types in list_expected(getattr(body_tables, name)):
        if types == body_tables.AGAIN:
            continue
        steps = tuple(0 if step == "[]" else step for step in path)
        if path[-1] != "[]":
            neighbour = (*path[:-1], f"{path[-1]}_")
            assert find_mismatch(build_body(neighbour, object()), shape) is None, neighbour
            assert find_mismatch(build_body(path, None), shape) is None, path
        for kind, value in VALUES.items():
            mismatch = find_mismatch(build_body(path, value), shape)
            if kind in types.split():
                assert mismatch is None, (path, kind)
            else:
                assert mismatch is not None, (path, kind)
                assert (mismatch.path, mismatch.value) == (steps, value)


def test_the_contents_of_a_block_are_blocks_again() -> None:
    for depth in (1, 2, 5):
        path = ("messages", "[]", *("content", "[]") * depth)
        assert find_mismatch(build_body((*path, "text"), "x"), body_types.MESSAGES) is None
        assert find_mismatch(build_body((*path, "text"), 5), body_types.MESSAGES) is not None
        source = (*path, "source", "content", "[]", "text")
        assert find_mismatch(build_body(source, "x"), body_types.MESSAGES) is None
        assert find_mismatch(build_body(source, 5), body_types.MESSAGES) is not None


@pytest.mark.parametrize(
    "path",
    [
        ("searchResult", "content"),
        ("citationsContent", "content"),
        ("toolResult", "content"),
        ("document", "source", "content"),
    ],
)
def test_blocks_of_converse_may_hold_blocks_again(path: Path) -> None:
    for depth in (1, 2, 5):
        inner = ("messages", "[]", "content", "[]", *(*path, "[]") * depth, "text")
        assert find_mismatch(build_body(inner, "x"), body_types.CONVERSE) is None
        assert find_mismatch(build_body(inner, 5), body_types.CONVERSE) is not None
        assert find_mismatch(build_body(inner[:-2], "x"), body_types.CONVERSE) is not None


GO_ERROR = "json: cannot unmarshal X into Go struct field a[0].b of type"
COHERE_ERROR = "invalid type: parameter a[0].b is of type X but should be of type"
WORDS: dict[tuple[str, str], tuple[int, str]] = {
    ("openai", "str"): (400, "Invalid type for 'a[0].b': expected a string, but got X instead."),
    ("openai", "bool"): (400, "Invalid type for 'a[0].b': expected a boolean, but got X instead."),
    ("openai", "int"): (400, "Invalid type for 'a[0].b': expected an integer, but got X instead."),
    ("openai", "float"): (400, "Invalid type for 'a[0].b': expected a decimal, but got X instead."),
    ("openai", "list"): (400, "Invalid type for 'a[0].b': expected an array, but got X instead."),
    ("openai", "dict"): (400, "Invalid type for 'a[0].b': expected an object, but got X instead."),
    ("anthropic", "str"): (400, "a.0.b: Input should be a valid string"),
    ("anthropic", "bool"): (400, "a.0.b: Input should be a valid boolean"),
    ("anthropic", "int"): (400, "a.0.b: Input should be a valid integer"),
    ("anthropic", "float"): (400, "a.0.b: Input should be a valid number"),
    ("anthropic", "list"): (400, "a.0.b: Input should be a valid list"),
    ("anthropic", "dict"): (400, "a.0.b: Input should be a valid dictionary"),
    ("google", "str"): (400, "Invalid value at 'a[0].b' (TYPE_STRING), X"),
    ("google", "bool"): (400, "Invalid value at 'a[0].b' (TYPE_BOOL), X"),
    ("google", "int"): (400, "Invalid value at 'a[0].b' (TYPE_INT32), X"),
    ("google", "float"): (400, "Invalid value at 'a[0].b' (TYPE_FLOAT), X"),
    ("google", "list"): (
        400,
        "Invalid JSON payload received. Unexpected type of value at 'a[0].b'.",
    ),
    ("google", "dict"): (
        400,
        "Invalid JSON payload received. Unexpected type of value at 'a[0].b'.",
    ),
    ("mistral", "str"): (422, "Input should be a valid string"),
    ("mistral", "bool"): (422, "Input should be a valid boolean"),
    ("mistral", "int"): (422, "Input should be a valid integer"),
    ("mistral", "float"): (422, "Input should be a valid number"),
    ("mistral", "list"): (422, "Input should be a valid list"),
    ("mistral", "dict"): (422, "Input should be a valid dictionary"),
    ("ollama", "str"): (400, f"{GO_ERROR} string"),
    ("ollama", "bool"): (400, f"{GO_ERROR} bool"),
    ("ollama", "int"): (400, f"{GO_ERROR} int"),
    ("ollama", "float"): (400, f"{GO_ERROR} float64"),
    ("ollama", "list"): (400, f"{GO_ERROR} []interface {{}}"),
    ("ollama", "dict"): (400, f"{GO_ERROR} map[string]interface {{}}"),
    ("cohere", "str"): (400, f"{COHERE_ERROR} string."),
    ("cohere", "bool"): (400, f"{COHERE_ERROR} bool."),
    ("cohere", "int"): (400, f"{COHERE_ERROR} int."),
    ("cohere", "float"): (400, f"{COHERE_ERROR} float64."),
    ("cohere", "list"): (400, f"{COHERE_ERROR} array."),
    ("cohere", "dict"): (400, f"{COHERE_ERROR} object."),
    **{("bedrock", kind): (400, "X") for kind in VALUES},
}
KINDS: dict[str, type] = {kind: type(value) for kind, value in VALUES.items()}
MISTRAL_TYPES = {
    "str": "string_type",
    "bool": "bool_type",
    "int": "int_type",
    "float": "float_type",
    "list": "list_type",
    "dict": "dict_type",
}
OPENAI_VALUES = {
    "str": "a string",
    "int": "an integer",
    "float": "a decimal number",
    "bool": "a boolean",
    "list": "an array",
    "dict": "an object",
}
GOOGLE_VALUES = {
    "str": '"ä"',
    "int": "5",
    "float": "1.5",
    "bool": "true",
    "list": "[]",
    "dict": "{}",
}
# The terms of Go's package `encoding/json`
OLLAMA_VALUES = {
    "str": "string",
    "int": "number",
    "float": "number",
    "bool": "bool",
    "list": "array",
    "dict": "object",
}
COHERE_VALUES = {
    "str": "string",
    "int": "int",
    "float": "float64",
    "bool": "bool",
    "list": "array",
    "dict": "object",
}
BEDROCK_VALUES = {
    "str": "Unrecognized collection type: STRING_VALUE found where not expected",
    "int": "Unrecognized collection type: NUMBER_VALUE found where not expected",
    "float": "Unrecognized collection type: NUMBER_VALUE found where not expected",
    "bool": "Unrecognized collection type: BOOLEAN_VALUE found where not expected",
    "list": "Start of list found where not expected",
    "dict": "Start of structure or map found where not expected.",
}
SHOWN = {
    "openai": OPENAI_VALUES,
    "google": GOOGLE_VALUES,
    "ollama": OLLAMA_VALUES,
    "cohere": COHERE_VALUES,
    "bedrock": BEDROCK_VALUES,
}


def refuse(name: str, shape: body_types.Shape, value: object) -> WireError:
    """Return the error for a value at `a[0].b` that has not its type."""
    whole = body_types.Shape(
        dict,
        fields={"a": body_types.Shape(list, items=body_types.Shape(dict, fields={"b": shape}))},
    )
    errors = get_registry().by_name[name].errors
    with pytest.raises(WireError) as raised:
        validate_body({"a": [{"b": value}]}, whole, errors, "model")
    return raised.value


@pytest.mark.parametrize(("name", "kind"), WORDS)
def test_a_wrong_type_is_said_in_the_words_of_the_provider(name: str, kind: str) -> None:
    status, template = WORDS[name, kind]
    shown = SHOWN.get(name, {})
    for value_kind, value in VALUES.items():
        if value_kind == kind:
            continue
        error = refuse(name, body_types.Shape(KINDS[kind]), value)
        message = template.replace("X", shown.get(value_kind, "X"))
        assert (error.status, error.message) == (status, message)
        if name == "openai":
            assert (error.code, error.param) == ("invalid_type", "a[0].b")
        if name == "mistral":
            detail = {"type": MISTRAL_TYPES[kind], "loc": ["body", "a", 0, "b"], "msg": message}
            assert error.body == {"detail": [detail]}


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (body_types.Shape(str, list), "one of a string or array"),
        (body_types.Shape(dict, list, str), "one of a string or array or object"),
        (body_types.Shape(int, float), "a decimal"),
        (body_types.Shape(int, float, str), "one of a string or decimal"),
        (body_types.Shape(list, items=body_types.Shape(str)), "an array of strings"),
        (body_types.Shape(list, items=body_types.Shape(bool)), "an array of booleans"),
        (body_types.Shape(list, items=body_types.Shape(int)), "an array of integers"),
        (body_types.Shape(list, items=body_types.Shape(float)), "an array of decimals"),
        (body_types.Shape(list, items=body_types.Shape(dict)), "an array of objects"),
        (body_types.Shape(list, items=body_types.Shape(list)), "an array of arrays"),
        (
            body_types.Shape(str, list, items=body_types.Shape(str, dict)),
            "one of a string or array of objects",
        ),
    ],
)
def test_openai_lists_all_types_that_a_field_accepts(shape: body_types.Shape, words: str) -> None:
    error = refuse("openai", shape, True)
    assert (
        error.message == f"Invalid type for 'a[0].b': expected {words}, but got a boolean instead."
    )


@pytest.mark.parametrize(
    ("kinds", "term"),
    [
        ((str, list), "list"),
        ((str, dict), "dictionary"),
        ((list, dict), "list"),
        ((int, float), "number"),
        ((int, str), "string"),
    ],
)
def test_others_name_the_type_that_clients_build(kinds: tuple[type, ...], term: str) -> None:
    error = refuse("anthropic", body_types.Shape(*kinds), True)
    assert error.message == f"a.0.b: Input should be a valid {term}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ollama", "json: cannot unmarshal null into Go struct field a[0] of type string"),
        ("cohere", "invalid type: parameter a[0] is of type null but should be of type string."),
        ("bedrock", "Unrecognized collection type: NULL_VALUE found where not expected"),
    ],
)
def test_null_in_a_list_is_of_a_wrong_type(name: str, message: str) -> None:
    shape = body_types.Shape(dict, fields={"a": body_types.TEXTS})
    errors = get_registry().by_name[name].errors
    with pytest.raises(WireError) as raised:
        validate_body({"a": [None]}, shape, errors)
    assert (raised.value.status, raised.value.message) == (400, message)


def test_a_missing_field_is_said_in_the_words_of_the_provider() -> None:
    messages = {
        "openai": (400, "Missing required parameter: 'm'."),
        "anthropic": (400, "m: Field required"),
        "google": (400, "* GenerateContentRequest.m: m is not specified\n"),
        "mistral": (422, "Field required"),
    }
    for name, expected in messages.items():
        errors = get_registry().by_name[name].errors
        for body in ({}, {"m": None}):
            with pytest.raises(WireError) as raised:
                validate_body(body, body_types.Shape(dict), errors, "m")
            assert (raised.value.status, raised.value.message) == expected
        assert validate_body({"m": 0}, body_types.Shape(dict), errors, "m") == {"m": 0}
    errors = get_registry().by_name["openai"].errors
    with pytest.raises(WireError) as raised:
        validate_body({}, body_types.Shape(dict), errors, "m")
    assert (raised.value.code, raised.value.param) == ("missing_required_parameter", "m")
    errors = get_registry().by_name["mistral"].errors
    with pytest.raises(WireError) as raised:
        validate_body({}, body_types.Shape(dict), errors, "m")
    detail = {"type": "missing", "loc": ["body", "m"], "msg": "Field required"}
    assert raised.value.body == {"detail": [detail]}
