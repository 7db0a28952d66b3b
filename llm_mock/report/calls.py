"""The calls of one test as the document has them: JSON values, grouped into conversations, with their cost."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from llm_mock.core.call_log import CallLog, LoggedCall
from llm_mock.core.request import plain
from llm_mock.cost.prices import cost_of
from llm_mock.errors import LLMMockError
from llm_mock.report.gen_ai import gen_ai_attributes
from llm_mock.support.redaction import OUTPUT, redacted

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.get_model import MockGetModel
    from llm_mock.core.call_log import Details
    from llm_mock.core.records import CallRecord

_costs: dict[tuple[Any, ...], Decimal | None] = {}
"""Of model, tokens, day and prices: to look a price up takes longer than a mocked call."""
ON_THE_WIRE = ("api", "sdk", "stream", "tool_choice", "finish_reason")
"""What the record of a call has that came over HTTP."""
PROPERTIES = ("llm_calls", "llm_input_tokens", "llm_output_tokens", "llm_cost_usd")
"""The properties of a test in pytest's own JUnit file."""


def keep_calls(mock: MockGetModel, detailed: bool) -> None:
    """Have a mock, and those that are put on top of it from now on, keep every call; `detailed` for a document."""
    log = mock.history.log = CallLog(detailed)
    for call in mock.calls:
        log.add(call, {})


def describe_calls(kept: Iterable[LoggedCall], mock: MockGetModel | None) -> list[dict[str, Any]]:
    """Calls as the document has them, each with the keys of `docs/report.md`; the prices of the mock count.

    A message that an earlier call of the conversation was sent or answered already is left out. `conversation` is the
    same for calls that belong together, and None for a single one; `cost_usd` is a Decimal, None where the price is
    unknown; `response` is None for a call that failed at once; `not_described` says what could not be described.
    """
    calls = [_call(record, details, mock) for record, details in kept]
    _find_conversations(calls)
    return calls


def redacted_calls(calls: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Described calls without secrets, also where one came in several chunks of a stream."""
    redacted_all = []
    for call in calls:
        response = call["response"]
        if response and "chunks" in response:
            call = {**call, "response": {**response, "chunks": _redacted_chunks(response["chunks"])}}
        redacted_all.append(redacted(call))
    return redacted_all


def _redacted_chunks(chunks: Sequence[Any]) -> list[Any]:
    """Chunks in which what comes from one part of the answer (its text, a tool call, …) is redacted together."""
    plain_chunks = [{"type": "text", "chunk": chunk} if isinstance(chunk, str) else dict(chunk) for chunk in chunks]
    parts: dict[Any, list[dict[str, Any]]] = {}
    for chunk in plain_chunks:
        if isinstance(chunk.get("chunk"), str):
            parts.setdefault((chunk.get("type"), chunk.get("tool_call_id")), []).append(chunk)
    for part in parts.values():
        for chunk, text in zip(part, OUTPUT.clean_pieces([chunk["chunk"] for chunk in part]), strict=True):
            chunk["chunk"] = text
    return [made["chunk"] if isinstance(given, str) else made for given, made in zip(chunks, plain_chunks, strict=True)]


def junit_properties(calls: Sequence[dict[str, Any]]) -> list[tuple[str, Any]]:
    """`PROPERTIES` with what the calls of a test took; no cost where a price is unknown, nothing without calls."""
    if not calls:
        return []
    tokens = (sum(call["usage"][name] or 0 for call in calls) for name in ("input_tokens", "output_tokens"))
    costs = [call["cost_usd"] for call in calls]
    values = [len(calls), *tokens, *([] if None in costs else [f"{sum(costs):f}"])]
    return list(zip(PROPERTIES, values, strict=False))


def summed_properties(
    runs: Sequence[Sequence[tuple[str, Any]]], own: Iterable[tuple[str, Any]]
) -> list[tuple[str, Any]]:
    """The properties of several runs of a test: `own`, in which those of calls are the sums over all runs.

    There is no cost where that of a run is not known.
    """
    with_calls = [values for run in runs if PROPERTIES[0] in (values := dict(run))]
    sums = {
        name: sum(Decimal(values[name]) for values in with_calls)
        for name in PROPERTIES
        if with_calls and all(name in values for values in with_calls)
    }
    return [each for each in own if each[0] not in PROPERTIES] + [(name, f"{value:f}") for name, value in sums.items()]


def _call(record: CallRecord, details: Details, mock: MockGetModel | None) -> dict[str, Any]:
    request = details.get("request") or _request_of(record)
    response = dict(details.get("response") or {})
    schema = record["kwargs"].get("schema")
    call = {
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
        **{name: record[name] for name in ON_THE_WIRE if name in record},  # type: ignore[literal-required]
        **{name: details[name] for name in ("not_described",) if name in details},
    }
    return {**call, "gen_ai": gen_ai_attributes(call)}


def _cost(record: CallRecord, mock: MockGetModel | None) -> Decimal | None:
    """What a call costs in US dollars, None where that is unknown."""
    prices = mock.prices if mock is not None else ()
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


def _find_conversations(calls: list[dict[str, Any]]) -> None:
    """Group calls, by their ids and where one goes on from the messages of an earlier one, which are left out then."""
    sent: dict[str, dict[str, Any]] = {}
    for call in calls:
        messages, hashes = call["messages"], _running_hashes(call["messages"])
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


def _running_hashes(messages: list[dict[str, Any]]) -> list[str]:
    """Of each message: a hash of all messages up to it."""
    running, hashes = hashlib.sha256(), []
    for message in messages:
        running.update(json.dumps(message, sort_keys=True, default=repr).encode())
        hashes.append(running.hexdigest())
    return hashes
