"""The advice for a fixture of a wider scope that requests the mock."""

from __future__ import annotations

import re

_MISMATCH = re.compile(
    r"ScopeMismatch: .* function scoped fixture (mock_llm_(?:responses|calls)) with a (\w+) scoped"
)


def explain_scope(error: BaseException) -> str:
    """Suggest how to replace a fixture that outlasts the mock; empty for other errors."""
    match = _MISMATCH.match(str(error))
    if match is None:
        return ""
    name, scope = match.groups()
    return (
        f"Each test has a mock of its own, so a fixture of scope '{scope}' cannot request {name}. "
        "For replies in all tests, define in conftest.py:\n"
        "    def pytest_llm_mock_configure(config, mock):\n"
        '        mock.set("*", "…")\n'
        "For replies in some of them, remove the scope of the fixture."
    )
