"""Replacements for the functions of `llm` that list models and resolve names.

`llm.get_model` and its variants look these functions up at call time. Replacing them therefore
reaches an application that ran `from llm import get_model` before `llm` was patched.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.llm.execution_guard import is_mock
from llm_mock.boundaries.llm.names import EMBEDDING_MODELS, MODELS, find_registered, get_model_id
from llm_mock.core.context import current_mock, passes_through

if TYPE_CHECKING:
    from llm.models import EmbeddingModel, EmbeddingModelWithAliases, ModelWithAliases

    from llm_mock.boundaries.llm.get_model import LLMMock

LISTINGS = {
    "model": (MODELS, "model"),
    "async_model": (MODELS, "async_model"),
    "embedding_model": (EMBEDDING_MODELS, "model"),
}
"""The function of `llm` that lists the models of a kind, and the attribute of its entries."""
FAILED_LOOKUP = "llm_mock_failed_lookup"
"""The attribute of the error for a name that was not found; `llm` catches this error first."""


def list_mocked_models(original: Callable[[], list[ModelWithAliases]]) -> list[ModelWithAliases]:
    """Return the entries of all registered models, as mocks, for `get_models_with_aliases`."""
    mock: LLMMock | None = current_mock()
    entries = original()
    if mock is None:
        return entries
    return [
        _mock_entry(entry, mock) for entry in entries if not mock.is_unknown(get_model_id(entry))
    ]


def _mock_entry(entry: ModelWithAliases, mock: LLMMock) -> ModelWithAliases:
    if _is_used_as_it_is(entry.model or entry.async_model):
        return entry
    # Either is None if the plugin registers only the other one.
    model = entry.model and mock.mock_registered_model(entry.model)
    async_model = entry.async_model and mock.mock_registered_model(entry.async_model)
    return dataclasses.replace(entry, model=model, async_model=async_model)


def list_mocked_embedding_entries(
    original: Callable[[], list[EmbeddingModelWithAliases]],
) -> list[EmbeddingModelWithAliases]:
    """Return the entries of all embedding models, for `get_embedding_models_with_aliases`."""
    mock: LLMMock | None = current_mock()
    entries = original()
    if mock is None:
        return entries
    return [
        dataclasses.replace(entry, model=_mock_embedding_model(entry.model, mock))
        for entry in entries
        if not mock.is_unknown(entry.model.model_id)
    ]


def list_mocked_embedding_models(
    original: Callable[[], list[EmbeddingModel]],
) -> list[EmbeddingModel]:
    """Return all registered embedding models, as mocks, for `get_embedding_models`."""
    mock: LLMMock | None = current_mock()
    models = original()
    if mock is None:
        return models
    return [
        _mock_embedding_model(model, mock)
        for model in models
        if not mock.is_unknown(model.model_id)
    ]


def _mock_embedding_model(model: EmbeddingModel, mock: LLMMock) -> EmbeddingModel:
    if _is_used_as_it_is(model):
        return model
    mocked: EmbeddingModel = mock.get_mocked_model("embedding_model", model.model_id)
    return mocked


def build_aliases(kind: str, original: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return a mapping in which every name has a model, for `get_model_aliases` and its variants.

    Args:
        kind: `model`, `async_model` or `embedding_model`.
        original: the function of `llm`.
    """
    mock = current_mock()
    if mock is None:
        return original()
    return _LazyAliases(original, functools.partial(_resolve_alias, kind, mock))


def _resolve_alias(kind: str, mock: LLMMock, name: str) -> Any:
    """Return the model of a name.

    Raises:
        KeyError: the name is unknown. `llm` catches it and words the error itself; its
            `UnknownModelError` is a `KeyError` too.
    """
    __tracebackhide__ = True
    if not isinstance(name, str) or not name.strip():
        raise KeyError(name)
    listing, attribute = LISTINGS[kind]
    entry = find_registered(name, listing)
    model = None if entry is None else getattr(entry, attribute)
    model_id = name if entry is None else get_model_id(entry)
    if is_mock(model):
        return model
    if passes_through(model_id):
        # It would have to run for real, but no plugin registers a model of this kind.
        if model is None:
            raise KeyError(name)
        return model
    # `llm` looks for a name that it does not find among the models of the other kind, too.
    if not hasattr(sys.exc_info()[1], FAILED_LOOKUP):
        mock.requested_models.append(name)
    try:
        return mock.resolve_model(kind, name, model_id, entry)
    except KeyError as error:
        setattr(error, FAILED_LOOKUP, name)
        raise


def _is_used_as_it_is(model: Any) -> bool:
    """Return whether a registered model is already a mock, or runs for real besides the mock."""
    return is_mock(model) or passes_through(model.model_id)


class _LazyAliases(dict[str, Any]):
    """A mapping of aliases that resolves a name on lookup and lists all names only when needed.

    Listing creates every registered model, and most applications look up one name.

    Args:
        list_all: returns all registered aliases.
        resolve: returns the model of a name.
    """

    def __init__(
        self, list_all: Callable[[], dict[str, Any]], resolve: Callable[[str], Any]
    ) -> None:
        super().__init__()
        self._list_all: Callable[[], dict[str, Any]] | None = list_all
        self._resolve = resolve

    def __missing__(self, name: str) -> Any:
        __tracebackhide__ = True
        return self._resolve(name)

    def fill(self) -> None:
        """Add every registered alias, once."""
        list_all = self._list_all
        if list_all is not None:
            self.update(list_all())
            # Only now, so that no other thread reads a partly filled mapping.
            self._list_all = None

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        # A copy or a pickle is a plain `dict`: the functions of this one cannot be pickled.
        return dict, (dict(self),)


def _fill_before(name: str) -> Callable[..., Any]:
    """Return a method of `dict` that fills the mapping first."""
    method = getattr(dict, name)

    @functools.wraps(method)
    def fill_and_call(self: _LazyAliases, *args: Any, **kwargs: Any) -> Any:
        self.fill()
        return method(self, *args, **kwargs)

    return fill_and_call


# Every operation that reads more than one key. `__getitem__` reads one: it calls `__missing__`.
_READING_OPERATORS = (
    "__contains__",
    "__eq__",
    "__iter__",
    "__len__",
    "__ne__",
    "__or__",
    "__repr__",
    "__reversed__",
    "__ror__",
)
_READING_METHODS = ("copy", "get", "items", "keys", "pop", "popitem", "setdefault", "values")
for _name in (*_READING_OPERATORS, *_READING_METHODS):
    setattr(_LazyAliases, _name, _fill_before(_name))
