"""Matchers: conditions that a call must meet, beyond model and schema."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from llm_mock.core.token_limits import describe_sent_limit
from llm_mock.errors import InvalidReply
from llm_mock.support.numbers import is_whole
from llm_mock.support.redaction import redact
from llm_mock.support.text import (
    COMPARED_CHARACTERS,
    described,
    join_names,
    shorten,
    shorten_name,
    suggest_nearest,
    to_compact_json,
)

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.support.json_types import JSONObject

TextMatcher = str | re.Pattern[str] | Callable[[str], object]
"""A text to contain, a compiled pattern to search for, or a function that returns a bool."""
SHOWN_CHARACTERS = 60
"""The maximum length of a prompt or a text matcher in a message."""


class ReplyConditions(TypedDict, total=False):
    """The conditions of a reply besides model and schema. A call must meet all of them."""

    prompt: TextMatcher | None
    """A text that the prompt must contain, a compiled pattern to search for in it, or a function
    that takes the text and returns whether it matches."""
    system: TextMatcher | None
    """The same for the system prompt."""
    tools: Iterable[str] | None
    """The names of tools that the call must offer; it may offer others, too."""
    turn: int | None
    """The position of the answer in its conversation, from 1. Answers to tool results count."""
    attachments: Iterable[str | None] | None
    """The media types of all attachments, in order; None for an attachment with a URL."""
    options: Mapping[str, object] | None
    """Options that the call must have, with their values; it may have others, too."""
    tool_result: TextMatcher | None
    """The same for tool results. At least one tool result in the call must match."""
    has_tool_result: bool | None
    """Whether the call contains tool results."""


class Matchers:
    """The conditions that a call must meet, beyond model and schema.

    Args:
        prompt: see `ReplyConditions`.
        system: see `ReplyConditions`.
        tools: see `ReplyConditions`.
        turn: see `ReplyConditions`.
        attachments: see `ReplyConditions`.
        options: see `ReplyConditions`.
        tool_result: see `ReplyConditions`.
        has_tool_result: see `ReplyConditions`.

    Raises:
        InvalidReply: a condition is invalid.
    """

    __slots__ = (
        "attachments",
        "has_tool_result",
        "options",
        "prompt",
        "system",
        "tool_result",
        "tools",
        "turn",
    )

    def __init__(
        self,
        prompt: TextMatcher | None = None,
        system: TextMatcher | None = None,
        tools: Iterable[str] | None = None,
        turn: int | None = None,
        attachments: Iterable[str | None] | None = None,
        options: Mapping[str, object] | None = None,
        tool_result: TextMatcher | None = None,
        has_tool_result: bool | None = None,
    ) -> None:
        __tracebackhide__ = True
        if turn is not None and not is_whole(turn, 1):
            raise InvalidReply(f"turn={described(turn)}: pass a whole number of at least 1.")
        _check_options(options)
        if isinstance(tools, str):
            tools = [tools]
        self.prompt = check_text_matcher("prompt", prompt)
        self.system = check_text_matcher("system", system)
        self.tools = _check_names("tools", tools, "a list of names of tools, such as ['search']")
        self.turn = turn
        self.attachments = _check_names(
            "attachments",
            attachments,
            "a list of the types of all attachments, such as ['image/png'], with None for an "
            "attachment with a URL",
            (str, type(None)),
        )
        self.options = None if options is None else dict(options)
        self.tool_result = check_text_matcher("tool_result", tool_result)
        self.has_tool_result = _check_has_tool_result(has_tool_result, tool_result)

    def fits(self, call: Call) -> bool:
        """Return whether a call meets all conditions.

        It runs for many replies in each call, so unlike `misses` it stops at the first miss and
        formats no message.
        """
        if self.prompt is not None and not matches_text(self.prompt, call["prompt"]):
            return False
        system = self.system
        if system is not None and not matches_text(system, call["kwargs"].get("system", "")):
            return False
        if self.turn is not None and self.turn != call["turn"]:
            return False
        return self._fits_lists(call)

    def _fits_lists(self, call: Call) -> bool:
        if self.tools is not None and _list_missing_tools(self.tools, call):
            return False
        if self.attachments is not None and self.attachments != _list_attachment_types(call):
            return False
        if self.options is not None and not _has_options(self.options, call["options"]):
            return False
        if self.tool_result is None and self.has_tool_result is None:
            return True
        return next(self._find_result_misses(call.tool_results), None) is None

    def misses(self, call: Call) -> Iterator[str]:
        """Yield a phrase for each condition that a call does not meet."""
        kwargs = call["kwargs"]
        prompt = call["prompt"]
        if self.prompt is not None and not matches_text(self.prompt, prompt):
            miss = format_text_miss("prompt", self.prompt, prompt)
            yield f"{miss}{_explain_prompt(call, self.prompt)}"
        system = kwargs.get("system", "")
        if self.system is not None and not matches_text(self.system, system):
            miss = format_text_miss("system prompt", self.system, system)
            yield f"{miss}{_explain_missing_system(call, system)}"
        if self.turn is not None and self.turn != call["turn"]:
            yield f"it is turn {call['turn']}, not {self.turn}"
        # After the texts, because most replies have only conditions for texts.
        yield from self._find_list_misses(call)
        if self.options is not None:
            yield from self._find_option_misses(self.options, call)
        yield from self._find_result_misses(call.tool_results)

    def _find_result_misses(self, results: list[JSONObject]) -> Iterator[str]:
        matcher = self.tool_result
        if not results and (matcher is not None or self.has_tool_result):
            yield "it has no tool result"
            return
        if results and self.has_tool_result is False:
            yield "it has a tool result"
        if matcher is None:
            return
        text = ""
        for result in results:
            text = _get_output_text(result["output"])
            if matches_text(matcher, text):
                return
        # The message shows only the latest result.
        yield format_text_miss("tool result", matcher, text)

    def _find_list_misses(self, call: Call) -> Iterator[str]:
        if self.tools is not None:
            missing = _list_missing_tools(self.tools, call)
            if missing:
                names = ", ".join(map(shorten_name, missing))
                yield f"the tools {names} are not offered{_list_offered(call)}"
        if self.attachments is not None:
            types = _list_attachment_types(call)
            if types != self.attachments:
                yield f"the attachments are {redact(types)}, not {redact(self.attachments)}"

    def _find_option_misses(self, options: Mapping[str, object], call: Call) -> Iterator[str]:
        for name, expected in options.items():
            if name not in call["options"]:
                note = describe_sent_limit(call, name) or suggest_nearest(name, call["options"])
                yield f"the option {name} was not set{note}"
                continue
            value = call["options"][name]
            if value != expected:
                yield f"the option {name} is {redact(value)!r}, not {redact(expected)!r}"

    def get_key(self) -> tuple[object, ...]:
        """Return a key. Equal conditions have equal keys.

        Two lambdas with the same code are not equal, so their replies do not replace each other.
        """
        return tuple(_to_key(getattr(self, name)) for name in self.__slots__)

    def __bool__(self) -> bool:
        """Return whether there is a condition."""
        # Not `any`, which is slower: this runs for each configured reply.
        return not (
            self.prompt is None
            and self.system is None
            and self.tools is None
            and self.turn is None
            and self.attachments is None
            and self.options is None
            and self.tool_result is None
            and self.has_tool_result is None
        )

    def __str__(self) -> str:
        parts = []
        if self.prompt is not None:
            parts.append(f"prompt {_format_text_matcher(self.prompt)}")
        if self.system is not None:
            parts.append(f"system {_format_text_matcher(self.system)}")
        for name in ("tools", "turn", "attachments", "options"):
            value = getattr(self, name)
            if value is not None:
                parts.append(f"{name} {value if isinstance(value, int) else shorten(value)}")
        if self.tool_result is not None:
            parts.append(f"tool_result {_format_text_matcher(self.tool_result)}")
        elif self.has_tool_result is not None:
            parts.append(f"has_tool_result {self.has_tool_result}")
        return ", ".join(parts)


def _check_has_tool_result(value: object, matcher: object) -> bool | None:
    """Return the condition `has_tool_result` as it is.

    Raises:
        InvalidReply: it is neither a bool nor None, or contradicts the matcher of a result.
    """
    __tracebackhide__ = True
    if value is None or isinstance(value, bool):
        if value is False and matcher is not None:
            raise InvalidReply(
                "No call can match both has_tool_result=False and tool_result: remove one of them."
            )
        return value
    raise InvalidReply(f"has_tool_result={described(value)}: pass True or False.")


def _get_output_text(output: object) -> str:
    """Return the output of a tool as text; data as JSON."""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def _check_options(options: object) -> None:
    """Raise an InvalidReply unless options are None or a mapping without NaN."""
    __tracebackhide__ = True
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise InvalidReply(
            f"options={described(options)}: pass a mapping of names to values, such as "
            "{'seed': 1}."
        )
    if _has_nan(options):
        raise InvalidReply(
            f"options={described(options)}: no call matches NaN, which equals nothing. Remove it."
        )


def check_text_matcher(name: str, matcher: object) -> Any:
    """Return a text matcher as it is, or None.

    Raises:
        InvalidReply: it is not a text matcher, or it matches every text.
    """
    __tracebackhide__ = True
    pattern = matcher.pattern if isinstance(matcher, re.Pattern) else matcher
    if pattern == "":
        raise InvalidReply(
            f"{name}={matcher!r} matches every text: remove it, or pass a part of the {name}. To "
            f"match an empty {name}, write {name}=lambda text: not text."
        )
    if pattern is None or isinstance(pattern, str):
        return matcher
    advice = (
        f"pass a text that the {name} contains, a compiled pattern, or a function that takes the "
        "text"
    )
    # Calling a class returns an object, which is usually true, so it would match every text.
    if not callable(matcher) or isinstance(matcher, type):
        raise InvalidReply(f"{name}={described(matcher)}: {advice}.")
    if inspect.iscoroutinefunction(matcher):
        raise InvalidReply(f"{name}={to_compact_json(matcher)} is async: pass a sync function.")
    try:
        inspect.signature(matcher).bind("")
    except ValueError:
        # Some functions written in C have no signature, and are accepted unchecked.
        pass
    except TypeError as error:
        raise InvalidReply(
            f"{name}={to_compact_json(matcher)} cannot be called with the text ({error}): {advice}."
        ) from None
    return matcher


def _has_nan(value: object) -> bool:
    """Return whether a value, or one within it, is NaN."""
    if isinstance(value, Mapping):
        return any(map(_has_nan, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_nan, value))
    # Only NaN is not equal to itself.
    return isinstance(value, float) and value != value


def _check_names(
    condition: str, values: object, expected: str, kinds: tuple[type, ...] = (str,)
) -> list[str] | None:
    """Return names as a list, or None.

    Args:
        condition: the name of the condition, for the message.
        values: the names.
        expected: a description of valid names, for the message.
        kinds: the types of valid names.

    Raises:
        InvalidReply: it is not an iterable of names.
    """
    __tracebackhide__ = True
    if values is None:
        return None
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidReply(f"{condition}={_describe_name(values)}: pass {expected}.")
    names = list(values)
    for name in names:
        if not isinstance(name, kinds):
            raise InvalidReply(f"{condition}=[{_describe_name(name)}]: pass {expected}.")
    return names


def _describe_name(value: object) -> str:
    # Tests often pass the function of a tool; its name helps more than its type.
    return to_compact_json(value) if callable(value) else described(value)


class _ByValue:
    """A hashable wrapper of an unhashable value, as part of a key."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByValue) and self.value == other.value


