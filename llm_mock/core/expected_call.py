"""The conditions of an assertion about a call, and their text in messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from llm_mock.core.call import ABSENT, Call
from llm_mock.core.matchers import Matchers, TextMatcher
from llm_mock.core.records import format_schema
from llm_mock.errors import InvalidReply
from llm_mock.support.redaction import redact
from llm_mock.support.schemas import get_schema_name
from llm_mock.support.text import shorten, suggest_nearest

if TYPE_CHECKING:
    from llm_mock.core.call import Absent


class CallConditions(TypedDict, total=False):
    """The conditions of `assert_called_with` beside its positional ones.

    A parameter of the provider, such as `temperature`, is compared with what was sent: over HTTP
    with the field of the body, through `llm` with the option. `ABSENT` means that it must not be
    sent. Other fields of the body go into `body`.
    """

    prompt: TextMatcher
    """A matcher of the prompt, as `prompt_contains`."""
    prompt_equals: str
    """The whole text of the prompt."""
    model: str
    """The id of the model."""
    system: TextMatcher
    """A matcher of the system prompt."""
    messages: Sequence[Mapping[str, Any] | str]
    """All messages: each a text, or some fields of a message as `Call.messages` has them; or the
    messages exactly as the body has them."""
    tools: Iterable[str]
    """The names of tools that were offered, perhaps among others."""
    tool_results: Sequence[Any]
    """All tool results: the output of each, or some of its fields."""
    turn: int
    """The position of the answer in its conversation, from 1."""
    stream: bool
    """Whether a streamed answer was requested, over HTTP."""
    attachments: Iterable[str]
    """The types of all attachments, in order."""
    response: Any
    """The answer."""
    error: TextMatcher
    """A matcher of the error message."""
    usage: Mapping[str, int]
    """Some of the token counts."""
    test: str
    """The node id of the test."""
    options: Mapping[str, Any]
    """Some of the options; `ABSENT` as a value means that it was not given."""
    body: Mapping[str, Any]
    """A part of the request body, over HTTP; mappings in it are parts, too."""
    frequency_penalty: float | Absent
    logprobs: bool | Absent
    max_completion_tokens: int | Absent
    max_output_tokens: int | Absent
    max_tokens: int | Absent
    metadata: Mapping[str, Any] | Absent
    n: int | Absent
    parallel_tool_calls: bool | Absent
    presence_penalty: float | Absent
    reasoning: Any
    reasoning_effort: str | Absent
    response_format: Any
    seed: int | Absent
    service_tier: str | Absent
    stop: Any
    store: bool | Absent
    temperature: float | Absent
    text: Any
    thinking: Any
    tool_choice: Any
    top_k: int | Absent
    top_p: float | Absent
    user: str | Absent


_OWN = (
    *(
        "prompt",
        "prompt_equals",
        "model",
        "system",
        "messages",
        "tools",
        "tool_results",
        "turn",
        "stream",
    ),
    *("attachments", "response", "error", "usage", "test", "options", "body"),
)
_PARAMETERS = tuple(name for name in CallConditions.__annotations__ if name not in _OWN)


class ExpectedCall:
    """The conditions of an assertion about a call.

    Args:
        prompt: a matcher of the prompt.
        schema: the schema, or its name.
        conditions: the other conditions.

    Raises:
        InvalidReply: a condition is invalid.
        TypeError: a condition is unknown.
    """

    def __init__(
        self, prompt: TextMatcher | None, schema: Any, conditions: Mapping[str, Any]
    ) -> None:
        __tracebackhide__ = True
        _require_known(conditions)
        given = {name: value for name, value in conditions.items() if value is not None}
        options = given.pop("options", None)
        # The matchers of replies know no `ABSENT`.
        plain_options, self._absent_options = _split_options(options)
        second_prompt = given.pop("prompt", None)
        if prompt is not None and second_prompt is not None:
            raise TypeError("prompt and prompt_contains are the same condition: give one of them.")
        prompt = second_prompt if prompt is None else prompt
        self._matchers = Matchers(
            prompt,
            given.pop("system", None),
            given.pop("tools", None),
            given.pop("turn", None),
            given.pop("attachments", None),
            plain_options,
        )
        self._error = Matchers(given.pop("error", None)).prompt
        self._schema = get_schema_name(schema)
        self._body = given.pop("body", None)
        if self._body is not None and not isinstance(self._body, Mapping):
            raise InvalidReply("body must be a mapping of fields of the request to their values.")
        self._parameters = {name: given.pop(name) for name in _PARAMETERS if name in given}
        self._values = given
        self._conditions = {"prompt": prompt, "schema": schema, **conditions}

    def misses(self, call: Call) -> Iterator[str]:
        """Yield a phrase for each condition that a call does not meet."""
        expected_prompt = self._values.get("prompt_equals")
        if expected_prompt is not None and expected_prompt != call.prompt:
            yield f"the prompt is {shorten(call.prompt)}, not {shorten(expected_prompt)}"
        schema = call["kwargs"]["schema"]
        if self._schema is not None and self._schema != schema:
            yield f"the schema is {format_schema(schema)}, not {format_schema(self._schema)}"
        yield from self._matchers.misses(call)
        yield from self._field_misses(call)
        if self._error is not None:
            yield from self._error_misses(call)
        yield from self._list_misses(call)
        yield from self._request_misses(call)

    def _field_misses(self, call: Call) -> Iterator[str]:
        """Yield a phrase for each option that is not absent and each single value that differs."""
        for name in self._absent_options:
            if name in call.options:
                yield f"the option {name} is {_format(call.options[name])}, but it must be absent"
        values = self._values
        for name in ("model", "stream", "response", "test"):
            actual = getattr(call, name)
            if name in values and actual != values[name]:
                yield f"the {name} is {_format(actual)}, not {_format(values[name])}"

    def _list_misses(self, call: Call) -> Iterator[str]:
        """Yield a phrase if the messages, the tool results or the token counts differ."""
        values = self._values
        if "messages" in values and not _are_messages(call, values["messages"]):
            yield f"the messages are {_format(call.messages)}, not {_format(values['messages'])}"
        if "tool_results" in values and not _are_results(call, values["tool_results"]):
            expected = _format(values["tool_results"])
            yield f"the tool results are {_format(call.tool_results)}, not {expected}"
        if "usage" in values:
            yield from _find_misses("usage", call.usage, values["usage"])

    def _error_misses(self, call: Call) -> Iterator[str]:
        if call.error is None:
            yield "there was no error"
        elif list(Matchers(self._error).misses(Call(prompt=call.error, kwargs={}))):
            yield f"the error is {_format(call.error)}, which {Matchers(self._error)} does not fit"

    def _request_misses(self, call: Call) -> Iterator[str]:
        """Yield a phrase for each field of the request that differs."""
        sent = call.request
        if self._body is not None:
            if sent is None:
                yield "it has no body, as it came through llm"
            else:
                yield from _find_misses("body", sent.body, self._body)
        for name, expected in self._parameters.items():
            actual = _get_parameter(call, name)
            if actual != expected:
                yield _format_miss(name, actual, expected)

    def __str__(self) -> str:
        given = {name: value for name, value in self._conditions.items() if value is not None}
        own = ("prompt", "system", "tools", "turn", "attachments", "options")
        parts = [
            f"{name} {_format(value)}"
            for name, value in given.items()
            if name not in (*own, "schema")
        ]
        if self._schema:
            parts.insert(0, f"schema {format_schema(self._schema)}")
        if self._matchers:
            parts.append(str(self._matchers))
        parts += [f"{name} absent" for name in self._absent_options]
        return ", ".join(parts)


def _require_known(conditions: Iterable[str]) -> None:
    """Raise a TypeError that names the first unknown condition."""
    __tracebackhide__ = True
    known = ("prompt_contains", "schema", *CallConditions.__annotations__)
    for name in conditions:
        if name not in known:
            raise TypeError(
                f"Unknown condition {name!r}{suggest_nearest(name, known) or '.'} "
                f"Conditions: {', '.join(known)}. Other fields of the request: "
                f"body={{{name!r}: …}}."
            )


def _split_options(options: Any) -> tuple[Any, list[str]]:
    """Return the options with a value, and the names of those that must be absent."""
    if not isinstance(options, Mapping):
        return options, []
    absent = [name for name, value in options.items() if value is ABSENT]
    plain = {name: value for name, value in options.items() if value is not ABSENT}
    return plain or None, absent


def _get_parameter(call: Call, name: str) -> Any:
    """Return a parameter of the provider as it was sent; `ABSENT` if it was not sent."""
    sent = call.request
    if sent is not None and name in sent.body:
        return sent.body[name]
    if sent is None or call.get("api") == "generate_content":
        # Gemini nests its parameters, and names them in camel case.
        for option, value in call.options.items():
            if re.sub("([A-Z])", r"_\1", option).lower() == name:
                return value
    return ABSENT


def _find_misses(path: str, actual: Any, expected: Any) -> Iterator[str]:
    """Yield a phrase for each part of a JSON value that differs; mappings are compared in parts."""
    if not isinstance(expected, Mapping):
        if actual != expected:
            yield _format_miss(path, actual, expected)
        return
    if not isinstance(actual, Mapping):
        yield _format_miss(path, actual, expected)
        return
    for key, value in expected.items():
        yield from _find_misses(f"{path}.{key}", actual.get(key, ABSENT), value)


def _format_miss(name: str, actual: Any, expected: Any) -> str:
    if expected is ABSENT:
        return f"{name} is {_format(actual)}, but it must be absent"
    if actual is ABSENT:
        return f"{name} was not sent, expected {_format(expected)}"
    return f"{name} is {_format(actual)}, not {_format(expected)}"


def _are_messages(call: Call, expected: Sequence[Any]) -> bool:
    """Return whether all messages of a call match, in order."""
    sent = call.request
    if sent is not None and sent.body.get("messages") == [*expected]:
        return True
    return _match_each(call.messages, expected, _is_message)


def _is_message(message: Mapping[str, Any], expected: Any) -> bool:
    if isinstance(expected, str):
        return bool(message["text"] == expected)
    # `content` is the word of most providers for the text.
    names = {"content": "text"}
    wanted = {names.get(key, key): value for key, value in expected.items()}
    return not list(_find_misses("", message, wanted))


def _are_results(call: Call, expected: Sequence[Any]) -> bool:
    """Return whether all tool results of a call match, in order."""

    def is_result(result: Mapping[str, Any], wanted: Any) -> bool:
        if isinstance(wanted, Mapping) and {*wanted} <= {*result}:
            return not list(_find_misses("", result, wanted))
        return bool(result["output"] == wanted)

    return _match_each(call.tool_results, expected, is_result)


def _match_each(
    values: Sequence[Any], expected: Sequence[Any], is_equal: Callable[[Any, Any], bool]
) -> bool:
    if len(values) != len(expected):
        return False
    return all(is_equal(value, wanted) for value, wanted in zip(values, expected, strict=True))


def _format(value: Any) -> str:
    return repr(value) if value is ABSENT else shorten(redact(value))
