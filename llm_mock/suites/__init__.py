"""Prompt suites: YAML files of prompts and assertions about the answers, run live or dry.

The names below and the modules `schema`, `assertions` and `runner` are public; other modules may
change. Each name is imported when it is first used. Running a suite needs the extra `suites`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llm_mock.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from llm_mock.suites.assertions import evaluate_assertion as evaluate_assertion
    from llm_mock.suites.assertions import evaluate_assertions as evaluate_assertions
    from llm_mock.suites.results import AssertionResult as AssertionResult
    from llm_mock.suites.results import Attempt as Attempt
    from llm_mock.suites.results import CaseResult as CaseResult
    from llm_mock.suites.results import SuiteResult as SuiteResult
    from llm_mock.suites.results import TurnResult as TurnResult
    from llm_mock.suites.role import Role as Role
    from llm_mock.suites.role import load_role as load_role
    from llm_mock.suites.runner import load_suite as load_suite
    from llm_mock.suites.runner import run_suite as run_suite
    from llm_mock.suites.schema import TestCase as TestCase
    from llm_mock.suites.schema import TestSuiteDefinition as TestSuiteDefinition
    from llm_mock.suites.variants import Variant as Variant
    from llm_mock.suites.variants import variants_of as variants_of

# Imported on first use: pydantic, `llm` and the agents are slow to import.
_MODULES = {
    "assertions": "evaluate_assertion evaluate_assertions",
    "results": "AssertionResult Attempt CaseResult SuiteResult TurnResult",
    "role": "load_role Role",
    "runner": "load_suite run_suite",
    "schema": "TestCase TestSuiteDefinition",
    "variants": "Variant variants_of",
}

__all__ = " ".join(_MODULES.values()).split()
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
