"""Answer the lookups at Hugging Face's hub that its client makes before it calls a model.

The hub knows a model's name at a provider and its task. As the hub also serves datasets and files,
the mock does not intercept its host.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from llm_mock.boundaries.http.interception import is_answering, may_call_for_real
from llm_mock.boundaries.patching import replace

DEFAULT_PROVIDER = "hf-inference"
"""The default provider of a model: Hugging Face itself."""


def attach(module: ModuleType) -> None:
    """Replace the lookups of a private module of `huggingface_hub`."""
    # If a name is missing, the client calls the hub, as in production.
    helper = getattr(module, "TaskProviderHelper", None)
    if "_prepare_mapping_info" in vars(helper or object):
        replace(helper, "_prepare_mapping_info", _find_model)
    if hasattr(module, "_fetch_inference_provider_mapping"):
        replace(module, "_fetch_inference_provider_mapping", _list_providers)
    if hasattr(module, "_check_supported_task"):
        replace(module, "_check_supported_task", _check_task)


def _find_model(original: Callable[..., object], helper: object, model: str | None) -> object:
    """Return the name of a model at a provider, which is the name at the hub."""
    __tracebackhide__ = True
    if model is None or _may_ask_hub():
        return original(helper, model)
    fields = vars(helper)
    return _make_mapping(str(fields["provider"]), model, str(fields["task"]))


def _list_providers(original: Callable[..., object], model: str) -> object:
    """Return the providers of a model; by default, the client uses the first one."""
    __tracebackhide__ = True
    if _may_ask_hub():
        return original(model)
    return [_make_mapping(DEFAULT_PROVIDER, model, "")]


def _check_task(original: Callable[..., object], *args: object) -> None:
    """Check the task of a model at the hub, unless the mock answers: it supports all tasks."""
    __tracebackhide__ = True
    if _may_ask_hub():
        original(*args)


def _may_ask_hub() -> bool:
    return not is_answering() or may_call_for_real()


def _make_mapping(provider: str, model: str, task: str) -> object:
    # Imported here, as the module is slow to import; the replaced functions need it anyway.
    from huggingface_hub import hf_api

    make: Callable[..., object] = hf_api.InferenceProviderMapping
    return make(provider=provider, hf_model_id=model, providerId=model, status="live", task=task)
