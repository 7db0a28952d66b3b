"""The mock: answers calls, checks the answers, and keeps the history."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from llm_mock.core.answer import Answer
from llm_mock.core.call import Call, new_call
from llm_mock.core.checks import check_reply
from llm_mock.core.configurator import PlainNames, ResponseConfigurator, check_name
from llm_mock.core.diagnostics import (
    explain_reply_to_embedding,
    explain_unexpected_call,
    explain_unexpected_embedding,
    explain_unused,
)
from llm_mock.core.history import History
from llm_mock.core.model_names import is_glob, matches_name
from llm_mock.core.records import format_call, format_call_history, mark_shown
from llm_mock.core.reply import DEFAULT_REPLY, UNSET, Reply, ReplyFunction, to_exception
from llm_mock.core.reply_functions import call_reply_function, call_reply_function_async
from llm_mock.core.script import QueuedReply, Script
from llm_mock.core.settings import Settings
from llm_mock.core.source_location import (
    SourceLocation,
    find_caller,
    find_project_lines,
    format_origin,
    warn_caller,
)
from llm_mock.core.tokens import CHARACTERS_PER_TOKEN, add_cached_tokens, count_input_tokens
from llm_mock.errors import (
    EndlessToolCalls,
    InvalidMock,
    InvalidReply,
    LLMMockError,
    SchemaViolation,
    SchemaViolationWarning,
    UnexpectedCall,
    UnusedReplies,
)
from llm_mock.support.locks import Lock
from llm_mock.support.numbers import is_number, is_whole
from llm_mock.support.redaction import redact
from llm_mock.support.text import (
    describe_respelt,
    differs_in_case,
    find_nearest_text,
    find_with_other_prefix,
    join_names,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from llm_mock.core.call_log import LoggedCall
    from llm_mock.core.latency import Latency
    from llm_mock.core.protocols import (
        AppliedMisbehaviour,
        AppliedQuotas,
        Behaviour,
        NameResolver,
        PassthroughCall,
        ProcessChannel,
        RecordedAnswers,
    )
    from llm_mock.core.request import Request
    from llm_mock.core.vectors import EmbeddingState
    from llm_mock.support.json_types import JSONObject

logger = logging.getLogger("llm_mock")
SHOWN_TEXTS = 5
"""The maximum number of embedded texts in a message."""
MAX_TOOL_TURNS = 100
"""The maximum number of turns of one conversation in which a reply of `set` calls a tool.

