"""Find secrets by their value, in each form that it may have in a text."""

from __future__ import annotations

import base64
import functools
import json
import os
import re
import string
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from urllib.parse import quote, quote_plus

from llm_mock.support.redaction.marks import SECRET, make_mark
from llm_mock.support.secret_sources import SECRET_SOURCES

SHORTEST = 8
"""The minimum length of a value: a shorter one would be found in innocent texts."""
SURE = 12
"""Values of as many characters are searched for even if they are only letters, or only digits."""
FEWEST_DIFFERENT = 5
"""The minimum number of different characters of a value."""
SHORTEST_PART = 6
"""The number of characters by which a value is recognised where a text was cut within it."""
_SECRET_VARIABLES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "CREDENTIALS")
SPACE = 16
"""The maximum white space around a sentence that says how much was cut."""
MOST_CARRIED = 256
"""The number of credentials of requests that are kept, as a client may send a new one each time."""
CACHED_NAMES = 4_096
"""The number of names of variables that are remembered: clients of a server may send any."""
LONG_TEXT = 10_000
"""The length from which a text is searched for values without white space only in long words."""
_IN_WORDS = string.ascii_letters + string.digits + "_.~+/-"
_WORD_TABLE = bytes(97 if byte in _IN_WORDS.encode() else 32 for byte in range(256))
LONG_WORD = 15
"""The minimum length of a long word: a row of characters that keys consist of."""


@functools.cache
def _cut() -> re.Pattern[str]:
    return re.compile(r"\[…[^\]]{0,200}…\]|…|\.{3,}")


