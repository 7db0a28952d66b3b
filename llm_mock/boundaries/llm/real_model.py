"""Base class of mocks that have the attributes of the registered model they replace."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import llm

from llm_mock.support.misspelling import MisspeltAttribute

if TYPE_CHECKING:
    from llm.models import _get_key_mixin as KeyMixin
else:
    KeyMixin = object

PLACEHOLDER_KEY = "no-key-needed"
"""The key of a mocked model that needs one but has none: tests run without keys."""
MISSING = object()
"""Stands for an attribute that the registered model does not have; some are None."""


class ReplacesRealModel(KeyMixin):
    """A mocked model that may replace a registered model and then has its name and values."""

    _registered: Any = None
    _advice_by_name: Mapping[str, str] = {}
    """The correct code for attributes that newcomers guess."""

    def bind_real_model(self, real: object, attributes: Iterable[str]) -> None:
        """Replace a registered model, and copy the given attributes of it."""
        for attribute in attributes:
            if hasattr(real, attribute):
                setattr(self, attribute, getattr(real, attribute))
        self._registered = real

    def __getattr__(self, name: str) -> Any:
        """Return another value of the registered model, such as `json_replacements`; no method."""
        __tracebackhide__ = True
        value: Any = MISSING
        if not name.startswith("_") and self._registered is not None:
            # Static, because evaluating a property of the real model may call its provider.
            value = inspect.getattr_static(self._registered, name, MISSING)
        is_descriptor = hasattr(type(value), "__get__")
        # A method of the real model would run for real.
        if value is MISSING or is_descriptor or callable(value):
            # A property that failed comes here too, and shows its own error.
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)
            raise MisspeltAttribute(self, name, self._advice_by_name.get(name))
        return value

    def get_key(self, explicit_key: str | None = None) -> str | None:
        """Return the key that `llm` finds, or `PLACEHOLDER_KEY` if it finds none and needs one."""
        try:
            return super().get_key(explicit_key)
        except llm.NeedsKeyException:
            return PLACEHOLDER_KEY

    def __str__(self) -> str:
        if self._registered is None:
            return super().__str__()
        return str(self._registered)

    def __repr__(self) -> str:
        if self._registered is None:
            return super().__repr__()
        return repr(self._registered)
