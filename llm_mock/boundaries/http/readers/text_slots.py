"""Takes the texts of an answer out of its body when it is recorded, and puts them in again when it is replayed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from llm_mock.boundaries.http.readers.reader import ResponseReader, TextSlot
from llm_mock.core.events import Event


class TextSlots:
    """The texts of one answer.

    Args:
        reader: reads it.
    """

    def __init__(self, reader: ResponseReader) -> None:
        self._reader = reader
        self._said: dict[Any, str] = {}
        """The parts of the answer as far as they came."""

    def extract(self, body: Any) -> Iterator[str | Event]:
        """The pieces of a body, or of an event of a stream; in the body `…` is left of each."""
        for place in self._reader.find_slots(body):
            text = place.text
            if not text:
                continue
            if not self._came_before(place):
                self._note(place, text)
                yield text if place.type == "text" else Event(place.type, text, tool_call_id=place.tool_call_id)
                place.take()
            elif text == self._said[place.part]:
                place.take()

    def restore(self, body: Any, pieces: RecordedChunks) -> Any:
        """The body with its texts in it again."""
        for place in self._reader.find_slots(body):
            if not place.text or not place.is_taken:
                continue
            if not self._came_before(place):
                text = pieces.next(place)
                self._note(place, text)
                place.put(text)
            else:
                place.put(self._said[place.part])
        return body

    def _came_before(self, place: TextSlot) -> bool:
        return place.is_whole and place.part in self._said

    def _note(self, place: TextSlot, text: str) -> None:
        if place.part is not None:
            self._said[place.part] = self._said.get(place.part, "") + text


class RecordedChunks:
    """The recorded pieces of an answer, each given once; where somebody edited them, and there are fewer, nothing more.

    Args:
        chunks: the pieces: texts and events.
    """

    def __init__(self, chunks: Iterable[Any]) -> None:
        self._left: dict[tuple[str, str | None], list[str]] = {}
        for chunk in chunks:
            is_text = isinstance(chunk, str)
            key = ("text", None) if is_text else (chunk.type, chunk.tool_call_id)
            self._left.setdefault(key, []).append(chunk if is_text else chunk.chunk)
        for pieces in self._left.values():
            pieces.reverse()

    def next(self, place: TextSlot) -> str:
        """The text for the next place of its kind."""
        left = self._left.get((place.type, place.tool_call_id))
        return left.pop() if left else ""
