"""The detector of a project's old mock: a module replaced as a whole in `sys.modules`.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

from llm_mock import explain
from llm_mock.errors import LegacyMockWarning

GUIDE = "MIGRATION_GUIDE.md"
KNOWN: Mapping[str, str] = {"pflow.planning": "MockPlanningModule"}


class LegacyMockDetector:
    """Tells once when a module in `sys.modules` is an old mock.

    Args:
        modules: further modules to watch, each `module=Text`: an old mock is there when `Text` occurs in the
            module's `str()` or the name of its type. `pflow.planning=MockPlanningModule` is always watched.

    Raises:
        ValueError: an entry has another form.
    """

    def __init__(self, modules: Iterable[str] = ()) -> None:
        self._watched = dict(KNOWN)
        self._warned = False
        for entry in modules:
            module, separator, text = (part.strip() for part in entry.partition("="))
            if not (module and separator and text):
                raise ValueError(explain.bad_legacy_module(entry))
            self._watched[module] = text

    def check(self) -> LegacyMockWarning | None:
        """The warning that names the modules, if there are any; at most once."""
        if self._warned or self._watched.keys().isdisjoint(sys.modules):
            return None
        present = [name for name in self._watched if name in sys.modules]
        found = [name for name in present if self._watched[name] in _description(sys.modules[name])]
        self._warned = bool(found)
        return LegacyMockWarning(explain.legacy_mock(found, GUIDE)) if found else None


def _description(module: object) -> str:
    return f"{module} {type(module).__name__}"
