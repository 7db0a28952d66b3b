"""What to say of a call that a cassette does not hold."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from llm_mock.support.text import shorten_name, shown_path
from llm_mock.support.yaml_files import dump

if TYPE_CHECKING:
    from llm_mock.cassettes.config import CassetteConfig
    from llm_mock.cassettes.schema import Request

COMPARED = 200
"""How many recorded calls are compared in full; those with the most equal parts."""


SHOWN_LINES = 40

_RECORD = (
    "Record what is new, with the real model: pytest --llm-mock-record new_episodes\n"
    "What should not count when calls are compared is said in the fixture llm_mock_cassette_config."
)


def explain_miss(path: Path, asked: Request, held: Sequence[Request] | None, config: CassetteConfig) -> str:
    """Why there is no recorded answer to a call, what is nearest to it, and how to record it.

    Args:
        path: the cassette.
        asked: the call.
        held: what the cassette holds; None where there is no cassette.
        config: what of calls is compared.
    """
    shown, file = _asked(asked), shown_path(path)
    if held is None:
        return (
            f"There is no cassette {file} for this call:\n{shown}\n"
            "Record it, with the real model and your key: pytest --llm-mock-record once"
        )
    times = sum(config.key(request) == config.key(asked) for request in held)
    if times:
        recorded = "once" if times == 1 else f"{times} times"
        return f"This call is {recorded} in the cassette {file}, and was made once more:\n{shown}\n{_RECORD}"
    message = f"The cassette {file} does not hold this call:\n{shown}\n"
    if not held:
        return f"{message}It holds no calls.\n{_RECORD}"
    position, difference = _nearest(asked, held, config)
    return (
        f"{message}The nearest of its {len(held)} calls is number {position}; what differs:\n"
        f"{_indented(difference)}\n{_RECORD}"
    )


def _asked(request: Request) -> str:
    plain = request.plain()
    lines = dump({name: value for name, value in plain.items() if name not in ("schema", "tools")}).splitlines()
    lines += [f"schema: {shorten_name(str(plain['schema'].get('title') or 'yes'))}"] if "schema" in plain else []
    lines += [f"tools: {', '.join(tool['name'] for tool in plain['tools'])}"] if "tools" in plain else []
    return _indented(lines)


def _indented(lines: Sequence[str]) -> str:
    shown = [f"  {line}" for line in lines[:SHOWN_LINES]]
    return "\n".join([*shown, f"  … {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else shown)


def _nearest(asked: Request, recorded: Sequence[Request], config: CassetteConfig) -> tuple[int, list[str]]:
    """The position, from 1, of the recorded call that is nearest to one, and a diff of the parts that count."""
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
    return best + 1, list(lines)


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
