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


def models_of(providers: Part, findings: Findings) -> list[dict[str, Any]]:
    """The models among the providers, as roles name them."""
    models: list[dict[str, Any]] = []
    for provider in providers.items():
        name = _id(provider)
        model = _model(name.data)
        if model is None:
            findings.lost(name, f"the provider {name.data} {_TARGET}")
            continue
        config = (provider if "id" in provider.names else provider.at(str(name.data))).at("config")
        options = {key: config.data[key] for key in config.names if key in ("temperature", "max_tokens")}
        findings.lost_keys(config, options, " of a provider")
        models.append({**model, **options})
    return models


def side_by_side(models: list[dict[str, Any]]) -> list[Any]:
    """Models of roles as the matrix of a suite names them: by their ids for `llm`, with options if there are some."""
    listed: list[Any] = []
    for model in models:
        options = {name: value for name, value in model.items() if name not in ("provider", "name")}
        listed.append({"model": _id_for_llm(model), "options": options} if options else _id_for_llm(model))
    return listed


def judge_of(provider: Any) -> str | None:
    """The id for `llm` of a model that judges; None where it is none that is known."""
    model = _model(provider.get("id") if isinstance(provider, dict) else provider)
    return None if model is None else _id_for_llm(model)


def _id_for_llm(model: dict[str, Any]) -> str:
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
