"""The record of a call, and the assertions about what was called.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

from llm_mock import explain
from llm_mock.boundaries.llm import boundary
from llm_mock.support import schemas

if TYPE_CHECKING:
    import llm
    from typing_extensions import NotRequired

    from llm_mock.boundaries.llm.registry import MockGetModel
    from llm_mock.core.answering import ModelState


DEEPEST = 50
"""How deep an argument is recorded; one that contains itself has no end."""
NOT_PASSED = {"temperature": 0.0, "max_tokens": 1000, "model": None}
"""What the record of a `prompt()` shows for arguments that were not passed: the defaults of the specification."""
UNKNOWN = {"temperature": None, "model": None}


class CallRecord(TypedDict):
    """One call of a model, as plain JSON values that later changes to the arguments cannot reach."""

    timestamp: str
    """When the model was asked: ISO 8601, local time."""
    number: int
    """The position of the call among all that its mock saw, from 1."""
    model_id: str
    """Which model was asked."""
    turn: int
    """Which answer of its conversation it asked for, from 1."""
    prompt: str
    """The text of the prompt with its fragments; with `messages=` alone, that of the last user message."""
    prompt_length: int
    """Its length in characters."""
    kwargs: dict[str, Any]
    """`schema` (its name), `temperature` and `model` (None when not passed), and whatever else was passed."""
    options: dict[str, Any]
    """The options of the call: those that `llm` was given, and what else was passed to `prompt()`."""
    response: Any
    """What the model answered: text, or the data of a structured reply. None for an error."""
    error: str | None
    """The message of the error that was raised, else None."""
    input_tokens: int | None
    """What the call cost, as scripted or estimated. None for an error."""
    output_tokens: int | None
    """What the answer cost, as scripted or estimated. None for an error."""
    configured: bool
    """Whether a reply was configured for the call; if not, it was answered by default."""
    misbehaviour: NotRequired[str]
    """What the model did wrong in the call, where it was made to; see `mock.misbehave`."""


class Numbers:
    """Counts from 1, under threads too. A copy goes on from where the original is."""

    def __init__(self, last: int = 0) -> None:
        self._last = last
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return Numbers, (self._last,)

    def next(self) -> int:
        """The next number."""
        with self._lock:
            self._last += 1
            return self._last


Totals = dict[str, int]
"""Sums over calls: `calls`, `input_tokens`, `output_tokens`, `errors`, `unconfigured`."""


def add_call(totals: dict[str, Totals], call: CallRecord) -> None:
    """Add a call to the sums of its model."""
    counted = {
        "calls": 1,
        "input_tokens": call["input_tokens"] or 0,
        "output_tokens": call["output_tokens"] or 0,
        "errors": int(call["error"] is not None),
        "unconfigured": int(not call["configured"]),
    }
    add_totals(totals, {call["model_id"]: counted})


def add_totals(totals: dict[str, Totals], others: Mapping[str, Totals]) -> None:
    """Add sums to sums, model by model."""
    for model_id, counted in others.items():
        mine = totals.setdefault(model_id, dict.fromkeys(counted, 0))
        for name, number in counted.items():
            mine[name] += number


def new_record(
    number: int, model_id: str, prompt: llm.Prompt, passed: Mapping[str, Any] | None, conversation: Any
) -> CallRecord:
    """Record a call that is about to be answered.

    Args:
        number: the position of the call.
        model_id: the model that is asked.
        prompt: what `llm` hands to the model.
        passed: arguments of our `prompt()` that `llm` does not hand to the model, as JSON values; None for a call
            that was made in another way.
        conversation: the conversation, if the call is part of one.
    """
    text = prompt.prompt or _last_user_text(prompt)
    schema = prompt.schema and schemas.schema_name(prompt.schema)
    set_options = prompt.options.model_fields_set
    options = {name: plain(getattr(prompt.options, name)) for name in set_options} if set_options else {}
    options.update(passed or {})
    kwargs = {"schema": schema, **(UNKNOWN if passed is None else NOT_PASSED), **options}
    if system := prompt.system:
        kwargs["system"] = system
    if prompt.tools:
        kwargs["tools"] = [tool.name for tool in prompt.tools]
    if prompt.tool_results:
        kwargs["tool_results"] = [{"name": result.name, "output": result.output} for result in prompt.tool_results]
    if prompt.attachments:
        kwargs["attachments"] = [_attachment(attachment) for attachment in prompt.attachments]
    return {
        "timestamp": datetime.now().isoformat(),
        "number": number,
        "model_id": model_id,
        "turn": boundary.turn_of(prompt, conversation),
        "prompt": text,
        "prompt_length": len(text),
        "kwargs": kwargs,
        "options": options,
        "response": None,
        "error": None,
        "input_tokens": None,
        "output_tokens": None,
        "configured": True,
    }


def _attachment(attachment: llm.Attachment) -> dict[str, Any]:
    size = None if attachment.content is None else len(attachment.content)
    described = {"type": attachment.type, "path": attachment.path, "url": attachment.url, "bytes": size}
    if attachment.type is None and attachment.url is None:  # a URL would be asked for its type
        with contextlib.suppress(OSError, ValueError):
            described["type"] = attachment.resolve_type()  # type: ignore[no-untyped-call]
    return {name: value for name, value in described.items() if value is not None or name == "type"}


def _last_user_text(prompt: llm.Prompt) -> str:
    messages = getattr(prompt, "messages", ())  # from llm 0.32 on
    if not messages or messages[-1].role != "user":
        return ""
    return "\n".join(part.text for part in messages[-1].parts if hasattr(part, "text"))


def plain(value: Any, depth: int = 0) -> Any:
    """A copy of a value in which everything is a JSON value; what has no JSON form is shown by its repr."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if depth > DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, depth + 1) for item in value]
    if hasattr(type(value), "model_dump"):
        return plain(value.model_dump(mode="json", by_alias=True), depth + 1)
    shown = value.__qualname__ if isinstance(value, type) else repr(value)
    return f"<{type(value).__qualname__}>" if f"object at {id(value):#x}" in shown else shown


