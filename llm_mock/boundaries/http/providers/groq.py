"""Groq."""

from __future__ import annotations

from llm_mock.boundaries.http.providers.descriptor import (
    ClientKey,
    ProviderDescriptor,
    ServerAccess,
)

_GROQ = ClientKey(("GROQ_API_KEY",))

GROQ = ProviderDescriptor(
    "groq",
    domains=("api.groq.com",),
    base_url_variables=(
        "GROQ_API_BASE",
        "GROQ_BASE_URL",
    ),
    user_agents=("^(async)?groq/",),
    clients={"groq": {"Groq": _GROQ, "AsyncGroq": _GROQ}},
    server=ServerAccess(optional_base_urls={"GROQ_BASE_URL": ""}),
)
PROVIDERS = (GROQ,)
