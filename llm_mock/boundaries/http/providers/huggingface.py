"""Hugging Face."""

from __future__ import annotations

from llm_mock.boundaries.http.error_formats import TextFormat
from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor, ServerAccess

HUGGINGFACE = ProviderDescriptor(
    "huggingface",
    domains=(
        "api-inference.huggingface.co",
        "endpoints.huggingface.cloud",
        "router.huggingface.co",
    ),
    base_url_variables=("HUGGINGFACE_API_BASE",),
    errors=TextFormat(),
    server=ServerAccess(optional_keys=("HF_TOKEN",)),
)
PROVIDERS = (HUGGINGFACE,)
