"""Whether a request is answered by the mock, and with what: what every HTTP library asks, sync or async."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from llm_mock.boundaries.for_real import is_for_real
from llm_mock.boundaries.http.providers import provider_of
from llm_mock.boundaries.http.wanted import Wanted
from llm_mock.core.active import active, is_mocked, passes_through

if TYPE_CHECKING:
    from llm_mock.boundaries.http.answering import Asked
    from llm_mock.boundaries.http.client_clock import ClientClock
    from llm_mock.boundaries.http.recording import WireRecording
    from llm_mock.boundaries.http.wire import WireRequest, WireResponse


def answers() -> bool:
    """Whether the mock answers at this moment, in place of every provider."""
    return Wanted.mode == "answer" and is_mocked() and not is_for_real()


def guarded_provider(host: str, port: int | None) -> str | None:
    """The provider that a request goes to, where the mock has to look at it; None where it is left alone."""
    provider = provider_of(host, port, Wanted.hosts)
    if provider is None or Wanted.mode == "off" or not is_mocked() or is_for_real():
        return None
    return provider


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


def response_to(sent: WireRequest, provider: str, clock: ClientClock) -> WireResponse | WireRecording | None:
    """The response to a request.

    Where the library is to send it that is None, as its model passes through, or what takes in the real response.

    Args:
        sent: the request.
        provider: as `provider_of` names it.
        clock: how long the client waits for the response.

    Raises:
        ConnectionFails: the connection is to fail, or the client does not wait as long.
    """
    from llm_mock.boundaries.http.answering import Asked, respond

    asked = _asked(sent, provider)
    if not isinstance(asked, Asked):
        return asked
    response = respond(asked, active())
    for seconds in clock.waits(response.delay):
        time.sleep(seconds)
    return response


async def response_to_async(
    sent: WireRequest, provider: str, clock: ClientClock
) -> WireResponse | WireRecording | None:
    """The asynchronous twin of `response_to`."""
    from llm_mock.boundaries.http.answering import Asked, respond_async

    asked = _asked(sent, provider)
    if not isinstance(asked, Asked):
        return asked
    response = await respond_async(asked, active())
    for seconds in clock.waits(response.delay):
        await sleep(seconds)
    return response


def _asked(sent: WireRequest, provider: str) -> Asked | WireResponse | None:
    from llm_mock.boundaries.http.answering import Asked, read, refuse

    mock = active()
    asked = read(sent, provider, mock)
    if not isinstance(asked, Asked):
        return asked
    if passes_through(asked.request.model_id):
        return None
    return refuse(sent, asked, mock) if Wanted.mode == "refuse" else asked


async def sleep(seconds: float) -> None:
    """Wait, in asyncio or in trio."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        await trio.sleep(seconds)
        return
    import asyncio

    await asyncio.sleep(seconds)
