"""The script of a mock: match each call to a configured reply."""

from __future__ import annotations

import copy
import fnmatch
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from threading import get_ident
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

from llm_mock.core.matchers import Matchers
from llm_mock.core.model_names import ANY_MODEL, is_glob, matches_name
from llm_mock.core.records import asks_for_schema, format_schema, format_schema_miss
from llm_mock.core.reply import ReplyOrFunction, format_reply
from llm_mock.core.source_location import (
    SourceLocation,
    format_location,
    format_notes,
    format_origin,
)
from llm_mock.support.locks import Lock
from llm_mock.support.text import shorten_name

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.latency import Latency
    from llm_mock.core.protocols import UseCounter

Value = TypeVar("Value")
Key = tuple[str, "str | None"]
"""The key of a queue: the name of a model, and of a schema or None."""


class ScriptedVector(NamedTuple):
    """A vector that a test set for an item."""

    numbers: list[float]
    place: SourceLocation | None
    """The source location of the configuration."""


class RequestMatcher(Protocol):
    """A matcher of the requests that a configured response answers: an `Endpoint`."""

    has_wildcards: bool

    def match(self, method: str, host: str | None, path: str) -> dict[str, str] | None:
        """Return the named segments of a path that matches; None for another request."""


class StandingReply:
    """A reply to every matching call.

    Args:
        model: the name of the model: an id, a glob of ids or `"*"`.
        schema: the name of the requested schema; None for any.
        answer: the reply, or a function that returns it.
        place: the source location of the configuration.
        matchers: further conditions.
    """

    __slots__ = ("answer", "conditional", "matchers", "model", "place", "required_text", "schema")

    def __init__(
        self,
        model: str,
        schema: str | None,
        answer: ReplyOrFunction,
        place: SourceLocation | None,
        matchers: Matchers | None = None,
    ) -> None:
        self.model = model
        self.schema = schema
        self.answer = answer
        self.place = place
        # Matchers without a condition are false.
        self.matchers = matchers or None
        self.conditional = self.matchers is not None
        prompt = None if self.matchers is None else self.matchers.prompt
        # An empty text is in every prompt. `find` skips most replies by this alone.
        self.required_text = prompt if isinstance(prompt, str) else ""

    def fits(self, call: Call) -> bool:
        """Return whether a call matches."""
        if self.schema is not None and not asks_for_schema(call, self.schema):
            return False
        if not matches_name(self.model, call["model_id"]):
            return False
        return self.matchers is None or self.matchers.fits(call)

    def misses(self, call: Call) -> list[str]:
        """Return why a call does not match, a phrase for each unmet condition."""
        misses = []
        if not matches_name(self.model, call["model_id"]):
            misses.append(self._format_model_miss(call["model_id"]))
        if self.schema is not None and not asks_for_schema(call, self.schema):
            misses.append(format_schema_miss(call, self.schema))
        if self.matchers is not None:
            misses += self.matchers.misses(call)
        return misses

    def _format_model_miss(self, model_id: str) -> str:
        """Return a phrase for a call of another model."""
        miss = f"the model is {model_id}, not {self.model}"
        if self.model.endswith((f":{model_id}", f"/{model_id}")):
            return f"{miss}: leave out the prefix, which the request does not have"
        return miss

    def rank(self) -> tuple[bool, int]:
        """Return the priority among the conditional standing replies; the highest goes first."""
        specificity = 2 - is_glob(self.model) - (self.model == ANY_MODEL)
        return self.schema is not None, specificity

    def get_key(self) -> tuple[object, ...]:
        """Return a key. Replies to the same calls have equal keys."""
        conditions = () if self.matchers is None else self.matchers.get_key()
        return self.model, self.schema, *conditions

    def text(self, *notes: str) -> str:
        """Return the reply on one line, as messages show it.

        Args:
            notes: remarks to add in brackets beside the source location.
        """
        conditions = [shorten_name(self.model)]
        if self.schema:
            conditions.append(f"schema {format_schema(self.schema)}")
        if self.matchers is not None:
            conditions.append(str(self.matchers))
        suffix = format_notes(format_location(self.place), *notes)
        return f"{'  '.join(conditions)}  → {format_reply(self.answer)}{suffix}"


UNLIMITED = sys.maxsize
"""The `times` of a queued reply that is never used up."""


