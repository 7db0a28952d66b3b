"""Whether a request is answered by the mock: what every HTTP library asks. With what says `asking.py`."""

from __future__ import annotations

import sys

from llm_mock.boundaries.for_real import is_for_real
from llm_mock.boundaries.http.providers import provider_of
from llm_mock.boundaries.http.wanted import Wanted
from llm_mock.core.active import active, any_passes_through, is_mocked


def answers() -> bool:
    """Whether the mock answers at this moment, in place of every provider."""
    return Wanted.mode == "answer" and is_mocked() and not is_for_real()


def guarded_provider(host: str, port: int | None) -> str | None:
    """The provider that a request goes to, where the mock has to look at it; None where it is left alone."""
    provider = provider_of(host, port, Wanted.hosts)
    if provider is None or Wanted.mode == "off" or not is_mocked() or is_for_real():
        return None
    return provider


def is_sent_for_real() -> bool:
    """Whether what is asked at this moment may be sent: a cassette may record it, or its model may pass through."""
    return any_passes_through() or active().cassette is not None


def refusal(host: str | bytes | None, port: object) -> str | None:
    """What to say of a connection that the mock cannot answer on, noted for the test to fail with; None to leave it."""
    name = host.decode("latin-1") if isinstance(host, bytes) else host
    if not name or guarded_provider(name, port if isinstance(port, int) else None) is None:
        return None
    message = (
        f"A connection to {name} was about to be made in a way that llm_mock cannot answer on; nothing was sent. The "
        "mock answers what is sent by httpx, httpx2, requests, urllib3, botocore and aiohttp. To reach the provider, "
        "mark the test with @pytest.mark.llm_live."
    )
    active().note_problem(message)
    return message


async def sleep(seconds: float) -> None:
    """Wait, in asyncio or in trio."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        await trio.sleep(seconds)
        return
    import asyncio

    await asyncio.sleep(seconds)
