"""The secrets that are known by their value, and how such a value may stand in a text."""

from __future__ import annotations

import base64
import functools
import json
import os
import re
import string
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any
from urllib.parse import quote, quote_plus

from llm_mock.support.redaction.marks import SECRET, make_mark

SHORTEST = 8
"""Values of fewer characters are not looked for: they would be found in innocent texts."""
SURE = 12
"""Values of as many characters are looked for even if they are only letters, or only digits."""
FEWEST_DIFFERENT = 5
SHORTEST_PART = 6
"""How much of a value is known again where a text was cut within it."""
_SECRET_VARIABLES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "CREDENTIALS")
SPACE = 16
"""How much white space may stand around a sentence that says how much was cut."""
MOST_CARRIED = 256
"""How many credentials of requests are remembered, the last ones: a client may send another one
each time."""
LONG_TEXT = 10_000
"""In longer texts, values without white space are looked for only where there are long words."""
_IN_WORDS = string.ascii_letters + string.digits + "_.~+/-"
_WORD_TABLE = bytes(97 if byte in _IN_WORDS.encode() else 32 for byte in range(256))
LONG_WORD = 15


@functools.cache
def _cut() -> re.Pattern[str]:
    return re.compile(r"\[…[^\]]{0,200}…\]|…|\.{3,}")


