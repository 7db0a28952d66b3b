"""Define the result of a run and its assertions."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, get_args

from llm_mock.boundaries.llm.parts import create_usage
from llm_mock.cost.prices import compute_usage_cost
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import redact
from llm_mock.support.text import (
    format_count,
    format_dollars,
    format_seconds,
    format_tool_call,
    indent_text,
    shorten,
    shorten_name,
)

if TYPE_CHECKING:
    import llm

Mode = Literal["strict", "in_order", "unordered", "subset", "superset"]
"""The comparison of calls with expected ones: see `AgentResult.tool_calls_match`."""
ExpectedCall = str | tuple[str, Mapping[str, Any]]
"""The name of a tool, or its name and arguments; the call may have more arguments."""
NO_REPEATS = "allow_repeats needs a mode without an order: 'unordered', 'subset' or 'superset'."
SHOWN_TURNS = 30
SHOWN_CALLS = 20
SHOWN_RESULT = 500
SHOWN_REPR = 180


class ExpectedModel(str):
    """An expected model call in a trajectory; equal to each call whose model the glob matches."""

    # No tool has a space in its name.
    PREFIX = "the model "

    def __new__(cls, glob: str) -> ExpectedModel:
        """Return the expected call to a model, by its id or a glob such as `gpt-5*`."""
        return super().__new__(cls, cls.PREFIX + glob)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and fnmatch.fnmatchcase(other, str(self))

    # `str` has an operator of its own for this.
    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


Outcome = Literal["passed", "failed", "not checked"]


class Finding(int):
    """A boolean (1 or 0) whose repr is the reason, which pytest shows if an `assert` fails.

    Attributes:
        reason: a sentence.
        outcome: passed, failed, or not checked; only a passed one is true.
    """

    # Not a bool, which cannot be subclassed.
    reason: str
    outcome: Outcome

    def __new__(cls, holds: bool | None, reason: str = "") -> Finding:
        """Return 1 or 0 with a reason; None means that the check was not possible."""
        finding = super().__new__(cls, bool(holds))
        finding.reason = reason
        finding.outcome = "passed" if holds else "failed"
        if holds is None:
            finding.outcome = "not checked"
        return finding

    def __repr__(self) -> str:
        value = self.outcome if self.outcome == "not checked" else bool(self)
        return f"<{value}: {redact(self.reason)}>"


def now() -> str:
    """Return the current local time in ISO 8601."""
    return datetime.now().isoformat()


@dataclass(frozen=True)
class ToolCallRecord:
    """A finished tool call.

    Attributes:
        name: the name of the tool.
        arguments: the arguments from the model, as JSON values.
        result: the output for the model; None if the call failed.
        error: why the call failed: the tool's own error, invalid arguments, or an unknown tool. The
            model gets this text too.
        duration: the duration in seconds.
        structured: the structured content of an MCP result: any JSON value, or None.
        attachments: images and other binary content, even if the model does not support it.
    """

    name: str
    arguments: JSONObject
    result: str | None
    error: str | None = None
    duration: float = field(default=0.0, compare=False)
    structured: Any = None
    attachments: tuple[llm.Attachment, ...] = ()

    def __str__(self) -> str:
        call = format_tool_call(self.name, self.arguments)
        return f"{call} {self._describe_outcome()}  ({format_seconds(self.duration)})"

    def _describe_outcome(self) -> str:
        if self.error is not None:
            return f"✗ {indent_text(self.error, '      ', SHOWN_RESULT)}"
        result = (self.result or "").strip() or "(nothing)"
        text = f"→ {indent_text(result, '      ', SHOWN_RESULT)}"
        if self.attachments:
            text += f" and {format_count(len(self.attachments), 'attachment')}"
        return text


@dataclass(frozen=True)
class Turn:
    """A response of the model and its tool calls.

    Attributes:
        text: the text of the response.
        tool_calls: the finished calls; none in the last turn of a run that reached `max_turns`.
        usage: the tokens, counted by the provider or the mock.
        duration: the duration of the response in seconds, without tools.
        retried: the errors that were followed by a retry.
        waited: the seconds that the turn waited for the rate limits of its `Provider`.
        model: the id of the model; if empty, the model of the result.
    """

    text: str
    tool_calls: tuple[ToolCallRecord, ...]
    usage: llm.Usage
    duration: float = field(default=0.0, compare=False)
    retried: tuple[str, ...] = ()
    waited: float = field(default=0.0, compare=False)
    model: str = ""

    def as_lines(self) -> Iterator[str]:
        """Yield the lines of the transcript, without secrets."""
        if self.waited:
            yield f"waited {format_seconds(self.waited)} for the rate limits"
        for error in self.retried:
            yield f"retried after {shorten_name(error)}"
        if self.text or not self.tool_calls:
            yield indent_text(self.text or "(no text)", "    ")
        for call in self.tool_calls[:SHOWN_CALLS]:
            yield str(call)
        left_out = len(self.tool_calls) - SHOWN_CALLS
        if left_out > 0:
            yield f"… {left_out} more tool calls"


@dataclass(frozen=True, repr=False)
class AgentResult:
    """The result of a run: true if the run succeeded. `print` shows the transcript.

    Attributes:
        agent: the name of the agent in reports.
        model: the id of the model.
        prompt: the prompt of the user.
        turns: the turns.
        success: whether the model finished within `max_turns` and without an error.
        error: why the run failed; None if it succeeded.
        exception: the exception that ended the run, such as an error of the provider.
        duration: the duration in seconds, including tools and retries.
        started: the local time of the start in ISO 8601.
        parts: the configuration of the agent: see `Agent.parts`.
        output: the output of an application; None for the text of the last turn.
    """

    agent: str
    model: str
    prompt: str
    turns: tuple[Turn, ...]
    success: bool
    error: str | None = None
    exception: BaseException | None = field(default=None, compare=False)
    duration: float = field(default=0.0, compare=False)
    started: str = field(default_factory=now, compare=False)
    parts: Mapping[str, str] = field(default_factory=dict, compare=False)
    output: str | None = None

    def __bool__(self) -> bool:
        return self.success

    def __repr__(self) -> str:
        outcome = "succeeded"
        if not self.success:
            outcome = f"failed: {shorten_name(self.error or '')}"
        calls = [_format_call((call.name, call.arguments)) for call in self.all_tool_calls]
        shown_calls = shorten_name(", ".join(calls) or "none", SHOWN_REPR)
        text = f"<AgentResult: {outcome}; tool calls: {shown_calls}"
        if self.final_response:
            text += f"; final response {shorten(self.final_response)}"
        return f"{text}>"

    def __str__(self) -> str:
        lines = [f"Agent {shorten_name(self.agent)}: {self._outcome()}"]
        if self.error is not None:
            lines.append(f"  {indent_text(self.error, '    ')}")
        lines.append("  user:")
        lines.append(f"    {indent_text(self.prompt, '    ')}")
        left_out = max(0, len(self.turns) - SHOWN_TURNS)
        if left_out:
            lines.append(f"  … {left_out} earlier turns")
        for number, turn in enumerate(self.turns[left_out:], start=left_out + 1):
            lines.append(f"  turn {number}:")
            lines += [f"    {line}" for line in turn.as_lines()]
        return "\n".join(lines)

    def _outcome(self) -> str:
        usage = self.usage
        tokens = (usage.input or 0) + (usage.output or 0)
        amounts = [
            format_count(len(self.turns), "turn"),
            format_count(len(self.all_tool_calls), "tool call"),
            format_count(tokens, "token"),
        ]
        if self.cost is not None:
            amounts.append(format_dollars(self.cost))
        amounts.append(format_seconds(self.duration))
        outcome = "succeeded" if self.success else "failed"
        return f"{outcome} after {', '.join(amounts)}"

    @property
    def all_tool_calls(self) -> list[ToolCallRecord]:
        """All finished tool calls in order, including failed ones."""
        calls: list[ToolCallRecord] = []
        for turn in self.turns:
            calls += turn.tool_calls
        return calls

    @property
    def final_response(self) -> str:
        """The output of an application, else the text of the last turn; empty without turns."""
        if self.output is not None:
            return self.output
        if self.turns:
            return self.turns[-1].text
        return ""

    @property
    def usage(self) -> llm.Usage:
        """The tokens of all turns together."""
        input_tokens = sum(turn.usage.input or 0 for turn in self.turns)
        output_tokens = sum(turn.usage.output or 0 for turn in self.turns)
        total: llm.Usage = create_usage(input_tokens, output_tokens)
        return total

    @functools.cached_property
    def cost(self) -> Decimal | None:
        """The cost of the run in US dollars, or None if a price is unknown.

        It is computed at the first access, with the prices at that time.
        """
        costs = []
        for turn in self.turns:
            cost = compute_usage_cost(turn.model or self.model, turn.usage, self.started)
            if cost is None:
                return None
            costs.append(cost)
        return sum(costs, Decimal(0))

    def tool_was_called(self, name: str, /, **arguments: Any) -> Finding:
        """Return whether a tool was called with these arguments, and possibly others.

        Args:
            name: the name of the tool.
            arguments: values, or objects that compare equal, such as matchers of dirty-equals.
        """
        expected = (name, arguments)
        for call in self._calls:
            if _matches(expected, call):
                return Finding(True, f"{_format_call(expected)} was called")
        similar = []
        for record in self.tool_calls_for(name)[:3]:
            similar.append(_format_call((name, record.arguments)))
        reason = f"no call to {_format_call(expected)}"
        if similar:
            return Finding(False, f"{reason}; other calls: {', '.join(similar)}")
        return Finding(False, f"{reason}; called: {_join_names(self._calls)}")

    def tool_call_count(self, name: str | None = None) -> int:
        """Return the number of calls to a tool, or to all tools."""
        if name is None:
            return len(self.all_tool_calls)
        return len(self.tool_calls_for(name))

    def tool_calls_for(self, name: str) -> list[ToolCallRecord]:
        """Return the calls to a tool, in order."""
        return [call for call in self.all_tool_calls if call.name == name]

    @property
    def tool_names_called(self) -> list[str]:
        """The names of the called tools, each once, in the order of their first calls."""
        return list(dict.fromkeys(call.name for call in self.all_tool_calls))

    def tool_call_arg(self, name: str, argument: str) -> Any:
        """Return an argument of the first call to a tool.

        Raises:
            LookupError: the tool was not called, or its first call does not have the argument. The
                message shows the calls.
        """
        __tracebackhide__ = True
        calls = self.tool_calls_for(name)
        if not calls:
            raise LookupError(f"no call to {name}; called: {_join_names(self._calls)}")
        arguments = calls[0].arguments
        if argument not in arguments:
            raise LookupError(f"no argument {argument!r} in {_format_call((name, arguments))}")
        return arguments[argument]

    def tool_calls_match(
        self,
        expected: Sequence[ExpectedCall],
        mode: Mode = "strict",
        *,
        allow_repeats: bool = False,
    ) -> Finding:
        """Return whether the tool calls match the expected calls.

        Args:
            expected: for each call, the name of the tool or `(name, {argument: value, …})`. Other
                arguments may have any value.
            mode: `strict`: exactly these calls, in this order. `in_order`: these calls in this
                order, possibly with other calls between them. `unordered`: exactly these calls, in
                any order. `superset`: at least these calls, in any order. `subset`: at most these
                calls, in any order.
            allow_repeats: let each expected call match several calls. Only for `unordered`,
                `superset` and `subset`.

        Raises:
            ValueError: the mode is unknown, or does not support `allow_repeats`.
            TypeError: an expected call has an invalid form.
        """
        __tracebackhide__ = True
        return _compare_calls(
            expected, self._calls, mode, "the tool calls match", "called", allow_repeats
        )

    def trajectory_match(
        self,
        expected: Sequence[ExpectedCall | ExpectedModel],
        mode: Mode = "strict",
    ) -> Finding:
        """Return whether the model calls and tool calls match the expected trajectory.

        Each turn is a model call, followed by the tool calls of its response.

        Args:
            expected: tool calls as for `tool_calls_match`, and `ExpectedModel("gpt-5*")` for a
                model call.
            mode: as for `tool_calls_match`.

        Raises:
            ValueError: the mode is unknown.
            TypeError: an expected step has an invalid form.
        """
        __tracebackhide__ = True
        return _compare_calls(expected, self._steps, mode, "the trajectory matches", "steps")

    @property
    def step_count(self) -> int:
        """The number of model calls and tool calls."""
        return len(self._steps)

    @property
    def _steps(self) -> list[_Call]:
        steps: list[_Call] = []
        for turn in self.turns:
            model = ExpectedModel.PREFIX + (turn.model or self.model)
            steps.append((model, {}))
            steps += [(call.name, call.arguments) for call in turn.tool_calls]
        return steps

    @property
    def _calls(self) -> list[_Call]:
        return [(call.name, call.arguments) for call in self.all_tool_calls]


_Call = tuple[str, Mapping[str, Any]]


def _compare_calls(
    expected: Sequence[object],
    calls: Sequence[_Call],
    mode: str,
    success: str,
    heading: str,
    allow_repeats: bool = False,
) -> Finding:
    """Compare calls with expected ones.

    Args:
        expected: the expected calls.
        calls: the calls.
        mode: the comparison.
        success: the reason if they match.
        heading: the word before the list of calls if they do not match.
        allow_repeats: whether an expected call may match several calls.
    """
    __tracebackhide__ = True
    modes = get_args(Mode)
    if mode not in modes:
        raise ValueError(f"Unknown mode {mode!r}. Use one of {', '.join(map(repr, modes))}.")
    parsed = [parse_expected_call(call) for call in expected]
    if mode in ("strict", "in_order"):
        if allow_repeats:
            raise ValueError(f"mode={mode!r}: {NO_REPEATS}")
        problem = _find_order_problem(parsed, calls, mode)
    else:
        problem = _find_set_problem(parsed, calls, mode, allow_repeats)
    if problem is None:
        return Finding(True, f"{success} ({mode})")
    return Finding(False, f"{problem}; {heading}: {_join_names(calls)}")


def parse_expected_call(call: object) -> _Call:
    """Return the name and the arguments of an expected call.

    Raises:
        TypeError: the call has an invalid form.
    """
    __tracebackhide__ = True
    if isinstance(call, ExpectedModel):
        return call, {}
    if isinstance(call, str):
        return call, {}
    if isinstance(call, (tuple, list)) and len(call) == 2:
        name, arguments = call
        if isinstance(name, str) and isinstance(arguments, Mapping):
            return name, arguments
    raise TypeError(
        f"Invalid expected call: {shorten(call)}; use a tool's name or (name, {{argument: value}})."
    )


def _matches(expected: _Call, call: _Call) -> bool:
    name, arguments = call
    if name != expected[0]:
        return False
    missing = object()
    return all(value == arguments.get(key, missing) for key, value in expected[1].items())


def _find_order_problem(
    expected_calls: Sequence[_Call],
    calls: Sequence[_Call],
    mode: str,
) -> str | None:
    """Return the first problem with the order of calls, or None."""
    remaining = iter(calls)
    for expected in expected_calls:
        # The iterator is shared: the next expected call is searched after this match.
        for call in remaining:
            if _matches(expected, call):
                break
            if mode == "strict":
                return f"{_format_call(expected)} was expected, not {_format_call(call)}"
        else:
            return f"{_format_call(expected)} was not called in the expected order"
    extra = next(remaining, None)
    if mode == "strict" and extra is not None:
        return f"{_format_call(extra)} was not expected"
    return None


def _find_set_problem(
    expected_calls: Sequence[_Call],
    calls: Sequence[_Call],
    mode: str,
    allow_repeats: bool,
) -> str | None:
    """Return the first missing or extra call, or None."""
    if allow_repeats:
        missing, extra = _compare_repeated(expected_calls, calls)
    else:
        missing, extra = _compare_each(expected_calls, calls)
    if missing and mode != "subset":
        return f"{_format_call(missing[0])} was not called"
    if extra and mode != "superset":
        return f"{_format_call(extra[0])} was not expected"
    return None


def _compare_repeated(
    expected_calls: Sequence[_Call], calls: Sequence[_Call]
) -> tuple[list[_Call], list[_Call]]:
    """Return the expected calls that no call matches, and the calls that match none."""
    missing = []
    for expected in expected_calls:
        if not any(_matches(expected, call) for call in calls):
            missing.append(expected)
    extra = []
    for call in calls:
        if not any(_matches(expected, call) for expected in expected_calls):
            extra.append(call)
    return missing, extra


def _compare_each(
    expected_calls: Sequence[_Call], calls: Sequence[_Call]
) -> tuple[list[_Call], list[_Call]]:
    """Return the expected calls and the actual calls that have no counterpart.

    Taking the first match would be wrong: an expected call without arguments could take the only
    call that another expected call matches. So this finds a maximum bipartite matching, with
    augmenting paths.
    """
    owners: dict[int, int] = {}

    def assign(position: int, tried: set[int]) -> bool:
        for other, call in enumerate(calls):
            if other in tried or not _matches(expected_calls[position], call):
                continue
            tried.add(other)
            # The owner of the call may move to another one.
            if other not in owners or assign(owners[other], tried):
                owners[other] = position
                return True
        return False

    missing = []
    for position, expected in enumerate(expected_calls):
        if not assign(position, set()):
            missing.append(expected)
    # Only now, as an owner may have moved until the last call was assigned.
    extra = [call for position, call in enumerate(calls) if position not in owners]
    return missing, extra


def _format_call(call: _Call) -> str:
    name, arguments = call
    return shorten_name(format_tool_call(name, arguments)) if arguments else name


def _join_names(calls: Sequence[_Call]) -> str:
    if not calls:
        return "no tool"
    return shorten_name(", ".join(name for name, _ in calls))
