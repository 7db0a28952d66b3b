"""The autouse fixture that gives each test a mock on top of that of the run.

A module of its own, because `pytest_configure` registers it as a plugin only if the run is mocked.
"""

from __future__ import annotations

import pytest

from llm_mock.plugin.run import activate_test_mock

_llm_mock_of_test = pytest.fixture(autouse=True, name="_llm_mock_of_test")(activate_test_mock)
