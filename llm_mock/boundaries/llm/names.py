"""Model names: the models that plugins of `llm` register under an id or an alias."""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable
from typing import Any

from llm_mock.boundaries.llm.plugin_sources import may_be_alias, may_be_registered
from llm_mock.boundaries.llm.user_folder import list_model_files
from llm_mock.boundaries.patching import is_real_module
from llm_mock.core.context import passes_through
from llm_mock.support.text import suggest_nearest

MODELS = "get_models_with_aliases"
"""The function of `llm` that lists the registered models."""
EMBEDDING_MODELS = "get_embedding_models_with_aliases"
"""The function of `llm` that lists the registered embedding models."""
# Limited, because the loading thread may wait for a module that the waiting one is importing.
MAX_LOADING_SECONDS = 20.0
"""The seconds that a thread waits for another thread to load the plugins."""

_real_listings: dict[str, Callable[[], list[Any]]] = {}
_loading_lock = threading.RLock()


class _State:
    is_loading = False
    """Whether a thread is loading the plugins."""


class LLMNames:
    """Resolver of model names as in `llm`; see `llm_mock.core.protocols.NameResolver`."""

    def model_id(self, name: str) -> str:
        """Return the id of a model, and resolve aliases of plugins and of the user."""
        return _resolve_id(name, MODELS)

    def get_every_id(self, name: str) -> set[str]:
        """Return the id of the model and the id of the embedding model with a name."""
        model_id = _resolve_id(name, MODELS)
        embedding_model_id = _resolve_id(name, EMBEDDING_MODELS)
        return {model_id, embedding_model_id}

    def provider_class(self, model_id: str) -> type | None:
        """Return the class of the real model of an id; None if no plugin registers one."""
        real = find_registered_model("model", model_id)
        if real is None:
            return None
        return type(real)


def set_real_listing(listing: str, function: Callable[[], list[Any]]) -> None:
    """Store the function of `llm` that lists models, before it is replaced."""
    _real_listings[listing] = function


def load_plugins_once(original: Callable[[], None]) -> None:
    """Load the plugins of `llm`, while other threads that need them wait.

    `llm` alone marks them as loaded before it loads them, so another thread would see no models.
    """
    is_locked = _loading_lock.acquire(timeout=MAX_LOADING_SECONDS)
    was_loading = _State.is_loading
    _State.is_loading = True
    try:
        original()
    finally:
        _State.is_loading = was_loading
        if is_locked:
            _loading_lock.release()


def _resolve_id(name: str, listing: str) -> str:
    if not _needs_lookup(name) and not may_be_alias(name):
        return name
    entry = _load_entries(listing).get(name)
    if entry is None:
        return name
    return get_model_id(entry)


def get_model_id(entry: Any) -> str:
    """Return the model id of an entry of a listing."""
    # A plugin may register only an async model.
    model = entry.model or entry.async_model
    return str(model.model_id)


def find_registered(name: str, listing: str = MODELS) -> Any:
    """Return the entry that registers a model under a name; None if no plugin does.

    `llm` imports every plugin to resolve a name. This function does so only if a plugin may
    register the name, judging by the plugins' sources. So the result does not depend on earlier
    imports of plugins, and a name that no plugin registers costs nothing.

    Args:
        name: an id or an alias.
        listing: `MODELS`, with entries of the class `ModelWithAliases`, or `EMBEDDING_MODELS`, with
            entries of the class `EmbeddingModelWithAliases`.
    """
    if not _needs_lookup(name) and not may_be_registered(name):
        return None
    return _load_entries(listing).get(name)


def find_registered_model(kind: str, model_id: str) -> Any:
    """Return the real model that a plugin registers under an id; None if no plugin does.

    Args:
        kind: `model` or `async_model`.
        model_id: an id or an alias.
    """
    entry = find_registered(model_id)
    return getattr(entry, kind, None)


def list_registered_names() -> set[str]:
    """Return every id and alias that plugins register, of models and of embedding models."""
    models = _load_entries(MODELS)
    embedding_models = _load_entries(EMBEDDING_MODELS)
    return {*models, *embedding_models}


