"""The warnings of a running test that pytest has recorded, and shows at the end of the run."""

from __future__ import annotations

import warnings

import pytest

from llm_mock.errors import ListReplyWarning, SchemaViolationWarning


def get_recorded_warnings() -> list[warnings.WarningMessage]:
    """Return the list in which pytest collects the warnings of a test until it ends."""
    # Private: `warnings.catch_warnings` sets the method of this list. Without it, for example with
    # `-p no:warnings`, no warning is known.
    show = getattr(warnings, "_showwarnmsg_impl", None)
    recorded = getattr(show, "__self__", None)
    return recorded if isinstance(recorded, list) else []


def drop_shown_warnings(section: str, config: pytest.Config) -> None:
    """Remove the warnings about replies whose text a section of a failed test has.

    Args:
        section: the text of the section.
        config: the configuration, with which pytest may show no sections.
    """
    has_sections = config.getoption("tbstyle") not in ("no", "line")
    if not has_sections or config.getoption("showcapture") != "all":
        return
    recorded = get_recorded_warnings()
    for warning in recorded.copy():
        is_ours = isinstance(warning.message, (ListReplyWarning, SchemaViolationWarning))
        if is_ours and str(warning.message) in section:
            recorded.remove(warning)
