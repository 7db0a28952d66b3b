"""What a run of an agent gives, and the questions that a test asks of it."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, get_args

from llm_mock.boundaries.llm.parts import usage
from llm_mock.cost.prices import cost_of_usage
from llm_mock.support.redaction import redacted
from llm_mock.support.text import call_text, count, dollars, indented, seconds, shorten, shorten_name

if TYPE_CHECKING:
    import llm

Mode = Literal["strict", "in_order", "unordered", "subset", "superset"]
"""How calls are compared with expected ones: see `AgentResult.tool_calls_match`."""
ExpectedCall = str | tuple[str, Mapping[str, Any]]
"""The name of a tool, or its name and arguments, of which the call may have more."""
SHOWN_TURNS = 30
SHOWN_CALLS = 20
SHOWN_RESULT = 500
SHOWN_REPR = 180


class Finding(int):
    """True or false (1 or 0), with a repr that says why: pytest shows it where an `assert` fails."""

    reason: str

    def __new__(cls, holds: bool, reason: str = "") -> Finding:
        finding = super().__new__(cls, holds)
        finding.reason = reason
        return finding

    def __repr__(self) -> str:
        return f"<{bool(self)}: {redacted(self.reason)}>"


def now() -> str:
    """This moment: ISO 8601, local time."""
    return datetime.now().isoformat()


@dataclass(frozen=True)
class ToolCallRecord:
    """One call of a tool that was made."""

    name: str
    arguments: dict[str, Any]
    """What the model gave, JSON values."""
    result: str | None
    """What the model was told; None where the call failed."""
    error: str | None = None
    """Why the call failed, which the model was told too: the tool's own error, invalid arguments, an unknown tool."""
    duration: float = field(default=0.0, compare=False)
    """Seconds."""
    structured: Any = None
    """The structured content of an MCP result, any JSON value; None where there is none."""
    attachments: tuple[llm.Attachment, ...] = ()
    """Images and other content besides text, also what the model does not take."""

    def __str__(self) -> str:
        if self.error is not None:
            said = f"✗ {indented(self.error, '      ', SHOWN_RESULT)}"
        else:
            pictures = f" and {count(len(self.attachments), 'attachment')}" if self.attachments else ""
            said = f"→ {indented((self.result or '').strip() or '(nothing)', '      ', SHOWN_RESULT)}{pictures}"
        return f"{call_text(self.name, self.arguments)} {said}  ({seconds(self.duration)})"


@dataclass(frozen=True)
class Turn:
    """One answer of the model, and the calls of tools that it asked for."""

    text: str
    tool_calls: tuple[ToolCallRecord, ...]
    """The calls that were made. In the last turn of a run that ran out of turns there are none."""
    usage: llm.Usage
    """Its tokens, as the provider or the mock counts them."""
    duration: float = field(default=0.0, compare=False)
    """Seconds that the answer took, tools not included."""
    retried: tuple[str, ...] = ()
    """The errors after which the turn was asked for again."""
    waited: float = field(default=0.0, compare=False)
    """Seconds that the turn waited before it was asked for, as its `Provider` wants so many requests a minute."""

    def as_lines(self) -> Iterator[str]:
        """What was said and called, without secrets."""
        if self.waited:
            yield f"waited {seconds(self.waited)} for the limits of a minute"
        for error in self.retried:
            yield f"asked again after {shorten_name(error)}"
        if self.text or not self.tool_calls:
            yield indented(self.text or "(nothing said)", "    ")
        for call in self.tool_calls[:SHOWN_CALLS]:
            yield str(call)
        if len(self.tool_calls) > SHOWN_CALLS:
            yield f"… {len(self.tool_calls) - SHOWN_CALLS} more tool calls"


