"""Every exception and warning that the package raises itself.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations


class LLMMockError(Exception):
    """Base class: the mock was asked for something that it cannot do."""


class InvalidReply(LLMMockError, TypeError):
    """What was configured as a reply (or as an error) can never be one."""


class InvalidToolCall(InvalidReply):
    """A scripted tool call that none of the offered tools could accept."""


class LLMTooOld(LLMMockError):
    """The installed `llm` does not have what was asked for."""


class UnexpectedCall(LLMMockError, AssertionError):
    """A call that no configured reply fits, where calls are checked strictly."""


class RealModelCall(LLMMockError, AssertionError):
    """A real model was about to execute, where the project wants that refused."""


class SchemaViolation(LLMMockError, AssertionError):
    """A scripted reply breaks the schema that the call asked for, where that is an error."""


class SchemaViolationWarning(UserWarning):
    """A scripted reply breaks the schema that the call asked for."""


class QueuedReplyNotAllowed(LLMMockError):
    """A reply that is used once was queued where only standing answers make sense."""


class UnusedReplies(LLMMockError, AssertionError):
    """Replies were queued with `add`, and nobody asked for them."""


class LegacyMockWarning(UserWarning):
    """A module that the project mocked by hand is still replaced by its old mock."""
