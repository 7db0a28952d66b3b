"""The text of calls in messages, and totals over calls."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TypeVar

from llm_mock.core.call import Call
from llm_mock.support.expected_schema import is_same_schema
from llm_mock.support.text import SHOWN_CHARACTERS, shorten, shorten_name

ErrorType = TypeVar("ErrorType", bound=BaseException)
CALLS_ATTRIBUTE, MESSAGE_ATTRIBUTE = "llm_mock_calls", "llm_mock_message"
"""The attributes of an exception with the calls and the noted message that its text shows."""
SHOWN_CALLS = 20
"""The number of latest calls in a message."""
OUTPUT_TOOL = "final_result"
"""The prefix of the names of pydantic-ai's tools for structured output."""
Totals = dict[str, int]
"""Totals over calls: `calls`, `input_tokens`, `output_tokens`, `errors`, `unconfigured`."""


def add_call(totals: dict[str, Totals], call: Call) -> None:
    """Add a call to the totals of its model."""
    counts = {
        "calls": 1,
        "input_tokens": call["input_tokens"] or 0,
        "output_tokens": call["output_tokens"] or 0,
        "errors": int(call["error"] is not None),
        "unconfigured": int(not call["configured"]),
    }
    add_totals(totals, {call["model_id"]: counts})


def add_totals(totals: dict[str, Totals], others: Mapping[str, Totals]) -> None:
    """Add other totals to totals, model by model."""
    for model_id, counts in others.items():
        own = totals.setdefault(model_id, dict.fromkeys(counts, 0))
        for name, number in counts.items():
            own[name] += number


def format_schema(name: str | None) -> str:
    """Return the name of a schema on one line; `none` without a schema."""
    return shorten_name(name) if name else "none"


def asks_for_schema(call: Call, expected: str) -> bool:
    """Return whether a call asks for an expected schema; see `expect_schema`."""
    return is_same_schema(expected, call["kwargs"]["schema"], call.schema)


def format_schema_miss(call: Call, expected: str) -> str:
    """Return a phrase for a call that does not ask for the expected schema.

    Args:
        call: the call.
        expected: the name of the schema.
    """
    schema = call["kwargs"]["schema"]
    miss = f"the schema is {format_schema(schema)}, not {format_schema(expected)}"
    # Frameworks request an object by a tool, which is named after its class, or like this.
    tools = []
    for tool in call["kwargs"].get("tools", ()):
        if tool == expected or tool.startswith(OUTPUT_TOOL):
            tools.append(tool)
    if not tools:
        return miss
    # For a union, there is one tool for each class, which ends with its name.
    named = [tool for tool in tools if tool.endswith(expected)]
    [tool, *_] = [*named, *tools]
    return f"{miss}, but the tool {tool} requests an object: match tools=[{tool!r}]"


def format_request(call: Call, length: int = SHOWN_CHARACTERS) -> str:
    """Return the request of a call on one line: model, prompt or tool results, schema.

    Args:
        call: the call.
        length: the maximum number of characters of the prompt.
    """
    inputs = []
    results = call["kwargs"].get("tool_results", ())
    # A turn that only returns tool results has an empty prompt.
    if call["prompt"] or not results:
        inputs.append(shorten(call["prompt"], length))
    for result in results:
        name = shorten_name(result["name"] or "a tool")
        inputs.append(f"{name} returned {shorten(result['output'])}")
    head = f"{shorten_name(call['model_id'])}  {', '.join(inputs)}"
    schema = call["kwargs"]["schema"]
    return f"{head}  schema {format_schema(schema)}" if schema else head


def format_call(call: Call) -> str:
    """Return a call on one line: model, prompt, schema, and the reply or the start of the error."""
    head = format_request(call)
    if call["error"] is None:
        note = "" if call["configured"] else f"  ({_describe_default(call)})"
        return f"{head}  → {shorten(call['response'])}{note}"
    first_line = call["error"].partition("\n")[0].removesuffix(":")
    return f"{head}  → raised: {shorten_name(first_line)}"


def _describe_default(call: Call) -> str:
    """Return a note that the call was answered by default; for an endpoint, with the fix."""
    # The `api` of a call to a model is a word; for another endpoint, it is a method and a path.
    method, _, path = str(call.get("api", "")).partition(" ")
    if not path:
        return "answered by default"
    return f"answered by default; configure it with mock.on({method!r}, {path!r}, …)"


def format_calls(calls: Sequence[Call]) -> str:
    """Return numbered calls, one on each line, and only the latest of very many."""
    if not calls:
        return "  (none)"
    omitted = max(0, len(calls) - SHOWN_CALLS)
    lines = [f"  … {omitted} earlier calls"] if omitted else []
    formatted = map(format_call, calls[omitted:])
    number = omitted + 1
    for text, group in itertools.groupby(formatted):
        last = number + len(list(group)) - 1
        if last > number + 1:
            lines.append(f"  {number}. {text}\n  {number + 1} to {last}. the same")
        else:
            lines += [f"  {each}. {text}" for each in range(number, last + 1)]
        number = last + 1
    return "\n".join(lines)


def mark_shown(error: ErrorType, calls: Sequence[Call], message: str = "") -> ErrorType:
    """Record the calls and the message in an error's text, so that pytest shows them only once.

    Args:
        error: the error, which is returned.
        calls: the calls that its text lists.
        message: the noted message that its text contains.
    """
    setattr(error, CALLS_ATTRIBUTE, list(calls))
    setattr(error, MESSAGE_ATTRIBUTE, message)
    return error


def get_shown_calls(error: BaseException) -> list[Call] | None:
    """Return the calls that the text of an error lists; None if it lists none."""
    calls: list[Call] | None = getattr(error, CALLS_ATTRIBUTE, None)
    return calls


def format_call_history(calls: Sequence[Call]) -> str:
    """Return the list of calls under a heading."""
    return f"Calls that were made:\n{format_calls(calls)}"
