"""The mocked models: real `llm` models that answer from a script."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable
from typing import Any

import llm

from llm_mock.boundaries.llm.execution_guard import is_async
from llm_mock.boundaries.llm.scripted_model import AsyncScriptedModel, ScriptedModel
from llm_mock.core.mock import Mock


class _MockModelMeta(ABCMeta):
    """Has `isinstance(model, MockLLMModel)` say whether a model is mocked; to `llm` one with a key is no `Model`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or (
            cls is MockLLMModel and type(instance) is MockKeyModel
        )


class MockLLMModel(ScriptedModel, llm.Model, metaclass=_MockModelMeta):
    """A real `llm.Model` that answers from a script, records every call and never reaches a network."""


class MockKeyModel(ScriptedModel, llm.KeyModel):
    """The mock of a registered model that is an `llm.KeyModel`."""


class AsyncMockLLMModel(AsyncScriptedModel, llm.AsyncModel):  # type: ignore[misc]
    """The asynchronous twin of `MockLLMModel`: lazy, as every `llm.AsyncModel`."""


class AsyncMockKeyModel(AsyncScriptedModel, llm.AsyncKeyModel):  # type: ignore[misc]
    """The mock of a registered model that is an `llm.AsyncKeyModel`."""


def create_mock_model(
    real: Any, mock: Callable[[], Mock | None]
) -> ScriptedModel | AsyncScriptedModel:
    """The mock of a registered model, sync or async: it looks like that one, and refuses what that would refuse."""
    with_key = isinstance(real, (llm.KeyModel, llm.AsyncKeyModel))
    model: ScriptedModel | AsyncScriptedModel
    if is_async(real):
        model = (AsyncMockKeyModel if with_key else AsyncMockLLMModel)(real.model_id, mock=mock)
    else:
        model = (MockKeyModel if with_key else MockLLMModel)(real.model_id, mock=mock)
    model.copy_capabilities(real)
    return model
