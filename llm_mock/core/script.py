"""Which of the configured replies answers a call.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from llm_mock import explain
from llm_mock.core.reply import Answer, Reply
from llm_mock.support.text import shorten

if TYPE_CHECKING:
    from llm_mock.boundaries.processes import Exchange
    from llm_mock.core.latency import Latency
    from llm_mock.core.records import CallRecord

ANY_MODEL = "*"

Key = tuple[str, "str | None"]
TextMatcher = str | re.Pattern[str] | Callable[[str], object]


class Matchers:
    """What a queued reply wants of a call, beyond model and schema. All that is given must hold.

    Args:
        prompt: a text that the prompt contains, a compiled pattern that is found in it, or a function of the text.
        system: the same for the system prompt.
        tools: names of tools that are offered, among others perhaps.
        turn: which answer of the conversation it is, from 1.
        attachments: the types of all attachments, such as `["image/png"]`, in order.
        options: options of the call and their values.
    """

    __slots__ = ("attachments", "options", "prompt", "system", "tools", "turn")

    def __init__(
        self,
        prompt: TextMatcher | None = None,
        system: TextMatcher | None = None,
        tools: Iterable[str] | None = None,
        turn: int | None = None,
        attachments: Iterable[str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.prompt = prompt
        self.system = system
        self.tools = None if tools is None else [tools] if isinstance(tools, str) else list(tools)
        self.turn = turn
        self.attachments = None if attachments is None else list(attachments)
        self.options = None if options is None else dict(options)

    def misses(self, call: CallRecord) -> Iterator[str]:
        """Why the call does not fit, a phrase for each condition that does not hold."""
        kwargs = call["kwargs"]
        for name, matcher, text in (
            ("prompt", self.prompt, call["prompt"]),
            ("system prompt", self.system, kwargs.get("system", "")),
        ):
            if matcher is not None and not _fits(matcher, text):
                yield f"the {name} {shorten(text, 60)} is not one that {explain.text_matcher(matcher)}"
        missing = [tool for tool in self.tools or () if tool not in kwargs.get("tools", ())]
        if missing:
            yield f"the tools {', '.join(missing)} are not offered"
        if self.turn not in (None, call["turn"]):
            yield f"it is turn {call['turn']}, not {self.turn}"
        types = [attachment["type"] for attachment in kwargs.get("attachments", ())]
        if self.attachments not in (None, types):
            yield f"the attachments are {types}, not {self.attachments}"
        for option, value in (self.options or {}).items():
            if option not in call["options"]:
                yield f"the option {option} was not given"
            elif call["options"][option] != value:
                yield f"the option {option} is {call['options'][option]!r}, not {value!r}"

    def __bool__(self) -> bool:
        return any(getattr(self, name) is not None for name in self.__slots__)

    def __str__(self) -> str:
        return explain.matchers(self)


def _fits(matcher: TextMatcher, text: str) -> bool:
    if isinstance(matcher, str):
        return matcher in text
    if isinstance(matcher, re.Pattern):
        return matcher.search(text) is not None
    return bool(matcher(text))


class QueuedReply:
    """A reply that is used `remaining` more times, before any standing answer."""

    __slots__ = ("answer", "conditional", "matchers", "model", "optional", "position", "remaining", "schema", "times")

    def __init__(
        self, model: str, schema: str | None, answer: Answer, times: int, matchers: Matchers, optional: bool
    ) -> None:
        self.position = -1
        self.model = model
        self.schema = schema
        self.answer = answer
        self.times = self.remaining = times
        self.matchers = matchers
        self.conditional = bool(matchers)
        self.optional = optional

    def misses(self, call: CallRecord) -> list[str]:
        """Why the call is not answered by this reply."""
        return [*_misses(self.model, self.schema, call), *self.matchers.misses(call)]


def _misses(model: str, schema: str | None, call: CallRecord) -> Iterator[str]:
    if model not in (ANY_MODEL, call["model_id"]):
        yield f"the model is {call['model_id']}, not {model}"
    if schema is not None and schema != call["kwargs"]["schema"]:
        yield f"the schema is {explain.schema(call['kwargs']['schema'])}, not {explain.schema(schema)}"


class Script:
    """The replies configured in one mock, each found in constant time.

    A model is named by its id or `"*"`, a schema by `schema_name`.
    """

    def __init__(self) -> None:
        self.side_effect: Reply | None = None
        self.errors: dict[str, Reply] = {}
        self.standing: dict[Key, Answer] = {}
        self.latencies: dict[str, Latency] = {}
        self.exchange: Exchange | None = None
        """Where processes that use these replies together tell each other which they used."""
        self._queues: dict[Key, deque[QueuedReply]] = {}
        self._next_position = 0
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "exchange")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock(), exchange=None)

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
            if self.exchange is not None:
                for reply in left:
                    reply.remaining = reply.times - self.exchange.times_used(reply)
        return sorted((reply for reply in left if reply.remaining), key=lambda reply: reply.position)

    def find(self, call: CallRecord) -> Answer | None:
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

    def _take(self, keys: list[Key], call: CallRecord) -> Answer | None:
        with self._lock:
            while first := self._first_of(keys, call):
                usable = self.exchange is None or self.exchange.use(first)
                first.remaining = first.remaining - 1 if usable else 0
                if first.remaining == 0:
                    self._use_up(first)
                if usable:
                    return first.answer
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

    def configured(self) -> Iterator[tuple[str, Any, Callable[[CallRecord], Iterable[str]]]]:
        """Every configured reply: how it reads, all that belongs to it, and what says why a call does not fit."""
        for reply in self.queued():
            yield explain.queued_reply(reply), reply, reply.misses
        for model, error in self.errors.items():
            yield explain.standing_answer(model, None, error), error, partial(_misses, model, None)
        for (model, schema), answer in self.standing.items():
            yield explain.standing_answer(model, schema, answer), answer, partial(_misses, model, schema)

    def near_misses(self, call: CallRecord) -> Iterator[tuple[list[str], str]]:
        """Every configured reply that does not answer a call: why not, and how it reads."""
        for text, _, misses in self.configured():
            yield list(misses(call)), text
