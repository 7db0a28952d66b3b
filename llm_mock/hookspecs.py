"""The pytest hooks that the plugin calls.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from llm_mock.registry import ResponseConfigurator


@pytest.hookspec(historic=True)
def pytest_llm_mock_configure(config: pytest.Config, mock: ResponseConfigurator) -> None:
    """Say in a conftest what is always answered, outside tests too.

    Called once a run (with pytest-xdist once in each worker) for each conftest or plugin that has it. Standing
    answers only: `mock.set`, `mock.set_error`, `mock.set_unknown`. What a test configures goes before them.

    Args:
        config: the pytest configuration.
        mock: the mock of the whole run.
    """
