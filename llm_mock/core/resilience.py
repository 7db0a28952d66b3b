"""Check how a client handles errors of providers, judged by its attempts over HTTP."""

from __future__ import annotations

import itertools
import sys
import time
import types
from collections.abc import Iterator, Sequence
from datetime import datetime

from llm_mock.core.call import Call, get_told_wait
from llm_mock.core.records import format_request

FINAL_STATUSES = (400, 401, 403, 404, 422)
"""The statuses after which the same request will fail again."""
TRANSIENT_STATUSES = (408, 429, 502, 503, 504, 529)
"""The statuses after which the same request may succeed later."""
LEAST_BACKOFF = 0.045
"""The minimum seconds between attempts, even if the mock tells SDKs to retry fast."""
SUFFICIENT_WAIT = 0.9
"""The fraction of a wait that is sufficient, because clocks differ slightly."""
_WAITS_ADVICE = (
    "If the test replaces the wait function, or the application sends equal requests in parallel "
    "on purpose, pass waits=False."
)

Attempts = list[Call]
"""The attempts of one request, in order. All except the last one failed."""


def find_problems(
    calls: Sequence[Call], attempts: int, gave_up: bool, waits: bool, strict: bool = False
) -> list[str]:
    """Return a sentence for each mistake of a client; see `CallAssertions.assert_resilient`."""
    judges_waits = waits and _is_sleep_real()
    problems: list[str] = []
    if strict:
        problems += _find_missing_timeout(calls)
    for request in group_attempts(calls):
        first, last = request[0], request[-1]
        if judges_waits:
            problems += _find_early_attempts(request)
        if strict:
            problems += _find_strict_problems(request, gave_up, judges_waits)
        problems += _find_useless_attempts(request)
        if len(request) > attempts:
            problems.append(
                f"The request of call {first['number']} was sent {len(request)} times, more "
                f"than {attempts}. Retry less often, and in one place: if both the application and "
                "the SDK (max_retries) retry, their attempts multiply."
            )
        if last.get("cut_off") and not gave_up:
            problems.append(
                f"The stream of call {last['number']} ended in the middle, and the client did not "
                "retry. Use the text only after the end of the stream (a finish reason, "
                "message_stop, response.completed). If the application raised an error, and the "
                "test checks this error, pass gave_up=True."
            )
    return problems


def _find_missing_timeout(calls: Sequence[Call]) -> Iterator[str]:
    """Yield a sentence for the first call of a client without a read timeout."""
    for call in calls:
        if call.waits_forever():
            yield (
                f"The client of call {call['number']} has no read timeout, so it hangs if the "
                "provider stops sending. Set a timeout: openai.OpenAI(timeout=60), "
                'genai.Client(http_options={"timeout": 60_000}), requests.post(…, timeout=60).'
            )
            return


def _find_strict_problems(request: Attempts, gave_up: bool, judges_waits: bool) -> Iterator[str]:
    """Yield a sentence for each mistake that only a strict assertion reports."""
    last = request[-1]
    if len(request) == 1 and last.get("status") in TRANSIENT_STATUSES:
        yield (
            f"The client did not retry after call {last['number']}, which failed with status "
            f"{last['status']}. This error is temporary: wait and retry, or let the SDK retry "
            "(max_retries)."
        )
    if last.get("malformed") and not gave_up:
        yield (
            f"The stream of call {last['number']} ended inside an event that is not valid JSON, "
            "and the client did not retry. Raise the error instead of returning the text so far. "
            "If the application raised an error, and the test checks this error, pass gave_up=True."
        )
    if judges_waits:
        yield from _find_attempts_at_once(request)


def _find_attempts_at_once(request: Attempts) -> Iterator[str]:
    """Yield a sentence for each immediate attempt after a failure without `Retry-After`."""
    for call, following in itertools.pairwise(request):
        waited = _get_time(following) - _get_time(call)
        if get_told_wait(call) is None and waited < LEAST_BACKOFF:
            yield (
                f"Call {following['number']} came {waited:.3f} s after call {call['number']} "
                "failed. Wait before each retry, and increase the wait each time. "
                f"{_WAITS_ADVICE}"
            )


def group_attempts(calls: Sequence[Call]) -> list[Attempts]:
    """Group the calls over HTTP by request: the same request after a failure is a new attempt."""
    requests: list[Attempts] = []
    latest: dict[object, Attempts] = {}
    for call in calls:
        # Calls through `llm` have no fingerprint, because they do not show HTTP requests.
        if "fingerprint" not in call:
            continue
        identity = call["model_id"], call["fingerprint"], call["key"]
        request = latest.get(identity)
        # After a success, an equal request is a new request.
        if request is None or request[-1]["error"] is None:
            request = []
            requests.append(request)
            latest[identity] = request
        request.append(call)
    return requests


def _find_early_attempts(request: Attempts) -> Iterator[str]:
    """Yield a sentence for each attempt before the end of `Retry-After`."""
    for call, following in itertools.pairwise(request):
        required = get_told_wait(call)
        waited = _get_time(following) - _get_time(call)
        if required is not None and waited < SUFFICIENT_WAIT * required:
            yield (
                f"Call {following['number']} came {waited:.3f} s after call {call['number']}, "
                f"whose response asked for a wait of {required:g} s. Wait as long as Retry-After "
                f"says, or let the SDK retry. {_WAITS_ADVICE}"
            )


def _find_useless_attempts(request: Attempts) -> Iterator[str]:
    """Yield a sentence for each attempt that the provider will refuse again."""
    # No header marks a status as final; these are client errors that an equal request repeats.
    for call, following in itertools.pairwise(request):
        status = call.get("status")
        if status in FINAL_STATUSES:
            yield (
                f"Call {following['number']} repeated the request of call {call['number']}, which "
                f"was refused with status {status}. Change the request, or do not retry."
            )


def format_attempts(calls: Sequence[Call]) -> str:
    """Return the attempts, one on each line: the time, the request and the outcome."""
    attempts = itertools.chain.from_iterable(group_attempts(calls))
    ordered = sorted(attempts, key=lambda call: call["number"])
    lines = ["Requests:"]
    for call in ordered:
        elapsed = _get_time(call) - _get_time(ordered[0])
        outcome = _format_outcome(call)
        lines.append(f"  {call['number']}. +{elapsed:.3f} s  {format_request(call)}  → {outcome}")
    return "\n".join(lines)


def _format_outcome(call: Call) -> str:
    status = call.get("status")
    if status is not None:
        wait = get_told_wait(call)
        retry = "" if wait is None else f", retry after {wait:g} s"
        return f"status {status}{retry}"
    if call.get("cut_off"):
        return "a stream that ended in the middle"
    if call.get("malformed"):
        return "a stream that ended inside an event"
    return "status 200" if call["error"] is None else f"failed: {call['error']}"


def _get_time(call: Call) -> float:
    return datetime.fromisoformat(call["timestamp"]).timestamp()


def _is_sleep_real() -> bool:
    """Return whether `time.sleep` and `asyncio.sleep` are not replaced, so that waits are real."""
    if not isinstance(time.sleep, types.BuiltinFunctionType):
        return False
    asyncio = sys.modules.get("asyncio")
    return asyncio is None or asyncio.sleep.__module__ == "asyncio.tasks"
