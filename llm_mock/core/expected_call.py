"""The conditions of an assertion about a call, and their text in messages."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypedDict

from llm_mock.core.call import ABSENT, Call
from llm_mock.core.matchers import (
    Matchers,
    TextMatcher,
    check_text_matcher,
    format_text_miss,
    matches_text,
)
from llm_mock.core.records import asks_for_schema, format_schema, format_schema_miss
from llm_mock.core.token_limits import TOKEN_LIMITS, describe_sent_limit, find_option
from llm_mock.errors import InvalidReply
from llm_mock.support.expected_schema import expect_schema
from llm_mock.support.redaction import redact
from llm_mock.support.text import (
    describe_respelt,
    described,
    differs_in_case,
    find_nearest,
    has_prefix,
    shorten,
    suggest_nearest,
    to_compact_json,
)

if TYPE_CHECKING:
    from llm_mock.core.call import Absent
    from llm_mock.support.json_types import JSONObject


class CallConditions(TypedDict, total=False):
    """The further conditions of `assert_called_with`.

    A parameter of the provider, such as `temperature`, is compared with the field of the request
    body (over HTTP) or with the option (through `llm`). Names of other providers count, too:
    `max_tokens` also matches Gemini's `maxOutputTokens`. `ABSENT` means that the parameter must not
    be sent. For other fields, use `body`. A value may be an object with its own `==`, such as
    `unittest.mock.ANY`.
    """

    prompt: TextMatcher
    """A matcher of the prompt, like `prompt_contains`."""
    prompt_equals: str
    """The whole text of the prompt."""
    model: str
    """The id of the model, or an alias of it for calls through `llm`."""
    system: TextMatcher | Absent
    """A matcher of the system prompt."""
    messages: Sequence[Mapping[str, Any] | str]
    """All messages. Each one is a text, or some fields of the message in the form of
    `Call.messages` or of the request body."""
    tools: Iterable[str] | Absent
    """The names of tools that must be offered; other tools may be offered, too."""
    tool_results: Sequence[Any] | Absent
    """All tool results. Each one is its output, or some of its fields."""
    turn: int
    """The position of the answer in its conversation, from 1."""
    stream: bool | None
    """Whether a streamed answer was requested; None through `llm`."""
    attachments: Iterable[str | None] | Absent
    """The media types of all attachments, in order; None for an attachment with a URL."""
    response: Any
    """The answer."""
    error: TextMatcher | Absent | None
    """A matcher of the error message; None or `ABSENT` for a call without an error."""
    usage: Mapping[str, int]
    """Some of the token counts."""
    test: str | None
    """The node id of the test."""
    options: Mapping[str, Any]
    """Some of the options; the value `ABSENT` means that the option must not be set."""
    body: Mapping[str, Any]
    """Some fields of the request body, over HTTP. Nested mappings need only some fields, too."""
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
    "prompt",
    "prompt_equals",
    "model",
    "system",
    "messages",
    "tools",
    "tool_results",
    "turn",
    "stream",
    "attachments",
    "response",
    "error",
    "usage",
    "test",
    "options",
    "body",
)
_PARAMETERS = tuple(name for name in CallConditions.__annotations__ if name not in _OWN)
_ABSENT_INPUTS = ("schema", "system", "tools", "tool_results", "attachments", "error")
"""The conditions, besides parameters, that may be `ABSENT`."""
_NULLABLE = ("stream", "response", "error", "test")
"""The conditions, besides parameters, for which None is a valid value."""
_TEXTS = ("model", "prompt_equals", "test")
_LISTS = ("messages", "tool_results")
_MAPPINGS = ("usage", "options", "body")
_TOKEN_COUNTS = ("input_tokens", "output_tokens")
_MESSAGE_FIELDS = ("messages", "input", "contents")
"""The fields of the body that contain the list of messages, depending on the API."""
_SHOWN_DIFFERENCES = 3
RESULT_KEYS = ("name", "output", "is_error")
_LIMITS_OF_CHAT = ("max_tokens", "max_completion_tokens")
"""The token limits of Chat Completions; some models accept only one of them."""
_OTHER_NAMES = {
    **dict.fromkeys(TOKEN_LIMITS, TOKEN_LIMITS),
    "seed": ("seed", "random_seed"),
    "stop": ("stop", "stop_sequences"),
    "top_k": ("top_k", "k"),
    "top_p": ("top_p", "p"),
}
"""The names of a parameter at all providers, by each name that an assertion may use."""


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
        self.aliased_model: str | None = None
        """The model whose alias the expected model may be in a call through `llm`."""
        _require_known(conditions)
        for name, value in conditions.items():
            _check_condition(name, value)
        given = dict(conditions)
        if schema is not None:
            given["schema"] = schema
            if not schema:
                _refuse_vacuous("schema", schema)
        self._absent_inputs = _take_absent_inputs(given)
        # The matchers of replies do not support `ABSENT`.
        plain_options, self._absent_options = _split_options(given.pop("options", None))
        second_prompt = given.pop("prompt", None)
        if prompt is not None and second_prompt is not None:
            raise TypeError(
                f"Got two prompts, the first argument ({prompt!r}) and prompt=: pass only one. For "
                "a model, use model=."
            )
        prompt = second_prompt if prompt is None else prompt
        self.matchers = Matchers(
            prompt,
            given.pop("system", None),
            given.pop("tools", None),
            given.pop("turn", None),
            given.pop("attachments", None),
            plain_options,
        )
        self._error = check_text_matcher("error", given.pop("error", None))
        self._schema = expect_schema(given.pop("schema", None))
        self._body = given.pop("body", None)
        self._parameters = {name: given.pop(name) for name in _PARAMETERS if name in given}
        self.values = given

    def misses(self, call: Call) -> Iterator[str]:
        """Yield a phrase for each condition that a call does not meet."""
        expected_prompt = self.values.get("prompt_equals")
        if expected_prompt is not None and expected_prompt != call.prompt:
            yield f"the prompt is {_format_difference(call.prompt, expected_prompt)}"
        if self._schema is not None and not asks_for_schema(call, self._schema):
            yield format_schema_miss(call, self._schema)
        yield from self.matchers.misses(call)
        yield from self._field_misses(call)
        if self._error is not None:
            yield from self._error_misses(call)
        yield from self._list_misses(call)
        yield from self._request_misses(call)

    def without_inputs(self) -> ExpectedCall:
        """Return the same conditions, except those for the prompt and the tool results."""
        others = copy.copy(self)
        others.matchers = copy.copy(self.matchers)
        others.matchers.prompt = None
        others.values = dict(self.values)
        others.values.pop("prompt_equals", None)
        others.values.pop("tool_results", None)
        return others

    def fits_prompt(self, text: str) -> bool:
        """Return whether a text meets the conditions for the prompt."""
        whole = self.values.get("prompt_equals")
        if whole is not None and whole != text:
            return False
        return self.matchers.prompt is None or matches_text(self.matchers.prompt, text)

    def measure_similarity(self, call: Call) -> tuple[bool, float]:
        """Return how similar the texts of a call are to the expected ones.

        Returns:
            Whether the prompt contains the expected text in any case, and the share of words that
            all texts have in common.
        """
        pairs = [(self.matchers.prompt, call.prompt)]
        pairs.append((self.values.get("prompt_equals"), call.prompt))
        contains_prompt = False
        for expected, prompt in pairs:
            if _contains_in_any_case(prompt, expected):
                contains_prompt = True
        pairs += [(self.values.get(name), getattr(call, name)) for name in _LISTS]
        expected_words: set[str] = set()
        words: set[str] = set()
        for expected, actual in pairs:
            # Patterns and functions have no text to compare.
            if isinstance(expected, (str, list, tuple)):
                expected_words |= _split_words(expected)
                words |= _split_words(actual)
        share = len(expected_words & words) / max(len(expected_words | words), 1)
        return contains_prompt, share

    def explain_respelt_model(self, calls: Sequence[Call]) -> str:
        """Return a sentence if the expected model is another spelling of a called one."""
        name = self.values.get("model")
        if not isinstance(name, str):
            return ""
        return describe_respelt(name, [call.model for call in calls])

    def _field_misses(self, call: Call) -> Iterator[str]:
        """Yield a phrase for each input that must be absent and each single value that differs."""
        for name in self._absent_inputs:
            actual = getattr(call, name)
            if actual:
                yield f"the {name} is {_format(actual)}, but it must be absent"
        for name in self._absent_options:
            value = find_option(call, name)
            if value is not ABSENT:
                yield f"the option {name} is {_format(value)}, but it must be absent"
        yield from self._model_misses(call)
        values = self.values
        for name in ("stream", "response", "test"):
            actual = getattr(call, name)
            if name in values and actual != values[name]:
                yield f"the {name} is {_format_difference(actual, values[name])}"

    def _model_misses(self, call: Call) -> Iterator[str]:
        """Yield a phrase if the model differs, and is not the one of an alias of `llm`."""
        expected = self.values.get("model", call.model)
        if call.model == expected or ("api" not in call and call.model == self.aliased_model):
            return
        note = _explain_prefix(expected, call.model)
        yield f"the model is {_format_difference(call.model, expected)}{note}"

    def _list_misses(self, call: Call) -> Iterator[str]:
        """Yield a phrase if the messages, the tool results or the token counts differ."""
        values = self.values
        if "messages" in values:
            yield from _shorten_differences(_find_message_misses(call, values["messages"]))
        if "tool_results" in values and not are_results(call.tool_results, values["tool_results"]):
            expected = _format(values["tool_results"])
            hint = _explain_result_keys(values["tool_results"])
            yield f"the tool results are {_format(call.tool_results)}, not {expected}{hint}"
        if "usage" in values:
            yield from _find_misses("usage", call.usage, values["usage"])

    def _error_misses(self, call: Call) -> Iterator[str]:
        if call.error is None:
            yield "the call has no error"
        elif not matches_text(self._error, call.error):
            yield format_text_miss("error", self._error, call.error)

    def _request_misses(self, call: Call) -> Iterator[str]:
        """Yield a phrase for each field of the request that differs."""
        sent = call.request
        if self._body is not None:
            if sent is None:
                yield "the call has no body, because it was made through llm"
            else:
                yield from _find_misses("body", sent.body, self._body)
        for name, expected in self._parameters.items():
            actual = _get_parameter(call, name)
            if _differs(actual, expected):
                miss = _format_miss(name, actual, expected)
                note = describe_sent_limit(call, name) if actual is ABSENT else ""
                yield f"{miss}{note}"

    def __str__(self) -> str:
        parts = []
        if self._schema:
            parts.append(f"schema {format_schema(self._schema)}")
        parts += [f"{name} {_format(value)}" for name, value in self.values.items()]
        if self._error is not None:
            parts.append(f"error {_format(self._error)}")
        parts += [f"{name} {_format(value)}" for name, value in self._parameters.items()]
        if self._body is not None:
            parts.append(f"body {_format(self._body)}")
        if self.matchers:
            parts.append(str(self.matchers))
        absent = chain(self._absent_inputs, self._absent_options)
        parts += [f"{name} absent" for name in absent]
        return ", ".join(parts) or "no condition"


def _contains_in_any_case(text: str, expected: object) -> bool:
    """Return whether a text contains another one, ignoring upper and lower case."""
    # Patterns and functions have no text to compare.
    if not isinstance(expected, str):
        return False
    return expected.lower() in text.lower()


def _split_words(value: object) -> set[str]:
    """Return the words of a text, or of all texts in a list, in lower case."""
    return set(re.findall(r"\w+", to_compact_json(value).lower()))


def _explain_prefix(expected: object, model: str) -> str:
    """Return a remark that the name of a model has no prefix; empty for another miss."""
    if isinstance(expected, str) and has_prefix(expected, model):
        return " (leave out the prefix, which the request does not have)"
    return ""


def _take_absent_inputs(given: dict[str, Any]) -> list[str]:
    """Remove the conditions that an input must be absent, and return their names."""
    absent = [name for name in _ABSENT_INPUTS if given.get(name) is ABSENT]
    for name in absent:
        del given[name]
    # Only for the error, None is a value; for other conditions, it means no condition.
    if "error" in given and given["error"] is None:
        del given["error"]
        absent.append("error")
    return absent


def _require_known(conditions: Iterable[str]) -> None:
    """Raise a TypeError that names the first unknown condition."""
    __tracebackhide__ = True
    known = ("prompt_contains", "schema", *CallConditions.__annotations__)
    for name in conditions:
        if name in known:
            continue
        if name in ("headers", "extra_headers"):
            advice = "For headers, read last_call.request.headers."
        else:
            advice = f"For another field of the request, use body={{{name!r}: …}}."
        # Tests guess this name for the condition.
        meant = "prompt_contains" if find_nearest(name, ["contains"]) else name
        raise TypeError(
            f"Unknown condition {name!r}{suggest_nearest(meant, known) or '.'} "
            f"Conditions: {', '.join(known)}. {advice}"
        )


def _check_condition(name: str, value: object) -> None:
    """Raise an InvalidReply if a condition matches no call or every call."""
    __tracebackhide__ = True
    if value is ABSENT and name in (*_PARAMETERS, *_ABSENT_INPUTS):
        return
    if name in (*_PARAMETERS, "response", "tool_results"):
        _check_no_nested_absent(name, value)
    is_null = value is None and name in _NULLABLE
    if name in _PARAMETERS or is_null:
        return
    _check_type(name, value)
    if name == "options" and isinstance(value, Mapping):
        for option in filter(_is_value, value.values()):
            _check_no_nested_absent(name, option)


def _is_value(value: object) -> bool:
    return value is not ABSENT


def _check_type(name: str, value: object) -> None:
    """Raise an InvalidReply if a condition is empty or of a wrong type."""
    __tracebackhide__ = True
    may_be_empty = name not in ("tools", *_MAPPINGS)
    if value is None or not (may_be_empty or value):
        _refuse_vacuous(name, value)
    expected = _find_expected_type(name, value)
    if expected is not None:
        shown = "ABSENT" if value is ABSENT else described(value)
        raise InvalidReply(f"{name}={shown}: pass {expected}.")


def _refuse_vacuous(name: str, value: object) -> None:
    """Raise an InvalidReply for a condition that matches every call."""
    __tracebackhide__ = True
    advice = f"leave {name} out"
    if name in _ABSENT_INPUTS:
        advice += f", or write {name}=ABSENT for a call without {name}"
    raise InvalidReply(f"{name}={described(value)} matches every call: {advice}.")


def _find_expected_type(name: str, value: object) -> str | None:
    """Return a description of valid values if a value is invalid; else None."""
    # The body and the options are read as mappings, so an object with its own `==` is invalid.
    if name not in ("body", "options") and _has_own_equality(value):
        return None
    if name in _TEXTS and not isinstance(value, str):
        return "a text"
    if name == "stream" and not isinstance(value, bool):
        return "True, False, or None for a call through llm"
    if name in _MAPPINGS:
        return _find_expected_mapping(name, value)
    if name in _LISTS:
        return _find_expected_list(name, value)
    return None


def _find_expected_mapping(name: str, value: object) -> str | None:
    if not isinstance(value, Mapping):
        return f"a mapping of some fields of the {name} to their values"
    if name == "usage" and not {*_TOKEN_COUNTS}.issuperset(value):
        return f"only {' and '.join(_TOKEN_COUNTS)}"
    return None


def _find_expected_list(name: str, value: Any) -> str | None:
    if not _is_list(value):
        item = name.removesuffix("s").replace("_", " ")
        return f"a list with one item for each {item}, in order"
    if name != "messages":
        return None
    for message in value:
        if not isinstance(message, (str, Mapping)) and not _has_own_equality(message):
            return "a text or a mapping of some fields for each message"
    return None


def _check_no_nested_absent(name: str, value: object) -> None:
    """Raise an InvalidReply for `ABSENT` within a value that is compared as a whole."""
    __tracebackhide__ = True
    if _contains_absent(value):
        raise InvalidReply(
            f"{name} is compared as a whole, so ABSENT within it matches no call. To compare only "
            "a part of the request, use body={…}."
        )


def _contains_absent(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_contains_absent, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_contains_absent, value))
    return value is ABSENT


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def _has_own_equality(value: object) -> bool:
    """Return whether a value is an object with its own `==`, such as `unittest.mock.ANY`."""
    kind = type(value)
    return (
        value is not ABSENT
        and kind.__module__ != "builtins"
        and kind.__eq__ is not object.__eq__
        and not isinstance(value, (Mapping, Sequence))
    )


def _split_options(options: Any) -> tuple[Any, list[str]]:
    """Return the options with a value, and the names of those that must be absent."""
    if not isinstance(options, Mapping):
        return options, []
    absent = [name for name, value in options.items() if value is ABSENT]
    plain = {name: value for name, value in options.items() if value is not ABSENT}
    return plain or None, absent


def _get_parameter(call: Call, name: str) -> object:
    """Return a parameter of the provider as it was sent; `ABSENT` if it was not sent."""
    sent = call.request
    if sent is not None and name in sent.body:
        return sent.body[name]
    if sent is not None and name == "reasoning_effort":
        # In the Responses API, it is nested in the field `reasoning`.
        reasoning = sent.body.get("reasoning")
        if isinstance(reasoning, Mapping):
            return reasoning.get("effort", ABSENT)
    is_exact = name in _LIMITS_OF_CHAT and call.get("api") == "chat.completions"
    names = (name,) if is_exact else _OTHER_NAMES.get(name, (name,))
    return find_option(call, *names)


def _differs(actual: Any, expected: Any) -> bool:
    # Objects such as `unittest.mock.ANY` also equal `ABSENT`, but expect a value.
    if actual is ABSENT or expected is ABSENT:
        return actual is not expected
    return bool(actual != expected)


def _find_misses(path: str, actual: Any, expected: Any) -> Iterator[str]:
    """Yield a phrase for each part of a JSON value that differs; mappings are compared in parts."""
    is_mapping = isinstance(expected, Mapping)
    if is_mapping and actual is ABSENT and _expects_nothing(expected):
        return
    parts = _pair_parts(actual, expected)
    if parts is not None:
        for key, actual_part, expected_part in parts:
            yield from _find_misses(f"{path}{key}", actual_part, expected_part)
    elif _differs(actual, expected):
        yield _format_miss(path, actual, expected)


def _pair_parts(actual: Any, expected: Any) -> list[tuple[str, Any, Any]] | None:
    """Return the parts of two mappings, or of two lists of one length, with their paths."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        items = expected.items()
        return [(f".{key}", actual.get(key, ABSENT), value) for key, value in items]
    both_lists = isinstance(expected, (list, tuple)) and isinstance(actual, list)
    if not both_lists or len(actual) != len(expected):
        return None
    pairs = zip(actual, expected, strict=True)
    return [(f"[{position}]", *pair) for position, pair in enumerate(pairs)]


