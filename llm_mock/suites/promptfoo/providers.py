"""Providers of promptfoo's as models of roles."""

from __future__ import annotations

from typing import Any

from llm_mock.suites.promptfoo.source import Findings, Part

_KINDS = {"chat", "responses", "messages", "completion", "completions", "embedding", "embeddings"}
_OF_MODELS = {
    *(
        "anthropic",
        "bedrock",
        "cohere",
        "deepseek",
        "google",
        "groq",
        "mistral",
        "ollama",
        "openai",
        "openrouter",
        "xai",
    ),
    *("azure", "cerebras", "fireworks", "huggingface", "perplexity", "togetherai", "vertex"),
}
_TARGET = "is an application: name it as the target of the suite, target: {function, command or url}"


def role_model(providers: Part, findings: Findings) -> dict[str, Any] | None:
    """The model of a role, which is the first of the providers; None where there is none."""
    models: list[dict[str, Any]] = []
    for provider in providers.items():
        name = _id(provider)
        model = _model(name.data)
        if model is None:
            findings.lost(name, f"the provider {name.data} {_TARGET}")
            continue
        if models:
            findings.lost(name, f"the suite asks {models[0]['name']}; ask this one with --model {model['name']}")
        config = (provider if "id" in provider.names else provider.at(str(name.data))).at("config")
        options = {key: config.data[key] for key in config.names if key in ("temperature", "max_tokens")}
        findings.lost_keys(config, options, " of a provider")
        models.append({**model, **options})
    return models[0] if models else None


def judge_of(provider: Any) -> str | None:
    """The id for `llm` of a model that judges; None where it is none that is known."""
    model = _model(provider.get("id") if isinstance(provider, dict) else provider)
    if model is None:
        return None
    return str(model["name"]) if model["provider"] == "openai" else f"{model['provider']}/{model['name']}"


def _id(provider: Part) -> Part:
    """Where the id of a provider stands: it is a text, the `id` of a mapping, or its only key."""
    if not isinstance(provider.data, dict):
        return provider
    if "id" in provider.data or len(provider.data) != 1:
        return provider.at("id")
    (name,) = provider.data
    return Part(name, provider.document, (*provider.place, name))


def _model(name: Any) -> dict[str, Any] | None:
    if not isinstance(name, str):
        return None
    provider, *parts = name.split(":")
    model = ":".join(part for part in parts if part not in _KINDS)
    return {"provider": provider, "name": model} if provider in _OF_MODELS and model else None
