"""Format values, calls and numbers for messages and tables.

Texts are redacted before they are cut, because half a key is not recognised as a secret.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

from llm_mock.support.redaction import redact

SHOWN_CHARACTERS = 120
SHOWN_TEXT = 2_000
SHOWN_LINES = 40
SHOWN_NAMES = 50
MARGIN = 4_000
"""The number of characters after the shown ones that are redacted; a longer secret is recognised
by its start."""
COMPARED_NAMES, COMPARED_CHARACTERS = 500, 200
"""The limits of the search for the nearest name, as comparing two names takes long."""


def shorten(value: Any, length: int = SHOWN_CHARACTERS) -> str:
    """Return a value on one line without secrets, cut at a length: text in quotes, data as JSON."""
    if isinstance(value, str):
        start = redact_start(value, length)
        if (
            len(value) > length and len(start) < length
        ):  # its end is not shown, so neither is the closing quote
            return f"{shorten_name(repr(start)[:-1], length)}…"
        return shorten_name(repr(start), length)
    return shorten_name(to_compact_json(redact(_start_of(value, [length + MARGIN]))), length)


def shorten_name(name: str, length: int = SHOWN_CHARACTERS) -> str:
    """Return a name or a message on one line without secrets or control characters."""
    text = escape_unprintable(" ".join(redact_start(name, length + MARGIN).split()))
    is_whole = len(text) <= length and len(name) <= length + MARGIN
    if is_whole:
        return text
    return f"{text[: length - 1]}…"


def redact_start(text: str, length: int) -> str:
    """Return at least the first `length` characters of a text without secrets.

    What comes long after is not even looked at, so a message about a huge prompt costs no more
    than about a small one.
    """
    if len(text) <= length + MARGIN:
        return str(redact(text))
    from llm_mock.support.redaction import OUTPUT

    return str(OUTPUT.clean_pieces([text[:length], text[length : length + MARGIN] + "…"])[0])


def _start_of(value: Any, left: list[int]) -> Any:
    """Return a copy of a JSON value with so much of it as a line shows.

    Args:
        value: the value.
        left: how many characters may follow; it is counted down.
    """
    if left[0] <= 0:
        return None
    if isinstance(value, str):
        if len(value) <= left[0] + MARGIN:
            start = value
        else:
            start = f"{value[: left[0] + MARGIN]}…"
        left[0] -= len(start) + 1
        return start
    if type(value) is dict:
        kept = {}
        for name, item in value.items():
            if left[0] <= 0:
                break
            left[0] -= len(name) if isinstance(name, str) else 1
            kept[name] = _start_of(item, left)
        return kept
    if type(value) is list or type(value) is tuple:
        items = []
        for item in value:
            if left[0] <= 0:
                break
            items.append(_start_of(item, left))
        return items
    left[0] -= 1
    return value


def escape_unprintable(text: str) -> str:
    """Return a text with all unprintable characters escaped, including line breaks."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def escape_json_text(text: str) -> str:
    """Return JSON with the control characters escaped that JSON permits."""
    return re.sub(
        "[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]",
        lambda char: f"\\u{ord(char[0]):04x}",
        text,
    )


def to_compact_json(value: Any) -> str:
    """Return a value as JSON, or the name of a function."""
    if callable(value) or hasattr(
        value, "__qualname__"
    ):  # a function, or the coroutine that one returned
        return f"{getattr(value, '__qualname__', type(value).__qualname__)}()"
    return _as_json(value)


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return repr(value)


def described(value: Any) -> str:
    """Return a description of an invalid value: a small value itself, else its type."""
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    if isinstance(value, int) and abs(value) >= 10**4000:  # Python does not write it
        return "a number of thousands of digits"
    if value is None or isinstance(value, (str, bytes, int, float, dict, list)):
        if isinstance(value, (dict, list)):
            return shorten(value)
        return repr(value)
    return f"an object of type {type(value).__qualname__}"


