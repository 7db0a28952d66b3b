"""What a queued reply wants of a call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.support.redaction import redacted
from llm_mock.support.text import compact, shorten

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord

TextMatcher = str | re.Pattern[str] | Callable[[str], object]


class Matchers:
    """What a queued reply wants of a call, beyond model and schema. All that is given must hold."""

    __slots__ = ("attachments", "options", "prompt", "system", "tools", "turn")

    def __init__(
        self,
        prompt: TextMatcher | None = None,
        system: TextMatcher | None = None,
        tools: Iterable[str] | None = None,
        turn: int | None = None,
        attachments: Iterable[str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.prompt = prompt
        self.system = system
        self.tools = None if tools is None else [tools] if isinstance(tools, str) else list(tools)
        self.turn = turn
        self.attachments = None if attachments is None else list(attachments)
        self.options = None if options is None else dict(options)

    def misses(self, call: CallRecord) -> Iterator[str]:
        """Why the call does not fit, a phrase for each condition that does not hold."""
        kwargs = call["kwargs"]
        for name, matcher, text in (
            ("prompt", self.prompt, call["prompt"]),
            ("system prompt", self.system, kwargs.get("system", "")),
        ):
            if matcher is not None and not _fits(matcher, text):
                yield f"the {name} {shorten(text, 60)} is not one that {_wanted_text(matcher)}"
        missing = [tool for tool in self.tools or () if tool not in kwargs.get("tools", ())]
        if missing:
            yield f"the tools {', '.join(missing)} are not offered"
        if self.turn not in (None, call["turn"]):
            yield f"it is turn {call['turn']}, not {self.turn}"
        types = [attachment["type"] for attachment in kwargs.get("attachments", ())]
        if self.attachments not in (None, types):
            yield f"the attachments are {types}, not {self.attachments}"
        for option, value in (self.options or {}).items():
            if option not in call["options"]:
                yield f"the option {option} was not given"
            elif call["options"][option] != value:
                yield f"the option {option} is {redacted(call['options'][option])!r}, not {redacted(value)!r}"

    def __bool__(self) -> bool:
        return any(getattr(self, name) is not None for name in self.__slots__)

    def __str__(self) -> str:
        wanted = (("prompt", self.prompt), ("system", self.system))
        parts = [f"{name} {_wanted_text(matcher)}" for name, matcher in wanted if matcher is not None]
        for name in ("tools", "turn", "attachments", "options"):
            value = getattr(self, name)
            if value is not None:
                parts.append(f"{name} {value if isinstance(value, int) else shorten(value)}")
        return ", ".join(parts)


def _fits(matcher: TextMatcher, text: str) -> bool:
    if isinstance(matcher, str):
        return matcher in text
    if isinstance(matcher, re.Pattern):
        return matcher.search(text) is not None
    return bool(matcher(text))


def _wanted_text(matcher: TextMatcher) -> str:
    if isinstance(matcher, str):
        return f"contains {shorten(matcher, 60)}"
    if isinstance(matcher, re.Pattern):
        return f"matches /{matcher.pattern}/"
    return f"satisfies {compact(matcher)}"
