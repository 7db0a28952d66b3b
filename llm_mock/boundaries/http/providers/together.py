"""Together."""

from __future__ import annotations

from llm_mock.boundaries.http.providers.descriptor import (
    ClientKey,
    ProviderDescriptor,
    ServerAccess,
)

_TOGETHER = ClientKey(("TOGETHER_API_KEY",))

TOGETHER = ProviderDescriptor(
    "together",
    domains=(
        "api-inference.together.ai",
        "api.together.ai",
        "api.together.xyz",
    ),
    base_url_variables=(
        "TOGETHER_API_BASE",
        "TOGETHER_BASE_URL",
    ),
    user_agents=("^(async)?together/",),
    clients={"together": {"Together": _TOGETHER, "AsyncTogether": _TOGETHER}},
    server=ServerAccess(optional_base_urls={"TOGETHER_BASE_URL": "/openai/v1"}),
)
PROVIDERS = (TOGETHER,)
