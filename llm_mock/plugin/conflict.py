"""Refuse to run beside the unrelated distribution `llm-mock`, which owns the same import package.

An entry point of its own loads this module before pytest registers the plugin: both distributions have a module
`llm_mock.pytest_plugin`, so that of the other one may be the one that is there. This one is always ours.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution

import pytest

OTHER = "llm-mock"
OURS = "pytest-llm-mock"


def check_distributions() -> None:
    """Look for the other distribution.

    Raises:
        pytest.UsageError: both are installed.
    """
    try:
        other = distribution(OTHER)
    except PackageNotFoundError:
        return
    owned = {f"llm_mock.{name}" for name in ("pytest_plugin", "cli:main")}
    if owned.isdisjoint(point.value for point in other.entry_points):
        return  # another package of that name, which leaves our files alone
    raise pytest.UsageError(
        f"The distributions {OTHER} {other.version} and {OURS} are both installed, but own the same import package "
        "llm_mock: each overwrites files of the other. Uninstall both, and install the one that you want: "
        f"pip uninstall -y {OTHER} {OURS}, then pip install {OURS} (mocks llm and SDKs) or pip install {OTHER}."
    )


check_distributions()
