"""The record of a call: what was asked and what came of it; and sums over records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from time import time_ns
from typing import TYPE_CHECKING, Any, TypedDict

from llm_mock.core.keys import PassedKey
from llm_mock.core.request import described_attachments, described_tool, plain
from llm_mock.support.schemas import schema_name
from llm_mock.support.text import shorten, shorten_name

if TYPE_CHECKING:
    from typing_extensions import NotRequired

    from llm_mock.core.request import Request


NOT_PASSED = {"temperature": 0.0, "max_tokens": 1000, "model": None}
"""What the record of a `prompt()` shows for arguments that were not passed: the defaults of the specification."""
UNKNOWN = {"temperature": None, "model": None}
SHOWN_CALLS = 20
"""Of more calls, messages show the last ones."""


class CallRecord(TypedDict):
    """One call of a model, as plain JSON values that later changes to the arguments cannot reach."""

    timestamp: str
    """When the model was asked: ISO 8601, local time."""
    number: int
    """The position of the call among all that its mock saw, from 1."""
    model_id: str
    """Which model was asked."""
    turn: int
    """Which answer of its conversation it asked for, from 1."""
    prompt: str
    """The text of the prompt with its fragments; with `messages=` alone, that of the last user message."""
    prompt_length: int
    """Its length in characters."""
    kwargs: dict[str, Any]
    """`schema` (its name), `temperature` and `model` (None when not passed), and whatever else was passed."""
    schema: dict[str, Any] | None
    """The whole JSON schema that was asked for."""
    tools: list[dict[str, Any]]
    """The whole of each tool that was offered: `name`, `description` and `input_schema`; `kwargs` has the names."""
    options: dict[str, Any]
    """The options of the call: those that `llm` was given, and what else was passed to `prompt()`."""
    key: PassedKey | None
    """Equal to the key that was passed, or assigned to the model; it reads `[redacted]`. None without a key."""
    response: Any
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
    """Over HTTP: which API was called, such as `chat.completions`, `responses`, `messages` or `generate_content`."""
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
    counted = {
        "calls": 1,
        "input_tokens": call["input_tokens"] or 0,
        "output_tokens": call["output_tokens"] or 0,
        "errors": int(call["error"] is not None),
        "unconfigured": int(not call["configured"]),
    }
    add_totals(totals, {call["model_id"]: counted})


def add_totals(totals: dict[str, Totals], others: Mapping[str, Totals]) -> None:
    """Add sums to sums, model by model."""
    for model_id, counted in others.items():
        mine = totals.setdefault(model_id, dict.fromkeys(counted, 0))
        for name, number in counted.items():
            mine[name] += number


_this_second: tuple[int, str] = (-1, "")
"""The second that is now, and how its timestamps begin: to format one anew takes three times as long."""


def now() -> str:
    """This moment: ISO 8601, local time, with microseconds."""
    global _this_second
    moment = time_ns() // 1000
    second, start = _this_second
    if not 0 <= (microseconds := moment - second) < 1_000_000:
        microseconds = moment % 1_000_000
        second = moment - microseconds
        start = datetime.fromtimestamp(second // 1_000_000).isoformat()
        _this_second = second, start
    return f"{start}.{microseconds:06}"


def new_record(request: Request) -> CallRecord:
    """The record of a call that is about to be answered; it has no number yet."""
    options, text = request.options, request.prompt
    schema = request.schema and schema_name(request.schema)
    kwargs = {"schema": schema, **(NOT_PASSED if request.passed else UNKNOWN), **options}
    if request.system:
        kwargs["system"] = request.system
    if request.tools:
        kwargs["tools"] = [tool.name for tool in request.tools]
    if request.tool_results:
        kwargs["tool_results"] = [{"name": result.name, "output": result.output} for result in request.tool_results]
    if request.attachments:
        described = described_attachments(request.attachments, hashed=False)
        kwargs["attachments"] = [{"type": None, **attachment} for attachment in described]
    record: CallRecord = {
        "timestamp": now(),
        "number": 0,
        "model_id": request.model_id,
        "turn": request.turn,
        "prompt": text,
        "prompt_length": len(text),
        "kwargs": kwargs,
        "schema": plain(request.schema) if request.schema else None,
        "tools": [described_tool(tool) for tool in request.tools] if request.tools else [],
        "options": options,
        "key": PassedKey.of(request.key) if request.key else None,
        "response": None,
        "error": None,
        "input_tokens": None,
        "output_tokens": None,
        "configured": True,
    }
    if more := request.on_the_wire():
        record.update(more)  # type: ignore[typeddict-item]
    return record


def schema_text(name: str | None) -> str:
    """The name of a schema on one line."""
    return shorten_name(name) if name else "none"


def call_head(call: CallRecord) -> str:
    """What one recorded call asked: model, prompt or what tools gave, schema."""
    name, results = call["kwargs"]["schema"], call["kwargs"].get("tool_results", ())
    given = [f"{shorten_name(str(result['name']))} gave {shorten(result['output'])}" for result in results]
    asked = [shorten(call["prompt"])] if call["prompt"] or not given else []
    head = f"{shorten_name(call['model_id'])}  {', '.join(asked + given)}"
    return head + (f"  schema {schema_text(name)}" if name else "")


def call_line(call: CallRecord) -> str:
    """One recorded call: model, prompt, schema, and the reply or the start of the error."""
    asked = call_head(call)
    if call["error"] is None:
        by_default = "" if call["configured"] else "  (answered by default)"
        return f"{asked}  → {shorten(call['response'])}{by_default}"
    return f"{asked}  → raised: {shorten_name(call['error'].partition(chr(10))[0].removesuffix(':'))}"


def call_list(calls: Sequence[CallRecord]) -> str:
    """Numbered calls, a line each; of very many the last ones."""
    if not calls:
        return "  (none)"
    first = max(0, len(calls) - SHOWN_CALLS)
    lines = [f"  {number}. {call_line(call)}" for number, call in enumerate(calls[first:], start=first + 1)]
    return "\n".join([f"  … {first} earlier calls", *lines] if first else lines)


def calls_made(calls: Sequence[CallRecord]) -> str:
    """The calls that were made, under a heading."""
    return f"Calls that were made:\n{call_list(calls)}"
