"""Every limit of the package: what is at its edge holds, and what is one beyond does not."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import llm
import pytest
import yaml
from click.testing import CliRunner
from pydantic import TypeAdapter

import llm_mock
from llm_mock import Latency, LLMMock, Reply, SchemaViolationWarning, create_mock_get_model
from llm_mock.core.context import current_mock
from llm_mock.core.settings import Settings
from llm_mock.errors import LLMMockError
from llm_mock.support.schema_forms import SchemaForm

Within = Callable[[int], bool]
"""Returns whether a number is within a limit, as a user would see it."""
LIMITS: dict[str, tuple[Within, int]] = {}
"""The limits by name, each with the function that tries a number, and the last number within."""


def limit(edge: int, name: str) -> Callable[[Within], Within]:
    """Register a function that tries a limit.

    Args:
        edge: the last number within the limit.
        name: the module and the constant.
    """

    def register(function: Within) -> Within:
        LIMITS[name] = function, edge
        return function

    return register


def accepts(function: Callable[..., object], *args: Any, **kwargs: Any) -> bool:
    """Return whether a function accepts its arguments."""
    try:
        function(*args, **kwargs)
    except (LLMMockError, ValueError, TypeError, click.UsageError):
        return False
    return True


def names(number: int) -> list[str]:
    """Return distinct names."""
    return [f"n{each}" for each in range(number)]


# Texts in messages


@limit(120, "support/text.py SHOWN_CHARACTERS")
def _(length: int) -> bool:
    from llm_mock.support.text import shorten, shorten_name

    is_whole = shorten_name("x" * length) == "x" * length
    # Two of the characters are quotes.
    assert (shorten("x" * (length - 2)) == f"'{'x' * (length - 2)}'") is is_whole
    if not is_whole:
        assert shorten_name("x" * length) == "x" * 119 + "…"
        assert shorten("x" * (length - 2)) == "'" + "x" * 118 + "…"
    return is_whole


@limit(500, "support/text.py SHOWN_MESSAGE")
def _(length: int) -> bool:
    from llm_mock.support.text import shorten_message

    is_whole = shorten_message("x" * length) == "x" * length
    if not is_whole:
        assert shorten_message("x" * length) == "x" * 499 + "…"
    return is_whole


@limit(2_000, "support/text.py SHOWN_TEXT")
def _(length: int) -> bool:
    from llm_mock.support.text import indent_text

    text = indent_text("x" * length, "  ")
    assert text.endswith("… 1 more characters") is (length > 2_000)
    return text == "x" * length


@limit(40, "support/text.py SHOWN_LINES")
def _(number: int) -> bool:
    from llm_mock.support.text import indent_text

    text = indent_text("\n".join(names(number)), "")
    assert text.splitlines()[:40] == names(40)
    return not text.endswith("\n…")


@limit(50, "support/text.py SHOWN_NAMES")
def _(number: int) -> bool:
    from llm_mock.support.text import join_names

    text = join_names(names(number))
    assert text.startswith(", ".join(names(50)))
    return not text.endswith(" and 1 more")


@limit(4_120, "support/text.py MARGIN")
def _(length: int) -> bool:
    """Try how much of a text is examined for secrets behind what is shown."""
    from llm_mock.support.text import redact_start

    text = "x " * (length // 2) + "x" * (length % 2)
    return redact_start(text, 120) == text


@limit(500, "support/text.py COMPARED_NAMES")
def _(number: int) -> bool:
    from llm_mock.support.text import suggest_nearest

    known = [*("z" * (each + 9) for each in range(number - 1)), "weather"]
    return suggest_nearest("weathre", known) == "; did you mean 'weather'?"


@limit(60, "core/matchers.py SHOWN_CHARACTERS")
def _(length: int) -> bool:
    from llm_mock.core.matchers import format_text_miss

    text = "x" * (length - 2)
    pattern = "y" * length
    shown = format_text_miss("prompt", re.compile(pattern), text)
    assert (f"/{pattern}/" in shown) is (f"'{text}'" in shown)
    assert (f"'{text}'" in format_text_miss("prompt", text, "")) is (f"'{text}'" in shown)
    return f"'{text}'" in shown


@limit(120, "checks/base.py MAX_QUOTED")
def _(length: int) -> bool:
    from llm_mock.checks.base import quote

    return quote("x" * length) == f"'{'x' * length}'"


@limit(500, "checks/subjects.py SHOWN_OUTPUT")
def _(length: int) -> bool:
    from llm_mock.checks import check, contains

    text = "x" * length
    with pytest.raises(AssertionError) as raised:
        check(text, contains("y"))
    return str(raised.value).endswith(f"output: {text}")


@limit(2_000, "suites/target_client.py MAX_ERROR_LENGTH")
def _(length: int) -> bool:
    from llm_mock.suites.target_client import _format_stderr

    line = "x" * length
    is_whole = _format_stderr(line.encode()) == line
    text = "y\n" + "x" * (length - 2)
    assert (_format_stderr(text.encode()) == f"{'x' * (length - 2)}\n{text}") is is_whole
    return is_whole


@limit(4_000, "report/suite_markdown.py MAX_BLOCK")
def _(length: int) -> bool:
    from llm_mock.report import suite_markdown

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite_markdown, "explain_case", lambda suite, case: "x" * length)
        patch.setattr(suite_markdown, "format_full_name", lambda suite, case: "case")
        text = "".join(suite_markdown._render_failures({"cases": [{"status": "failed"}]}))
    return "…" not in text


@limit(10_000, "plugin/guard.py LONGEST_TRACEBACK")
def _(length: int) -> bool:
    from llm_mock.plugin.guard import describe_fault

    error = ValueError("x")
    rest = length - len(describe_fault(accepts, error).partition("\n")[2])
    text = describe_fault(accepts, ValueError("x" * (rest + 1)))
    return "[...]" not in text.replace("[\\u2026]", "[...]")


@limit(300, "specs/models.py MAX_SHOWN")
def _(length: int) -> bool:
    from llm_mock.specs.models import StepResult

    result = StepResult(name="n", status="fail", tool_output="x" * (length - 2))
    return result.extra_output == f"'{'x' * (length - 2)}'"


@limit(60, "plugin/call_section.py LONGEST_REPEATED")
def _(length: int) -> bool:
    from llm_mock.core.call import Call
    from llm_mock.plugin.call_section import _shorten_error

    error = "x" * length
    call = Call({"error": error})
    assert _shorten_error(call, ["another text"])["error"] == error
    return bool(_shorten_error(call, [f"before {error} behind"])["error"] == error)


@limit(10_000, "plugin/failures.py LONGEST_MESSAGE")
def _(length: int) -> bool:
    from llm_mock.plugin.failures import _cut

    return len(_cut("x " * length)[:length]) == length


@limit(5_000, "plugin/missing_keys.py LONGEST")
def _(length: int) -> bool:
    from llm_mock.plugin.missing_keys import _variables_of

    text = "GROQ_API_KEY"
    error = ValueError(f"{' ' * (length - len(text))}{text}")
    return list(_variables_of(error)) == [text]


@limit(10**20 - 1, "support/validation.py SHOWN_NUMBER")
def _(number: int) -> bool:
    from llm_mock.support.validation import _describe_number

    assert _describe_number(-number) in (f"the number {-number}", "a number")
    return _describe_number(number) == f"the number {number}"


# Lists in messages


def make_calls(number: int) -> Any:
    """Return the calls of a mock."""
    mock = LLMMock()
    model = mock("m")
    for each in range(number):
        model.prompt(f"Hello {each}")
    return mock


@limit(20, "core/records.py SHOWN_CALLS")
def _(number: int) -> bool:
    from llm_mock.core.records import format_calls

    text = format_calls(make_calls(number).calls)
    assert text.splitlines()[-20:][0].startswith(f"  {number - 19}. m")
    return "… 1 earlier calls" not in text


@limit(5, "core/mock.py SHOWN_TEXTS")
def _(number: int) -> bool:
    from llm_mock.errors import UnexpectedCall

    mock = LLMMock(settings=Settings(strict="error"))
    mock.set_embedding("m", {name: [1.0] for name in names(number)})
    with pytest.raises(UnexpectedCall) as caught:
        mock.get_embedding_model("m").embed("another")
    listed = ", ".join(f"'{name}'" for name in names(5))
    assert f"Texts with a vector: {listed}" in str(caught.value)
    return ", …." not in str(caught.value)


@limit(20, "core/diagnostics.py SHOWN_REPLIES")
def _(number: int) -> bool:
    from llm_mock.core.diagnostics import explain_replies

    mock = LLMMock()
    for name in names(number):
        mock.set(name, "Hi!")
    text = explain_replies(mock, [])
    assert text.count("- ") == 20
    return "… 1 more" not in text


@limit(3, "core/expected_call.py _SHOWN_DIFFERENCES")
def _(number: int) -> bool:
    from llm_mock.core.expected_call import _shorten_differences

    shown = _shorten_differences(names(number))
    assert shown[:3] == names(3)
    return shown[3:] != ["1 more parts of the messages differ"]


@limit(20, "cost/budgets.py SHOWN_CALLS")
def _(number: int) -> bool:
    from llm_mock.cost.budgets import CallUsage

    calls = make_calls(number).calls
    text = str(CallUsage(calls, with_cost=False))
    assert text.count("Hello") == 20
    return "… 1 smaller calls" not in text


@limit(5, "plugin/repeats.py SHOWN_FAILURES")
def _(number: int) -> bool:
    from llm_mock.plugin.repeats import _format_failures

    failures = [{"run": each, "message": "failed"} for each in range(number)]
    lines = list(_format_failures({"failures": failures}))  # type: ignore[typeddict-item]
    assert len([line for line in lines if line.startswith("  run ")]) == 5
    return lines[-1] != "  … 1 more failed"


@limit(20, "plugin/late_calls.py SHOWN_LINES")
def _(number: int) -> bool:
    from llm_mock.plugin.late_calls import format_late_calls, read_late_calls

    rows = [[name, "a.py:1", "m", "", 1] for name in names(number)]
    lines = format_late_calls(read_late_calls(rows)).splitlines()
    assert sum("which was still running" in line for line in lines) == 20
    return "  … 1 more line" not in lines


@limit(10, "plugin/summary.py SHOWN_TESTS")
def _(number: int) -> bool:
    from llm_mock.plugin.summary import _format_default_replies

    text = _format_default_replies(dict.fromkeys(names(number), 1), {}, is_quoted=False)
    assert text.count("(1 call)") == 10
    return "… 1 more test" not in text


@limit(10, "plugin/budget.py SHOWN_TESTS")
def _(number: int) -> bool:
    from llm_mock.cost.budgets import UsageRow, format_usage_table
    from llm_mock.plugin.budget import SHOWN_TESTS

    rows = [UsageRow(Decimal(1), (1,), name) for name in names(number)]
    return (
        len(format_usage_table(("cost", "tokens", "test"), rows, SHOWN_TESTS, True)) == number + 1
    )


@limit(50, "report/suite_changes.py MAX_CASES")
def _(number: int) -> bool:
    from llm_mock.report.suite_changes import format_changes

    change = {"change": "broke", "status": "passed"}
    cases = [{"name": name, "baseline": change} for name in names(number)]
    lines = [
        text for _, text in format_changes({"variant": None, "baseline": None, "cases": cases})
    ]
    return "broke: 1 more" not in lines


@limit(20, "commands/test.py MAX_NAMES")
def _(number: int) -> bool:
    from llm_mock.commands.test import _explain_empty_selection

    cases: Any = [SimpleNamespace(name=name, tags=[]) for name in names(number)]
    options: Any = SimpleNamespace(tag=["x"], text=None)
    return " and 1 more" not in _explain_empty_selection(options, cases)


@limit(3, "checks/texts.py MAX_PROBLEMS")
def _(number: int) -> bool:
    from llm_mock.checks.texts import _check_schema

    properties = {name: {"type": "string"} for name in names(number)}
    outcome = _check_schema({"properties": properties}, dict.fromkeys(names(number), 1), "Output")
    return "; and 1 more" not in outcome.message


@limit(20, "agents/tools.py SHOWN_PROBLEMS")
def _(number: int) -> bool:
    from llm_mock.agents.tools import AgentTool

    properties = {name: {"type": "string"} for name in names(number)}
    tool = SimpleNamespace(name="t", input_schema={"properties": properties})
    answer = AgentTool._check(tool, dict.fromkeys(names(number), 1))  # type: ignore[arg-type]
    assert answer is not None
    return len(str(answer.text).splitlines()) == number + 1


@limit(20, "agents/result.py SHOWN_CALLS")
def _(number: int) -> bool:
    from llm_mock.agents.result import Turn

    turn = Turn("", tuple(names(number)), None)  # type: ignore[arg-type]
    return "… 1 more tool calls" not in list(turn.as_lines())


@limit(20, "behaviour/misbehaviour.py MAX_SHOWN_CALLS")
def _(number: int) -> bool:
    mock = LLMMock()
    misbehaviour = mock.misbehave("refusal")
    model = mock("m")
    for _ in range(number):
        model.prompt("Hello").text()
    return not str(misbehaviour).endswith(", …") and ", …" not in str(misbehaviour)


@limit(20, "boundaries/llm/unconsumed_responses.py MAX_LISTED_PROMPTS")
def _(number: int) -> bool:
    from llm_mock.boundaries.llm.unconsumed_responses import format_unread

    mock: Any = current_mock()
    mock.history.unread.clear()
    responses = [llm.get_model("m").prompt("Hello") for _ in range(number)]
    text = format_unread(mock)
    assert text.count("Hello") == 20
    for response in responses:
        response.text()
    return "… 1 more" not in text


@limit(40, "cassettes/lookup.py MAX_LINES")
def _(number: int) -> bool:
    from llm_mock.cassettes.lookup import _indent

    text = _indent(names(number))
    assert text.count("\n") == min(number, 41) - 1
    return "… 1 more lines" not in text


@limit(50, "support/yaml_files.py SHOWN_PROBLEMS")
def _(number: int) -> bool:
    from llm_mock.support.yaml_files import parse

    document = parse(Path("a.yaml"), "a: 1")
    error = document.errors([((), name) for name in names(number)])
    assert len(str(error).splitlines()) == min(number, 51)
    return "and 1 more problems" not in str(error)


# Sizes


@limit(20_000_000, "support/interpolation.py LARGEST_TEXT")
def _(size: int) -> bool:
    from llm_mock.support.interpolation import interpolate

    value = "x" * (size - len("${a}"))
    return accepts(interpolate, "${a}", lambda name: value)


@limit(200_000, "support/yaml_files.py LARGEST")
def _(size: int) -> bool:
    """Try how often references may repeat a part."""
    from llm_mock.support.yaml_files import parse

    items = ", ".join("1" for _ in range(998))
    # Each part is counted: two for the keys, and the list with each of its references.
    part = 999
    times = size // part
    rest = size - times * part - 5
    text = f"a: &a [{items}]\nb: [{', '.join(['*a'] * (times - 1) + ['1'] * rest)}]\n"
    return accepts(parse, Path("a.yaml"), text)


@limit(300, "support/yaml_files.py DEEPEST")
def _(depth: int) -> bool:
    from llm_mock.support.yaml_files import parse

    return accepts(parse, Path("a.yaml"), "[" * depth + "]" * depth)


@limit(4_000, "support/yaml_files.py LARGEST_NUMBER")
def _(digits: int) -> bool:
    from llm_mock.support.yaml_files import parse

    is_within = accepts(parse, Path("a.yaml"), f"a: {'9' * digits}")
    # The smallest number that is too large, and its negative.
    assert not accepts(parse, Path("a.yaml"), f"a: 1{'0' * 4_000}")
    assert not accepts(parse, Path("a.yaml"), f"a: -1{'0' * 4_000}")
    return is_within


@limit(50, "core/request.py DEEPEST")
def _(depth: int) -> bool:
    from llm_mock.core.request import to_plain_json

    value: Any = []
    for _ in range(depth):
        value = [value]
    return "…" not in str(to_plain_json(value))


@limit(10, "cassettes/exceptions.py MAX_CAUSES")
def _(number: int) -> bool:
    from llm_mock.cassettes.exceptions import describe

    error = ValueError("0")
    for each in names(number):
        later = ValueError(each)
        later.__cause__ = error
        error = later
    described: Any = describe(error)
    count = 0
    while "cause" in described:
        described = described["cause"]
        count += 1
    return count == number


@limit(10, "suites/failure.py MAX_CALLS")
def _(number: int) -> bool:
    from llm_mock.suites.failure import _format_turn

    asking = [SimpleNamespace(line=name) for name in names(number)]
    turn = SimpleNamespace(
        prompt="x" * 300,
        tool_calls=names(number),
        model_calls=asking,
        output="",
        transformed=None,
    )
    result: Any = SimpleNamespace(case=SimpleNamespace(has_turns=False))
    attempt: Any = SimpleNamespace(turns=[turn], error="failed")
    lines = list(_format_turn(result, attempt, 0))
    assert lines[0].endswith(f": {'x' * 300}")
    called = [line for line in lines if line.startswith("  called: ")]
    asked = [line for line in lines if line.startswith("  asked: ")]
    assert len(called) == len(asked) == 10
    return number == len(called)


@limit(300, "suites/failure.py MAX_PROMPT")
def _(length: int) -> bool:
    from llm_mock.suites.failure import _format_turn

    case = SimpleNamespace(all_turns=[SimpleNamespace(prompt="x" * length)], has_turns=False)
    result: Any = SimpleNamespace(case=case)
    attempt: Any = SimpleNamespace(turns=[], error="failed")
    return next(_format_turn(result, attempt, 0)).endswith("x" * length)


@limit(1_000, "agents/skill.py MAX_REFERENCES")
def _(number: int) -> bool:
    from llm_mock.agents import skill

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skill, "_iterate_files", lambda folder: [folder / n for n in names(number)])
        patch.setattr(skill, "_read_text", lambda path: "")
        return accepts(skill._read_references, Path("/skill"))


@limit(100_000, "agents/command_line.py MAX_ARGUMENTS")
def _(length: int) -> bool:
    from llm_mock.agents.command_line import execute

    # A quote that is not closed is refused later, so that nothing is run.
    answer = asyncio.run(execute(None, {"args": "'" + "x" * (length - 1)}))  # type: ignore[arg-type]
    assert answer.is_error
    return "characters, and a command takes 100,000 at most" not in answer.text


@limit(100, "behaviour/catalogue.py MAX_TOOL_CALLS")
def _(number: int) -> bool:
    from llm_mock.behaviour.catalogue import _call_tool_again

    context: Any = SimpleNamespace(applied=number - 1, tools=[])
    return accepts_fault(_call_tool_again, context)


@limit(100, "core/mock.py MAX_TOOL_TURNS")
def _(number: int) -> bool:
    from llm_mock import EndlessToolCalls, Reply, ToolCall

    get_model = LLMMock()
    get_model.set("m", Reply(tool_calls=[ToolCall("mark", {})]))
    try:
        get_model("m").conversation().chain("Go", tools=[mark], chain_limit=number).text()
    except EndlessToolCalls:
        return False
    except ValueError:  # by the limit of the chain
        return True
    raise AssertionError("the chain has an end")


def mark() -> str:
    return "marked"


def accepts_fault(function: Callable[..., object], context: Any) -> bool:
    from llm_mock.errors import EndlessToolCalls

    try:
        function(context)
    except EndlessToolCalls:
        return False
    return True


@limit(100, "agents/mcp_session.py MAX_PAGES")
def _(number: int) -> bool:
    from llm_mock.agents.mcp_session import MCPSession
    from llm_mock.errors import LLMMockError

    pages = [SimpleNamespace(tools=[each], next_cursor=str(each)) for each in range(number)]
    pages[-1].next_cursor = None  # type: ignore[assignment]

    async def list_tools(cursor: str | None, cache_mode: str) -> Any:
        return pages[int(cursor or -1) + 1]

    client = SimpleNamespace(result=lambda: SimpleNamespace(list_tools=list_tools))
    session: Any = SimpleNamespace(_client=client, _named="server", _unanswered=True)
    try:
        tools = asyncio.run(MCPSession._list_tools(session))
    except LLMMockError:
        return False
    return tools == list(range(number))


@limit(20, "agents/mcp_session.py SHOWN_LINES")
def _(number: int) -> bool:
    from llm_mock.agents.mcp_session import _format_last_lines

    text = _format_last_lines("\n".join(names(number)))
    assert text.endswith("\n".join(f"  {name}" for name in names(number)[-20:]))
    return "  n0\n" in text


@limit(300, "agents/mcp_session.py SHOWN_LINE")
def _(length: int) -> bool:
    from llm_mock.agents.mcp_session import _describe_error, _format_last_lines

    text = "x" * length
    assert (_describe_error(ValueError(text)) == text) is (text in _format_last_lines(text))
    return text in _format_last_lines(text)


@limit(64, "specs/plugin_loading.py MAX_NAME_LENGTH")
def _(length: int) -> bool:
    from llm_mock.specs.plugin_loading import LoadedPlugin, get_plugin_tools

    plugin = type("Plugin", (), {"x" * (length - 2): lambda self: None, "name": "p"})()
    loaded = LoadedPlugin(plugin, Path("plugin.py"))
    return accepts(list, get_plugin_tools(loaded))


@limit(65_535, "specs/allowed_hosts.py MAX_PORT")
def _(port: int) -> bool:
    from llm_mock.specs.allowed_hosts import AllowedHosts

    is_within = accepts(AllowedHosts, [f"127.0.0.1:{port}"])
    hosts = AllowedHosts(["*"])
    assert accepts(hosts.check, f"http://127.0.0.1:{port}") is is_within
    return is_within


@limit(10_000, "specs/loading.py MAX_STEPS")
def _(number: int) -> bool:
    from llm_mock.specs.loading import MAX_STEPS, _count_steps
    from llm_mock.specs.models import Step

    nested = Step(name="n", repeat=number // 2 - 1, steps=[Step(name="a", tool="t", repeat=2)])
    rest = number - _count_steps([nested])
    last = Step(name="b", tool="t", repeat=rest)
    assert _count_steps([nested, last]) == number
    return number <= MAX_STEPS


@limit(1_000, "suites/matrix.py MAX_VARIANTS")
def _(number: int) -> bool:
    from llm_mock.suites.matrix import find_matrix_problems

    axes = {"models": [], "prompts": []}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("llm_mock.suites.matrix._find_duplicates", lambda axis, entries: [])
        rows = {name: range(1) for name in axes}
        rows["models"] = range(number)
        matrix: Any = SimpleNamespace(axes=rows, targets=None)
        return not list(find_matrix_problems(matrix, None))


@limit(100, "suites/simulated_user.py MOST_TURNS")
def _(number: int) -> bool:
    from llm_mock.suites.simulated_user import SimulatedUser

    return accepts(SimulatedUser.model_validate, {"script": ["Hi"], "max_turns": number})


@limit(2_000, "suites/snapshots.py MAX_DIFF_LINES")
def _(number: int) -> bool:
    """Try a difference of so many lines, of which one was not expected."""
    from llm_mock.checks.base import RunContext
    from llm_mock.suites.snapshots import SnapshotAssertion

    assertion = SnapshotAssertion(expected="a\n" * (number - 1))
    outcome = assertion.check("a\n" * number, RunContext())
    return "+a" in outcome.message


@limit(100_000, "suites/target_session.py MAX_HISTORY_BYTES")
def _(number: int) -> bool:
    """Try a history with so many bytes in the environment of a command."""
    from llm_mock.suites.target_session import HISTORY_VARIABLE, TargetSession

    session = TargetSession()
    session.add("", "")
    empty = len(session.add_to_environment({})[HISTORY_VARIABLE])
    session = TargetSession()
    session.add("x" * (number - empty), "")
    return HISTORY_VARIABLE in session.add_to_environment({})


@limit(50_000_000, "suites/variables.py MAX_SUITE_SIZE")
def _(size: int) -> bool:
    from llm_mock.suites.variables import SuiteSize

    counted = SuiteSize()
    counted.add(size - 1)
    return accepts(counted.add, 1)


@limit(50, "behaviour/generate.py MAX_GUESSES")
def _(number: int) -> bool:
    from llm_mock.behaviour.generate import generate_instance

    items = {"type": "string"}
    schema = {"type": "array", "items": items, "minItems": number, "uniqueItems": True}
    return accepts(generate_instance, schema)


@limit(2_499, "behaviour/generate.py MAX_STEPS")
def _(number: int) -> bool:
    """Try a list whose items take two steps each, and the list itself two."""
    from llm_mock.behaviour.generate import generate_instance

    schema = {"type": "array", "items": {"type": "boolean"}, "minItems": number}
    return accepts(generate_instance, schema)


@limit(120, "agents/retry.py LONGEST_RETRY_AFTER")
def _(seconds: int) -> bool:
    from llm_mock.agents.retry import Retries

    error: Any = RuntimeError("slow down")
    error.status_code = 429
    error.response = SimpleNamespace(status_code=429, headers={"retry-after": str(seconds)})
    retries: Any = Retries.__new__(Retries)
    retries._limit = 9
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("llm_mock.agents.retry.save_state", lambda response: lambda: None)
        options = retries._new_options(None)
    outcome = SimpleNamespace(failed=True, exception=lambda: error)
    return bool(options["retry"](SimpleNamespace(outcome=outcome)))


@limit(30, "agents/result.py SHOWN_TURNS")
def _(number: int) -> bool:
    from llm_mock.agents.result import AgentResult, Turn

    turns = [Turn(name, (), None) for name in names(number)]  # type: ignore[arg-type]
    result: Any = SimpleNamespace(
        agent="a", error=None, prompt="p", turns=turns, _outcome=lambda: "succeeded"
    )
    text = AgentResult.__str__(result)
    assert text.count("  turn ") == 30
    return "… 1 earlier turns" not in text


@limit(500, "agents/result.py SHOWN_RESULT")
def _(length: int) -> bool:
    from llm_mock.agents.result import ToolCallRecord

    record: Any = SimpleNamespace(error=None, result="x" * length, attachments=())
    failed: Any = SimpleNamespace(error="x" * length)
    describe = ToolCallRecord._describe_outcome
    is_whole = describe(record) == f"→ {'x' * length}"
    assert (describe(failed) == f"✗ {'x' * length}") is is_whole
    return is_whole


@limit(40, "agents/leaderboard.py SHOWN_PART")
def _(length: int) -> bool:
    from llm_mock.agents.leaderboard import _shorten_parts

    return _shorten_parts({"a": "x" * length}) == {"a": "x" * length}


@limit(30, "agents/agent.py SHOWN_CHANGE")
def _(length: int) -> bool:
    from llm_mock.agents import Agent

    prompt = "x" * length
    changed = Agent("m").with_changes(system_prompt=prompt)
    return changed.llm_mock_id == f"m, system_prompt={prompt}"


@limit(100_000, "agents/servers.py OUTPUT_LIMIT")
def _(size: int) -> bool:
    from llm_mock.agents.servers import CLIServer
    from llm_mock.agents.supervised_process import Output

    most = CLIServer("a", "echo").max_output
    data = bytes(each % 64 + 32 for each in range(size))
    output = Output(most)
    for start in range(0, len(data), 777):
        output.data_received(data[start : start + 777])
    if size > 100_000:
        note = "\n[… 1 bytes cut: more than 100,000 …]\n"
        assert output.text() == data[:50_000].decode() + note + data[-50_000:].decode()
    return output.text() == data.decode()


@limit(96, "boundaries/http/protocols/cohere_chat.py MAX_TEXTS")
def _(count: int) -> bool:
    from llm_mock.boundaries.http.protocols.cohere_chat import _list_embedded_items
    from llm_mock.boundaries.http.wire_error import WireError

    body = {"texts": ["a"] * (count - 1), "images": ["b"]}
    try:
        return len(_list_embedded_items(body)) == count
    except WireError:
        with pytest.raises(WireError, match=f"at most 96 - received {count}"):
            _list_embedded_items(body)
        return False


@limit(100_000, "boundaries/http/other_endpoints.py MAX_DIMENSIONS")
def _(number: int) -> bool:
    from llm_mock.boundaries.http.other_endpoints import _parse_dimensions
    from llm_mock.boundaries.http.wire_error import WireError

    wrong_numbers: tuple[object, ...] = (0, -1, True, "8", 1.0)
    for wrong in wrong_numbers:
        with pytest.raises(WireError, match="Must be between 1 and 100000"):
            _parse_dimensions(wrong, "dimensions")
    assert (_parse_dimensions(1, "d"), _parse_dimensions(None, "d")) == (1, None)
    try:
        return _parse_dimensions(number, "dimensions") == number
    except WireError:
        return False


@limit(120, "cassettes/paths.py MAX_CHARACTERS")
def _(length: int) -> bool:
    from llm_mock.cassettes.paths import format_file_name

    name = format_file_name("x" * length)
    assert name.startswith("x" * 120)
    return name == "x" * length


@limit(200, "cassettes/paths.py MAX_BYTES")
def _(size: int) -> bool:
    from llm_mock.cassettes.paths import format_file_name

    test = "ü" * (size // 2) + "x" * (size % 2)
    name = format_file_name(test)
    # What is too long is cut at 180 bytes, for the hash.
    assert name == test or name.startswith("ü" * 90 + "-")
    return name == test


def warn_of_violations(schema: dict[str, Any], reply: Reply) -> str:
    """Return the warning about a reply that breaks a schema."""
    get_model = create_mock_get_model()
    get_model.set("m", reply)
    with pytest.warns(SchemaViolationWarning) as warned:
        get_model("m").prompt("Hi", schema=schema).text()
    return str(warned[0].message)


@limit(10, "core/checks.py SHOWN_VIOLATIONS")
def _(number: int) -> bool:
    text = warn_of_violations({"title": "t", "required": names(number)}, Reply(data={}))
    return text.count("\n  - ") == number


@limit(300, "core/checks.py SHOWN_REPLY")
def _(number: int) -> bool:
    text = warn_of_violations({"title": "t"}, Reply("x" * number))
    return f"The reply: {'x' * number}\n" in text


@limit(60, "support/schema_forms.py _MOST_PARTS")
def _(number: int) -> bool:
    # The schema itself is a part, too.
    schema = {"properties": {name: {"type": "null"} for name in names(number - 1)}}
    return "…" not in str(SchemaForm(schema))


@limit(10**18, "cost/budgets.py MAX_TOKENS")
def _(number: int) -> bool:
    from llm_mock.cost.budgets import parse_budget

    assert not accepts(parse_budget, "the marker", None, "1" + "0" * 19)
    return accepts(parse_budget, "the marker", None, number)


@limit(50_000, "plugin/failures.py LONGEST_TRACEBACK")
def _(length: int) -> bool:
    from llm_mock.plugin.failures import read_traceback

    class Traceback:
        reprcrash = "crash"

        def __str__(self) -> str:
            return "x " * (length // 2) + "y" * (length % 2)

    report: Any = SimpleNamespace(longrepr=Traceback(), failed=True)
    return read_traceback(report) == str(Traceback())


@limit(20, "specs/claude_code.py MAX_LINES")
def _(number: int) -> bool:
    from llm_mock.specs.claude_code import _describe_failure

    return "  n0\n" in _describe_failure("claude", 1, "", "\n".join(names(number)))


@limit(10_240, "specs/builtin_tools.py BODY_LIMIT")
def _(size: int) -> bool:
    import httpx2

    from llm_mock.specs.builtin_tools import _read_response

    async def read() -> Any:
        async def stream() -> Any:
            yield b"x" * size

        headers = {"content-type": "text/plain"}
        return await _read_response(httpx2.Response(200, content=stream(), headers=headers))

    body = str(asyncio.run(read())["body"])
    assert body.startswith("x" * 10_240)
    return body == "x" * size


@limit(1_000, "suites/runner.py MAX_JOBS")
def _(number: int) -> bool:
    from llm_mock.suites.runner import _check_numbers

    def check(**given: Any) -> bool:
        values = {"repeat": 1, "threshold": 1, "timeout": 1, "retry": 0, "jobs": 1, **given}
        return accepts(_check_numbers, **values)

    check_range(lambda value: check(repeat=value), 1, 10_000, 1)
    check_range(lambda value: check(retry=value), 0, 1_000, 1)
    check_range(lambda value: check(timeout=value), 0.001, 86_400, 0.001)
    check_range(lambda value: check(threshold=value), 0.001, 1, 0.001)
    assert not check(jobs=0)
    return check(jobs=number)


@limit(7, "support/redaction/known_secrets.py SHORTEST")
def _(length: int) -> bool:
    """Try the longest value that is too short to be told from others."""
    from llm_mock.support.redaction.known_secrets import _can_be_found

    return not _can_be_found("a1b2c3d4"[:length])


@limit(4, "support/redaction/known_secrets.py FEWEST_DIFFERENT")
def _(number: int) -> bool:
    from llm_mock.support.redaction.known_secrets import _can_be_found

    return not _can_be_found(("1b2c3"[:number] * 20)[:20])


@limit(11, "support/redaction/known_secrets.py SURE")
def _(length: int) -> bool:
    from llm_mock.support.redaction.known_secrets import _can_be_found

    assert _can_be_found("123456789012"[:length]) is _can_be_found("abcdefghijkl"[:length])
    return not _can_be_found("abcdefghijkl"[:length])


@limit(100_000, "support/yaml_files.py MOST_PARTS")
def _(number: int) -> bool:
    """Try a list; the start and the end of file, document and list count, too."""
    from llm_mock.support.yaml_files import _check_number_of_parts

    try:
        _check_number_of_parts("- 1\n" * (number - 5), 100_000)
    except yaml.YAMLError:
        return False
    return True


@limit(5, "migrate/value_types.py MAX_NAMES")
def _(depth: int) -> bool:
    import libcst as cst

    from llm_mock.migrate import value_types

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_types, "_find_values", lambda node, table: [cst.SimpleString("'a'")])
        table: Any = None
        return value_types.is_text(cst.Name("a"), table, depth - 1)


# The control API of `llm-mock serve`


def make_served_tests() -> Any:
    """Return the mocks of a server."""
    from llm_mock.commands.serve_tests import ServedTests
    from llm_mock.core.settings import Settings

    return ServedTests(Settings(), None, 10, None)


def send_control(tests: Any, path: str, body: bytes = b"") -> Any:
    """Return the status and the JSON of the answer to a control request."""
    from llm_mock.boundaries.http.http1 import RequestHead
    from llm_mock.commands.serve_router import ServeRouter

    method = "POST" if body else "GET"
    head = RequestHead(method, path, "", {}, True, "localhost", len(body))
    answer = ServeRouter(tests).route(head, body, "127.0.0.1")
    return answer.status, json.loads(answer.body)  # type: ignore[arg-type,union-attr]


@limit(1_000, "commands/serve_tests.py MAX_TESTS")
def _(number: int) -> bool:
    tests = make_served_tests()
    for name in names(number):
        tests.get(name)
    assert tests.dropped == max(0, number - 1_000)
    assert tests.find("n1") is not None
    return tests.find("n0") is not None


@limit(100, "commands/serve_tests.py MAX_NOTES")
def _(number: int) -> bool:
    mock = make_served_tests().get("test")
    for name in names(number):
        mock.note_problem(name)
        mock.note_invalid_request(name)
    assert mock.problems == mock.refusals == names(min(number, 100))
    return len(mock.problems) == number


@limit(100, "commands/serve_router.py MAX_NAME")
def _(length: int) -> bool:
    from llm_mock.boundaries.http.wire_error import WireError

    try:
        status, _ = send_control(make_served_tests(), f"/t/{'x' * length}/_llm_mock/calls")
    except WireError:
        return False
    return bool(status == 200)


def test_a_control_token_has_at_least_eight_characters() -> None:
    from llm_mock.commands.serve_router import MIN_TOKEN, check_control_token

    assert accepts(check_control_token, "x" * MIN_TOKEN)
    assert not accepts(check_control_token, "x" * (MIN_TOKEN - 1))


@limit(20_000_000, "commands/serve_control.py MAX_CONTROL_BYTES")
def _(size: int) -> bool:
    body = b'{"replies": []}'
    path = "/_llm_mock/replies"
    status, _ = send_control(make_served_tests(), path, body + b" " * (size - len(body)))
    return bool(status == 200)


@limit(10_000, "commands/serve_control.py MAX_REPLIES")
def _(number: int) -> bool:
    body = json.dumps({"replies": [{"text": "a", "times": 1}] * number}).encode()
    status, answer = send_control(make_served_tests(), "/_llm_mock/replies", body)
    if status == 413:
        message = answer["error"]["message"]
        assert message.startswith("The body has 10,001 replies; it must have at most 10,000.")
        return False
    return bool(status == 200 and answer["added"] == number)


@limit(50, "commands/serve_control.py SHOWN_PROBLEMS")
def _(number: int) -> bool:
    body = json.dumps({"replies": [{"a": 1}] * number}).encode()
    _, answer = send_control(make_served_tests(), "/_llm_mock/replies", body)
    message = answer["error"]["message"]
    assert message.count("unknown key 'a'") == 50
    return "… and 1 more problems" not in message


# Ranges of numbers


def accepts_number(type_: Any, value: object) -> bool:
    return accepts(TypeAdapter(type_).validate_python, value)


def check_range(is_valid: Callable[[Any], bool], least: float, most: float, step: float) -> None:
    """Check both ends of a range and what is next to them."""
    for value in (least, most):
        assert is_valid(value), value
    for value in (least - step, most + step):
        assert not is_valid(value), value


DAY = 86_400


@pytest.mark.parametrize(
    ("option", "least", "most", "step"),
    [
        ("--repeat", 1, 10_000, 1),
        ("--jobs", 1, 1_000, 1),
        ("--retry", 0, 1_000, 1),
        ("--timeout", 0.001, DAY, 0.001),
    ],
)
def test_an_option_of_test_has_a_range(option: str, least: float, most: float, step: float) -> None:
    from llm_mock.cli import main

    def is_valid(value: float) -> bool:
        result = CliRunner().invoke(main, ["test", option, str(value), "missing.yaml"])
        return option not in result.output

    check_range(is_valid, least, most, step)


@pytest.mark.parametrize(("option", "most"), [("--port", 65_535), ("--keep", None)])
def test_an_option_of_serve_has_a_range(option: str, most: int | None) -> None:
    from llm_mock.cli import main

    parse = main.commands["serve"].make_context  # type: ignore[attr-defined]
    for value, is_valid in ((-1, False), (0, True), (most or 10**9, True)):
        assert accepts(parse, "serve", [option, str(value)]) is is_valid, value
    if most is not None:
        assert not accepts(parse, "serve", [option, str(most + 1)])


def test_times_are_at_most_a_day() -> None:
    from llm_mock.agents import Agent, CLIServer
    from llm_mock.specs.models import Step, TestMeta
    from llm_mock.specs.runner import _check_timeout
    from llm_mock.support.validation import Seconds

    checks: list[Callable[[Any], bool]] = [
        lambda value: accepts_number(Seconds, value),
        lambda value: accepts(Step, name="n", tool="t", timeout=value),
        lambda value: accepts(_check_timeout, value),
        lambda value: accepts(Agent, "m", timeout=value),
        lambda value: accepts(CLIServer, "a", "echo", timeout=value),
    ]
    for number, check in enumerate(checks):
        assert check(0.001), number
        assert not check(0), number
        assert check(DAY), number
        assert not check(DAY + 0.001), number
    check_range(lambda value: accepts(Latency, first_chunk=value), 0, DAY, 0.001)
    check_range(lambda value: accepts(Step, name="n", tool="t", retry_delay=value), 0, DAY, 0.001)
    check_range(lambda value: accepts(TestMeta, name="n", timeout=value), 1, DAY, 1)


def test_a_rate_of_chunks_gives_each_at_most_a_day() -> None:
    assert accepts(Latency, chunks_per_second=1 / DAY)
    assert not accepts(Latency, chunks_per_second=1 / (DAY + 1))
    assert not accepts(Latency, chunks_per_second=0)


def test_a_seed_has_at_most_30_digits() -> None:
    largest = int("9" * 30)
    check_range(lambda value: accepts(Latency, seed=value), -largest, largest, 1)


def test_a_jitter_is_a_fraction() -> None:
    check_range(lambda value: accepts(Latency, jitter=value), 0, 1, 0.001)


def test_repetitions_and_retries_have_a_range() -> None:
    from llm_mock.plugin.marker_checks import parse_repeat
    from llm_mock.plugin.options import _parse_repetitions
    from llm_mock.specs.models import Step

    check_range(lambda value: accepts(Step, name="n", tool="t", repeat=value), 1, 10_000, 1)
    check_range(lambda value: accepts(Step, name="n", tool="t", retry=value), 0, 1_000, 1)
    mark = pytest.mark.llm_mock_repeat
    check_range(lambda value: accepts(parse_repeat, mark(value).mark), 1, 10_000, 1)
    check_range(lambda value: accepts(parse_repeat, mark(2, threshold=value).mark), 0.01, 1, 0.01)

    def is_option(value: int) -> bool:
        try:
            return _parse_repetitions(str(value)) == value
        except argparse.ArgumentTypeError:
            return False

    check_range(is_option, 1, 10_000, 1)


# Every limit


# Mutations


@limit(10, "behaviour/mutations.py MAX_CALLS")
def _(number: int) -> bool:
    from llm_mock.behaviour.mutations import MutationObserver, list_changes
    from llm_mock.core.observation import observe

    observer = MutationObserver(lambda mock: False)
    with observe(observer):
        make_calls(number)
    changed = {change.call for change in list_changes(observer.calls)}
    assert changed == set(range(1, 11))
    return len(observer.calls) == len(changed)


@limit(50, "behaviour/mutations.py MAX_MORE_CALLS")
def _(number: int) -> bool:
    from llm_mock.behaviour.mutations import EndlessChange, MutationObserver
    from llm_mock.core.observation import observe

    observer = MutationObserver(lambda mock: False)
    observer.start(calls=0, seconds=100.0)
    with observe(observer):
        try:
            make_calls(number)
        except EndlessChange:
            return False
    return True


@limit(50, "behaviour/changed_values.py MAX_VALUES")
def _(number: int) -> bool:
    from llm_mock.behaviour.changed_values import change_json

    changed = change_json([1] * number, None)
    assert changed[:50] == [2] * 50
    return 1 not in changed


@limit(30, "behaviour/prompt_rules.py MAX_RULES")
def _(number: int) -> bool:
    from llm_mock.behaviour.prompt_rules import list_rule_changes

    changes = list_rule_changes("\n".join(f"- Rule of {name}" for name in names(number)))
    assert len({change.rule for change in changes}) == 30
    return changes[-1].rule == f"Rule of {names(number)[-1]}"


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_at_the_edge_is_within_and_one_more_is_not(name: str) -> None:
    is_within, edge = LIMITS[name]
    assert is_within(edge) is True
    assert is_within(edge + 1) is False


CONSTANTS: dict[str, float] = {
    # Tried in test_connection.py
    "boundaries/http/connection.py MAX_PIPELINED_BYTES": 256 * 1024,
    "boundaries/http/connection.py SEND_BUFFER_BYTES": 64 * 1024,
    "boundaries/http/http1.py MAX_BODY_BYTES": 64 * 1024 * 1024,
    "boundaries/http/http1.py MAX_HEAD_BYTES": 64 * 1024,
    "boundaries/http/http1.py MAX_CHUNK_LINE_BYTES": 1_024,
    # A time, tried in test_placeholder_keys.py
    "boundaries/http/placeholder_keys.py AZURE_EXPIRY": 32_472_144_000,
    # Seconds, which processes and clocks wait. Those of the server are tried in test_connection.py.
    "agents/mcp_session.py PROBE_TIMEOUT": 5.0,
    "agents/mcp_session.py CLOSING": 2.0,
    "agents/mcp_session.py ENDING_AT_URL": 8.0,
    "agents/mcp_session.py CONNECT_TIMEOUT": 30.0,
    "agents/mcp_stdio.py ENDING": 0.5,
    "agents/rate_limit.py MINUTE": 60.0,
    "agents/retry.py FIRST_WAIT": 0.5,
    "agents/retry.py LONGEST_WAIT": 8.0,
    "agents/supervised_process.py GRACE": 1.0,
    "agents/supervisor.py PARENT_CHECK": 0.5,
    "agents/supervisor.py KILLING": 5.0,
    "behaviour/provider_errors.py RETRY_AFTER": 1,
    "boundaries/http/connection.py CLIENT_TIMEOUT_SECONDS": 60.0,
    "boundaries/http/connection.py HANG_SECONDS": 600.0,
    "boundaries/http/connection.py LINGER_SECONDS": 5.0,
    "boundaries/http/errors.py FAST_RETRY": 0.05,
    "boundaries/http/event_stream.py STRING_TYPE": 7,
    "boundaries/http/forwarding.py POLL_SECONDS": 0.005,
    "boundaries/http/forwarding.py TIMEOUT_SECONDS": 600.0,
    "boundaries/http/local_servers.py CACHE_SECONDS": 1.0,
    "boundaries/llm/names.py MAX_LOADING_SECONDS": 20.0,
    "core/resilience.py SUFFICIENT_WAIT": 0.9,
    "checks/node.py MAX_SECONDS": 60.0,
    "specs/builtin_tools.py REQUEST_TIMEOUT": 30.0,
    "specs/mcp_server.py CLEANUP_TIMEOUT": 5.0,
    "specs/mcp_server.py BLOCKED_TIMEOUT": 5.5,
    "specs/runner.py TEARDOWN_TIME": 10.0,
    "specs/tools_server.py STOP_TIMEOUT": 6.0,
    "suites/scheduling.py INTERRUPT_SECONDS": 0.2,
    "support/time_limit.py RETRY_SECONDS": 5.0,
    "support/time_limit.py GRACE_SECONDS": 2.0,
    "support/time_limit.py SLACK_SECONDS": 0.1,
    "support/time_limit.py TRACED_SECONDS": 0.3,
    # No limits: defaults, versions, formats, numbers of systems and weights
    "agents/agent.py RETRIES": 3,
    "agents/run.py NO_LIMIT": 0,
    "agents/supervisor.py SUBREAPER": 36,
    "boundaries/http/model_formats.py CREATED": 1_700_000_000,
    "boundaries/http/server.py BACKLOG": 128,
    "boundaries/http/transports/connection_guard.py COULD_NOT_CONNECT": 7,
    "boundaries/http/transports/connection_guard.py CURLOPT_URL": 10_002,
    "boundaries/subprocesses.py POSITION_OF_ENV": 10,
    "cassettes/schema.py VERSION": 2,
    "commands/api_reference.py MOST_PARTS": 3,
    "commands/api_reference.py SIGNATURE_WIDTH": 90,
    "commands/docs.py MAX_LINE": 90,
    "commands/docs.py MAX_RESULTS": 20,
    "commands/errors.py INTERRUPTED": 130,
    "commands/terminal.py PIPE_WIDTH": 80,
    "commands/terminal.py TAB_SIZE": 4,
    "core/tokens.py CHARACTERS_PER_TOKEN": 4,
    "boundaries/http/media_endpoints.py IMAGE_TOKENS": 1056,
    "boundaries/http/media_endpoints.py SAMPLE_RATE": 24_000,
    "boundaries/http/media_endpoints.py SECONDS": 1,
    "core/vectors.py UNKNOWN_DIMENSIONS": 64,
    "behaviour/quota.py MINUTE": 60.0,
    "behaviour/quota.py SUFFICIENT_WAIT": 0.9,
    "boundaries/http/request_rules/anthropic_messages.py LEAST_BUDGET": 1024,
    "boundaries/http/request_rules/gemini.py LONGEST_NAME": 128,
    "boundaries/http/request_rules/gemini.py MOST_TOKENS": 65_536,
    "boundaries/http/request_rules/openai_chat.py MOST_STOPS": 4,
    "boundaries/http/request_rules/openai_chat.py MOST_TOOLS": 128,
    "boundaries/http/request_rules/openai_shared.py LONGEST_KEY": 64,
    "boundaries/http/request_rules/openai_shared.py LONGEST_NAME": 64,
    "boundaries/http/request_rules/openai_shared.py LONGEST_VALUE": 512,
    "boundaries/http/request_rules/openai_shared.py MOST_METADATA": 16,
    "core/mock.py MAX_STORED_OBJECTS": 10000,
    "core/resilience.py LEAST_BACKOFF": 0.045,
    "core/latency.py LARGEST_SEED": 999999999999999999999999999999,
    "core/vectors.py WORD_WEIGHT": 2,
    "cost/prices.py MILLION": 1_000_000,
    "plugin/repeats.py _ROUNDING": 1e-09,
    # Tried in test_mutations.py
    "behaviour/mutations.py SHOWN_TEXT": 60,
    "behaviour/prompt_rules.py MIN_WORDS": 2,
    "plugin/mutate.py LEAST_SECONDS": 5.0,
    "plugin/mutate.py SLOWEST": 10,
    "plugin/unawaited.py MAX_VAIN_SEARCHES": 10,
    "report/mutation.py SHOWN_RULE": 70,
    "report/mutation.py VERSION": 1,
    "report/document.py VERSION": 1,
    "report/suite_document.py VERSION": 1,
    "suites/pass_rates.py Z95": 1.959963984540054,
    "suites/promptfoo/assertions.py SIMILAR_THRESHOLD": 0.75,
    "checks/scores.py TOLERANCE": 1e-09,
    "support/redaction/known_secrets.py SPACE": 16,
    "support/text.py CERTAIN": 0.8,
    "support/yaml_files.py WIDTH": 110,
    # Limits whose edges are not tried here
    "agents/agent.py MAX_TURNS": 10,
    "agents/assertions.py SHOWN_REASON": 500,
    "agents/leaderboard.py SHOWN_NAME": 110,
    "agents/mcp_stdio.py STDERR_KEPT": 32_000,
    "agents/mcp_stdio.py SHOWN_OTHER_LINES": 5,
    "agents/mcp_stdio.py MAX_OTHER_LINES": 100,
    "agents/mcp_stdio.py MAX_LINE": 64 * 1024 * 1024,
    "agents/pool.py MOST_IDLE": 4,
    "agents/result.py SHOWN_REPR": 180,
    "boundaries/http/vcr.py MAX_BYTES": 1_000_000_000,
    "cassettes/lookup.py MAX_COMPARED_CALLS": 200,
    "cassettes/paths.py MAX_CUT_BYTES": 180,
    "cassettes/storage.py MAX_INLINE_SIZE": 4_096,
    "cassettes/storage.py MAX_CASSETTE_SIZE": 1_000_000_000,
    "commands/import_cassette.py PROMPT_LENGTH": 80,
    "commands/mcp_server.py MAX_OUTPUT": 40_000,
    "commands/serve.py KEPT_CALLS": 1_000,
    "commands/serve_router.py MIN_TOKEN": 8,
    "commands/side_by_side.py MAX_COLUMNS": 6,
    "core/request.py LARGEST_FILE": 20_000_000,
    "core/vectors.py SEEN_BYTES": 4_096,
    "migrate/http_replies.py FIRST_ERROR": 400,
    "migrate/symbol_table.py MAX_DEPTH": 30,
    "migrate/targets.py MAX_MODULES": 5,
    "migrate/test_runs.py SECONDS": 60.0,
    "migrate/test_runs.py SILENT_SECONDS": 300.0,
    "plugin/cassettes.py SHOWN_CALLS": 5,
    "plugin/recording_summary.py SHOWN_LINES": 10,
    "specs/builtin_tools.py MAX_REDIRECTS": 5,
    "specs/claude_code.py MAX_STDOUT": 10_000_000,
    "specs/claude_code.py MAX_STDERR": 32_000,
    "specs/llm_driver.py EXTRA_TURNS": 10,
    "specs/tool_functions.py MAX_SHOWN_ERROR": 1_000,
    "suites/expansion.py PART_SIZE": 100,
    "suites/promptfoo/configuration.py _MAX_CASES": 10_000,
    "suites/role.py MAX_SUGGESTIONS": 5,
    "suites/target_client.py MAX_RESPONSE_SIZE": 20_000_000,
    "support/files.py LARGEST_FILE": 20_000_000,
    "support/files.py LONGEST_START": 60,
    "support/numbers.py LONGEST": 86_400,
    "support/numbers.py MOST_REPETITIONS": 10_000,
    "support/numbers.py MOST_RETRIES": 1_000,
    "support/redaction/forms.py SHORTEST_BASE64": 20,
    "support/redaction/forms.py LOOKED_AT": 200,
    "boundaries/http/protocols/ollama.py CONTEXT_LENGTH": 131_072,
    "boundaries/http/protocols/ollama.py NANOSECONDS": 1_000_000_000,
    "boundaries/http/protocols/ollama.py SHORTEST": 1_000_000,
    # The corpus of refused requests tries both sides.
    "boundaries/http/request_rules/ollama.py MOST_LOGPROBS": 20,
    "support/redaction/forms.py CACHED_NAMES": 1_000,
    "support/redaction/known_secrets.py CACHED_NAMES": 4_096,
    "support/redaction/redactor.py CACHED_TEXTS": 10_000,
    "support/redaction/forms.py LONGEST_NAME": 40,
    "support/redaction/forms.py LONGEST_CUT": 80,
    "support/redaction/known_secrets.py SHORTEST_PART": 6,
    "support/redaction/known_secrets.py MOST_CARRIED": 256,
    "support/redaction/known_secrets.py LONG_TEXT": 10_000,
    "support/redaction/known_secrets.py LONG_WORD": 15,
    "support/redaction/redactor.py LONGEST_CACHED": 2_000,
    "support/yaml_files.py MOST_PROBLEMS": 1_000,
}
"""All other numbers to which the package gives a name."""


NUMBER = re.compile(r"^(_?[A-Z][A-Z0-9_]*)(?:: \w+)? = (\d[\d_.e*+ -]*)$", re.MULTILINE)


def list_constants() -> dict[str, float]:
    """Return the numbers to which modules of the package give a name, by module and name."""
    root = Path(llm_mock.__file__).parent
    found = {}
    for path in root.rglob("*.py"):
        module = path.relative_to(root).as_posix()
        for name, digits in NUMBER.findall(path.read_text(encoding="utf-8")):
            # Digits and operators alone: `64 * 1024`.
            found[f"{module} {name}"] = eval(digits)
    return found


def test_each_number_with_a_name_is_tried_or_stands_in_the_table() -> None:
    found = list_constants()
    assert not LIMITS.keys() & CONSTANTS.keys()
    others = {name: value for name, value in found.items() if name not in LIMITS}
    # A private number is a limit only if its name says so.
    for name in others.keys() - CONSTANTS.keys():
        if " _" in name and not re.search("MAX|MOST|SHOWN|LONGEST|LARGEST", name):
            del others[name]
    assert others == CONSTANTS
    assert LIMITS.keys() - found.keys() == {"support/text.py COMPARED_NAMES"}
