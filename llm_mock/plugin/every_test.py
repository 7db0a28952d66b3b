"""The fixture of a run that is mocked as a whole: a mock for each test, on top of that of the run.

A module of its own, because it is a plugin that `pytest_configure` registers only for such a run.
"""

from __future__ import annotations

import pytest

from llm_mock.plugin.run import activate_test_mock

_llm_mock_of_test = pytest.fixture(autouse=True, name="_llm_mock_of_test")(activate_test_mock)
