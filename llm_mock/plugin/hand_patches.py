"""Sees that a test replaces `get_model` by hand, so that what it asks never reaches the replies that it configures."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from llm_mock.core.context import current_mock_if_created
from llm_mock.errors import LegacyMockWarning

if TYPE_CHECKING:
    from llm_mock.core.script import StandingReply

GETTERS = ("get_model", "get_async_model")
ADVICE = (
    "What is asked of the patch never reaches the mock. Take the patch out, or the replies; "
    "`llm-mock migrate` rewrites such tests."
)


class HandPatches:
    """The patches of `unittest.mock`, and so of pytest-mock, that a test has entered."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self._attached_to: Any = None
        self._enter: Any = None

    def begin(self) -> None:
        """A test begins: forget the patches of the one before."""
        self.names.clear()
        # Private: `unittest.mock.patch` makes objects of this class alone. Without it no patch is noted.
        patch: Any = getattr(sys.modules.get("unittest.mock"), "_patch", None)
        if self._attached_to is None and hasattr(patch, "__enter__"):
            self._attached_to, self._enter = patch, enter = patch, patch.__enter__

            def noting(entered: Any) -> Any:
                replacement = enter(entered)
                if entered.attribute in GETTERS and _is_of_llm(entered.temp_original):
                    self.names[
                        f"{getattr(entered.target, '__name__', entered.target)}.{entered.attribute}"
                    ] = None
                return replacement

            patch.__enter__ = noting

    def end(self) -> None:
        """The run is over: leave `unittest.mock` as it was."""
        if self._attached_to is not None:
            self._attached_to.__enter__ = self._enter

    def warning(self) -> LegacyMockWarning | None:
        """What to warn of, where replies of a test that passed were not used beside such a patch."""
        if not (unused := self._unused()):
            return None
        replies = "\n".join(f"  - {reply.text()}" for reply in unused)
        return LegacyMockWarning(
            f"{self._said}, and configures replies that were not used:\n{replies}\n{ADVICE}"
        )

    def beside(self, said: str) -> str:
        """The same for a test that failed, whose unused replies are listed; nothing where its failure says so."""
        return f"{self._said}. {ADVICE}" if self._unused() and self._said not in said else ""

    @property
    def _said(self) -> str:
        return f"This test patches {' and '.join(self.names)} by hand"

    def _unused(self) -> list[StandingReply]:
        mock: Any = current_mock_if_created() if self.names else None
        if mock is None:
            return []
        from llm_mock.core.diagnostics import find_unused_replies

        return find_unused_replies(mock, mock.calls)


def _is_of_llm(original: Any) -> bool:
    return str(getattr(original, "__module__", "")).partition(".")[0] in ("llm", "llm_mock")
