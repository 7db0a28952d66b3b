"""Quotas: the requests and tokens per minute after which a provider refuses a call."""

from __future__ import annotations

import copy
import math
import time
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

from llm_mock.behaviour.provider_errors import make_status_error
from llm_mock.behaviour.refusals import FREE_REQUESTS, REFUSALS, Refusal, get_refusals
from llm_mock.core.call import get_told_wait
from llm_mock.core.script import ByModel
from llm_mock.core.tokens import count_input_tokens
from llm_mock.support.locks import Lock

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.request import Request

MINUTE = 60.0
SUFFICIENT_WAIT = 0.9
"""The fraction of a wait that counts as all of it, because clocks differ a little."""
FREE_TOKENS = "generativelanguage.googleapis.com/generate_content_free_tier_input_token_count"


Limits = tuple["int | None", "int | None"]
"""The requests and the tokens per minute of a model; None for no limit."""


class Excess(NamedTuple):
    """A limit that a request would exceed."""

    kind: str
    """`requests` or `tokens`."""
    limit: int
    used: int
    requested: int
    seconds: float
    """The seconds until the request is accepted; 0 if it never is."""


class ModelUsage:
    """The accepted requests to one model in the last minute."""

    def __init__(self) -> None:
        self.requests: list[tuple[float, Call]] = []
        """The time and the record of each. The record has the tokens when the call is complete."""

    def forget_before(self, oldest: float) -> None:
        """Remove the requests up to a time."""
        self.requests = [entry for entry in self.requests if entry[0] > oldest]

    def count_tokens(self) -> int:
        """Return the tokens of all requests and answers."""
        return sum(_count_tokens(record) for _, record in self.requests)

    def find_excess(self, limits: Limits, tokens: int, now: float) -> Excess | None:
        """Return the limit that a further request would exceed; None if it is accepted.

        Args:
            limits: the limits of the model.
            tokens: the tokens of the request.
            now: the current time.
        """
        rpm, tpm = limits
        requests = len(self.requests)
        if rpm is not None and requests >= rpm:
            # The request is accepted when enough of the earlier ones are a minute old.
            last = self.requests[requests - rpm][0]
            return Excess("requests", rpm, requests, 1, last + MINUTE - now)
        used = self.count_tokens()
        if tpm is None or used + tokens <= tpm:
            return None
        if tokens > tpm:
            return Excess("tokens", tpm, used, tokens, 0.0)
        return Excess("tokens", tpm, used, tokens, self._find_time(tpm - tokens) + MINUTE - now)

    def _find_time(self, allowed: int) -> float:
        """Return the time of the request after which at most so many tokens are used."""
        rest = self.count_tokens()
        for moment, record in self.requests:
            rest -= _count_tokens(record)
            if rest <= allowed:
                return moment
        return 0.0


def _count_tokens(record: Call) -> int:
    return (record["input_tokens"] or 0) + (record["output_tokens"] or 0)


class Quotas:
    """The quotas of the models of one mock, with a virtual clock so that tests need not wait.

    The clock advances with real time, with the latency of replies and with the waits of clients. A
    mock tells SDKs to wait only for milliseconds. When a client has waited that long, the clock
    advances by the whole time in the error message.

    Args:
        limits: the initial limits by model.
    """

    def __init__(self, limits: ByModel[Limits] | None = None) -> None:
        self._limits: ByModel[Limits] = ByModel() if limits is None else copy.copy(limits)
        self._usage: dict[str, ModelUsage] = {}
        self._refusal: tuple[float, float, Call] | None = None
        """The real time of the last refusal, its virtual wait, and its record."""
        self._offset = 0.0
        self._lock = Lock()

    def set(self, model: str, rpm: int | None, tpm: int | None) -> None:
        """Set the requests and tokens per minute of a model; None for no limit."""
        self._limits[model] = (rpm, tpm)

    def create_child(self) -> Quotas:
        """Return the same quotas, with nothing used."""
        return Quotas(self._limits)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        with self._lock:
            self._offset += seconds

    def refuse(self, record: Call, request: Request) -> Exception | None:
        """Return the provider's error for a call that exceeds a limit; else count the call."""
        limits = self._limits.find(record["model_id"])
        if limits is None:
            return None
        with self._lock:
            self._credit_wait()
            now = self._now()
            usage = self._usage.setdefault(record["model_id"], ModelUsage())
            usage.forget_before(now - MINUTE)
            excess = usage.find_excess(limits, count_input_tokens(request), now)
            if excess is None:
                usage.requests.append((now, record))
                return None
            seconds = float(math.ceil(excess.seconds))
            self._refusal = (time.monotonic(), seconds, record)
        return _make_error(record, excess, seconds, self.build_headers(record))

    def _now(self) -> float:
        return time.monotonic() + self._offset

    def _credit_wait(self) -> None:
        """Advance the clock by the wait of a client that was refused."""
        if self._refusal is None:
            return
        moment, seconds, record = self._refusal
        self._refusal = None
        told = get_told_wait(record) or seconds
        waited = time.monotonic() - moment
        # A client that was told the whole wait really waits, so the clock has advanced already.
        if told < seconds and waited >= SUFFICIENT_WAIT * told:
            self._offset += seconds

    def build_headers(self, record: Call) -> dict[str, str]:
        """Return the rate-limit headers of a response; empty for a model without a quota."""
        limits = self._limits.find(record["model_id"])
        usage = self._usage.get(record["model_id"])
        if limits is None or usage is None:
            return {}
        now = self._now()
        reset = 0
        if usage.requests:
            reset = math.ceil(usage.requests[-1][0] + MINUTE - now)
        headers: dict[str, str] = {}
        rpm, tpm = limits
        counts = {
            "requests": (rpm, len(usage.requests)),
            "tokens": (tpm, usage.count_tokens()),
        }
        for kind, (limit, used) in counts.items():
            if limit is not None:
                remaining = max(0, limit - used)
                headers.update(
                    _build_headers(record.get("provider"), kind, limit, remaining, reset)
                )
        return headers


