"""Azure, which hosts models of OpenAI and others."""

from __future__ import annotations

from llm_mock.boundaries.http.providers.descriptor import (
    ClientKey,
    ProviderDescriptor,
    ServerAccess,
)

_AZURE = ClientKey(
    ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"), ("azure_ad_token", "azure_ad_token_provider")
)

AZURE = ProviderDescriptor(
    "azure",
    domains=(
        "cognitiveservices.azure.com",
        "cognitiveservices.azure.us",
        "inference.ai.azure.com",
        "inference.ml.azure.com",
        "models.ai.azure.com",
        "openai.azure.com",
        "openai.azure.us",
        "services.ai.azure.com",
        "services.ai.azure.us",
    ),
    base_url_variables=(
        "AZURE_AI_API_BASE",
        "AZURE_API_BASE",
        "AZURE_INFERENCE_ENDPOINT",
        "AZURE_OPENAI_ENDPOINT",
    ),
    clients={"openai": {"AzureOpenAI": _AZURE, "AsyncAzureOpenAI": _AZURE}},
    server=ServerAccess(
        optional_base_urls={"AZURE_OPENAI_ENDPOINT": ""}, optional_keys=("AZURE_OPENAI_API_KEY",)
    ),
)
PROVIDERS = (AZURE,)
