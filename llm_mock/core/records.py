"""Records of calls (request and outcome), their text in messages, and sums over records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from time import time_ns
from typing import TYPE_CHECKING, TypedDict, TypeVar

from llm_mock.core.keys import PassedKey
from llm_mock.core.request import describe_attachments, describe_tool, to_plain_json
from llm_mock.support.schemas import get_schema_name
from llm_mock.support.text import shorten, shorten_name

if TYPE_CHECKING:
    from typing_extensions import NotRequired

    from llm_mock.core.request import Request
    from llm_mock.core.value_types import JSON, JSONObject


NOT_PASSED = {"temperature": 0.0, "max_tokens": 1000, "model": None}
"""The arguments of `prompt()` that were not passed, with their documented defaults."""
UNKNOWN = {"temperature": None, "model": None}
"""The same for a call that did not come through `prompt()`."""
ErrorType = TypeVar("ErrorType", bound=BaseException)
CALLS_ATTRIBUTE, MESSAGE_ATTRIBUTE = "llm_mock_calls", "llm_mock_message"
"""The attributes of an exception with the calls and the noted message that its text shows."""
SHOWN_CALLS = 20
"""The number of latest calls in a message."""


class CallRecord(TypedDict):
    """One call of a model, as a snapshot in plain JSON values."""

    timestamp: str
    """The time of the call: ISO 8601, local time."""
    number: int
    """The position of the call among all calls of its mock, from 1."""
    model_id: str
    """The id of the called model."""
    turn: int
    """The position of the requested answer in its conversation, from 1."""
    prompt: str
    """The text of the prompt with its fragments; with `messages=` alone, that of the last user
    message."""
    prompt_length: int
    """Its length in characters."""
    kwargs: JSONObject
    """`schema` (its name), `temperature` and `model` (None when not passed), and whatever else was
    passed."""
    schema: JSONObject | None
    """The whole JSON schema that was asked for."""
    tools: list[JSONObject]
    """The whole of each tool that was offered: `name`, `description` and `input_schema`; `kwargs`
    has the names."""
    options: JSONObject
    """The options of the call: those that `llm` was given, and what else was passed to
    `prompt()`."""
    key: PassedKey | None
    """Equal to the key that was passed, or assigned to the model; it reads `[redacted]`. None
    without a key."""
    response: JSON
    """What the model answered: text, or the data of a structured reply. None for an error."""
    error: str | None
    """The message of the error that was raised, else None."""
    input_tokens: int | None
    """What the call cost, as scripted or estimated. None for an error."""
    output_tokens: int | None
    """What the answer cost, as scripted or estimated. None for an error."""
    configured: bool
    """Whether a reply was configured for the call; if not, it was answered by default."""
    misbehaviour: NotRequired[str]
    """What the model did wrong in the call, where it was made to; see `mock.misbehave`."""
    api: NotRequired[str]
    """Over HTTP: which API was called, such as `chat.completions`, `responses`, `messages` or
    `generate_content`."""
    provider: NotRequired[str]
    """Over HTTP: whose API that is: `openai`, `anthropic`, `google` or `mistral`."""
    sdk: NotRequired[str]
    """Over HTTP: what the client calls itself."""
    stream: NotRequired[bool]
    """Over HTTP: whether the answer was to be streamed."""
    tool_choice: NotRequired[str]
    """Over HTTP: which tool had to be called: its name, or `required`, `auto` or `none`."""
    fingerprint: NotRequired[str]
    """Over HTTP: the same for requests that are the same, byte for byte."""
    status: NotRequired[int]
    """Over HTTP: the status of an answer that is an error."""
    retry_after: NotRequired[float]
    """Over HTTP: the seconds after which that may be tried again, where it says so."""
    cut_off: NotRequired[bool]
    """Over HTTP: True where the stream ended in the middle, and nothing said so."""
    finish_reason: NotRequired[str]
    """Over HTTP: why the answer ended, in the words of OpenAI's Chat Completions."""


Totals = dict[str, int]
"""Sums over calls: `calls`, `input_tokens`, `output_tokens`, `errors`, `unconfigured`."""


def add_call(totals: dict[str, Totals], call: CallRecord) -> None:
    """Add a call to the sums of its model."""
    counts = {
        "calls": 1,
        "input_tokens": call["input_tokens"] or 0,
        "output_tokens": call["output_tokens"] or 0,
        "errors": int(call["error"] is not None),
        "unconfigured": int(not call["configured"]),
    }
    add_totals(totals, {call["model_id"]: counts})


def add_totals(totals: dict[str, Totals], others: Mapping[str, Totals]) -> None:
    """Add other sums to sums, model by model."""
    for model_id, counts in others.items():
        own = totals.setdefault(model_id, dict.fromkeys(counts, 0))
        for name, number in counts.items():
            own[name] += number


_current_second: tuple[int, str] = (-1, "")
"""The microseconds at the start of the current second, and the start of its timestamps."""


