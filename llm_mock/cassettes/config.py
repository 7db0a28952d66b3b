"""How a project wants its calls recorded and found again."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_args

from llm_mock.cassettes.schema import Request, RequestPart
from llm_mock.errors import LLMMockError
from llm_mock.support.interpolation import map_texts

DATES = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b"
    r"|\b\d{1,2}:\d{2}:\d{2}(?:\.\d+)?\b"
)
"""Dates and times as in ISO 8601."""
IDS = re.compile(
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b[0-9A-HJKMNP-TV-Z]{26}\b|\b[0-9a-f]{32,64}\b"
)
"""UUIDs, ULIDs and hexadecimal digests."""
TEMPORARY_PATHS = re.compile(
    rf"(?:{re.escape(tempfile.gettempdir())}|/tmp|/private/var/folders|/var/folders)[^\s\"'`<>|:,;)]*"
)
"""Paths in the folder for temporary files, such as those of `tmp_path`."""

NORMALIZED = "…"

Normalizer = Callable[[str], str] | Iterable["str | re.Pattern[str]"]


@dataclass(frozen=True)
class CassetteConfig:
    """How calls are found in a cassette, and what never gets into one.

    Return one from a fixture `llm_mock_cassette_config`, of any scope, in a conftest, a module or a class.

    Args:
        match: which parts of a call must be those of a recorded one: of `model`, `turn`, `system`, `prompt` (with
            its attachments and tool results), `options`, `schema`, `tools`.
        normalize: what does not count in texts: regular expressions (`DATES`, `IDS`, `TEMPORARY_PATHS`, your own),
            or a function that is given a text and returns what of it counts. It is applied to both sides before
            they are compared; the file holds the texts as they were.
        redact: regular expressions of what never gets into a file, beside what has the form of a key, the keys of
            `llm`, and environment variables named …KEY, …TOKEN, …SECRET or …PASSWORD.

    Raises:
        LLMMockError: a part to match is unknown, or an expression is not a regular one.
    """

    match: tuple[RequestPart, ...] = get_args(RequestPart)
    normalize: Normalizer = ()
    redact: tuple[str | re.Pattern[str], ...] = ()

    def __post_init__(self) -> None:
        unknown = [part for part in self.match if part not in get_args(RequestPart)]
        if unknown or isinstance(self.match, str):
            raise LLMMockError(
                f"CassetteConfig(match={self.match!r}): give a tuple of {', '.join(get_args(RequestPart))}."
            )
        try:
            patterns = () if callable(self.normalize) else tuple(re.compile(pattern) for pattern in self.normalize)
            redacted = tuple(re.compile(pattern) for pattern in self.redact)
        except (re.error, TypeError) as error:
            raise LLMMockError(
                "CassetteConfig: normalize (unless it is a function) and redact take regular expressions in a tuple: "
                f"{error}."
            ) from None
        normalize = self.normalize if callable(self.normalize) else patterns
        self.__dict__.update(match=tuple(self.match), redact=redacted, normalize=normalize)  # it is frozen

    def key(self, request: Request) -> str:
        """What two calls have in common where one can be replayed for the other."""
        parts = [self.normalized(request.part(part)) for part in self.match]
        return json.dumps(parts, sort_keys=True, ensure_ascii=False)

    def parts(self, key: str) -> dict[str, Any]:
        """The parts of a call that are in its key, by their names."""
        return dict(zip(self.match, json.loads(key), strict=True))

    def normalized(self, value: Any) -> Any:
        """A JSON value in which what does not count is replaced by `…`."""
        return map_texts(value, self._normalized_text) if self.normalize else value

    def _normalized_text(self, text: str) -> str:
        if callable(self.normalize):
            return self.normalize(text)
        for pattern in self.normalize:
            text = re.sub(pattern, NORMALIZED, text)
        return text