def _build_headers(
    provider: str | None, kind: str, limit: int, remaining: int, reset: int
) -> dict[str, str]:
    """Return the headers for one limit; Google and Bedrock send none.

    Args:
        provider: the provider; None for calls through `llm`.
        kind: `requests` or `tokens`.
        limit: the limit.
        remaining: the unused part of it.
        reset: the seconds until all of it is unused.
    """
    if provider == "anthropic":
        moment = datetime.now(timezone.utc) + timedelta(seconds=reset)
        return {
            f"anthropic-ratelimit-{kind}-limit": str(limit),
            f"anthropic-ratelimit-{kind}-remaining": str(remaining),
            f"anthropic-ratelimit-{kind}-reset": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    if provider == "mistral":
        # Mistral names the window, and does not say when it ends.
        window = "req-minute" if kind == "requests" else "tokens-minute"
        return {
            f"x-ratelimit-limit-{window}": str(limit),
            f"x-ratelimit-remaining-{window}": str(remaining),
        }
    if provider != "openai":
        return {}
    minutes, seconds = divmod(reset, 60)
    return {
        f"x-ratelimit-limit-{kind}": str(limit),
        f"x-ratelimit-remaining-{kind}": str(remaining),
        f"x-ratelimit-reset-{kind}": f"{minutes}m{seconds}s" if minutes else f"{seconds}s",
    }


def _make_error(record: Call, excess: Excess, seconds: float, headers: dict[str, str]) -> Exception:
    """Return the provider's error for an excess."""
    builders = {
        "openai": _build_openai_refusal,
        "anthropic": _build_anthropic_refusal,
        "google": _build_google_refusal,
        "bedrock": _build_bedrock_refusal,
        "vertex": _build_vertex_refusal,
    }

    def build(provider: str | None) -> Refusal:
        builder = builders.get(provider or "openai")
        if builder is None:
            # The other providers do not say which limit it is.
            return get_refusals(provider)["rate_limit"]
        return builder(excess, seconds)

    # A request that can never be accepted is refused without `Retry-After`.
    return make_status_error(
        record["model_id"], record.get("provider"), build, seconds or None, headers
    )


def _build_openai_refusal(excess: Excess, seconds: float) -> Refusal:
    name = "requests per min (RPM)" if excess.kind == "requests" else "tokens per min (TPM)"
    head = f"for {{model}} in organization org-mock on {name}: Limit {excess.limit}"
    if not seconds:
        message = (
            f"Request too large {head}, Requested {excess.requested}. The input or output tokens "
            "must be reduced in order to run successfully."
        )
    else:
        message = (
            f"Rate limit reached {head}, Used {excess.used}, Requested {excess.requested}. Please "
            f"try again in {seconds:g}s. Visit https://platform.openai.com/account/rate-limits to "
            "learn more."
        )
    return Refusal(429, excess.kind, message, "rate_limit_exceeded")


def _build_anthropic_refusal(excess: Excess, seconds: float) -> Refusal:
    name = "requests" if excess.kind == "requests" else "input tokens"
    message = (
        "This request would exceed your organization's rate limit of "
        f"{excess.limit:,} {name} per minute."
    )
    return Refusal(429, "rate_limit_error", message)


def _build_bedrock_refusal(excess: Excess, seconds: float) -> Refusal:
    message = f"Too many {excess.kind}, please wait before trying again."
    return Refusal(429, "ThrottlingException", message)


def _build_vertex_refusal(excess: Excess, seconds: float) -> Refusal:
    known = get_refusals("vertex")["rate_limit"]
    if excess.kind == "requests":
        return known
    metric = "online_prediction_input_tokens_per_minute_per_base_model"
    message = known.message.replace("online_prediction_requests_per_base_model", metric)
    return known._replace(message=message)


def _build_google_refusal(excess: Excess, seconds: float) -> Refusal:
    """Return the refusal of Google with the metric and the limit of the quota."""
    known = REFUSALS["google"]["rate_limit"]
    metric, quota_id = FREE_REQUESTS, "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"
    if excess.kind == "tokens":
        metric = FREE_TOKENS
        quota_id = "GenerateContentInputTokensPerModelPerMinute-FreeTier"
    message = known.message.replace(FREE_REQUESTS, metric).replace(
        "limit: 20,", f"limit: {excess.limit},"
    )
    violation = {
        "quotaMetric": metric,
        "quotaId": quota_id,
        "quotaDimensions": {"location": "global", "model": "{model}"},
        "quotaValue": str(excess.limit),
    }
    failure = {**known.details[0], "violations": [violation]}
    return known._replace(message=message, details=(failure, *known.details[1:]))
