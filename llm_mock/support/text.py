"""Format values, calls and numbers for messages and tables.

Texts are redacted before they are cut, because a part of a key is not recognised as a secret.
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

# The limits in a message: characters of a value, of another message and of a text; names in a list.
SHOWN_CHARACTERS = 120
SHOWN_MESSAGE = 500
SHOWN_TEXT = 2_000
SHOWN_LINES = 40
SHOWN_NAMES = 50
MARGIN = 4_000
"""The number of further characters to redact after the shown ones. A longer secret is recognised by
its start."""
COMPARED_NAMES, COMPARED_CHARACTERS = 500, 200
"""The limits of the search for the nearest name, because comparing names is slow."""
CERTAIN = 0.8
"""The minimum similarity of a name that is very probably misspelt, not just unknown."""
VERSION = re.compile(r"\d+|(?<![a-z])[a-z](?![a-z])")
"""A pattern for numbers and single letters, which distinguish similar names of models."""
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


def shorten(value: object, length: int = SHOWN_CHARACTERS) -> str:
    """Return a value on one line without secrets, cut at a length: text in quotes, data as JSON."""
    if isinstance(value, str):
        start = redact_start(value, length)
        literal = repr(start)
        if len(value) > length and len(start) < length:
            # The end of the text is omitted, so the closing quote is, too.
            beginning = _fit_line(literal[:-1], length)
            return f"{beginning}…"
        return _fit_line(literal, length)
    part = _copy_start(value, [length + MARGIN])
    return shorten_name(to_compact_json(redact(part)), length)


def shorten_name(name: str, length: int = SHOWN_CHARACTERS) -> str:
    """Return a name or a short message on one line without secrets or control characters."""
    examined = length + MARGIN
    return _fit_line(redact_start(name, examined), length, len(name) > examined)


def shorten_message(text: str) -> str:
    """Return another program's message on one line without secrets or control characters."""
    return shorten_name(text, SHOWN_MESSAGE)


def _fit_line(text: str, length: int, is_cut: bool = False) -> str:
    """Return a text without secrets on one line, cut at a length, without control characters.

    Args:
        text: the text.
        length: the maximum length.
        is_cut: whether the end of the text is already omitted.
    """
    line = escape_unprintable(" ".join(text.split()))
    if len(line) <= length and not is_cut:
        return line
    return f"{line[: length - 1]}…"


def redact_start(text: str, length: int) -> str:
    """Return at least the first `length` characters of a text without secrets.

    The rest of a long text is not examined, so that messages about huge prompts are not slow.
    """
    end = length + MARGIN
    if len(text) <= end:
        return str(redact(text))
    from llm_mock.support.redaction import OUTPUT

    pieces = [text[:length], f"{text[length:end]}…"]
    return OUTPUT.clean_pieces(pieces)[0]


def _copy_start(value: object, left: list[int]) -> Any:
    """Return a copy of the start of a JSON value that fits on a line.

    Args:
        value: the value.
        left: the remaining number of characters, which is reduced.
    """
    if left[0] <= 0:
        return None
    if isinstance(value, str):
        end = left[0] + MARGIN
        start = value
        if len(value) > end:
            start = f"{value[:end]}…"
        left[0] -= len(start) + 1
        return start
    # Exact types, because a subclass may have its own representation.
    if type(value) is dict:
        return _copy_start_of_dict(value, left)
    if type(value) is list or type(value) is tuple:
        items = []
        for item in value:
            if left[0] <= 0:
                break
            items.append(_copy_start(item, left))
        return items
    left[0] -= 1
    return value


def _copy_start_of_dict(data: dict[object, Any], left: list[int]) -> dict[object, Any]:
    copied = {}
    for name, item in data.items():
        if left[0] <= 0:
            break
        left[0] -= len(name) if isinstance(name, str) else 1
        copied[name] = _copy_start(item, left)
    return copied


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


