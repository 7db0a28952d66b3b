"""Which of the configured replies answers a call."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from llm_mock.core.matchers import Matchers
from llm_mock.core.model_names import ANY_MODEL, ByModel, fits, is_glob
from llm_mock.core.records import schema_text
from llm_mock.core.reply import ReplyOrFunction, format_reply
from llm_mock.core.source_location import SourceLocation, format_location, format_notes
from llm_mock.support.locks import Lock
from llm_mock.support.text import shorten_name

if TYPE_CHECKING:
    from llm_mock.core.latency import Latency
    from llm_mock.core.protocols import UseCounter
    from llm_mock.core.records import CallRecord

Key = tuple[str, "str | None"]


class StandingReply:
    """A reply to every call of a model, or to those that ask for a schema, or that fit in other ways."""

    __slots__ = ("answer", "conditional", "matchers", "model", "place", "schema")

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
        self.matchers = matchers or None
        self.conditional = self.matchers is not None

    def misses(self, call: CallRecord) -> list[str]:
        """Why the call is not answered by this reply."""
        misses = []
        if not fits(self.model, call["model_id"]):
            misses.append(f"the model is {call['model_id']}, not {self.model}")
        if self.schema is not None and self.schema != call["kwargs"]["schema"]:
            misses.append(f"the schema is {schema_text(call['kwargs']['schema'])}, not {schema_text(self.schema)}")
        return misses if self.matchers is None else [*misses, *self.matchers.misses(call)]

    def rank(self) -> tuple[bool, int]:
        """Its place among the standing ones that want more of a call: the higher goes first."""
        return self.schema is not None, 2 - is_glob(self.model) - (self.model == ANY_MODEL)

    def is_for_the_same(self, other: StandingReply) -> bool:
        """Whether both are for the same calls."""
        return (self.model, self.schema, self.matchers) == (other.model, other.schema, other.matchers)

    def text(self, *notes: str) -> str:
        """How it reads in a message, on one line, with notes beside the place where it was configured."""
        conditions = "  ".join(self._wanted())
        suffix = format_notes(format_location(self.place), *notes)
        return f"{conditions}  → {format_reply(self.answer)}{suffix}"

    def _wanted(self) -> Iterator[str]:
        yield shorten_name(self.model)
        if self.schema:
            yield f"schema {schema_text(self.schema)}"
        if self.matchers is not None:
            yield str(self.matchers)


class QueuedReply(StandingReply):
    """A reply that is used `remaining` more times, before any standing answer."""

    __slots__ = ("optional", "position", "remaining", "times")

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

    def text(self, *notes: str) -> str:
        """How it reads in a message, on one line, with notes beside the place where it was configured."""
        return super().text(f"{self.remaining} times" if self.remaining > 1 else "", *notes)


class Script:
    """All that is configured in one mock; a reply is found in constant time.

    A model is named by its id, a glob of ids or `"*"`, a schema by `schema_name`.

    Args:
        after: the script that this one replaces.
    """

    def __init__(self, after: Script | None = None) -> None:
        self.side_effect: StandingReply | None = None
        self.errors: ByModel[StandingReply] = ByModel()
        self.standing: dict[str | None, ByModel[StandingReply]] = {None: ByModel()}
        """The standing answers of each schema, and under None those whatever is asked for."""
        self.conditional: tuple[StandingReply, ...] = ()
        """The standing answers that want more of a call than model and schema, in the order in which they are tried."""
        self.unknown: set[str] = set()
        """Names and ids of models that nobody knows."""
        self.named: set[str] = set()
        """The ids of the models that the test names, which therefore are known."""
        self.latencies: ByModel[Latency] = ByModel()
        self.prices: tuple[Any, ...] = ()
        """What models cost; see `llm_mock.cost`."""
        self.misbehaviour: tuple[str, int | None] | None = None
        """What the models do wrong, and in how many calls; None in all that it can be applied to."""
        self.uses: UseCounter | None = None
        self._queues: dict[Key, deque[QueuedReply]] = {}
        self._queued_globs: frozenset[str] = frozenset()
        self._next_position: int = after._next_position if after else 0  # processes know a reply by its position
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:  # other threads may go on to configure, and to use replies, while this is copied
            queues = {key: queue.copy() for key, queue in self._queues.items()}
            state = {name: copy.copy(value) for name, value in self.__dict__.items() if isinstance(value, (dict, set))}
            standing = {schema: copy.copy(replies) for schema, replies in self.standing.copy().items()}
            return {**self.__dict__, **state, "standing": standing, "_queues": queues, "uses": None}

    def share_uses(self, uses: UseCounter) -> None:
        """Have other processes use the queued replies too, which are told what was used before."""
        with self._lock:
            if self.uses is None:
                for reply in self.queued():
                    for _ in range(reply.times - reply.remaining):
                        uses.use(reply)
                self.uses = uses

    def stand(self, reply: StandingReply) -> None:
        """Have a reply given to all calls that it is for, in place of the one that was for the same."""
        if not reply.conditional:
            self.standing.setdefault(reply.schema, ByModel())[reply.model] = reply
            return
        with self._lock:
            others = [other for other in self.conditional if not reply.is_for_the_same(other)]
            self.conditional = tuple(sorted([reply, *others], key=StandingReply.rank, reverse=True))

    def queue(self, reply: QueuedReply) -> None:
        """Have a reply given to the next calls that match, after those queued earlier."""
        with self._lock:
            if is_glob(reply.model) and reply.model != ANY_MODEL:
                self._queued_globs |= {reply.model}
            reply.position = self._next_position
            self._next_position += 1
            self._queues.setdefault((reply.model, reply.schema), deque()).append(reply)

    def queued(self) -> list[QueuedReply]:
        """The queued replies that were not used up, in the order in which they were queued."""
        if not self._queues:
            return []
        with self._lock:
            left = [reply for queue in self._queues.values() for reply in queue]
            if self.uses is not None:
                for reply in left:
                    reply.remaining = reply.times - self.uses.times_used(reply)
        return sorted((reply for reply in left if reply.remaining), key=lambda reply: reply.position)

    def find(self, call: CallRecord) -> StandingReply | None:
        """The reply for a call, None when nothing was configured for it. A queued reply is used by this.

        The order: the side effect of every call; the first queued reply that matches; the error of the model; of the
        standing answers those that want more than model and schema, then those for the schema, then the others. Of
        answers that are equal in that, the one for the id goes first, then that for a glob, then that for any model,
        and among globs, and among those that want more, the one that was set last.
        """
        if self.side_effect is not None:
            return self.side_effect
        model, schema = call["model_id"], call["kwargs"]["schema"]
        if self._queues and (queued := self._take(self._keys(model, schema), call)):
            return queued
        if self.errors and (error := self.errors.of(model)):
            return error
        if self.conditional and (found := next((reply for reply in self.conditional if not reply.misses(call)), None)):
            return found
        if schema is not None and schema in self.standing and (found := self.standing[schema].of(model)):
            return found
        return self.standing[None].of(model)

    def _keys(self, model: str, schema: str | None) -> list[Key]:
        """The queues in which a reply for a call may be."""
        globs = [glob for glob in self._queued_globs if fits(glob, model)] if self._queued_globs else ()
        names = (model, ANY_MODEL, *globs)
        keys: list[Key] = [(name, None) for name in names]
        return keys if schema is None else [*keys, *((name, schema) for name in names)]

    def _take(self, keys: list[Key], call: CallRecord) -> QueuedReply | None:
        with self._lock:
            while first := self._first_of(keys, call):
                usable = self.uses is None or self.uses.use(first)
                first.remaining = first.remaining - 1 if usable else 0
                if first.remaining == 0:
                    self._use_up(first)
                if usable:
                    return first
            return None

    def _first_of(self, keys: list[Key], call: CallRecord) -> QueuedReply | None:
        found: QueuedReply | None = None
        for key in keys:
            if queue := self._queues.get(key):
                first = self._first(queue, call)
                if first is not None and (found is None or first.position < found.position):
                    found = first
        return found

    def _first(self, queue: deque[QueuedReply], call: CallRecord) -> QueuedReply | None:
        for reply in queue:
            if reply.matchers is None or next(reply.matchers.misses(call), None) is None:
                return reply
        return None

    def _use_up(self, reply: QueuedReply) -> None:
        queue = self._queues[reply.model, reply.schema]
        queue.remove(reply)
        if not queue:
            del self._queues[reply.model, reply.schema]

    def configured(self) -> list[StandingReply]:
        """Every configured reply: those that are queued, then errors and standing ones."""
        standing = [reply for replies in list(self.standing.values()) for reply in list(replies.values())]
        return [*self.queued(), *list(self.errors.values()), *self.conditional, *standing]
