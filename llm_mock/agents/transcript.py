"""How the runs of agents are shown to people, and the wording of what is wrong with an agent.

What models, tools and servers said is never printed as it came: lines of it are indented, and characters that a
terminal acts on are escaped, so that none can pass for something else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from llm_mock.support.text import columns, count, dollars, escaped, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.agents.result import AgentResult, ToolCallRecord, Turn

SHOWN_TURNS = 30
SHOWN_CALLS = 20
SHOWN_TEXT = 2_000
SHOWN_LINES = 40
SHOWN_RESULT = 500
SHOWN_REPR = 180


# --- Runs -----------------------------------------------------------------------------------------------------------


def of_result(result: AgentResult) -> str:
    """A whole run: what was asked, each turn with its tool calls and their results, and how it ended."""
    lines = [f"Agent {shorten_name(result.agent)}: {_outcome(result)}"]
    if result.error is not None:
        lines.append(f"  {indented(result.error, '    ')}")
    lines += [f"  {line}" for line in ("user:", *_block(result.prompt))]
    first = max(0, len(result.turns) - SHOWN_TURNS)
    lines += [f"  … {first} earlier turns"] if first else []
    for number, turn in enumerate(result.turns[first:], start=first + 1):
        lines += [f"  {line}" for line in _turn(number, turn)]
    return "\n".join(lines)


def of_results(results: Sequence[AgentResult]) -> str:
    """The runs of one test."""
    return "\n\n".join(map(str, results))


def _outcome(result: AgentResult) -> str:
    used = f"{count(len(result.turns), 'turn')}, {count(len(result.all_tool_calls), 'tool call')}"
    tokens = (result.usage.input or 0) + (result.usage.output or 0)
    how = "succeeded" if result.success else "failed"
    cost = "" if result.cost is None else f", {dollars(result.cost)}"
    return f"{how} after {used}, {count(tokens, 'token')}{cost}, {seconds(result.duration)}"


def _turn(number: int, turn: Turn) -> Iterable[str]:
    yield f"turn {number}:"
    for error in turn.retried:
        yield f"  asked again after {shorten_name(error)}"
    if turn.text or not turn.tool_calls:
        yield from _block(turn.text or "(nothing said)")
    for call in turn.tool_calls[:SHOWN_CALLS]:
        yield f"  {call_line(call)}"
    if len(turn.tool_calls) > SHOWN_CALLS:
        yield f"  … {len(turn.tool_calls) - SHOWN_CALLS} more tool calls"


def call_line(call: ToolCallRecord) -> str:
    """One tool call: its arguments, and its result or its error."""
    pictures = f" and {count(len(call.attachments), 'attachment')}" if call.attachments else ""
    if call.error is not None:
        said = f"✗ {indented(call.error, '      ', SHOWN_RESULT)}"
    else:
        said = f"→ {indented((call.result or '').strip() or '(nothing)', '      ', SHOWN_RESULT)}{pictures}"
    return f"{call_head(call.name, call.arguments)} {said}  ({seconds(call.duration)})"


def call_head(name: str, arguments: Mapping[str, Any], length: int = 300) -> str:
    """A tool call as one would write it."""
    given = ", ".join(f"{name}={_value(value)}" for name, value in arguments.items())
    return shorten_name(f"{name}({given})", length)


def _value(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return repr(value)


def _block(text: str) -> list[str]:
    return [f"  {line}" for line in _lines(text, SHOWN_TEXT)]


def indented(text: str, indent: str, most: int = SHOWN_TEXT) -> str:
    """A text as far as it is shown, its further lines indented; what is not printable is escaped."""
    return f"\n{indent}".join(_lines(text, most))


def _lines(text: str, most: int) -> list[str]:
    """The lines of a text, as far as they are shown; empty ones left out, spaces at their start kept."""
    cut = text[:most]
    lines = [line.expandtabs(4).rstrip() for line in cut.splitlines()]
    shown = [escaped(line) for line in lines if line][:SHOWN_LINES]
    rest = len(text) - len(cut)
    if len(lines) > len(shown) and not rest and len(shown) == SHOWN_LINES:
        return [*shown, "…"]
    return [*shown, f"… {rest:,} more characters"] if rest else shown or [""]


def of_repr(result: AgentResult) -> str:
    """A run on one line."""
    how = "succeeded" if result.success else f"failed: {shorten_name(result.error or '', 80)}"
    calls = ", ".join(call_head(call.name, call.arguments, 60) for call in result.all_tool_calls) or "none"
    said = f"; final response {shorten(result.final_response, 60)}" if result.final_response else ""
    return f"<AgentResult: {how}; tool calls: {shorten_name(calls, SHOWN_REPR)}{said}>"


def interrupted() -> str:
    """A run that ended from outside."""
    return "the run was interrupted"


def out_of_turns(turns: int, wanted: Sequence[str]) -> str:
    """A run that did not come to an end by itself."""
    named = ", ".join(shorten_name(name) for name in dict.fromkeys(wanted))
    return f"max_turns={turns} was reached, and the model still wanted to call {named}"


def no_such_tool(name: str) -> str:
    """What `llm` says of a tool that there is not."""
    return f'tool "{name}" does not exist'


def unanswered_calls(wanted: Sequence[str]) -> str:
    """`llm` ended the chain although the model had called tools."""
    return f"the model called what is no tool: {', '.join(map(shorten_name, dict.fromkeys(wanted)))}"


def failed(error: BaseException, attempts: int) -> str:
    """The error that ended a run."""
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return message if attempts == 1 else f"{message} (after {attempts} attempts)"


def left_out(kind: str | None, size: int) -> str:
    """An attachment that a tool returned and the model does not take."""
    return f"[{kind or 'an attachment'}{f', {size:,} bytes' if size else ''}: left out, the model does not take it]"


# --- Assertions -----------------------------------------------------------------------------------------------------


def was_called(name: str, wanted: Mapping[str, Any], calls: Sequence[ToolCallRecord], found: bool) -> str:
    """Whether a tool was called, and what was called instead."""
    asked = call_head(name, wanted, 100) if wanted else name
    if found:
        return f"{asked} was called"
    alike = [call for call in calls if call.name == name]
    if alike:
        return f"no call of {asked}, but {', '.join(call_head(c.name, c.arguments, 80) for c in alike[:3])}"
    return f"no call of {asked}; called: {_names(calls)}"


def calls_match(mode: str, calls: Sequence[ToolCallRecord], problem: str | None) -> str:
    """Whether calls are those that were expected, and what is wrong with them."""
    return f"the tool calls match ({mode})" if problem is None else f"{problem}; called: {_names(calls)}"


def _names(calls: Sequence[ToolCallRecord]) -> str:
    return shorten_name(", ".join(call.name for call in calls), 120) if calls else "no tool"


def bad_mode(mode: Any, modes: Iterable[str]) -> str:
    """There is no such way to compare calls."""
    return f"mode={mode!r}: write one of {', '.join(map(repr, modes))}."


def bad_expected_call(expected: Any) -> str:
    """Something was given as an expected call that is none."""
    return f"{shorten(expected)} is no expected call: write a tool's name, or (name, {{argument: value}})."


# --- Configuration --------------------------------------------------------------------------------------------------


def bad_value(owner: str, name: str, value: Any, wanted: str) -> str:
    """A field of a configuration makes no sense."""
    shown = shorten(value) if isinstance(value, (str, int, float, list, dict)) else f"of type {type(value).__name__}"
    return f"{name} of {owner}(…) is {shown}; give {wanted}."


def nothing_to_run(value: Any) -> str:
    """`aitest_run` was given something else."""
    return f"aitest_run takes an Agent or an AgentSession, not an object of type {type(value).__name__}."


def no_prompt(value: Any) -> str:
    """The prompt of a run is none."""
    return f"The prompt of a run is a text, not an object of type {type(value).__name__}."


def no_tools_supported(model: str) -> str:
    """The model cannot call tools."""
    return f"The model {model!r} does not support tools, and the agent has some. Choose another model."


def session_busy() -> str:
    """A session runs twice at once."""
    return "This session is running already. Its runs go one after the other: await one before the next is started."


def session_mixed() -> str:
    """A session is used from synchronous and from asynchronous code."""
    return (
        "This session began in the other way: a conversation is continued either by aitest_run or by aitest_run_sync, "
        "because llm keeps synchronous and asynchronous conversations apart."
    )


def not_awaited() -> str:
    """The fixture was used in a test without an event loop."""
    return (
        "aitest_run is a coroutine function, and this test is not async, so it would not run. Use the fixture "
        "aitest_run_sync here, or make the test async (with pytest-asyncio or anyio)."
    )


def needs_agents_extra(module: str) -> str:
    """A library is missing."""
    return f"Running agents needs {module}, which is not installed. Run: pip install 'pytest-llm-mock[agents]'"


# --- Comparing ------------------------------------------------------------------------------------------------------


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The agents of a run of tests, a line for each."""
    head = ("agent", "passed", "rate", "runs", "turns", "tool calls", "tokens", "cost", "time")
    return "\n".join(columns([head, *map(_row, rows)], leading=1))


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    rate = f"{100 * row['passed'] / row['tests']:.0f} %" if row["tests"] else "-"
    return (
        shorten_name(row["agent"], 60),
        f"{row['passed']} of {row['tests']}",
        rate,
        *(f"{row[name]:,}" for name in ("runs", "turns", "tool_calls")),
        f"{row['input_tokens'] + row['output_tokens']:,}",
        "unknown" if row["cost_usd"] is None else dollars(Decimal(str(row["cost_usd"]))),
        seconds(row["duration_s"]),
    )


def seconds(duration: float) -> str:
    """A time as people read it."""
    if duration >= 60:
        return f"{int(duration // 60)} min {duration % 60:.0f} s"
    return f"{duration:.1f} s" if duration >= 1 else f"{duration * 1000:.0f} ms"


def open_front_matter(path: Any) -> str:
    """The front matter of a skill has no end."""
    return f"{path}:1: the front matter begins with ---, but no line with --- ends it"
