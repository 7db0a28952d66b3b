"""Keeps keys, tokens and passwords out of files that are written."""

from __future__ import annotations

import base64
import functools
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

REDACTED = "[redacted]"
REDACTED_SECRET = "[redacted secret]"
"""In place of a value that is secret only by the environment or the user's keys: another machine may not know it."""
SHORTEST_SECRET = 8
"""Shorter values of variables are not looked for in texts: they would be found in innocent ones."""

_SECRET_VARIABLE = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_SECRET_FIELD = re.compile(
    r"(?:.*[_-])?(?:api[_-]?key|authorization|(?:access|refresh|id|auth|session|bearer)[_-]?token|token|client[_-]?secret"
    r"|secret|password|passwd|private[_-]?key|(?:set[_-])?cookie)",
    re.IGNORECASE,
)
# Each pattern keeps its first group, if it has one, and hides the rest.
_PATTERNS = (
    r"()\bsk-(?=[\w-]*\d)[\w-]{12,}",  # OpenAI, Anthropic, OpenRouter, DeepSeek, …
    r"()\b(?:gsk|hf|r8|xai|pplx|tgp|fw|nvapi|pa|csk|voyage)[_-](?=\w*\d)\w{16,}",  # Groq, Hugging Face, …
    r"()\bAIza[\w-]{30,}",  # Google
    r"()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",  # Amazon
    r"()\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,})",  # GitHub, GitLab, Slack
    r"()\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",  # JSON web tokens
    r"(\b[Bb]earer\s+)(?=\S*\d)[\w.~+/=-]{8,}",
    r"(\b[Bb]asic\s+)[A-Za-z0-9+/]{12,}={0,2}(?=[\s\"']|$)",
    r"(\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+(?=@)",  # the password in a URL
    r"([?&](?:api[_-]?key|key|token|sig|signature|access_token)=)[^&\s\"']{8,}",
    r'("(?:api[_-]?key|authorization|access_token|client_secret)"\s*:\s*")(?:[^"\\]|\\.)+(?=")',
    r"()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
)
_KNOWN_FORMS = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.DOTALL)


class Redactor:
    """Replaces what is secret by `[redacted]`, and values that were given by `[redacted secret]`.

    Secret are: the given values, also as base64, in JSON or in a URL; what has the form of a key of a known provider,
    of a bearer token, a private key or a password in a URL; and the texts of fields whose name says so
    (`authorization`, `api_key`, `password`, …), but for the arguments of tools, whose names are the tool's own.
    """

    def __init__(self, secrets: Iterable[str] = (), patterns: Iterable[str | re.Pattern[str]] = ()) -> None:
        self._forms: set[str] = set()
        self._secrets: re.Pattern[str] | None = None
        self._patterns = [re.compile(pattern) for pattern in patterns]
        self._clean_text = functools.lru_cache(10_000)(self._cleaned_text)  # the same texts come up again and again
        self.hide(*secrets)

    def hide(self, *secrets: str) -> None:
        """Take further values as secret."""
        forms = {form for secret in secrets if len(secret) >= SHORTEST_SECRET for form in _forms(secret)}
        if not forms <= self._forms:
            self._forms |= forms
            longest_first = sorted(self._forms, key=lambda form: (-len(form), form))
            self._secrets = re.compile("|".join(map(re.escape, longest_first)))
            self._clean_text.cache_clear()

    def clean(self, value: Any, by_name: bool = True) -> Any:
        """A copy of a JSON value without secrets; without `by_name` it does not matter what fields are called."""
        if isinstance(value, str):
            return self._clean_text(value)
        if isinstance(value, Mapping):
            return {self.clean(name): self._clean_field(str(name), item, by_name) for name, item in value.items()}
        return [self.clean(item, by_name) for item in value] if isinstance(value, (list, tuple)) else value

    def _clean_field(self, name: str, value: Any, by_name: bool) -> Any:
        named = by_name and isinstance(value, str) and value and _SECRET_FIELD.fullmatch(name)
        if named and _is_no_word(name, value):
            return REDACTED
        return self.clean(value, by_name and name != "arguments")

    def _cleaned_text(self, text: str) -> str:
        if self._secrets is not None:
            text = self._secrets.sub(REDACTED_SECRET, text)
        text = _KNOWN_FORMS.sub(_hide, text)
        for pattern in self._patterns:
            text = pattern.sub(REDACTED, text)
        return text


def _is_no_word(name: str, value: str) -> bool:
    """Whether the text of a secret field can be one: `token` is also what a provider calls a piece of text."""
    return name.lower() != "token" or (len(value) >= 16 and any(char.isdigit() for char in value))


def _hide(match: re.Match[str]) -> str:
    return next((group for group in match.groups() if group), "") + REDACTED


def _forms(secret: str) -> Iterator[str]:
    """How a value may stand in a text."""
    yield from (secret, quote(secret), quote(secret, safe=""), quote_plus(secret))
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    content = secret.encode(errors="surrogateescape")
    for before in range(3):  # base64 reads three bytes at once, and the value may begin at any of them
        first, last = -(-before * 8 // 6), (before + len(content)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(before) + content).decode()[first:last]


def is_secret_name(name: str) -> bool:
    """Whether the name of an environment variable says that its value is a key, a token or a password."""
    return bool(_SECRET_VARIABLE.search(name))


def default_redactor(
    secrets: Iterable[str] = (),
    patterns: Iterable[str | re.Pattern[str]] = (),
    environment: Mapping[str, str] = os.environ,
) -> Redactor:
    """A redactor that also hides the values of environment variables named …KEY, …TOKEN, …SECRET or …PASSWORD."""
    return Redactor([*secrets, *(v for name, v in environment.items() if is_secret_name(name))], patterns)
