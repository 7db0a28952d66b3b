"""The driver that has a model of `llm` do the steps of a test, as an agent with the test's tools, and judge it."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

import llm

from llm_mock.agents import Agent, AgentResult, Provider, aitest_run_sync
from llm_mock.agents.result import ToolCallRecord
from llm_mock.errors import DriverError, LLMMockError
from llm_mock.specs.drivers import Driver, Task, given_up
from llm_mock.specs.evidence import checked
from llm_mock.specs.models import SHOWN_OUTPUT, Verdict
from llm_mock.specs.prompt import render_question
from llm_mock.specs.steps import calls_of
from llm_mock.specs.verdicts import SCHEMA, has_verdict, parse_verdict
from llm_mock.support.text import shorten_name

MORE_TURNS = 10
"""How many answers a model may give besides one for each call."""

Work = tuple[str, list[ToolCallRecord]]
"""The last answer of a model, and the calls that it made."""


@dataclass(frozen=True)
class LLMDriver(Driver):
    """Asks a model of `llm`, live or mocked.

    The model does the steps in a run of an agent, and should end with the verdict. Where it does not, it is asked once
    more for the verdict alone, without tools and by schema, as not every model takes both. Its calls are reported as it
    makes them, and what it says is checked against them: see `llm_mock.specs.evidence`.

    A model that takes longer than the test may is given up: its tools end, and after its next call it is not asked
    again.
    """

    model: str | None = None
    """A model id or alias; None is the default model of `llm`."""

    name = "llm"

    def run(self, task: Task) -> Verdict:
        __tracebackhide__ = True
        model = self.model or str(llm.get_default_model())  # type: ignore[no-untyped-call]
        task.report(f"asking {shorten_name(model)} …")
        try:
            said, calls = _in_time(task, partial(_work, task, model), model)
        except (llm.UnknownModelError, llm.NeedsKeyException) as error:
            raise DriverError(_not_asked(model, error)) from None
        return checked(parse_verdict(said), task, calls)


def _in_time(task: Task, work: Callable[[], Work], model: str) -> Work:
    """Do work in a thread, which is left alone once the deadline has passed: a call of a model cannot be ended."""
    __tracebackhide__ = True
    outcome: Future[Work] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            outcome.set_result(context.run(work))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name="llm-mock-driver", daemon=True).start()
    wait([outcome], task.deadline.left)
    if not outcome.done():
        raise given_up(model)
    return outcome.result()


def _work(task: Task, model: str) -> Work:
    prompt = task.prompt
    turns = sum(1 + step.retry for _, step in calls_of(task.spec.steps)) + MORE_TURNS

    def called(call: ToolCallRecord) -> None:
        if not task.deadline.left:
            raise given_up(model)
        task.report(f"  {call}")

    agent = Agent(Provider(model), mcp_servers=[task.tools.server], max_turns=turns)
    result = aitest_run_sync(agent, prompt, on_tool_call=called)
    if not result.success:
        raise _failed(model, result.error or "") from result.exception
    return _last_answer(model, prompt, result), result.all_tool_calls


def _last_answer(model: str, prompt: str, result: AgentResult) -> str:
    """The last answer of the model; where it has no verdict, its answer when it is asked for one."""
    said = result.final_response
    if has_verdict(said):
        return said
    asked: Any = llm.get_model(model)
    schema = SCHEMA if asked.supports_schema else None
    try:
        return str(asked.prompt(render_question(prompt, result.all_tool_calls, said), schema=schema).text())
    except (LLMMockError, AssertionError, Warning):
        raise
    except Exception as error:
        raise _failed(model, f"{type(error).__name__}: {error}") from error


def _failed(model: str, error: str) -> DriverError:
    shown = shorten_name(error, SHOWN_OUTPUT)
    return DriverError(f"The model {shorten_name(model)!r} did not finish this test: {shown}")


def _not_asked(model: str, error: Exception) -> str:
    said = str(error.args[0] if error.args else error)  # the text of a KeyError, which one of them is, has quotes
    return (
        f"The model {shorten_name(model)!r} cannot judge this test: {shorten_name(said, SHOWN_OUTPUT)}. "
        "Choose another model or driver (ini llm_mock_spec_driver), or try the steps without one: a dry run."
    )