class QueuedReply(StandingReply):
    """A reply to the next matching calls, before any standing reply.

    Args:
        model: the name of the model: an id, a glob of ids or `"*"`.
        schema: the name of the requested schema; None for any.
        answer: the reply, or a function that returns it.
        place: the source location of the configuration.
        times: the number of calls that the reply answers.
        matchers: further conditions.
        optional: whether the test may end before the reply is used up.
    """

    __slots__ = ("optional", "position", "remaining", "thread", "times")

    def __init__(
        self,
        model: str,
        schema: str | None,
        answer: ReplyOrFunction,
        place: SourceLocation | None,
        times: int,
        matchers: Matchers,
        optional: bool,
    ) -> None:
        super().__init__(model, schema, answer, place, matchers)
        self.position = -1
        self.times = self.remaining = times
        self.optional = optional
        self.thread = 0
        """The thread of the call that used it last."""

    def text(self, *notes: str) -> str:
        """Return the reply on one line, with the number of its remaining uses."""
        uses = ""
        if 1 < self.times < UNLIMITED:
            uses = f"{self.remaining} of {self.times} uses left"
        return super().text(uses, *notes)


class ByModel(dict[str, Value]):
    """A dictionary by model name; `find` prefers an id to globs, and later globs to earlier."""

    globs: tuple[str, ...] = ()

    def __setitem__(self, name: str, value: Value) -> None:
        super().__setitem__(name, value)
        # `"*"` is left out, because it comes after every glob.
        if is_glob(name) and name != ANY_MODEL:
            self.globs = (name, *(glob for glob in self.globs if glob != name))

    def __copy__(self) -> ByModel[Value]:
        copied: ByModel[Value] = ByModel()
        copied.globs = self.globs
        # A single call of C code, because other threads may add values at the same time.
        dict.update(copied, self)
        return copied

    def __reduce__(self) -> tuple[object, ...]:
        return ByModel, (), {"globs": self.globs}, None, iter(list(self.items()))

    def find(self, model_id: str) -> Value | None:
        """Return the value of the id, else of a glob that matches it, else of `"*"`."""
        found = self.get(model_id)
        for glob in self.globs if found is None else ():
            if found is None and fnmatch.fnmatchcase(model_id, glob):
                found = self.get(glob)
        return self.get(ANY_MODEL) if found is None else found