@dataclass(frozen=True, repr=False)
class AgentResult:
    """What a run gave. It is true where the run succeeded; `print` shows the whole transcript."""

    agent: str
    """What reports call the agent."""
    model: str
    """The id of the model."""
    prompt: str
    turns: tuple[Turn, ...]
    success: bool
    """Whether the model came to an end by itself, within `max_turns` and without an error."""
    error: str | None = None
    """Why it did not."""
    exception: BaseException | None = field(default=None, compare=False)
    """The error of the provider that ended the run."""
    duration: float = field(default=0.0, compare=False)
    """Seconds, tools and retries included."""
    started: str = field(default_factory=now, compare=False)
    """When: ISO 8601, local time."""
    parts: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What tells the agent from others of its name: see `Agent.parts`."""

    def __bool__(self) -> bool:
        return self.success

    def __repr__(self) -> str:
        how = "succeeded" if self.success else f"failed: {shorten_name(self.error or '', 80)}"
        calls = ", ".join(call_text(call.name, call.arguments, 60) for call in self.all_tool_calls) or "none"
        said = f"; final response {shorten(self.final_response, 60)}" if self.final_response else ""
        return f"<AgentResult: {how}; tool calls: {shorten_name(calls, SHOWN_REPR)}{said}>"

    def __str__(self) -> str:
        lines = [f"Agent {shorten_name(self.agent)}: {self._outcome()}"]
        if self.error is not None:
            lines.append(f"  {indented(self.error, '    ')}")
        lines += ["  user:", f"    {indented(self.prompt, '    ')}"]
        first = max(0, len(self.turns) - SHOWN_TURNS)
        lines += [f"  … {first} earlier turns"] if first else []
        for number, turn in enumerate(self.turns[first:], start=first + 1):
            lines += [f"  turn {number}:", *(f"    {line}" for line in turn.as_lines())]
        return "\n".join(lines)

    def _outcome(self) -> str:
        used = f"{count(len(self.turns), 'turn')}, {count(len(self.all_tool_calls), 'tool call')}"
        tokens = count((self.usage.input or 0) + (self.usage.output or 0), "token")
        cost = "" if self.cost is None else f", {dollars(self.cost)}"
        how = "succeeded" if self.success else "failed"
        return f"{how} after {used}, {tokens}{cost}, {seconds(self.duration)}"

    @property
    def all_tool_calls(self) -> list[ToolCallRecord]:
        """Every tool call that was made, in order, failed ones included."""
        return [call for turn in self.turns for call in turn.tool_calls]

    @property
    def final_response(self) -> str:
        """The text of the last turn; empty where there was none."""
        return self.turns[-1].text if self.turns else ""

    @property
    def usage(self) -> llm.Usage:
        """The tokens of all turns together."""
        usages = [turn.usage for turn in self.turns]
        total: llm.Usage = usage(sum(u.input or 0 for u in usages), sum(u.output or 0 for u in usages))
        return total

    @functools.cached_property
    def cost(self) -> Decimal | None:
        """What the run cost in US dollars, by the prices that hold where it is first asked for; None where unknown."""
        costs = [cost_of_usage(self.model, turn.usage, self.started) for turn in self.turns]
        return None if None in costs else sum(filter(None, costs), Decimal(0))

    # Assertions

    def tool_was_called(self, name: str, /, **arguments: Any) -> Finding:
        """Whether a tool was called, with these arguments among others if any are given.

        Args:
            name: the name of the tool.
            arguments: values that the call had; whatever compares equal, such as matchers of dirty-equals.
        """
        asked = (name, arguments)
        if any(_fits(asked, call) for call in self._calls):
            return Finding(True, f"{_shown(asked)} was called")
        alike = ", ".join(call_text(name, call.arguments, 80) for call in self.tool_calls_for(name)[:3])
        but = f", but {alike}" if alike else f"; called: {_names(self._calls)}"
        return Finding(False, f"no call of {_shown(asked)}{but}")

    def tool_call_count(self, name: str | None = None) -> int:
        """How often a tool was called; without a name, how often any was."""
        return len(self.all_tool_calls if name is None else self.tool_calls_for(name))

    def tool_calls_for(self, name: str) -> list[ToolCallRecord]:
        """The calls of one tool, in order."""
        return [call for call in self.all_tool_calls if call.name == name]

    @property
    def tool_names_called(self) -> list[str]:
        """The names of the tools that were called, each once, in the order of their first calls."""
        return list(dict.fromkeys(call.name for call in self.all_tool_calls))

    def tool_call_arg(self, name: str, argument: str) -> Any:
        """An argument of the first call of a tool.

        Raises:
            LookupError: the tool was not called, or without this argument; the message says what was called.
        """
        __tracebackhide__ = True
        calls = self.tool_calls_for(name)
        if not calls:
            raise LookupError(f"no call of {name}; called: {_names(self._calls)}")
        if argument not in calls[0].arguments:
            raise LookupError(f"no argument {argument!r} in {call_text(name, calls[0].arguments, 100)}")
        return calls[0].arguments[argument]

    def tool_calls_match(self, expected: Sequence[ExpectedCall], mode: Mode = "strict") -> Finding:
        """Whether the calls are those that were expected.

        Args:
            expected: of each call the tool's name, or `(name, {argument: value, …})`; arguments not named may be any.
            mode: `strict`: these calls and no others, in this order. `in_order`: these, in this order, others between.
                `unordered`: these and no others, in any order. `superset`: at least these, in any order. `subset`: no
                others than these, each at most as often.

        Raises:
            ValueError: there is no such mode.
            TypeError: something else was given as an expected call.
        """
        __tracebackhide__ = True
        if mode not in get_args(Mode):
            raise ValueError(f"mode={mode!r}: write one of {', '.join(map(repr, get_args(Mode)))}.")
        wanted = [_expected(call) for call in expected]
        problem = (_ordered if mode in ("strict", "in_order") else _anyhow)(wanted, self._calls, mode)
        if problem is None:
            return Finding(True, f"the tool calls match ({mode})")
        return Finding(False, f"{problem}; called: {_names(self._calls)}")

    @property
    def _calls(self) -> list[_Call]:
        return [(call.name, call.arguments) for call in self.all_tool_calls]


_Call = tuple[str, Mapping[str, Any]]


def _expected(call: Any) -> _Call:
    __tracebackhide__ = True
    if isinstance(call, str):
        return call, {}
    if isinstance(call, (tuple, list)) and len(call) == 2 and isinstance(call[0], str) and isinstance(call[1], Mapping):
        return call[0], call[1]
    raise TypeError(f"{shorten(call)} is no expected call: write a tool's name, or (name, {{argument: value}}).")


def _fits(wanted: _Call, call: _Call) -> bool:
    missing = object()
    return call[0] == wanted[0] and all(value == call[1].get(key, missing) for key, value in wanted[1].items())


def _ordered(wanted: Sequence[_Call], made: Sequence[_Call], mode: str) -> str | None:
    """What is wrong with the order; None for nothing."""
    remaining = iter(made)
    for expected in wanted:
        for call in remaining:
            if _fits(expected, call):
                break
            if mode == "strict":
                return f"{_shown(expected)} was expected, not {_shown(call)}"
        else:
            return f"{_shown(expected)} was not called then"
    more = next(remaining, None) if mode == "strict" else None
    return f"{_shown(more)} was not expected" if more else None


def _anyhow(wanted: Sequence[_Call], made: Sequence[_Call], mode: str) -> str | None:
    """What is missing or too much; None for nothing.

    Taking the first call that fits would not do: an expected one without arguments must leave others what only they
    fit. So as many of them as possible get a call of their own.
    """
    owner: dict[int, int] = {}

    def place(position: int, tried: set[int]) -> bool:
        for other, call in enumerate(made):
            if other not in tried and _fits(wanted[position], call):
                tried.add(other)
                if other not in owner or place(owner[other], tried):
                    owner[other] = position
                    return True
        return False

    missing = [expected for position, expected in enumerate(wanted) if not place(position, set())]
    more = [call for position, call in enumerate(made) if position not in owner]
    if missing and mode != "subset":
        return f"{_shown(missing[0])} was not called"
    if more and mode != "superset":
        return f"{_shown(more[0])} was not expected"
    return None


def _shown(call: _Call) -> str:
    return call_text(*call, 100) if call[1] else call[0]


def _names(calls: Sequence[_Call]) -> str:
    return shorten_name(", ".join(name for name, _ in calls), 120) if calls else "no tool"
