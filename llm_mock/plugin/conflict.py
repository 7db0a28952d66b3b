"""Checks that the unrelated distribution `llm-mock` is not installed beside this one.

An entry point of its own loads this module before pytest registers the plugin. Both distributions
have a module `llm_mock.pytest_plugin`, so the installed file may be that of the other one; this
module is always ours.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution

import pytest

OTHER = "llm-mock"
OURS = "pytest-llm-mock"


def check_distributions() -> None:
    """Check that the other distribution is not installed.

    Raises:
        pytest.UsageError: both are installed.
    """
    try:
        other = distribution(OTHER)
    except PackageNotFoundError:
        return
    owned = {f"llm_mock.{name}" for name in ("pytest_plugin", "cli:main")}
    if owned.isdisjoint(point.value for point in other.entry_points):
        # Another package of that name, which does not overwrite our files.
        return
    raise pytest.UsageError(
        f"The distributions {OTHER} {other.version} and {OURS} are both installed, but own the "
        "same import package llm_mock: each overwrites files of the other. Uninstall both, and "
        f"install the one that you want: pip uninstall -y {OTHER} {OURS}, then pip install {OURS} "
        f"(mocks llm and SDKs) or pip install {OTHER}."
    )


# At import: an error in any later hook would come after the other plugin was loaded.
check_distributions()