class Script:
    """The configured replies of one mock.

    Model names are ids, globs of ids or `"*"`; names of schemas are results of `expect_schema`.

    Args:
        after: the script that this one replaces.
    """

    has_endpoints: ClassVar[bool] = False
    """Whether any mock of this process has an endpoint; otherwise requests skip the search."""

    def __init__(self, after: Script | None = None) -> None:
        self.side_effect: StandingReply | None = None
        self.errors: ByModel[StandingReply] = ByModel()
        self.standing: dict[str | None, ByModel[StandingReply]] = {None: ByModel()}
        """The standing replies by schema; None is the key of replies for any schema."""
        self.unknown: set[str] = set()
        """The names and ids of the models that `set_unknown` made unknown."""
        self.named: set[str] = set()
        """The ids of the models that the test names, which count as known."""
        self.latencies: ByModel[Latency] = ByModel()
        self.quotas: ByModel[tuple[int | None, int | None]] = ByModel()
        """The requests and tokens per minute of models; None for no limit."""
        self.embeddings: dict[str | bytes, ByModel[ScriptedVector]] = {}
        """The vectors of embedding models by item."""
        self.endpoints: dict[str, RequestMatcher] = {}
        """The endpoints with configured responses, by their names."""
        self.endpoint_replies: dict[str, StandingReply] = {}
        """The standing responses of endpoints, by their names; the latest is the last one."""
        self.hints: tuple[str, ...] = ()
        """Warnings about replies that may be mistakes; a failing test shows them again."""
        self.replaced: tuple[StandingReply, StandingReply] | None = None
        """The last standing reply that was replaced, and the reply that replaced it."""
        self.prices: tuple[Any, ...] = ()
        """The prices of models; see `llm_mock.cost`."""
        self.misbehaviour: tuple[str, int | None] | None = None
        """The name of the misbehaviour, and the number of calls to apply it to; None for all."""
        self.uses: UseCounter | None = None
        """The counter of used replies, if other processes use them too."""
        self._conditional: dict[tuple[object, ...], StandingReply] = {}
        """The standing replies with matchers by their keys; the latest is the last one."""
        self._ranked: tuple[StandingReply, ...] | None = ()
        """The same in the order in which they are tried; None after a change."""
        self._queues: dict[Key, deque[QueuedReply]] = {}
        self._queued_globs: frozenset[str] = frozenset()
        # Processes identify a queued reply by its position, so positions are never used again.
        self._next_position: int = after._next_position if after else 0
        self._lock = Lock()

    def add_endpoint(self, name: str, endpoint: RequestMatcher) -> None:
        """Add an endpoint. Its responses must be added before."""
        self.endpoints[name] = endpoint
        Script.has_endpoints = True

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        Script.has_endpoints = Script.has_endpoints or bool(self.endpoints)

    def __getstate__(self) -> dict[str, object]:
        # The lock, because other threads may configure and use replies while this is copied.
        with self._lock:
            queues = {key: queue.copy() for key, queue in self._queues.items()}
            containers = {
                name: copy.copy(value)
                for name, value in self.__dict__.items()
                if isinstance(value, (dict, set))
            }
            standing = {
                schema: copy.copy(replies) for schema, replies in self.standing.copy().items()
            }
        own = {"standing": standing, "_queues": queues, "uses": None, "_ranked": None}
        return {**self.__dict__, **containers, **own}

    def share_uses(self, uses: UseCounter) -> None:
        """Share the queued replies with other processes, and report earlier uses to them."""
        with self._lock:
            if self.uses is not None:
                return
            for reply in self.get_queued():
                for _ in range(reply.times - reply.remaining):
                    uses.use(reply)
            self.uses = uses

    def add_standing(self, reply: StandingReply) -> None:
        """Add a standing reply; it replaces the reply to the same calls."""
        if reply.conditional:
            key = reply.get_key()
            with self._lock:
                # Removed first, because a replaced key would keep its place among the earlier ones.
                earlier = self._conditional.pop(key, None)
                self._conditional[key] = reply
                self._ranked = None
        else:
            replies = self.standing.setdefault(reply.schema, ByModel())
            earlier = replies.get(reply.model)
            replies[reply.model] = reply
        if earlier is not None:
            self.replaced = earlier, reply

    @property
    def conditional(self) -> tuple[StandingReply, ...]:
        """The standing replies with matchers, in the order in which they are tried."""
        ranked = self._ranked
        if ranked is None:
            # Sorted here, because a test may configure many replies between two calls.
            with self._lock:
                latest_first = reversed(self._conditional.values())
                # The sort is stable, so of replies of equal rank the latest one goes first.
                ranked = tuple(sorted(latest_first, key=StandingReply.rank, reverse=True))
                self._ranked = ranked
        return ranked

    def queue(self, reply: QueuedReply) -> None:
        """Add a queued reply after the earlier ones."""
        with self._lock:
            if is_glob(reply.model) and reply.model != ANY_MODEL:
                self._queued_globs |= {reply.model}
            reply.position = self._next_position
            self._next_position += 1
            self._queues.setdefault((reply.model, reply.schema), deque()).append(reply)

    def get_queued(self) -> list[QueuedReply]:
        """Return the queued replies that are not used up, in order."""
        if not self._queues:
            return []
        with self._lock:
            replies = [reply for queue in self._queues.values() for reply in queue]
            if self.uses is not None:
                for reply in replies:
                    reply.remaining = reply.times - self.uses.count_uses(reply)
        remaining = [reply for reply in replies if reply.remaining]
        return sorted(remaining, key=lambda reply: reply.position)

    def find(self, call: Call) -> StandingReply | None:
        """Return the reply that matches a call, and use up a queued one; None without a match.

        The order is: the side effect of every call; the first queued reply that matches; the error
        of the model; the standing replies with matchers; those for the schema; then the others. Of
        equal replies, an id goes before a glob, and a glob before `"*"`. Later globs and later
        replies with matchers go before earlier ones.
        """
        # This runs in each call, so each kind is searched only if there are replies of it.
        if self.side_effect is not None:
            return self.side_effect
        model = call["model_id"]
        schema = call["kwargs"]["schema"]
        found: StandingReply | None
        if self._queues:
            found = self._take_queued(self._list_keys(model, schema, call), call)
            if found is not None:
                return found
        # `_ranked`, not `_conditional`, in which another thread may be replacing the only reply.
        if self.errors or self._ranked != ():
            found = self._find_error_or_conditional(call)
            if found is not None:
                return found
        # Few tests have replies for a schema besides those for any schema.
        if schema is not None and len(self.standing) > 1:
            found = self._find_for_schema(call)
            if found is not None:
                return found
        return self.standing[None].find(model)

    def _find_error_or_conditional(self, call: Call) -> StandingReply | None:
        error = self.errors.find(call["model_id"])
        if error is not None:
            return error
        prompt = call["prompt"]
        for reply in self.conditional:
            if reply.required_text in prompt and reply.fits(call):
                return reply
        return None

    def _find_for_schema(self, call: Call) -> StandingReply | None:
        """Return the standing reply for the schema of a call; None without one."""
        named = self.standing.get(call["kwargs"]["schema"])
        found = None if named is None else named.find(call["model_id"])
        # A copy, because other threads may configure replies now. The latest goes first.
        expected_schemas = [schema for schema in [*self.standing] if schema is not None]
        while found is None and expected_schemas:
            expected = expected_schemas.pop()
            if asks_for_schema(call, expected):
                found = self.standing[expected].find(call["model_id"])
        return found

    def _list_keys(self, model: str, schema: str | None, call: Call) -> list[Key]:
        """Return the keys of the queues that may have a reply for a call."""
        names = [model, ANY_MODEL]
        if self._queued_globs:
            names += [glob for glob in self._queued_globs if matches_name(glob, model)]
        if schema is None:
            return [(name, None) for name in names]
        schemas = [None, *self._find_queued_schemas(call)]
        return [(name, schema) for schema in schemas for name in names]

    def _find_queued_schemas(self, call: Call) -> Iterator[str]:
        """Yield each schema of the queued replies that a call asks for."""
        # A copy, because other threads may configure replies now.
        for schema in {schema for _, schema in [*self._queues]}:
            if schema is not None and asks_for_schema(call, schema):
                yield schema

    def _take_queued(self, keys: list[Key], call: Call) -> QueuedReply | None:
        """Return the first queued reply that matches a call, and count its use."""
        with self._lock:
            while first := self._find_first_queued(keys, call):
                # Another process may have used it up by now; then the next reply is tried.
                is_usable = self.uses is None or self.uses.use(first)
                first.remaining = first.remaining - 1 if is_usable else 0
                if first.remaining == 0:
                    self._remove(first)
                if is_usable:
                    first.thread = get_ident()
                    return first
            return None

    def _find_first_queued(self, keys: list[Key], call: Call) -> QueuedReply | None:
        """Return the matching reply that was queued first, from several queues."""
        earliest: QueuedReply | None = None
        for key in keys:
            queue = self._queues.get(key)
            if not queue:
                continue
            first = _find_first_match(queue, call)
            if first is not None and (earliest is None or first.position < earliest.position):
                earliest = first
        return earliest

    def _remove(self, reply: QueuedReply) -> None:
        key = reply.model, reply.schema
        queue = self._queues[key]
        queue.remove(reply)
        # An empty queue is removed, so that `find` skips queues when there are none.
        if not queue:
            del self._queues[key]

    def get_configured(self) -> list[StandingReply]:
        """Return every configured reply: queued ones, then errors, then standing ones."""
        # Copies of the dictionaries, because other threads may configure replies now.
        replies: list[StandingReply] = [*self.get_queued(), *list(self.errors.values())]
        replies += self.conditional
        for by_model in list(self.standing.values()):
            replies += list(by_model.values())
        replies += list(self.endpoint_replies.values())
        return replies

    def add_hint(self, hint: str) -> None:
        """Add a line that a failing test shows, once."""
        if hint not in self.hints:
            self.hints += (hint,)

    def list_endpoints(self) -> str:
        """Return the endpoints with configured responses, as a sentence; empty without any."""
        listed = []
        for name in list(self.endpoints):
            reply = self.endpoint_replies.get(name)
            listed.append(f"{name}{format_origin(getattr(reply, 'place', None))}")
        if not listed:
            return ""
        return f" Responses are configured for {', '.join(listed)}."

    def match_endpoints(self, method: str, host: str, path: str) -> list[str]:
        """Return the names of the endpoints that have a response to a request."""
        names = []
        # A copy, because other threads may configure endpoints now.
        for name, endpoint in list(self.endpoints.items()):
            is_live = name in self.endpoint_replies or (name, None) in self._queues
            if is_live and endpoint.match(method, host, path) is not None:
                names.append(name)
        return names

    def find_endpoint_reply(self, names: list[str], call: Call) -> StandingReply | None:
        """Return the queued response to a request and use it up, or the standing response.

        Args:
            names: the endpoints that match.
            call: the record of the request.
        """
        queued = self._take_queued([(name, None) for name in names], call)
        if queued is not None:
            return queued
        standing = [name for name in list(self.endpoint_replies) if name in names]
        # The sort is stable, so of equal endpoints the latest one is the last.
        standing.sort(key=lambda name: not self.endpoints[name].has_wildcards)
        return self.endpoint_replies[standing[-1]] if standing else None


def _find_first_match(queue: Iterable[QueuedReply], call: Call) -> QueuedReply | None:
    """Return the first reply of a queue whose matchers match; its key has model and schema."""
    prompt = call["prompt"]
    for reply in queue:
        if reply.required_text in prompt and (reply.matchers is None or reply.matchers.fits(call)):
            return reply
    return None
