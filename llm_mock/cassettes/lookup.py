"""Look up recorded calls, and explain why a call was not found."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from llm_mock.cassettes.recording_command import get_recording_command, is_recorded_by_pytest
from llm_mock.support.redaction import REDACTED_SECRET
from llm_mock.support.text import format_path, shorten_name
from llm_mock.support.yaml_files import dump

if TYPE_CHECKING:
    from llm_mock.cassettes.config import CassetteConfig
    from llm_mock.cassettes.schema import RecordedRequest
    from llm_mock.cassettes.storage import CassetteContent

# Comparing texts takes time, and a cassette may have thousands of calls.
MAX_COMPARED_CALLS = 200
"""The number of recorded calls whose texts are compared to find the nearest one."""
MAX_LINES = 40
"""The number of lines that a message shows of a call, or of a difference."""


class CallLookup:
    """An index of recorded calls by key, which returns each call once.

    Args:
        keys: the keys of the calls, in the order in which they were recorded.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._positions: dict[str, list[int]] = {}
        # The first call of a key is at the end of its list, from where `take` removes it.
        for position in reversed(range(len(keys))):
            positions = self._positions.setdefault(keys[position], [])
            positions.append(position)
        self._redacted_keys = [key for key in self._positions if REDACTED_SECRET in key]

    @property
    def left(self) -> list[int]:
        """The positions of the calls that were not taken, in order."""
        left: list[int] = []
        for positions in self._positions.values():
            left += positions
        return sorted(left)

    def take(self, key: str) -> int | None:
        """Return the position of the next call with a key, or None."""
        positions = self._positions.get(key)
        return positions.pop() if positions else None

    def take_redacted(self, keys: Sequence[str]) -> int | None:
        """Return the position of the next call that matches one of the keys of a call, or None.

        A secret that only the recording machine knew is redacted only in the file, so its
        placeholder in a recorded key matches any text.

        Args:
            keys: the keys of one call, redacted in different ways.
        """
        for key in keys:
            position = self.take(key)
            if position is not None:
                return position
        for redacted_key in self._redacted_keys:
            if any(_matches_redacted(redacted_key, key) for key in keys):
                position = self.take(redacted_key)
                if position is not None:
                    return position
        return None


def _matches_redacted(redacted_key: str, key: str) -> bool:
    """Return whether a key equals a recorded one, apart from the redacted secrets.

    A secret stands for one or more characters inside a JSON string, hence never for a quote.
    """
    first, *others, last = redacted_key.split(REDACTED_SECRET)
    if not key.startswith(first):
        return False
    position = len(first)
    for part in others:
        start = key.find(part, position + 1)
        if start < 0 or '"' in key[position:start]:
            return False
        position = start + len(part)
    rest = key[position:]
    if not rest.endswith(last):
        return False
    secret = rest[: len(rest) - len(last)]
    return secret != "" and '"' not in secret


def explain_miss(
    path: Path,
    request: RecordedRequest,
    content: CassetteContent | None,
    config: CassetteConfig,
) -> str:
    """Return the message for a call without a recorded response.

    Args:
        path: the cassette.
        request: the call.
        content: the content of the cassette; None if there is no file.
        config: the rules by which calls match.
    """
    file = format_path(path)
    call = _indent(_describe_request(request))
    if content is None:
        command = get_recording_command("once")
        return (
            f"There is no cassette {file} for this call:\n{call}\n"
            f"Record it with the real model and your key: {command}"
        )
    fix = _describe_fix()
    key = config.get_key(request)
    times = content.keys.count(key)
    if times:
        number = "once" if times == 1 else f"{times} times"
        return (
            f"The cassette {file} contains this call {number}, but the call was made again:\n"
            f"{call}\n{fix}"
        )
    message = f"The cassette {file} does not contain this call:\n{call}\n"
    if not content.keys:
        return f"{message}It contains no calls.\n{fix}"
    position = _find_nearest(key, content.keys, config)
    recorded = _dump_compared_parts(content.calls[position].request, config)
    made = _dump_compared_parts(request, config)
    difference = difflib.unified_diff(recorded, made, "recorded", "made", n=1, lineterm="")
    nearest = f"The nearest of its {len(content.keys)} calls is number {position + 1}."
    if len(content.keys) == 1:
        nearest = "It contains one other call."
    return f"{message}{nearest} The difference:\n{_indent(list(difference))}\n{fix}"


def _describe_request(request: RecordedRequest) -> list[str]:
    """Return the lines of YAML that show a request."""
    fields = request.to_json()
    # Only the names of schemas and tools, because the rest may fill pages.
    schema = fields.pop("schema", None)
    tools = fields.pop("tools", None)
    lines = dump(fields).splitlines()
    if schema is not None:
        title = schema.get("title") or "yes"
        lines.append(f"schema: {shorten_name(str(title))}")
    if tools is not None:
        names = ", ".join(tool["name"] for tool in tools)
        lines.append(f"tools: {names}")
    return lines


def _describe_fix() -> str:
    command = get_recording_command("new_episodes")
    fix = f"Record new calls with the real model: {command}"
    if not is_recorded_by_pytest():
        return fix
    return f"{fix}\nTo ignore parts of calls, use the fixture llm_mock_cassette_config."


def _indent(lines: Sequence[str]) -> str:
    indented = [f"  {line}" for line in lines[:MAX_LINES]]
    more = len(lines) - MAX_LINES
    if more > 0:
        indented.append(f"  … {more} more lines")
    return "\n".join(indented)


def _find_nearest(key: str, recorded_keys: Sequence[str], config: CassetteConfig) -> int:
    """Return the position of the recorded call that is most similar to a call."""
    parts = config.parse_key(key)
    text = dump(parts)

    def count_equal_parts(position: int) -> int:
        recorded_parts = config.parse_key(recorded_keys[position])
        count = 0
        for name, part in parts.items():
            if recorded_parts[name] == part:
                count += 1
        return count

    def get_similarity(position: int) -> float:
        recorded_parts = config.parse_key(recorded_keys[position])
        matcher = difflib.SequenceMatcher(None, text, dump(recorded_parts))
        # The quick ratio, because the exact one takes quadratic time.
        return matcher.quick_ratio()

    positions = range(len(recorded_keys))
    candidates = heapq.nlargest(MAX_COMPARED_CALLS, positions, count_equal_parts)
    return max(candidates, key=get_similarity)


def _dump_compared_parts(request: RecordedRequest, config: CassetteConfig) -> list[str]:
    """Return the lines of YAML of the parts that calls are matched by."""
    names: set[str] = set(config.match)
    if "prompt" in names:
        names |= {"messages", "tool_results", "attachments"}
    # `to_json` leaves out a turn of 1, the default.
    fields = {"turn": 1, **request.to_json()}
    compared = {
        name: config.normalize_value(value) for name, value in fields.items() if name in names
    }
    return dump(compared).splitlines()
