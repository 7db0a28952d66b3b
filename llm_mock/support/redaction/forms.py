"""What is secret by its form, whoever's it is: keys of known providers, tokens, passwords and signatures in URLs."""

from __future__ import annotations

import base64
import functools
import re

from llm_mock.support.redaction.marks import FORM, covered

_SPACE = r"(?:\s+|%20|\+)"
_IN_URL = (
    r"(?i:(?:api[_-]?|subscription-)?key|sig|signature|hmac|(?:(?:access|id|refresh|auth|session)_)?token|auth"
    r"|(?:client_)?secret|password|passwd|pwd|awsaccesskeyid|x-(?:amz|goog)-(?:signature|credential|security-token))"
)
_FIELD = r"(?i:(?:[\w-]+[_-])?api[_-]?key|authorization|(?:access|refresh)_token|client_secret)"
_NO_REFERENCE = r"(?!(?:\w+ )?\$\{)"  # `${TOKEN}` only names a secret
# Each pattern keeps its first group, if it has one, and hides the rest.
_PATTERNS = (
    r"()\bsk-(?=[\w-]*\d)[\w-]{12,}",  # OpenAI, Anthropic, OpenRouter, DeepSeek, …
    r"()\b(?:gsk|hf|r8|xai|pplx|tgp|fw|nvapi|pa|csk|voyage)[_-](?=\w*\d)\w{16,}",  # Groq, Hugging Face, …
    r"()\bAIza[\w-]{30,}",  # Google
    r"()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",  # Amazon
    r"()\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,})",  # GitHub, GitLab, Slack
    r"()\b(?:sk-|AIza|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|eyJ)[\w-]{2,}(?=\s*(?:…|\.{3}))",  # cut
    r"()(?<![\w-])[\w-]+\.eyJ[\w-]{8,}\.[\w-]*",  # JSON web tokens, of which the first part is cut
    r"()\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",  # JSON web tokens
    rf"(\b[Bb]earer{_SPACE})(?=\S*\d)[\w.~+/=-]{{8,}}",
    rf"(\b[Bb]asic{_SPACE})[A-Za-z0-9+/]{{12,}}={{0,2}}(?=[\s\"'\\]|$)",
    r"(\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+(?=@)",  # the password in a URL
    rf"((?:[?&#;]|%3F|%26|\\u0026){_IN_URL}(?:=|%3D))(?:(?!%26|\\u0026)[^&#;\s\"'<>\\]){{8,}}",
    rf'("{_FIELD}"\s*:\s*"){_NO_REFERENCE}(?:[^"\\]|\\.)+(?=")',
    rf"('{_FIELD}'\s*:\s*'){_NO_REFERENCE}(?:[^'\\]|\\.)+(?=')",
    rf'(\\"{_FIELD}\\"\s*:\s*\\")[^"\\]+(?=\\")',
    r"(\b(?i:(?:x-)?api[_-]key)\s*[:=]\s*)(?=\S*\d)[\w.~+/=-]{8,}",
    r"()-----BEGIN(?:[A-Z ]|%20|\+)*PRIVATE(?: |%20|\+)KEY-----"
    r".*?(?:-----END(?:[A-Z ]|%20|\+)*PRIVATE(?: |%20|\+)KEY-----|\Z)",
)
_SECRET_FIELD = (
    r"(?:.*[_-])?(?:api[_-]?key|authorization|(?:access|refresh|id|auth|session|bearer)[_-]?token|token|client[_-]?secret"
    r"|secret|password|passwd|private[_-]?key|(?:set[_-])?cookie)"
)
_ENCODED = r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}={0,2}"
"""What may be base64."""


@functools.cache
def _compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(pattern, flags)


def _forms() -> re.Pattern[str]:
    return _compiled("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.DOTALL)


def cover_forms(text: str) -> str:
    """A text with what has the form of a secret covered, also where it is encoded as base64."""
    return _compiled(_ENCODED).sub(_cover_encoded, _forms().sub(_cover, text))


def _cover(match: re.Match[str]) -> str:
    kept = next((group for group in match.groups() if group), "")
    return kept + covered(match[0][len(kept) :], FORM)


def _cover_encoded(match: re.Match[str]) -> str:
    text = match[0].rstrip("=").replace("-", "+").replace("_", "/")
    if len(text) % 4 == 1:
        return match[0]
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
    except ValueError:
        return match[0]
    return covered(match[0], FORM) if _forms().search(decoded) else match[0]


def is_secret_field(name: str, value: str) -> bool:
    """Whether the text of a field is secret by its name; `token` is also what a provider calls a piece of text."""
    if not value or not _compiled(_SECRET_FIELD, re.IGNORECASE).fullmatch(name):
        return False
    return name.lower() != "token" or (len(value) >= 16 and any(char.isdigit() for char in value))
