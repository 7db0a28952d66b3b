"""The answers of an endpoint in a cassette: its models are asked elsewhere, so what is recorded is what it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from llm_mock.boundaries.for_real import made_for_real
from llm_mock.core.answer import Answer
from llm_mock.core.mock import Mock
from llm_mock.core.protocols import AnswerMetadata
from llm_mock.core.request import Request
from llm_mock.suites.target import Target


class _EndpointRequest(Request):
    """A prompt that is sent to an endpoint: its URL stands for the model, without a query, which may have a key."""

    schema = None
    system = ""
    tools = tool_results = attachments = ()
    passed, turn, conversation_id = False, 1, None

    def __init__(self, target: Target, prompt: str) -> None:
        url = urlsplit(target.url or "")
        self.model_id = f"POST {url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"
        self.prompt, self.native = prompt, prompt
        self.options = {"body": target.body} if "body" in target.model_fields_set else {}

    def messages(self) -> list[dict[str, Any]]:
        return [{"role": "user", "parts": [{"type": "text", "text": self.prompt}]}]

    def given_messages(self) -> list[dict[str, Any]]:
        return []

    def characters(self) -> int:
        return len(self.prompt)


def recorded_answer(mock: Mock, target: Target, prompt: str, ask: Callable[[], str]) -> str:
    """What an endpoint answers, by the cassette of a mock; where that does not hold it, `ask` asks.

    Raises:
        LLMMockError: it was not recorded, and nothing may be recorded; or what `ask` raises.
    """
    __tracebackhide__ = True
    decided = mock.answer(_EndpointRequest(target, prompt))
    if isinstance(decided, Answer):
        return str(decided.reply.content)
    usage = {"input": None, "output": None, "details": None}
    decided.watch(lambda: AnswerMetadata((), (), usage, None, None, None, None, {}))
    try:
        output: str = made_for_real(ask)
    except BaseException as error:
        decided.end(error)
        raise
    decided.take(output)
    decided.end(None)
    return output