def format_tool_call(name: str, arguments: Mapping[str, Any], length: int = 300) -> str:
    """Return a tool call on one line, as Python code."""
    given = ", ".join(
        f"{argument}={_as_json(redact(value))}" for argument, value in arguments.items()
    )
    return shorten_name(f"{name}({given})", length)


def format_error(error: BaseException) -> str:
    """Return the type and message of an exception, such as `ValueError: no number`."""
    if str(error):
        return f"{type(error).__name__}: {error}"
    return type(error).__name__


def describe_exit(returncode: int) -> str:
    """Return the exit status of a process, such as `with exit code 1` or `killed by SIGKILL`."""
    if returncode >= 0:
        return f"with exit code {returncode}"
    try:
        return f"killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"killed by signal {-returncode}"


def indent_text(text: str, indent: str, length: int = SHOWN_TEXT) -> str:
    """Return the start of a text with indented further lines and escaped control characters.

    The indentation keeps its lines apart from those of the message. Empty lines and secrets are
    removed.
    """
    cut = redact_start(text, length)[:length]
    lines = [line.expandtabs(4).rstrip() for line in cut.splitlines()]
    shown = [escape_unprintable(line) for line in lines if line][:SHOWN_LINES]
    rest = len(text) - length
    if rest > 0:
        shown.append(f"… {rest:,} more characters")
    elif len(lines) > len(shown) == SHOWN_LINES:
        shown.append("…")
    return f"\n{indent}".join(shown)


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 case` and `2,000 cases`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_seconds(duration: float) -> str:
    """Return a duration in words, such as `12 ms`, `1.5 s` or `2 min 5 s`."""
    if duration >= 60:
        return f"{int(duration // 60)} min {duration % 60:.0f} s"
    if duration >= 1:
        return f"{duration:.1f} s"
    return f"{duration * 1000:.0f} ms"


def format_short_seconds(duration: float) -> str:
    """Return a duration for a table, such as `12ms`, `1.5s` or `2m 05s`."""
    if duration >= 60:
        return f"{int(duration // 60)}m {int(duration % 60):02}s"
    if round(duration * 1000) >= 1000:
        return f"{duration:.1f}s"
    return f"{duration * 1000:.0f}ms"


def format_dollars(amount: Decimal | None) -> str:
    """Return US dollars to six digits, and at least to the cent; `unknown` for None."""
    if amount is None:
        return "unknown"
    whole, _, places = f"{amount:.{max(2, 5 - amount.adjusted()) if amount else 2}f}".partition(".")
    return f"${whole}.{places[:2]}{places[2:].rstrip('0')}"


def format_path(path: str | Path, folder: Path | None = None) -> str:
    """Return a path relative to a folder above it, by default the working directory."""
    path = Path(path)
    try:
        folder = folder or Path.cwd()
    except OSError:  # a test may remove the working directory
        return str(path)
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def format_columns(rows: Sequence[Sequence[str]], leading: int) -> list[str]:
    """Return rows as aligned lines: the first `leading` columns to the left, others to the
    right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    sides = [str.ljust] * leading + [str.rjust] * (len(widths) - leading)
    return [
        "  ".join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True))
        for row in rows
    ]


def suggest_nearest(unknown: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests the nearest name, or an empty text."""
    import difflib

    near = difflib.get_close_matches(
        unknown[:COMPARED_CHARACTERS], list(islice(known, COMPARED_NAMES)), n=1
    )
    return f"; did you mean {near[0]!r}?" if near else ""


def suggest_name(unknown: str, known: Sequence[str]) -> str:
    """Return the end of a message that suggests the nearest known name, or all."""
    return suggest_nearest(unknown, known) or (f"; known are {join_names(known)}" if known else "")


def join_names(names: Sequence[str]) -> str:
    """Return names joined by commas, and only the first of very many."""
    if len(names) > SHOWN_NAMES:
        more = f" and {len(names) - SHOWN_NAMES:,} more"
    else:
        more = ""
    return ", ".join(names[:SHOWN_NAMES]) + more
