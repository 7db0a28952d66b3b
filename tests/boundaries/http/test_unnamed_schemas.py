"""Requests for a schema that has no name, as pydantic-ai sends them to Anthropic."""

from __future__ import annotations

import pickle
from typing import Annotated, Any, Literal

import anthropic
import openai
import pytest
from pydantic import BaseModel, Field

from llm_mock import LLMMock, Reply
from llm_mock.support.expected_schema import expect_schema, is_same_schema


class Item(BaseModel):
    """An item of an order."""

    title: str
    count: int = Field(default=1, ge=1, description="how many")


class Cash(BaseModel):
    kind: Literal["cash"]


class Card(BaseModel):
    kind: Literal["card"]


class Approved(BaseModel):
    """An approved order."""

    amount: float = Field(gt=0, description="in euros")
    items: list[Item] = Field(max_length=5)
    payment: Annotated[Cash | Card, Field(discriminator="kind")]
    currency: Literal["EUR", "CHF"] = "EUR"
    notes: dict[str, str] = {}


class Rejected(BaseModel):
    reason: str


class Delayed(BaseModel):
    reason: str


class Returned(BaseModel):
    reason: str = Field(description="in a word")


class Excused(BaseModel):
    reason: str = ""


APPROVED: dict[str, Any] = {
    "$defs": {
        "Card": {
            "type": "object",
            "properties": {"kind": {"const": "card"}},
            "required": ["kind"],
            "additionalProperties": False,
        },
        "Cash": {
            "type": "object",
            "properties": {"kind": {"enum": ["cash"]}},
            "required": ["kind"],
            "additionalProperties": False,
        },
        "Item": {
            "type": "object",
            "description": "An item of an order.",
            "properties": {
                "title": {"type": "string"},
                "count": {
                    "type": "integer",
                    "description": "how many\n\n{default: 1, minimum: 1}",
                },
            },
            "additionalProperties": False,
            "required": ["title"],
        },
    },
    "type": "object",
    "properties": {
        "amount": {"type": "number", "description": "in euros\n\n{exclusiveMinimum: 0}"},
        "items": {
            "type": "array",
            "items": {"$ref": "#/$defs/Item"},
            "description": "{maxItems: 5}",
        },
        "payment": {
            "anyOf": [{"$ref": "#/$defs/Cash"}, {"$ref": "#/$defs/Card"}],
            "description": "{discriminator: {'propertyName': 'kind'}}",
        },
        "currency": {"enum": ["EUR", "CHF"], "description": "{default: EUR}"},
        "notes": {
            "type": "object",
            "properties": {},
            "additionalProperties": False,
            "description": "{default: {}}",
        },
    },
    "additionalProperties": False,
    "required": ["payment", "amount", "items"],
}
REJECTED: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}},
    "additionalProperties": False,
    "required": ["reason"],
}
ORDER = {"amount": 1, "items": [], "payment": {"kind": "cash"}}


def ask(schema: dict[str, Any]) -> str:
    answer = anthropic.Anthropic().messages.create(
        model="claude-opus-5",
        max_tokens=99,
        messages=[{"role": "user", "content": "Hi"}],
        output_config={"format": {"type": "json_schema", "schema": schema}},
    )
    block = answer.content[0]
    assert isinstance(block, anthropic.types.TextBlock)
    return block.text


