"""The mock of a project that has one of its own."""

from __future__ import annotations

from unittest.mock import Mock


class PrivateMock:
    def __init__(self, responses=None, side_effect=None):
        self.replies = {(model, None): reply for model, reply in (responses or {}).items()}
        self.side_effect = side_effect
        self.call_history = []

    def set_response(self, model, schema, response):
        self.replies[model, schema] = response

    def __call__(self, name):
        return Mock(prompt=lambda prompt, **kwargs: self._answer(name, prompt, kwargs))

    def _answer(self, model, prompt, kwargs):
        self.call_history.append(
            {"model": model, "prompt": prompt, "schema": kwargs.get("schema"), **kwargs}
        )
        if self.side_effect is not None:
            raise self.side_effect
        schema = kwargs.get("schema")
        reply = self.replies.get((model, schema), self.replies.get((model, None)))
        text = reply if isinstance(reply, str) else __import__("json").dumps(reply)
        return Mock(text=lambda: text, json=lambda: reply)


def create_mock_get_model(responses=None, side_effect=None):
    return PrivateMock(responses, side_effect)
