"""Finding recorded calls, each once; and what to say of a call that a cassette does not hold."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from llm_mock.cassettes.record_modes import is_recorded_by_pytest, recording_command
from llm_mock.support.redaction import REDACTED_SECRET
from llm_mock.support.text import shorten_name, shown_path
from llm_mock.support.yaml_files import dump

if TYPE_CHECKING:
    from llm_mock.cassettes.config import CassetteConfig
    from llm_mock.cassettes.schema import Request
    from llm_mock.cassettes.storage import Content

COMPARED = 200
"""How many recorded calls are compared in full; those with the most equal parts."""
SHOWN_LINES = 40


class Lookup:
    """The positions of recorded calls, by their keys: what each has in common with a call that is asked."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._left: dict[str, list[int]] = {}
        for position in reversed(range(len(keys))):  # the next one last
            self._left.setdefault(keys[position], []).append(position)
        self._redacted = [key for key in self._left if REDACTED_SECRET in key]

    @property
    def left(self) -> list[int]:
        """The positions that were not taken, in order."""
        return sorted(position for positions in self._left.values() for position in positions)

    def take(self, key: str) -> int | None:
        """The position of the next call with a key."""
        return self._left[key].pop() if self._left.get(key) else None

    def take_redacted(self, keys: Sequence[str]) -> int | None:
        """The position of the next call with one of the keys of a call: as it is, and redacted in several ways.

        A secret that only the machine knew on which it was recorded may have been any text here.
        """
        alike = (recorded for recorded in self._redacted if any(_fits(recorded, key) for key in keys))
        found = (self.take(candidate) for candidate in chain(keys, alike))
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


def _how_to_record() -> str:
    how = f"Record what is new, with the real model: {recording_command('new_episodes')}"
    settings = "What should not count when calls are compared is said in the fixture llm_mock_cassette_config."
    return f"{how}\n{settings}" if is_recorded_by_pytest() else how


def explain_miss(path: Path, asked: Request, held: Content | None, config: CassetteConfig) -> str:
    """Why there is no recorded answer to a call, what is nearest to it, and how to record it.

    `held` is what the cassette holds; None where there is no cassette.
    """
    plain = asked.plain()
    lines = dump({name: value for name, value in plain.items() if name not in ("schema", "tools")}).splitlines()
    lines += [f"schema: {shorten_name(str(plain['schema'].get('title') or 'yes'))}"] if "schema" in plain else []
    lines += [f"tools: {', '.join(tool['name'] for tool in plain['tools'])}"] if "tools" in plain else []
    shown, file = _indented(lines), shown_path(path)
    if held is None:
        return (
            f"There is no cassette {file} for this call:\n{shown}\n"
            f"Record it, with the real model and your key: {recording_command('once')}"
        )
    key = config.key(asked)
    if times := sum(held_key == key for held_key in held.keys):
        often = "once" if times == 1 else f"{times} times"
        return f"This call is {often} in the cassette {file}, and was made once more:\n{shown}\n{_how_to_record()}"
    message = f"The cassette {file} does not hold this call:\n{shown}\n"
    if not held.keys:
        return f"{message}It holds no calls.\n{_how_to_record()}"
    position = _nearest(key, held.keys, config)
    requests = held.calls[position].request, asked
    recorded, wanted = (dump(_shown(request, config)).splitlines() for request in requests)
    difference = list(difflib.unified_diff(recorded, wanted, "recorded", "asked", n=1, lineterm=""))
    return (
        f"{message}The nearest of its {len(held.keys)} calls is number {position + 1}; what differs:\n"
        f"{_indented(difference)}\n{_how_to_record()}"
    )


def _indented(lines: Sequence[str]) -> str:
    shown = [f"  {line}" for line in lines[:SHOWN_LINES]]
    return "\n".join([*shown, f"  … {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else shown)


def _nearest(asked: str, recorded: Sequence[str], config: CassetteConfig) -> int:
    """The position of the recorded call that is nearest to one, by their keys."""
    wanted = config.parts(asked)

    def equal_parts(position: int) -> int:
        parts = config.parts(recorded[position])
        return sum(parts[name] == part for name, part in wanted.items())

    positions = heapq.nlargest(COMPARED, range(len(recorded)), equal_parts)
    text = dump(wanted)
    return max(
        positions,
        key=lambda position: difflib.SequenceMatcher(None, text, dump(config.parts(recorded[position]))).quick_ratio(),
    )


def _shown(request: Request, config: CassetteConfig) -> dict[str, object]:
    """The parts that count, as they stand in the file."""
    parts: set[str] = set(config.match)
    parts |= {"messages", "tool_results", "attachments"} if "prompt" in parts else set()
    plain = {"turn": 1, **request.plain()}
    return {name: config.normalized(value) for name, value in plain.items() if name in parts}
