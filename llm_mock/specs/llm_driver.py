"""Has a model of `llm` do the steps of a test, as an agent with the test's tools, and judge it."""

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
from llm_mock.errors import DriverError, LLMMockError, TimeIsUp
from llm_mock.specs import explain
from llm_mock.specs.drivers import Task
from llm_mock.specs.evidence import checked
from llm_mock.specs.models import Verdict
from llm_mock.specs.prompt import render_question
from llm_mock.specs.steps import calls_of
from llm_mock.specs.verdicts import SCHEMA, has_verdict, parse_verdict
from llm_mock.support.redaction import default_redactor

MORE_TURNS = 10
"""How many answers a model may give besides one for each call."""

Work = tuple[str, list[ToolCallRecord]]
"""What a model said in the end, and the calls that it made."""


@dataclass(frozen=True)
class LLMDriver:
    """Asks a model of `llm`, live or mocked.

    The model does the steps in a run of an agent, and is to end with the verdict. Where it does not, it is asked once
    more for the verdict alone, without tools and by schema, as not every model takes both. What it says is
    checked against its calls: see `llm_mock.specs.evidence`.

    Each call that the model makes is reported when it was made.

    A model that takes longer than the test may is given up: it is waited for no longer, its tools are gone, and after
    its next call it is asked no more.
    """

    model: str | None = None
    """A model id or alias; None is the default model of `llm`."""

    name = "llm"
    needs_http = False

    def run(self, task: Task) -> Verdict:
        """Do the steps, and judge; see `Driver`.

        Raises:
            DriverError: there is no such model or no key for it, or it failed.
            InvalidAgent: it has no tools.
            LLMMockError: the mock or the cassette of the test has no answer.
        """
        __tracebackhide__ = True
        model = self.model or str(llm.get_default_model())  # type: ignore[no-untyped-call]
        task.report(explain.asking(model))
        try:
            said, calls = _until(task, partial(_work, task, model), explain.model_working(model))
        except (llm.UnknownModelError, llm.NeedsKeyException) as error:
            raise DriverError(explain.model_not_asked(model, error)) from None
        return checked(parse_verdict(said), task, calls)


def _until(task: Task, work: Callable[[], Work], doing: str) -> Work:
    """Do work in a thread, which is left alone once the deadline has passed: nothing else ends a call of a model."""
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
        raise TimeIsUp(doing)
    return outcome.result()


def _work(task: Task, model: str) -> Work:
    prompt = task.prompt
    turns = sum(1 + step.retry for _, step in calls_of(task.spec.steps)) + MORE_TURNS

    def called(call: ToolCallRecord) -> None:
        if task.deadline.passed:
            raise TimeIsUp(explain.model_working(model))
        task.report(explain.called(call))

    agent = Agent(Provider(model), mcp_servers=[task.tools.server], max_turns=turns)
    result = aitest_run_sync(agent, prompt, on_tool_call=called)
    if not result.success:
        raise _failed(model, result.error or "") from result.exception
    return _last_word(model, prompt, result), result.all_tool_calls


def _last_word(model: str, prompt: str, result: AgentResult) -> str:
    """What the model said in the end; where that has no verdict, what it says when it is asked for one."""
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
    return DriverError(explain.model_failed(model, default_redactor().clean(error)))
