"""Redaction takes linear time, whatever the text: the work is counted, not timed."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from llm_mock.support.redaction import Redactor, forms, known_secrets
from llm_mock.support.redaction.known_secrets import KnownSecrets

if sys.version_info >= (3, 11):
    from re import _constants as constants  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_constants as constants
    import sre_parse as parser

LENGTH = 2_400
LITERALS = (
    *(
        "a",
        "1",
        ".",
        "-",
        "/",
        "+",
        "%",
        "…",
        "...",
        "[…",
        " ",
        "\n",
        "=",
        "==",
        '"',
        "'",
        "\\",
        "\\u0026",
        "_",
        "é",
    ),
    *(
        "sk-",
        "sk_",
        "gsk_",
        "hf_",
        "pa-",
        "org-",
        "AIza",
        "AKIA",
        "ghp_",
        "glpat-",
        "xoxb-",
        "SG.",
        "ya29.",
        "dapi",
    ),
    *(
        "eyJ",
        "eyJhbGci.",
        ".eyJ",
        "a.eyJ",
        "bearer",
        "bearer ",
        "Bearer+",
        "basic ",
        "basic+",
        "://",
        "https://a:",
    ),
    *(
        "://a:b",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN A A A ",
        "key",
        "key=",
        "api_key=",
        "token:",
    ),
    *(
        "?key=",
        "&token=",
        "?key=%26",
        "%26sig%3D",
        '"api_key": "',
        "'password': '",
        '\\"secret\\": \\"',
        "secret='",
    ),
    *(
        "authorization: ",
        "Authorization: Bearer ",
        "password=",
        "password: ",
        "x_",
        "x-",
        "cookie:",
        "token=${",
    ),
    *("QUJD", "c2stYWJj", "abcdef0123456789", "known-secret", "cret-01"),
)
JOINTS = ("", " ", "-", "a1", '"', "=")
HOSTILE = sorted({literal + joint for literal in LITERALS for joint in JOINTS})


class CountingPattern:
    """A pattern that counts the characters that it matched."""

    def __init__(self, pattern: re.Pattern[str], work: list[int]) -> None:
        self._pattern, self._work = pattern, work

    def _counted(self, match: re.Match[str] | None) -> Any:
        if match is not None:
            self._work[0] += match.end() - match.start()
        return match

    def match(self, *arguments: Any) -> Any:
        return self._counted(self._pattern.match(*arguments))

    def search(self, *arguments: Any) -> Any:
        return self._counted(self._pattern.search(*arguments))

    def fullmatch(self, *arguments: Any) -> Any:
        return self._counted(self._pattern.fullmatch(*arguments))

    def finditer(self, *arguments: Any) -> Iterator[Any]:
        return map(self._counted, self._pattern.finditer(*arguments))


def patterns() -> dict[tuple[Any, str], re.Pattern[str]]:
    """Return every pattern that redaction tries on a text."""
    found = {}
    for module in (forms, known_secrets):
        for name, value in vars(module).items():
            if hasattr(value, "cache_info") and isinstance(pattern := _called(value), re.Pattern):
                found[module, name] = pattern
    found.update(
        ((forms, f"quoted {quote}"), each()) for quote, each in forms._QUOTED_VALUE.items()
    )
    return found


def _called(function: Any) -> Any:
    try:
        return function()
    except TypeError:  # it takes arguments
        return None


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the characters that patterns match."""
    monkeypatch.setattr(
        known_secrets, "LONG_TEXT", LENGTH // 2
    )  # from there on texts are searched in another way
    counted = [0]
    for (module, name), pattern in patterns().items():
        if not name.startswith("quoted"):
            monkeypatch.setattr(
                module, name, lambda pattern=pattern: CountingPattern(pattern, counted)
            )
    return counted


def amount(text: str, work: list[int]) -> int:
    """Return how much work it is to redact a text: calls of functions, and characters matched."""
    secrets = KnownSecrets({})
    secrets.hide("known-secret-0123456789")
    redactor = Redactor(known=secrets)
    redactor.clean(text)  # what is imported and compiled at first is not counted
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += 1

    work[0] = 0
    previous = sys.getprofile()
    # A collection in between would count the finalizers of other tests' objects.
    gc.disable()
    sys.setprofile(count)
    try:
        redactor.clean(text)
    finally:
        sys.setprofile(previous)
        gc.enable()
    return calls + work[0]


@pytest.mark.parametrize("start", range(0, len(HOSTILE), 40))
def test_twice_the_text_is_at_most_twice_the_work(start: int, work: list[int]) -> None:
    for unit in HOSTILE[start : start + 40]:
        text = unit * (LENGTH // len(unit))
        once, twice = amount(text, work), amount(text + text, work)
        assert twice <= 2.1 * once + 200, (
            f"{unit!r}: {once} for {len(text)} characters, {twice} for twice as many"
        )
        assert once <= 400 * LENGTH, f"{unit!r}: {once}"


@pytest.mark.parametrize(
    ("name", "pattern"), [(name, each) for (_, name), each in patterns().items()]
)
def test_no_pattern_goes_back_over_what_may_be_of_any_length(
    name: str, pattern: re.Pattern[str]
) -> None:
    assert _is_safe(parser.parse(pattern.pattern, pattern.flags)), f"{name}: {pattern.pattern}"


def _is_safe(items: Any) -> bool:
    """Return whether all that follows a repetition without an end can match nothing."""
    unlimited = False
    for kind, argument in items:
        if unlimited and not _can_match_nothing(kind, argument):
            return False
        if any(not _is_safe(part) for part in _parts(kind, argument)):
            return False
        unlimited = unlimited or _is_unlimited(kind, argument)
    return True


def _parts(kind: Any, argument: Any) -> list[Any]:
    if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
        return [argument[2]]
    if kind is constants.SUBPATTERN:
        return [argument[3]]
    if kind is constants.BRANCH:
        return list(argument[1])
    return [argument[1]] if kind in (constants.ASSERT, constants.ASSERT_NOT) else []


def _is_unlimited(kind: Any, argument: Any) -> bool:
    if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT) and argument[1] is constants.MAXREPEAT:
        return True
    return any(_is_unlimited(*item) for part in _parts(kind, argument) for item in part)


def _can_match_nothing(kind: Any, argument: Any) -> bool:
    """Return whether a part matches wherever the one before ended, or at the end of the text."""
    if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
        return bool(argument[0] == 0)
    if kind is constants.AT:
        return argument is constants.AT_END_STRING
    if kind is constants.BRANCH:
        return any(all(_can_match_nothing(*item) for item in part) for part in argument[1])
    return kind is constants.SUBPATTERN and all(_can_match_nothing(*item) for item in argument[3])
