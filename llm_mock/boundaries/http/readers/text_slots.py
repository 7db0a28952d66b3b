"""Extract an answer's texts from a recorded body, and restore them in replay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from llm_mock.boundaries.http.readers.reader import ResponseReader, TextSlot
from llm_mock.core.events import Event

ChunkKind = tuple[str, str | None]
"""The type of a chunk, and the id of its tool call."""


class TextSlots:
    """The text slots of one answer.

    Args:
        reader: the parser of the API that sent the answer.
    """

    def __init__(self, reader: ResponseReader) -> None:
        self._reader = reader
        self._part_texts: dict[object, str] = {}
        """The text of each part of the answer read so far."""

    def extract(self, body: object) -> Iterator[str | Event]:
        """Yield the texts of a body or event, and replace them with placeholders."""
        for slot in self._reader.find_slots(body):
            text = slot.text
            if not text:
                continue
            if not self._is_repetition(slot):
                self._add_text(slot, text)
                if slot.type == "text":
                    yield text
                else:
                    yield Event(slot.type, text, tool_call_id=slot.tool_call_id)
                slot.clear()
            elif text == self._part_texts[slot.part]:
                # A repetition that differs from its deltas is kept unchanged.
                slot.clear()

    def restore(self, body: object, chunks: RecordedChunks) -> Any:
        """Return the body with the placeholders replaced by the texts."""
        for slot in self._reader.find_slots(body):
            if not slot.text or not slot.is_extracted:
                continue
            if self._is_repetition(slot):
                slot.fill(self._part_texts[slot.part])
            else:
                text = chunks.pop_text(slot)
                self._add_text(slot, text)
                slot.fill(text)
        return body

    def _is_repetition(self, slot: TextSlot) -> bool:
        return slot.is_whole and slot.part in self._part_texts

    def _add_text(self, slot: TextSlot, text: str) -> None:
        if slot.part is not None:
            before = self._part_texts.get(slot.part, "")
            self._part_texts[slot.part] = before + text


class RecordedChunks:
    """The recorded chunks of an answer, each of which is returned once.

    Args:
        chunks: the texts and events of the cassette.
    """

    def __init__(self, chunks: Iterable[str | Event]) -> None:
        self._texts: dict[ChunkKind, list[str]] = {}
        for chunk in chunks:
            if isinstance(chunk, str):
                kind: ChunkKind = ("text", None)
                text = chunk
            else:
                kind = (chunk.type, chunk.tool_call_id)
                text = chunk.chunk
            texts = self._texts.setdefault(kind, [])
            texts.append(text)
        for texts in self._texts.values():
            texts.reverse()  # `pop` takes the last one, and is fast only there

    def pop_text(self, slot: TextSlot) -> str:
        """Return the text for the next slot of a kind; empty if an edited cassette has fewer."""
        kind = (slot.type, slot.tool_call_id)
        texts = self._texts.get(kind)
        return texts.pop() if texts else ""