def _expects_nothing(expected: Any) -> bool:
    """Return whether a part of a body, or everything in it, must be absent."""
    if isinstance(expected, Mapping):
        return bool(expected) and all(map(_expects_nothing, expected.values()))
    return expected is ABSENT


def _format_miss(name: str, actual: Any, expected: Any) -> str:
    if expected is ABSENT:
        return f"{name} is {_format(actual)}, but it must be absent"
    if actual is ABSENT:
        return f"{name} was not sent, expected {_format(expected)}"
    return f"{name} is {_format_difference(actual, expected)}"


def _format_difference(actual: object, expected: object) -> str:
    """Return two values that should be equal, with a remark if only the case of letters differs.

    Otherwise two long texts may look the same in the message.
    """
    difference = f"{_format(actual)}, not {_format(expected)}"
    if differs_in_case(actual, expected):
        difference += " (upper and lower case differ)"
    return difference


def _find_message_misses(call: Call, expected: Any) -> list[str]:
    """Return a phrase for each difference of the messages, in the form with fewer differences."""
    if not _is_list(expected):
        differs = call.messages != expected
        return [_format_miss("messages", call.messages, expected)] if differs else []
    messages = [_to_plain_message(message) for message in expected]
    # Most providers call the text `content`.
    described_messages = [{**message, "content": message["text"]} for message in call.messages]
    misses = _compare_messages(described_messages, messages, call.messages)
    sent = call.request
    for field in _MESSAGE_FIELDS:
        sent_messages = None if sent is None else sent.body.get(field)
        if misses and isinstance(sent_messages, list):
            misses_of_body = _compare_messages(sent_messages, messages, sent_messages)
            misses = min(misses, misses_of_body, key=len)
    return misses


