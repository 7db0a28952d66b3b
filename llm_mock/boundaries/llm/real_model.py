"""What a mocked model shows of the registered one that it stands for."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import llm

PLACEHOLDER_KEY = "no-key-needed"
"""The key of a mocked model that needs one, where nobody gave one: tests run without."""


class ReplacesRealModel:
    """A mocked model: by itself, or in the place of a registered one, whose name and values it then has."""

    _registered: Any = None

    def bind_real_model(self, real: Any, traits: Iterable[str]) -> None:
        """Take the place of a registered model, with those of its traits that `llm` looks at."""
        for trait in traits:
            if hasattr(real, trait):
                setattr(self, trait, getattr(real, trait))
        self._registered = real

    def __getattr__(self, name: str) -> Any:
        """What else the registered model has, such as `json_replacements`: its values, not its methods."""
        if not name.startswith("_") and self._registered is not None:
            value = inspect.getattr_static(self._registered, name, None)
            if value is not None and not callable(value) and not hasattr(type(value), "__get__"):
                return value
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def get_key(self, explicit_key: str | None = None) -> str | None:
        """The key that `llm` would find; where the real model would raise `llm.NeedsKeyException` it is `PLACEHOLDER_KEY`."""
        try:
            return super().get_key(explicit_key)  # type: ignore[misc, no-any-return]
        except llm.NeedsKeyException:
            return PLACEHOLDER_KEY

    def __str__(self) -> str:
        return super().__str__() if self._registered is None else str(self._registered)

    def __repr__(self) -> str:
        return super().__repr__() if self._registered is None else repr(self._registered)
