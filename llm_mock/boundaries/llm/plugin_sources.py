"""Search for model names in the sources of the installed `llm` plugins, without importing them."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import NamedTuple

from llm_mock.boundaries.patching import is_real_module

REGISTERS_MODELS = re.compile(r"\bregister_(embedding_)?models\b|\bimport \*")
"""The text of a module that registers models, or may import such a hook with `*`."""


class _Sources(NamedTuple):
    """The model names in the sources of plugins."""

    computes_names: bool
    """Whether a plugin other than those of `llm` registers models, whose names are unknown."""
    aliases: frozenset[str]
    """The aliases in the plugins of `llm` itself."""
    words: frozenset[str]
    """All strings in these plugins that look like a name; the model ids are among them."""


def may_be_registered(name: str) -> bool:
    """Return whether a plugin may register a name, as an id or an alias; False is certain."""
    sources = _read_sources()
    return sources.computes_names or name in sources.words or _is_part_of_word(name)


def may_be_alias(name: str) -> bool:
    """Return whether a plugin may register a name as an alias of a model; False is certain."""
    sources = _read_sources()
    if sources.computes_names or name in sources.aliases:
        return True
    # A complete string that is not in a list of aliases is an id or something else.
    return name not in sources.words and _is_part_of_word(name)


@functools.lru_cache
def _is_part_of_word(name: str) -> bool:
    """Return whether a name is a part of another name, such as "4.1" of "gpt-4.1".

    Plugins may compute aliases by removing a part of an id.
    """
    part = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    words = _read_sources().words
    return any(part.search(word) for word in words)


@functools.cache
def _read_sources() -> _Sources:
    text = ""
    for file in _find_default_plugins():
        text += _read_text(file) + "\n"
    aliases: set[str] = set()
    for alias_list in re.findall(r"\baliases\s*=\s*[(\[]([^)\]]*)", text):
        aliases.update(_find_names(alias_list))
    words = _find_names(text)
    plugins = entry_points(group="llm")
    computes_names = any(_may_register_models(plugin) for plugin in plugins)
    return _Sources(computes_names, frozenset(aliases), frozenset(words))


def _find_names(text: str) -> list[str]:
    """Return all string literals in a source that look like a name."""
    return re.findall(r"""["'](\w[\w.:/@+-]*)["']""", text)


def _find_default_plugins() -> Iterator[Path]:
    spec = _find_spec("llm")
    if spec is None:
        return
    for folder in spec.submodule_search_locations or ():
        default_plugins = Path(folder, "default_plugins")
        yield from default_plugins.glob("*.py")


def _find_spec(package: str) -> ModuleSpec | None:
    """Find a package, also while a test has put None or a mock in its place in `sys.modules`."""
    module = sys.modules.get(package)
    if is_real_module(module):
        return module.__spec__
    specs = (finder.find_spec(package, None) for finder in sys.meta_path)
    return next((spec for spec in specs if spec is not None), None)


def _may_register_models(plugin: EntryPoint) -> bool:
    """Return whether a plugin may register models.

    This is also true if its hooks are not functions of a module with readable source.
    """
    # Only the top package: finding a submodule would import its parents.
    top, *inner = plugin.module.split(".")
    spec = _find_spec(top)
    if spec is None:
        return False
    # With an attribute, the entry point is an object of the module, which may be computed.
    if plugin.attr:
        return True
    texts = [_read_text(file) for file in _find_source_files(spec, inner)]
    if not texts:
        return True
    return any(REGISTERS_MODELS.search(text) for text in texts)


def _find_source_files(spec: ModuleSpec, inner: list[str]) -> Iterator[Path]:
    """Yield the files that may define a module.

    Args:
        spec: the top package or module.
        inner: the names of the packages and of the module within it.
    """
    files = []
    for folder in spec.submodule_search_locations or ():
        package = Path(folder, *inner)
        files.append(package / "__init__.py")
        if inner:
            files.append(package.with_suffix(".py"))
    if spec.origin and not inner:
        files.append(Path(spec.origin))
    for file in files:
        # An extension module has no source.
        if file.suffix == ".py" and file.is_file():
            yield file


def _read_text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
