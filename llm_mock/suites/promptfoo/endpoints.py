"""Conversion of promptfoo's HTTP providers into targets of a suite."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from llm_mock.suites.promptfoo.source import ImportFindings, Part
from llm_mock.suites.target_session import PROMPT
from llm_mock.support.interpolation import map_texts
from llm_mock.support.json_types import JSONObject

_KEYS = ("url", "method", "headers", "body", "transformResponse")
_PROMPT_VARIABLE = re.compile(r"\{\{-?\s*prompt\s*-?\}\}")
_ENVIRONMENT_VARIABLE = re.compile(r"\{\{-?\s*env\.(\w+)\s*-?\}\}")
_RESPONSE_PATH = re.compile(r"json((?:\.\w+|\[\d+\])+)")
"""An expression that only takes a part of the JSON of a response."""


def is_endpoint(provider_id: object) -> bool:
    """Return whether the id of a provider is a URL, or says that its `config` has one."""
    if not isinstance(provider_id, str):
        return False
    return provider_id in ("http", "https") or provider_id.startswith(("http://", "https://"))


def convert_endpoints(providers: Part, findings: ImportFindings) -> list[JSONObject]:
    """Return the HTTP endpoints among the providers as targets, and report what is left out."""
    return list(_iterate_endpoints(providers, findings))


def _iterate_endpoints(providers: Part, findings: ImportFindings) -> Iterator[JSONObject]:
    for provider in providers.items():
        if isinstance(provider.data, dict):
            provider_id = provider.at("id").data
        else:
            provider_id = provider.data
        if not is_endpoint(provider_id):
            continue
        config = provider.at("config")
        url = config.at("url").data or provider_id
        if not isinstance(url, str) or "://" not in url:
            findings.report(provider, "the HTTP provider is not imported: it has no url")
            continue
        findings.report_keys(config, _KEYS, " of an HTTP provider")
        yield {"url": url, **_convert_config(config, findings)}


def _convert_config(config: Part, findings: ImportFindings) -> JSONObject:
    target: JSONObject = {}
    method = config.at("method")
    if method.data not in (None, "POST"):
        findings.report(method, f"the method {method.data} is not imported: a target is sent POST")
    headers = config.at("headers").data
    if isinstance(headers, dict):
        target["headers"] = {name: _convert_header(str(text)) for name, text in headers.items()}
    body = config.at("body")
    if body.data is not None:
        converted = _convert_body(body, findings)
        if converted is not None:
            target["body"] = converted
    response = config.at("transformResponse")
    if response.data is not None:
        match = _RESPONSE_PATH.fullmatch(str(response.data).strip())
        if match:
            target["output"] = match[1].removeprefix(".")
        else:
            problem = "transformResponse is not imported: name the path of the output, output: …"
            findings.report(response, problem)
    return target


def _convert_header(text: str) -> str:
    return _ENVIRONMENT_VARIABLE.sub(lambda match: f"${{{match[1]}}}", text)


def _convert_body(body: Part, findings: ImportFindings) -> object:
    """Return the JSON body of a request; report it and return None if it is none."""
    data = body.data
    if isinstance(data, str):
        try:
            data = json.loads(data)
        except ValueError:
            findings.report(body, "the body is not imported: a target is sent JSON")
            return None

    def convert(text: str) -> str:
        converted = _PROMPT_VARIABLE.sub(PROMPT, text)
        if "{{" in converted:
            problem = f"{text} is left unchanged: only {{{{prompt}}}} has a counterpart in a body"
            findings.report(body, problem)
        return converted

    return map_texts(data, convert)
