"""OpenRouter."""

from __future__ import annotations

from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor, ServerAccess

OPENROUTER = ProviderDescriptor(
    "openrouter",
    domains=("openrouter.ai",),
    base_url_variables=(
        "OPENROUTER_API_BASE",
        "OPENROUTER_BASE_URL",
    ),
    protocols={"openai_chat": "openrouter_chat"},
    server=ServerAccess(optional_keys=("OPENROUTER_API_KEY",)),
)
PROVIDERS = (OPENROUTER,)
