"""Apply one misbehaviour of the catalogue to the calls of a test."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from llm_mock.behaviour.catalogue import CATALOGUE
from llm_mock.behaviour.fault_context import FaultContext
from llm_mock.behaviour.provider_errors import make_provider_error
from llm_mock.core.reply import DEFAULT_REPLY, Reply
from llm_mock.errors import LLMMockError, UnknownMisbehaviour
from llm_mock.support.locks import Lock
from llm_mock.support.numbers import is_whole
from llm_mock.support.text import find_nearest, format_count, shorten

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.request import Request

MAX_SHOWN_CALLS = 20


def read_markers(markers: Iterable[Any]) -> list[tuple[str, int | None]]:
    """Return the names and `times` of the `llm_mock_misbehaviour` markers of one node.

    Args:
        markers: the markers of one function, class or module, in pytest's order.

    Raises:
        UnknownMisbehaviour: as `Misbehaviour` does.
    """
    chosen = []
    # pytest lists the marker that is written last first.
    for marker in reversed(list(markers)):
        times = marker.kwargs.get("times")
        for name in marker.args or CATALOGUE:
            # Only for its checks: a wrong name fails before any test runs.
            Misbehaviour(name, times)
            chosen.append((name, times))
    return chosen


class Misbehaviour:
    """One misbehaviour in one test, as `mock.misbehave("rate-limit", times=1)` creates it.

    Args:
        name: the name of the misbehaviour; `llm-mock misbehaviours` lists the names.
        times: the maximum number of calls to change. Calls that it cannot change do not count. By
            default all calls are changed.

    Raises:
        UnknownMisbehaviour: no misbehaviour has that name, or `times` is below 1.
    """

    calls: list[int]
    """The numbers of the calls that it was applied to, as in their records."""

    def __init__(self, name: str, times: int | None = None) -> None:
        __tracebackhide__ = True
        if not isinstance(name, str) or name not in CATALOGUE:
            # A single word, such as "slow", is not similar to the whole name.
            with_word = [known for known in CATALOGUE if name in known.split("-")]
            nearest = find_nearest(str(name), with_word, 0) or find_nearest(str(name), CATALOGUE)
            suggestion = "" if nearest is None else f" Did you mean {nearest!r}?"
            raise UnknownMisbehaviour(
                f"Unknown misbehaviour {shorten(name)}.{suggestion} The command `llm-mock "
                "misbehaviours` lists them all."
            )
        if times is not None and not is_whole(times, 1):
            raise UnknownMisbehaviour(
                f"times is {shorten(times)}; it must be a whole number of calls from 1. Omit it "
                "to change every call."
            )
        self._fault = CATALOGUE[name]
        self.name: str = name
        """The name of the misbehaviour."""
        self.description: str = self._fault.description
        """The explanation of the misbehaviour, in one sentence."""
        self.needs = self._fault.needs
        self.times = times
        self.calls = []
        self._first_answers: dict[str, Reply] = {}
        self._last_tool_call: Any = None
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"<Misbehaviour {self.name}: applied to calls {self.calls}>"

    def __str__(self) -> str:
        """Describe the misbehaviour and list the calls that it was applied to."""
        numbers = ", ".join(map(str, self.calls[:MAX_SHOWN_CALLS]))
        if len(self.calls) > MAX_SHOWN_CALLS:
            numbers += ", …"
        applied_to = f"calls {numbers}"
        if len(self.calls) == 1:
            applied_to = f"call {numbers}"
        elif not self.calls:
            applied_to = "no call"
        return f"{self.name}: {self.description}\nApplied to {applied_to}."

    def explain_not_applied(self, calls: int) -> str:
        """Explain why a test with that many calls is skipped: none of them was changed."""
        made = format_count(calls, "call")
        return f"{self.name} changed no call in this test ({made} made): it needs {self.needs}"

    def make_error(self, record: Call) -> Reply | None:
        """Return a reply that raises the provider's error; None if this misbehaviour has none.

        It is raised before a queued reply is used.
        """
        kind = self._fault.error
        if kind is None or not self._claim(record):
            return None
        provider = record.get("provider")
        return Reply(error=make_provider_error(record["model_id"], kind, provider=provider))

    def change(self, record: Call, request: Request, reply: Reply) -> Reply:
        """Return the changed reply to a call, or the same reply if the misbehaviour does not apply.

        Raises:
            EndlessToolCalls: the application lets the model call tools endlessly.
        """
        change = self._fault.change
        if change is None or reply.error is not None:
            return reply
        model_id = record["model_id"]
        context = FaultContext(
            model_id,
            request,
            _make_valid(reply, request),
            self._first_answers.get(model_id),
            self._last_tool_call,
            applied=len(self.calls),
        )
        # Stored even if this call is not changed, because later calls may repeat its answer.
        if reply.content:
            self._first_answers.setdefault(model_id, context.reply)
        if reply.tool_calls:
            self._last_tool_call = reply.tool_calls[0]
        if self._is_used_up():
            return reply
        changed = change(context)
        # Another thread may have used up `times` by now, so only `_claim` decides.
        if changed is None or not self._claim(record):
            return reply
        return changed

    def _is_used_up(self) -> bool:
        return self.times is not None and len(self.calls) >= self.times

    def _claim(self, record: Call) -> bool:
        """Count a call; return False if `times` calls were already counted."""
        # Locked, because calls come from several threads.
        with self._lock:
            if self._is_used_up():
                return False
            self.calls.append(record["number"])
            record["misbehaviour"] = self.name
            return True

    def receive(self, record: Call) -> None:
        """Count a call that another process reported."""
        if "misbehaviour" in record:
            self.calls.append(record["number"])


def _make_valid(reply: Reply, request: Request) -> Reply:
    """Return a generated reply if the call has a schema but no configured reply; else the reply."""
    if reply is not DEFAULT_REPLY or not request.schema:
        return reply
    from llm_mock.behaviour.generate import generate_reply

    with suppress(LLMMockError):
        return generate_reply(request.schema)
    return reply
