"""Cerebras."""

from __future__ import annotations

from llm_mock.boundaries.http.providers.descriptor import ClientKey, ProviderDescriptor

_CEREBRAS = ClientKey(("CEREBRAS_API_KEY",))

CEREBRAS = ProviderDescriptor(
    "cerebras",
    domains=("api.cerebras.ai",),
    base_url_variables=("CEREBRAS_BASE_URL",),
    user_agents=("^(async)?cerebras/",),
    protocols={"openai_chat": "cerebras_chat"},
    clients={"cerebras.cloud.sdk": {"Cerebras": _CEREBRAS, "AsyncCerebras": _CEREBRAS}},
)
PROVIDERS = (CEREBRAS,)
