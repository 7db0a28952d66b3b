"""Mutations: changes to the calls of a test, to find out which changes the test notices."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from llm_mock.behaviour import changed_requests, changed_values
from llm_mock.behaviour.prompt_rules import list_rule_changes, split_rules
from llm_mock.core.source_location import find_project_line
from llm_mock.errors import LLMMockError
from llm_mock.support.json_types import JSONObject
from llm_mock.support.locks import Lock
from llm_mock.support.text import shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.mock import Mock
    from llm_mock.core.reply import Reply
    from llm_mock.core.request import Request

MAX_CALLS = 10
"""The maximum number of calls of a test that are changed."""
MAX_MORE_CALLS = 50
"""The number of additional calls that a changed test may make."""
SHOWN_TEXT = 60
"""The maximum length of a prompt or an answer in advice."""


class CallChange(NamedTuple):
    """One change to the calls of a test."""

    kind: str
    """A key of `KINDS`."""
    call: int
    """The number of the changed call in its test, from 1; 0 means every call with the rule."""
    position: int = 0
    """The position of a message in the history."""
    old: str = ""
    """The rule of a prompt."""
    new: str = ""
    """The text that replaces the rule."""


class ObservedCall(NamedTuple):
    """A call of a test that passed, with what is needed to plan its changes."""

    number: int
    """The number in its test, from 1."""
    model_id: str
    place: str
    """The file and line of the project that made it; empty if it is not known."""
    request: Request
    reply: Reply


class Kind(NamedTuple):
    """A kind of change."""

    description: str
    """The change in plain words; `{old}` and `{new}` stand for the texts of a rule."""
    advise: Callable[[ObservedCall], str]
    """Returns the assertion to add."""
    change_reply: Callable[[Request, Reply], Reply | None] | None = None
    change_request: Callable[[Request], Request | None] | None = None


def _quote(text: str) -> str:
    return shorten(text, SHOWN_TEXT)


def _advise_result(call: ObservedCall) -> str:
    return f"assert the result of the application for {_quote(call.reply.content)}"


def _advise_empty(call: ObservedCall) -> str:
    return "assert how the application handles an empty answer, or the result of this answer"


def _advise_failure(call: ObservedCall) -> str:
    return (
        "assert the result of this answer; test failures with "
        f"mock.set_error({call.model_id!r}, …) and pytest.raises(…)"
    )


def _advise_error(call: ObservedCall) -> str:
    return "assert the error: with pytest.raises(…): …"


def _advise_tool(call: ObservedCall) -> str:
    names = ", ".join(each.name for each in call.reply.tool_calls)
    return f"assert the effect of the tool {names}, or mock.calls[-1].tool_results"


def _advise_count(call: ObservedCall) -> str:
    return f"assert_llm_called_times(mock, {call.model_id!r}, …)"


def _advise_prompt(call: ObservedCall) -> str:
    return f"mock.assert_called_with(prompt={_quote(call.request.prompt)})"


def _advise_system(call: ObservedCall) -> str:
    return f"mock.assert_called_with(system={_quote(call.request.system)})"


def _advise_message(call: ObservedCall) -> str:
    return f"assert mock.calls[{call.number - 1}].messages == […]"


def _advise_results(call: ObservedCall) -> str:
    results = []
    for result in call.request.tool_results:
        described = {
            "name": result.name,
            "output": result.output,
        }
        results.append(described)
    text = shorten(results, SHOWN_TEXT)
    position = call.number - 1
    return f"assert mock.calls[{position}].tool_results == {text}"


def _advise_model(call: ObservedCall) -> str:
    return f"mock.assert_called_with(model={call.model_id!r})"


def _advise_tools(call: ObservedCall) -> str:
    names = [tool.name for tool in call.request.tools]
    return f"mock.assert_called_with(tools={shorten(names, SHOWN_TEXT)})"


def _advise_schema(call: ObservedCall) -> str:
    from llm_mock.support.schemas import get_schema_name

    name = get_schema_name(call.request.schema)
    return f"mock.assert_called_with(schema={shorten(name, SHOWN_TEXT)})"


def _advise_nothing(call: ObservedCall) -> str:
    return ""


KINDS = {
    "text": Kind("the answer is another text", _advise_result, changed_values.change_text),
    "data": Kind("the answer has other data", _advise_result, changed_values.change_data),
    "no-tool-call": Kind("the model calls no tool", _advise_tool, changed_values.remove_tool_calls),
    "arguments": Kind(
        "the tool calls have other arguments", _advise_tool, changed_values.change_arguments
    ),
    "empty": Kind("the answer is empty", _advise_empty, changed_values.empty_answer),
    "error": Kind("the call fails", _advise_failure, changed_values.fail),
    "no-error": Kind("the call succeeds", _advise_error, changed_values.answer_error),
    "dropped-call": Kind("the call is not recorded", _advise_count),
    "prompt": Kind(
        "the prompt is empty", _advise_prompt, change_request=changed_requests.empty_prompt
    ),
    "system": Kind(
        "the system prompt is empty",
        _advise_system,
        change_request=changed_requests.empty_system,
    ),
    "tool-results": Kind(
        "the tool results are missing",
        _advise_results,
        change_request=changed_requests.remove_tool_results,
    ),
    "message": Kind("a message of the history is missing", _advise_message),
    "model": Kind(
        "another model is called", _advise_model, change_request=changed_requests.swap_model
    ),
    "tools": Kind(
        "no tools are offered", _advise_tools, change_request=changed_requests.remove_tools
    ),
    "schema": Kind(
        "no schema is requested", _advise_schema, change_request=changed_requests.remove_schema
    ),
    "rule-deleted": Kind("deleted", _advise_nothing),
    "rule-negated": Kind("negated", _advise_nothing),
    "rule-weakened": Kind("weakened", _advise_nothing),
    "rule-number": Kind("with another number", _advise_nothing),
}
"""Every kind of change by its name, in the order in which they are made."""


def list_changes(calls: Iterable[ObservedCall]) -> list[CallChange]:
    """Return the changes to the calls of a test, except the changes to rules."""
    changes = []
    for call in list(calls)[:MAX_CALLS]:
        for name, kind in KINDS.items():
            if name == "dropped-call" or _is_possible(kind, call):
                changes.append(CallChange(name, call.number))
            if name == "message":
                for position in changed_requests.find_earlier_messages(call.request):
                    changes.append(CallChange(name, call.number, position))
    return changes


def _is_possible(kind: Kind, call: ObservedCall) -> bool:
    """Return whether a change applies to a call."""
    try:
        if kind.change_reply is not None:
            return kind.change_reply(call.request, call.reply) is not None
        if kind.change_request is not None:
            return kind.change_request(call.request) is not None
    except LLMMockError:
        # For example a schema for which no data can be generated.
        return False
    return False


def list_changes_of_rules(calls: Iterable[ObservedCall]) -> list[CallChange]:
    """Return the distinct changes to the rules in the prompts of a test."""
    changes: dict[CallChange, None] = {}
    for call in calls:
        texts = [call.request.system]
        # A single sentence is the input of the application, not an instruction.
        if len(split_rules(call.request.prompt)) > 1:
            texts.append(call.request.prompt)
        for rule in chain.from_iterable(map(list_rule_changes, texts)):
            change = CallChange(f"rule-{rule.kind}", 0, old=rule.rule, new=rule.text)
            changes[change] = None
    return list(changes)


def describe_change(change: CallChange, calls: Iterable[ObservedCall]) -> JSONObject:
    """Return a change as JSON: the `kind`, `change` and `advice`, and the `call` or the `rule`."""
    kind = KINDS[change.kind]
    described: JSONObject = {"kind": change.kind, "change": kind.description}
    if change.old:
        return {**described, "rule": change.old, "text": change.new}
    by_number = {each.number: each for each in calls}
    call = by_number[change.call]
    described["call"] = describe_call(call)
    described["advice"] = kind.advise(call)
    if change.kind == "message":
        message = call.request.messages()[change.position]
        described["change"] = f"{kind.description}: {_describe_message(message)}"
    return described


def describe_answer(change: CallChange, calls: Iterable[ObservedCall]) -> JSONObject | None:
    """Return a changed answer as JSON: its `text`, and the `arguments` of its tool calls.

    Returns:
        The answer; None if the change does not concern an answer, or makes the call fail.
    """
    change_reply = KINDS[change.kind].change_reply
    if change_reply is None:
        return None
    by_number = {each.number: each for each in calls}
    call = by_number[change.call]
    reply = change_reply(call.request, call.reply)
    if reply is None or reply.error is not None:
        return None
    arguments = [each.arguments for each in reply.tool_calls]
    return {"text": reply.content, "arguments": arguments}


def describe_call(call: ObservedCall) -> JSONObject:
    """Return the number, model and line of a call as JSON."""
    return {
        "number": call.number,
        "model_id": call.model_id,
        "place": call.place,
    }


def _describe_message(message: JSONObject) -> str:
    texts = []
    for part in message["parts"]:
        if part["type"] == "text":
            texts.append(part["text"])
    text = " ".join(texts)
    role = message["role"]
    return shorten_name(f"{role} {text!r}", SHOWN_TEXT)


class EndlessChange(BaseException):
    """A changed test makes calls endlessly.

    Not an `Exception`, which a loop that tries again may catch.
    """


class MutationObserver:
    """An observer that records the calls of a test, or changes them.

    Args:
        is_ignored: returns whether to ignore a mock, such as the mock of the run, whose calls
            belong to no test.
    """

    def __init__(self, is_ignored: Callable[[Mock], bool]) -> None:
        self._is_ignored = is_ignored
        self._lock = Lock()
        self._current = threading.local()
        self.start()

    def start(self, change: CallChange | None = None, calls: int = 0, seconds: float = 0.0) -> None:
        """Begin a run of a test.

        Args:
            change: the change to make; None for no change.
            calls: the number of calls that the test makes unchanged.
            seconds: the time after which the run ends with its next call; 0 for no limit.
        """
        self._change = change
        self._max_calls = 0
        self._end = 0.0
        if seconds:
            self._max_calls = calls + MAX_MORE_CALLS
            self._end = time.monotonic() + seconds
        self._numbers: dict[int, tuple[Call, int]] = {}
        self._requests: dict[int, tuple[str, Request]] = {}
        self._number = 0
        self._count = 0
        self._last_failure: tuple[object, ...] | None = None
        self.calls: list[ObservedCall] = []
        """The answered calls."""
        self.has_real_calls = False
        """Whether a call was made for real."""

    def change_request(self, mock: Mock, request: Request) -> Request:
        """Count a call, and return its request with the change."""
        if self._is_ignored(mock):
            return request
        if mock.cassette is not None and mock.cassette.mode != "none":
            self.has_real_calls = True
        with self._lock:
            self._count += 1
            # The retries of a failed call are changed as it is: a client repeats its request.
            if _get_key(request) != self._last_failure:
                self._number += 1
            self._last_failure = None
            number = self._number
        # Several threads may start calls at the same time; each has its own number.
        self._current.number = number
        self._check_limits()
        if self._change is None:
            self._requests.setdefault(number, (find_project_line(), request))
            return request
        return self._apply(self._change, number, request) or request

    def _check_limits(self) -> None:
        """Raise an `EndlessChange` if a changed test does not come to an end."""
        if not self._max_calls:
            return
        if self._count > self._max_calls or time.monotonic() > self._end:
            raise EndlessChange("The changed test does not end.")

    def _apply(self, change: CallChange, number: int, request: Request) -> Request | None:
        if change.old:
            return changed_requests.replace_text(request, change.old, change.new)
        if number != change.call:
            return None
        if change.kind == "message":
            return changed_requests.remove_message(request, change.position)
        change_request = KINDS[change.kind].change_request
        return None if change_request is None else change_request(request)

    def hide_call(self, mock: Mock, record: Call) -> bool:
        """Return whether this is the call to leave out of the history."""
        if self._is_ignored(mock):
            return False
        number = self._current.number
        self._numbers[id(record)] = record, number
        change = self._change
        return change is not None and change.kind == "dropped-call" and change.call == number

    def change_reply(self, mock: Mock, record: Call, request: Request, reply: Reply) -> Reply:
        """Record the answer to a call, or change it."""
        known = self._numbers.get(id(record))
        if known is None:
            return reply
        number = known[1]
        if self._change is not None:
            reply = self._change_answer(self._change, number, request, reply)
        elif not self.calls or self.calls[-1].number != number:
            place, original = self._requests[number]
            call = ObservedCall(
                number,
                record["model_id"],
                place,
                original,
                reply,
            )
            self.calls.append(call)
        if reply.error is not None:
            self._last_failure = _get_key(request)
        return reply

    def _change_answer(
        self, change: CallChange, number: int, request: Request, reply: Reply
    ) -> Reply:
        function = KINDS[change.kind].change_reply
        if function is None or number != change.call:
            return reply
        return function(request, reply) or reply

    def note_real_call(self, record: Call) -> None:
        """Record that the test calls a real model."""
        self.has_real_calls = True


def _get_key(request: Request) -> tuple[object, ...]:
    """Return the values that a request shares with its retries."""
    return request.model_id, request.system, request.prompt, request.turn
