"""The response that `prompt()` of a mocked model returns."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any

import llm
import llm.models

from llm_mock.boundaries.llm import versions
from llm_mock.boundaries.llm.playback import complete
from llm_mock.boundaries.llm.provider_classes import get_original_function, keep_original
from llm_mock.boundaries.llm.unconsumed_responses import UNREGISTER
from llm_mock.core.answer import Answer
from llm_mock.errors import LLMMockError

if TYPE_CHECKING:
    from llm_mock.core.protocols import PassthroughCall


_STREAM_EVENT = versions.get_stream_event_class()


class CallableText(str):
    """A text that can also be called, for `response.text` and `response.text()`."""

    __slots__ = ()

    def __call__(self) -> str:
        """Return the text as a plain string, as `llm.Response.text()`."""
        return str(self)


class CallableUsage(dict[str, Any]):
    """Token counts: a dict of `input_tokens` and `output_tokens`, callable for the `llm.Usage`."""

    details: Any = None

    @classmethod
    def from_usage(cls, usage: llm.Usage) -> CallableUsage:
        """Return the counts of an `llm.Usage`."""
        counts = cls(input_tokens=usage.input, output_tokens=usage.output)
        counts.details = usage.details
        return counts

    def __call__(self) -> llm.Usage:
        """Return the `llm.Usage`, as `llm.Response.usage()`."""
        return llm.models.Usage(self["input_tokens"], self["output_tokens"], self.details)


def wrap_patched_value(value: object) -> Any:
    """Return a function that returns a value.

    A test may patch `llm.Response.text` to return any value. Our `text` is a property, so
    `response.text()` must find something to call.
    """
    return lambda: value


NOTHING_PASSED: Mapping[str, Any] = MappingProxyType({})


class MockResponse(llm.Response):
    """An `llm.Response` whose `text` and `usage` are properties, returned by `MockLLMModel.prompt`.

    `llm`'s own responses have methods there, and their `json()` is the provider's raw payload.
    """

    # `ScriptedModel.prompt` registers it as unread, as it knows the mock.
    __init__ = getattr(llm.Response.__init__, "__wrapped__", llm.Response.__init__)

    decided: Answer | PassthroughCall | None = None
    """The answer, if `prompt()` has fixed it; None if reading the response fixes it."""
    raw_json = False
    """Set if `json()` returns the provider's payload only."""
    passed: Mapping[str, Any] = NOTHING_PASSED
    """Arguments of `prompt()` for the history, which `llm` does not pass to the model."""

    def _force(self) -> None:
        # A private name of llm: it reads the response to its end. The original goes through the
        # guards, `get_key`, which reads the user's folder, and `execute`. None of them can change
        # an answer that is already fixed, so this method skips them.
        answer = self.decided
        if self._done or not isinstance(answer, Answer) or answer.waits is not None:
            llm.Response._force(self)  # type: ignore[no-untyped-call]
        elif answer.reply.is_text and not answer.reply.is_recorded:
            self._play_at_once(answer)
        else:
            llm.Response._force(self)  # type: ignore[no-untyped-call]

    def _play_at_once(self, answer: Answer) -> None:
        """Complete this response with a text at once, without streaming it."""
        reply = answer.reply
        # The attributes that `Response.__iter__` of llm sets; all but the events have been there in
        # every supported version.
        self._start = time.monotonic()
        self._start_utcnow = datetime.now(timezone.utc)
        # The same as `reply.stream`, whose call is saved.
        if self.stream and reply.chunks:
            chunks = reply.chunks
        else:
            chunks = (reply.content,) if reply.content else ()
        for chunk in chunks:
            self._chunks.append(chunk)
            if _STREAM_EVENT is not None:
                event = _STREAM_EVENT(type="text", chunk=chunk, part_index=0)
                self._stream_events.append(event)
        if reply.is_text_alone and not answer.raw_json:
            record = answer.record
            self.set_usage(input=record["input_tokens"], output=record["output_tokens"])
        else:
            complete(self, answer)
        self._end = time.monotonic()
        self._done = True
        # The same as `mark_read`, whose call is saved.
        unregister = vars(self).pop(UNREGISTER, None)
        if unregister is not None:
            unregister(id(self), None)
        self._on_done()  # type: ignore[no-untyped-call]

    @property
    def text(self) -> CallableText:
        """The whole text; reading it streams the response to its end."""
        text = llm.Response.text(self)
        return CallableText(text) if isinstance(text, str) else wrap_patched_value(text)

    def text_or_raise(self) -> str:
        """Return the whole text, like `llm`'s own method of that name."""
        return super().text()

    @property
    def usage(self) -> CallableUsage:
        """`{"input_tokens": …, "output_tokens": …}`; calling it returns the `llm.Usage`."""
        usage = super().usage()
        if isinstance(usage, llm.models.Usage):
            return CallableUsage.from_usage(usage)
        return wrap_patched_value(usage)

    def json(self) -> Any:
        """Return the data of a structured reply, else the text parsed as JSON.

        With ini `llm_mock_production_responses` it is the provider's payload, as in `llm`.

        Raises:
            json.JSONDecodeError: the reply is plain text.
        """
        payload = super().json()
        return json.loads(super().text()) if payload is None and not self.raw_json else payload

    def log_to_db(self, db: Any) -> None:
        """Log the response to an `llm` database, as `llm` logs its own."""
        log: Callable[[llm.Response, Any], None] = llm.Response.log_to_db
        if not versions.is_json_read_for_log():
            log(self, db)
            return
        # `llm` logs `response.json()`, which here is not the payload: log a copy of `llm`'s class.
        super().text()  # read to the end, so that the copy has nothing left to execute
        response: llm.Response = copy.copy(self)
        response.__class__ = llm.Response
        log(response, db)


def _copy_with_mock_response(function: object) -> Any:
    """Return a copy of a function of `llm.models` that creates a `MockResponse`.

    Raises:
        LLMMockError: it is not a function.
    """
    # The copy has the globals of `llm.models`, in which `Response` is our class. Changing the class
    # of a response afterwards would make all that `llm` does with it slower by a quarter.
    names = {**vars(llm.models), "Response": MockResponse}
    if not isinstance(function, FunctionType):
        raise LLMMockError(
            "llm.Model was replaced before any model was used, so the mock cannot derive from it. "
            "Patch llm.get_model or llm.Model.prompt instead."
        )
    copied = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


build_mock_response = _copy_with_mock_response(get_original_function(llm.Model, "prompt"))
"""`llm.Model.prompt`, without patches, for a `MockResponse`."""


def has_original_classes() -> bool:
    """Return True unless a test has patched the classes that `llm.Model.prompt` creates."""
    return llm.models.Response is llm.Response and llm.models.Prompt is llm.Prompt


# A patch of these is detected like a patch of a model's function.
keep_original(llm.models, "Response", llm.Response)
keep_original(llm.models, "Prompt", llm.Prompt)
