"""The detector of a project's old mock: a module replaced as a whole in `sys.modules`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

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
                raise ValueError(
                    f"ini llm_mock_legacy_modules: {entry!r} should be module=Text, such as "
                    "myapp.planner=FakePlanner: the module, and a text that its str() or the name of its type contains "
                    "while the old mock replaces it."
                )
            self._watched[module] = text

    def check(self) -> LegacyMockWarning | None:
        """The warning that names the modules, if there are any; at most once."""
        if self._warned or sys.modules.keys().isdisjoint(self._watched):
            return None
        present = [name for name in self._watched if name in sys.modules]
        found = [name for name in present if self._watched[name] in _description(sys.modules[name])]
        self._warned = bool(found)
        return LegacyMockWarning(_warning(found)) if found else None


def _description(module: object) -> str:
    return f"{module} {type(module).__name__}"


def _warning(modules: Iterable[str]) -> str:
    return (
        f"Old mock detected in {', '.join(modules)}: the module is replaced as a whole, so its code is not tested. "
        f"Let the module be imported normally and set replies with mock_llm_responses. See {GUIDE}."
    )
