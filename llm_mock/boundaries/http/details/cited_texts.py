"""The parts of a reply's texts that its citations support."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from llm_mock.core.reply import Reply
    from llm_mock.core.reply_items import Citation


class CitedSpan(NamedTuple):
    """A part of a text and its source."""

    start: int
    end: int
    citation: Citation


def find_cited_spans(reply: Reply) -> list[list[CitedSpan]]:
    """Return the cited spans of each text of a reply, in the order of its citations."""
    texts = reply.list_texts()
    spans: list[list[CitedSpan]] = [[] for _ in texts]
    for citation in reply.citations:
        supported = citation.text
        if supported is None:
            spans[-1].append(CitedSpan(0, len(texts[-1]), citation))
            continue
        for text, found in zip(texts, spans, strict=True):
            start = text.find(supported)
            if start >= 0:
                found.append(CitedSpan(start, start + len(supported), citation))
                break
    return spans
