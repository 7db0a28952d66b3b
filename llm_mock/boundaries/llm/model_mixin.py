"""The history of one model, as its mock keeps it."""

from __future__ import annotations

from typing import Any

from llm_mock.behaviour import ModelBehaviour
from llm_mock.core.assertions import CallAssertions
from llm_mock.core.history import ModelState
from llm_mock.core.mock import Mock
from llm_mock.core.records import CallRecord
from llm_mock.support.forwarding import forward_method


class MockedModelMixin:
    """What a mocked model has beside `llm`'s own: the mock that answers for it, a default response, its history."""

    model_id: str = ""
    is_llm_mock = True

    def mock(self) -> Mock | None:
        """Says which mock answers when the model is called; None lets the real model of that id answer.

        A model that was not given one makes one of its own here, also when a subclass did not call our `__init__`.
        """
        self.mock = Mock(ModelBehaviour()).get_self  # type: ignore[method-assign]
        return self.mock()

    @property
    def model_name(self) -> str:
        """The same as `model_id`."""
        return self.model_id

    @property
    def _state(self) -> ModelState:
        return (self.mock() or Mock(ModelBehaviour())).history.state(self.model_id)

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

    @property
    def _assertions(self) -> CallAssertions:
        never = f"Model {self.model_id!r} was never called. Does the code under test ask for this model?"
        return CallAssertions(f"model {self.model_id!r}", self.call_history, never)

    @property
    def last_call(self) -> CallRecord:
        """The record of the last call; `AssertionError` where there was none."""
        __tracebackhide__ = True
        return self._assertions.last_call

    assert_not_called = forward_method("_assertions", CallAssertions.assert_not_called)
    assert_called_once = forward_method("_assertions", CallAssertions.assert_called_once)
    assert_called_with = forward_method("_assertions", CallAssertions.assert_called_with)
    assert_called_once_with = forward_method("_assertions", CallAssertions.assert_called_once_with)