def format_now() -> str:
    """Return the current local time in ISO 8601 with microseconds."""
    # Each call needs a timestamp, and formatting a second anew takes three times as long.
    global _current_second
    moment = time_ns() // 1000
    second, formatted = _current_second
    microseconds = moment - second
    if not 0 <= microseconds < 1_000_000:
        microseconds = moment % 1_000_000
        second = moment - microseconds
        formatted = datetime.fromtimestamp(second // 1_000_000).isoformat()
        _current_second = second, formatted
    return f"{formatted}.{microseconds:06}"


def new_record(request: Request) -> CallRecord:
    """Return the record of a call that is about to be answered, still without its number."""
    options = request.options
    text = request.prompt
    schema_name = schema = None
    if request.schema:
        schema_name = get_schema_name(request.schema)
        schema = to_plain_json(request.schema)
    defaults = NOT_PASSED if request.passed else UNKNOWN
    record: CallRecord = {
        "timestamp": format_now(),
        "number": 0,
        "model_id": request.model_id,
        "turn": request.turn,
        "prompt": text,
        "prompt_length": len(text),
        "kwargs": {"schema": schema_name, **defaults, **options},
        "schema": schema,
        "tools": [],
        "options": options,
        "key": PassedKey.from_key(request.key) if request.key else None,
        "response": None,
        "error": None,
        "input_tokens": None,
        "output_tokens": None,
        "configured": True,
    }
    # Most calls are a text alone, and save the call of the function.
    if request.system or request.tools or request.tool_results or request.attachments:
        _add_further_inputs(record, request)
    http_fields = request.describe_http()
    if http_fields:
        record.update(http_fields)  # type: ignore[typeddict-item]
    return record


def _add_further_inputs(record: CallRecord, request: Request) -> None:
    """Add the system prompt, tools, tool results and attachments of a request to its record."""
    kwargs = record["kwargs"]
    # Each key is missing in the record of a call without it.
    if request.system:
        kwargs["system"] = request.system
    if request.tools:
        kwargs["tools"] = [tool.name for tool in request.tools]
        record["tools"] = [describe_tool(tool) for tool in request.tools]
    if request.tool_results:
        results = request.tool_results
        kwargs["tool_results"] = [
            {"name": result.name, "output": result.output} for result in results
        ]
    if request.attachments:
        descriptions = describe_attachments(request.attachments, hashed=False)
        kwargs["attachments"] = [{"type": None, **attachment} for attachment in descriptions]


def format_schema(name: str | None) -> str:
    """Return the name of a schema on one line; `none` without a schema."""
    return shorten_name(name) if name else "none"


def format_request(call: CallRecord) -> str:
    """Return the request of a call on one line: model, prompt or tool results, schema."""
    inputs = []
    results = call["kwargs"].get("tool_results", ())
    # A turn that only hands in tool results has an empty prompt.
    if call["prompt"] or not results:
        inputs.append(shorten(call["prompt"]))
    for result in results:
        inputs.append(f"{shorten_name(str(result['name']))} gave {shorten(result['output'])}")
    head = f"{shorten_name(call['model_id'])}  {', '.join(inputs)}"
    schema = call["kwargs"]["schema"]
    return f"{head}  schema {format_schema(schema)}" if schema else head


def format_call(call: CallRecord) -> str:
    """Return a call on one line: model, prompt, schema, and the reply or the start of the error."""
    head = format_request(call)
    if call["error"] is None:
        note = "" if call["configured"] else "  (answered by default)"
        return f"{head}  → {shorten(call['response'])}{note}"
    first_line = call["error"].partition("\n")[0].removesuffix(":")
    return f"{head}  → raised: {shorten_name(first_line)}"


def format_calls(calls: Sequence[CallRecord]) -> str:
    """Return numbered calls, one on each line, and only the latest of very many."""
    if not calls:
        return "  (none)"
    omitted = max(0, len(calls) - SHOWN_CALLS)
    lines = [f"  … {omitted} earlier calls"] if omitted else []
    for number, call in enumerate(calls[omitted:], start=omitted + 1):
        lines.append(f"  {number}. {format_call(call)}")
    return "\n".join(lines)


def mark_shown(error: ErrorType, calls: Sequence[CallRecord], message: str = "") -> ErrorType:
    """Record on an error what its text shows, so that a failed test shows it only once.

    Args:
        error: the error, which is returned.
        calls: the calls that its text lists.
        message: the noted message that its text contains.
    """
    setattr(error, CALLS_ATTRIBUTE, list(calls))
    setattr(error, MESSAGE_ATTRIBUTE, message)
    return error


def get_shown_calls(error: BaseException) -> list[CallRecord] | None:
    """Return the calls that the text of an error lists; None if it lists none."""
    calls: list[CallRecord] | None = getattr(error, CALLS_ATTRIBUTE, None)
    return calls


def format_call_history(calls: Sequence[CallRecord]) -> str:
    """Return the list of calls under a heading."""
    return f"Calls that were made:\n{format_calls(calls)}"
