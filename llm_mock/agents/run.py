"""Runs an agent: `llm`'s own chain of model answers and tool calls, with the tools of the agent's servers."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import Any

import llm

from llm_mock.agents import summary
from llm_mock.agents.agent import Agent, Provider
from llm_mock.agents.calls import OnToolCall, ToolCalls
from llm_mock.agents.environment import secrets_of_servers
from llm_mock.agents.pool import pool_of_process
from llm_mock.agents.result import AgentResult, Turn, now
from llm_mock.agents.session import AgentSession
from llm_mock.boundaries.llm import boundary
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
        The result: true where the agent came to an end. It is false, with the reason in `error`, where `max_turns` was
        reached or the provider failed.

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
    provider, servers = session.agent.asks, session.agent.servers
    model = _model_for_loop(provider) if model_override is None else model_override
    tools = await pool_of_process().tools_async(servers) if servers else []
    calls = ToolCalls(tools, model, on_tool_call)
    if boundary.is_async(model):
        return await _run_async(session, model, calls, prompt, attachments)
    return await asyncio.to_thread(_run, session, model, calls, prompt, attachments)  # some providers have no other


@functools.wraps(aitest_run)
def aitest_run_in_loop(*args: Any, **kwargs: Any) -> Coroutine[Any, Any, AgentResult]:
    """The fixture `aitest_run`: as the function, but a test that is not async fails instead of passing unawaited.

    Raises:
        LLMMockError: no event loop is running.
    """
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
    tools = pool_of_process().tools(session.agent.servers) if session.agent.servers else []
    return _run(session, model, ToolCalls(tools, model, on_tool_call), prompt, attachments)


def _session_of(agent: Any, prompt: Any) -> AgentSession:
    __tracebackhide__ = True
    if not isinstance(agent, (Agent, AgentSession)):
        raise TypeError(f"aitest_run takes an Agent or an AgentSession, not {described(agent)}.")
    if not isinstance(prompt, str):
        raise TypeError(f"The prompt of a run is a text, not {described(prompt)}.")
    return AgentSession(agent) if isinstance(agent, Agent) else agent


def _model_for_loop(provider: Provider) -> Any:
    """The asynchronous model, or the synchronous one where there is only that."""
    try:
        return llm.get_async_model(provider.model)
    except llm.UnknownModelError:
        return llm.get_model(provider.model)


def _run(session: AgentSession, model: Any, calls: ToolCalls, prompt: str, attachments: Sequence[Any]) -> AgentResult:
    __tracebackhide__ = True
    with _running(session, model, calls, prompt, attachments) as (run, responses):
        for response in responses:
            run.begin(response)
            run.retries.read(response)
            if run.answered(response.text(), response.usage(), response.tool_calls()):
                break
        else:
            run.stopped()
    return session.results[-1]


async def _run_async(
    session: AgentSession, model: Any, calls: ToolCalls, prompt: str, attachments: Sequence[Any]
) -> AgentResult:
    __tracebackhide__ = True
    with _running(session, model, calls, prompt, attachments) as (run, responses):
        async with aclosing(responses):
            async for response in responses:
                run.begin(response)
                await run.retries.read_async(response)
                if run.answered(await response.text(), await response.usage(), await response.tool_calls()):
                    break
            else:
                run.stopped()
    return session.results[-1]


@contextmanager
def _running(
    session: AgentSession, model: Any, calls: ToolCalls, prompt: str, attachments: Sequence[Any]
) -> Iterator[tuple[_Run, Any]]:
    """A run with the responses of its chain. Its result is kept however it ends."""
    __tracebackhide__ = True
    if calls.tools and not getattr(model, "supports_tools", False):
        raise InvalidAgent(
            f"The model {model.model_id!r} does not support tools, and the agent has some. Choose another model."
        )
    run = _Run(session.agent, model, calls, prompt)
    with session.continued(run.model) as conversation:
        try:
            chain = conversation.chain(prompt, **run.arguments(attachments))
            with run.ending():
                yield run, chain.responses()
        finally:
            session.results.append(run.result())
            summary.note(session.results[-1])


class _Run:
    """What is known of a run so far."""

    def __init__(self, agent: Agent, model: Any, calls: ToolCalls, prompt: str) -> None:
        self._agent = agent
        self._calls = calls
        self._prompt = prompt
        self._turns: list[Turn] = []
        self._asked: list[Any] = []
        self._start = self._turn_start = time.perf_counter()
        self._started = now()
        self._success = False
        self._error: str | None = "the run was interrupted"
        self._exception: BaseException | None = None
        self.model = boundary.single_attempts(model)
        self.retries = Retries(agent.asks.retries, boundary.calls_nobody(model))

    def arguments(self, attachments: Sequence[Any]) -> dict[str, Any]:
        """What the conversation's `chain` is called with, besides the prompt."""
        provider = self._agent.asks
        return {
            "system": self._agent.system,
            "tools": self._calls.tools or None,
            "attachments": list(attachments) or None,
            "options": dict(provider.options),
            "key": provider.key,
            "stream": self.model.can_stream,  # the providers end long answers that are not streamed
            "chain_limit": NO_LIMIT,
            "before_call": self._calls.before_call,
            "after_call": self._calls.after_call,
        }

    def begin(self, response: Any) -> None:
        """A turn begins: the tools that the turn before asked for were called."""
        if self._asked:
            self._complete(response.prompt.tool_results)
        self._turn_start = time.perf_counter()

    def _complete(self, results: Sequence[Any]) -> None:
        self._turns[-1] = replace(self._turns[-1], tool_calls=self._calls.records(results))
        self._asked = []

    def answered(self, text: str, usage: Any, asked: Sequence[Any]) -> bool:
        """The model answered. Returns whether the run is over."""
        self._turns.append(Turn(text, (), usage, time.perf_counter() - self._turn_start, tuple(self.retries.errors)))
        self._asked = list(asked)
        self._calls.begin(self._asked)
        if not asked:
            self._success, self._error = True, None
            return True
        if len(self._turns) >= self._agent.max_turns:
            wanted = f"the model still wanted to call {self._names_asked()}"
            self._error = f"max_turns={self._agent.max_turns} was reached, and {wanted}"
            return True
        return False

    def stopped(self) -> None:
        """`llm` ended the chain: before 0.32, where an asynchronous model called only what is no tool."""
        self._error = f"the model called what is no tool: {self._names_asked()}"
        self._complete([])

    def _names_asked(self) -> str:
        return ", ".join(shorten_name(name) for name in dict.fromkeys(call.name for call in self._asked))

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Has an error of the provider end the run. What is wrong with the test itself is raised."""
        __tracebackhide__ = True
        try:
            yield
        except (LLMMockError, AssertionError, llm.UnknownModelError, llm.NeedsKeyException) as error:
            self._error = error_text(error)
            raise
        except Exception as error:
            retried = len(self.retries.errors)
            after = f" (after {retried + 1} attempts)" if retried else ""
            self._error, self._exception = error_text(error) + after, error

    def result(self) -> AgentResult:
        """What the run gave."""
        return AgentResult(
            agent=self._agent.label,
            model=str(self.model.model_id),
            prompt=self._prompt,
            turns=tuple(self._turns),
            success=self._success,
            error=self._error,
            exception=self._exception,
            duration=time.perf_counter() - self._start,
            started=self._started,
            secrets=tuple(secrets_of_servers(self._agent.servers)),
        )
