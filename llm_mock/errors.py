"""Every exception and warning that the package raises itself.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations


class LLMMockError(Exception):
    """Base class: the mock was asked for something that it cannot do."""


class InvalidReply(LLMMockError, TypeError):
    """What was configured as a reply (or as an error) can never be one."""


class ReplyNotSent(InvalidReply):
    """A reply that a test configured is a function or an exception that the process it started cannot have."""


class InvalidMock(LLMMockError, TypeError):
    """What was given as a mock is none of this package."""


class InvalidToolCall(InvalidReply):
    """A scripted tool call that none of the offered tools could accept."""


class LLMTooOld(LLMMockError):
    """The installed `llm` does not have what was asked for."""


class MissingExtra(LLMMockError, ImportError):
    """A library is not installed that this feature needs; the message says how to install it."""


class InvalidBudget(LLMMockError, ValueError):
    """An amount, a price or a number of tokens is none."""


class InvalidLatency(LLMMockError, ValueError):
    """A latency that no model can have."""


class UnexpectedCall(LLMMockError, AssertionError):
    """A call that no configured reply fits, where calls are checked strictly."""


class UnknownMisbehaviour(LLMMockError, ValueError):
    """No misbehaviour of the catalogue was named."""


class EndlessToolCalls(LLMMockError, AssertionError):
    """The application lets a model call tools without end."""


class ErrorNotRebuilt(LLMMockError):
    """The exception that a description names cannot be made here."""


class RealModelCall(LLMMockError, AssertionError):
    """A real model was about to execute, where the project wants that refused."""


class SchemaViolation(LLMMockError, AssertionError):
    """A scripted reply breaks the schema that the call asked for, where that is an error."""


class SchemaViolationWarning(UserWarning):
    """A scripted reply breaks the schema that the call asked for."""


class ListReplyWarning(UserWarning):
    """A list of texts was given as one reply, which is data, where several replies may be meant."""


class QueuedReplyNotAllowed(LLMMockError):
    """A reply that is used once was queued where only standing answers make sense."""


class UnusedReplies(LLMMockError, AssertionError):
    """Replies were queued with `add`, and nobody asked for them."""


class LegacyMockWarning(UserWarning):
    """An old mock still replaces a module, or `get_model` is patched by hand beside replies that were not used."""


class InvalidFile(LLMMockError):
    """A file cannot be read, or does not hold what it should; the message names file and line."""


class CassetteMiss(LLMMockError, AssertionError):
    """A call that the test's cassette does not hold, where nothing may be recorded."""


class NotRecordable(LLMMockError):
    """A call, or what a model answered, that a cassette cannot hold."""


class InvalidServer(LLMMockError, ValueError):
    """A tool server is configured so that it can never run."""


class ServerError(LLMMockError):
    """A tool server does not start, does not speak its protocol, or has a tool that another has too."""


class HostNotAllowed(LLMMockError):
    """A tool was to ask a host that the project does not allow."""


class InvalidHostPattern(LLMMockError, ValueError):
    """What was given as an allowed host is none."""


class InvalidAgent(LLMMockError, ValueError):
    """An agent is configured so that it can never run."""


class InvalidSession(LLMMockError):
    """A session of an agent is used in a way that its conversation does not allow."""


class UnknownReference(LLMMockError, LookupError):
    """`${name.key}` in a plain-language test leads to nothing that was saved."""


class TimeIsUp(LLMMockError):
    """A plain-language test took all its time; the message names what it was doing."""


class DriverError(LLMMockError):
    """A plain-language test cannot be judged: its model or command is missing, or failed."""


class JudgeError(LLMMockError):
    """A model that is to judge an answer failed, cannot judge, or gave no verdict."""
