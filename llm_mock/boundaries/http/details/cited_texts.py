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


def list_cited_texts(reply: Reply) -> list[tuple[str, list[CitedSpan]]]:
    """Return the texts of a reply, each with its cited spans in the order of the citations."""
    cited: list[tuple[str, list[CitedSpan]]] = [(text, []) for text in reply.list_texts()]
    for citation in reply.citations:
        supported = citation.text
        if supported is None:
            text, spans = cited[-1]
            spans.append(CitedSpan(0, len(text), citation))
            continue
        for text, spans in cited:
            start = text.find(supported)
            if start >= 0:
                spans.append(CitedSpan(start, start + len(supported), citation))
                break
    return cited