def test_a_class_is_found(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", {"reason": "other"})
    mock_llm_responses.set("*", ORDER, schema=Approved)
    mock_llm_responses.set("*", {"reason": "no"}, schema=Rejected)
    assert ask(APPROVED) == '{"amount": 1, "items": [], "payment": {"kind": "cash"}}'
    assert ask(REJECTED) == '{"reason": "no"}'
    first, second = mock_llm_responses.calls
    assert first.schema == APPROVED
    mock_llm_responses.assert_called_with(schema=Approved)
    mock_llm_responses.assert_called_with(schema=Rejected.model_json_schema())
    mock_llm_responses.assert_not_called_with(schema=Item)
    assert second["kwargs"]["schema"].startswith("{")


def test_a_queued_and_a_conditional_reply_for_a_class(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add("*", {"reason": "queued"}, schema=Rejected)
    mock_llm_responses.add("*", ORDER, schema=Approved)
    mock_llm_responses.set("*", {"reason": "standing"}, schema=Rejected, prompt="Hi")
    answers = [ask(REJECTED), ask(APPROVED), ask(REJECTED)]
    assert [answer[:18] for answer in answers] == [
        '{"reason": "queued',
        '{"amount": 1, "ite',
        '{"reason": "standi',
    ]


def test_a_request_for_text_asks_for_no_class(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", "text")
    mock_llm_responses.set("*", {"reason": "no"}, schema=Rejected)
    anthropic.Anthropic().messages.create(
        model="claude-opus-5", max_tokens=99, messages=[{"role": "user", "content": "Hi"}]
    )
    assert mock_llm_responses.last_call.response == "text"
    mock_llm_responses.assert_not_called_with(schema=Rejected)


@pytest.mark.parametrize("other", [Returned, Excused, Item, Cash, "Rejected", {"type": "string"}])
def test_another_schema_is_not_found(other: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", {"reason": "any"})
    mock_llm_responses.set("*", {"reason": "other"}, schema=other)
    mock_llm_responses.add("*", {"reason": "other"}, schema=other, optional=True)
    mock_llm_responses.set("*", {"reason": "other"}, schema=other, prompt="Hi")
    assert ask(REJECTED) == '{"reason": "any"}'
    mock_llm_responses.assert_not_called_with(schema=other)


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("required", ["amount", "items"]),
        ("properties", {**APPROVED["properties"], "amount": {"type": "integer"}}),
        ("properties", {**APPROVED["properties"], "currency": {"enum": ["EUR"]}}),
        ("properties", {**APPROVED["properties"], "payment": {"$ref": "#/$defs/Cash"}}),
        (
            "properties",
            {**APPROVED["properties"], "items": {"type": "array", "items": {"type": "string"}}},
        ),
        ("$defs", {**APPROVED["$defs"], "Card": {"type": "string"}}),
        ("$defs", {**APPROVED["$defs"], "Cash": True}),
        ("$defs", {"Item": {"type": "object"}}),
        ("allOf", [{"required": ["notes"]}]),
    ],
)
def test_a_class_that_was_changed_is_not_found(
    change: str, value: Any, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply("{}", invalid=True))
    ask({**APPROVED, change: value})
    mock_llm_responses.assert_not_called_with(schema=Approved)


def test_of_two_classes_with_the_same_fields_the_latest_reply_is_given(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("claude-*", {"reason": "no"}, schema=Rejected)
    mock_llm_responses.set("claude-*", {"reason": "later"}, schema=Delayed)
    mock_llm_responses.set("gpt-5", {"reason": "of another model"}, schema=Delayed)
    assert ask(REJECTED) == '{"reason": "later"}'
    mock_llm_responses.assert_called_with(schema=Rejected)
    mock_llm_responses.assert_called_with(schema=Delayed)


def test_a_class_with_a_reply_of_another_model_is_passed_over(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("claude-*", {"reason": "no"}, schema=Rejected)
    mock_llm_responses.set("gpt-5", {"reason": "later"}, schema=Delayed)
    assert ask(REJECTED) == '{"reason": "no"}'


def test_a_schema_without_a_title_is_found_by_its_content(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", {"reason": "no"}, schema=REJECTED)
    # The name that the request gives its schema is not a part of it.
    openai.OpenAI().responses.create(
        model="gpt-5",
        input="Hi",
        text={"format": {"type": "json_schema", "name": "verdict", "schema": REJECTED}},
    )
    assert mock_llm_responses.last_call["kwargs"]["schema"] == "verdict"
    mock_llm_responses.assert_called_with(schema="verdict")
    mock_llm_responses.assert_called_with(schema=REJECTED)
    mock_llm_responses.assert_not_called_with(schema={**REJECTED, "required": []})
    # Both have a name, so the content does not matter.
    mock_llm_responses.assert_not_called_with(schema=Rejected)


def test_a_schema_of_a_request_may_be_malformed(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply("{}", invalid=True))
    ask(
        {
            "type": "object",
            "required": 5,
            "properties": [],
            "anyOf": 1,
            "additionalProperties": False,
        }
    )
    mock_llm_responses.assert_not_called_with(schema=Rejected)


def test_an_expected_schema_reaches_another_process() -> None:
    expected = pickle.loads(pickle.dumps(expect_schema(Rejected)))
    assert expected == "Rejected"
    assert is_same_schema(expected, "{…}", REJECTED)


class Recipe(BaseModel):
    name: str


class Placeholder(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("response_schema", "name"),
    [
        (list[Recipe], "list[Recipe]"),
        (list[str], '{"items": {"type": "string"}, "type": "array"}'),
        (Recipe, "Recipe"),
        (Placeholder, "Placeholder"),
    ],
)
def test_a_list_of_google_s_sdk_is_named_by_its_items(
    response_schema: Any, name: str, mock_llm_responses: LLMMock
) -> None:
    genai = pytest.importorskip("google.genai")
    mock_llm_responses.set("*", Reply("no JSON", invalid=True))
    client = genai.Client(api_key="x")
    config = {"response_mime_type": "application/json", "response_schema": response_schema}
    client.models.generate_content(model="gemini-2.5-flash", contents="Hi", config=config)
    assert mock_llm_responses.calls[0]["kwargs"]["schema"] == name
