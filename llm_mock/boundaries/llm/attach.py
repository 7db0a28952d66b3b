"""Patches of `llm`, applied once per process as soon as something imports it.

This module never imports `llm` itself. Without a current mock, everything works as in `llm` alone.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from types import ModuleType

from llm_mock.boundaries.patching import attach_on_import, replace, set_execution
from llm_mock.boundaries.requirements import describe_change, find_missing_name, refuse_all
from llm_mock.core.context import current_mock

MODULES_OF_MODELS = (
    "embedding_model",
    "model",
    "playback",
    "recording",
    "response",
    "scripted_model",
    "real_model",
)
"""The modules that keep classes of `llm`, or derive from them."""


NAMES = (
    "AsyncConversation",
    "AsyncModel",
    "AsyncResponse",
    "EmbeddingModel.embed",
    "EmbeddingModel.embed_multi",
    "Model",
    # The listings that every lookup of a model goes through, however early `get_model` was bound.
    "get_async_model_aliases",
    "get_embedding_model_aliases",
    "get_embedding_models",
    "get_embedding_models_with_aliases",
    "get_model_aliases",
    "get_models_with_aliases",
    "user_dir",
    # The common bases of all models and responses; classes of plugins derive from them too.
    "models._BaseChainResponse",
    "models._BaseModel",
    "models._BaseResponse",
    "models.AsyncChainResponse.responses",
    "models.ChainResponse.responses",
    # The method in which a response executes its model: since llm 0.32 | before.
    "AsyncResponse._ensure_async_generator|AsyncResponse.__anext__",
    "Response._iter_events|Response.__iter__",
    # Attributes that a cassette records and replays.
    "models._BaseResponse()._key",
    "models._BaseResponse()._prompt_json",
    "models._BaseResponse()._tool_calls",
    # The start time of a response, which a simulated latency moves.
    "models._BaseResponse()._start",
    # Tells whether plugins were loaded, without loading them.
    "plugins._loaded",
    "plugins.DEFAULT_PLUGINS",
    "plugins.load_plugins",
    "plugins.pm",
)
"""The names of `llm` that this package uses, most of them private.

See `find_missing_name` for the syntax.
"""
REFUSED = (
    "get_model",
    "get_async_model",
    "get_embedding_model",
    "Model.prompt",
    "AsyncModel.prompt",
    "Conversation.prompt",
    "AsyncConversation.prompt",
    "EmbeddingModel.embed",
    "EmbeddingModel.embed_multi",
    "Response.__iter__",
    "Response.text",
    "AsyncResponse.__anext__",
    "AsyncResponse.text",
)
"""The functions that refuse every call if a version of `llm` lacks one of `NAMES`."""


class _Settings:
    """The arguments of `attach`, for whenever `llm` is imported."""

    has_own_user_folder = False


def attach(has_own_user_folder: bool = False) -> None:
    """Patch `llm` now if it is imported, and whenever something imports it later.

    Args:
        has_own_user_folder: give the process its own `llm` user folder as soon as it imports `llm`,
            unless the environment names one.
    """
    # Kept if it was set before: both the environment and the pytest plugin call `attach`.
    _Settings.has_own_user_folder = has_own_user_folder or _Settings.has_own_user_folder
    attach_on_import("llm", _patch_or_refuse)
    set_execution("llm.default_plugins.openai_models", _execute_without_openai)


def _execute_without_openai(execute: Callable[[ModuleType], None], plugin: ModuleType) -> None:
    from llm_mock.boundaries.llm.deferred_sdk import execute_without_sdk

    execute_without_sdk("openai", execute, plugin)


def _patch_or_refuse(llm: ModuleType) -> None:
    """Patch an `llm` module, or make it refuse calls if it lacks a required name."""
    if not hasattr(llm, "get_model"):  # another library with the name `llm`
        return
    name = find_missing_name(llm, NAMES)
    if name is None:
        _patch_llm(llm)
    else:
        refuse_all(llm, REFUSED, describe_change(llm, name))


def _patch_llm(llm: ModuleType) -> None:
    """Replace the functions of `llm` that list and run models, unless already replaced."""
    from llm_mock.boundaries.llm import (
        embedding,
        execution_guard,
        names,
        provider_classes,
        registry_hooks,
        unconsumed_responses,
        user_folder,
        versions,
    )

    if _Settings.has_own_user_folder and user_folder.USER_FOLDER_VARIABLE not in os.environ:
        user_folder.create_user_folder()
    for listing in (names.MODELS, names.EMBEDDING_MODELS):
        function = getattr(llm, listing)
        # The original, if this `llm` was patched before.
        names.set_real_listing(listing, getattr(function, "__wrapped__", function))
    _discard_stale_models(llm)
    for module in (llm, sys.modules["llm.plugins"]):
        replace(module, "load_plugins", names.load_plugins_once)
    replace(llm, "user_dir", user_folder.get_run_user_folder)
    replace(llm, names.MODELS, registry_hooks.list_mocked_models)
    replace(llm, names.EMBEDDING_MODELS, registry_hooks.list_mocked_embedding_entries)
    replace(llm, "get_embedding_models", registry_hooks.list_mocked_embedding_models)
    for kind in ("model", "async_model", "embedding_model"):
        replace(llm, f"get_{kind}_aliases", functools.partial(registry_hooks.build_aliases, kind))
    for name in ("embed", "embed_multi"):
        replace(llm.EmbeddingModel, name, embedding.embed_with_mock)
    provider_classes.guard_classes(llm)
    replace(llm.Response, versions.get_sync_execution(llm.Response), execution_guard.guard_iterator)
    unconsumed_responses.watch(sys.modules["llm.models"])
    name, is_coroutine = versions.get_async_execution(llm.AsyncResponse)
    guard = execution_guard.guard_next_chunk if is_coroutine else execution_guard.guard_start
    replace(llm.AsyncResponse, name, guard)


def _discard_stale_models(llm: ModuleType) -> None:
    """Discard the mocked models if `llm` was imported again, so that new ones use its classes."""
    # The class does not exist yet if its own module is importing `llm`.
    model = getattr(sys.modules.get(f"{__package__}.model"), "MockLLMModel", None)
    if model is None or issubclass(model, llm.Model):
        return
    package = sys.modules["llm_mock"]
    for name in MODULES_OF_MODELS:
        sys.modules.pop(f"{__package__}.{name}", None)
    versions = sys.modules[f"{__package__}.versions"]
    versions.get_stream_event_class.cache_clear()
    versions.get_text_part_class.cache_clear()
    # The package imports its public names lazily and keeps them.
    for name in ("AsyncMockLLMModel", "MockEmbeddingModel", "MockLLMModel"):
        vars(package).pop(name, None)
    mock = current_mock()
    if mock is not None:
        mock.forget_models()
