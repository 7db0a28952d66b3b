"""Verify recorded calls: make each call for real again, and compare the answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from llm_mock.behaviour import ModelBehaviour
from llm_mock.boundaries.http.repeated_requests import repeat_request
from llm_mock.boundaries.http.request import HTTPRequest
from llm_mock.cassettes.comparison import Difference, compare_responses
from llm_mock.cassettes.prompt_json import encode_attachments
from llm_mock.cassettes.recording import AsUser, Recording
from llm_mock.core.mock import Mock
from llm_mock.errors import LLMMockError
from llm_mock.support.redaction import redact
from llm_mock.support.text import format_error, shorten

if TYPE_CHECKING:
    from llm_mock.cassettes.schema import RecordedCall
    from llm_mock.core.request import Request

Repeat = Callable[[Recording, Mock], None]
"""Makes a call again, and passes its answer to the recording."""


class VerifiedCall(NamedTuple):
    """A recorded call that was made again."""

    description: str
    differences: list[Difference]


class _ReplayedCall(NamedTuple):
    recorded: RecordedCall
    request: Request
    repeat: Repeat


class Verifier:
    """Keeps the calls that a test replays, and makes them again when it ends.

    Nothing is written to disk. Until then, the requests and their keys are kept in memory.

    Args:
        as_user: a context in which the keys of the user who runs the process can be looked up.
    """

    def __init__(self, as_user: AsUser) -> None:
        self._as_user = as_user
        self._replayed: list[_ReplayedCall] = []

    def note(self, recorded: RecordedCall, request: Request) -> None:
        """Keep a call that is replayed."""
        self._replayed.append(_ReplayedCall(recorded, request, _prepare(request)))

    def verify(self) -> list[VerifiedCall]:
        """Make the calls again, in order, and return the differences."""
        replayed, self._replayed = self._replayed, []
        return [self._verify(number, call) for number, call in enumerate(replayed, 1)]

    def _verify(self, number: int, call: _ReplayedCall) -> VerifiedCall:
        recorded = call.recorded
        prompt = shorten(recorded.request.prompt)
        description = redact(f"call {number} ({recorded.request.model}  {prompt})")
        # A separate mock, so that the problems of the new call are not those of the test.
        mock = Mock(ModelBehaviour())
        record = mock.record_request(call.request)
        encoded = encode_attachments(call.request)
        recording = Recording(recorded.request, call.request, mock, record, self._as_user, encoded)
        try:
            call.repeat(recording, mock)
        except Exception as error:
            # An error of the provider is an answer too, which the recording has.
            if recording.response is None or isinstance(error, LLMMockError):
                return VerifiedCall(description, [_describe_failure(format_error(error))])
        if recording.response is None:
            problem = mock.problems[0] if mock.problems else "the provider sent no answer"
            return VerifiedCall(description, [_describe_failure(problem)])
        wants_json = recorded.request.schema_ is not None
        differences = compare_responses(recorded.response, recording.response, wants_json)
        return VerifiedCall(description, differences)


def _describe_failure(problem: str) -> Difference:
    return Difference("error", f"not verified: {redact(problem)}")


def _prepare(request: Request) -> Repeat:
    """Return the function that makes a call again."""
    if isinstance(request, HTTPRequest):
        return partial(repeat_request, request)
    # Imported late: most runs verify calls of SDKs.
    from llm_mock.boundaries.llm.recording import repeat_call
    from llm_mock.boundaries.llm.request import LLMRequest

    assert isinstance(request, LLMRequest)
    # Copied now, because the conversation continues.
    return partial(repeat_call, request, request.copy_conversation())