def _to_key(value: object) -> object:
    """Return a hashable form of a condition. Equal conditions have equal forms."""
    if isinstance(value, list):
        return (list, *map(_to_key, value))
    if isinstance(value, dict):
        return frozenset((name, _to_key(item)) for name, item in value.items())
    try:
        hash(value)
    except TypeError:
        return _ByValue(value)
    return value


def _list_missing_tools(tools: Iterable[str], call: Call) -> list[str]:
    offered = call["kwargs"].get("tools", ())
    return [tool for tool in tools if tool not in offered]


def _list_attachment_types(call: Call) -> list[str]:
    return [attachment["type"] for attachment in call["kwargs"].get("attachments", ())]


def _has_options(expected: Mapping[str, object], given: Mapping[str, object]) -> bool:
    # `!=` as in `_find_option_misses`, for values with their own comparison.
    return not any(name not in given or given[name] != value for name, value in expected.items())


def matches_text(matcher: TextMatcher, text: str) -> bool:
    """Return whether a text matcher fits a text."""
    if isinstance(matcher, str):
        return matcher in text
    if isinstance(matcher, re.Pattern):
        return matcher.search(text) is not None
    return bool(matcher(text))


def _explain_prompt(call: Call, expected: TextMatcher) -> str:
    """Return a remark where the expected text is, or why the prompt is empty; else empty."""
    if isinstance(expected, str) and expected in call.system:
        return f" (the system prompt contains it: write system={shorten(expected)})"
    if call["prompt"] == "" and call.tool_results:
        return " (it is empty, because this turn only returns tool results)"
    return ""


