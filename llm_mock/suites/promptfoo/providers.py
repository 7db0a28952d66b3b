"""Conversion of promptfoo's providers into models."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from llm_mock.suites.promptfoo.endpoints import is_endpoint
from llm_mock.suites.promptfoo.source import ImportFindings, Part
from llm_mock.support.json_types import JSONObject

# The kind of API in an id such as openai:chat:gpt-4o; llm chooses it by the model.
_API_KINDS = {
    "chat",
    "responses",
    "messages",
    "completion",
    "completions",
    "embedding",
    "embeddings",
}
_MODEL_PROVIDERS = {
    "anthropic",
    "azure",
    "bedrock",
    "cerebras",
    "cohere",
    "deepseek",
    "fireworks",
    "google",
    "groq",
    "huggingface",
    "mistral",
    "ollama",
    "openai",
    "openrouter",
    "perplexity",
    "togetherai",
    "vertex",
    "xai",
}
_OPTIONS = (
    "temperature",
    "max_tokens",
    "top_p",
    "top_k",
    "seed",
    "stop",
    "frequency_penalty",
    "presence_penalty",
    "reasoning_effort",
)
"""Options that have the same name in models of `llm`, as far as a model has them."""
_JSON_OBJECT = {"type": "json_object"}
_USE_TARGET = (
    "is an application: name it as the target of the suite, target: {function, command or url}"
)


class ImportedModel(NamedTuple):
    """A model among the providers."""

    fields: JSONObject
    """Its provider and its name."""
    options: JSONObject
    """Its options by the names of `llm`, such as the temperature."""
    label: str | None
    """Its name in reports."""

    def convert_to_role(self) -> JSONObject:
        """Return the model in the form of a role."""
        converted = dict(self.fields)
        others = {}
        for name, value in self.options.items():
            if name in ("temperature", "max_tokens"):
                converted[name] = value
            else:
                others[name] = value
        if others:
            converted["options"] = others
        return converted


def convert_models(providers: Part, findings: ImportFindings) -> list[ImportedModel]:
    """Return the models among the providers, and report the others."""
    models: list[ImportedModel] = []
    for provider in providers.items():
        id_part = _find_id(provider)
        model = _parse_id(id_part.data)
        if model is None and is_endpoint(id_part.data):
            # See `convert_endpoints`.
            continue
        if model is None:
            findings.report(id_part, f"the provider {id_part.data} {_USE_TARGET}")
            continue
        # A provider is {id: …, config: …}, or {ID: {config: …}}.
        if "id" in provider.names:
            owner = provider
        else:
            owner = provider.at(str(id_part.data))
        options = _convert_options(owner.at("config"), str(model["provider"]), findings)
        label = owner.at("label").data
        if not isinstance(label, str) or not label.strip():
            label = None
        models.append(ImportedModel(model, options, label))
    return models


def _convert_options(config: Part, provider: str, findings: ImportFindings) -> JSONObject:
    """Return the options of a model by the names of `llm`, and report the others."""
    options: JSONObject = {}
    known = []
    for key in config.names:
        value = config.data[key]
        if key == "stop" and isinstance(value, list) and len(value) == 1:
            # `llm` has a text here.
            [value] = value
        if key in _OPTIONS and isinstance(value, (str, int, float)):
            options[key] = value
        elif provider == "openai" and key == "response_format" and value == _JSON_OBJECT:
            options["json_object"] = True
        else:
            continue
        known.append(key)
    findings.report_keys(config, known, " of a provider")
    return options


def convert_to_matrix(models: list[ImportedModel]) -> list[Any]:
    """Return models in the form of a matrix: ids, or with a name and options if there are some."""
    entries: list[Any] = []
    names = _choose_names(models)
    for model, name in zip(models, names, strict=True):
        model_id = _format_llm_id(model.fields)
        entry: JSONObject = {"model": model_id}
        if name != model_id:
            entry["name"] = name
        if model.options:
            entry["options"] = model.options
        if len(entry) > 1:
            entries.append(entry)
        else:
            entries.append(model_id)
    return entries


def _choose_names(models: list[ImportedModel]) -> list[str]:
    """Return a unique name for each model: its label, its id, or its id with its options."""
    ids = Counter(_format_llm_id(model.fields) for model in models)
    names: list[str] = []
    for model in models:
        name = _format_llm_id(model.fields)
        if model.label is not None:
            name = model.label
        elif ids[name] > 1:
            for key, value in model.options.items():
                name += f", {key}={value}"
        unique = name
        number = 1
        while unique in names:
            number += 1
            unique = f"{name} ({number})"
        names.append(unique)
    return names


def convert_judge(provider: Part, findings: ImportFindings) -> str | None:
    """Return the id of a judge model for `llm`, or None if the provider is unknown."""
    name = provider.data
    if isinstance(name, dict):
        name = name.get("id")
    model = _parse_id(name)
    if model is None:
        return None
    findings.report_keys(provider, ("id", "label"), " of a judge")
    return _format_llm_id(model)


def _format_llm_id(model: JSONObject) -> str:
    # llm itself has the models of OpenAI; those of plugins have the provider in their id.
    if model["provider"] == "openai":
        return str(model["name"])
    return f"{model['provider']}/{model['name']}"


def _find_id(provider: Part) -> Part:
    """Return the id of a provider: the text itself, its `id`, or its only key."""
    if not isinstance(provider.data, dict):
        return provider
    if "id" in provider.data or len(provider.data) != 1:
        return provider.at("id")
    (name,) = provider.data
    return Part(name, provider.document, (*provider.place, name))


def _parse_id(name: object) -> JSONObject | None:
    """Return provider and name of a model, or None if the id does not name a model."""
    if not isinstance(name, str):
        return None
    provider, *parts = name.split(":")
    model = ":".join(part for part in parts if part not in _API_KINDS)
    if provider not in _MODEL_PROVIDERS or not model:
        return None
    return {"provider": provider, "name": model}
