"""The secrets that are known by their value, and how such a value may stand in a text."""

from __future__ import annotations

import base64
import functools
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from llm_mock.support.redaction.marks import SECRET, covered

SHORTEST = 8
"""Values of fewer characters are not looked for: they would be found in innocent texts."""
SURE = 12
"""Values of as many characters are looked for even if they are only letters, or only digits."""
FEWEST_DIFFERENT = 5
SHORTEST_PART = 6
"""How much of a value is known again where a text was cut within it."""
_SECRET_VARIABLES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "CREDENTIALS")
_CUT = r"\s*\[…[^\]]*…\]\s*|…|\.{3}"
"""What stands where a text was cut."""


@functools.cache
def is_secret_name(name: str) -> bool:
    """Whether the name of an environment variable says that its value is a key, a token or a password."""
    return name.upper().endswith(_SECRET_VARIABLES)


def _can_be_found(value: str) -> bool:
    """Whether a value is no ordinary word, number or file, which texts would be full of."""
    if len(value) < SHORTEST or len(set(value)) < FEWEST_DIFFERENT:
        return False
    if len(value) < SURE and (re.fullmatch(r"[^\W\d_]+(?:[-_. ][^\W\d_]+)*", value) or value.isdigit()):
        return False
    return not (os.path.isabs(value) and os.path.exists(value))


class Known:
    """Values that are secret, and never forgotten: those that are given, and those of the environment.

    The environment counts as it is whenever somebody looks, so that what a test sets is known, too.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._seen: dict[Any, Any] = {}
        self._values: set[str] = set()
        self._sources: list[Callable[[], Iterable[str]]] = []
        self._forms: set[str] = set()
        self.forms: tuple[str, ...] = ()
        """All that a value may look like in a text, the longest first."""
        self._lock = threading.RLock()

    def hide(self, *values: str) -> None:
        """Take further values as secret."""
        new = {value for value in values if value not in self._values}
        if not new:
            return
        with self._lock:
            self._values |= new
            found = {form for value in map(str.strip, new) if _can_be_found(value) for form in _forms_of(value)}
            if not found <= self._forms:
                self._forms |= found
                self.forms = tuple(sorted(self._forms, key=lambda form: (-len(form), form)))

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
            self.hide(*(self._environment.get(name, "") for name in self._environment if is_secret_name(name)))
            self._seen = seen
        return self.forms


KNOWN = Known()
"""The secrets that this process knows by their value."""


def cover_known(text: str, forms: Iterable[str]) -> str:
    """A text with the values covered, also what is left of one where the text was cut within it."""
    for form in forms:
        if form in text:
            text = text.replace(form, covered(form, SECRET))
    if "…" in text or "..." in text:
        for cut in reversed(list(re.finditer(_CUT, text))):
            text = _cover_start(text[: cut.start()], forms) + cut[0] + _cover_end(text[cut.end() :], forms)
    return text


def _cover_start(text: str, forms: Iterable[str]) -> str:
    """A text with the first part of a value covered, if it ends with one."""
    for form in forms:
        start = text.rfind(form[:SHORTEST_PART], max(0, len(text) - len(form)))
        if start >= 0 and form.startswith(text[start:]):
            return text[:start] + covered(text[start:], SECRET)
    return text


def _cover_end(text: str, forms: Iterable[str]) -> str:
    """A text with the last part of a value covered, if it begins with one."""
    for form in forms:
        start = text.find(form[-SHORTEST_PART:], 0, len(form))
        if start >= 0 and form.endswith(text[: start + SHORTEST_PART]):
            return covered(text[: start + SHORTEST_PART], SECRET) + text[start + SHORTEST_PART :]
    return text


def _forms_of(value: str) -> Iterator[str]:
    """How a value may stand in a text."""
    yield from (quote(value), quote(value, safe=""), quote_plus(value))
    once = {value, *_escaped(value)}
    yield from once
    for text in once:  # such as JSON within JSON, as the arguments of a tool call are
        yield from _escaped(text)
    content = value.encode(errors="surrogateescape")
    for before in range(3):  # base64 reads three bytes at once, and the value may begin at any of them
        first, last = -(-before * 8 // 6), (before + len(content)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(before) + content).decode()[first:last]


def _escaped(text: str) -> tuple[str, ...]:
    return repr(text)[1:-1], json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]
