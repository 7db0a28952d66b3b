"""Models that misbehave, to see what an application makes of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from llm_mock.behaviour.catalogue import CATALOGUE
from llm_mock.behaviour.fault_context import FaultContext
from llm_mock.behaviour.provider_errors import provider_error
from llm_mock.core.reply import DEFAULT_REPLY, Reply
from llm_mock.errors import LLMMockError, UnknownMisbehaviour
from llm_mock.support.locks import Lock
from llm_mock.support.numbers import is_whole
from llm_mock.support.text import shorten

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord
    from llm_mock.core.request import Request

SHOWN_CALLS = 20


def marked(markers: Iterable[Any]) -> list[tuple[str, int | None]]:
    """What the `llm_mock_misbehaviour` markers of one function, class or module choose: names with numbers of calls."""
    chosen = []
    for marker in reversed(list(markers)):  # pytest gives the one that is written last first
        chosen += [(name, marker.kwargs.get("times")) for name in marker.args or CATALOGUE]
    for name, times in chosen:
        Misbehaviour(name, times)
    return chosen


class Misbehaviour:
    """One misbehaviour in one test; `mock.misbehave("rate-limit", times=1)` makes it.

    Args:
        name: which one; `llm-mock misbehaviours` lists them.
        times: how many calls it is applied to, the first ones that it can be applied to. By default all of them.

    Raises:
        UnknownMisbehaviour: no misbehaviour has that name, or `times` is below 1.
    """

    calls: list[int]
    """The numbers of the calls that it was applied to, as in their records."""

    def __init__(self, name: str, times: int | None = None) -> None:
        __tracebackhide__ = True
        if not isinstance(name, str) or name not in CATALOGUE:
            near = difflib.get_close_matches(str(name), CATALOGUE, n=1, cutoff=0)
            raise UnknownMisbehaviour(
                f"There is no misbehaviour {shorten(name)}. Did you mean {near[0]!r}? "
                "The command `llm-mock misbehaviours` lists them all."
            )
        if times is not None and not is_whole(times, 1):
            raise UnknownMisbehaviour(
                f"times={times!r}: a misbehaviour needs at least one call; leave it out for every call."
            )
        self._fault = CATALOGUE[name]
        self.name, self.description, self.needs = name, self._fault.description, self._fault.needs
        self.times = times
        self.calls = []
        self._first_answers: dict[str, Reply] = {}
        self._last_tool_call: Any = None
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"<Misbehaviour {self.name}: applied to calls {self.calls}>"

    def __str__(self) -> str:
        """What it did in a test."""
        numbers = ", ".join(map(str, self.calls[:SHOWN_CALLS])) + (", …" if len(self.calls) > SHOWN_CALLS else "")
        where = f"calls {numbers}" if len(self.calls) > 1 else f"call {numbers}" if numbers else "no call"
        return f"{self.name}: {self.description}\nApplied to {where}."

    def not_applied(self, calls: int) -> str:
        """Why a test that made that many calls is skipped: it changed nothing there."""
        made = "1 call was" if calls == 1 else f"{calls} calls were"
        return f"{self.name} changed no call of this test: it needs {self.needs}, and {made} made"

    def error(self, record: CallRecord) -> Reply | None:
        """The provider's error for a call, which is raised before any reply is used up; None for no error."""
        error = self._fault.error
        if error is None or not self._note(record):
            return None
        return Reply(error=provider_error(record["model_id"], error, provider=record.get("provider")))

    def change(self, record: CallRecord, request: Request, reply: Reply) -> Reply:
        """What becomes of the reply to a call; the reply itself where the misbehaviour does not apply to it.

        Raises:
            EndlessToolCalls: the application lets the model call tools without end.
        """
        change, model_id = self._fault.change, record["model_id"]
        if change is None or reply.error is not None:
            return reply
        first, valid = self._first_answers.get(model_id), _valid(reply, request)
        context = FaultContext(model_id, request, valid, first, self._last_tool_call, applied=len(self.calls))
        if reply.content:
            self._first_answers.setdefault(model_id, context.reply)
        self._last_tool_call = next(iter(reply.tool_calls), self._last_tool_call)
        changed = None if self._used_up() else change(context)
        return changed if changed is not None and self._note(record) else reply

    def _used_up(self) -> bool:
        return self.times is not None and len(self.calls) >= self.times

    def _note(self, record: CallRecord) -> bool:
        """Count a call that it can be applied to; False where it was applied often enough."""
        with self._lock:
            if self._used_up():
                return False
            self.calls.append(record["number"])
            record["misbehaviour"] = self.name
            return True

    def received(self, record: CallRecord) -> None:
        """Take a call that another process reported into account."""
        if "misbehaviour" in record:
            self.calls.append(record["number"])


def _valid(reply: Reply, request: Request) -> Reply:
    """A reply to start from; where none was configured for a schema, an instance of it."""
    if reply is not DEFAULT_REPLY or not request.schema:
        return reply
    from llm_mock.behaviour.generate import generated_reply

    with suppress(LLMMockError):
        return generated_reply(request.schema)
    return reply