def to_compact_json(value: object) -> str:
    """Return a value as JSON, or the name of a function."""
    # A coroutine is not callable, but has the name of its function.
    if callable(value) or hasattr(value, "__qualname__"):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        return f"{name}()"
    return _as_json(value)


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        # An address differs in each run and does not help readers.
        return _ADDRESS.sub("", repr(value))


def described(value: object) -> str:
    """Return a description of an invalid value: the value if it is small, else its type."""
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    # Python refuses to convert longer numbers to text.
    if isinstance(value, int) and abs(value) >= 10**4000:
        return "a number of thousands of digits"
    if isinstance(value, (dict, list)):
        return shorten(value)
    if value is None or isinstance(value, (str, bytes, int, float)):
        return repr(value)
    return f"an object of type {type(value).__qualname__}"


def format_tool_call(name: str, arguments: Mapping[str, object]) -> str:
    """Return a tool call on one line, as Python code."""
    formatted = []
    for argument, value in arguments.items():
        text = _as_json(redact(value))
        formatted.append(f"{argument}={text}")
    call = f"{name}({', '.join(formatted)})"
    return shorten_message(call)


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

    The indentation separates its lines from the lines of the message. Empty lines and secrets are
    removed.
    """
    # Redacted before it is cut, because a part of a key is not recognised.
    start = redact_start(text, length)[:length]
    lines = [line.expandtabs(4).rstrip() for line in start.splitlines()]
    escaped = [escape_unprintable(line) for line in lines if line]
    printed = escaped[:SHOWN_LINES]
    rest = len(text) - length
    if rest > 0:
        printed.append(f"… {rest:,} more characters")
    elif len(lines) > len(printed) == SHOWN_LINES:
        printed.append("…")
    return f"\n{indent}".join(printed)


def bracket_host(host: str) -> str:
    """Return a host as a URL has it: with brackets around an address of IPv6."""
    if ":" in host and not host.startswith("["):
        return f"[{host}]"
    return host


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 case` and `2,000 cases`."""
    plural = "" if number == 1 else "s"
    return f"{number:,} {noun}{plural}"


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
        minutes, seconds = divmod(duration, 60)
        return f"{int(minutes)}m {int(seconds):02}s"
    milliseconds = duration * 1000
    # Rounded before the unit is chosen, so that 999.9 ms are written as 1.0s.
    if round(milliseconds) >= 1000:
        return f"{duration:.1f}s"
    return f"{milliseconds:.0f}ms"


def format_dollars(amount: Decimal | None) -> str:
    """Return US dollars to six digits, and at least to the cent; `unknown` for None."""
    if amount is None:
        return "unknown"
    digits = 2
    if amount:
        digits = max(digits, 5 - amount.adjusted())
    whole, _, places = f"{amount:.{digits}f}".partition(".")
    cents = places[:2]
    fractions = places[2:].rstrip("0")
    return f"${whole}.{cents}{fractions}"


def format_path(path: str | Path, folder: Path | None = None) -> str:
    """Return a path relative to a folder above it, by default the working directory."""
    path = Path(path)
    try:
        folder = folder or Path.cwd()
    except OSError:  # a test may remove the working directory
        return str(path)
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def format_columns(rows: Sequence[Sequence[str]], leading: int) -> list[str]:
    """Return rows as aligned lines.

    Args:
        rows: the cells of each row.
        leading: the number of columns to align to the left; others are aligned to the right.
    """
    columns = zip(*rows, strict=True)
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for row in rows:
        cells = []
        for number, cell in enumerate(row):
            if number < leading:
                cells.append(cell.ljust(widths[number]))
            else:
                cells.append(cell.rjust(widths[number]))
        lines.append("  ".join(cells))
    return lines