def list_registered_models() -> dict[str, Any]:
    """Return every id and alias with its `ModelWithAliases`, listed anew by the plugins."""
    return _list_entries.__wrapped__(MODELS, frozenset(), ())


def _needs_lookup(name: str) -> bool:
    """Return whether a name must be looked up, even if no source of a plugin has it."""
    plugins = sys.modules.get("llm.plugins")
    # `_loaded` is private: `load_plugins` does not return whether it loaded, and loading is slow.
    if plugins is not None and (plugins._loaded or plugins.pm.get_plugins()):
        return True
    if passes_through(name):
        return True
    # The user's own files may give a model any name.
    return any(file.is_file() for file in list_model_files())


def _load_entries(listing: str) -> dict[str, Any]:
    """Return every registered id and alias with its entry, cached until the plugins change."""
    loader = _load_plugins()
    if loader is None:
        return {}
    plugins = frozenset(loader.pm.list_name_plugin())
    distributed = {plugin for plugin, _ in loader.pm.list_plugin_distinfo()}
    list_entries: Callable[..., dict[str, Any]] = _list_entries
    for name, plugin in plugins:
        if plugin not in distributed and name not in loader.DEFAULT_PLUGINS:
            # A test registered this plugin, which may register other models the next time.
            list_entries = _list_entries.__wrapped__
            break
    files = [file for file in list_model_files() if file.is_file()]
    modified = tuple(file.stat().st_mtime_ns for file in files)
    return list_entries(listing, plugins, modified)


def _load_plugins() -> Any:
    """Return `llm.plugins` after it loaded the plugins; None if no patched `llm` can load them."""
    # An alias may be configured before the application imports `llm`, or while a thread does.
    try:
        llm = importlib.import_module("llm")
    except ModuleNotFoundError:
        # A test hides it, as if it was not installed.
        return None
    if not _real_listings:  # `llm` is not patched
        return None
    loader: Any = importlib.import_module("llm.plugins")
    # `llm` sets the private `_loaded` before it loads them, so another thread may still do so. It
    # may begin between these reads, so `_loaded` is read first.
    if not loader._loaded or _State.is_loading:
        # Plugins that are loaded while a mock is in its place fail, and are not loaded again.
        if not is_real_module(llm):
            return None
        loader.load_plugins()
    return loader


@functools.lru_cache
def _list_entries(
    listing: str, plugins: frozenset[Any], modified: tuple[int, ...]
) -> dict[str, Any]:
    """Return every id and alias with its entry.

    Args:
        listing: `MODELS` or `EMBEDDING_MODELS`.
        plugins: the registered plugins; a part of the key of the cache.
        modified: when the user's files were modified; a part of the key of the cache.
    """
    list_all = _real_listings[listing]
    entries = list_all()
    entry_by_name = {}
    for entry in entries:
        for alias in entry.aliases:
            entry_by_name[alias] = entry
    # Second, because an id wins over another model's alias.
    for entry in entries:
        entry_by_name[get_model_id(entry)] = entry
    return entry_by_name


def build_unknown_model_error(message: str) -> Exception:
    """Return the exception that `llm` raises for a name that no plugin registers."""
    import llm

    return llm.UnknownModelError(message)


def format_unknown_model(name: str, named: set[str], setting: str, is_in_test: bool) -> str:
    """Return the message for a name that is refused, with the nearest known name.

    Args:
        name: the name that no plugin registers.
        named: the names that the test configures.
        setting: the setting of the project that enables the check of names.
        is_in_test: whether a test requests the model, and not a module or a wider fixture.
    """
    known_names = list_registered_names() | named
    suggestion = suggest_nearest(name, known_names) or "."
    beginning = f"Unknown model: {name}{suggestion} No installed plugin of llm registers it, and "
    if not is_in_test:
        return (
            f"{beginning}no test has configured it yet (ini {setting}), because it was obtained "
            "while a file was imported or in a fixture of a wider scope. Correct the name, install "
            "the plugin, obtain the model in a function that the test calls, or set() a reply for "
            "its name in pytest_llm_mock_configure(mock) of a conftest.py."
        )
    return (
        f"{beginning}the test configures no reply for it (ini {setting}). Correct the name, "
        "install the plugin, or set() a reply for this name. A reply for * does not count."
    )
