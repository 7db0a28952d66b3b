"""Runs an agent: `llm`'s own chain of model answers and tool calls, with the tools of the agent's servers."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import Any

import anyio
import llm

from llm_mock.agents import summary
from llm_mock.agents.agent import Agent
from llm_mock.agents.calls import OnToolCall, ToolCalls
from llm_mock.agents.deadline import Deadline, RunTimedOut
from llm_mock.agents.environment import hide_secrets_of
from llm_mock.agents.pace import Pace
from llm_mock.agents.pool import pool_of_process
from llm_mock.agents.result import AgentResult, Turn, now
from llm_mock.agents.session import AgentSession
from llm_mock.agents.skill_tools import with_skill_tools
from llm_mock.boundaries.llm.chains import calls_nobody, single_attempts
from llm_mock.boundaries.llm.executing import is_async
from llm_mock.errors import InvalidAgent, LLMMockError, MissingExtra
from llm_mock.support.text import described, error_text, shorten_name

try:
    from llm_mock.agents.retry import Retries
except ModuleNotFoundError as missing:
    raise MissingExtra(
        f"Running agents needs {missing.name}, which is not installed. Run: pip install 'pytest-llm-mock[agents]'"
    ) from None

NO_LIMIT = 0
"""For `llm`, whose own limit is an error also where the last answer asks for no tool: turns are counted here."""


async def aitest_run(
    agent: Agent | AgentSession,
    prompt: str,
    *,
    attachments: Sequence[llm.Attachment] = (),
    model_override: llm.Model | llm.AsyncModel | None = None,
    on_tool_call: OnToolCall | None = None,
) -> AgentResult:
    """Give an agent a task, and let it work until it answers without calling a tool.

    Servers that do not run yet are started, and stay for the tests that follow. A rate limit, a connection error or a
    server error of the provider is retried (`Provider.retries`); a tool that fails is a result that the model sees.

    Args:
        agent: the agent, or a session of one, which carries the conversation on.
        prompt: what the user says.
        attachments: what the user gives with it, such as images.
        model_override: the model that is asked instead of the agent's, such as a `MockLLMModel`; None is the agent's.
        on_tool_call: is told each call of a server's tool as soon as it was made; an exception of it ends the run.

    Returns:
        The result: true where the agent came to an end. It is false, with the reason in `error`, where `max_turns` or
        `timeout` was reached or the provider failed.

    Raises:
        InvalidAgent: this agent can never run, as its model has no tools.
        InvalidSession: the session is running already, or began with `aitest_run_sync`.
        ServerError: a server does not start, or two of them have a tool of one name.
        llm.UnknownModelError: `llm` does not know the model.
        llm.NeedsKeyException: there is no key for it.
        LLMMockError: the mock or the cassette of the test has no answer.
    """
    __tracebackhide__ = True
    session = _session_of(agent, prompt)
    servers, model = session.agent.servers, model_override
    if model is None:
        try:
            model = llm.get_async_model(session.agent.asks.model)
        except llm.UnknownModelError:
            model = llm.get_model(session.agent.asks.model)
    tools = with_skill_tools(await pool_of_process().tools_async(servers) if servers else [], session.agent.skill)
    run = _Run(session, model, ToolCalls(tools, model, on_tool_call), prompt, attachments)
    if is_async(model):
        return await run.to_end_async()
    return await asyncio.to_thread(run.to_end)  # some providers have no other


@functools.wraps(aitest_run)
def aitest_run_in_loop(*args: Any, **kwargs: Any) -> Coroutine[Any, Any, AgentResult]:
    """The fixture `aitest_run`: as the function, but a test that is not async fails instead of passing unawaited."""
    __tracebackhide__ = True
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise LLMMockError(
            "aitest_run is a coroutine function, and this test is not async, so it would not run. Use the fixture "
            "aitest_run_sync here, or make the test async (with pytest-asyncio or anyio)."
        ) from None
    return aitest_run(*args, **kwargs)


def aitest_run_sync(
    agent: Agent | AgentSession,
    prompt: str,
    *,
    attachments: Sequence[llm.Attachment] = (),
    model_override: llm.Model | None = None,
    on_tool_call: OnToolCall | None = None,
) -> AgentResult:
    """The synchronous twin of `aitest_run`: the same arguments, result and errors."""
    __tracebackhide__ = True
    session = _session_of(agent, prompt)
    model = llm.get_model(session.agent.asks.model) if model_override is None else model_override
    servers = session.agent.servers
    tools = with_skill_tools(pool_of_process().tools(servers) if servers else [], session.agent.skill)
    return _Run(session, model, ToolCalls(tools, model, on_tool_call), prompt, attachments).to_end()


def _session_of(agent: Any, prompt: Any) -> AgentSession:
    __tracebackhide__ = True
    if not isinstance(agent, (Agent, AgentSession)):
        raise TypeError(f"aitest_run takes an Agent or an AgentSession, not {described(agent)}.")
    if not isinstance(prompt, str):
        raise TypeError(f"The prompt of a run is a text, not {described(prompt)}.")
    return AgentSession(agent) if isinstance(agent, Agent) else agent


class _Run:
    """A run, and what is known of it so far. Its result is kept however it ends."""

    def __init__(
        self, session: AgentSession, model: Any, calls: ToolCalls, prompt: str, attachments: Sequence[Any]
    ) -> None:
        __tracebackhide__ = True
        if calls.tools and not getattr(model, "supports_tools", False):
            raise InvalidAgent(
                f"The model {model.model_id!r} does not support tools, and the agent has some. Choose another model."
            )
        hide_secrets_of(session.agent.servers)
        self._session = session
        self._agent = session.agent
        self._model = single_attempts(model)
        self._calls = calls
        self._prompt = prompt
        self._attachments = list(attachments)
        self._deadline = calls.deadline = Deadline(self._agent.timeout)
        offline = calls_nobody(model)
        self._pace = Pace(self._agent.asks, str(model.model_id), offline)
        self._retries = Retries(self._agent.asks.retries, offline, self._deadline, self._pace)
        self._turns: list[Turn] = []
        self._start = self._turn_start = time.perf_counter()
        self._started = now()
        self._error: str | None = "the run was interrupted"
        self._exception: BaseException | None = None

    def to_end(self) -> AgentResult:
        __tracebackhide__ = True
        with self._responses() as responses:
            for response in responses:
                self._begin(response)
                self._retries.read(response)
                if self._answered(response.text(), response.usage(), response.tool_calls()):
                    break
            else:
                self._stopped()
        return self._session.results[-1]

    async def to_end_async(self) -> AgentResult:
        __tracebackhide__ = True
        with self._responses() as responses:
            async with aclosing(responses):
                with anyio.move_on_after(self._deadline.left) as scope:
                    await self._take_turns(responses)
                if scope.cancelled_caught:
                    self._deadline.passed()
        return self._session.results[-1]

    async def _take_turns(self, responses: Any) -> None:
        __tracebackhide__ = True
        async for response in responses:
            self._begin(response)
            await self._retries.read_async(response)
            if self._answered(await response.text(), await response.usage(), await response.tool_calls()):
                return
        self._stopped()

    @contextmanager
    def _responses(self) -> Iterator[Any]:
        """The responses of the chain. An error of the provider ends the run; what is wrong with the test is raised."""
        __tracebackhide__ = True
        provider = self._agent.asks
        with self._session.continued(self._model) as conversation:
            try:
                chain = conversation.chain(
                    self._prompt,
                    system=self._agent.system,
                    tools=self._calls.tools or None,
                    attachments=self._attachments or None,
                    options=provider.all_options,
                    key=provider.key,
                    stream=self._model.can_stream,  # the providers end long answers that are not streamed
                    chain_limit=NO_LIMIT,
                    before_call=self._calls.before_call,
                    after_call=self._calls.after_call,
                )
                try:
                    yield chain.responses()
                except (LLMMockError, AssertionError, llm.UnknownModelError, llm.NeedsKeyException) as error:
                    self._error = error_text(error)
                    raise
                except RunTimedOut as error:
                    self._error = str(error)
                except Exception as error:
                    retried = len(self._retries.errors)
                    after = f" (after {retried + 1} attempts)" if retried else ""
                    self._error, self._exception = error_text(error) + after, error
            finally:
                self._session.results.append(self._result())
                summary.note(self._session.results[-1])

    def _begin(self, response: Any) -> None:
        """A turn begins: the tools that the turn before asked for were called."""
        if self._turns:
            self._complete(response.prompt.tool_results)
        self._turn_start = time.perf_counter()

    def _complete(self, results: Sequence[Any]) -> None:
        self._turns[-1] = replace(self._turns[-1], tool_calls=self._calls.records(results))

    def _answered(self, text: str, usage: Any, asked: Sequence[Any]) -> bool:
        """The model answered. Returns whether the run is over."""
        waited = self._retries.waited
        took = time.perf_counter() - self._turn_start - waited
        self._turns.append(Turn(text, (), usage, took, tuple(self._retries.errors), waited))
        self._pace.took((usage.input or 0) + (usage.output or 0))
        self._calls.begin(asked)
        if not asked:
            self._error = None
        elif len(self._turns) >= self._agent.max_turns:
            wanted = f"the model still wanted to call {_names(asked)}"
            self._error = f"max_turns={self._agent.max_turns} was reached, and {wanted}"
        return not asked or len(self._turns) >= self._agent.max_turns

    def _stopped(self) -> None:
        """`llm` ended the chain: before 0.32, where an asynchronous model called only what is no tool."""
        self._complete([])
        self._error = f"the model called what is no tool: {_names(self._turns[-1].tool_calls)}"

    def _result(self) -> AgentResult:
        return AgentResult(
            agent=self._agent.label,
            model=str(self._model.model_id),
            prompt=self._prompt,
            turns=tuple(self._turns),
            success=self._error is None,
            error=self._error,
            exception=self._exception,
            duration=time.perf_counter() - self._start,
            started=self._started,
            parts=self._agent.parts,
        )


def _names(calls: Sequence[Any]) -> str:
    return ", ".join(shorten_name(name) for name in dict.fromkeys(call.name for call in calls))
