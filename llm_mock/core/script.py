"""Which of the configured replies answers a call."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from llm_mock.core.matchers import Matchers
from llm_mock.core.places import Place, in_brackets, place_text
from llm_mock.core.records import schema_text
from llm_mock.core.reply import Answer, answer_text
from llm_mock.support.locks import Lock
from llm_mock.support.text import shorten_name

if TYPE_CHECKING:
    from llm_mock.core.latency import Latency
    from llm_mock.core.protocols import Uses
    from llm_mock.core.records import CallRecord

ANY_MODEL = "*"
Key = tuple[str, "str | None"]


class StandingReply:
    """A reply to every call of a model, or to those that ask for a schema."""

    __slots__ = ("answer", "model", "place", "schema")

    def __init__(self, model: str, schema: str | None, answer: Answer, place: Place | None) -> None:
        self.model = model
        self.schema = schema
        self.answer = answer
        self.place = place

    def misses(self, call: CallRecord) -> list[str]:
        """Why the call is not answered by this reply."""
        misses = []
        if self.model not in (ANY_MODEL, call["model_id"]):
            misses.append(f"the model is {call['model_id']}, not {self.model}")
        if self.schema is not None and self.schema != call["kwargs"]["schema"]:
            misses.append(f"the schema is {schema_text(call['kwargs']['schema'])}, not {schema_text(self.schema)}")
        return misses

    def text(self, *notes: str) -> str:
        """How it reads in a message, on one line, with notes beside the place where it was configured."""
        return f"{'  '.join(self._wanted())}  → {answer_text(self.answer)}{in_brackets(place_text(self.place), *notes)}"

    def _wanted(self) -> Iterator[str]:
        yield shorten_name(self.model)
        if self.schema:
            yield f"schema {schema_text(self.schema)}"


class QueuedReply(StandingReply):
    """A reply that is used `remaining` more times, before any standing answer."""

    __slots__ = ("conditional", "matchers", "optional", "position", "remaining", "times")

    def __init__(
        self,
        model: str,
        schema: str | None,
        answer: Answer,
        place: Place | None,
        times: int,
        matchers: Matchers,
        optional: bool,
    ) -> None:
        super().__init__(model, schema, answer, place)
        self.position = -1
        self.times = self.remaining = times
        self.matchers = matchers
        self.conditional = bool(matchers)
        self.optional = optional

    def misses(self, call: CallRecord) -> list[str]:
        """Why the call is not answered by this reply."""
        return [*super().misses(call), *self.matchers.misses(call)]

    def text(self, *notes: str) -> str:
        """How it reads in a message, on one line, with notes beside the place where it was configured."""
        return super().text(f"{self.remaining} times" if self.remaining > 1 else "", *notes)

    def _wanted(self) -> Iterator[str]:
        yield from super()._wanted()
        if self.matchers:
            yield str(self.matchers)


class Script:
    """All that is configured in one mock; a reply is found in constant time.

    A model is named by its id or `"*"`, a schema by `schema_name`.

    Args:
        after: the script that this one replaces.
    """

    def __init__(self, after: Script | None = None) -> None:
        self.side_effect: StandingReply | None = None
        self.errors: dict[str, StandingReply] = {}
        self.standing: dict[Key, StandingReply] = {}
        self.unknown: set[str] = set()
        """Names and ids of models that nobody knows."""
        self.named: set[str] = set()
        """The ids of the models that the test names, which therefore are known."""
        self.latencies: dict[str, Latency] = {}
        self.prices: tuple[Any, ...] = ()
        """What models cost; see `llm_mock.cost`."""
        self.misbehaviour: tuple[str, int | None] | None = None
        """What the models do wrong, and in how many calls; None in all that it can be applied to."""
        self.uses: Uses | None = None
        self._queues: dict[Key, deque[QueuedReply]] = {}
        self._next_position: int = after._next_position if after else 0  # processes know a reply by its position
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:  # other threads may go on to configure, and to use replies, while this is copied
            queues = {key: queue.copy() for key, queue in self._queues.items()}
            state = {name: copy.copy(value) for name, value in self.__dict__.items() if type(value) in (dict, set)}
            return {**self.__dict__, **state, "_queues": queues, "uses": None}

    def share_uses(self, uses: Uses) -> None:
        """Have other processes use the queued replies too, which are told what was used before."""
        with self._lock:
            if self.uses is None:
                for reply in self.queued():
                    for _ in range(reply.times - reply.remaining):
                        uses.use(reply)
                self.uses = uses

    def queue(self, reply: QueuedReply) -> None:
        """Have a reply given to the next calls that match, after those queued earlier."""
        with self._lock:
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

        The order: the side effect of every call, the first queued reply that matches, the error of the model, the
        standing answer for model and schema, for any model and the schema, for the model, for any model.
        """
        if self.side_effect is not None:
            return self.side_effect
        model, schema = call["model_id"], call["kwargs"]["schema"]
        keys: list[Key] = [(model, None), (ANY_MODEL, None)]
        if schema is not None:
            keys = [(model, schema), (ANY_MODEL, schema), *keys]
        if self._queues and (queued := self._take(keys, call)):
            return queued
        if self.errors and (error := self.errors.get(model) or self.errors.get(ANY_MODEL)):
            return error
        for key in keys:
            if key in self.standing:
                return self.standing[key]
        return None

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
            if not reply.conditional or next(reply.matchers.misses(call), None) is None:
                return reply
        return None

    def _use_up(self, reply: QueuedReply) -> None:
        queue = self._queues[reply.model, reply.schema]
        queue.remove(reply)
        if not queue:
            del self._queues[reply.model, reply.schema]

    def configured(self) -> list[StandingReply]:
        """Every configured reply: those that are queued, then errors and standing ones."""
        return [*self.queued(), *list(self.errors.values()), *list(self.standing.values())]
