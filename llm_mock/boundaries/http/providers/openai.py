"""OpenAI, whose API most other providers offer too."""

from __future__ import annotations

from llm_mock.boundaries.http.providers.descriptor import (
    ClientKey,
    ProviderDescriptor,
    ServerAccess,
)

_OPENAI = ClientKey(
    ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"), ("admin_api_key", "workload_identity", "provider")
)

OPENAI = ProviderDescriptor(
    "openai",
    domains=("api.openai.com",),
    shared_hosts=((r"^chatgpt\.com$", "^/backend-api/"),),
    base_url_variables=(
        "LITELLM_API_BASE",
        "LITELLM_BASE_URL",
        "LITELLM_PROXY_API_BASE",
        "LLM_API_BASE",
        "LLM_BASE_URL",
        "OPENAI_API_BASE",
        "OPENAI_BASE_URL",
        "VLLM_API_BASE",
        "VLLM_BASE_URL",
    ),
    user_agents=(r"(^|\s)\w*openai/(python|js)\b",),
    clients={"openai": {"OpenAI": _OPENAI, "AsyncOpenAI": _OPENAI}},
    protocols={"anthropic_messages": None},
    reads_retry_after_ms=True,
    server=ServerAccess(
        prefix="openai",
        base_urls={"OPENAI_BASE_URL": "/openai/v1"},
        optional_base_urls={"OPENAI_API_BASE": "/openai/v1"},
        keys=("OPENAI_API_KEY",),
    ),
)
PROVIDERS = (OPENAI,)
