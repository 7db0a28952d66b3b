"""What messages say of calls and of the replies that were configured: which met, and what kept the others apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.core.records import call_head
from llm_mock.support.text import error_text, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord
    from llm_mock.core.script import QueuedReply, StandingReply

SHOWN_REPLIES = 20
"""How many configured replies a message lists."""


def explain_unused(unused: Sequence[QueuedReply], calls: Sequence[CallRecord], advice: str) -> str:
    """Explain which queued replies were not asked for: each with the call that came nearest, and how to fix it."""
    lines = []
    for reply in unused:
        lines += [f"  - {reply.text()}", *_nearest_call(reply, calls)]
    count = "One queued reply was" if len(unused) == 1 else f"{len(unused)} queued replies were"
    return f"{count} not asked for:\n" + "\n".join(lines) + f"\n{advice}"


def explain_unexpected_call(mock: Any, call: CallRecord) -> str:
    """What to say of a call that no configured reply fits: what was configured, the nearest miss first."""
    replies = sorted(_all_configured(mock), key=lambda reply: _distance(reply, call))
    lines = [f"No reply was configured for this call:\n  {call_head(call)}"]
    if replies:
        nearest = f"    the nearest miss: {' and '.join(_misses(replies[0], call))}"
        first, *others = (f"  - {reply.text()}" for reply in replies[:SHOWN_REPLIES])
        lines += ["Configured replies:", first, nearest, *others]
    else:
        lines.append("No reply was configured before this call.")
    lines.append(mock.settings.missing_reply_advice)
    return "\n".join(lines)


def explain_unexpected_embedding(model_id: str, item: str | bytes) -> str:
    """Explain that an embedding model has no vector for an item."""
    shown = shorten(item) if isinstance(item, str) else f"{len(item)} bytes"
    return (
        f"No vector was configured for what the embedding model {model_id!r} was asked to embed: {shown}. Set it by "
        f"get_embedding_model({model_id!r}).set(…, [0.1, …]), or assign to the model's dimensions to have vectors made "
        "of what it embeds."
    )


def explain_replies(mock: Any, calls: Sequence[CallRecord]) -> str:
    """What to say, beside the calls of a failed test, of its replies; nothing where every call and reply was met.

    Args:
        mock: that of the test.
        calls: its calls.
    """
    own, unused = mock.responses.script.configured(), find_unused_replies(mock, calls)
    near: dict[int, list[str]] = {}
    shown = list(own)
    for number, call in enumerate(calls, start=1):
        if not call["configured"] and (known := _all_configured(mock)):
            reply = min(known, key=lambda reply: _distance(reply, call))
            near.setdefault(id(reply), _near(number, call, reply))
            shown += [] if reply in shown else [reply]
    if not near and not unused:
        return ""
    lines = ["Configured replies:" if calls else "No model was called, but replies were configured:"]
    for reply in shown[:SHOWN_REPLIES]:
        lines.append(f"  - {reply.text('not used' if reply in unused else '')}")
        lines += near.get(id(reply)) or (_nearest_call(reply, calls) if reply in unused else [])
    lines += [f"  … {len(shown) - SHOWN_REPLIES} more"] if len(shown) > SHOWN_REPLIES else []
    return "\n".join(lines)


def find_unused_replies(mock: Any, calls: Sequence[CallRecord]) -> list[StandingReply]:
    """The replies that a mock itself has, and that answered none of its calls."""
    return [reply for reply in mock.responses.script.configured() if not _is_used(reply, mock, calls)]


def _all_configured(mock: Any) -> list[StandingReply]:
    """The replies of a mock and of those below it."""
    own: list[StandingReply] = mock.responses.script.configured()
    return own + (_all_configured(mock.parent) if mock.parent else [])


def _is_used(reply: StandingReply, mock: Any, calls: Sequence[CallRecord]) -> bool:
    """Whether a call was answered by a reply; of those that other processes made, whether it could have been."""
    answered = mock.history.answered_by
    if hasattr(reply, "remaining"):  # what is queued is listed as long as it is not used up
        return False
    elsewhere = (call for call in calls if call["configured"] and call["number"] not in answered)
    return reply in answered.values() or any(not _misses(reply, call) for call in elsewhere)


def _nearest_call(reply: StandingReply, calls: Sequence[CallRecord]) -> list[str]:
    """The call that came nearest to a reply that was not used."""
    left = [(number, call) for number, call in enumerate(calls, start=1) if _misses(reply, call)]
    left += [(number, call) for number, call in enumerate(calls, start=1) if not call["configured"]]
    return _near(*min(left, key=lambda call: _distance(reply, call[1])), reply) if left else []


def _near(number: int, call: CallRecord, reply: StandingReply) -> list[str]:
    misses = _misses(reply, call) or ["it was made before this was configured"]
    return [f"    nearest call: {number}, but {' and '.join(misses)}"]


def _distance(reply: StandingReply, call: CallRecord) -> tuple[int, float]:
    """How far a reply is from a call: by how much it misses it, then by the name of the model."""
    from difflib import SequenceMatcher

    likeness = SequenceMatcher(None, reply.model, call["model_id"]).ratio()
    return len(_misses(reply, call)), -likeness


def _misses(reply: StandingReply, call: CallRecord) -> list[str]:
    """Why a reply does not answer a call; a matcher of the project's may fail."""
    try:
        return reply.misses(call)
    except Exception as error:
        return [f"what it wants of the call raised {shorten_name(error_text(error))}"]
