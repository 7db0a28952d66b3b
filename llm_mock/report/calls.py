"""Describe the calls of a test as JSON values, grouped into conversations, with their cost."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from llm_mock.core.request import to_plain_json
from llm_mock.cost.prices import compute_cost
from llm_mock.errors import LLMMockError
from llm_mock.report.gen_ai import get_gen_ai_attributes
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import OUTPUT, redact

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.get_model import LLMMock
    from llm_mock.core.call import Call
    from llm_mock.core.call_log import Details, LoggedCall

# Costs by model, tokens, day and prices: a price lookup takes longer than a mocked call.
_costs: dict[tuple[Any, ...], Decimal | None] = {}
HTTP_FIELDS = ("api", "sdk", "stream", "tool_choice", "finish_reason")
"""The fields that only records of HTTP calls have."""
PROPERTIES = ("llm_calls", "llm_input_tokens", "llm_output_tokens", "llm_cost_usd")
"""The properties of a test in pytest's own JUnit file."""


def describe_calls(
    kept: Iterable[LoggedCall],
    mock: LLMMock | None,
) -> list[JSONObject]:
    """Describe calls with the keys of `docs/report.md`.

    Messages that an earlier call of the conversation has are left out.

    Args:
        kept: the calls.
        mock: the mock whose prices apply.

    Returns:
        A dict for each call. `conversation` is the same for calls that belong together, and None
        for a single call. `cost_usd` is a Decimal, or None if the price is unknown. `response` is
        None for a call that failed at once. `not_described` names what could not be described.
    """
    calls = [_describe_call(record, details, mock) for record, details in kept]
    _group_conversations(calls)
    return calls


def redact_calls(calls: Iterable[JSONObject]) -> list[JSONObject]:
    """Return described calls without secrets, even if a secret is split over chunks."""
    without_secrets = []
    for call in calls:
        response = call["response"]
        if response and "chunks" in response:
            response = {**response, "chunks": _redact_chunks(response["chunks"])}
            call = {**call, "response": response}
        without_secrets.append(redact(call))
    return without_secrets


def _redact_chunks(chunks: Sequence[object]) -> list[Any]:
    """Redact the chunks of each part of the response (text, tool call, …) together."""
    copies = [_as_chunk_event(chunk) for chunk in chunks]
    parts: dict[Any, list[JSONObject]] = {}
    for copy in copies:
        if isinstance(copy.get("chunk"), str):
            key = (copy.get("type"), copy.get("tool_call_id"))
            part = parts.setdefault(key, [])
            part.append(copy)
    # A secret may be split over chunks, but not over parts.
    for part in parts.values():
        texts = OUTPUT.clean_pieces([copy["chunk"] for copy in part])
        for copy, text in zip(part, texts, strict=True):
            copy["chunk"] = text
    clean: list[Any] = []
    for chunk, copy in zip(chunks, copies, strict=True):
        if isinstance(chunk, str):
            clean.append(copy["chunk"])
        else:
            clean.append(copy)
    return clean


def _as_chunk_event(chunk: Any) -> JSONObject:
    """Return a copy of a chunk as a dict; a plain string is text."""
    if isinstance(chunk, str):
        return {"type": "text", "chunk": chunk}
    return dict(chunk)


def get_junit_properties(calls: Sequence[JSONObject]) -> list[tuple[str, Any]]:
    """Return the sums over the calls of a test, by the names in `PROPERTIES`.

    The dict is empty without calls, and has no cost if a price is unknown.
    """
    if not calls:
        return []
    values: list[Any] = [len(calls)]
    for name in ("input_tokens", "output_tokens"):
        values.append(sum(call["usage"][name] or 0 for call in calls))
    costs = [call["cost_usd"] for call in calls]
    if None not in costs:
        values.append(f"{sum(costs):f}")
    return list(zip(PROPERTIES, values, strict=False))


def sum_properties(
    runs: Sequence[Sequence[tuple[str, Any]]],
    own: Iterable[tuple[str, Any]],
) -> list[tuple[str, Any]]:
    """Sum the properties of calls over several runs of a test.

    Args:
        runs: the properties of each run.
        own: the properties of the test, in which those of calls are replaced by the sums.

    Returns:
        The properties; without a cost if that of a run is unknown.
    """
    properties = [(name, value) for name, value in own if name not in PROPERTIES]
    with_calls = [dict(run) for run in runs if PROPERTIES[0] in dict(run)]
    if not with_calls:
        return properties
    for name in PROPERTIES:
        if all(name in values for values in with_calls):
            total = sum(Decimal(values[name]) for values in with_calls)
            properties.append((name, f"{total:f}"))
    return properties


