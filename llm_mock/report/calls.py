"""The calls of one test as the document has them: JSON values, grouped into conversations, with their cost.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from llm_mock.core.call_log import CallLog, LoggedCall
from llm_mock.core.request import plain
from llm_mock.cost.prices import cost_of
from llm_mock.errors import LLMMockError
from llm_mock.report.conversations import find_conversations

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.get_model import MockGetModel
    from llm_mock.core.call_log import Details
    from llm_mock.core.records import CallRecord

_costs: dict[tuple[Any, ...], Decimal | None] = {}
"""Of model, tokens, day and prices: to look a price up takes longer than a mocked call."""


def keep_calls(mock: MockGetModel, detailed: bool) -> None:
    """Have a mock, and those that are put on top of it from now on, keep every call.

    Args:
        mock: the mock.
        detailed: whether a document is to be made of the calls; else only their tokens and cost are asked for.
    """
    log = mock.history.log = CallLog(detailed)
    for call in mock.calls:
        log.received(call)


def describe_calls(kept: Iterable[LoggedCall], mock: MockGetModel | None) -> list[dict[str, Any]]:
    """Calls as the document has them.

    A message that an earlier call of the conversation was sent or answered already is left out.

    Args:
        kept: the calls, in order.
        mock: the mock that answered them, whose prices count.

    Returns:
        Each with the keys of `docs/report.md`. `conversation` is the same for calls that belong together, and None for
        a single one; `cost_usd` is a Decimal, None where the price is unknown; `response` is None for a call that
        failed at once; `not_described` says what could not be described.
    """
    calls = [_call(record, details, mock) for record, details in kept]
    find_conversations(calls)
    return calls


def _call(record: CallRecord, details: Details, mock: MockGetModel | None) -> dict[str, Any]:
    request = details.get("request") or _request_of(record)
    response = dict(details.get("response") or {})
    schema = record["kwargs"].get("schema")
    return {
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
        "options": plain(record["options"]),
        "usage": {
            "input_tokens": record["input_tokens"],
            "output_tokens": record["output_tokens"],
            "details": response.pop("usage_details", None),
        },
        "cost_usd": _cost(record, mock),
        "configured": record["configured"],
        "response": {"text": "", **response} if "response" in details else _response_of(record),
        "error": None if record["error"] is None else {"type": details.get("error_type"), "message": record["error"]},
        **{name: details[name] for name in ("not_described",) if name in details},
    }


def _cost(record: CallRecord, mock: MockGetModel | None) -> Decimal | None:
    """What a call costs in US dollars, None where that is unknown."""
    prices = mock.settings.prices if mock is not None else ()
    alike = record["model_id"], record["input_tokens"], record["output_tokens"], record["timestamp"][:10], prices
    if alike not in _costs:
        try:
            _costs[alike] = cost_of(record, mock)
        except LLMMockError:  # the prices of the providers are not installed
            _costs[alike] = None
    return _costs[alike]


def _request_of(record: CallRecord) -> dict[str, Any]:
    """What the record alone tells of a request."""
    texts = {"system": record["kwargs"].get("system"), "user": record["prompt"]}
    tools = record["kwargs"].get("tools", ())
    return {
        "conversation": None,
        "messages": [{"role": role, "parts": [{"type": "text", "text": text}]} for role, text in texts.items() if text],
        "schema": None,
        "tools": [{"name": name, "description": None, "input_schema": None} for name in tools],
    }


def _response_of(record: CallRecord) -> dict[str, Any] | None:
    """What the record alone tells of an answer."""
    answer = record["response"]
    return None if answer is None else {"text": answer if isinstance(answer, str) else json.dumps(plain(answer))}
