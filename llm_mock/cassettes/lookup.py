"""Finding recorded calls, each once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from llm_mock.support.redaction import REDACTED_SECRET

if TYPE_CHECKING:
    from llm_mock.cassettes.config import CassetteConfig
    from llm_mock.cassettes.schema import Call


class Lookup:
    """The positions of recorded calls, by what they have in common with a call that is asked.

    Args:
        calls: the recorded calls.
        config: what of them counts.
    """

    def __init__(self, calls: Iterable[Call], config: CassetteConfig) -> None:
        self._left: dict[str, deque[int]] = {}
        for position, call in enumerate(calls):
            self._left.setdefault(config.key(call.request), deque()).append(position)
        self._redacted = [key for key in self._left if REDACTED_SECRET in key]

    @property
    def left(self) -> list[int]:
        """The positions that were not taken, in order."""
        return sorted(position for positions in self._left.values() for position in positions)

    def take(self, key: str) -> int | None:
        """The position of the next call with a key."""
        return self._left[key].popleft() if self._left.get(key) else None

    def take_redacted(self, key: str, cleaned: str) -> int | None:
        """The position of the next call with a key, as it is or redacted.

        A secret that only the machine knew on which it was recorded may have been any text here.
        """
        redacted = (recorded for recorded in self._redacted if _fits(recorded, key))
        found = (self.take(candidate) for candidate in chain((key, cleaned), redacted))
        return next((position for position in found if position is not None), None)


def _fits(recorded: str, key: str) -> bool:
    """Whether a key is a recorded one with some text, inside one JSON string, in place of each redacted secret."""
    first, *others, last = recorded.split(REDACTED_SECRET)
    if not key.startswith(first):
        return False
    position = len(first)
    for piece in others:
        found = key.find(piece, position + 1)
        if found < 0 or '"' in key[position:found]:
            return False
        position = found + len(piece)
    rest = key[position:]
    return len(rest) > len(last) and rest.endswith(last) and '"' not in rest[: len(rest) - len(last)]
