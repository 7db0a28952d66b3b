"""Plain-language tests: YAML files of steps with real tools, which a model judges.

The names are loaded when they are first used. Running tests needs the extra `specs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llm_mock.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from llm_mock.specs.failure import LLMTestFailed as LLMTestFailed
    from llm_mock.specs.loading import load_spec as load_spec
    from llm_mock.specs.models import Step as Step
    from llm_mock.specs.models import StepResult as StepResult
    from llm_mock.specs.models import TestMeta as TestMeta
    from llm_mock.specs.models import TestSpec as TestSpec
    from llm_mock.specs.models import Verdict as Verdict
    from llm_mock.specs.models import VerdictSpec as VerdictSpec
    from llm_mock.specs.plugin_base import LLMPlugin as LLMPlugin
    from llm_mock.specs.runner import run_llm_test as run_llm_test

# The two names of `spec_items` are given as a text, because only the plugin imports pytest.
_MODULES = {
    "failure": "LLMTestFailed",
    "llm_mock.plugin.spec_items": "LLMTestFile LLMTestItem",
    "loading": "load_spec",
    "models": "Step StepResult TestMeta TestSpec Verdict VerdictSpec",
    "plugin_base": "LLMPlugin",
    "runner": "run_llm_test",
}

__all__ = " ".join(_MODULES.values()).split()
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