class ModelHistory:
    """The history of one model, for its mock to keep and for tests to look at."""

    model_id: str = ""
    is_llm_mock = True

    def mock(self) -> MockGetModel | None:
        """Says which mock answers when the model is called; None lets the real model of that id answer.

        A model that was not given one makes one of its own here, also when a subclass did not call our `__init__`.
        """
        from llm_mock.boundaries.llm.registry import MockGetModel

        self.mock = MockGetModel().itself  # type: ignore[method-assign]
        return self.mock()

    @property
    def model_name(self) -> str:
        """The same as `model_id`."""
        return self.model_id

    @property
    def _state(self) -> ModelState:
        raise NotImplementedError

    @property
    def default_response(self) -> Any:
        """What is answered where no other reply was configured; any reply may be assigned."""
        return self._state.default_response

    @default_response.setter
    def default_response(self, reply: Any) -> None:
        self._state.set_default(reply)

    @property
    def call_history(self) -> list[CallRecord]:
        """Every call of this model, failed ones included, in order."""
        mock = self.mock()
        return [] if mock is None else mock.calls_of_id(self.model_id)

    @property
    def prompt_count(self) -> int:
        """How often this model was called."""
        return len(self.call_history)

    def reset_history(self) -> None:
        """Forget every call of this model."""
        if mock := self.mock():
            mock.forget_calls(self.model_id)

    def assert_called_with(self, prompt_contains: str | None = None, schema: Any = None) -> None:
        """Assert that the model was called, and that in one call both conditions held.

        Args:
            prompt_contains: a text that occurs in the prompt.
            schema: the schema that was asked for: a pydantic class, a JSON-schema dict or a name.

        Raises:
            AssertionError: there was no such call. The message shows the calls there were.
        """
        __tracebackhide__ = True
        name = schemas.schema_name(schema)
        for call in self.call_history:
            if (prompt_contains or "") in call["prompt"] and name in (None, call["kwargs"]["schema"]):
                return
        raise AssertionError(explain.no_such_call(self.model_id, self.call_history, prompt_contains, name))


def assert_llm_called_times(mock_llm_calls: MockGetModel, model_name: str, times: int) -> None:
    """Assert how often a model was called.

    Args:
        mock_llm_calls: the fixture of that name, or what `create_mock_get_model` returned.
        model_name: the id or an alias of the model.
        times: the expected number of calls, failed ones included.

    Raises:
        AssertionError: it was called more or less often. The message shows the prompts there were.
    """
    __tracebackhide__ = True
    calls = mock_llm_calls.calls_of(model_name)
    if len(calls) != times:
        raise AssertionError(explain.wrong_call_count(model_name, times, calls, mock_llm_calls.calls))


def assert_prompt_contains(mock_llm_calls: MockGetModel, model_name: str, text: str) -> None:
    """Assert that a text occurs in at least one prompt that a model was sent.

    Args:
        mock_llm_calls: the fixture of that name, or what `create_mock_get_model` returned.
        model_name: the id or an alias of the model.
        text: the text to look for; upper and lower case differ.

    Raises:
        AssertionError: no prompt contains it. The message shows the prompts there were.
    """
    __tracebackhide__ = True
    calls = mock_llm_calls.calls_of(model_name)
    if not any(text in call["prompt"] for call in calls):
        raise AssertionError(explain.no_prompt_contains(model_name, text, calls, mock_llm_calls.calls))
