"""Guards on the classes of models: mocks answer direct calls, patches by hand override mocks."""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from llm_mock.boundaries.llm.execution_guard import is_async, is_mock
from llm_mock.boundaries.llm.names import (
    EMBEDDING_MODELS,
    LLMNames,
    find_registered,
    find_registered_model,
)
from llm_mock.boundaries.passthrough import call_through
from llm_mock.core.context import current_mock, passes_through, refuse_real_model

if TYPE_CHECKING:
    from llm import Conversation, Prompt
    from llm.models import EmbeddingModel, _BaseModel, _BaseResponse

    from llm_mock.core.mock import Mock

REAL_CALL_MARK = "_llm_mock_for_real"
"""The attribute of a response that a real model executes, so that a cassette can record it."""

_originals: list[tuple[weakref.ref[Any], str, Any]] = []
"""The functions of every class of models when it was defined, and the classes that `llm` creates in
a prompt: the owner, a name, and the object that it named."""
_columns: tuple[list[weakref.ref[Any]], list[str], list[Any]] = ([], [], [])
"""The columns of `_originals`, which `has_patched_functions` compares without a Python loop."""


_dereference = weakref.ref.__call__


class MockedModel(Protocol):
    """A mocked model, which may replace a registered one."""

    model_id: str

    def mock(self) -> Mock | None:
        """Return the mock that answers calls; None if the real model of the id answers."""
        ...


def guard_classes(llm: ModuleType) -> None:
    """Guard every class of models, including classes that are defined later."""
    # A private name: the classes of sync and async models have no public base in common.
    base = sys.modules["llm.models"]._BaseModel
    _guard_with_subclasses(base, "execute", _execute_with_mock, ("execute", "prompt"))
    _guard_with_subclasses(llm.EmbeddingModel, "embed_batch", _embed_with_mock, ("embed_batch",))


def _guard_with_subclasses(
    base: Any, name: str, answer: Callable[..., Any], kept_names: tuple[str, ...]
) -> None:
    """Guard a method of all subclasses of a class.

    Args:
        base: the base class.
        name: the name of the method.
        answer: answers a call of the method while a mock is current.
        kept_names: the functions to keep, so that a patch by hand is detected.
    """
    inherited = vars(base).get("__init_subclass__")
    # A re-imported `llm` still has the classes of its first import.
    if hasattr(inherited, "__wrapped__"):
        return

    def guard(cls: type) -> None:
        if getattr(cls, "is_llm_mock", False):
            return
        _guard_method(cls, name, answer)
        # After guarding: a patch by hand is what replaces the guarded method.
        for kept_name in kept_names:
            keep_original(cls, kept_name, getattr(cls, kept_name, None))

    @functools.wraps(base.__init_subclass__)
    def init_subclass(cls: type, /, **kwargs: Any) -> None:
        super(base, cls).__init_subclass__(**kwargs)
        guard(cls)

    base.__init_subclass__ = classmethod(init_subclass)
    for defined in _find_subclasses(base):
        guard(defined)


def _find_subclasses(base: type) -> Iterator[type]:
    subclasses: list[type] = base.__subclasses__()
    for cls in subclasses:
        yield cls
        yield from _find_subclasses(cls)


def keep_original(owner: Any, name: str, original: Any) -> None:
    """Store the original value of a name in a class or module, before a test can patch it."""
    _set_originals([*_originals, (weakref.ref(owner, _forget), name, original)])


def _forget(ref: weakref.ref[Any]) -> None:
    _set_originals([original for original in _originals if original[0] is not ref])


def _set_originals(originals: list[tuple[weakref.ref[Any], str, Any]]) -> None:
    # Replaced as a whole, because another thread may read the lists at this moment.
    global _originals, _columns
    _originals = originals
    _columns = (
        [ref for ref, _, _ in originals],
        [name for _, name, _ in originals],
        [function for _, _, function in originals],
    )


