"""The calls of one test as the report has them: JSON values, grouped into conversations, with their cost.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from llm_mock.core.records import plain
from llm_mock.cost.prices import cost_of as cost_of_call
from llm_mock.errors import LLMMockError

if TYPE_CHECKING:
    from llm_mock.core.details import Details, Kept
    from llm_mock.core.records import CallRecord

_costs: dict[tuple[Any, ...], Decimal | None] = {}
"""Of model, tokens, day and prices: to look a price up takes longer than a mocked call."""


def as_json(kept: Iterable[Kept], mock: Any) -> list[dict[str, Any]]:
    """Calls as the report has them.

    A message that an earlier call of the conversation was sent or answered already is left out.

    Args:
        kept: the calls, in order.
        mock: the mock that answered them, whose prices count.

    Returns:
        Of each call: `number`, `timestamp`, `model_id`, `resolved_model`, `conversation` (the same for calls that
        belong together, None for a single one), `turn`, `earlier_messages` (how many were left out), `messages`,
        `schema` (`name`, `json`), `tools`, `options`, `response` (None for a call that failed at once), `error`
        (`type`, `message`) or None, `usage` (`input_tokens`, `output_tokens`, `details`), `cost_usd` (None where the
        price is unknown), `configured`.
    """
    calls = [_call(record, details, mock) for record, details in kept]
    _group(calls)
    return calls


def cost_of(record: CallRecord, mock: Any) -> Decimal | None:
    """What a call costs in US dollars, None where that is unknown."""
    prices = getattr(getattr(mock, "settings", None), "prices", ())
    alike = record["model_id"], record["input_tokens"], record["output_tokens"], record["timestamp"][:10], prices
    if alike not in _costs:
        try:
            _costs[alike] = cost_of_call(record, mock)
        except LLMMockError:  # the prices of the providers are not installed
            _costs[alike] = None
    return _costs[alike]


def _call(record: CallRecord, details: Details, mock: Any) -> dict[str, Any]:
    request = details.get("request") or _request_of(record)
    response = dict(details.get("response") or {})
    name = record["kwargs"].get("schema")
    dollars = cost_of(record, mock)
    return {
        "number": record["number"],
        "timestamp": record["timestamp"],
        "model_id": record["model_id"],
        "resolved_model": response.pop("resolved_model", None),
        "conversation": request["conversation"],
        "turn": record["turn"],
        "earlier_messages": 0,
        "messages": request["messages"],
        "schema": {"name": name, "json": request["schema"]} if name else None,
        "tools": request["tools"],
        "options": plain(record["options"]),
        "usage": {
            "input_tokens": record["input_tokens"],
            "output_tokens": record["output_tokens"],
            "details": response.pop("usage_details", None),
        },
        "cost_usd": None if dollars is None else float(dollars),
        "configured": record["configured"],
        "response": _response(record, details, response),
        "error": _error(record, details),
        **({"not_described": details["not_described"]} if "not_described" in details else {}),
    }


def _response(record: CallRecord, details: Details, described: dict[str, Any]) -> dict[str, Any] | None:
    if "response" in details:
        return {"text": "", **described}
    if record["response"] is None:
        return None
    text = record["response"] if isinstance(record["response"], str) else json.dumps(plain(record["response"]))
    return {"text": text}


def _error(record: CallRecord, details: Details) -> dict[str, Any] | None:
    if record["error"] is None:
        return None
    return {"type": details.get("error_type"), "message": record["error"]}


def _request_of(record: CallRecord) -> dict[str, Any]:
    """What the record alone tells of a request."""
    tools = record["kwargs"].get("tools", ())
    texts = {"system": record["kwargs"].get("system"), "user": record["prompt"]}
    return {
        "conversation": None,
        "messages": [{"role": role, "parts": [{"type": "text", "text": text}]} for role, text in texts.items() if text],
        "schema": None,
        "tools": [{"name": name, "description": None, "input_schema": None} for name in tools],
    }


def _group(calls: list[dict[str, Any]]) -> None:
    """Find the conversations: by their ids, and where a call goes on from the messages of an earlier one."""
    sent: dict[str, dict[str, Any]] = {}
    for call in calls:
        messages = call["messages"]
        hashes = list(_running_hashes(messages))
        earlier, cut = _continued(messages, hashes, sent)
        if earlier is not None:
            earlier["conversation"] = earlier["conversation"] or f"call {earlier['number']}"
            call["conversation"] = earlier["conversation"]
            call["messages"] = messages[cut:]
            call["earlier_messages"] = cut
        if hashes:
            sent[hashes[-1]] = call
    members = Counter(call["conversation"] for call in calls)
    for call in calls:
        if members[call["conversation"]] == 1:
            call["conversation"] = None


def _continued(
    messages: list[dict[str, Any]], hashes: list[str], sent: dict[str, dict[str, Any]]
) -> tuple[dict[str, Any] | None, int]:
    """The earlier call whose messages these begin with, and how many of these it was sent or answered."""
    for position in range(len(messages) - 1, 0, -1):
        earlier = sent.get(hashes[position - 1])
        if earlier is not None and messages[position]["role"] == "assistant":
            return earlier, position + int(_says(messages[position], earlier["response"]))
    return None, 0


def _says(message: dict[str, Any], response: dict[str, Any] | None) -> bool:
    """Whether a message is what a call answered, and not an edited version of it."""
    text = "".join(part["text"] for part in message["parts"] if part["type"] == "text")
    names = [part["name"] for part in message["parts"] if part["type"] == "tool_call"]
    answer = response or {}
    return text == answer.get("text", "") and names == [call["name"] for call in answer.get("tool_calls", ())]


def _running_hashes(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Of each message: a hash of all messages up to it."""
    running = hashlib.sha256()
    for message in messages:
        running.update(json.dumps(message, sort_keys=True, default=repr).encode())
        yield running.hexdigest()
