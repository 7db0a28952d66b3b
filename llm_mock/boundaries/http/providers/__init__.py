"""The providers: one descriptor for each, and the lookup of the provider of a host."""

from __future__ import annotations

MODULES: dict[str, tuple[str, ...]] = {
    "openai": ("openai",),
    "anthropic": ("anthropic",),
    "google": ("google.genai",),
    "mistral": (),
    "azure": ("openai",),
    "bedrock": (),
    "cerebras": ("cerebras.cloud.sdk",),
    "cohere": ("cohere",),
    "groq": ("groq",),
    "huggingface": (),
    "ollama": (),
    "openrouter": (),
    "replicate": (),
    "together": ("together",),
    "vertex": (),
    "others": (),
}
"""The modules here with descriptors, and the packages of their SDKs.

The packages are listed here because they must be known before a descriptor is loaded.
"""


def list_sdks() -> list[str]:
    """Return the packages of all SDKs, each once."""
    return list({package: None for packages in MODULES.values() for package in packages})
