"""Attributes and assertions that every mocked model has in addition to those of `llm`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llm_mock.behaviour import ModelBehaviour
from llm_mock.core.assertions import CallAssertions, explain_missing_calls, forward_assertion
from llm_mock.core.call import Call
from llm_mock.core.context import current_mock_if_created
from llm_mock.core.history import ModelState
from llm_mock.core.mock import Mock
from llm_mock.support.misspelling import NotAssignable
from llm_mock.support.text import shorten


class NotAssignableToModel(NotAssignable):
    """A name of `unittest.mock` for replies, whose error says how to configure them.

    Args:
        advice: the correct code, with the placeholders `{mock}`, `{model}` and `{value}`.
        own_advice: the correct code for a model whose mock has no methods for replies.
    """

    def __init__(self, advice: str, own_advice: str) -> None:
        super().__init__(advice)
        self._own_advice = own_advice

    def advise(self, instance: object, value: object) -> str:
        """Return the end of the message about the assignment of a value."""
        assert isinstance(instance, MockedModelMixin)
        mock = instance.mock()
        if mock is not None and not hasattr(mock, "set"):
            return self._own_advice
        name = "mock"
        if mock is current_mock_if_created():
            name = "mock_llm_responses"
        shown = "…"
        if isinstance(value, (str, dict)):
            shown = shorten(value)
        model = repr(instance.model_id)
        return self._advice.format(mock=name, model=model, value=shown)


class MockedModelMixin:
    """The mock, the default response and the history of a mocked model."""

    model_id: str = ""
    is_llm_mock = True

    # Without these, an assignment would be accepted and have no effect. Hidden from type checkers,
    # which know that there is nothing to assign.
    if not TYPE_CHECKING:
        responses = NotAssignableToModel(
            "write {mock}.script({model}, 'a', 'b')", "assign default_response"
        )
        return_value = NotAssignableToModel(
            "write {mock}.set({model}, {value})", "assign default_response"
        )
        side_effect = NotAssignableToModel(
            "write {mock}.script({model}, 'a', 'b'), or {mock}.set_error({model}, error)",
            "assign default_response, which may be a function or an exception",
        )

    def mock(self) -> Mock | None:
        """Return the mock that answers when the model is called; None for the real model.

        A model without a mock creates its own mock here. It does not in `__init__`, because a
        subclass may not call that.
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
        """The reply if no other reply is configured; any reply can be assigned."""
        return self._state.default_response

    @default_response.setter
    def default_response(self, reply: object) -> None:
        self._state.set_default(reply)

    @property
    def call_history(self) -> list[Call]:
        """All calls to this model in order, including failed ones."""
        mock = self.mock()
        return [] if mock is None else mock.calls_of_id(self.model_id)

    @property
    def prompt_count(self) -> int:
        """The number of calls to this model."""
        return len(self.call_history)

    def reset_history(self) -> None:
        """Remove all calls to this model from the history."""
        mock = self.mock()
        if mock is not None:
            mock.forget_calls(self.model_id)

    @property
    def _assertions(self) -> CallAssertions:
        mock = self.mock()
        never = f"Model {self.model_id!r} was never called."
        respelt = ""
        get_model_id = None
        if mock is not None:
            get_model_id = mock.configurator.get_model_id
            never = explain_missing_calls(mock, self.model_id)
            respelt = mock.explain_respelt_model(self.model_id)
        owner = f"model {self.model_id!r}"
        return CallAssertions(owner, self.call_history, never, respelt, get_model_id)

    @property
    def last_call(self) -> Call:
        """The record of the last call; raises `AssertionError` if the model was never called."""
        __tracebackhide__ = True
        return self._assertions.last_call

    assert_not_called = forward_assertion(CallAssertions.assert_not_called)
    assert_called_once = forward_assertion(CallAssertions.assert_called_once)
    assert_called_with = forward_assertion(CallAssertions.assert_called_with)
    assert_called_once_with = forward_assertion(CallAssertions.assert_called_once_with)
    assert_any_call = forward_assertion(CallAssertions.assert_any_call)
    assert_not_called_with = forward_assertion(CallAssertions.assert_not_called_with)
