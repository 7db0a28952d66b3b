"""What the sources of the installed plugins of `llm` say of the names of models, without importing them."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import NamedTuple

REGISTERS = re.compile(r"\bregister_(embedding_)?models\b|\bimport \*")
"""What the module of a plugin holds that registers models."""


class _Sources(NamedTuple):
    """What was read."""

    computes_names: bool
    """Whether a plugin other than `llm`'s own registers models: of what name cannot be read in its source."""
    aliases: frozenset[str]
    """What `llm`'s own plugins list as aliases."""
    words: frozenset[str]
    """All strings that look like a name; the ids are among them."""


def may_be_registered(name: str) -> bool:
    """Whether a plugin may register a model under a name, as its id or as an alias; False is certain."""
    sources = _read_sources()
    return sources.computes_names or name in sources.words or _is_part_of_word(name)


def may_be_alias(name: str) -> bool:
    """Whether a plugin may register a name as an alias of a model; False is certain."""
    sources = _read_sources()
    return (
        sources.computes_names
        or name in sources.aliases
        or (name not in sources.words and _is_part_of_word(name))
    )


@functools.lru_cache(maxsize=1024)
def _is_part_of_word(name: str) -> bool:
    """Whether a name is what remains when a part of another is left out, as "4.1" is of "gpt-4.1"."""
    part = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return any(part.search(word) for word in _read_sources().words)


@functools.cache
def _read_sources() -> _Sources:
    text = "\n".join(_read_text(file) for file in _find_default_plugins())
    groups = re.findall(r"\baliases\s*=\s*[(\[]([^)\]]*)", text)
    aliases = frozenset(word for group in groups for word in _find_names(group))
    return _Sources(
        any(map(_may_register_models, entry_points(group="llm"))),
        aliases,
        frozenset(_find_names(text)),
    )


def _find_names(text: str) -> list[str]:
    return re.findall(r"""["'](\w[\w.:/@+-]*)["']""", text)


def _find_default_plugins() -> Iterator[Path]:
    spec = importlib.util.find_spec("llm")
    for folder in (spec and spec.submodule_search_locations) or ():
        yield from Path(folder, "default_plugins").glob("*.py")


def _may_register_models(plugin: EntryPoint) -> bool:
    """Whether a plugin may register models: where its hooks are no functions of a module that can be read, it may."""
    top, *inner = plugin.module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None:
        return False
    files = [
        Path(folder, *inner, "__init__.py") for folder in spec.submodule_search_locations or ()
    ]
    files += [
        Path(folder, *inner).with_suffix(".py")
        for folder in spec.submodule_search_locations or ()
        if inner
    ]
    files += [Path(spec.origin)] if spec.origin and not inner else []
    texts = [_read_text(file) for file in files if file.suffix == ".py" and file.is_file()]
    return bool(plugin.attr) or not texts or any(map(REGISTERS.search, texts))


def _read_text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
