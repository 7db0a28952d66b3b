"""Models that misbehave, to see what an application makes of it.

`@pytest.mark.llm_mock_misbehaviour` runs a test once for each entry of the catalogue.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from llm_mock import explain
from llm_mock.behaviour.catalogue import CATALOGUE, Case
from llm_mock.behaviour.provider_errors import provider_error
from llm_mock.core.reply import DEFAULT_REPLY, Reply
from llm_mock.errors import EndlessToolCalls, LLMMockError, UnknownMisbehaviour

if TYPE_CHECKING:
    import llm

    from llm_mock.core.records import CallRecord

MOST_TOOL_CALLS = 100
"""How often a model calls a tool without end, until the mock takes it for an endless loop of the application."""


def marked(markers: Iterable[Any]) -> list[tuple[str, int | None]]:
    """What the markers of a test choose: names with the number of calls.

    Args:
        markers: the `llm_mock_misbehaviour` markers of one function, class or module.

    Raises:
        UnknownMisbehaviour: there is none of a name, or a marker has another argument.
    """
    chosen = []
    for marker in reversed(list(markers)):  # pytest gives the one that is written last first
        if unknown := sorted(marker.kwargs.keys() - {"times"}):
            raise UnknownMisbehaviour(explain.bad_misbehaviour_marker([f"{name}=" for name in unknown]))
        chosen += [(name, marker.kwargs.get("times")) for name in marker.args or CATALOGUE]
    for name, times in chosen:
        Misbehaviour(name, times)
    return chosen


class Misbehaviour:
    """One misbehaviour in one test; `mock.misbehave("rate-limit", times=1)` makes it.

    Args:
        name: which one; `llm-mock misbehaviours` lists them.
        times: how many calls it befalls, the first ones that it can be applied to. By default all of them.

    Raises:
        UnknownMisbehaviour: there is none of that name, or `times` is below 1.
    """

    calls: list[int]
    """The numbers of the calls that it was applied to, as in their records."""

    def __init__(self, name: str, times: int | None = None) -> None:
        __tracebackhide__ = True
        if name not in CATALOGUE:
            raise UnknownMisbehaviour(explain.unknown_misbehaviour(name, list(CATALOGUE)))
        if times is not None and (not isinstance(times, int) or times < 1):
            raise UnknownMisbehaviour(explain.bad_misbehaviour_times(times))
        self.name = name
        self.description = CATALOGUE[name].description
        self.needs = CATALOGUE[name].needs
        self.times = times
        self.calls = []
        self._first_answers: dict[str, Reply] = {}
        self._last_tool_call: Any = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Misbehaviour {self.name}: applied to calls {self.calls}>"

    def error(self, record: CallRecord) -> Reply | None:
        """The provider's error for a call, which is raised before any reply is used up; None for no error."""
        kind = CATALOGUE[self.name].error
        if kind is None or not self._note(record):
            return None
        return Reply(error=provider_error(record["model_id"], kind))

    def change(self, record: CallRecord, prompt: llm.Prompt, reply: Reply) -> Reply:
        """What becomes of the reply to a call; the reply itself where the misbehaviour does not apply to it.

        Raises:
            EndlessToolCalls: the application lets the model call tools without end.
        """
        change = CATALOGUE[self.name].change
        if change is None or reply.error is not None:
            return reply
        model_id = record["model_id"]
        case = Case(model_id, prompt, _valid(reply, prompt), self._first_answers.get(model_id), self._last_tool_call)
        if reply.content:
            self._first_answers.setdefault(model_id, case.reply)
        self._last_tool_call = next(iter(reply.tool_calls), self._last_tool_call)
        changed = change(case)
        if changed is None or not self._note(record):
            return reply
        if self.name == "endless-tool-calls" and len(self.calls) > MOST_TOOL_CALLS:
            raise EndlessToolCalls(explain.endless_tool_calls(MOST_TOOL_CALLS))
        return changed

    def _note(self, record: CallRecord) -> bool:
        """Count a call that it can be applied to; False where it befell enough."""
        with self._lock:
            if self.times is not None and len(self.calls) >= self.times:
                return False
            self.calls.append(record["number"])
            record["misbehaviour"] = self.name
            return True

    def received(self, record: CallRecord) -> None:
        """Take a call that another process reported into account."""
        if "misbehaviour" in record:
            self.calls.append(record["number"])


def _valid(reply: Reply, prompt: llm.Prompt) -> Reply:
    """A reply to start from; where none was configured for a schema, an instance of it."""
    if reply is not DEFAULT_REPLY or not prompt.schema:
        return reply
    from llm_mock.behaviour.generate import generated_reply

    try:
        return generated_reply(cast("dict[str, Any]", prompt.schema))
    except LLMMockError:
        return reply
