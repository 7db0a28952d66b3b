"""Exceptions and warnings of the package.

PYTEST_DONT_REWRITE
"""

# The last line above keeps pytest from rewriting assertions in this module, because that takes
# longer than the import.

from __future__ import annotations


class LLMMockError(Exception):
    """Base class of all exceptions of this package."""


# Most errors also derive from a built-in error, so that `except ValueError` of an application or a
# test catches them, and pytest shows an `AssertionError` as a failed assertion.


class InvalidReply(LLMMockError, TypeError):
    """An invalid reply, or an invalid argument for one."""


class ReplyNotSent(InvalidReply):
    """A reply function or exception that cannot be sent to a process that the test started."""


class InvalidMock(LLMMockError, TypeError):
    """An object that is not a mock of this package."""


class InvalidToolCall(InvalidReply):
    """A scripted tool call that no offered tool accepts."""


class LLMTooOld(LLMMockError):
    """A feature that the installed version of `llm` lacks."""


class LibraryChanged(LLMMockError):
    """A call by a version of a library that this package does not support."""


class MissingExtra(LLMMockError, ImportError):
    """A feature whose library is not installed; the message contains the `pip install` command."""


class InvalidBudget(LLMMockError, ValueError):
    """An invalid amount, price or number of tokens."""


class InvalidLatency(LLMMockError, ValueError):
    """A latency that is negative, infinite or contradictory."""


class UnexpectedCall(LLMMockError, AssertionError):
    """A call that matches no configured reply, in a strict test or over HTTP.

    Calls through `llm` raise this error. An SDK raises its own error instead, such as
    `openai.BadRequestError`. The test fails even if the application catches the error.
    """


class UnknownMisbehaviour(LLMMockError, ValueError):
    """An unknown name of a misbehaviour, or an invalid `times`."""


class EndlessToolCalls(LLMMockError, AssertionError):
    """A conversation in which the model calls tools without end."""


class ErrorNotRebuilt(LLMMockError):
    """A recorded exception that cannot be rebuilt in this environment."""


class RealModelCall(LLMMockError, AssertionError):
    """A call to a real model that the project does not allow."""


class SchemaViolation(LLMMockError, AssertionError):
    """A scripted reply that violates the requested schema, if violations are errors."""


# Warnings derive from `UserWarning`, because Python hides a `DeprecationWarning` of other modules.


class SchemaViolationWarning(UserWarning):
    """A scripted reply that violates the requested schema."""


class ListReplyWarning(UserWarning):
    """A list of texts as one reply, which may be meant as several replies."""


class QueuedReplyNotAllowed(LLMMockError):
    """A queued reply where only standing replies are allowed."""


class UnusedReplies(LLMMockError, AssertionError):
    """Queued replies that no call used."""


class LegacyMockWarning(UserWarning):
    """An old mock in `sys.modules`, or a hand-made patch of `get_model` beside unused replies."""


class IncompleteCassetteWarning(UserWarning):
    """A replayed cassette whose recording failed, so that calls may be missing."""


class HookFailureWarning(UserWarning):
    """A failure in a reporting hook of the plugin, which does not affect the test outcomes."""


class InvalidFile(LLMMockError):
    """An unreadable or invalid file; the message names the file and the line."""


class CassetteMiss(LLMMockError, AssertionError):
    """A call that is not in the cassette and that must not be recorded."""


class NotRecordable(LLMMockError):
    """A call or an answer that a cassette cannot store."""


class InvalidServer(LLMMockError, ValueError):
    """An invalid configuration of a tool server."""


class ServerError(LLMMockError):
    """A tool server that does not start, breaks its protocol or shares a tool name with another."""


class HostNotAllowed(LLMMockError):
    """A request of a tool to a host that the project does not allow."""


class InvalidHostPattern(LLMMockError, ValueError):
    """An invalid host or host pattern in the settings."""


class InvalidAgent(LLMMockError, ValueError):
    """An invalid configuration of an agent."""


class InvalidSession(LLMMockError):
    """A use of an agent session that its conversation does not allow."""


class UnknownReference(LLMMockError, LookupError):
    """A reference `${name.key}` of a plain-language test to a value that was not saved."""


class TimeIsUp(LLMMockError):
    """A timeout of a plain-language test; the message names the step."""


class DriverError(LLMMockError):
    """A plain-language test without a verdict: its model or command is missing or failed."""


class JudgeError(LLMMockError):
    """A judge that failed, cannot be used or gave no verdict."""
