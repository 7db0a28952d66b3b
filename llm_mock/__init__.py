"""Test code that calls large language models through the `llm` library: offline, fast, deterministic.

The public names are loaded when they are first used; importing the package imports neither `llm` nor pytest.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llm_mock.behaviour.misbehaviour import Misbehaviour as Misbehaviour
    from llm_mock.boundaries.llm.embedding import MockEmbeddingModel as MockEmbeddingModel
    from llm_mock.boundaries.llm.model import AsyncMockLLMModel as AsyncMockLLMModel
    from llm_mock.boundaries.llm.model import MockLLMModel as MockLLMModel
    from llm_mock.boundaries.llm.registry import MockGetModel as MockGetModel
    from llm_mock.boundaries.llm.registry import create_mock_get_model as create_mock_get_model
    from llm_mock.core.configurator import ResponseConfigurator as ResponseConfigurator
    from llm_mock.core.latency import Latency as Latency
    from llm_mock.core.records import CallRecord as CallRecord
    from llm_mock.core.records import assert_llm_called_times as assert_llm_called_times
    from llm_mock.core.records import assert_prompt_contains as assert_prompt_contains
    from llm_mock.core.reply import BrokenToolCall as BrokenToolCall
    from llm_mock.core.reply import Reply as Reply
    from llm_mock.cost.budgets import assert_cost_below as assert_cost_below
    from llm_mock.cost.budgets import assert_tokens_below as assert_tokens_below
    from llm_mock.errors import EndlessToolCalls as EndlessToolCalls
    from llm_mock.errors import ErrorNotRebuilt as ErrorNotRebuilt
    from llm_mock.errors import InvalidBudget as InvalidBudget
    from llm_mock.errors import InvalidLatency as InvalidLatency
    from llm_mock.errors import InvalidReply as InvalidReply
    from llm_mock.errors import InvalidToolCall as InvalidToolCall
    from llm_mock.errors import LegacyMockWarning as LegacyMockWarning
    from llm_mock.errors import LLMMockError as LLMMockError
    from llm_mock.errors import LLMTooOld as LLMTooOld
    from llm_mock.errors import MissingExtra as MissingExtra
    from llm_mock.errors import QueuedReplyNotAllowed as QueuedReplyNotAllowed
    from llm_mock.errors import RealModelCall as RealModelCall
    from llm_mock.errors import SchemaViolation as SchemaViolation
    from llm_mock.errors import SchemaViolationWarning as SchemaViolationWarning
    from llm_mock.errors import UnexpectedCall as UnexpectedCall
    from llm_mock.errors import UnknownMisbehaviour as UnknownMisbehaviour
    from llm_mock.errors import UnusedReplies as UnusedReplies

__version__ = "0.1.0"

_MODULES = {
    "AsyncMockLLMModel": "boundaries.llm.model",
    "BrokenToolCall": "core.reply",
    "CallRecord": "core.records",
    "EndlessToolCalls": "errors",
    "ErrorNotRebuilt": "errors",
    "InvalidBudget": "errors",
    "InvalidLatency": "errors",
    "InvalidReply": "errors",
    "LLMMockError": "errors",
    "Latency": "core.latency",
    "Misbehaviour": "behaviour.misbehaviour",
    "MissingExtra": "errors",
    "UnexpectedCall": "errors",
    "UnknownMisbehaviour": "errors",
    "SchemaViolationWarning": "errors",
    "SchemaViolation": "errors",
    "RealModelCall": "errors",
    "LLMTooOld": "errors",
    "InvalidToolCall": "errors",
    "LegacyMockWarning": "errors",
    "MockEmbeddingModel": "boundaries.llm.embedding",
    "MockGetModel": "boundaries.llm.registry",
    "MockLLMModel": "boundaries.llm.model",
    "QueuedReplyNotAllowed": "errors",
    "Reply": "core.reply",
    "ResponseConfigurator": "core.configurator",
    "UnusedReplies": "errors",
    "assert_cost_below": "cost.budgets",
    "assert_llm_called_times": "core.records",
    "assert_prompt_contains": "core.records",
    "assert_tokens_below": "cost.budgets",
    "create_mock_get_model": "boundaries.llm.registry",
}

__all__ = ["__version__", *_MODULES]


class _LoadedWhenNeeded(ModuleType):
    """Stands for a submodule until one of its names is used."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


# Most runs have nothing to explain and no schema to check, and the plugin is imported in every one.
globals().update({name: _LoadedWhenNeeded(f"llm_mock.{name}") for name in ("explain",)})


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "create_mock_get_model":
        importlib.import_module(
            "llm_mock.boundaries.llm.model"
        )  # so that its first call does not pay for importing `llm`
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
