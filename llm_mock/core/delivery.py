"""Answers that no script holds.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import llm

    from llm_mock.core.answering import AnsweringMock
    from llm_mock.core.records import CallRecord
    from llm_mock.core.reply import Reply


class Delivery:
    """An answer that plays itself into a response: one that was recorded, or that is being recorded."""

    def deliver(self, response: Any) -> Iterator[Any]:
        """Yield the chunks, and complete an `llm.Response`."""
        raise NotImplementedError

    def as_reply(self) -> Reply | Delivery:
        """The answer as a `Reply`, if it is known already."""
        return self

    async def deliver_async(self, response: Any) -> AsyncIterator[Any]:
        """Yield the chunks, and complete an `llm.AsyncResponse`."""
        for chunk in self.deliver(response):
            yield chunk


class DeliveredAnswer(Protocol):
    """What the history keeps of a delivered answer; a report shows more of it, see `details.describe_response`."""

    content: str
    usage: Any


class Deliverer(Protocol):
    """What answers the calls that a test did not configure; a cassette is one."""

    def answer(self, mock: AnsweringMock, record: CallRecord, prompt: llm.Prompt, conversation: Any) -> Delivery:
        """The answer to a call.

        Raises:
            LLMMockError: there is none.
        """
        ...
