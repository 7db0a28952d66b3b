"""Find the rules for a request, and rules by their names."""

from __future__ import annotations

import functools
import importlib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request_rules.rule import Rule, RuleSet

_OPENAI_HOST = re.compile(r"(^|\.)api\.openai\.com$")
# Not Azure's other hosts, which serve models of other companies by the same API.
_AZURE_HOST = re.compile(r"\.(openai\.azure\.(com|us)|cognitiveservices\.azure\.com)$")
_ANTHROPIC_HOST = re.compile(r"(^|\.)api\.anthropic\.com$")
RULE_SETS = (
    ("chat.completions", _OPENAI_HOST, "openai_chat", "RULES"),
    ("chat.completions", _AZURE_HOST, "openai_chat", "AZURE_RULES"),
    ("messages", _ANTHROPIC_HOST, "anthropic_messages", "RULES"),
)
"""The rules by API and host: the module of this package, and the name in it."""


# An application calls few hosts, and each of them often.
@functools.lru_cache(maxsize=256)
def find_rules(api: str, host: str) -> RuleSet | None:
    """Return the rules for requests to a host; None if none certainly hold there.

    Args:
        api: the API, as `HTTPRequest.api` names it.
        host: the host.
    """
    for known_api, pattern, module, name in RULE_SETS:
        if known_api == api and pattern.search(host):
            rules: RuleSet = getattr(_load(module), name)
            return rules
    return None


def list_rules() -> dict[str, list[Rule]]:
    """Return all rules by the names of their modules."""
    modules = dict.fromkeys(module for _, _, module, _ in RULE_SETS)
    rules = {}
    for module in modules:
        rules[module] = list(_load(module).ALL_RULES)
    return rules


def _load(module: str) -> Any:
    """Import a module of this package, which is needed for the first request to its API."""
    return importlib.import_module(f"{__package__}.{module}")
