"""Plain-language tests: YAML files of steps with real tools, which a model judges.

The names are loaded when they are first used. Running them needs the extra `specs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llm_mock.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from llm_mock.plugin.spec_items import LLMTestFailed as LLMTestFailed
    from llm_mock.plugin.spec_items import LLMTestFile as LLMTestFile
    from llm_mock.plugin.spec_items import LLMTestItem as LLMTestItem
    from llm_mock.specs.models import Step as Step
    from llm_mock.specs.models import StepResult as StepResult
    from llm_mock.specs.models import TestMeta as TestMeta
    from llm_mock.specs.models import TestSpec as TestSpec
    from llm_mock.specs.models import Verdict as Verdict
    from llm_mock.specs.models import VerdictSpec as VerdictSpec
    from llm_mock.specs.plugin_base import LLMPlugin as LLMPlugin
    from llm_mock.specs.runner import load_spec as load_spec
    from llm_mock.specs.runner import run_llm_test as run_llm_test

_MODULES = {
    "LLMPlugin": "plugin_base",
    "LLMTestFailed": "llm_mock.plugin.spec_items",
    "LLMTestFile": "llm_mock.plugin.spec_items",
    "LLMTestItem": "llm_mock.plugin.spec_items",
    "Step": "models",
    "StepResult": "models",
    "TestMeta": "models",
    "TestSpec": "models",
    "Verdict": "models",
    "VerdictSpec": "models",
    "load_spec": "runner",
    "run_llm_test": "runner",
}

__all__ = [*_MODULES]
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
