"""Ollama."""

from __future__ import annotations

from llm_mock.boundaries.http.error_formats import TextFormat
from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor

OLLAMA = ProviderDescriptor(
    "ollama",
    domains=("ollama.com",),
    base_url_variables=(
        "OLLAMA_API_BASE",
        "OLLAMA_BASE_URL",
        "OLLAMA_HOST",
    ),
    user_agents=("^ollama-python/",),
    errors=TextFormat(),
)
PROVIDERS = (OLLAMA,)
