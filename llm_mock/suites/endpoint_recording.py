"""Record and replay the responses of an endpoint that is the target of a suite.

The application calls its models in another process, so a cassette records the endpoint's own
responses.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from llm_mock.boundaries.passthrough import call_through
from llm_mock.core.answer import Answer
from llm_mock.core.mock import Mock
from llm_mock.core.protocols import AnswerMetadata
from llm_mock.core.request import Request
from llm_mock.suites.target import Target
from llm_mock.support.json_types import JSONObject


class _EndpointRequest(Request):
    """A request to an endpoint; its URL stands in for the model id."""

    schema = None
    system = ""
    tools = tool_results = attachments = ()
    passed, turn, conversation_id = False, 1, None

    def __init__(self, target: Target, prompt: str) -> None:
        url = urlsplit(target.url or "")
        host = url.netloc.rpartition("@")[2]
        # Without the user and the query, which may contain secrets.
        self.model_id = f"POST {url.scheme}://{host}{url.path}"
        self.prompt = prompt
        self.native = prompt
        has_body = "body" in target.model_fields_set
        self.options = {"body": target.body} if has_body else {}

    def messages(self) -> list[JSONObject]:
        return [{"role": "user", "parts": [{"type": "text", "text": self.prompt}]}]

    def given_messages(self) -> list[JSONObject]:
        return []

    def characters(self) -> int:
        return len(self.prompt)


def replay_or_record(mock: Mock, target: Target, prompt: str, send: Callable[[], str]) -> str:
    """Return the recorded response; if there is none, send the request and record it.

    Args:
        mock: the mock with the cassette.
        target: the endpoint.
        prompt: the prompt.
        send: sends the request and returns the response.

    Raises:
        LLMMockError: the response is not recorded, and recording is not allowed; or `send` raised.
    """
    __tracebackhide__ = True
    decision = mock.answer(_EndpointRequest(target, prompt))
    if isinstance(decision, Answer):
        return str(decision.reply.content)
    # The token usage of the endpoint's models is unknown.
    usage = {"input": None, "output": None, "details": None}
    decision.watch(lambda: AnswerMetadata((), (), usage, None, None, None, None, {}))
    try:
        output: str = call_through(send)
    except BaseException as error:
        decision.end(error)
        raise
    decision.take(output)
    decision.end(None)
    return output
