"""Run agents: `llm`'s own chain of responses and tool calls, with the tools of servers."""

from __future__ import annotations

import asyncio
import functools
import math
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import llm

from llm_mock.agents import summary
from llm_mock.agents.agent import Agent
from llm_mock.agents.calls import OnToolCall, ToolCalls
from llm_mock.agents.environment import hide_secrets_of
from llm_mock.agents.pool import get_server_pool
from llm_mock.agents.rate_limit import RateLimiter
from llm_mock.agents.result import AgentResult, Turn, now
from llm_mock.agents.session import AgentSession
from llm_mock.agents.skill_tools import with_skill_tools
from llm_mock.boundaries.llm.chains import disable_retries, is_answered_by_mock
from llm_mock.boundaries.llm.execution_guard import is_async
from llm_mock.errors import InvalidAgent, LLMMockError, MissingExtra
from llm_mock.support.deadline import Deadline, DeadlinePassed
from llm_mock.support.exceptions import get_module_name
from llm_mock.support.text import described, format_error, shorten_name

if TYPE_CHECKING:
    from llm_mock.agents.tools import AgentTool

try:
    from llm_mock.agents.retry import Retries
except ModuleNotFoundError as missing:
    raise MissingExtra(
        f"Running agents needs {missing.name}, which is not installed. "
        "Run: pip install 'pytest-llm-mock[agents]'"
    ) from None

LIBRARIES = {"anyio", "asyncio", "concurrent", "contextlib", "llm", "llm_mock", "tenacity"}
"""The packages whose frames stand between a test and a tool of the application."""
# Turns are counted here: the limit of `llm` is an error even if the last response calls no tool.
NO_LIMIT = 0


async def aitest_run(
    agent: Agent | AgentSession,
    prompt: str,
    *,
    attachments: Sequence[llm.Attachment] = (),
    model_override: llm.Model | llm.AsyncModel | None = None,
    on_tool_call: OnToolCall | None = None,
) -> AgentResult:
    """Run an agent with a prompt until it responds without a tool call.

    Servers are started if needed and keep running for later tests. After a rate limit, a connection
    error or a server error of the provider, the turn is retried (`Provider.retries`). If a tool
    fails, the model gets its error message.

    Args:
        agent: the agent, or a session of one, which continues the conversation.
        prompt: the prompt of the user.
        attachments: attachments of the prompt, such as images.
        model_override: a model to use instead of the agent's, such as a `MockLLMModel`.
        on_tool_call: a callback for each finished tool call. If it raises, the run ends.

    Returns:
        The result. It is true if the agent finished, and false if `max_turns` or `timeout` was
        reached or the provider failed; `error` then has the reason.

    Raises:
        InvalidAgent: the agent has tools, but its model does not support tools.
        InvalidSession: the session is already running, or began with `aitest_run_sync`.
        ServerError: a server does not start, or two tools have the same name.
        llm.UnknownModelError: `llm` does not know the model.
        llm.NeedsKeyException: the model's API key is missing.
        LLMMockError: the mock or the cassette has no reply.
    """
    __tracebackhide__ = True
    session = _get_session(agent, prompt, "aitest_run")
    model = model_override
    if model is None:
        name = session.agent.asks.model
        try:
            model = llm.get_async_model(name)
        except llm.UnknownModelError:
            model = llm.get_model(name)
    servers = session.agent.servers
    server_tools: Sequence[AgentTool] = ()
    try:
        if servers:
            server_tools = await get_server_pool().tools_async(servers)
        run = _Run(session, model, server_tools, prompt, attachments, on_tool_call)
        if is_async(model):
            return await run.finish_async()
        # Some providers have only synchronous models.
        return await asyncio.to_thread(run.finish)
    except LLMMockError as error:
        _drop_library_frames(error)
        raise error


