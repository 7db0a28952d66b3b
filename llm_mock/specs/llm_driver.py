"""A driver that uses a model of `llm` as an agent to run and judge a test."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

import llm

from llm_mock.agents import Agent, AgentResult, CLIServer, MCPServer, Provider, aitest_run_sync
from llm_mock.agents.result import ToolCallRecord, Turn
from llm_mock.errors import DriverError, LLMMockError
from llm_mock.specs.drivers import Driver, Task, build_timeout_error
from llm_mock.specs.models import MAX_SHOWN, Verdict
from llm_mock.specs.prompt import render_verdict_prompt
from llm_mock.specs.steps import iterate_calls
from llm_mock.specs.verdict_consistency import check_verdict
from llm_mock.specs.verdicts import SCHEMA, has_verdict, parse_verdict
from llm_mock.support.text import shorten_name

EXTRA_TURNS = 10
"""The number of turns that a model may take in addition to one for each call."""

Work = tuple[str, list[ToolCallRecord]]
"""The last answer of a model, and the calls that it made."""


@dataclass(frozen=True)
class LLMDriver(Driver):
    """A driver that uses a model of `llm`, live or mocked.

    The model runs the steps as an agent, and should end with the verdict. If the verdict is
    missing, a second request asks for it with a schema and without tools, because not every model
    supports both together. The calls of the model are reported as they happen, and the verdict is
    checked against them: see `llm_mock.specs.verdict_consistency`.

    When the test times out, the work of the model is abandoned: its tools end, and after its next
    tool call it receives no further request.
    """

    model: str | None = None
    """A model id or alias; None is the default model of `llm`."""

    name = "llm"

    @property
    def model_id(self) -> str:
        """Return the id of the model, by default that of `llm`."""
        return self.model or str(llm.get_default_model())  # type: ignore[no-untyped-call]

    def run(self, task: Task) -> Verdict:
        """Run the steps with the model, and return its verdict."""
        __tracebackhide__ = True
        model = self.model_id
        task.report(f"asking {shorten_name(model)} …")
        try:
            answer, calls = _run_in_thread(task, partial(_run_agent, task, model), model)
        except (llm.UnknownModelError, llm.NeedsKeyException) as error:
            raise DriverError(_describe_unusable_model(model, error)) from None
        return check_verdict(parse_verdict(answer), task, calls)


def _run_in_thread(task: Task, work: Callable[[], Work], model: str) -> Work:
    """Run work in a thread, and abandon it when the deadline has passed.

    It needs a thread, because a call to a model cannot be interrupted.
    """
    __tracebackhide__ = True
    outcome: Future[Work] = Future()
    # The mock of the test is found by the context.
    context = contextvars.copy_context()

    def run() -> None:
        try:
            outcome.set_result(context.run(work))
        except BaseException as error:
            outcome.set_exception(error)

    # Not by an executor, whose threads would keep the process from ending.
    threading.Thread(target=run, name="llm-mock-driver", daemon=True).start()
    wait([outcome], task.deadline.left)
    if not outcome.done():
        raise build_timeout_error(model)
    return outcome.result()


def _run_agent(task: Task, model: str) -> Work:
    prompt = task.prompt
    max_turns = EXTRA_TURNS
    for _, step in iterate_calls(task.spec.steps):
        max_turns += 1 + step.retry

    def report_call(call: ToolCallRecord) -> None:
        # The test has already ended if its time is up.
        if not task.deadline.left:
            raise build_timeout_error(model)
        task.report(f"  {call}")

    servers = task.tools.servers
    agent = Agent(
        Provider(model),
        mcp_servers=[server for server in servers if isinstance(server, MCPServer)],
        cli_servers=[server for server in servers if isinstance(server, CLIServer)],
        max_turns=max_turns,
    )
    result = aitest_run_sync(agent, prompt, on_tool_call=report_call)
    if task.on_run is not None:
        task.on_run(result)
    if not result.success:
        raise _build_error(model, result.error or "") from result.exception
    return _get_answer(task, model, result), result.all_tool_calls


def _get_answer(task: Task, model: str, result: AgentResult) -> str:
    """Return the last answer of a model; ask for the verdict if it has none."""
    answer = result.final_response
    if has_verdict(answer):
        return answer
    llm_model: Any = llm.get_model(model)
    schema = SCHEMA if llm_model.supports_schema else None
    question = render_verdict_prompt(task.prompt, result.all_tool_calls, answer)
    try:
        response = llm_model.prompt(question, schema=schema)
        text = str(response.text())
        usage = response.usage()
    except (LLMMockError, AssertionError, Warning):
        # An error of the mock, not of the model: it fails the test.
        raise
    except Exception as error:
        raise _build_error(model, f"{type(error).__name__}: {error}") from error
    if task.on_run is not None:
        # The question costs tokens, too.
        turn = Turn(text, (), usage)
        task.on_run(AgentResult(result.agent, result.model, question, (turn,), True))
    return text


def _build_error(model: str, error: str) -> DriverError:
    text = shorten_name(error, MAX_SHOWN)
    return DriverError(f"The model {shorten_name(model)!r} did not finish this test: {text}")


def _describe_unusable_model(model: str, error: Exception) -> str:
    # UnknownModelError is a KeyError, whose text has quotes.
    text = str(error.args[0] if error.args else error)
    return (
        f"The model {shorten_name(model)!r} cannot judge this test: "
        f"{shorten_name(text, MAX_SHOWN)}. Choose another model or driver "
        "(ini llm_mock_spec_driver), or run the steps without a model in a dry run."
    )