def find_long_words(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where at least `LONG_WORD` characters of keys stand in a row, in linear time.

    Args:
        data: a text with one byte for each character.
    """
    marks = data.translate(_WORD_TABLE) + b" "
    start = marks.find(b"a" * LONG_WORD)
    while start >= 0:
        end = marks.find(b" ", start)
        yield start, end
        start = marks.find(b"a" * LONG_WORD, end)


@functools.cache
def is_secret_name(name: str) -> bool:
    """Return whether an environment variable holds a key, token or password, by its name."""
    return name.upper().endswith(_SECRET_VARIABLES)


def _can_be_found(value: str) -> bool:
    """Return whether a value is rare in texts: no ordinary word, number or file name."""
    if len(value) < SHORTEST or len(set(value)) < FEWEST_DIFFERENT:
        return False
    if len(value) < SURE and (
        re.fullmatch(r"[^\W\d_]+(?:[-_. ][^\W\d_]+)*", value) or value.isdigit()
    ):
        return False
    return not (os.path.isabs(value) and os.path.exists(value))


class Known:
    """Values that are secret, and never forgotten: those that are given, and those of the
    environment.

    The environment counts as it is whenever somebody looks, so that what a test sets is known, too.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._seen: dict[Any, Any] = {}
        self._values: set[str] = set()
        self._sources: list[Callable[[], Iterable[str]]] = []
        self._carried: dict[str, frozenset[str]] = {}
        """What requests carried, with its forms."""
        self._forms: set[str] = set()
        self._rows: frozenset[str] = frozenset()
        """Those of the forms that can only stand within long words."""
        self.forms: tuple[str, ...] = ()
        """All that a value may look like in a text, the longest first."""
        self.parts: frozenset[str] = frozenset()
        """Every row of `SHORTEST_PART` characters in one of these: no other can stand beside a cut
        within a value."""
        self._lock = threading.RLock()

    def hide(self, *values: str) -> None:
        """Take further values as secret."""
        new = {value for value in values if value not in self._values}
        if not new:
            return
        with self._lock:
            self._values |= new
            self._add({form for value in new for form in _forms_to_find(value)})

    def hide_carried(self, *values: str) -> None:
        """Take the credentials of a request as secret; of very many, the oldest are forgotten."""
        new = [
            value for value in values if value not in self._carried and value not in self._values
        ]
        if not new:
            return
        with self._lock:
            for value in new:
                self._carried[value] = frozenset(_forms_to_find(value))
                self._add(self._carried[value])
            if len(self._carried) > MOST_CARRIED:
                self._forget_carried()

    def _forget_carried(self) -> None:
        """Forget the older half of the credentials of requests."""
        self._carried = dict([*self._carried.items()][MOST_CARRIED // 2 :])
        lasting = {form for value in self._values for form in _forms_to_find(value)}
        self._forms, self.parts, self._rows = set(), frozenset(), frozenset()
        self._add(lasting.union(*self._carried.values()))

    def _add(self, found: Set[str]) -> None:
        if found <= self._forms:
            return
        self._forms |= found
        self.parts |= {part for form in found for part in _parts_of(form)}
        self._rows |= {form for form in found if len(form) >= LONG_WORD and _is_word(form)}
        self.forms = tuple(sorted(self._forms, key=lambda form: (-len(form), form)))

    def found_in(self, text: str) -> Iterator[str]:
        """Yield the forms that stand in a text."""
        words = text
        if len(text) > LONG_TEXT and self._rows:
            spans = find_long_words(text.encode("ascii", "replace"))
            words = "\n".join(text[start:end] for start, end in spans)
        for form in self.forms:
            if form in (words if form in self._rows else text):
                yield form

    def ask(self, source: Callable[[], Iterable[str]]) -> None:
        """Have a function give further values, the first time that somebody looks."""
        self._sources.append(source)

    def look(self) -> tuple[str, ...]:
        """Find out what is secret now, and give all that it may look like in a text."""
        if self._sources:
            with self._lock:
                while self._sources:
                    self.hide(*self._sources.pop()())
        seen = dict(
            getattr(self._environment, "_data", self._environment)
        )  # `os.environ` itself decodes all, each time
        if seen != self._seen:
            self.hide(
                *(
                    self._environment.get(name, "")
                    for name in self._environment
                    if is_secret_name(name)
                )
            )
            self._seen = seen
        return self.forms


KNOWN = Known()
"""The secrets that this process knows by their value."""


def cover_known(text: str, known: Known) -> str:
    """Return a text with the values covered, also what is left of one where the text was cut
    within it."""
    for form in known.found_in(text):
        text = text.replace(form, make_mark(form, SECRET))
    if known.forms and ("…" in text or "..." in text):
        return _cover_cut(text, known)
    return text


def _cover_cut(text: str, known: Known) -> str:
    """Return a text with the parts of values covered that stand before and behind its cuts."""
    pieces, position = [], 0
    for start, end in _cuts(text):
        before = _length_of_start(text, position, start, known)
        behind = _length_of_end(text, end, known)
        pieces += [text[position : start - before], make_mark(text[start - before : start], SECRET)]
        pieces += [text[start:end], make_mark(text[end : end + behind], SECRET)]
        position = end + behind
    return "".join([*pieces, text[position:]])


def _cuts(text: str) -> Iterator[tuple[int, int]]:
    """Yield what stands where a text was cut, with the white space around a whole sentence."""
    position = 0
    for match in _cut().finditer(text):
        start, end = match.span()
        if match[0][0] == "[":
            start = max(
                position, len(text[max(0, start - SPACE) : start].rstrip()) + max(0, start - SPACE)
            )
            end += SPACE - len(text[end : end + SPACE].ljust(SPACE, "x").lstrip())
        yield max(start, position), max(end, position)
        position = max(end, position)


def _length_of_start(text: str, position: int, cut: int, known: Known) -> int:
    """Return how many characters before a cut are the first part of a value."""
    if text[max(position, cut - SHORTEST_PART) : cut] not in known.parts:
        return 0
    for form in known.forms:
        start = text.rfind(form[:SHORTEST_PART], max(position, cut - len(form)), cut)
        if start >= 0 and form.startswith(text[start:cut]):
            return cut - start
    return 0


def _length_of_end(text: str, cut: int, known: Known) -> int:
    """Return how many characters behind a cut are the last part of a value."""
    if text[cut : cut + SHORTEST_PART] not in known.parts:
        return 0
    for form in known.forms:
        start = text.find(form[-SHORTEST_PART:], cut, cut + len(form))
        if start >= 0 and form.endswith(text[cut : start + SHORTEST_PART]):
            return start + SHORTEST_PART - cut
    return 0


def _forms_to_find(value: str) -> Iterator[str]:
    """Yield how a value may stand in a text, if it can be found there."""
    value = value.strip()
    if _can_be_found(value):
        return _forms_of(value)
    return iter(())


def _is_word(form: str) -> bool:
    return not form.encode("ascii", "replace").translate(_WORD_TABLE).strip(b"a") and form.isascii()


def _forms_of(value: str) -> Iterator[str]:
    """Return the forms in which a value may occur in a text."""
    yield from (quote(value), quote(value, safe=""), quote_plus(value))
    once = {value, *_escaped(value)}
    yield from once
    for text in once:  # such as JSON within JSON, as the arguments of a tool call are
        yield from _escaped(text)
    content = value.encode(errors="surrogateescape")
    for before in range(
        3
    ):  # base64 reads three bytes at once, and the value may begin at any of them
        first, last = -(-before * 8 // 6), (before + len(content)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(before) + content).decode()[first:last]


def _escaped(text: str) -> tuple[str, ...]:
    return repr(text)[1:-1], json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]


def _parts_of(form: str) -> Iterator[str]:
    return (form[start : start + SHORTEST_PART] for start in range(len(form) - SHORTEST_PART + 1))