An application without its own limit would otherwise never stop."""
MAX_STORED_OBJECTS = 10_000
"""The number of objects that a mock stores, if it keeps all calls."""


class Mock:
    """A mock that answers, checks and records calls.

    If this mock has no reply to a call, its parent answers.

    Args:
        behaviour: the behaviour of models beyond configured replies.
        parent: the parent mock; None for none.
        names: the resolver of model names; by default each name is an id.
        standing_only: whether to refuse queued replies.
        settings: the settings; by default those of the parent.
    """

    problem_places: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """The lines of the project that led to the problems of this process."""
    own_environments: tuple[str, ...] = ()
    """The lines that started Python processes with an environment without the mock."""

    def __init__(
        self,
        behaviour: Behaviour,
        parent: Mock | None = None,
        *,
        names: NameResolver | None = None,
        standing_only: bool = False,
        settings: Settings | None = None,
    ) -> None:
        self.names: NameResolver = names or PlainNames()
        self.configurator = ResponseConfigurator(
            self.names, self._share, standing_only=standing_only
        )
        """The configured replies."""
        self.settings: Settings = settings or (parent.settings if parent else Settings())
        self.history: History = History(parent.history if parent else None)
        """The calls."""
        self.cassette: RecordedAnswers | None = None
        """The cassette that answers calls without a configured reply, instead of the parent."""
        self.misbehaviour: AppliedMisbehaviour | None = None
        """The misbehaviour of the models, which changes the replies of this mock."""
        self.quotas: AppliedQuotas | None = None
        """The quotas of models, if there are any."""
        if parent is not None and parent.quotas is not None:
            self.quotas = parent.quotas.create_child()
        self.folder: ProcessChannel | None = None
        """The channel to other processes, if there are any."""
        self.parent = parent
        self.called: dict[str, None] = {}
        """The ids of the called models, in the order of their first calls."""
        self.ended_test: str | None = None
        """The name of this mock's test, if it has ended but a thread or task of it still runs."""
        self.stored_objects: dict[str, Any] = {}
        """The objects that an API stores on its server, such as responses, by their ids."""
        self.stored_count = 0
        """The number of all objects that `store_object` stored."""
        self._behaviour = behaviour
        self._problems: list[str] = []
        self._refusals: list[str] = []
        self._not_mocked: dict[str, int] = {}
        self.not_mocked_problems: dict[str, str] = {}
        """The problem of each request to a server that is not mocked, in a strict test."""
        self.left_alone: dict[str, str] = {}
        """The reason for each request of this process that is not mocked on purpose."""
        self._embedding_states: dict[str, EmbeddingState] = {}
        self._lock = Lock()

    def get_self(self) -> Mock:
        """Return this mock. Models that are used without a boundary find their mock this way."""
        return self

    # The calls

    @property
    def calls(self) -> list[Call]:
        """All calls of all models in order, including those of other processes."""
        self._receive()
        return self.history.calls

    @property
    def problems(self) -> list[str]:
        """The problems that fail the test, even if the application handled them."""
        self._receive()
        return self._problems

    @property
    def refusals(self) -> list[str]:
        """The refused requests, which the application may handle."""
        self._receive()
        return self._refusals

    @property
    def not_mocked(self) -> dict[str, int]:
        """The number of requests to each local server that this run did not start."""
        self._receive()
        return self._not_mocked

    @property
    def prices(self) -> tuple[Any, ...]:
        """The prices of models; of several prices of one model, the last one applies."""
        inherited = self.parent.prices if self.parent else self.settings.prices
        return inherited + self.configurator.replies.prices

    def logged_calls(self, start: int = 0) -> list[LoggedCall]:
        """Return the calls of a report with their details, from a position on."""
        self._receive()
        return [] if self.history.log is None else self.history.log.get_calls(start)

    def calls_of(self, name: str) -> list[Call]:
        """Return the calls to one model in order; an empty list if it was never called.

        Args:
            name: the id or an alias of the model.

        Raises:
            InvalidMock: the name is a pattern, or differs from a called model only in its
                spelling.
        """
        __tracebackhide__ = True
        check_name(name)
        # Resolving an alias loads the models of all plugins of `llm`: not needed without calls.
        if self.folder is None and self.history.is_empty:
            return []
        calls = self.calls_of_id(self.configurator.get_model_id(name))
        if not calls:
            self._explain_no_calls(name)
        return calls

    def _explain_no_calls(self, name: str) -> None:
        """Raise an InvalidMock for a respelt name or a pattern; note a likely wrong prefix."""
        __tracebackhide__ = True
        respelt = self.explain_respelt_model(name)
        if is_glob(name):
            respelt = "a pattern is not supported. Pass the name of one model, or filter .calls."
        if respelt:
            raise InvalidMock(f"calls_of({name!r}): {respelt}")
        other = find_with_other_prefix(name, [call["model_id"] for call in self.calls])
        if other is not None:
            origin = format_origin(find_caller())
            # Not an error: the name with the prefix may be another model.
            self.configurator.replies.add_hint(
                f"No call to {name!r} was found{origin}, but calls to {other!r} were made. If you "
                f"mean these calls, write {other!r}."
            )

    def explain_respelt_model(self, name: str) -> str:
        """Return a sentence about a called model whose name differs only in its spelling.

        Args:
            name: the name of the model that was not called.

        Returns:
            The sentence; empty if there is no such model.
        """
        return describe_respelt(name, [call["model_id"] for call in self.calls])

    def calls_of_id(self, model_id: str) -> list[Call]:
        """Return the calls to one model in order, by its id."""
        self._receive()
        return self.history.state(model_id).calls

    def forget_calls(self, model_id: str) -> None:
        """Remove the calls to one model from the history."""
        self._receive()
        self.history.forget(model_id)

    def assert_all_replies_used(self) -> None:
        """Assert that every reply queued with `add` was used.

        The plugin calls this at the end of each test.

        Raises:
            UnusedReplies: some replies were not used. The message lists them and the calls.
        """
        __tracebackhide__ = True
        message = self.unused_replies()
        if message:
            calls = self.calls
            error = UnusedReplies(f"{message}\n{format_call_history(calls)}")
            raise mark_shown(error, calls, message)

    def unused_replies(self) -> str | None:
        """Return a message about the queued replies that were not used; None if there are none."""
        # With a misbehaving model, the application may stop early.
        if self.misbehaviour is not None:
            return None
        unused = [reply for reply in self.configurator.replies.get_queued() if not reply.optional]
        if not unused:
            return None
        return explain_unused(self, unused, self.calls)

    def note_problem(self, message: str) -> None:
        """Note a problem that fails the test, even if the application handles it."""
        self._note("problem", message)

    def note_refusal(self, message: str) -> None:
        """Note a refused request; it is a problem in a strict test."""
        self._note("problem" if self.settings.strict == "error" else "refusal", message)

    def record_refused(self, request: Request, error: Exception, message: str) -> None:
        """Record a call that its provider would refuse; the application may handle the error.

        Args:
            request: the request.
            error: the provider's error.
            message: the explanation, which a failing test shows.
        """
        record = self._begin(request)
        self._fail(record, error, request.describe_failure(error, begun=False))
        self.note_invalid_request(message)

    def note_invalid_request(self, message: str) -> None:
        """Note a request that its provider would refuse; the application may handle the error."""
        # Not a problem even in a strict test: the real provider also only returns an error.
        self._note("refusal", message)

    def note_not_mocked(self, request: str, message: str) -> None:
        """Note a request to a server that is not mocked; it is a problem in a strict test.

        Args:
            request: the method and URL.
            message: the problem.
        """
        self._note("not mocked", request)
        if self.settings.strict == "error":
            self.not_mocked_problems[request] = message
            self._note("problem", message)

    def note_own_environment(self) -> None:
        """Note that the project starts a Python process with an environment without the mock."""
        lines = find_project_lines()[:1]
        if not set(lines) <= set(self.own_environments):
            self.own_environments += lines

    def add_not_mocked(self, requests: Mapping[str, int]) -> None:
        """Add the numbers of requests that were not mocked, of a test or of another process."""
        for request, number in requests.items():
            self._not_mocked[request] = self._not_mocked.get(request, 0) + number

    def explain_left_alone(self, model: str = "") -> str:
        """Return a message that no call reached the mock, with the requests that were not mocked.

        It is empty if there are no such requests.

        Args:
            model: the name of the model that was not called; empty for any model.
        """
        requests = [*self.not_mocked, *self.left_alone]
        if not requests:
            return ""
        subject = f"No call to model {model!r}" if model else "No call"
        return f"{subject} reached the mock. Not mocked: {join_names(requests)}."

    def _note(self, kind: str, message: str) -> None:
        """Add a note, and send it to the process of the test."""
        if self.folder is not None:
            self.folder.send_note(kind, message)
        if kind == "problem":
            self.problem_places = {message: find_project_lines(), **self.problem_places}
        self._add_note(kind, message)

    def _add_note(self, kind: str, message: str) -> None:
        """Add a note of this or another process; see `ProcessChannel.send_note`."""
        if kind == "not mocked":
            self.add_not_mocked({message: 1})
            return
        notes = self._problems if kind == "problem" else self._refusals
        notes.append(message)

    # Configuration beside the replies

    def misbehave(self, name: str, times: int | None = None) -> AppliedMisbehaviour:
        """Make models misbehave from now on, as the marker `llm_mock_misbehaviour` does for a test.

        Args:
            name: the name of the misbehaviour; `llm-mock misbehaviours` lists them.
            times: the number of calls to apply it to; by default all calls.

        Returns:
            The misbehaviour, which also lists the calls that it changed. To end it, set
            `misbehaviour` to None.

        Raises:
            UnknownMisbehaviour: the name is unknown, or `times` is less than 1.
        """
        __tracebackhide__ = True
        self.misbehaviour = self._behaviour.create_misbehaviour(name, times)
        self.configurator.replies.misbehaviour = (name, times)
        self._share()
        return self.misbehaviour

    def set_quota(self, model: str, *, rpm: int | None = None, tpm: int | None = None) -> None:
        """Answer calls to a model with the provider's 429 error once its quota is used up.

        Tests need not wait for the next minute: the quota is free again after a retry that waits
        as long as the error says, or after `advance_clock`.

        Example:
            `mock.set_quota("gpt-4o", rpm=2, tpm=90_000)`

        Args:
            model: id, alias, a glob of ids, or `"*"`; each model that matches has its own quota.
            rpm: requests per minute; None for no limit.
            tpm: tokens per minute, of requests and answers together; None for no limit. If both
                limits are None, the model has no quota any more.

        Raises:
            InvalidReply: a limit is not a whole number of at least 1.
        """
        __tracebackhide__ = True
        for name, limit in (("rpm", rpm), ("tpm", tpm)):
            if limit is not None and not is_whole(limit, 1):
                raise InvalidReply(f"{name}={limit!r}: pass a whole number of at least 1, or None.")
        # Other processes apply the same limits; each process counts only its own calls.
        self.configurator.replies.quotas[self.configurator.register_name(model)] = (rpm, tpm)
        self._apply_quotas()
        self._share()

    def _apply_quotas(self) -> None:
        """Apply the quotas of the configuration, and keep what was counted before."""
        for model_id, limits in self.configurator.replies.quotas.items():
            if self.quotas is None:
                self.quotas = self._behaviour.create_quotas()
            self.quotas.set(model_id, *limits)

    def advance_clock(self, seconds: float) -> None:
        """Advance the clock of the quotas of models, without waiting.

        Raises:
            InvalidReply: `seconds` is not a number of at least 0.
        """
        __tracebackhide__ = True
        if not is_number(seconds):
            raise InvalidReply(f"seconds={seconds!r}: pass a number of at least 0.")
        if self.quotas is not None:
            self.quotas.advance(seconds)

    def embedding_state(self, model_id: str) -> EmbeddingState:
        """Return the state of an embedding model, which falls back to that of the parent."""
        from llm_mock.core.vectors import EmbeddingState

        # `setdefault`, because another thread may do the same at the same time.
        if model_id not in self._embedding_states:
            parent = self.parent.embedding_state(model_id) if self.parent else None
            state = EmbeddingState(model_id, self.configurator, parent)
            self._embedding_states.setdefault(model_id, state)
        return self._embedding_states[model_id]

    def embed_items(
        self, model_id: str, items: Iterable[str | bytes], dimensions: int | None = None
    ) -> list[list[float]]:
        """Return the vectors of a batch.

        Args:
            model_id: the id of the embedding model.
            items: the texts or bytes.
            dimensions: the requested length, by default that of the model.

        Raises:
            Exception: the configured error.
            InvalidReply: a configured vector does not have the requested length.
            UnexpectedCall: no vector is configured for an item, in a strict test.
        """
        self._raise_embedding_error(model_id)
        state = self.embedding_state(model_id)
        vectors = []
        is_generated = False
        for item in items:
            if not is_generated and not state.is_configured(item):
                if self.settings.strict == "error":
                    self._refuse_embedding(model_id, item)
                is_generated = True
                self.history.generated_embeddings += 1
                self._hint_at_replies(model_id)
                self._hint_at_vectors(model_id, item)
            try:
                vectors.append(state.embed(item, dimensions))
            except InvalidReply as error:
                self.note_problem(str(error))
                raise
        return vectors

    def _raise_embedding_error(self, model_id: str) -> None:
        """Raise the error of `set_error` for an embedding model, of this mock or of a parent."""
        level: Mock | None = self
        while level is not None:
            configured = level.configurator.replies.errors.find(model_id)
            if configured is not None:
                # A batch has no number. 0 is free, because the numbers of calls begin with 1.
                self.history.answered_by[0] = configured
                raise to_exception(getattr(configured.answer, "error", None)).with_traceback(None)
            level = level.parent

    def _refuse_embedding(self, model_id: str, item: str | bytes) -> NoReturn:
        """Raise an UnexpectedCall for an item without a vector, and note it."""
        __tracebackhide__ = True
        reply = self._find_reply(model_id)
        if reply:
            message = explain_reply_to_embedding(self.settings, model_id, reply)
        else:
            texts = self._suggest_text(item) or self._list_texts()
            message = explain_unexpected_embedding(self.settings, model_id, item, texts)
        self.note_problem(message)
        raise UnexpectedCall(message)

    def _find_reply(self, model_id: str) -> str:
        """Return a reply that a test configured for an embedding model; empty without one."""
        for reply in self.configurator.replies.get_configured():
            if reply.model == model_id:
                return reply.text()
        return ""

    def _hint_at_replies(self, model_id: str) -> None:
        """Let a failing test say that the replies to an embedding model are never used."""
        reply = self._find_reply(model_id)
        if reply:
            self.configurator.replies.add_hint(
                explain_reply_to_embedding(self.settings, model_id, reply)
            )

    def _hint_at_vectors(self, model_id: str, item: str | bytes) -> None:
        """Let a failing test say that a text without a vector is near to one that has one."""
        near_text = self._suggest_text(item)
        if not near_text:
            return
        self.configurator.replies.add_hint(
            f"The vector of {shorten(item)} was computed, because set_embedding({model_id!r}, …) "
            f"has no vector for this text{near_text}"
        )

    def _suggest_text(self, item: object) -> str:
        """Return the question whether a near text with a vector was meant; empty without one.

        Args:
            item: the text without a vector, or bytes, for which nothing is suggested.
        """
        if not isinstance(item, str):
            return ""
        embeddings = dict(self.configurator.replies.embeddings)
        texts = [text for text in embeddings if isinstance(text, str)]
        # The same text may have a vector for another model.
        nearest = item if item in embeddings else find_nearest_text(item, texts)
        if nearest is None:
            return ""
        name, vector = next(iter(embeddings[nearest].items()))
        origin = format_origin(vector.place)
        if nearest == item:
            return f". Its vector is configured for {name!r}{origin}."
        note = " Upper and lower case differ." if differs_in_case(item, nearest) else ""
        return f"; did you mean {shorten(nearest)}{origin}?{note}"

    def _list_texts(self) -> str:
        """Return the first texts with a vector, as the end of a sentence; empty without any."""
        texts = []
        for item in list(self.configurator.replies.embeddings):
            if isinstance(item, str):
                texts.append(shorten(item))
        if not texts:
            return ""
        if len(texts) > SHOWN_TEXTS:
            texts[SHOWN_TEXTS:] = ["…"]
        return f". Texts with a vector: {', '.join(texts)}."

    @property
    def embedding_models(self) -> list[str]:
        """The ids of the embedding models that were called."""
        # A copy, because other threads may call further models at the same time.
        return [model_id for model_id, state in [*self._embedding_states.items()] if state.calls]

    def explain_embeddings(self) -> str:
        """Return a sentence about the first embedding model that was called; empty without one."""
        for model_id in self.embedding_models:
            record = self._embedding_states[model_id].calls[-1]
            texts = shorten(record["items"])
            return (
                f"Only embedding models were called: {model_id!r} last embedded {texts}. "
                f"For all calls, see get_embedding_model({model_id!r}).call_history."
            )
        return ""

    def is_unknown(self, model_id: str) -> bool:
        """Return whether `set_unknown` made the model unknown, here or in a parent."""
        unknown = self.configurator.replies.unknown
        if unknown and any(matches_name(name, model_id) for name in unknown):
            return True
        return self.parent is not None and self.parent.is_unknown(model_id)

    def get_named_ids(self) -> set[str]:
        """Return the ids of the models that the test names, here or in a parent."""
        named = self.configurator.replies.named
        return named if self.parent is None else named | self.parent.get_named_ids()

    def reset(self) -> None:
        """Remove all calls and the whole configuration."""
        self.configurator.replies = Script(after=self.configurator.replies)
        self.misbehaviour = None
        self.quotas = None
        if self.parent is not None and self.parent.quotas is not None:
            self.quotas = self.parent.quotas.create_child()
        self._problems.clear()
        self.__dict__.pop("problem_places", None)
        self._refusals.clear()
        self.stored_objects.clear()
        self.stored_count = 0
        self._embedding_states.clear()
        self.history.clear()
        self._share()

    # Answers

    def answer(self, request: Request) -> Answer | PassthroughCall:
        """Return the answer to a request, and record the call.

        Args:
            request: the request.

        Returns:
            The answer; or, if a real answer must be recorded, the real call to make.

        Raises:
            Exception: the configured error, unless chunks come before it.
            UnexpectedCall: no reply matches in a strict test.
        """
        __tracebackhide__ = True
        record = self._begin(request)
        try:
            decision = self._resolve(record, request)
            if not isinstance(decision, Reply):
                # A `PassthroughCall` is not callable; the boundary makes it.
                if not callable(decision):
                    return decision
                decision = call_reply_function(decision, request.native)
            return self._finish(record, request, decision)
        except BaseException as error:
            self._fail(record, error, request.describe_failure(error, begun=False))
            raise

    async def answer_async(
        self, request: Request, before_function: Callable[[], Awaitable[None]] | None = None
    ) -> Answer | PassthroughCall:
        """Return the answer as `answer` does; a reply function may be a coroutine function.

        Args:
            request: the request.
            before_function: awaited before a reply function is called, and only then.
        """
        __tracebackhide__ = True
        record = self._begin(request)
        try:
            decision = self._resolve(record, request)
            if not isinstance(decision, Reply):
                if not callable(decision):
                    return decision
                if before_function is not None:
                    await before_function()
                decision = await call_reply_function_async(decision, request.native)
            return self._finish(record, request, decision)
        except BaseException as error:
            self._fail(record, error, request.describe_failure(error, begun=False))
            raise

    def _begin(self, request: Request) -> Call:
        """Record a request, and return the record."""
        if self.folder is not None:
            self._receive()
        self.called[request.model_id] = None
        if self.ended_test is not None:
            self.history.note_late_call(self.ended_test, request.model_id)
        record = new_call(request, self.history.test)
        self.history.add(record, request)
        return record

    def _resolve(self, record: Call, request: Request) -> Reply | ReplyFunction | PassthroughCall:
        """Return the reply to a call, a function that returns it, or the real call to make."""
        __tracebackhide__ = True
        # These errors come first, so that they use up no queued reply.
        if self.quotas is not None:
            refusal = self.quotas.refuse(record, request)
            if refusal is not None:
                return Reply(error=refusal)
        if self.misbehaviour is not None:
            error = self.misbehaviour.make_error(record)
            if error is not None:
                return error
        if self.cassette is not None:
            own_reply = self._find(record, with_parents=False)
            return own_reply or self.cassette.answer(self, record, request)
        answer = self._find(record)
        if answer is None:
            answer = self.history.state(record["model_id"]).answer
        if answer is not None:
            return answer
        if self._refuses_unmatched(request):
            self.history.answered_by[record["number"]] = None
            message = explain_unexpected_call(self, record)
            self.note_problem(message)
            raise UnexpectedCall(message)
        record["configured"] = False
        return self._answer_by_default(request)

    def _refuses_unmatched(self, request: Request) -> bool:
        """Return whether a call that no configured reply matches is an error."""
        strict = self.settings.strict
        if strict is not None:
            return strict == "error"
        # A project that enables generated replies also wants them over HTTP.
        if request.schema and self.settings.generate:
            return False
        return request.http_fields is not None

    def _answer_by_default(self, request: Request) -> Reply:
        """Return the reply to a call for which none is configured."""
        __tracebackhide__ = True
        if request.tool_choice is not None:
            call = self._behaviour.generate_tool_call(request)
            if call is not None:
                return call
        if request.schema and self.settings.generate:
            return self._behaviour.generate_reply(request.schema)
        return DEFAULT_REPLY

    def _find(self, record: Call, with_parents: bool = True) -> Reply | ReplyFunction | None:
        """Return the configured reply to a call, from this mock or its parents."""
        level: Mock | None = self
        while level is not None:
            found = level.configurator.replies.find(record)
            if found is not None:
                self.history.answered_by[record["number"]] = found
                return found.answer
            level = level.parent if with_parents else None
        return None

    def _finish(self, record: Call, request: Request, reply: Reply) -> Answer:
        """Check and change a reply, complete the record, and return the answer.

        Raises:
            Exception: the error of the reply, unless chunks come before it.
        """
        __tracebackhide__ = True
        if self.misbehaviour is not None:
            reply = self.misbehaviour.change(record, request, reply)
        if reply.error is not None:
            reply = self._behaviour.replace_provider_error(reply, record)
        self._check(record, request, reply)
        waits = None
        real_time = False
        latency = reply.latency
        if latency is None and (self.configurator.replies.latencies or self.parent is not None):
            latency = self._find_latency(reply, record["model_id"])
        if latency is not None:
            real_time = latency.real_time
            reply, waits = self._apply_latency(reply, latency, record)
        if reply.error is None:
            self._complete(record, reply, request)
            if self.folder is not None or logger.isEnabledFor(logging.DEBUG):
                self._report(record)
        else:
            self._complete_with_error(record, request, reply)
        return Answer(reply, record, self.history, waits, real_time, self.settings.raw_json)

    def _complete(self, record: Call, reply: Reply, request: Request | None) -> None:
        """Record the answer to a call, or the part of it before an error.

        Args:
            record: the record of the call.
            reply: the reply.
            request: the request, to estimate tokens; see `Reply.tokens`.
        """
        if reply.is_text_alone and request is not None and not reply.is_recorded:
            # A shortcut for most replies: the general case needs four more calls.
            record["response"] = reply.content
            if request.is_text:
                record["input_tokens"] = -(-record["prompt_length"] // CHARACTERS_PER_TOKEN) or 1
            else:
                record["input_tokens"] = count_input_tokens(request)
            record["output_tokens"] = reply.estimated_tokens
        else:
            if reply.is_special and request is not None:
                self._check_special(record, request, reply)
            record["response"] = reply.outcome
            given_input, record["output_tokens"] = reply.tokens(request)
            if reply.usage is not UNSET:
                details = reply.usage_details()
                self._check_usage(record, request, reply, details)
                given_input = add_cached_tokens(given_input, details, record.get("api"))
            record["input_tokens"] = given_input
        if self.history.log is not None:
            self.history.log.add_response(record, reply)

    def _check_usage(
        self, record: Call, request: Request | None, reply: Reply, details: object
    ) -> None:
        """Raise the problem of usage details that the API does not have, and note it."""
        if details and request is not None and not reply.is_recorded:
            self._check_details(record, request, reply)

    def _check_special(self, record: Call, request: Request, reply: Reply) -> None:
        """Raise and note the problem of a special reply that does not fit the request."""
        __tracebackhide__ = True
        if reply.candidates:
            self._check_candidates(record, request, reply)
        elif reply.raw is None:
            self._check_details(record, request, reply)
        elif "api" not in record:
            self._refuse_raw_answer()

    def _refuse_raw_answer(self) -> NoReturn:
        """Raise an InvalidReply for a reply that only a call over HTTP can get, and note it."""
        __tracebackhide__ = True
        message = (
            "Reply(body=…) and Reply(events=[…]) are sent only over HTTP, but the model was called "
            "through llm. Use a text, data or tool calls instead."
        )
        self.note_problem(message)
        raise InvalidReply(message)

    def _apply_latency(
        self, reply: Reply, latency: Latency, record: Call
    ) -> tuple[Reply, list[float] | None]:
        """Return a reply with a latency applied, and its waits; None for an immediate error."""
        if reply.error is not None and reply.error_after is None:
            return reply, None
        delayed, waits = self._behaviour.apply_latency(reply, latency, record)
        # Real time already advances the clock of the quotas.
        if self.quotas is not None and not latency.real_time:
            self.quotas.advance(sum(waits))
        return delayed, waits

    def _complete_with_error(self, record: Call, request: Request, reply: Reply) -> None:
        """Complete the record of a reply that fails after some chunks.

        Raises:
            Exception: the error of the reply, if no chunks come before it.
        """
        __tracebackhide__ = True
        error = reply.exception()
        if reply.error_after is None:
            raise error
        self._complete(record, reply, request)
        # The boundary raises the error later, after the chunks before it.
        self._fail(record, error, request.describe_failure(error, begun=True))

    def _check(self, record: Call, request: Request, reply: Reply) -> None:
        """Raise the problem of a reply that no model could have given, and note it."""
        __tracebackhide__ = True
        # Data may be the arguments of a tool.
        is_plain = not reply.tool_calls and (reply.data is UNSET or not request.tools)
        if is_plain and not request.schema and request.tool_choice is None:
            return
        # A recorded reply is from a real model, so it is not checked.
        if reply is DEFAULT_REPLY or reply.is_recorded:
            return
        if request.turn > MAX_TOOL_TURNS:
            self._check_end(record, reply)
        # The same as `_locate_reply`, without a further call.
        location = getattr(self.history.answered_by.get(record["number"]), "place", None)
        problem = check_reply(record, reply, request, self.settings, location)
        if problem is not None:
            self._report_reply(problem)

    def _report_reply(self, problem: LLMMockError) -> None:
        """Raise and note the problem of a reply, or only warn if the settings say so.

        A failing test shows the warning, too.
        """
        __tracebackhide__ = True
        if not isinstance(problem, SchemaViolation) or self.settings.schema_check == "error":
            self.note_problem(str(problem))
            raise problem
        # pytest prints warnings as they are, so API keys in the reply are hidden here.
        hint = redact(str(problem))
        warn_caller(SchemaViolationWarning(hint))
        self.configurator.replies.add_hint(hint)

    def _locate_reply(self, record: Call) -> SourceLocation | None:
        """Return the source location of the reply to a call.

        Generated replies and a model's default response have no location.
        """
        configured = self.history.answered_by.get(record["number"])
        return None if configured is None else configured.place

    def _check_end(self, record: Call, reply: Reply) -> None:
        """Raise EndlessToolCalls for a tool call that is repeated without end."""
        __tracebackhide__ = True
        # A queued reply is used up, so it cannot repeat without end.
        is_queued = isinstance(self.history.answered_by.get(record["number"]), QueuedReply)
        if is_queued or not reply.tool_calls:
            return
        origin = format_origin(self._locate_reply(record))
        raise EndlessToolCalls(
            f"The reply{origin} called a tool {MAX_TOOL_TURNS} times in one conversation, so the "
            "conversation never ends. Queue the tool call, and set the text that follows it: "
            "mock.add(model, Reply(tool_calls=[…])), then mock.set(model, text). Or limit the "
            "number of turns in the application, such as with chain_limit=10 of llm."
        )

    def _check_candidates(self, record: Call, request: Request, reply: Reply) -> None:
        """Raise the problem of a reply with several candidates, and note it."""
        __tracebackhide__ = True
        number = request.count_candidates()
        if len(reply.candidates) != number:
            self._refuse_reply(
                record,
                f"has {len(reply.candidates)} candidates, but the request asks for {number}. Use "
                "this number of candidates, or a single reply, which is repeated.",
            )
        for candidate in reply.candidates:
            self._check(record, request, candidate)
            if candidate.is_special:
                self._check_details(record, request, candidate)

    def _check_details(self, record: Call, request: Request, reply: Reply) -> None:
        """Raise and note the problem of a reply with a detail that the API does not support."""
        problem = request.find_unsupported_detail(reply)
        if problem is not None:
            self._refuse_reply(record, problem)

    def _refuse_reply(self, record: Call, problem: str) -> NoReturn:
        """Raise an InvalidReply for a configured reply, and note it.

        Args:
            record: the record of the call.
            problem: a phrase that follows "The reply".
        """
        __tracebackhide__ = True
        origin = format_origin(self._locate_reply(record))
        message = f"The reply{origin} {problem}"
        self.note_problem(message)
        raise InvalidReply(message)

    def _find_latency(self, reply: Reply, model_id: str) -> Latency | None:
        """Return the latency of a model, from this mock or its parents.

        A recorded reply has none.
        """
        if reply.is_recorded:
            return None
        level: Mock | None = self
        while level is not None:
            latencies = level.configurator.replies.latencies
            # Most mocks have no latency, so the call is skipped.
            latency = latencies.find(model_id) if latencies else None
            if latency is not None:
                return latency
            level = level.parent
        return None

    def record_answer(self, record: Call, reply: Reply, request: Request) -> None:
        """Complete the record of a call that a boundary made or answered by itself."""
        self._complete(record, reply, request)
        self._report(record)

    def store_object(self, object_id: str, value: Any) -> None:
        """Store an object of an API; remove the oldest one if there are too many."""
        objects = self.stored_objects
        objects[object_id] = value
        self.stored_count += 1
        # At most as many as calls are kept: a server that runs for days must not use ever more
        # memory.
        limit = self.history.limit
        if limit is None:
            limit = MAX_STORED_OBJECTS
        if len(objects) > limit:
            self.drop_oldest_object()

    def drop_oldest_object(self) -> None:
        """Remove the stored object that was added first."""
        objects = self.stored_objects
        objects.pop(next(iter(objects)), None)

    def record_request(self, request: Request) -> Call:
        """Record a request that a boundary answers by itself, and return the record.

        It is completed by `record_answer` or `record_failure`.
        """
        return self._begin(request)

    def record_failure(
        self, record: Call, error: BaseException, more: JSONObject | None = None
    ) -> None:
        """Complete the record of a call that a boundary made or answered, and that failed.

        Args:
            record: the record of the call.
            error: the error.
            more: further fields of the record; see `Request.describe_failure`.
        """
        self._fail(record, error, more)

    def _fail(self, record: Call, error: BaseException, more: JSONObject | None = None) -> None:
        """Record the error of a call; see `History.fail`."""
        self.history.fail(record, error, more)
        # These are mistakes of the test or the application, which might catch the exception.
        if isinstance(error, (EndlessToolCalls, InvalidReply)) and str(error) not in self._problems:
            self.note_problem(str(error))
        self._report(record)

    # Other processes

    def _report(self, record: Call) -> None:
        """Send a complete call to the process of the test, and log it."""
        # The process of the test itself does not send calls.
        if self.folder is not None and not self.folder.mine:
            log = self.history.log
            self.folder.send_call(record if log is None else log.attach_details(record))
        # Formatting a call takes longer than answering it.
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(format_call(record))

    def _share(self) -> None:
        """Publish the configuration to other processes, if there are any."""
        folder = self.folder
        if folder is None:
            return
        # The lock ensures that the latest configuration is written last.
        with self._lock:
            folder.share(self)

    def _receive(self) -> None:
        """Receive calls and notes of other processes; in another process, the configuration."""
        folder = self.folder
        if folder is None:
            return
        with self._lock:
            if not folder.mine:
                self._reload()
                return
            for call in folder.receive_calls():
                self.history.receive(call)
                if self.misbehaviour is not None:
                    self.misbehaviour.receive(call)
                self.called[call["model_id"]] = None
            for kind, message in folder.receive_notes():
                self._add_note(kind, message)

    def _reload(self) -> None:
        """Read the configuration of the test in another process; subclasses override it."""
