"""Find the rules for a request, and rules by their names."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.providers.hosts import find_provider_of_host, is_this_machine
from llm_mock.boundaries.http.providers.registry import get_registry
from llm_mock.errors import LLMMockError
from llm_mock.support.text import suggest_name

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request_rules.rule import Rule, RuleSet

_OPENAI_HOST = re.compile(r"(^|\.)api\.openai\.com$")
# Without Azure's other hosts, which also serve models of other companies with this API.
_AZURE_HOST = re.compile(r"\.(openai\.azure\.(com|us)|cognitiveservices\.azure\.com)$")
_ANTHROPIC_HOST = re.compile(r"(^|\.)api\.anthropic\.com$")
_GEMINI_HOST = re.compile(r"^generativelanguage\.googleapis\.com$")
_VERTEX_HOST = re.compile(r"(^|-)aiplatform\.googleapis\.com$")
_MISTRAL_HOST = re.compile(r"^(api|codestral|api\.eu|api\.us)\.mistral\.ai$")
RULE_SETS = (
    ("chat.completions", _OPENAI_HOST, "openai_chat", "RULES"),
    ("chat.completions", _AZURE_HOST, "openai_chat", "AZURE_RULES"),
    ("chat.completions", _MISTRAL_HOST, "mistral_chat", "RULES"),
    ("responses", _OPENAI_HOST, "openai_responses", "RULES"),
    ("responses", _AZURE_HOST, "openai_responses", "AZURE_RULES"),
    ("messages", _ANTHROPIC_HOST, "anthropic_messages", "RULES"),
    ("messages", _VERTEX_HOST, "anthropic_messages", "VERTEX_RULES"),
    ("generate_content", _GEMINI_HOST, "gemini", "RULES"),
    ("generate_content", _VERTEX_HOST, "gemini", "VERTEX_RULES"),
)
"""The rules by API and host: the module of this package, and the name in it.

If only one provider offers an API, its descriptor names the rules.
"""


# An application calls few hosts, and each of them often.
@functools.lru_cache
def find_rules(api: str, host: str) -> RuleSet | None:
    """Return the rules for requests to a host; None if no rules certainly apply there.

    Args:
        api: the API, as `HTTPRequest.api` names it.
        host: the host.
    """
    for known_api, pattern, module, name in RULE_SETS:
        if known_api == api and pattern.search(host):
            rules: RuleSet = getattr(_load(module), name)
            return rules
    own = get_registry().apis.get(api)
    if own is None or own.rules is None:
        return None
    if not find_provider_of_host(host, None) and not (own.is_local and is_this_machine(host)):
        return None
    own_rules: RuleSet = _load(own.rules).RULES
    return own_rules


def list_rules() -> dict[str, list[Rule]]:
    """Return all rules by the names of their modules."""
    modules = dict.fromkeys(module for _, _, module, _ in RULE_SETS)
    modules |= dict.fromkeys(api.rules for api in get_registry().apis.values() if api.rules)
    rules = {}
    for module in modules:
        rules[module] = list(_load(module).ALL_RULES)
    return rules


def check_rule_names(names: Iterable[str]) -> frozenset[str]:
    """Return the names of rules that a project switches off.

    Raises:
        LLMMockError: a rule does not exist.
    """
    checked = frozenset(names)
    if checked:
        known = sorted({rule.name for rules in list_rules().values() for rule in rules})
        for name in sorted(checked.difference(known)):
            raise LLMMockError(f"Unknown rule {name!r}{suggest_name(name, known)}")
    return checked


def _load(module: str) -> Any:
    """Import a module of this package, when its API gets the first request."""
    return importlib.import_module(f"{__package__}.{module}")
