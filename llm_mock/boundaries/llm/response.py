"""What the `prompt()` of a mocked model gives back."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any

import llm
import llm.models

from llm_mock.boundaries.llm import versions
from llm_mock.boundaries.llm.provider_classes import get_original_function
from llm_mock.errors import LLMMockError

if TYPE_CHECKING:
    from llm_mock.core.answer import Answer
    from llm_mock.core.protocols import PassthroughCall


class CallableText(str):
    """A text that may also be called, as `response.text` or `response.text()`."""

    __slots__ = ()

    def __call__(self) -> str:
        return str(self)


class CallableUsage(dict[str, Any]):
    """Token counts as a mapping with `input_tokens` and `output_tokens`; called, it returns the `llm.Usage`."""

    details: Any = None

    @classmethod
    def of(cls, usage: llm.Usage) -> CallableUsage:
        """What an `llm.Usage` counts."""
        counts = cls(input_tokens=usage.input, output_tokens=usage.output)
        counts.details = usage.details
        return counts

    def __call__(self) -> llm.Usage:
        return llm.models.Usage(self["input_tokens"], self["output_tokens"], self.details)


def wrap_patched_value(value: Any) -> Any:
    """What a test has a patched method of `llm.Response` give, for the property in its place."""
    return lambda: value


NOTHING_PASSED: Mapping[str, Any] = MappingProxyType({})


class MockResponse(llm.Response):
    """The response of `MockLLMModel.prompt()`: an `llm.Response` whose `text` and `usage` need no call.

    `llm`'s own responses have methods there, and their `json()` is the provider's raw payload.
    """

    decided: Answer | PassthroughCall | None = None
    """What was answered when `prompt()` was called; None where that is decided when the response is read."""
    raw_json = False
    """Whether `json()` gives the provider's payload alone."""
    passed: Mapping[str, Any] = NOTHING_PASSED
    """Arguments of `prompt()` for the history that `llm` does not hand to the model."""

    @property
    def text(self) -> CallableText:
        """The whole text; reading it streams the response to its end."""
        text = llm.Response.text(self)
        return CallableText(text) if isinstance(text, str) else wrap_patched_value(text)

    def text_or_raise(self) -> str:
        """The whole text."""
        return super().text()

    @property
    def usage(self) -> CallableUsage:
        """`{"input_tokens": …, "output_tokens": …}`; called, the `llm.Usage`."""
        usage = super().usage()
        return (
            CallableUsage.of(usage)
            if isinstance(usage, llm.models.Usage)
            else wrap_patched_value(usage)
        )

    def json(self) -> Any:
        """Return the data of a structured reply, else the text parsed as JSON.

        With ini `llm_mock_response_json = raw` it is the provider's payload, as in `llm`.

        Raises:
            json.JSONDecodeError: the reply is plain text.
        """
        payload = super().json()
        return json.loads(super().text()) if payload is None and not self.raw_json else payload

    def log_to_db(self, db: Any) -> None:
        """Log the response to an `llm` database, as `llm` logs its own."""
        if not versions.is_json_read_for_log():
            super().log_to_db(db)  # type: ignore[no-untyped-call]
            return
        super().text()  # read to the end here, so that the copy has nothing left to execute
        response: llm.Response = copy.copy(self)
        response.__class__ = llm.Response
        response.log_to_db(db)  # type: ignore[no-untyped-call]


def _copy_with_mock_response(function: Any) -> Any:
    """A function of `llm.models` whose name `Response` is our class, and that is itself in all else.

    To change the class of a response that was made already would make all that `llm` does with it slower by a quarter.
    """
    names = {**vars(llm.models), "Response": MockResponse}
    if not isinstance(function, FunctionType):
        raise LLMMockError(
            "llm.Model is replaced as a whole, and no model was used before, so the mock cannot derive from it. "
            "Patch llm.get_model or llm.Model.prompt instead."
        )
    copied = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


build_mock_response = _copy_with_mock_response(get_original_function(llm.Model, "prompt"))
"""`llm.Model.prompt`, as it is where nobody patched it, which gives a `MockResponse`."""


def has_original_classes() -> bool:
    """Whether nobody patched the classes of what `prompt()` makes."""
    return llm.models.Response is llm.Response and llm.models.Prompt is llm.Prompt
