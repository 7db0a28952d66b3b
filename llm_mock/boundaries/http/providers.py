"""Which hosts are providers of models. Other hosts are left alone, unless a project names them."""

from __future__ import annotations

import functools

HOSTS = {
    "api.openai.com": "openai",
    "eu.api.openai.com": "openai",
    "us.api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "google",
    "aiplatform.googleapis.com": "google",
    "api.mistral.ai": "mistral",
    "codestral.mistral.ai": "mistral",
    "api.ai21.com": "ai21",
    "api.aimlapi.com": "aimlapi",
    "api.cerebras.ai": "cerebras",
    "api.cohere.ai": "cohere",
    "api.cohere.com": "cohere",
    "api.deepinfra.com": "deepinfra",
    "api.deepseek.com": "deepseek",
    "api.fireworks.ai": "fireworks",
    "api.githubcopilot.com": "github",
    "api.groq.com": "groq",
    "api.hyperbolic.xyz": "hyperbolic",
    "api.inference.net": "inference.net",
    "api.jina.ai": "jina",
    "api.minimax.io": "minimax",
    "api.moonshot.ai": "moonshot",
    "api.moonshot.cn": "moonshot",
    "api.novita.ai": "novita",
    "api.perplexity.ai": "perplexity",
    "api.replicate.com": "replicate",
    "api.sambanova.ai": "sambanova",
    "api.studio.nebius.ai": "nebius",
    "api.together.ai": "together",
    "api.together.xyz": "together",
    "api.voyageai.com": "voyage",
    "api.x.ai": "x.ai",
    "api.z.ai": "z.ai",
    "dashscope.aliyuncs.com": "dashscope",
    "dashscope-intl.aliyuncs.com": "dashscope",
    "integrate.api.nvidia.com": "nvidia",
    "models.github.ai": "github",
    "models.inference.ai.azure.com": "azure",
    "ollama.com": "ollama",
    "openrouter.ai": "openrouter",
    "router.huggingface.co": "huggingface",
    "api-inference.huggingface.co": "huggingface",
    "ai-gateway.vercel.sh": "vercel",
}
"""Providers by their host."""
ENDS_OF_HOSTS = {
    ".openai.azure.com": "azure",
    ".cognitiveservices.azure.com": "azure",
    ".services.ai.azure.com": "azure",
    ".inference.ai.azure.com": "azure",
    "-aiplatform.googleapis.com": "google",
    ".aiplatform.googleapis.com": "google",
    ".endpoints.huggingface.cloud": "huggingface",
}
"""Providers by how their hosts end."""


@functools.lru_cache(maxsize=256)
def provider_of(host: str, port: int | None, named: tuple[str, ...] = ()) -> str | None:
    """The provider at a host; None where there is none.

    Args:
        host: where a request goes.
        port: the same.
        named: the hosts that the project names, as `example.com` or `localhost:11434`; their provider is the host.
    """
    host = host.lower().rstrip(".")
    if host in named or f"{host}:{port}" in named:
        return HOSTS.get(host, host)
    if host in HOSTS:
        return HOSTS[host]
    if host.startswith("bedrock-runtime.") and host.endswith(".amazonaws.com"):
        return "bedrock"
    return next((provider for end, provider in ENDS_OF_HOSTS.items() if host.endswith(end)), None)