def _describe_call(
    record: Call,
    details: Details,
    mock: LLMMock | None,
) -> JSONObject:
    request = details.get("request") or _describe_request(record)
    # A copy, from which the keys of other places are taken.
    response = dict(details.get("response") or {})
    schema = record["kwargs"].get("schema")
    call: JSONObject = {
        "number": record["number"],
        "timestamp": record["timestamp"],
        "model_id": record["model_id"],
        "resolved_model": response.pop("resolved_model", None),
        "conversation": request["conversation"],
        "turn": record["turn"],
        "earlier_messages": 0,
        "messages": request["messages"],
        "schema": {"name": schema, "json": request["schema"]} if schema else None,
        "tools": request["tools"],
        "options": to_plain_json(record["options"]),
        "usage": {
            "input_tokens": record["input_tokens"],
            "output_tokens": record["output_tokens"],
            "details": response.pop("usage_details", None),
        },
        "cost_usd": _compute_cost(record, mock),
        "configured": record["configured"],
        "response": _describe_response(record),
        "error": None,
    }
    if "response" in details:
        call["response"] = {"text": "", **response}
    if record["error"] is not None:
        call["error"] = {"type": details.get("error_type"), "message": record["error"]}
    for name in HTTP_FIELDS:
        if name in record:
            call[name] = record[name]
    if "not_described" in details:
        call["not_described"] = details["not_described"]
    call["gen_ai"] = get_gen_ai_attributes(call)
    return call


def _compute_cost(record: Call, mock: LLMMock | None) -> Decimal | None:
    """Return the cost of a call in US dollars, or None if it is unknown."""
    prices = mock.prices if mock is not None else ()
    # Prices may change from day to day, but not within one.
    day = record["timestamp"][:10]
    key = (record["model_id"], record["input_tokens"], record["output_tokens"], day, prices)
    if key not in _costs:
        try:
            _costs[key] = compute_cost(record, mock)
        except LLMMockError:
            # The prices of the providers are not installed; the report goes on without costs.
            _costs[key] = None
    return _costs[key]


def _describe_request(record: Call) -> JSONObject:
    """Describe a request from the record alone."""
    texts = {"system": record["kwargs"].get("system"), "user": record["prompt"]}
    messages = []
    for role, text in texts.items():
        if text:
            part = {"type": "text", "text": text}
            messages.append({"role": role, "parts": [part]})
    tools = []
    for name in record["kwargs"].get("tools", ()):
        tools.append({"name": name, "description": None, "input_schema": None})
    return {
        "conversation": None,
        "messages": messages,
        "schema": None,
        "tools": tools,
    }


def _describe_response(record: Call) -> JSONObject | None:
    """Describe a response from the record alone."""
    response = record["response"]
    if response is None:
        return None
    if isinstance(response, str):
        text = response
    else:
        text = json.dumps(to_plain_json(response))
    return {"text": text}


def _group_conversations(calls: list[JSONObject]) -> None:
    """Set the conversation of calls, by id or because one continues the messages of another.

    The messages of the earlier call are removed from the later one.
    """
    by_last_hash: dict[str, JSONObject] = {}
    for call in calls:
        messages = call["messages"]
        hashes = _hash_prefixes(messages)
        earlier, known = _find_earlier_call(messages, hashes, by_last_hash)
        if earlier is not None:
            if not earlier["conversation"]:
                earlier["conversation"] = f"call {earlier['number']}"
            call["conversation"] = earlier["conversation"]
            call["messages"] = messages[known:]
            call["earlier_messages"] = known
        if hashes:
            by_last_hash[hashes[-1]] = call
    # A single call is not a conversation.
    sizes = Counter(call["conversation"] for call in calls)
    for call in calls:
        if sizes[call["conversation"]] == 1:
            call["conversation"] = None


def _find_earlier_call(
    messages: list[JSONObject],
    hashes: list[str],
    by_last_hash: dict[str, JSONObject],
) -> tuple[JSONObject | None, int]:
    """Return the call that these messages continue, and how many messages it has already."""
    # The longest prefix first: the nearest earlier call.
    for position in range(len(messages) - 1, 0, -1):
        earlier = by_last_hash.get(hashes[position - 1])
        message = messages[position]
        if earlier is not None and message["role"] == "assistant":
            has_response = _equals_response(message, earlier["response"])
            return earlier, position + int(has_response)
    return None, 0


def _equals_response(message: JSONObject, response: JSONObject | None) -> bool:
    """Return whether a message is the response of a call, and not an edited version."""
    text = ""
    tools = []
    for part in message["parts"]:
        if part["type"] == "text":
            text += part["text"]
        elif part["type"] == "tool_call":
            tools.append(part["name"])
    expected = response or {}
    expected_tools = [call["name"] for call in expected.get("tool_calls", ())]
    return text == expected.get("text", "") and tools == expected_tools


def _hash_prefixes(messages: list[JSONObject]) -> list[str]:
    """Return for each message a hash of all messages up to it."""
    hashes = []
    hasher = hashlib.sha256()
    for message in messages:
        text = json.dumps(message, sort_keys=True, default=repr)
        hasher.update(text.encode())
        hashes.append(hasher.hexdigest())
    return hashes
