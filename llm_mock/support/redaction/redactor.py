"""Replace secrets in texts, in the pieces of a text, and in JSON values."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llm_mock.support.redaction.forms import cover_forms, has_secret_name, is_secret_field
from llm_mock.support.redaction.known_secrets import KNOWN, KnownSecrets, cover_known
from llm_mock.support.redaction.marks import FORM, REDACTED, make_mark, protect_marks, render_marks

CACHED_TEXTS = 10_000
"""The number of texts that are kept with their secrets replaced, as they come up again."""
LONGEST_CACHED = 2_000
"""The maximum length of a cached text, as ten thousand longer ones could fill the memory."""


class Redactor:
    """Replaces secrets by `[redacted]`, and known values by `[redacted secret]`.

    Secrets are the known values, also as base64, in JSON or in a URL, or cut; texts with the form
    of a key of a known provider, of a bearer token, a private key, a password or a signature in a
    URL; texts that the patterns match; and the texts of fields whose name says so (`authorization`,
    `api_key`, `password`, …). The arguments of tools have names of the tool's own, so these do not
    count.

    Args:
        patterns: regular expressions of further secrets.
        known: the secrets that are known by their value; by default none.
    """

    def __init__(
        self,
        patterns: Iterable[str | re.Pattern[str]] = (),
        known: KnownSecrets | None = None,
    ) -> None:
        self._known = known
        self._forms: tuple[str, ...] = ()
        """The forms of the known secrets at the last search."""
        self._patterns: list[re.Pattern[str]] = []
        self._cover_short = functools.lru_cache(CACHED_TEXTS)(self._cover_secrets)
        self.hide_pattern(*patterns)

    def hide_pattern(self, *patterns: str | re.Pattern[str]) -> None:
        """Take as secret what further regular expressions match."""
        compiled = [re.compile(pattern) for pattern in patterns]
        self._patterns += [pattern for pattern in compiled if pattern not in self._patterns]
        self._cover_short.cache_clear()

    def clean(self, value: object) -> Any:
        """Return a copy of a text or of a JSON value without secrets."""
        self._update_known()
        # Most values are texts, such as what a line shows of a call.
        if isinstance(value, str):
            return self._clean_text(value)
        return self._clean(value, True)

    def clean_pieces(self, pieces: Sequence[str]) -> list[str]:
        """Return the pieces of a text without secrets, even of those that span several pieces."""
        self._update_known()
        whole = self._cover("".join(pieces))
        # A covered text has the same length, so it is cut at the same positions.
        cleaned = []
        start = 0
        for piece in pieces:
            end = start + len(piece)
            cleaned.append(render_marks(whole[start:end]))
            start = end
        return cleaned

    def _update_known(self) -> None:
        """Read the known secrets again, and drop cached texts if there are new ones."""
        if self._known is None:
            return
        forms = self._known.refresh()
        if forms is not self._forms:
            self._forms = forms
            self._cover_short.cache_clear()

    def _clean(self, value: object, by_name: bool) -> Any:
        if isinstance(value, str):
            return self._clean_text(value)
        if isinstance(value, Mapping):
            return {
                self._clean(name, by_name): self._clean_field(name, item, by_name)
                for name, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._clean(item, by_name) for item in value]
        return value

    def _clean_text(self, text: str) -> str:
        covered = self._cover(text)
        # Most texts have no secret.
        return text if covered == text else render_marks(covered)

    def _clean_field(self, name: object, value: object, by_name: bool) -> Any:
        is_named = by_name and has_secret_name(str(name))
        if is_named and isinstance(value, str) and is_secret_field(str(name), value):
            return REDACTED
        # The arguments of a tool have names of the tool's own.
        return self._clean(value, by_name and name != "arguments")

    def _cover(self, text: str) -> str:
        if len(text) <= LONGEST_CACHED:
            return self._cover_short(text)
        return self._cover_secrets(text)

    def _cover_secrets(self, text: str) -> str:
        """Return a text of the same length with each secret covered."""
        # Earlier marks first, and known values before forms, as a form may contain a value.
        if REDACTED[:-1] in text:
            text = protect_marks(text)
        if self._known is not None and self._known.forms:
            text = cover_known(text, self._known)
        text = cover_forms(text)
        for pattern in self._patterns:
            text = pattern.sub(lambda match: make_mark(match[0], FORM), text)
        return text


OUTPUT = Redactor(known=KNOWN)
"""The redactor of everything that is printed, logged or written."""