def _to_plain_message(message: Any) -> Any:
    """Return a message object of an SDK as the fields that it sends."""
    if hasattr(type(message), "model_dump"):
        return message.model_dump(mode="json", by_alias=True, exclude_none=True)
    return message


def _compare_messages(
    actual: Sequence[Any], expected: Sequence[Any], shown: Sequence[Any]
) -> list[str]:
    if len(actual) != len(expected):
        return [f"the call has {len(actual)} messages, not {len(expected)}: {_format(shown)}"]
    misses: list[str] = []
    for position, (message, wanted) in enumerate(zip(actual, expected, strict=True)):
        path = f"messages[{position}]"
        if isinstance(wanted, str) and isinstance(message, Mapping):
            wanted = {"content": wanted}
        misses += _find_misses(path, message, wanted)
    return misses


def _shorten_differences(misses: Sequence[str]) -> list[str]:
    """Return the first differences of messages and the number of further ones."""
    shown = [*misses[:_SHOWN_DIFFERENCES]]
    if len(misses) > len(shown):
        shown.append(f"{len(misses) - len(shown)} more parts of the messages differ")
    return shown


def are_results(results: Sequence[JSONObject], expected: Any) -> bool:
    """Return whether all tool results of a call match, in order."""
    if not _is_list(expected):
        return bool(results == expected)
    if len(results) != len(expected):
        return False
    return all(_is_result(*pair) for pair in zip(results, expected, strict=True))


def _explain_result_keys(expected: object) -> str:
    """Return a remark about a key that tool results do not have; empty without one."""
    known = ", ".join(RESULT_KEYS)
    # An object with its own `==` need not be a list.
    if not isinstance(expected, Iterable):
        return ""
    for result in expected:
        # A mapping with only other keys may be the output itself.
        if not isinstance(result, Mapping) or {*result}.isdisjoint(RESULT_KEYS):
            continue
        for key in result:
            if key not in RESULT_KEYS:
                return f" (a tool result has no key {key!r}, but {known})"
    return ""


def _is_result(result: Mapping[str, Any], wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and wanted and {*wanted} <= {*result}:
        return not list(_find_misses("", result, wanted))
    return bool(result["output"] == wanted)


def _format(value: Any) -> str:
    return repr(value) if value is ABSENT else shorten(redact(value))
