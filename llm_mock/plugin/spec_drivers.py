"""The drivers of plain-language tests by name: a new one needs a line here, and its class.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llm_mock.specs.drivers import Driver

DRIVERS = {
    "llm": "llm_mock.specs.llm_driver:LLMDriver",
    "claude-code": "llm_mock.specs.claude_code:ClaudeCodeDriver",
}
"""What ini `llm_mock_spec_driver` may be, and the classes that are loaded then. They take `model`: an id, or None."""


def driver_named(name: str, model: str | None) -> Driver:
    """The driver of that name, which asks that model; None is the driver's own choice."""
    module, _, class_name = DRIVERS[name].partition(":")
    driver: Driver = getattr(importlib.import_module(module), class_name)(model=model)
    return driver
