"""Mocked models: real `llm` models that answer from a script."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable
from typing import Any

import llm

from llm_mock.boundaries.llm.execution_guard import is_async
from llm_mock.boundaries.llm.scripted_model import AsyncScriptedModel, ScriptedModel
from llm_mock.core.mock import Mock


class _MockModelMeta(ABCMeta):
    """A metaclass that makes models with a key instances of `MockLLMModel` too."""

    def __instancecheck__(cls, instance: object) -> bool:
        # Users write `isinstance(model, MockLLMModel)`, and an `llm.KeyModel` is no `llm.Model`.
        if super().__instancecheck__(instance):
            return True
        return cls is MockLLMModel and type(instance) is MockKeyModel


class MockLLMModel(ScriptedModel, llm.Model, metaclass=_MockModelMeta):
    """A real `llm.Model` that answers from a script, records calls and uses no network."""


class MockKeyModel(ScriptedModel, llm.KeyModel):
    """The mock of a registered model that is an `llm.KeyModel`."""


class AsyncMockLLMModel(AsyncScriptedModel, llm.AsyncModel):  # type: ignore[misc]
    """An asynchronous `MockLLMModel`; it is lazy, like every `llm.AsyncModel`."""


class AsyncMockKeyModel(AsyncScriptedModel, llm.AsyncKeyModel):  # type: ignore[misc]
    """The mock of a registered model that is an `llm.AsyncKeyModel`."""


def create_mock_model(
    real: Any, mock: Callable[[], Mock | None]
) -> ScriptedModel | AsyncScriptedModel:
    """Return the mock of a registered model, with that model's options and limits.

    Args:
        real: the registered model, synchronous or not.
        mock: returns the mock that answers at the time of a call.
    """
    has_key = isinstance(real, (llm.KeyModel, llm.AsyncKeyModel))
    model: ScriptedModel | AsyncScriptedModel
    if is_async(real):
        async_class = AsyncMockKeyModel if has_key else AsyncMockLLMModel
        model = async_class(real.model_id, mock=mock)
    else:
        sync_class = MockKeyModel if has_key else MockLLMModel
        model = sync_class(real.model_id, mock=mock)
    model.copy_capabilities(real)
    return model
