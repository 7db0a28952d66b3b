"""The virtual clock of a client, which decides whether the client times out during a reply."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from llm_mock.behaviour.provider_errors import READ_TIMED_OUT
from llm_mock.boundaries.http.errors import ConnectionFailure
from llm_mock.core.context import current_mock
from llm_mock.core.events import Wait


@dataclass
class ClientClock:
    """The time that a client waits for one response.

    Args:
        read: the seconds that it waits for the next bytes; None for no limit.
        total: the seconds that it waits for the whole response; None for no limit.
    """

    read: float | None
    total: float | None = None
    silence: float = 0.0
    """The seconds since the last bytes."""
    elapsed: float = 0.0
    """The seconds since the request."""
    on_timeout: Callable[[float], None] | None = None
    """Called with the seconds of the timeout when the client times out."""

    def advance(self, wait: Wait) -> Iterator[float]:
        """Advance the clock, and yield the seconds to wait in real time.

        Raises:
            ConnectionFailure: the client times out, or would wait forever.
        """
        read_left = math.inf if self.read is None else self.read - self.silence
        total_left = math.inf if self.total is None else self.total - self.elapsed
        left = min(read_left, total_left)
        if wait.real:
            # Yield first, as the timeout occurs only after this time.
            yield min(wait, left)
        if wait > left:
            is_total = total_left < read_left
            timeout = self.total if is_total else self.read
            if self.on_timeout is not None and timeout is not None:
                self.on_timeout(timeout)
            kind = "total timeout" if is_total else "timeout"
            raise ConnectionFailure(kind, READ_TIMED_OUT)
        if math.isinf(wait):
            raise _report_hanging_client()
        self.silence += wait
        self.elapsed += wait

    def read_body(self, body: Iterable[bytes | Wait]) -> Iterator[bytes | float]:
        """Yield the bytes of a body, and the seconds to wait in real time between them.

        Raises:
            ConnectionFailure: as in `advance`, or the reply is a failed connection.
        """
        for chunk in body:
            if isinstance(chunk, bytes):
                self.silence = 0.0
                yield chunk
            else:
                yield from self.advance(chunk)


def _report_hanging_client() -> ConnectionFailure:
    """Return the failure for a client without a timeout, and let the test fail with it."""
    message = (
        "The stream stalled, and the client has no read timeout, so in production it would wait "
        "forever. Set a timeout: openai.OpenAI(timeout=60), anthropic.Anthropic(timeout=60), "
        'genai.Client(http_options={"timeout": 60_000}), Mistral(timeout_ms=60_000), '
        "httpx.Client(timeout=60), requests.post(…, timeout=60)."
    )
    current_mock().note_problem(message)
    return ConnectionFailure("timeout", message)