def _guard_method(cls: type, name: str, answer: Callable[..., object]) -> None:
    """Replace a method of one class by one that lets the current mock answer."""
    original: Any = getattr(cls, name, None)
    if original is None or getattr(original, "__isabstractmethod__", False):
        return
    static = inspect.getattr_static(cls, name, None)
    if isinstance(static, (staticmethod, classmethod, property)):
        return
    # The class inherits a guarded method.
    if getattr(original, "answers", None) is answer:
        return

    @functools.wraps(original)
    def guarded(model: _BaseModel | EmbeddingModel, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        mock = current_mock()
        if mock is None:
            return original(model, *args, **kwargs)
        if passes_through(model.model_id):
            return call_through(original, model, *args, **kwargs)
        call_original = functools.partial(call_through, original, model)
        return answer(call_original, mock, model, *args, **kwargs)

    vars(guarded)["answers"] = answer
    setattr(cls, name, guarded)


def _execute_with_mock(
    original: Callable[..., Any],
    mock: Any,
    model: _BaseModel,
    prompt: Prompt,
    stream: bool,
    response: _BaseResponse,
    *args: Any,
    conversation: Conversation | None = None,
    **kwargs: Any,
) -> Any:
    """Execute a prompt to a real model by its mock, unless a cassette records the real model."""
    __tracebackhide__ = True
    # `llm` passes the conversation by position, and applications may pass it by name.
    if hasattr(response, REAL_CALL_MARK):
        if not args:
            kwargs["conversation"] = conversation
        return original(prompt, stream, response, *args, **kwargs)
    refuse_real_model(model.model_id, mock)
    kind = "async_model" if is_async(model) else "model"
    mocked = mock.get_mocked_model(kind, model.model_id)
    return mocked.execute_scripted(prompt, stream, response, args[0] if args else conversation)


def _embed_with_mock(
    original: Callable[..., Any],
    mock: Any,
    model: EmbeddingModel,
    items: Iterable[str | bytes],
    key: str | None = None,
) -> Any:
    """Embed a batch for a real model by its mock."""
    __tracebackhide__ = True
    refuse_real_model(model.model_id, mock)
    mocked = mock.get_mocked_model("embedding_model", model.model_id)
    return mocked.embed_batch(items, key=model.key or key)


# Patches by hand, such as those of `monkeypatch` and `unittest.mock`


def get_original_function(cls: type, name: str) -> Any:
    """Return a function of a class of models as it was when the class was defined."""
    for ref, original_name, function in _originals:
        if ref() is cls and original_name == name:
            return function
    return getattr(cls, name)


def has_patched_functions() -> bool:
    """Return whether a test replaced a function of a class of models, or a class of `llm`."""
    # Called for every prompt: a loop in C over all classes takes a tenth of the time. For a class
    # that no longer exists, the default of `getattr` is the function itself.
    refs, names, functions = _columns
    return list(map(getattr, map(_dereference, refs), names, functions)) != functions


def find_patched_prompt(model: MockedModel) -> Callable[..., Any] | None:
    """Return the `prompt` that a test patched into the real model or its base; None without one.

    Args:
        model: the mocked model that replaces the real one.
    """
    import llm

    prompt: Callable[..., Any]
    real = _find_real_model(model)
    if real is not None and is_patched(real, "prompt"):
        prompt = real.prompt
        return prompt
    bases: tuple[type, ...] = (llm.Model, llm.KeyModel)
    if is_async(model):
        bases = (llm.AsyncModel, llm.AsyncKeyModel)
    for base in bases:
        if _is_patched_on_class(base, "prompt"):
            # Static, so that a function is bound to the mocked model. A mock is not a descriptor.
            prompt = inspect.getattr_static(base, "prompt")
            if hasattr(prompt, "__get__"):
                prompt = prompt.__get__(model)
            return prompt
    return None


def find_patched_model(model: MockedModel, prompt: Prompt | None = None) -> Any:
    """Return the real model behind a mocked one if a test patched its `execute`; else None.

    Args:
        model: the mocked model.
        prompt: the prompt to execute; its model may be a real one that the application created.
    """
    # An application may execute a model with an object of its own as prompt.
    real: Any = getattr(prompt, "model", None)
    if real is None or is_mock(real):
        # First, because finding the real model may load the plugins.
        if not has_patched_functions():
            return None
        real = _find_real_model(model)
    if real is None or not is_patched(real, "execute"):
        return None
    return real


def find_patched_embedding_model(model: Any) -> Any:
    """Return the real embedding model if a test patched its `embed_batch`; else None.

    Args:
        model: the real model, or the mocked one that replaces it.
    """
    real = model
    if is_mock(model):
        if not has_patched_functions():
            return None
        real = _find_real_model(model)
    if real is None or not is_patched(real, "embed_batch"):
        return None
    return real


def is_patched(model: object, name: str) -> bool:
    """Return whether a test patched a function of a real model, on its class or on the instance."""
    if name in vars(model):
        return True
    return _is_patched_on_class(type(model), name)


def _is_patched_on_class(cls: type, name: str) -> bool:
    for ref, original_name, function in _originals:
        if ref() is not cls or original_name != name:
            continue
        if getattr(cls, name) is not function:
            return True
    return False


def _find_real_model(model: MockedModel) -> Any:
    """Return the registered model that a mocked one replaces; None if there is none."""
    import llm.models

    mock = model.mock()
    # A mock that does not replace `llm` itself has no registered models.
    if mock is None or not isinstance(mock.names, LLMNames):
        return None
    if isinstance(model, llm.models.EmbeddingModel):
        entry = find_registered(model.model_id, EMBEDDING_MODELS)
        return getattr(entry, "model", None)
    kind = "async_model" if is_async(model) else "model"
    return find_registered_model(kind, model.model_id)
