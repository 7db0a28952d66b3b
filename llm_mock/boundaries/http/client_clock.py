"""The virtual clock of a client in this process: whether it waits as long as an answer takes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from llm_mock.behaviour.provider_errors import READ_TIMED_OUT
from llm_mock.boundaries.http.errors import ConnectionFailure
from llm_mock.core.context import current_mock
from llm_mock.core.events import Wait


class ClientClock:
    """How long a client waits for one response.

    Args:
        read: the seconds that it waits for the next bytes; None for as long as it takes.
        total: the seconds that it waits for the whole response; None for as long as it takes.
    """

    def __init__(self, read: float | None, total: float | None = None) -> None:
        self._read, self._total = math.inf if read is None else read, math.inf if total is None else total
        self._silent = self._passed = 0.0

    def waits(self, wait: Wait) -> Iterator[float]:
        """Let time pass. Yields the seconds of it that are to be waited for in reality.

        Raises:
            ConnectionFailure: that is longer than the client waits; or it would wait for ever.
        """
        left = min(self._read - self._silent, self._total - self._passed)
        if wait.real:
            yield min(wait, left)
        if wait > left:
            whole = self._total - self._passed < self._read - self._silent
            raise ConnectionFailure("total timeout" if whole else "timeout", READ_TIMED_OUT)
        if math.isinf(wait):
            raise _hangs()
        self._silent += wait
        self._passed += wait

    def pieces(self, body: Iterable[bytes | Wait]) -> Iterator[bytes | float]:
        """A body as the client gets it: its bytes, and seconds that are to be waited for in reality.

        Raises:
            ConnectionFailure: as `waits`; or the connection is to fail.
        """
        for piece in body:
            if isinstance(piece, bytes):
                self._silent = 0.0
                yield piece
            else:
                yield from self.waits(piece)


def _hangs() -> ConnectionFailure:
    message = (
        "The stream stalled, and the client that reads it has no read timeout: in production it would hang here. Give "
        "it one: openai.OpenAI(timeout=60), anthropic.Anthropic(timeout=60), "
        'genai.Client(http_options={"timeout": 60_000}), Mistral(timeout_ms=60_000), httpx.Client(timeout=60), '
        "requests.post(…, timeout=60)."
    )
    current_mock().note_problem(message)
    return ConnectionFailure("timeout", message)
