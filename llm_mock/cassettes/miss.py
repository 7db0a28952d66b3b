"""What comes nearest to a call that was not recorded."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from llm_mock.support.yaml_files import dump

if TYPE_CHECKING:
    from llm_mock.cassettes.config import CassetteConfig
    from llm_mock.cassettes.schema import Request

COMPARED = 200
"""How many recorded calls are compared in full; those with the most equal parts."""


def nearest(asked: Request, recorded: Sequence[Request], config: CassetteConfig) -> tuple[int, str] | None:
    """The recorded call that is nearest to one that was asked.

    Args:
        asked: the call.
        recorded: the calls that there are.
        config: what of them is compared.

    Returns:
        Its position from 1, and a diff of the parts that count; None when nothing was recorded.
    """
    if not recorded:
        return None
    normalized = [_counting(request, config) for request in [asked, *recorded]]
    wanted, candidates = normalized[0], normalized[1:]
    equal_parts = [sum(candidate[part] == wanted[part] for part in wanted) for candidate in candidates]
    positions = sorted(range(len(candidates)), key=lambda position: -equal_parts[position])[:COMPARED]
    text = dump(wanted)
    best = max(positions, key=lambda position: _similarity(text, dump(candidates[position])))
    lines = difflib.unified_diff(
        dump(_shown(recorded[best], config)).splitlines(),
        dump(_shown(asked, config)).splitlines(),
        "recorded",
        "asked",
        n=1,
        lineterm="",
    )
    return best + 1, "\n".join(lines)


def _counting(request: Request, config: CassetteConfig) -> dict[str, object]:
    return {part: config.normalized(request.part(part)) for part in config.match}


def _shown(request: Request, config: CassetteConfig) -> dict[str, object]:
    """The parts that count, as they stand in the file."""
    parts: set[str] = set(config.match)
    parts |= {"messages", "tool_results", "attachments"} if "prompt" in parts else set()
    plain = {"turn": 1, **request.plain()}
    return {name: config.normalized(value) for name, value in plain.items() if name in parts}


def _similarity(one: str, other: str) -> float:
    matcher = difflib.SequenceMatcher(None, one, other)
    return matcher.real_quick_ratio() and matcher.quick_ratio()
