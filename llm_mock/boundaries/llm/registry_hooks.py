"""Where an application obtains models: by a name, or as a list.

`get_model` and its twins look the tables of aliases up at call time, so replacing these reaches
`from llm import get_model` too, however early it was bound.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.llm.execution_guard import is_mock
from llm_mock.boundaries.llm.names import EMBEDDING_MODELS, MODELS, find_registered, get_model_id
from llm_mock.core.context import current_mock, passes_through

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.get_model import LLMMock

Listing = Callable[[], list[Any]]


def list_mocked_models(original: Listing) -> list[Any]:
    """What `get_models_with_aliases` gives: the registered models, as mocks."""
    mock, listed = current_mock(), original()
    return (
        listed
        if mock is None
        else [entry for entry in (_mock_entry(entry, mock) for entry in listed) if entry]
    )


def _mock_entry(entry: Any, mock: LLMMock) -> Any:
    if mock.is_unknown(get_model_id(entry)):
        return None
    if _is_used_as_it_is(entry.model or entry.async_model):
        return entry
    return dataclasses.replace(
        entry,
        model=entry.model and mock.mock_registered_model(entry.model),
        async_model=entry.async_model and mock.mock_registered_model(entry.async_model),
    )


def list_mocked_embedding_entries(original: Listing) -> list[Any]:
    """What `get_embedding_models_with_aliases` gives."""
    mock, listed = current_mock(), original()
    if mock is None:
        return listed
    listed = [entry for entry in listed if not mock.is_unknown(entry.model.model_id)]
    return [
        dataclasses.replace(entry, model=_mock_embedding_model(entry.model, mock))
        for entry in listed
    ]


def list_mocked_embedding_models(original: Listing) -> list[Any]:
    """What `get_embedding_models` gives."""
    mock, listed = current_mock(), original()
    if mock is None:
        return listed
    return [
        _mock_embedding_model(model, mock)
        for model in listed
        if not mock.is_unknown(model.model_id)
    ]


def _mock_embedding_model(model: Any, mock: LLMMock) -> Any:
    return (
        model
        if _is_used_as_it_is(model)
        else mock.get_mocked_model("embedding_model", model.model_id)
    )


def build_aliases(kind: str, original: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `get_model_aliases` and its twins give: a table in which every name has a model."""
    mock = current_mock()
    return (
        original()
        if mock is None
        else _LazyAliases(original, functools.partial(_resolve_alias, kind, mock))
    )


def _resolve_alias(kind: str, mock: LLMMock, name: str) -> Any:
    """The model for a name. For an unknown one `llm` words the error itself: `UnknownModelError` is a KeyError."""
    __tracebackhide__ = True
    if not isinstance(name, str) or not name.strip():
        raise KeyError(name)
    embedding = kind == "embedding_model"
    entry = find_registered(name, EMBEDDING_MODELS if embedding else MODELS)
    model = None if entry is None else getattr(entry, "model" if embedding else kind)
    if model is not None and _is_used_as_it_is(model):
        return model
    if model is None and passes_through(name if entry is None else get_model_id(entry)):
        raise KeyError(name)  # it would run for real, and no plugin has it, or no twin of it
    return mock.resolve_model(kind, name, entry)


def _is_used_as_it_is(model: Any) -> bool:
    """Whether a registered model is handed out as it is: a mock that somebody registered, or one let through."""
    return is_mock(model) or passes_through(model.model_id)


class _LazyAliases(dict[str, Any]):
    """A table of aliases: a name is resolved when it is asked for, the rest is filled in when somebody looks."""

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
        """List every model, once."""
        if list_all := self._list_all:
            self.update(list_all())
            self._list_all = None  # only now: another thread must not look at half of them

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return dict, (dict(self),)


def _fill_before(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    @functools.wraps(method)
    def look(self: _LazyAliases, *args: Any, **kwargs: Any) -> Any:
        self.fill()
        return method(self, *args, **kwargs)

    return look


for _name in (
    *(
        "__contains__",
        "__eq__",
        "__iter__",
        "__len__",
        "__ne__",
        "__or__",
        "__repr__",
        "__reversed__",
        "__ror__",
    ),
    *("copy", "get", "items", "keys", "pop", "popitem", "setdefault", "values"),
):
    setattr(_LazyAliases, _name, _fill_before(_name))
