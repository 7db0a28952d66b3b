"""Protocols of the objects that higher layers hand to a mock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.events import Chunk
    from llm_mock.core.latency import Latency
    from llm_mock.core.reply import Reply
    from llm_mock.core.request import Request
    from llm_mock.core.value_types import AttachmentLike, ToolCallLike
    from llm_mock.support.json_types import JSON, JSONObject


class NameResolver(Protocol):
    """A resolver of model names, as the library of a boundary knows them."""

    def model_id(self, name: str) -> str:
        """Return the model id of an alias; any other name is returned unchanged."""

    def get_every_id(self, name: str) -> set[str]:
        """Return all ids that a name may mean, including ids of embedding models."""

    def provider_class(self, model_id: str) -> type | None:
        """Return the class of the real model with an id; None if it is unknown."""


class AppliedMisbehaviour(Protocol):
    """A misbehaviour that is applied to the calls of a mock; see `llm_mock.behaviour`."""

    name: str
    description: str
    calls: list[int]

    def explain_not_applied(self, calls: int) -> str:
        """Return why a test is skipped if the misbehaviour changed none of its calls.

        Args:
            calls: the number of calls of the test.
        """

    def make_error(self, record: Call) -> Reply | None:
        """Return the error to raise for a call before a reply is used up; None for no error."""

    def change(self, record: Call, request: Request, reply: Reply) -> Reply:
        """Return the changed reply to a call."""

    def receive(self, record: Call) -> None:
        """Count a call that another process reported."""


class AppliedQuotas(Protocol):
    """The quotas of the models of a mock; see `llm_mock.behaviour.quota`."""

    def set(self, model: str, rpm: int | None, tpm: int | None) -> None:
        """Set the requests and tokens per minute of a model; None for no limit."""

    def create_child(self) -> AppliedQuotas:
        """Return the same quotas without any use so far."""

    def advance(self, seconds: float) -> None:
        """Advance the clock of the quotas."""

    def refuse(self, record: Call, request: Request) -> Exception | None:
        """Return the provider's error for a call that exceeds a limit; else count the call."""

    def build_headers(self, record: Call) -> dict[str, str]:
        """Return the rate-limit headers of a response; empty for a model without a quota."""


class Behaviour(Protocol):
    """The behaviour of models beyond configured replies; `llm_mock.behaviour` implements it."""

    def create_misbehaviour(self, name: str, times: int | None) -> AppliedMisbehaviour:
        """Return a misbehaviour of the catalogue."""

    def create_quotas(self) -> AppliedQuotas:
        """Return quotas without any model."""

    def generate_reply(self, schema: JSONObject) -> Reply:
        """Return a reply that fits a schema."""

    def generate_tool_call(self, request: Request) -> Reply | None:
        """Return a call to the tool that a request requires; None if it requires none."""

    def replace_provider_error(self, reply: Reply, record: Call) -> Reply:
        """Return a reply with its `ProviderError` replaced by the error of the called provider."""

    def apply_latency(
        self, reply: Reply, latency: Latency, record: Call
    ) -> tuple[Reply, list[float]]:
        """Return a reply with a latency applied, and the seconds before each event."""


class PassthroughCall(Protocol):
    """A real call that the boundary makes; it observes the real answer."""

    def as_user(self) -> AbstractContextManager[None]:
        """Return a context in which the real API keys of the user are available."""

    def hide(self, *secrets: str | None) -> None:
        """Treat values as secret, such as the API key that is used."""

    def report_not_made(self, error: Exception, advice: str = "") -> None:
        """Report that the real call could not be started.

        Args:
            error: the reason.
            advice: a sentence that ends the message; empty without one.
        """

    def watch(self, outcome: Callable[[], AnswerMetadata]) -> None:
        """Report that the real call has started.

        Args:
            outcome: returns the metadata of the answer so far; may be called at any time.
        """

    def take(self, event: Chunk) -> None:
        """Receive an event of the answer."""

    def end(self, error: BaseException | None) -> None:
        """Report the end of the answer.

        Args:
            error: the error of a failed answer; a `GeneratorExit` if the application stopped
                reading; otherwise None.
        """


class AnswerMetadata(NamedTuple):
    """The known metadata of a real answer."""

    tool_calls: Sequence[ToolCallLike]
    attachments: Sequence[AttachmentLike]
    usage: JSONObject
    """`input` and `output` (tokens) and `details`."""
    resolved_model: str | None
    raw: JSON
    sent: JSON
    """The request to the provider, if the plugin reports it."""
    sent_before: JSON
    """The request of the previous call of the conversation."""
    attributes: JSONObject
    """Further attributes that the plugin added to the response."""
    http: JSONObject | None = None
    """For an answer over HTTP: `api`, `streamed` and `headers`. `raw` is its body without texts."""
    finish_reason: str | None = None
    """For an answer over HTTP: the finish reason, as named by Chat Completions."""


class RecordedAnswers(Protocol):
    """A source of recorded answers for calls without a configured reply, such as a cassette."""

    @property
    def mode(self) -> object:
        """The record mode; in mode `none` no real call is made."""

    def answer(self, mock: Any, record: Call, request: Request) -> Reply | PassthroughCall:
        """Return the recorded answer to a call, or the real call to make.

        Raises:
            LLMMockError: there is no recorded answer, and the mode does not allow a real call.
        """

    def note_left_alone(self, request: str, fix: str) -> None:
        """Note a call to a host that is not mocked, and how to record it."""


class UseCounter(Protocol):
    """A counter of used replies that several processes share."""

    def use(self, reply: Any) -> bool:
        """Count one use of a queued reply; return False if other processes have used it up."""

    def count_uses(self, reply: Any) -> int:
        """Return how often all processes together have used a queued reply."""


class ProcessChannel(UseCounter, Protocol):
    """A channel by which a test and the processes that it starts share replies and calls."""

    mine: bool
    """Whether this is the process of the test, which receives what the others send."""

    def remove(self) -> None:
        """Close the channel at the end of the test."""

    def share(self, mock: Any) -> None:
        """Publish the configuration of a mock and of its parents."""

    def send_call(self, call: Call) -> None:
        """Report a call to the process of the test."""

    def send_note(self, kind: str, message: str) -> None:
        """Report a note to the process of the test: a `problem`, a `refusal` or `not mocked`."""

    def receive_calls(self) -> list[Call]:
        """Return the calls that other processes reported since the previous read."""

    def receive_notes(self) -> list[tuple[str, str]]:
        """Return the notes of other processes since the previous read: kinds and messages."""
