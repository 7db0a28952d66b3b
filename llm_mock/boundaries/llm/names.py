"""The names of models: which model a plugin of `llm` registers under an id or an alias."""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable
from typing import Any

from llm_mock.boundaries.llm.plugin_sources import may_be_alias, may_be_registered
from llm_mock.boundaries.llm.user_folder import list_model_files
from llm_mock.core.context import passes_through
from llm_mock.support.text import suggest_nearest

MODELS, EMBEDDING_MODELS = "get_models_with_aliases", "get_embedding_models_with_aliases"
"""The functions of `llm` that list what plugins register."""

_real_listings: dict[str, Callable[[], list[Any]]] = {}
_loading = threading.RLock()
LONGEST_LOADING = 20.0
"""Seconds that a thread waits for another one to load the plugins, which may wait for what this one imports."""


class LLMNames:
    """Resolves the names of models as `llm` does; see `llm_mock.core.protocols.NameResolver`."""

    def model_id(self, name: str) -> str:
        """The model id that a name stands for: a plugin's or the user's alias is resolved, anything else is an id."""
        return _resolve_id(name, MODELS)

    def get_every_id(self, name: str) -> set[str]:
        """That of the model and that of the embedding model."""
        return {_resolve_id(name, listing) for listing in (MODELS, EMBEDDING_MODELS)}

    def provider_class(self, model_id: str) -> type | None:
        """The class of the real model of an id; None where no plugin registers one."""
        real = find_registered_model("model", model_id)
        return None if real is None else type(real)


def set_real_listing(listing: str, function: Callable[[], list[Any]]) -> None:
    """Keep the function of `llm` that lists models, before it is replaced."""
    _real_listings[listing] = function


def load_plugins_once(original: Callable[[], None]) -> None:
    """What `llm.plugins.load_plugins` does. `llm` tells other threads that it has the plugins while it loads them."""
    mine = _loading.acquire(timeout=LONGEST_LOADING)
    try:
        original()
    finally:
        if mine:
            _loading.release()


def _resolve_id(name: str, listing: str) -> str:
    entry = _load_entries(listing).get(name) if _needs_lookup(name) or may_be_alias(name) else None
    return name if entry is None else get_model_id(entry)


def get_model_id(entry: Any) -> str:
    """The model id of an entry of a listing."""
    return str((entry.model or entry.async_model).model_id)


def find_registered(name: str, listing: str = MODELS) -> Any:
    """The entry (`ModelWithAliases`) that registers a model under a name; None where no plugin does.

    `llm` imports every plugin to resolve a name. That is done here only where it can find one: what a name stands for
    does not depend on who imported the plugins before, and a name that nobody knows costs nothing.

    Args:
        name: an id or an alias.
        listing: which models: MODELS, or EMBEDDING_MODELS with their `EmbeddingModelWithAliases`.
    """
    return (
        _load_entries(listing).get(name) if _needs_lookup(name) or may_be_registered(name) else None
    )


def find_registered_model(kind: str, model_id: str) -> Any:
    """The real model that a plugin registers under an id; None where none does."""
    return getattr(find_registered(model_id), kind, None)


def list_registered_names() -> set[str]:
    """Every id and alias that plugins register, of models and of embedding models."""
    return {*_load_entries(MODELS), *_load_entries(EMBEDDING_MODELS)}


def list_registered_models() -> dict[str, Any]:
    """Every registered name and alias with its `ModelWithAliases`, as the plugins list them at this moment."""
    return _list_entries.__wrapped__(MODELS, frozenset(), ())


def _needs_lookup(name: str) -> bool:
    """Whether what is registered has to be looked at whatever the sources of the plugins say of a name."""
    plugins = sys.modules.get("llm.plugins")
    # `_loaded` is private: `load_plugins` says nothing of whether it did, and loading takes long.
    loaded = plugins is not None and (plugins._loaded or plugins.pm.get_plugins())
    return (
        bool(loaded) or passes_through(name) or any(file.is_file() for file in list_model_files())
    )


def _load_entries(listing: str) -> dict[str, Any]:
    """Every registered name and alias with its entry, listed anew when the plugins changed."""
    importlib.import_module(
        "llm"
    )  # an alias may be named before the application imports it, or while a thread does
    if not _real_listings:  # `llm` was not attached to
        return {}
    loader: Any = importlib.import_module("llm.plugins")
    loader.load_plugins()
    manager = loader.pm
    plugins = frozenset(manager.list_name_plugin())
    installed = {plugin for plugin, _ in manager.list_plugin_distinfo()}
    by_hand = [
        name
        for name, plugin in plugins
        if plugin not in installed and name not in loader.DEFAULT_PLUGINS
    ]
    # A plugin that a test registered may register other models the next time.
    registered = _list_entries.__wrapped__ if by_hand else _list_entries
    written = tuple(file.stat().st_mtime_ns for file in list_model_files() if file.is_file())
    return registered(listing, plugins, written)


@functools.lru_cache(maxsize=2)
def _list_entries(
    listing: str, plugins: frozenset[Any], written: tuple[int, ...]
) -> dict[str, Any]:
    listed = _real_listings[listing]()
    names = {alias: entry for entry in listed for alias in entry.aliases}
    return names | {get_model_id(entry): entry for entry in listed}


def build_unknown_model_error(message: str) -> Exception:
    """What `llm` raises for a name that no plugin registers."""
    import llm

    return llm.UnknownModelError(message)


def format_unknown_model(name: str, named: set[str]) -> str:
    """What to say of a name that no plugin registers and no test names, where that is refused."""
    near = suggest_nearest(name, list_registered_names() | named) or "."
    return (
        f"Unknown model: {name}{near} No installed plugin of llm registers it, and the test does not name it "
        "(ini llm_mock_unknown_models = error): correct the name, install the plugin, or set() a reply for it."
    )