def _list_offered(call: Call) -> str:
    """Return a remark that lists the tools that a call offers."""
    names = []
    for tool in call.tools:
        # A built-in tool of the provider has only a type.
        if "name" in tool:
            names.append(str(tool["name"]))
    if not names:
        return " (no tools are offered)"
    return f" (offered: {join_names(names)})"


def _explain_missing_system(call: Call, system: str) -> str:
    """Return a remark why a later turn has no system prompt; empty for another call."""
    if system or call["turn"] == 1 or "api" in call:
        return ""
    return " (through llm, each turn has only the system prompt that is passed with it)"


def format_text_miss(name: str, matcher: TextMatcher, text: str) -> str:
    """Return a phrase for a text that a matcher does not match."""
    value = shorten(text, SHOWN_CHARACTERS)
    miss = f"the {name} {value} {_format_text_matcher(matcher, is_miss=True)}"
    if isinstance(matcher, str):
        miss += _explain_stars(name, matcher, text) or _explain_text_miss(matcher, text)
    return miss


# `re` warns about some brackets, and repeated groups can take forever.
_UNSAFE_PATTERN = re.compile(r"\[|\)[*+?{]")


def _explain_stars(name: str, expected: str, text: str) -> str:
    """Return a remark that a text needs no `*` around it; empty for another reason."""
    part = expected.strip("*")
    if part == expected:
        return ""
    if not part:
        return f" (leave out the condition: without it, any {name} matches)"
    if part not in text:
        return ""
    return f" (leave out the *: a text matches anywhere in the {name})"


def _explain_text_miss(expected: str, text: str) -> str:
    """Return a remark why a text does not contain another one; empty if the reason is unclear."""
    if expected.lower() in text.lower():
        return " (upper and lower case differ)"
    if _UNSAFE_PATTERN.search(expected):
        return ""
    try:
        is_pattern = re.search(expected, text[:COMPARED_CHARACTERS]) is not None
    except re.error:
        return ""
    return " (a text is not a pattern: use re.compile)" if is_pattern else ""


def _format_text_matcher(matcher: TextMatcher, is_miss: bool = False) -> str:
    """Return what a matcher says about a text, or about a text that it does not match."""
    if isinstance(matcher, str):
        verb = "does not contain" if is_miss else "contains"
        return f"{verb} {shorten(matcher, SHOWN_CHARACTERS)}"
    if isinstance(matcher, re.Pattern):
        verb = "does not match" if is_miss else "matches"
        return f"{verb} /{shorten_name(matcher.pattern, SHOWN_CHARACTERS)}/"
    verb = "does not satisfy" if is_miss else "satisfies"
    return f"{verb} {to_compact_json(matcher)}"