def find_nearest(unknown: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the nearest name with at least this similarity; None without one."""
    import difflib

    compared = list(islice(known, COMPARED_NAMES))
    near = difflib.get_close_matches(unknown[:COMPARED_CHARACTERS], compared, cutoff=cutoff)
    return near[0] if near else None


def find_nearest_text(text: str, known: Sequence[str]) -> str | None:
    """Return the text that was very probably meant; None without one.

    A text that differs only in upper and lower case is always the nearest.
    """
    for other in known:
        if differs_in_case(text, other):
            return other
    return find_nearest(text, known, CERTAIN)


def suggest_nearest(unknown: str, known: Iterable[str], prefix: str = "") -> str:
    """Return the end of a message that suggests the nearest name, or an empty text.

    Args:
        unknown: the name.
        known: the names that exist.
        prefix: a prefix of most names. If the unknown name has it, too, only the rest is compared,
            because the same prefix makes all names similar.
    """
    if not unknown.startswith(prefix):
        prefix = ""
    names = {name.removeprefix(prefix): name for name in known}
    nearest = find_nearest(unknown.removeprefix(prefix), names)
    return "" if nearest is None else f"; did you mean {names[nearest]!r}?"


def describe_respelt(name: str, called: Sequence[str]) -> str:
    """Return a sentence about a called model with another spelling of a name; empty without one.

    Example:
        `gpt-5` for `gpt5` or for `openai:gpt-5`, but not for `openai/gpt-5`, another model.
    """
    if name in called:
        return ""
    spellings = {_get_letters(name), _get_letters(name.partition(":")[2])}
    for other in called:
        if _get_letters(other) in spellings:
            return f"No call to {name!r} was made, but calls to {other!r} were. Write {other!r}."
    return ""


def is_one_letter_off(name: str, other: str) -> bool:
    """Return whether a name has one letter too few, too many, wrong or moved, or another case.

    Example:
        `gpt-4o-mni` and `gpt-4o-mnii` for `gpt-4o-mini`, but not `o1-mini` for `o3-mini` or
        `command-a` for `command-r`: digits and single letters make another version.
    """
    if name == other:
        return False
    longest = max(len(name), len(other))
    if longest > COMPARED_CHARACTERS:
        return False
    if VERSION.findall(name.lower()) != VERSION.findall(other.lower()):
        return False
    if differs_in_case(name, other):
        return True
    return not _remove_one_letter(name).isdisjoint(_remove_one_letter(other))


def _remove_one_letter(name: str) -> set[str]:
    """Return a name, and the name without each one of its letters."""
    names = {name}
    for index in range(len(name)):
        before = name[:index]
        after = name[index + 1 :]
        names.add(before + after)
    return names


def find_with_other_prefix(name: str, called: Iterable[str]) -> str | None:
    """Return a called model whose name differs only by a prefix; None without one.

    Example:
        `gpt-5` for `openai/gpt-5`, which may also be another model.
    """
    for other in called:
        if has_prefix(name, other) or has_prefix(other, name):
            return other
    return None


def has_prefix(name: str, model: str) -> bool:
    """Return whether a name is a prefix and the name of a model, such as `openai/gpt-5`."""
    return name.endswith((f"/{model}", f":{model}"))


def differs_in_case(text: object, other: object) -> bool:
    """Return whether two texts differ, but only in upper and lower case."""
    if not isinstance(text, str) or not isinstance(other, str):
        return False
    return text != other and text.lower() == other.lower()


def _get_letters(name: str) -> str:
    """Return the name of a model in lower case and without separators."""
    return re.sub("[-_. ]", "", name).lower()


def suggest_name(unknown: str, known: Sequence[str]) -> str:
    """Return the end of a message that suggests the nearest known name, or lists all names."""
    nearest = suggest_nearest(unknown, known)
    if nearest:
        return nearest
    if known:
        return f"; known are {join_names(known)}"
    return ""


def join_alternatives(texts: Iterable[str]) -> str:
    """Return texts as alternatives, such as `a, b or c`."""
    *others, last = texts
    if not others:
        return last
    return f"{', '.join(others)} or {last}"


def join_names(names: Sequence[str]) -> str:
    """Return names joined by commas, and only the first of very many."""
    joined = ", ".join(names[:SHOWN_NAMES])
    others = len(names) - SHOWN_NAMES
    if others > 0:
        return f"{joined} and {others:,} more"
    return joined
