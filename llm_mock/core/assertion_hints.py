"""Explain why no call matches an assertion, beyond the conditions that the nearest call misses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from llm_mock.core.expected_call import RESULT_KEYS, are_results
from llm_mock.core.matchers import matches_text
from llm_mock.support.redaction import redact
from llm_mock.support.text import SHOWN_CHARACTERS, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.expected_call import ExpectedCall
    from llm_mock.support.json_types import JSON, JSONObject


def explain_misses(expected: ExpectedCall, calls: Sequence[Call], nearest: Sequence[int]) -> str:
    """Return sentences about likely mistakes in the conditions of an assertion; empty without any.

    Args:
        expected: the conditions.
        calls: the calls, none of which matches.
        nearest: the positions of the calls that miss the fewest conditions, the nearest first.

    Returns:
        The sentences, each on a separate line with a line break at its end.
    """
    sentences = [
        _explain_model_as_prompt(expected, calls),
        _explain_results(expected, calls),
        _explain_prompt_with_results(expected, calls),
        _explain_earlier_system(expected, calls, nearest),
    ]
    return "".join(f"{sentence}\n" for sentence in sentences if sentence)


def _explain_model_as_prompt(expected: ExpectedCall, calls: Sequence[Call]) -> str:
    """Return a sentence if the text for the prompt is the name of a model; empty otherwise."""
    text = expected.matchers.prompt
    if not isinstance(text, str):
        return ""
    for call in calls:
        if text == call.model:
            return f"The first argument is a text in the prompt. For a model, write model={text!r}."
    return ""


def _explain_results(expected: ExpectedCall, calls: Sequence[Call]) -> str:
    """Return a sentence about tool results that no call can have in the expected form."""
    wanted = expected.values.get("tool_results")
    if not isinstance(wanted, (list, tuple)) or not wanted:
        return ""
    if any(are_results(call.tool_results, wanted) for call in calls):
        return ""
    for number, call in enumerate(calls, start=1):
        if _are_equal_results(call.tool_results, wanted):
            outputs = _format_outputs(call.tool_results)
            return f"Call {number} has these tool results in another form: {outputs}."
    return _explain_unknown_field(wanted, calls)


def _are_equal_results(results: Sequence[JSONObject], wanted: Sequence[JSON]) -> bool:
    """Return whether tool results match if JSON texts count as the data that they contain."""
    if len(results) != len(wanted):
        return False
    return all(map(_is_equal_result, results, wanted))


def _is_equal_result(result: JSONObject, wanted: JSON) -> bool:
    """Return whether a tool result matches, perhaps as other JSON."""
    if are_results([result], [wanted]):
        return True
    output = wanted
    if isinstance(wanted, Mapping) and "output" in wanted:
        output = wanted["output"]
        others = {key: value for key, value in wanted.items() if key != "output"}
        if others and not are_results([result], [others]):
            return False
    return bool(_parse_json(result["output"]) == _parse_json(output))


def _parse_json(value: JSON) -> JSON:
    """Return the data that a JSON text contains, or another value as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _format_outputs(results: Sequence[JSONObject]) -> str:
    """Return the condition for the outputs of tool results, or the shortened outputs if long."""
    outputs = [result["output"] for result in results]
    literal = repr(outputs)
    # The condition must be complete, so it must not be shortened or redacted.
    if len(literal) <= SHOWN_CHARACTERS and redact(outputs) == outputs:
        return f"write tool_results={literal}"
    return f"the outputs are {shorten(outputs)}"


def _explain_unknown_field(wanted: Sequence[JSON], calls: Sequence[Call]) -> str:
    """Return a sentence about a dict without the fields of a tool result; empty without one."""
    outputs = []
    for number, call in enumerate(calls, start=1):
        for result in call.tool_results:
            outputs.append((number, result["output"]))
    are_texts = all(isinstance(output, str) for _, output in outputs)
    # A dict may be meant as an output that is data.
    if not outputs or not are_texts:
        return ""
    number, output = outputs[0]
    for item in wanted:
        if isinstance(item, Mapping) and item and {*item}.isdisjoint(RESULT_KEYS):
            field = shorten_name(repr(next(iter(item))))
            return (
                f"A tool result has the fields {', '.join(RESULT_KEYS)}, not {field}. To compare "
                f"the output, pass its text. The output in call {number} is {shorten(output)}."
            )
    return ""


def _explain_prompt_with_results(expected: ExpectedCall, calls: Sequence[Call]) -> str:
    """Return a sentence about a call with tool results that only misses the prompt."""
    values = expected.values
    wanted = values.get("tool_results")
    # Without one of these conditions, the assertion may mean any call.
    if wanted is None and expected.matchers.turn is None:
        return ""
    others = expected.without_inputs()
    for number, call in enumerate(calls, start=1):
        if call.prompt or not call.tool_results or any(others.misses(call)):
            continue
        if wanted is not None and not _has_results(call, wanted):
            continue
        if not expected.fits_prompt(call.prompt):
            return _format_missing_prompt(expected, call, number)
    return ""


def _has_results(call: Call, wanted: JSON) -> bool:
    """Return whether a call has expected tool results, perhaps in another form."""
    if isinstance(wanted, (list, tuple)):
        return _are_equal_results(call.tool_results, wanted)
    return are_results(call.tool_results, wanted)


def _format_missing_prompt(expected: ExpectedCall, call: Call, number: int) -> str:
    """Return a sentence about the empty prompt of a call if the text is in another message."""
    # A function of the project may fail for the text of another message.
    if callable(expected.matchers.prompt):
        return ""
    for position, message in enumerate(call.messages):
        if message["role"] == "user" and expected.fits_prompt(message["text"]):
            return (
                f"Call {number} returns tool results, so its prompt is empty. Leave out the "
                f"prompt, or check the text in messages[{position}] of that call."
            )
    return ""


def _explain_earlier_system(
    expected: ExpectedCall, calls: Sequence[Call], nearest: Sequence[int]
) -> str:
    """Return a sentence about a system prompt that a call has only as its first message.

    Args:
        expected: the conditions.
        calls: the calls.
        nearest: the positions of the nearest calls.
    """
    matcher = expected.matchers.system
    if not isinstance(matcher, (str, re.Pattern)):
        return ""
    for position in nearest:
        call = calls[position]
        if call.system or not call.messages:
            continue
        first = call.messages[0]
        if first["role"] == "system" and matches_text(matcher, first["text"]):
            return (
                f"Call {position + 1} has this system prompt only as its first message. Leave out "
                "system, and check messages[0] of that call."
            )
    return ""
