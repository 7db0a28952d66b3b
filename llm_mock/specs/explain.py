"""The wording of every message about plain-language tests: their files, their steps and who judges them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.support.text import exit_status, nearest, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.agents.result import ToolCallRecord
    from llm_mock.specs.models import StepResult

SHOWN_LINES = 20
SHOWN_OUTPUT = 300
MARKS = {"pass": "✓", "fail": "✗", "skip": "–"}  # noqa: RUF001 (as wide as the others)
SHAPE = "a plain-language test is a mapping with test (name), steps and verdict (pass_if, fail_if)"


# --- Files ----------------------------------------------------------------------------------------------------------


def no_spec(data: Any) -> str:
    """A file that holds something else altogether."""
    found = "the file is empty" if data is None else f"this is {shorten(data, 60)}"
    return f"{found}; {SHAPE}"


def suite_instead() -> str:
    """A suite where a plain-language test is expected."""
    return f"this is a suite (kind: TestSuite), which `llm-mock test` runs; {SHAPE}"


def tool_and_steps(tool: str) -> str:
    """A step that is two things at once."""
    return f"a step has tool or steps, not both; make the call of {shorten_name(tool)!r} the first of the nested steps"


def empty_step() -> str:
    """A step that is nothing."""
    return "there is nothing to do in this step; give it tool, steps, expect or analyze"


def only_with_tool(name: str) -> str:
    """A field that says how a tool is called, where none is."""
    return f"{name} says how a tool is called, and this step has no tool"


def too_many_steps(number: int, most: int) -> str:
    """Steps that are repeated beyond measure."""
    return f"with every repeat these are {shorten_name(f'{number:,}')} steps; {most:,} is the most"


def no_identifier(name: str) -> str:
    """A name under which nothing can be saved."""
    return f"save_as is {shorten(name)}; give a name of letters, digits and _, which ${{name}} can refer to"


def key_is_no_text(key: Any) -> str:
    """A key that JSON cannot have."""
    return f"the key {shorten_name(repr(key))} is no text; tools are given JSON, so put it in quotes"


def no_json(value: Any) -> str:
    """A value that JSON cannot have."""
    return f"{shorten_name(str(value))} is read as {type(value).__name__}; tools are given JSON, so put it in quotes"


def no_reference(reference: str) -> str:
    """What stands between `${` and `}` names nothing."""
    written = f"${{{shorten_name(reference)}}}"
    return f"{written} is no reference such as ${{name.key.0}}; write ${written} if that text is meant"


def nothing_saved(reference: str, name: str, saved: Sequence[str]) -> str:
    """A reference to a result that no step saved."""
    written = f"${{{shorten_name(reference)}}}"
    there = f"saved by then: {', '.join(dict.fromkeys(saved))}" if saved else "nothing is saved by then"
    return (
        f"{written} refers to {shorten_name(name)!r}, which no earlier step saves{_nearest(name, saved)} "
        f"({there}); write ${written} if that text is meant"
    )


def nothing_inside(reference: str, done: str, key: str, value: Any) -> str:
    """A reference that goes further than its result."""
    if isinstance(value, Mapping):
        there = f"it has {', '.join(map(shorten_name, map(str, value))) or 'nothing'}{_nearest(key, list(value))}"
    elif isinstance(value, list):
        there = f"it is a list of {len(value)}, from 0"
    else:
        there = f"it is {shorten(value)}"
    return f"${{{shorten_name(reference)}}}: there is no {shorten_name(key)!r} in {shorten_name(done)}; {there}"


def _nearest(name: str, known: Collection[str]) -> str:
    return nearest(name, [each for each in known if isinstance(each, str)])


# --- Steps ----------------------------------------------------------------------------------------------------------


def step_line(result: StepResult) -> str:
    """One step as it happens."""
    details = f"  {shorten_name(result.details)}" if result.details else ""
    output = output_beside(result)
    return f"{MARKS[result.status]} {shorten_name(result.name)}{details}" + (f" → {output}" if output else "")


def output_beside(result: StepResult) -> str | None:
    """What the tool of a step answered; None where its details say so already."""
    shown = shorten(result.tool_output, SHOWN_OUTPUT)
    told = result.tool_output is None or any(said in result.details for said in (shown, str(result.tool_output)))
    return None if told else shown


def not_run(failed: str) -> str:
    """A step after one that failed."""
    return f"not run: {failed} failed"


def only_for_a_model() -> str:
    """A step without a tool, where no model is asked."""
    return "only a model can judge it"


def not_saved(names: Sequence[str]) -> str:
    """A step whose arguments are missing."""
    return f"not run: nothing was saved as {', '.join(map(repr, names))}"


def unknown_tool(tool: str, known: Collection[str]) -> str:
    """A step names a tool that there is not."""
    there = f" The tools are {', '.join(known)}."
    return f"There is no tool {shorten_name(tool)!r}{_nearest(tool, known) or '.'}{there}"


def does_not_hold(output: Any) -> str:
    """An assertion or a comparison that came out as false."""
    message = output.get("message") if isinstance(output, Mapping) else None
    return str(message) if message else shorten(output, SHOWN_OUTPUT)


def no_time() -> str:
    """A step that the deadline left no time for."""
    return "the test's time was over"


def after_attempts(problem: str, attempts: int) -> str:
    """A call that was made again, and failed again."""
    return f"{problem} (after {attempts} attempts)" if attempts > 1 else problem


# --- Verdicts -------------------------------------------------------------------------------------------------------


def dry_run_passed(results: Sequence[StepResult]) -> str:
    """A dry run in which every call succeeded."""
    passed = sum(result.status == "pass" for result in results)
    left = len(results) - passed
    others = f"; {left} more {'needs' if left == 1 else 'need'} a model" if left else ""
    return f"Dry run: {passed} {'call' if passed == 1 else 'calls'} succeeded{others}. Nobody judged the criteria."


def dry_run_unclear() -> str:
    """A dry run without any call."""
    return "Dry run: no step calls a tool, so only a model can judge this test."


def step_failed(result: StepResult) -> str:
    """A step that ended the test."""
    return f"{shorten_name(result.name)}: {result.details}"


def setup_failed() -> str:
    """Why the steps were not run."""
    return "not run: the setup failed"


def teardown_failed(result: StepResult) -> str:
    """A step of the teardown failed."""
    return f"{shorten_name(result.name)} failed: {result.details}"


def timed_out(seconds: float, during: str, done: Sequence[StepResult]) -> str:
    """A test took all its time."""
    finished = ", ".join(shorten_name(result.name) for result in done if result.status == "pass")
    return (
        f"Timed out after {seconds:g} s during {during}. Done until then: {shorten_name(finished, 500) or 'nothing'}."
    )


def no_verdict(said: str) -> str:
    """A model ended without a verdict."""
    return f"The model gave no verdict. It said: {shorten_name(said, SHOWN_OUTPUT) or '(nothing)'}"


def invalid_verdict(said: Any) -> str:
    """A model gave a verdict that is none of the three."""
    return f"The verdict {shorten(said)} is none of PASS, FAIL and UNCLEAR."


def contradicting_verdicts(said: str) -> str:
    """A model passed a test, and said otherwise before or after that."""
    return f"The model said PASS, and also another verdict: {shorten_name(said, SHOWN_OUTPUT)}"


def unfounded_pass(missing: Mapping[str, tuple[int, int]], reason: str) -> str:
    """A model passed a test without doing all of it: of each tool, how often it was called, and was to be."""
    listed = ", ".join(
        f"{shorten_name(tool)} was called {made} of {all_of} times" for tool, (made, all_of) in missing.items()
    )
    return f"The model said PASS without doing every step: {listed}. Its reason: {shorten_name(reason, SHOWN_OUTPUT)}"


def broken_assertions(failed: Sequence[str], reason: str) -> str:
    """A model passed a test although assertions did not hold."""
    return (
        f"The model said PASS, although {'; '.join(shorten_name(problem) for problem in failed)}. "
        f"Its reason: {shorten_name(reason, SHOWN_OUTPUT)}"
    )


def needs_live() -> str:
    """A driver that only asks real models, where real models are not asked."""
    return (
        "The driver claude-code asks a real model: add --llm-mock-live. "
        "Without a model, --llm-mock-dry-run calls the tools of the steps."
    )


def unscripted(problem: str) -> str:
    """A model that is mocked, and that nobody told what to answer."""
    return (
        f"{problem}\n\nA plain-language test asks a model. Add --llm-mock-live for a real one, or --llm-mock-dry-run "
        "to call the tools of its steps without one; or say what the mock answers in pytest_llm_mock_configure."
    )


# --- Drivers --------------------------------------------------------------------------------------------------------


def no_jinja2() -> str:
    """The library is not installed."""
    return (
        "Asking a model to judge a test needs jinja2, which is not installed. Run: pip install 'pytest-llm-mock[specs]'"
    )


def asking(who: str) -> str:
    """Who does the steps."""
    return f"asking {shorten_name(who)} …"


def called(call: ToolCallRecord) -> str:
    """A call that a model made."""
    return f"  {call}"


def model_working(model: str) -> str:
    """What a test was doing while a model had the word."""
    return f"the work of {shorten_name(model)}, which was given up"


def model_not_asked(model: str, error: Exception) -> str:
    """A model that cannot be asked at all."""
    said = str(error.args[0] if error.args else error)  # the text of a KeyError, which one of them is, has quotes
    return (
        f"The model {shorten_name(model)!r} cannot judge this test: {shorten_name(said, SHOWN_OUTPUT)}. "
        "Choose another model or driver (ini llm_mock_spec_driver), or try the steps without one: a dry run."
    )


def model_failed(model: str, error: str) -> str:
    """A model that did not come to an end."""
    return f"The model {shorten_name(model)!r} did not finish this test: {shorten_name(error, SHOWN_OUTPUT)}"


def no_claude(command: str) -> str:
    """The command of the driver is missing."""
    return (
        f"The command {shorten_name(command)!r} was not found in PATH. Install Claude Code with "
        "npm install -g @anthropic-ai/claude-code, or choose another driver: ini llm_mock_spec_driver"
    )


def cannot_run(command: str, error: Exception) -> str:
    """The system refuses to run the command."""
    return f"The command {shorten_name(command)!r} cannot be run: {error}"


def claude_failed(command: str, status: int, said: str, stderr: str) -> str:
    """The command failed."""
    parts = [f"The command {shorten_name(command)!r} failed, {exit_status(status)}."]
    parts += [f"It said: {shorten_name(said, SHOWN_OUTPUT)}"] if said.strip() else []
    lines = stderr.strip().splitlines()[-SHOWN_LINES:]
    parts += (
        ["The last that it wrote to stderr:", *(f"  {shorten_name(line, SHOWN_OUTPUT)}" for line in lines)]
        if lines
        else []
    )
    return "\n".join(parts)
