"""Lookups of models at Hugging Face's hub, which its client makes before it calls a model.

The hub says under which name a provider has a model, and for which task. It serves datasets and
files too, so its host is left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from llm_mock.boundaries.http.interception import is_answering, may_call_for_real
from llm_mock.boundaries.patching import replace

DEFAULT_PROVIDER = "hf-inference"
"""The provider of a model if none is chosen: Hugging Face itself."""


def attach(module: ModuleType) -> None:
    """Replace the lookups of a private module of `huggingface_hub`."""
    # Without a name the hub is asked, as in production.
    helper = getattr(module, "TaskProviderHelper", None)
    if "_prepare_mapping_info" in vars(helper or object):
        replace(helper, "_prepare_mapping_info", _find_model)
    if hasattr(module, "_fetch_inference_provider_mapping"):
        replace(module, "_fetch_inference_provider_mapping", _list_providers)
    if hasattr(module, "_check_supported_task"):
        replace(module, "_check_supported_task", _check_task)


def _find_model(original: Callable[..., object], helper: object, model: str | None) -> object:
    """Return the name of a model at a provider, which is that of the hub."""
    __tracebackhide__ = True
    if model is None or _may_ask_hub():
        return original(helper, model)
    fields = vars(helper)
    return _make_mapping(str(fields["provider"]), model, str(fields["task"]))


def _list_providers(original: Callable[..., object], model: str) -> object:
    """Return the providers of a model, of which the client takes the first if none is chosen."""
    __tracebackhide__ = True
    if _may_ask_hub():
        return original(model)
    return [_make_mapping(DEFAULT_PROVIDER, model, "")]


def _check_task(original: Callable[..., object], *args: object) -> None:
    """Ask the hub whether a model is for a task; the mock has models for all."""
    __tracebackhide__ = True
    if _may_ask_hub():
        original(*args)


def _may_ask_hub() -> bool:
    return not is_answering() or may_call_for_real()


def _make_mapping(provider: str, model: str, task: str) -> object:
    # Imported here: that module takes long, and the functions that are replaced need it too.
    from huggingface_hub import hf_api

    make: Callable[..., object] = hf_api.InferenceProviderMapping
    return make(provider=provider, hf_model_id=model, providerId=model, status="live", task=task)
