"""Takes secrets out of an answer that is recorded."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llm_mock.support.redaction import Redactor


def redacted_response(response: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    """A response as the file has it without secrets, also where one came in several pieces, or in several events."""
    events = [dict(event) for event in response.get("events", ())]
    parts: dict[Any, list[dict[str, Any]]] = {}
    for event in events:
        parts.setdefault((event.get("type"), event.get("tool_call_id")), []).append(event)
    for part in parts.values():
        _redact(part, redactor)
    cleaned: dict[str, Any] = redactor.clean({**response, "events": events} if events else response)
    return cleaned


def _redact(events: list[dict[str, Any]], redactor: Redactor) -> None:
    """Redact the events of one part of an answer together."""
    pieces = [_pieces(event) for event in events]
    cleaned = iter(redactor.clean_pieces([piece for each in pieces for piece in each]))
    for event, each in zip(events, pieces, strict=True):
        texts = [next(cleaned) for _ in each]
        if texts != each:
            event["text"] = "".join(texts)
            if len(texts) > 1:
                event["chunks"] = list(map(len, texts))


def _pieces(event: dict[str, Any]) -> list[str]:
    text, lengths = event.get("text", ""), event.get("chunks") or ()
    if sum(lengths) != len(text) or not lengths:
        return [text]
    return [text[start:end] for start, end in pairwise([0, *accumulate(lengths)])]
