"""What a reply wants of a call."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.errors import InvalidReply
from llm_mock.support.numbers import is_whole
from llm_mock.support.redaction import redacted
from llm_mock.support.text import compact, described, shorten

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord

TextMatcher = str | re.Pattern[str] | Callable[[str], object]


class Matchers:
    """What a reply wants of a call, beyond model and schema. All that is given must hold."""

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
        __tracebackhide__ = True
        if turn is not None and not is_whole(turn, 1):
            raise InvalidReply(f"turn={described(turn)}: give a whole number from 1.")
        if options is not None and not isinstance(options, Mapping):
            raise InvalidReply(f"options={described(options)}: give a mapping of names to values, as {{'seed': 1}}.")
        if _has_nan(options):
            raise InvalidReply(f"options={described(options)}: NaN is equal to nothing, so no call fits it.")
        self.prompt = _text_matcher("prompt", prompt)
        self.system = _text_matcher("system", system)
        self.tools = _names("tools", [tools] if isinstance(tools, str) else tools, "the names of tools, as ['search']")
        self.turn = turn
        self.attachments = _names("attachments", attachments, "the types of all attachments, as ['image/png']")
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matchers) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

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


def _text_matcher(name: str, matcher: Any) -> Any:
    """What is to be said of a text, which may be None."""
    __tracebackhide__ = True
    pattern = matcher.pattern if isinstance(matcher, re.Pattern) else matcher
    if pattern == "":
        raise InvalidReply(
            f"{name}={matcher!r} fits every text: leave it out, or give what the {name} contains. For one "
            f"that is empty write {name}=lambda text: not text."
        )
    if pattern is None or isinstance(pattern, str):
        return matcher
    wanted = f"give a text that the {name} contains, a compiled pattern of text, or a function of the text"
    if not callable(matcher):
        raise InvalidReply(f"{name}={described(matcher)}: {wanted}.")
    if inspect.iscoroutinefunction(matcher):
        raise InvalidReply(f"{name}={compact(matcher)} is async: {wanted} that is not.")
    try:
        inspect.signature(matcher).bind("")
    except ValueError:  # some functions of C do not say what they take
        pass
    except TypeError as error:
        raise InvalidReply(f"{name}={compact(matcher)} cannot be called with the text ({error}): {wanted}.") from None
    return matcher


def _has_nan(value: Any) -> bool:
    """Whether a value, or one within it, is NaN."""
    if isinstance(value, (Mapping, list, tuple)):
        return any(map(_has_nan, value.values() if isinstance(value, Mapping) else value))
    return isinstance(value, float) and value != value


def _names(matcher: str, given: Any, wanted: str) -> list[str] | None:
    __tracebackhide__ = True
    if given is None:
        return None
    names = None if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) else list(given)
    for name in (given,) if names is None else names:
        if not isinstance(name, str) or names is None:
            shown = compact(name) if callable(name) else described(name)
            raise InvalidReply(f"{matcher}={shown if names is None else f'[{shown}]'}: give {wanted}.")
    return names


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
