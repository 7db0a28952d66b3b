"""Rules of Ollama's own API.

See https://github.com/ollama/ollama: docs/api.md. The messages come from its source code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.request_rules.rule import Rule, RuleSet, Violation
from llm_mock.boundaries.http.wire_error import WireError

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request import HTTPRequest

REFERENCE = "https://github.com/ollama/ollama: docs/api.md"
ROUTES = "https://github.com/ollama/ollama: server/routes.go"
LEVELS = ("high", "medium", "low", "max")
MOST_LOGPROBS = 20

UNKNOWN_VALUE = Rule("unknown-value", "a format or a thinking level that does not exist", REFERENCE)
OUT_OF_RANGE = Rule("number-out-of-range", "a number outside the range of its parameter", ROUTES)
DEPENDENT = Rule(
    "dependent-parameter",
    "raw mode together with a system prompt, a template or a context",
    ROUTES,
)
ALL_RULES = (UNKNOWN_VALUE, OUT_OF_RANGE, DEPENDENT)


def _make(rule: Rule, message: str) -> Violation:
    return Violation(rule, WireError(400, message))


def check_format(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the format of the answer."""
    given = request.body["format"]
    if isinstance(given, str) and given not in ("", "json"):
        text = f'invalid format: "\\"{given}\\""; expected "json" or a valid JSON Schema object'
        yield _make(UNKNOWN_VALUE, text)


def check_think(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the level of thinking."""
    level = request.body["think"]
    if isinstance(level, str) and level not in LEVELS:
        text = (
            f'invalid think value: "{level}" (must be "high", "medium", "low", "max", true, or '
            "false)"
        )
        yield _make(UNKNOWN_VALUE, text)


def check_top_logprobs(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the number of log probabilities."""
    if not 0 <= request.body["top_logprobs"] <= MOST_LOGPROBS:
        yield _make(OUT_OF_RANGE, f"top_logprobs must be between 0 and {MOST_LOGPROBS}")


def check_raw(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the raw mode."""
    others = ("template", "system", "context")
    if request.body["raw"] and any(request.body.get(name) for name in others):
        yield _make(DEPENDENT, "raw mode does not support template, system, or context")


RULES = RuleSet(
    {
        "format": check_format,
        "think": check_think,
        "top_logprobs": check_top_logprobs,
        "raw": check_raw,
    }
)
