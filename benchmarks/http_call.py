"""The time of SDK calls, compared with the SDK over fixed bytes and with other mocks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import anthropic
import google.genai
import openai
from table import Row, compared, microseconds
from timing import Call, best_times

from llm_mock import create_mock_get_model
from llm_mock.boundaries.http.attach import attach
from llm_mock.core.context import activate

MODEL, GEMINI, ANSWER = "gpt-4o", "gemini-2.5-flash", "Hello!"
QUESTION: Any = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}]}
LIMITED: Any = {**QUESTION, "max_tokens": 100}
URLS = {
    "openai": "https://api.openai.com/v1/",
    "anthropic": "https://api.anthropic.com/v1/messages",
    "gemini": "https://generativelanguage.googleapis.com/",
}


def _make_mock() -> Any:
    """Return a mock that checks requests, as the mock of a test does."""
    mock = create_mock_get_model({"*": ANSWER})
    mock.autospec()
    return mock


def openai_chat(client: Any) -> Call:
    return lambda: client.chat.completions.create(**QUESTION)


def openai_chat_stream(client: Any) -> Call:
    return lambda: list(client.chat.completions.create(**QUESTION, stream=True))


def anthropic_messages(client: Any) -> Call:
    return lambda: client.messages.create(**LIMITED)


def anthropic_messages_stream(client: Any) -> Call:
    return lambda: list(client.messages.create(**LIMITED, stream=True))


def openai_responses(client: Any) -> Call:
    return lambda: client.responses.create(model=MODEL, input="Hello")


def openai_responses_stream(client: Any) -> Call:
    return lambda: list(client.responses.create(model=MODEL, input="Hello", stream=True))


def gemini(client: Any) -> Call:
    return lambda: client.models.generate_content(model=GEMINI, contents="Hello")


def gemini_stream(client: Any) -> Call:
    return lambda: list(client.models.generate_content_stream(model=GEMINI, contents="Hello"))


KINDS: Mapping[str, tuple[str, Callable[[Any], Call], str]] = {
    "`openai` chat": ("openai", openai_chat, "+ 80 µs"),
    "`openai` chat, streamed": ("openai", openai_chat_stream, "+ 150 µs"),
    "`openai` responses": ("openai", openai_responses, "+ 80 µs"),
    "`openai` responses, streamed": ("openai", openai_responses_stream, "+ 150 µs"),
    "`anthropic` messages": ("anthropic", anthropic_messages, "+ 80 µs"),
    "`anthropic` messages, streamed": ("anthropic", anthropic_messages_stream, "+ 150 µs"),
    "`google-genai`": ("gemini", gemini, "+ 80 µs"),
    "`google-genai`, streamed": ("gemini", gemini_stream, "+ 150 µs"),
}


def _client(sdk: str, http_client: Any = None) -> Any:
    """Return a client of an SDK, perhaps on an HTTP client of its library."""
    if sdk == "gemini":
        options = {"httpx_client": http_client} if http_client else {}
        return google.genai.Client(api_key="none", http_options=options)  # type: ignore[arg-type]
    make: Any = openai.OpenAI if sdk == "openai" else anthropic.Anthropic
    return make(api_key="none", max_retries=0, http_client=http_client)


def _library(sdk: str) -> Any:
    """Return the HTTP library of an SDK: `httpx`, or `httpx2` from openai 3 and anthropic 2 on."""
    client = _client(sdk)
    http_client = client._api_client._httpx_client if sdk == "gemini" else client._client
    bases = type(http_client).__mro__
    name = next(base.__module__ for base in bases if base.__module__.startswith("httpx"))
    return sys.modules[name.split(".")[0]]


class Contest:
    """The contestants for one kind of call.

    Args:
        sdk: whose client is called.
        ask: makes the call, of a client.
    """

    def __init__(self, sdk: str, ask: Callable[[Any], Call]) -> None:
        self._sdk, self._ask, self._httpx = sdk, ask, _library(sdk)
        self._routers: list[Any] = []
        self._given = self._answer_of_the_mock()

    def _answer_of_the_mock(self) -> dict[str, Any]:
        """Return what the others are given to answer: the same bytes."""
        seen: list[dict[str, Any]] = []

        def note(response: Any) -> None:
            seen.append(
                {
                    "headers": {"content-type": response.headers["content-type"]},
                    "content": response.read(),
                }
            )

        with self._httpx.Client(event_hooks={"response": [note]}) as client:
            activate(_make_mock())
            self._ask(_client(self._sdk, http_client=client))()
        return seen[0]

    def _asked(self, client: Any) -> Call:
        """Return a call of a client that was called before, as the first one costs more."""
        call = self._ask(client)
        call()
        return call

    def floor(self) -> Call:
        transport = self._httpx.MockTransport(
            lambda request: self._httpx.Response(200, **self._given)
        )
        return self._asked(_client(self._sdk, http_client=self._httpx.Client(transport=transport)))

    def ours(self) -> Call:
        while self._routers:
            self._routers.pop().stop()
        activate(_make_mock())
        return self._asked(_client(self._sdk))

    def respx(self) -> Call:
        import respx

        while not self._routers:
            router = respx.mock(
                using=self._httpx.__name__.replace("httpx", "httpcore"), assert_all_called=False
            )
            router.post(url__startswith=URLS[self._sdk]).respond(200, **self._given)
            router.start()
            self._routers.append(router)
        return self._asked(_client(self._sdk))

    def makers(self) -> dict[str, Callable[[], Call]]:
        """Return a function for each contestant that makes its call."""
        makers = {"floor": self.floor, "ours": self.ours}
        return makers | ({"respx": self.respx} if PEER else {})

    def times(self) -> dict[str, float]:
        """Return the seconds of a call of each."""
        times = best_times(self.makers(), turns=30)
        self.close()
        return times

    def close(self) -> None:
        """Stop the mocks of the last contestant."""
        while self._routers:
            self._routers.pop().stop()


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    attach()
    for what, (sdk, ask, goal) in KINDS.items():
        times = Contest(sdk, ask).times()
        name = (
            f"the SDK over fixed bytes, {goal[:1]} {microseconds(times['ours'] - times['floor'])}"
        )
        yield compared(what, times["ours"], name, times["floor"], goal)
        if PEER:
            yield compared(what, times["ours"], PEER, times["respx"], "< 1")
        else:
            yield Row(what, microseconds(times["ours"]), "pytest-httpx2 (respx): not installed")


def _peer() -> str | None:
    try:
        import pytest_httpx2  # noqa: F401 (makes respx know httpcore2)

        return f"respx {version('respx')} by pytest-httpx2 {version('pytest-httpx2')}"
    except (ImportError, PackageNotFoundError):
        return None


PEER = _peer()
