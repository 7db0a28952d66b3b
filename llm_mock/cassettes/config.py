"""The settings of a project for its cassettes."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_args

from llm_mock.cassettes.schema import RecordedRequest, RequestPart
from llm_mock.errors import LLMMockError
from llm_mock.support.interpolation import map_texts
from llm_mock.support.json_types import JSONObject

DATES = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b"
    r"|\b\d{1,2}:\d{2}:\d{2}(?:\.\d+)?\b"
)
"""Dates and times in the format of ISO 8601."""
IDS = re.compile(
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"  # UUID
    r"|\b[0-9A-HJKMNP-TV-Z]{26}\b"  # ULID
    r"|\b[0-9a-f]{32,64}\b"  # digest, from MD5 to SHA-256
)
"""UUIDs, ULIDs and hexadecimal digests."""
TEMPORARY_PATHS = re.compile(
    # A cassette may be recorded on another system: Linux has /tmp, macOS the others.
    rf"(?:{re.escape(tempfile.gettempdir())}|/tmp|/private/var/folders|/var/folders)"
    r"[^\s\"'`<>|:,;)]*"
)
"""Paths in the folder for temporary files, such as those of `tmp_path`."""

NORMALIZED = "…"
"""The replacement for normalized text."""

Normalizer = Callable[[str], str] | Iterable["str | re.Pattern[str]"]


@dataclass(frozen=True)
class CassetteConfig:
    """Rules for matching calls with recorded ones, and for redacting secrets.

    Return an instance from a fixture `llm_mock_cassette_config` of any scope, in a conftest, a
    module or a class.

    Args:
        match: the parts of a call that must equal those of a recorded call: any of `model`,
            `turn`, `system`, `prompt` (with its attachments and tool results), `options`,
            `schema`, `tools`.
        normalize: the text to ignore when calls are compared: regular expressions (`DATES`, `IDS`,
            `TEMPORARY_PATHS`, your own), or a function that takes a text and returns the part to
            compare. It is applied to both calls before they are compared; the file keeps the
            original texts.
        redact: regular expressions of text that is never written to a file, in addition to text
            that looks like a key, the keys of `llm`, and environment variables named …KEY,
            …TOKEN, …SECRET or …PASSWORD.

    Raises:
        LLMMockError: a part to match is unknown, or a regular expression is invalid.
    """

    match: tuple[RequestPart, ...] = get_args(RequestPart)
    normalize: Normalizer = ()
    redact: tuple[str | re.Pattern[str], ...] = ()

    def __post_init__(self) -> None:
        known_parts = get_args(RequestPart)
        # A string is refused, because iterating over it would yield letters.
        if isinstance(self.match, str) or any(part not in known_parts for part in self.match):
            raise LLMMockError(
                f"CassetteConfig(match={self.match!r}): match must be a tuple of "
                f"{', '.join(known_parts)}."
            )
        normalize = self.normalize
        try:
            if not callable(normalize):
                normalize = tuple(re.compile(pattern) for pattern in normalize)
            redact = tuple(re.compile(pattern) for pattern in self.redact)
        except (re.error, TypeError) as error:
            raise LLMMockError(
                "CassetteConfig: normalize (unless it is a function) and redact must be tuples of "
                f"regular expressions: {error}."
            ) from None
        # Not by assignment, because the dataclass is frozen.
        self.__dict__.update(match=tuple(self.match), redact=redact, normalize=normalize)

    def get_key(self, request: RecordedRequest) -> str:
        """Return the key that a call shares with the recorded calls that match it."""
        parts = request.list_parts(self.match)
        if self.normalize:
            parts = self.normalize_value(parts)
        # Not in ASCII, so that redacted text is the same in keys and in texts.
        return json.dumps(parts, sort_keys=True, ensure_ascii=False)

    def parse_key(self, key: str) -> JSONObject:
        """Return the parts of a call that a key consists of, by name."""
        parts = json.loads(key)
        return dict(zip(self.match, parts, strict=True))

    def normalize_value(self, value: object) -> Any:
        """Return a JSON value with its texts normalized."""
        if not self.normalize:
            return value
        return map_texts(value, self._normalize_text)

    def _normalize_text(self, text: str) -> str:
        if callable(self.normalize):
            return self.normalize(text)
        for pattern in self.normalize:
            text = re.sub(pattern, NORMALIZED, text)
        return text
