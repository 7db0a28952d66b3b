"""Detection of mocks made by hand, whose calls never reach the mock: patches, replaced modules."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

from llm_mock.core.context import current_mock_if_created
from llm_mock.errors import LegacyMockWarning

if TYPE_CHECKING:
    from llm_mock.core.script import StandingReply

GUIDE = "MIGRATION_GUIDE.md"
KNOWN_MODULES: Mapping[str, str] = {"pflow.planning": "MockPlanningModule"}
"""The modules that are always watched, each with a text by which its mock is recognised."""
GETTERS = ("get_model", "get_async_model")
"""The names of functions that return models."""
ADVICE = (
    "Calls of the patched function never reach the mock. Remove the patch or the replies; "
    "`llm-mock migrate` rewrites such tests."
)


class HandPatches:
    """The patches of `unittest.mock`, and so of pytest-mock, that a test has entered."""

    def __init__(self) -> None:
        # A dictionary as an ordered set: the message names each patch once.
        self.names: dict[str, None] = {}
        self._replacing_packages: set[str] = set()
        """The packages whose functions and classes were patched in."""
        self._attached_to: Any = None
        self._enter: Any = None

    def begin(self) -> None:
        """Forget the patches of the previous test."""
        self.names.clear()
        self._replacing_packages.clear()
        # Private: `unittest.mock.patch` makes only objects of this class. Without it no patch is
        # noted. Attached in the first test after the import, as importing the module is slow.
        patch: Any = getattr(sys.modules.get("unittest.mock"), "_patch", None)
        if self._attached_to is None and hasattr(patch, "__enter__"):
            self._attached_to, self._enter = patch, enter = patch, patch.__enter__

            def enter_and_note(entered: Any) -> Any:
                replacement = enter(entered)
                attribute = entered.attribute
                # `temp_original`, a private name, is the replaced function.
                if attribute in GETTERS and _is_of_llm(entered.temp_original):
                    owner = getattr(entered.target, "__name__", entered.target)
                    self.names[f"{owner}.{attribute}"] = None
                self._replacing_packages.add(_get_package(replacement))
                return replacement

            patch.__enter__ = enter_and_note

    def end(self) -> None:
        """Restore `unittest.mock` at the end of the run."""
        if self._attached_to is not None:
            self._attached_to.__enter__ = self._enter

    def warning(self) -> LegacyMockWarning | None:
        """Return a warning about replies that a passed test left unused; None without a patch."""
        unused = _find_unused_replies() if self.names else []
        if not unused:
            return None
        replies = "\n".join(f"  - {reply.text()}" for reply in unused)
        problem = f"{self._describe()}, and configures replies that were not used"
        return LegacyMockWarning(f"{problem}:\n{replies}\n{ADVICE}")

    def note(self) -> str:
        """Return a note for a failed test, whose unused replies are listed elsewhere."""
        return f"{self._describe()}. {ADVICE}" if self.names and _find_unused_replies() else ""

    def explain_other_mocks(self, error: BaseException | None) -> str:
        """Return why a failed test left replies unused, if another mock intercepts HTTP in it."""
        # Imported here: most tests pass.
        from llm_mock.plugin.other_mocks import explain_other_mocks, find_other_mocks

        packages = find_other_mocks(error, self._replacing_packages)
        return explain_other_mocks(packages) if packages and _find_unused_replies() else ""

    def _describe(self) -> str:
        return f"This test patches {' and '.join(self.names)} by hand"


def _get_package(replacement: object) -> str:
    """Return the package that defines a function or a class; empty for any other object."""
    if isinstance(replacement, FunctionType):
        # Not `__module__`, which a wrapper copies from what it wraps.
        module = replacement.__globals__.get("__name__", "")
    elif isinstance(replacement, type):
        module = replacement.__module__
    else:
        return ""
    return str(module).partition(".")[0]


def _find_unused_replies() -> list[StandingReply]:
    mock: Any = current_mock_if_created()
    if mock is None:
        return []
    from llm_mock.core.diagnostics import find_unused_replies

    return find_unused_replies(mock, mock.calls)


def _is_of_llm(original: object) -> bool:
    return str(getattr(original, "__module__", "")).partition(".")[0] in ("llm", "llm_mock")


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
        self._watched = dict(KNOWN_MODULES)
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
