"""Checks of outputs and runs, for suites, plain-language tests and Python.

Each function returns the check that YAML loads under the same name. Call a check with a text, data,
an `AgentResult`, a response of `llm` or a `Call`. It returns a value that is true, or false with a
reason: `assert contains("Hello")(result)`. `~` negates a check. `check` reports all checks that do
not pass. Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llm_mock.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from llm_mock.checks.named import bleu as bleu
    from llm_mock.checks.named import check as check
    from llm_mock.checks.named import contains as contains
    from llm_mock.checks.named import contains_all as contains_all
    from llm_mock.checks.named import contains_any as contains_any
    from llm_mock.checks.named import contains_json as contains_json
    from llm_mock.checks.named import equals as equals
    from llm_mock.checks.named import icontains as icontains
    from llm_mock.checks.named import javascript as javascript
    from llm_mock.checks.named import json as json
    from llm_mock.checks.named import judge as judge
    from llm_mock.checks.named import levenshtein as levenshtein
    from llm_mock.checks.named import max_cost as max_cost
    from llm_mock.checks.named import max_latency as max_latency
    from llm_mock.checks.named import max_tokens as max_tokens
    from llm_mock.checks.named import python as python
    from llm_mock.checks.named import reasoning_budget as reasoning_budget
    from llm_mock.checks.named import regex as regex
    from llm_mock.checks.named import rouge_n as rouge_n
    from llm_mock.checks.named import similar as similar
    from llm_mock.checks.named import starts_with as starts_with
    from llm_mock.checks.named import tool_called as tool_called
    from llm_mock.checks.named import tool_calls as tool_calls
    from llm_mock.checks.named import trajectory as trajectory

_MODULES = {
    "named": (
        "bleu check contains contains_all contains_any contains_json equals icontains javascript "
        "json judge levenshtein max_cost max_latency max_tokens python reasoning_budget regex "
        "rouge_n similar starts_with tool_called tool_calls trajectory"
    ),
}

__all__ = " ".join(_MODULES.values()).split()
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
