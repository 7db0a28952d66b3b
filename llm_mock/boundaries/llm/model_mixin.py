"""Attributes and assertions that every mocked model has beside those of `llm`."""

from __future__ import annotations

from typing import Any

from llm_mock.behaviour import ModelBehaviour
from llm_mock.core.assertions import CallAssertions, explain_missing_calls, forward_assertion
from llm_mock.core.call import Call
from llm_mock.core.history import ModelState
from llm_mock.core.mock import Mock


class MockedModelMixin:
    """The mock, the default response and the history of a mocked model."""

    model_id: str = ""
    is_llm_mock = True

    def mock(self) -> Mock | None:
        """Return the mock that answers when the model is called; None for the real model.

        A model without a mock creates one of its own here, and not in `__init__`, which a subclass
        may fail to call.
        """
        mock = Mock(ModelBehaviour())
        vars(self)["mock"] = mock.get_self  # found before this method from now on
        return mock

    @property
    def model_name(self) -> str:
        """The same as `model_id`."""
        return self.model_id

    @property
    def _state(self) -> ModelState:
        mock = self.mock() or Mock(ModelBehaviour())
        return mock.history.state(self.model_id)

    @property
    def default_response(self) -> Any:
        """The reply where no other one was configured; any reply may be assigned."""
        return self._state.default_response

    @default_response.setter
    def default_response(self, reply: object) -> None:
        self._state.set_default(reply)

    @property
    def call_history(self) -> list[Call]:
        """All calls of this model in order, failed ones included."""
        mock = self.mock()
        return [] if mock is None else mock.calls_of_id(self.model_id)

    @property
    def prompt_count(self) -> int:
        """The number of calls of this model."""
        return len(self.call_history)

    def reset_history(self) -> None:
        """Forget all calls of this model."""
        mock = self.mock()
        if mock is not None:
            mock.forget_calls(self.model_id)

    @property
    def _assertions(self) -> CallAssertions:
        mock = self.mock()
        never = f"Model {self.model_id!r} was never called."
        respelt = ""
        if mock is not None:
            never = explain_missing_calls(mock, self.model_id)
            respelt = mock.explain_respelt_model(self.model_id)
        return CallAssertions(f"model {self.model_id!r}", self.call_history, never, respelt)

    @property
    def last_call(self) -> Call:
        """The record of the last call; `AssertionError` if there was none."""
        __tracebackhide__ = True
        return self._assertions.last_call

    assert_not_called = forward_assertion(CallAssertions.assert_not_called)
    assert_called_once = forward_assertion(CallAssertions.assert_called_once)
    assert_called_with = forward_assertion(CallAssertions.assert_called_with)
    assert_called_once_with = forward_assertion(CallAssertions.assert_called_once_with)
    assert_any_call = forward_assertion(CallAssertions.assert_any_call)
    assert_not_called_with = forward_assertion(CallAssertions.assert_not_called_with)
