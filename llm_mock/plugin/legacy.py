"""Detection of a project's old mock: a module replaced as a whole in `sys.modules`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

from llm_mock.errors import LegacyMockWarning

GUIDE = "MIGRATION_GUIDE.md"
KNOWN: Mapping[str, str] = {"pflow.planning": "MockPlanningModule"}
"""The modules that are always watched, each with a text by which its mock is recognised."""


class LegacyMockDetector:
    """Warns once when a module in `sys.modules` is an old mock.

    Args:
        modules: further modules to watch, each `module=Text`. The module is an old mock if its
            `str()` or the name of its type contains `Text`.
            `pflow.planning=MockPlanningModule` is always watched.

    Raises:
        ValueError: an entry does not have this form.
    """

    def __init__(self, modules: Iterable[str] = ()) -> None:
        self._watched = dict(KNOWN)
        self._warned = False
        for entry in modules:
            module, separator, text = (part.strip() for part in entry.partition("="))
            if not (module and separator and text):
                raise ValueError(
                    f"ini llm_mock_legacy_modules: {entry!r} must be module=Text, such as "
                    "myapp.planner=FakePlanner: the module, and a text that its str() or the name "
                    "of its type contains while the old mock replaces it."
                )
            self._watched[module] = text

    def check(self) -> LegacyMockWarning | None:
        """Return a warning that names the old mocks; None if there are none, or after the first."""
        # Each test calls this: without a watched module it costs one set operation.
        if self._warned or sys.modules.keys().isdisjoint(self._watched):
            return None
        old_mocks = []
        for name, text in self._watched.items():
            module = sys.modules.get(name)
            if module is not None and text in f"{module} {type(module).__name__}":
                old_mocks.append(name)
        if not old_mocks:
            return None
        self._warned = True
        return LegacyMockWarning(
            f"Old mock detected in {', '.join(old_mocks)}: the module is replaced as a whole, so "
            "its code is not tested. Import the module normally and set replies with "
            f"mock_llm_responses. See {GUIDE}."
        )
