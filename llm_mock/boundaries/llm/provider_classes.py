"""The classes of models: what is called on them directly the mock answers, and what somebody patched on them wins."""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from llm_mock.boundaries.llm.execution_guard import is_async, is_mock
from llm_mock.boundaries.llm.names import (
    EMBEDDING_MODELS,
    LLMNames,
    find_registered,
    find_registered_model,
)
from llm_mock.boundaries.passthrough import call_through
from llm_mock.core.context import current_mock, passes_through, refuse_real_model

REAL_CALL_MARK = "_llm_mock_for_real"
"""The attribute of a response that a real model executes, so that a cassette can record it."""

_noted: list[tuple[weakref.ref[type], str, Any]] = []
"""Of every class of models the functions that applications and tests reach, as they were when the class was made."""


def guard_classes(llm: ModuleType) -> None:
    """Guard every class of models that there is, and every one that is defined later."""
    _guard_with_subclasses(
        sys.modules["llm.models"]._BaseModel, "execute", _execute_with_mock, ("execute", "prompt")
    )
    _guard_with_subclasses(llm.EmbeddingModel, "embed_batch", _embed_with_mock, ("embed_batch",))


def _guard_with_subclasses(
    base: Any, name: str, answer: Callable[..., Any], notes: tuple[str, ...]
) -> None:
    inherited = vars(base).get("__init_subclass__")
    if hasattr(inherited, "__wrapped__"):
        return  # a re-imported `llm` still has the classes of its first import

    def guard(cls: Any) -> None:
        if not getattr(cls, "is_llm_mock", False):
            _guard(cls, name, answer)
            _noted.extend(
                (weakref.ref(cls, _forget), note, getattr(cls, note, None)) for note in notes
            )

    @classmethod  # type: ignore[misc]
    @functools.wraps(base.__init_subclass__)
    def init_subclass(cls: type, **kwargs: Any) -> None:
        super(base, cls).__init_subclass__(**kwargs)
        guard(cls)

    base.__init_subclass__ = init_subclass
    for defined in _subclasses(base):
        guard(defined)


def _subclasses(base: Any) -> Iterator[type]:
    for cls in base.__subclasses__():
        yield cls
        yield from _subclasses(cls)


def _forget(ref: weakref.ref[type]) -> None:
    _noted[:] = [noted for noted in _noted if noted[0] is not ref]


def _guard(cls: Any, name: str, answer: Callable[..., Any]) -> None:
    original = getattr(cls, name, None)
    wrong_kind = isinstance(
        inspect.getattr_static(cls, name, None), (staticmethod, classmethod, property)
    )
    if original is None or wrong_kind or getattr(original, "__isabstractmethod__", False):
        return
    if getattr(original, "answers", None) is answer:
        return  # inherited

    @functools.wraps(original)
    def guarded(model: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        mock = current_mock()
        if mock is None:
            return original(model, *args, **kwargs)
        if passes_through(model.model_id):
            return call_through(original, model, *args, **kwargs)
        return answer(
            functools.partial(call_through, original, model), mock, model, *args, **kwargs
        )

    guarded.answers = answer  # type: ignore[attr-defined]
    setattr(cls, name, guarded)


def _execute_with_mock(
    original: Callable[..., Any],
    mock: Any,
    model: Any,
    prompt: Any,
    stream: bool,
    response: Any,
    *args: Any,
    conversation: Any = None,
    **kwargs: Any,
) -> Any:
    """What `execute` of a real model gives, where a mock is active."""
    __tracebackhide__ = True
    if hasattr(response, REAL_CALL_MARK):
        conversation_again = {} if args else {"conversation": conversation}
        return original(prompt, stream, response, *args, **conversation_again, **kwargs)
    refuse_real_model(model.model_id, mock)
    twin = mock.get_mocked_model("async_model" if is_async(model) else "model", model.model_id)
    return twin.execute_scripted(prompt, stream, response, args[0] if args else conversation)


def _embed_with_mock(
    original: Callable[..., Any], mock: Any, model: Any, items: Any, key: str | None = None
) -> Any:
    """What `embed_batch` of a real model gives, where a mock is active."""
    __tracebackhide__ = True
    refuse_real_model(model.model_id, mock)
    return mock.get_mocked_model("embedding_model", model.model_id).embed_batch(
        items, key=model.key or key
    )


# What somebody patched


def get_original_function(cls: type, name: str) -> Any:
    """A function of a class of models, as it was when the class was made."""
    return next(
        (function for ref, noted, function in _noted if ref() is cls and noted == name),
        getattr(cls, name),
    )


def has_patched_functions() -> bool:
    """Whether a function of a class of models is another one than when the class was made."""
    for ref, name, function in _noted:  # noqa: SIM110 (asked in every call, and `any` takes twice as long)
        if getattr(ref(), name, function) is not function:
            return True
    return False


def find_patched_prompt(model: Any) -> Callable[..., Any] | None:
    """The `prompt` that somebody patched by hand, of the real model behind a mocked one; None where there is none."""
    import llm

    real = _find_real_model(model)
    if real is not None and is_patched(real, "prompt"):
        prompt: Callable[..., Any] = real.prompt
        return prompt
    for base in (
        (llm.AsyncModel, llm.AsyncKeyModel) if is_async(model) else (llm.Model, llm.KeyModel)
    ):
        if _is_patched_on_class(base, "prompt"):
            function = inspect.getattr_static(base, "prompt")
            return function.__get__(model) if hasattr(function, "__get__") else function  # type: ignore[no-any-return]
    return None


def find_patched_model(model: Any, prompt: Any = None) -> Any:
    """The real model behind a mocked one, where somebody patched its `execute` by hand; else None.

    Args:
        model: the mocked model.
        prompt: what it is to execute; it may be that of a real model which was made by hand.
    """
    asked = getattr(prompt, "model", None)
    if asked is not None and not is_mock(asked):
        return asked if is_patched(asked, "execute") else None
    real = _find_real_model(model) if has_patched_functions() else None
    return real if real is not None and is_patched(real, "execute") else None


def find_patched_embedding_model(model: Any) -> Any:
    """The real embedding model behind a mocked one, or that itself, where its `embed_batch` was patched; else None."""
    real = model
    if is_mock(model):
        real = _find_real_model(model) if has_patched_functions() else None
    return real if real is not None and is_patched(real, "embed_batch") else None


def is_patched(model: Any, name: str) -> bool:
    """Whether somebody patched a function of a real model by hand, on its class or on itself."""
    return name in vars(model) or _is_patched_on_class(type(model), name)


def _is_patched_on_class(cls: type, name: str) -> bool:
    return any(
        noted == name and getattr(cls, name) is not function
        for ref, noted, function in _noted
        if ref() is cls
    )


def _find_real_model(model: Any) -> Any:
    """The registered model behind one that the mock handed out in its place."""
    import llm

    mock = model.mock()
    if mock is None or not isinstance(mock.names, LLMNames):
        return None
    if isinstance(model, llm.EmbeddingModel):  # type: ignore[attr-defined]
        return getattr(find_registered(model.model_id, EMBEDDING_MODELS), "model", None)
    return find_registered_model("async_model" if is_async(model) else "model", model.model_id)
