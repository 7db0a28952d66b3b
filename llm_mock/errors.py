"""Every exception and warning that the package raises itself.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations


class LLMMockError(Exception):
    """Base class: the mock was asked for something that it cannot do."""


class InvalidReply(LLMMockError, TypeError):
    """What was configured as a reply (or as an error) can never be one."""


class QueuedReplyNotAllowed(LLMMockError):
    """A reply that is used once was queued where only standing answers make sense."""


class UnusedReplies(LLMMockError, AssertionError):
    """Replies were queued with `add`, and nobody asked for them."""


class LegacyMockWarning(UserWarning):
    """A module that the project mocked by hand is still replaced by its old mock."""
