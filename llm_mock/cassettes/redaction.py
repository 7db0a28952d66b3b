"""Redact secrets in a response before it is recorded."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llm_mock.support.json_types import JSONObject
    from llm_mock.support.redaction import Redactor


def redact_response(response: JSONObject, redactor: Redactor) -> JSONObject:
    """Return a response without secrets, even if a secret spans several chunks or events.

    Args:
        response: the JSON object of a `RecordedResponse`.
        redactor: the rules for secrets.
    """
    recorded_events = response.get("events", ())
    events = [dict(event) for event in recorded_events]
    # The texts of one kind are parts of one text, even with other events between them.
    groups: dict[Any, list[Any]] = {}
    for event in events:
        kind = event.get("type")
        tool_call_id = event.get("tool_call_id")
        group = groups.setdefault((kind, tool_call_id), [])
        group.append(event)
    for group in groups.values():
        _redact_events(group, redactor)
    changed = {**response, "events": events} if events else response
    cleaned: JSONObject = redactor.clean(changed)
    return cleaned


def _redact_events(events: list[JSONObject], redactor: Redactor) -> None:
    """Redact the events of one text together, in place."""
    chunks_of_events = [_split_into_chunks(event) for event in events]
    all_chunks: list[str] = []
    for chunks in chunks_of_events:
        all_chunks += chunks
    # One call for all, as a secret may begin in one event and end in another.
    cleaned = iter(redactor.clean_pieces(all_chunks))
    for event, chunks in zip(events, chunks_of_events, strict=True):
        cleaned_chunks = [next(cleaned) for _ in chunks]
        if cleaned_chunks == chunks:
            continue
        event["text"] = "".join(cleaned_chunks)
        if len(cleaned_chunks) > 1:
            event["chunks"] = [len(chunk) for chunk in cleaned_chunks]


def _split_into_chunks(event: JSONObject) -> list[str]:
    text: str = event.get("text", "")
    lengths = event.get("chunks") or ()
    if not lengths or sum(lengths) != len(text):
        return [text]
    positions = [0, *accumulate(lengths)]
    chunks = []
    for start, end in pairwise(positions):
        chunks.append(text[start:end])
    return chunks