@functools.wraps(aitest_run)
def aitest_run_in_loop(*args: Any, **kwargs: Any) -> Coroutine[Any, Any, AgentResult]:
    """Return the coroutine of `aitest_run`, and fail in tests that are not async.

    This is the fixture `aitest_run`. Without the check, a test that is not async would pass without
    running the agent.
    """
    __tracebackhide__ = True
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise LLMMockError(
            "aitest_run is async, but this test is not, so the agent would not run. Use the "
            "fixture aitest_run_sync, or make the test async (with pytest-asyncio or anyio)."
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
    """Run an agent synchronously; arguments, result and errors are those of `aitest_run`."""
    __tracebackhide__ = True
    session = _get_session(agent, prompt, "aitest_run_sync")
    model = model_override
    if model is None:
        model = llm.get_model(session.agent.asks.model)
    servers = session.agent.servers
    server_tools: Sequence[AgentTool] = ()
    try:
        if servers:
            server_tools = get_server_pool().tools(servers)
        return _Run(session, model, server_tools, prompt, attachments, on_tool_call).finish()
    except LLMMockError as error:
        _drop_library_frames(error)
        raise error


def _drop_library_frames(error: LLMMockError) -> None:
    """Clear the traceback of an error if no frame belongs to the application.

    pytest then shows the line of the test, not that of a library.
    """
    entry = error.__traceback__
    while entry is not None:
        package = get_module_name(entry.tb_frame).partition(".")[0]
        if package not in LIBRARIES:
            return
        entry = entry.tb_next
    error.__traceback__ = None


def _get_session(agent: object, prompt: object, function: str) -> AgentSession:
    __tracebackhide__ = True
    if isinstance(agent, str) and isinstance(prompt, (Agent, AgentSession)):
        raise TypeError(f"{function} takes the agent first, then the prompt.")
    if not isinstance(agent, (Agent, AgentSession)):
        raise TypeError(f"{function} takes an Agent or an AgentSession, not {described(agent)}.")
    if not isinstance(prompt, str):
        raise TypeError(f"The prompt of a run must be a string, not {described(prompt)}.")
    if isinstance(agent, Agent):
        return AgentSession(agent)
    return agent


# Errors of the test, not of the agent.
TEST_ERRORS = (LLMMockError, AssertionError, llm.UnknownModelError, llm.NeedsKeyException)


class _Run:
    """A run of an agent. Its result is recorded however the run ends."""

    def __init__(
        self,
        session: AgentSession,
        model: Any,
        tools: Sequence[AgentTool],
        prompt: str,
        attachments: Sequence[Any],
        on_tool_call: OnToolCall | None,
    ) -> None:
        agent = session.agent
        if agent.skill is not None:
            tools = with_skill_tools(tools, agent.skill)
        if tools and not getattr(model, "supports_tools", False):
            raise InvalidAgent(
                f"The agent has tools, but the model {model.model_id!r} does not support tools. "
                "Choose another model."
            )
        if agent.servers:
            hide_secrets_of(agent.servers)
        self._session = session
        self._agent = agent
        self._model = disable_retries(model)
        self._prompt = prompt
        self._attachments = list(attachments)
        self._deadline = Deadline(agent.timeout or math.inf)
        self._calls = ToolCalls(tools, model, self._deadline, on_tool_call)
        provider = agent.asks
        is_offline = partial(is_answered_by_mock, model)
        self._rate_limiter: RateLimiter | None = None
        if provider.has_rate_limits and not is_offline():
            self._rate_limiter = RateLimiter(provider, str(model.model_id))
        self._retries = Retries(provider.retries, is_offline, self._deadline, self._rate_limiter)
        self._turns: list[Turn] = []
        self._start = time.perf_counter()
        self._turn_start = self._start
        self._started = now()
        self._error: str | None = "the run was interrupted"
        self._exception: BaseException | None = None

    def finish(self) -> AgentResult:
        __tracebackhide__ = True
        with self._responses() as responses:
            for response in responses:
                self._begin_turn(response)
                self._retries.read(response)
                text = response.text()
                if self._end_turn(text, response.usage(), response.tool_calls()):
                    break
            else:
                self._handle_unknown_tools()
        return self._session.results[-1]

    async def finish_async(self) -> AgentResult:
        __tracebackhide__ = True
        with self._responses() as responses:
            async with aclosing(responses):
                with anyio.move_on_after(self._deadline.left) as scope:
                    await self._take_turns(responses)
                if scope.cancelled_caught:
                    raise DeadlinePassed
        return self._session.results[-1]

    async def _take_turns(self, responses: Any) -> None:
        __tracebackhide__ = True
        async for response in responses:
            self._begin_turn(response)
            await self._retries.read_async(response)
            text = await response.text()
            usage = await response.usage()
            if self._end_turn(text, usage, await response.tool_calls()):
                return
        self._handle_unknown_tools()

    @contextmanager
    def _responses(self) -> Iterator[Any]:
        """Provide the responses of the chain.

        An error of the provider ends the run; an error of the test is raised.
        """
        __tracebackhide__ = True
        provider = self._agent.asks
        with self._session.continue_with(self._model) as conversation:
            try:
                chain = conversation.chain(
                    self._prompt,
                    system=self._agent.system,
                    tools=self._calls.tools or None,
                    attachments=self._attachments or None,
                    options=dict(provider.all_options),
                    key=provider.key,
                    # The providers cut long responses that are not streamed.
                    stream=self._model.can_stream,
                    chain_limit=NO_LIMIT,
                    before_call=self._calls.before_call,
                    after_call=self._calls.after_call,
                )
                try:
                    yield chain.responses()
                except TEST_ERRORS as error:
                    self._error = format_error(error)
                    raise
                except DeadlinePassed:
                    self._error = self._describe_timeout()
                except Exception as error:
                    self._error = format_error(error)
                    self._exception = error
                    retries = len(self._retries.errors)
                    if retries:
                        self._error += f" (after {retries + 1} attempts)"
            finally:
                self._session.results.append(self._result())
                summary.note(self._session.results[-1])

    def _describe_timeout(self) -> str:
        seconds = self._deadline.seconds
        return f"timeout={seconds:g} was reached: the run took longer than {seconds:g} seconds"

    def _begin_turn(self, response: Any) -> None:
        if self._turns:
            # By now `llm` has called the tools of the previous turn.
            self._complete(response.prompt.tool_results)
        self._turn_start = time.perf_counter()

    def _complete(self, results: Sequence[object]) -> None:
        records = self._calls.records(results)
        self._turns[-1] = replace(self._turns[-1], tool_calls=records)

    def _end_turn(self, text: str, usage: Any, requested: Sequence[Any]) -> bool:
        """Record a response, and return whether the run is over."""
        waited = self._retries.waited
        duration = time.perf_counter() - self._turn_start - waited
        errors = tuple(self._retries.errors)
        self._turns.append(Turn(text, (), usage, duration, errors, waited))
        if self._rate_limiter is not None:
            self._rate_limiter.add_tokens((usage.input or 0) + (usage.output or 0))
        self._calls.begin(requested)
        if not requested:
            self._error = None
            return True
        max_turns = self._agent.max_turns
        if len(self._turns) < max_turns:
            return False
        names = _join_names(requested)
        self._error = (
            f"max_turns={max_turns} was reached, and the model still wanted to call {names}"
        )
        return True

    def _handle_unknown_tools(self) -> None:
        # Before llm 0.32 the chain ends if an asynchronous model calls only unknown tools.
        self._complete([])
        names = _join_names(self._turns[-1].tool_calls)
        self._error = f"the model called tools that do not exist: {names}"

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


def _join_names(calls: Sequence[Any]) -> str:
    names = dict.fromkeys(call.name for call in calls)
    return ", ".join(map(shorten_name, names))