def find_long_words(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield each span of at least `LONG_WORD` characters that a key may have, in linear time.

    Args:
        data: a text with one byte for each character.
    """
    # `bytes.find` is far faster than a regular expression.
    marks = data.translate(_WORD_TABLE) + b" "
    start = marks.find(b"a" * LONG_WORD)
    while start >= 0:
        end = marks.find(b" ", start)
        yield start, end
        start = marks.find(b"a" * LONG_WORD, end)


@functools.lru_cache(CACHED_NAMES)
def is_secret_name(name: str) -> bool:
    """Return whether an environment variable holds a key, token or password, by its name."""
    return name.upper().endswith(_SECRET_VARIABLES)


def _can_be_found(value: str) -> bool:
    """Return whether a value is rare in texts: no ordinary word, number or file name."""
    if len(value) < SHORTEST or len(set(value)) < FEWEST_DIFFERENT:
        return False
    if len(value) < SURE:
        is_words = re.fullmatch(r"[^\W\d_]+(?:[-_. ][^\W\d_]+)*", value)
        if is_words or value.isdigit():
            return False
    return not (os.path.isabs(value) and os.path.exists(value))


class KnownSecrets:
    """Secret values, given or from the environment, which are kept for the rest of the process.

    Values that a test sets in the environment are found, too: it is read again at each `refresh`.

    Args:
        environment: the environment variables.
        sources: functions that return further values; each is called at the next `refresh`, and
            removed.
    """

    def __init__(
        self,
        environment: Mapping[str, str] = os.environ,
        sources: list[Callable[[], Iterable[str]]] | None = None,
    ) -> None:
        self._environment = environment
        self._seen: dict[object, object] = {}
        """The environment at the last `refresh`."""
        self._values: set[str] = set()
        self._sources = [] if sources is None else sources
        self._carried: dict[str, frozenset[str]] = {}
        """The credentials of requests, with their forms."""
        self._forms: set[str] = set()
        self._rows: frozenset[str] = frozenset()
        """The forms that can only occur within long words."""
        self.forms: tuple[str, ...] = ()
        """All forms that a value may have in a text, the longest first."""
        self.parts: frozenset[str] = frozenset()
        """Each substring of `SHORTEST_PART` characters of a form: no other text can be beside a
        cut within a value."""
        self._lock = threading.RLock()

    def hide(self, *values: str) -> None:
        """Register further values as secret."""
        new = {value for value in values if value not in self._values}
        if not new:
            return
        with self._lock:
            self._values |= new
            self._add_forms(_collect_forms(new))

    def hide_carried(self, *values: str) -> None:
        """Register the credentials of a request as secret; of very many, the oldest are dropped."""
        new = [value for value in values if value not in self._carried]
        new = [value for value in new if value not in self._values]
        if not new:
            return
        with self._lock:
            for value in new:
                forms = frozenset(_list_forms(value))
                self._carried[value] = forms
                self._add_forms(forms)
            if len(self._carried) > MOST_CARRIED:
                self._forget_carried()

    def _forget_carried(self) -> None:
        """Drop the older half of the credentials of requests."""
        # A dict keeps the order in which its keys were added.
        credentials = list(self._carried.items())
        self._carried = dict(credentials[MOST_CARRIED // 2 :])
        # A form may belong to several values, so the forms are collected anew.
        lasting = _collect_forms(self._values)
        self._forms = set()
        self.parts = frozenset()
        self._rows = frozenset()
        self._add_forms(lasting.union(*self._carried.values()))

    def _add_forms(self, forms: Set[str]) -> None:
        if forms <= self._forms:
            return
        self._forms |= forms
        parts: set[str] = set()
        for form in forms:
            parts.update(_list_parts(form))
        self.parts |= parts
        self._rows |= {form for form in forms if _is_long_word(form)}
        # The longest first, as a form may be part of another one.
        self.forms = tuple(sorted(self._forms, key=lambda form: (-len(form), form)))

    def find_in(self, text: str) -> Iterator[str]:
        """Yield the forms that occur in a text."""
        words = text
        if len(text) > LONG_TEXT and self._rows:
            data = text.encode("ascii", "replace")
            spans = find_long_words(data)
            words = "\n".join(text[start:end] for start, end in spans)
        for form in self.forms:
            if form in self._rows:
                is_there = form in words
            else:
                is_there = form in text
            if is_there:
                yield form

    def refresh(self) -> tuple[str, ...]:
        """Read the environment again, and return all forms that a value may have in a text."""
        if self._sources:
            with self._lock:
                while self._sources:
                    source = self._sources.pop()
                    self.hide(*source())
        # Reading `os.environ` itself would decode all variables, each time; `_data` is its private
        # dictionary of encoded ones.
        seen = dict(getattr(self._environment, "_data", self._environment))
        if seen != self._seen:
            names = [name for name in self._environment if is_secret_name(name)]
            self.hide(*(self._environment.get(name, "") for name in names))
            self._seen = seen
        return self.forms


KNOWN = KnownSecrets(sources=SECRET_SOURCES)
"""The secrets that this process knows by their value."""


def cover_known(text: str, known: KnownSecrets) -> str:
    """Return a text with known secrets covered, including their parts beside a cut."""
    for form in known.find_in(text):
        text = text.replace(form, make_mark(form, SECRET))
    if known.forms and ("…" in text or "..." in text):
        return _cover_cut(text, known)
    return text


def _cover_cut(text: str, known: KnownSecrets) -> str:
    """Return a text with the parts of secrets covered that are before and behind its cuts."""
    pieces = []
    position = 0
    for start, end in _find_cuts(text):
        secret_start = start - _length_of_start(text, position, start, known)
        secret_end = end + _length_of_end(text, end, known)
        before = text[secret_start:start]
        behind = text[end:secret_end]
        pieces.append(text[position:secret_start])
        pieces.append(make_mark(before, SECRET))
        pieces.append(text[start:end])
        pieces.append(make_mark(behind, SECRET))
        position = secret_end
    pieces.append(text[position:])
    return "".join(pieces)


def _find_cuts(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans where a text was cut, with the white space around a whole sentence."""
    position = 0
    for match in _cut().finditer(text):
        start, end = match.span()
        is_sentence = match[0][0] == "["
        if is_sentence:
            before_start = max(0, start - SPACE)
            before = text[before_start:start]
            start = before_start + len(before.rstrip())
            behind = text[end : end + SPACE]
            end += len(behind) - len(behind.lstrip())
        start = max(start, position)
        end = max(end, position)
        yield start, end
        position = end


def _length_of_start(text: str, position: int, cut: int, known: KnownSecrets) -> int:
    """Return how many characters before a cut are the first part of a value."""
    nearest_start = max(position, cut - SHORTEST_PART)
    if text[nearest_start:cut] not in known.parts:
        return 0
    for form in known.forms:
        first = form[:SHORTEST_PART]
        earliest = max(position, cut - len(form))
        start = text.rfind(first, earliest, cut)
        if start < 0:
            continue
        if form.startswith(text[start:cut]):
            return cut - start
    return 0


def _length_of_end(text: str, cut: int, known: KnownSecrets) -> int:
    """Return how many characters behind a cut are the last part of a value."""
    nearest_end = cut + SHORTEST_PART
    if text[cut:nearest_end] not in known.parts:
        return 0
    for form in known.forms:
        last = form[-SHORTEST_PART:]
        start = text.find(last, cut, cut + len(form))
        if start < 0:
            continue
        end = start + SHORTEST_PART
        if form.endswith(text[cut:end]):
            return end - cut
    return 0


def _collect_forms(values: Iterable[str]) -> set[str]:
    forms: set[str] = set()
    for value in values:
        forms.update(_list_forms(value))
    return forms


def _list_forms(value: str) -> Iterator[str]:
    """Yield the forms that a value may have in a text; none if it is too common to be found."""
    value = value.strip()
    if not _can_be_found(value):
        return
    # In a URL
    yield quote(value)
    yield quote(value, safe="")
    yield quote_plus(value)
    # Within a text of JSON or Python
    once = {value, *_escape(value)}
    yield from once
    # JSON within JSON, as the arguments of a tool call are
    for text in once:
        yield from _escape(text)
    # In base64, which reads three bytes at once: the value may begin at any of them.
    content = value.encode(errors="surrogateescape")
    for before in range(3):
        # Only the characters that depend on nothing but the value
        first = -(-before * 8 // 6)
        last = (before + len(content)) * 8 // 6
        shifted = bytes(before) + content
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encoded = encode(shifted).decode()
            yield encoded[first:last]


def _is_long_word(form: str) -> bool:
    """Return whether a form consists of so many characters of keys that it is in a long word."""
    if len(form) < LONG_WORD or not form.isascii():
        return False
    return not form.encode().translate(_WORD_TABLE).strip(b"a")


def _escape(text: str) -> tuple[str, ...]:
    literals = (
        repr(text),
        json.dumps(text),
        json.dumps(text, ensure_ascii=False),
    )
    # Without their quotes
    return tuple(literal[1:-1] for literal in literals)


def _list_parts(form: str) -> set[str]:
    parts = set()
    for end in range(SHORTEST_PART, len(form) + 1):
        part = form[end - SHORTEST_PART : end]
        parts.add(part)
    return parts
