"""Attaches to `llm` once a process, now or when something imports it, and never imports it itself.

From then on the active mock decides; while there is none, everything is `llm`'s own.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from llm_mock.core.active import active

MODULES_OF_MODELS = ("accept", "embedding_model", "model", "playback", "recording", "response")
"""The modules that derive from classes of `llm`, or hold some."""


class _State:
    """What `attach` was told."""

    own_user_folder = False


def attach(own_user_folder: bool = False) -> None:
    """Attach to `llm`: at once if it is imported, else when something imports it, and again when it is re-imported.

    Args:
        own_user_folder: give the process an `llm` user folder of its own as soon as it imports `llm`, unless the
            environment names one.
    """
    _State.own_user_folder = own_user_folder or _State.own_user_folder
    if not any(isinstance(finder, _LLMFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _LLMFinder())
    if "llm" in sys.modules:
        _attach_to(sys.modules["llm"])


class _LLMFinder:
    """Finds `llm` as the other finders do, and attaches to it once it was executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "llm":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _attach_to(module)

            setattr(spec.loader, "exec_module", exec_module)  # noqa: B010 (a method to mypy)
        return spec


def _attach_to(llm: ModuleType) -> None:
    """Replace the lookups of an `llm` module and guard its responses, where that was not done before."""
    from llm_mock.boundaries.llm import embedding, executing, names, obtaining, user_folder, versions

    if not hasattr(llm, names.MODELS):
        return
    if _State.own_user_folder and user_folder.USER_FOLDER_VARIABLE not in os.environ:
        user_folder.make_user_folder()
    for listing in (names.MODELS, names.EMBEDDING_MODELS):
        names.note_real_listing(listing, getattr(getattr(llm, listing), "__wrapped__", getattr(llm, listing)))
    _forget_models_of_another(llm)
    for module in (llm, sys.modules["llm.plugins"]):
        _replace(module, "load_plugins", names.load_plugins_once)
    _replace(llm, "user_dir", user_folder.own_user_folder)
    _replace(llm, names.MODELS, obtaining.mocked_listing)
    _replace(llm, names.EMBEDDING_MODELS, obtaining.mocked_embedding_listing)
    _replace(llm, "get_embedding_models", obtaining.mocked_embedding_models)
    for kind in ("model", "async_model", "embedding_model"):
        _replace(llm, f"get_{kind}_aliases", functools.partial(obtaining.mocked_aliases, kind))
    for name in ("embed", "embed_multi"):
        _replace(llm.EmbeddingModel, name, embedding.guarded_embedding)
    _replace(llm.Response, versions.sync_execution(llm.Response), executing.guarded_iterator)
    name, is_coroutine = versions.async_execution(llm.AsyncResponse)
    _replace(llm.AsyncResponse, name, executing.guarded_step if is_coroutine else executing.guarded_call)


def _replace(owner: Any, name: str, replacement: Callable[..., Any]) -> None:
    original = getattr(owner, name)
    if hasattr(original, "__wrapped__"):
        return  # a re-imported `llm` still has the classes of its first import

    @functools.wraps(original)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return replacement(original, *args, **kwargs)

    setattr(owner, name, replaced)


def _forget_models_of_another(llm: ModuleType) -> None:
    """Where `llm` was imported anew from scratch, have the mocked models derive from its new classes."""
    model = getattr(sys.modules.get(f"{__package__}.model"), "MockLLMModel", None)
    if model is None or issubclass(model, llm.Model):  # None while that module is what imports `llm`
        return
    package = sys.modules["llm_mock"]
    for name in MODULES_OF_MODELS:
        sys.modules.pop(f"{__package__}.{name}", None)
    sys.modules[f"{__package__}.versions"].stream_event_class.cache_clear()
    for name in ("AsyncMockLLMModel", "MockEmbeddingModel", "MockLLMModel"):
        vars(package).pop(name, None)
    if mock := active():
        mock.forget_models()
