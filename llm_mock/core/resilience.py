"""What the attempts of a client tell of it: whether it copes with what providers do to it."""

from __future__ import annotations

import itertools
import sys
import time
import types
from collections.abc import Iterator, Sequence
from datetime import datetime

from llm_mock.core.records import CallRecord, call_head

REFUSED = (400, 401, 403, 404, 422)
"""The statuses with which a provider will refuse the same request again."""
EARLY = 0.9
"""Which part of a wait counts as all of it: clocks differ a little."""
SLEPT_BY = (
    "Where the application waits by a function that the test replaces, or asks the same several times at once on "
    "purpose, give waits=False."
)

Request = list[CallRecord]
"""The attempts to have one request answered, in order: each but the last one failed."""


def problems(calls: Sequence[CallRecord], attempts: int, gave_up: bool, waits: bool) -> list[str]:
    """What the client did wrong, a sentence each; see `CallAssertions.assert_resilient`."""
    judged_waits = waits and _sleep_is_real()
    found: list[str] = []
    for request in requests_of(calls):
        if judged_waits:
            found += _impatient(request)
        found += _stubborn(request)
        if len(request) > attempts:
            found.append(
                f"The request of call {request[0]['number']} was sent {len(request)} times, more than {attempts}. Try "
                "less often, and in one place: tries of the application multiply with those of the SDK (max_retries)."
            )
        if request[-1].get("cut_off") and not gave_up:
            found.append(
                f"The stream of call {request[-1]['number']} ended in the middle, and nobody asked again. Look for "
                "what ends a stream (a finish reason, message_stop, response.completed) before the text is used. If "
                "the application did fail, and the test saw its error, give gave_up=True."
            )
    return found


def requests_of(calls: Sequence[CallRecord]) -> list[Request]:
    """The calls over HTTP by their requests: what is sent unchanged after it failed is another attempt."""
    requests: list[Request] = []
    latest: dict[object, Request] = {}
    for call in calls:
        if "fingerprint" not in call:
            continue
        asked = call["model_id"], call["fingerprint"], call["key"]
        request = latest.get(asked)
        if request is None or request[-1]["error"] is None:
            requests.append(request := [])
            latest[asked] = request
        request.append(call)
    return requests


def _impatient(request: Request) -> Iterator[str]:
    for call, again in itertools.pairwise(request):
        wanted, waited = call.get("retry_after"), _moment(again) - _moment(call)
        if wanted is not None and waited < EARLY * wanted:
            yield (
                f"Call {again['number']} came {waited:.3f} s after call {call['number']}, which was told to wait "
                f"{wanted:g} s. Wait as long as Retry-After says, or leave it to the SDK. {SLEPT_BY}"
            )


def _stubborn(request: Request) -> Iterator[str]:
    for call, again in itertools.pairwise(request):
        if (status := call.get("status")) in REFUSED:
            yield (
                f"Call {again['number']} sent once more, unchanged, what call {call['number']} was refused for with "
                f"status {status}. Change the request, or give up."
            )


def attempts_made(calls: Sequence[CallRecord]) -> str:
    """The attempts, a line each: when, what, and with what it was answered."""
    sent = sorted((call for request in requests_of(calls) for call in request), key=lambda call: call["number"])
    started = _moment(sent[0]) if sent else 0.0
    lines = [
        f"  {call['number']}. +{_moment(call) - started:.3f} s  {call_head(call)}  → {_answered(call)}" for call in sent
    ]
    return "\n".join(["What was sent:", *lines])


def _answered(call: CallRecord) -> str:
    if (status := call.get("status")) is not None:
        wanted = call.get("retry_after")
        return f"status {status}" + (f", to be tried again after {wanted:g} s" if wanted is not None else "")
    if call.get("cut_off"):
        return "a stream that ended in the middle"
    return "status 200" if call["error"] is None else f"failed: {call['error']}"


def _moment(call: CallRecord) -> float:
    return datetime.fromisoformat(call["timestamp"]).timestamp()


def _sleep_is_real() -> bool:
    """Whether nobody replaced what waits; else it is not known how long the client would wait."""
    asyncio = sys.modules.get("asyncio")
    return isinstance(time.sleep, types.BuiltinFunctionType) and (
        asyncio is None or asyncio.sleep.__module__ == "asyncio.tasks"
    )
