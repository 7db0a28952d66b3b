"""What the core is handed by those who know more: names, behaviour, recordings, other processes. For types only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from llm_mock.core.latency import Latency
    from llm_mock.core.records import CallRecord
    from llm_mock.core.reply import Reply
    from llm_mock.core.request import Request


class NameResolver(Protocol):
    """What a boundary knows of the names of models."""

    def model_id(self, name: str) -> str:
        """The model id that a name stands for: an alias is resolved, anything else is an id."""

    def every_id(self, name: str) -> set[str]:
        """All ids that a name stands for, such as that of an embedding model too."""

    def provider_class(self, model_id: str) -> type | None:
        """The class of the real model of an id; None where it is not known."""


class AppliedMisbehaviour(Protocol):
    """What a mock needs of what models do wrong; see `llm_mock.behaviour`."""

    name: str
    description: str
    calls: list[int]

    def not_applied(self, calls: int) -> str:
        """Why a test that made that many calls is skipped: it changed nothing there."""

    def error(self, record: CallRecord) -> Reply | None:
        """The error for a call, which is raised before any reply is used up; None for no error."""

    def change(self, record: CallRecord, request: Request, reply: Reply) -> Reply:
        """What becomes of the reply to a call."""

    def received(self, record: CallRecord) -> None:
        """Take a call that another process reported into account."""


class Behaviour(Protocol):
    """How models behave beyond the replies that a test configures; `llm_mock.behaviour` is one."""

    def misbehaving(self, name: str, times: int | None) -> AppliedMisbehaviour:
        """One misbehaviour of the catalogue."""

    def generated(self, schema: dict[str, Any]) -> Reply:
        """A reply that fits a schema."""

    def failing(self, reply: Reply, record: CallRecord) -> Reply:
        """A reply with an error, which is that of the provider that is asked where it is a `ProviderError`."""

    def paced(self, reply: Reply, latency: Latency, record: CallRecord) -> tuple[Reply, list[float]]:
        """A reply as it comes with a latency, and the seconds before each of its pieces."""


class PassthroughCall(Protocol):
    """A call that the boundary is to make for real, and that is told what comes of it."""

    def as_user(self) -> AbstractContextManager[None]:
        """Within it the keys of the person who runs the process can be looked up."""

    def hide(self, *secrets: str | None) -> None:
        """Take values as secret, such as the key that is used."""

    def not_made(self, error: Exception) -> None:
        """The call cannot be made."""

    def watch(self, outcome: Callable[[], AnswerMetadata]) -> None:
        """The call is under way; what is known of the answer, beside its events, can be asked for at any time."""

    def take(self, event: Any) -> None:
        """A piece of the answer came."""

    def end(self, error: BaseException | None) -> None:
        """The answer is complete, or failed, or (`GeneratorExit`) is read no further."""


class AnswerMetadata(NamedTuple):
    """What a real model has told of its answer so far, beside its events."""

    tool_calls: Sequence[Any]
    attachments: Sequence[Any]
    usage: dict[str, Any]
    """`input` and `output` (tokens) and `details`."""
    resolved_model: str | None
    raw: Any
    sent: Any
    """What the provider was sent, as far as its plugin tells."""
    sent_before: Any
    """The same of the call before, in a conversation."""
    attributes: dict[str, Any]
    """What else the plugin put on the response, under names of its own."""
    http: dict[str, Any] | None = None
    """Of an answer that came over HTTP: `api`, `streamed` and `headers`; `raw` is its body without its texts."""


class RecordedAnswers(Protocol):
    """What answers the calls that a test did not configure; a cassette is one."""

    @property
    def mode(self) -> Any:
        """The record mode; `none` makes no call for real."""

    def answer(self, mock: Any, record: CallRecord, request: Request) -> Reply | PassthroughCall:
        """The recorded answer to a call; or that it is to be made for real.

        Raises:
            LLMMockError: there is none.
        """


class UseCounter(Protocol):
    """Where processes that use the same replies tell each other which they used."""

    def use(self, reply: Any) -> bool:
        """Use a queued reply once more; False where other processes have used it up."""

    def times_used(self, reply: Any) -> int:
        """How often all processes together used a queued reply."""


class ProcessChannel(UseCounter, Protocol):
    """How a test and the processes that it starts share replies and calls."""

    mine: bool
    """Whether this is the process of the test, which receives what the others send."""

    def remove(self) -> None:
        """The test is over."""

    def share(self, mock: Any) -> None:
        """Write down what a mock and those below it have configured."""

    def send_call(self, call: CallRecord) -> None:
        """Report a call to the process of the test."""

    def send_note(self, kind: str, message: str) -> None:
        """Report what was noticed to the process of the test: a `problem`, a `refusal` or a call `not mocked`."""

    def received_calls(self) -> list[CallRecord]:
        """The calls that other processes reported since the last time."""

    def received_notes(self) -> list[tuple[str, str]]:
        """Return what other processes noticed since the last time: each a kind and a message."""
