"""Messages about unmatched calls and unused replies, with the nearest match of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from llm_mock.core.model_names import matches_name
from llm_mock.core.records import format_request
from llm_mock.core.source_location import format_location, format_notes, format_origin
from llm_mock.support.schemas import find_text_violations
from llm_mock.support.text import (
    CERTAIN,
    COMPARED_CHARACTERS,
    SHOWN_MESSAGE,
    find_nearest,
    format_count,
    format_error,
    is_one_letter_off,
    shorten,
    shorten_name,
)

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.configurator import ResponseConfigurator
    from llm_mock.core.history import History
    from llm_mock.core.protocols import NameResolver
    from llm_mock.core.script import QueuedReply, StandingReply
    from llm_mock.core.settings import Settings
    from llm_mock.support.json_types import JSONObject

SHOWN_REPLIES = 20
"""The maximum number of configured replies in a message."""


class ExplainedMock(Protocol):
    """The part of a `Mock` that messages read; importing the class would be circular."""

    configurator: ResponseConfigurator
    history: History
    names: NameResolver
    settings: Settings

    @property
    def parent(self) -> ExplainedMock | None:
        """The parent mock."""

    @property
    def embedding_models(self) -> list[str]:
        """The ids of the embedding models that were called."""

    def explain_left_alone(self) -> str:
        """Return the requests that were not mocked, as a message; empty if there are none."""


def explain_unused(
    mock: ExplainedMock, unused: Sequence[QueuedReply], calls: Sequence[Call]
) -> str:
    """Return a message that lists unused queued replies, each with the nearest call.

    Args:
        mock: the mock.
        unused: the replies, at least one.
        calls: the calls that were made.
    """
    count = "One queued reply was" if len(unused) == 1 else f"{len(unused)} queued replies were"
    lines = [f"{count} not used:"]
    for reply in unused:
        lines.append(f"  - {reply.text()}")
        lines += _explain_reply(mock, reply, calls)
    lines.append(mock.settings.unused_reply_advice)
    return "\n".join(lines)


def explain_unexpected_call(mock: ExplainedMock, call: Call) -> str:
    """Return a message that shows an unmatched call and the configured replies, nearest first."""
    replies = sorted(
        _get_all_configured(mock), key=lambda reply: _measure_distance(mock, reply, call)
    )
    # Long, because the end of a prompt may say why the application calls the model.
    request = format_request(call, SHOWN_MESSAGE)
    lines = [f"No reply was configured for this call:\n  {request}"]
    used_up = _find_used_up(mock, call)
    if used_up:
        lines.append(_format_used_up(used_up, "it"))
    if replies:
        nearest, *others = replies[:SHOWN_REPLIES]
        lines.append("Configured replies:")
        lines.append(f"  - {nearest.text()}")
        lines.append(f"    does not match: {' and '.join(_find_misses(nearest, call))}")
        lines += [f"  - {reply.text()}" for reply in others]
        lines += _format_rest(replies)
    elif not used_up:
        lines.append("No reply was configured before this call.")
    swapped = _explain_swapped_arguments(replies, call)
    if swapped:
        lines += swapped
    else:
        lines += _explain_misspelt_model(replies[:1], call)
        lines += _advise_reply(mock, call, bool(used_up))
    return "\n".join(lines)


def _explain_misspelt_model(nearest: Sequence[StandingReply], call: Call) -> list[str]:
    """Return a line about the nearest reply if only a few letters of its model differ.

    Args:
        nearest: the nearest reply, or none.
        call: the call.
    """
    model = call["model_id"]
    for reply in nearest:
        is_near = find_nearest(reply.model, [model], CERTAIN) is not None
        is_other = not matches_name(reply.model, model)
        if is_near and is_other and len(_find_misses(reply, call)) == 1:
            origin = format_origin(reply.place)
            return [f"If the model of the reply is misspelt, write {model!r}{origin}."]
    return []


def explain_near_reply(mock: ExplainedMock, call: Call) -> str:
    """Return lines about an unused reply that misses a call by one condition; empty without one.

    Args:
        mock: the mock, whose parents have no replies for this test.
        call: the call.
    """
    near = []
    for reply in find_unused_replies(mock, mock.history.calls):
        model = call["model_id"]
        is_near = find_nearest(reply.model, [model], CERTAIN) is not None
        # A reply for another model may well be meant for another call.
        if not is_near and not matches_name(reply.model, model):
            continue
        misses = _find_misses(reply, call)
        if len(misses) == 1:
            near.append(reply)
    if not near:
        return ""
    nearest = min(near, key=lambda reply: _measure_distance(mock, reply, call))
    miss = _find_misses(nearest, call)[0]
    return f"Or correct this reply:\n  - {nearest.text()}\n    does not match: {miss}"


def find_misspelt_model(
    mock: ExplainedMock, calls: Sequence[Call]
) -> tuple[StandingReply, str] | None:
    """Return an unused reply whose misspelt model is its only miss, and the called model.

    Args:
        mock: the mock.
        calls: its calls. One of them got the default reply.
    """
    called = {call["model_id"] for call in calls}
    for reply in find_unused_replies(mock, calls):
        if reply.model in called:
            continue
        for call in calls:
            model = call["model_id"]
            if call["configured"] or not is_one_letter_off(reply.model, model):
                continue
            # A known model is probably not misspelt, such as gpt-4 for gpt-4o.
            is_known = mock.names.provider_class(reply.model) is not None
            if not is_known and len(_find_misses(reply, call)) == 1:
                return reply, model
    return None


def _explain_swapped_arguments(replies: Sequence[StandingReply], call: Call) -> list[str]:
    """Return a line about a reply whose text is the name of the called model, or the reverse."""
    model = call["model_id"]
    for reply in replies:
        if getattr(reply.answer, "content", None) == model:
            text = shorten(reply.model)
            origin = format_origin(reply.place)
            return [f"The model comes first: write set({model!r}, {text}){origin}."]
        # Names of models have no spaces, but the path of a local model may.
        is_text = " " in reply.model.strip() and "/" not in reply.model
        if is_text and len(_find_misses(reply, call)) == 1:
            text = shorten(reply.model)
            origin = format_origin(reply.place)
            return [
                f"{text} is the model of a reply{origin}. The model comes first: write "
                f"set({model!r}, {text})."
            ]
    return []


def _advise_reply(mock: ExplainedMock, call: Call, is_used_up: bool) -> list[str]:
    """Return the lines that say how to configure a reply to an unmatched call.

    Args:
        mock: the mock.
        call: the call.
        is_used_up: whether queued replies matched earlier calls of this kind.
    """
    settings = mock.settings
    if settings.missing_reply_advice is not None:
        return [settings.missing_reply_advice]
    model = call["model_id"]
    if mock.configurator.standing_only:
        return [_advise_outside(call)]
    advice = (
        "Configure one with the fixture mock_llm_responses: "
        f'mock_llm_responses.set("{model}", "…"), or set("*", "…") for any model.'
    )
    if is_used_up and _repeats_failed_call(mock, call):
        advice = (
            "The request repeats the failed call before it: most SDKs retry after an error. For "
            f'an error on every attempt, use set_error("{model}", …). To disable retries, '
            "configure the client, such as with max_retries=0 in openai and anthropic."
        )
    elif is_used_up:
        advice = (
            f'Queue one more: mock_llm_responses.add("{model}", "…"), or a further reply in '
            "script(). If the application should not call again, correct the application."
        )
    lines = [advice]
    # A project or test that sets the level does not need this line.
    if settings.strict is None:
        setting = settings.format_ini("llm_mock_strict", "warn")
        lines.append(f'With ini {setting}, unmatched calls are answered with {{"success": true}}.')
    return lines


def _repeats_failed_call(mock: ExplainedMock, call: Call) -> bool:
    """Return whether a call has the same messages as the call before it, which failed."""
    earlier = [other for other in mock.history.calls if other["number"] < call["number"]]
    if not earlier or earlier[-1]["error"] is None:
        return False
    is_same_model = earlier[-1]["model_id"] == call["model_id"]
    return is_same_model and earlier[-1].messages == call.messages


def _advise_outside(call: Call) -> str:
    """Return how to answer a call that was made outside of a test."""
    return (
        "The call was made outside of a test: during an import, or in a fixture of a wider "
        "scope. Make the call in a function that the test calls, or configure its reply in "
        f'pytest_llm_mock_configure(mock) of a conftest.py: mock.set("{call["model_id"]}", "…").'
    )


def _find_used_up(mock: ExplainedMock, call: Call) -> list[StandingReply]:
    """Return the queued replies that match a call and were used up by earlier ones."""
    used = dict.fromkeys(filter(None, mock.history.answered_by.values()))
    # Only queued replies have a number of remaining uses.
    queued = [reply for reply in used if not getattr(reply, "remaining", True)]
    return [reply for reply in queued if not _find_misses(reply, call)]


def _explain_used_up(mock: ExplainedMock, calls: Sequence[Call]) -> list[str]:
    """Return a line about the queued replies that were used up before calls without a reply."""
    used_up: dict[int, StandingReply] = {}
    for call in calls:
        if call["configured"]:
            continue
        for reply in _find_used_up(mock, call):
            used_up[id(reply)] = reply
    if not used_up:
        return []
    problem = _format_used_up(list(used_up.values()), "a call that was answered by default")
    return [f"{problem} For this call, queue one more reply with add() or script()."]


def _explain_threads(mock: ExplainedMock, calls: Sequence[Call]) -> list[str]:
    """Return a line about calls of several threads that used the replies of one queue."""
    threads: dict[int, int] = {}
    for number, call in enumerate(calls, start=1):
        reply = mock.history.answered_by.get(call["number"])
        # Only a queued reply has a thread. With a condition, the order of calls does not matter.
        thread = getattr(reply, "thread", 0)
        if thread and reply is not None and not reply.conditional:
            threads.setdefault(thread, number)
    if len(threads) < 2:
        return []
    first, second, *_ = threads.values()
    return [
        f"Calls {first} and {second} came from different threads. If the threads run at the same "
        "time, the order of the calls can change, but queued replies are used in order. Give each "
        'reply a condition: set(model, reply, prompt="…").'
    ]


def _explain_repeated_calls(mock: ExplainedMock, calls: Sequence[Call]) -> list[str]:
    """Return a line about each standing tool call that also answered its own result."""
    numbers: dict[StandingReply, int] = {}
    for call in calls:
        reply = mock.history.answered_by.get(call["number"])
        # A queued reply (only these have `remaining`) is used up, so it does not repeat.
        if reply is None or hasattr(reply, "remaining") or not call.tool_results:
            continue
        if getattr(reply.answer, "tool_calls", False):
            numbers[reply] = numbers.get(reply, 0) + 1
    lines = []
    for reply, number in numbers.items():
        origin = format_origin(reply.place)
        again = format_count(number, "time")
        lines.append(
            f"The tool call of set(){origin} was returned again after the result of the tool, "
            f"{again}. Queue the tool call and then the text: script(model, ToolCall(…), text)."
        )
    return lines


def _explain_replaced_reply(mock: ExplainedMock) -> list[str]:
    """Return a line about a standing reply that was replaced before any call used it."""
    earlier, later = mock.configurator.replies.replaced or (None, None)
    if earlier is None or later is None or earlier in mock.history.answered_by.values():
        return []
    # A test may replace the reply of a fixture in another file on purpose.
    if earlier.place is None or later.place is None or earlier.place[0] != later.place[0]:
        return []
    return [
        f"The reply of set(){format_origin(later.place)} replaced the reply of set()"
        f"{format_origin(earlier.place)} before any call used it. For several replies in order, "
        f"write script({later.model!r}, first, second)."
    ]


def _explain_joined_chunks(mock: ExplainedMock, calls: Sequence[Call]) -> list[str]:
    """Return a line about the first call that is not streamed, but whose reply has chunks."""
    for number, call in enumerate(calls, start=1):
        reply = mock.history.answered_by.get(call["number"])
        chunks = getattr(getattr(reply, "answer", None), "chunks", None)
        # Through `llm`, the record does not say whether the application streams.
        if chunks is None or len(chunks) < 2 or call.get("stream") is not False:
            continue
        origin = format_origin(getattr(reply, "place", None))
        return [
            f"The request of call {number} does not ask for a stream, so the chunks of its "
            f"reply{origin} were joined."
        ]
    return []


def _format_used_up(replies: Sequence[StandingReply], unmatched: str) -> str:
    count = "One queued reply" if len(replies) == 1 else f"{len(replies)} queued replies"
    verb = "was" if len(replies) == 1 else "were"
    # The notes begin with two spaces, of which only one is needed here.
    shown = _format_places(replies)[1:]
    problem = f"{count} for {unmatched} {verb} used up by earlier calls{shown}."
    # A standing tool call would be returned again after each result of the tool, without end.
    if getattr(replies[-1].answer, "tool_calls", False):
        return f"{problem} Queue a text after the tool call: script(model, ToolCall(…), text)."
    return f"{problem} A reply of set() answers any number of calls."


def _format_places(replies: Sequence[StandingReply]) -> str:
    """Return the lines of replies in brackets, each once, for the end of a line of a table."""
    places = dict.fromkeys(format_location(reply.place) for reply in replies)
    return format_notes(*list(places)[:SHOWN_REPLIES])


def explain_unexpected_embedding(
    settings: Settings, model_id: str, item: str | bytes, texts: str
) -> str:
    """Return a message about an item for which an embedding model has no vector.

    Args:
        settings: the settings of the mock.
        model_id: the model.
        item: the text or the bytes.
        texts: the end of the sentence, about texts with a vector; empty without any.
    """
    shown_item = shorten(item) if isinstance(item, str) else f"{len(item)} bytes"
    hint = ""
    if isinstance(item, str) and item.replace(" ", "").isdecimal():
        hint = (
            " If these numbers are tokens of a text, send the text instead. In LangChain, use "
            "OpenAIEmbeddings(check_embedding_ctx_length=False)."
        )
    advice = f"Set one with set_embedding({model_id!r}, …, [0.1, …]){settings.method_place}"
    # Only a test has the models themselves.
    if not settings.method_place:
        advice += (
            f", or assign to get_embedding_model({model_id!r}).dimensions to compute vectors from "
            "the input"
        )
    return (
        f"No vector was configured for this input of the embedding model {model_id!r}: "
        f"{shown_item}{texts or '.'}{hint} {advice}."
    )


def explain_reply_to_embedding(settings: Settings, model_id: str, reply: str) -> str:
    """Return a message about an embedding model for which a reply is configured.

    Args:
        settings: the settings of the mock.
        model_id: the model.
        reply: the reply with its source location.
    """
    return (
        f"{model_id!r} is an embedding model, so this reply is not used: {reply}. Write "
        f"set_embedding({model_id!r}, text, [0.1, …]), or set_error({model_id!r}, …) for an error"
        f"{settings.method_place}."
    )


def explain_replies(mock: ExplainedMock, calls: Sequence[Call]) -> str:
    """Return the part about replies for a failed test; empty if all calls and replies match.

    Args:
        mock: the mock of the test.
        calls: its calls.
    """
    replies: list[StandingReply] = mock.configurator.replies.get_configured()
    unused = find_unused_replies(mock, calls)
    near_calls = _find_near_calls(mock, calls)
    hints = [
        *_explain_used_up(mock, calls),
        *_explain_threads(mock, calls),
        *_explain_repeated_calls(mock, calls),
        *_explain_replaced_reply(mock),
        *_explain_joined_chunks(mock, calls),
        *mock.configurator.replies.hints,
    ]
    if not near_calls and not unused:
        return "\n".join(hints)
    # The nearest reply may belong to a parent, and is then not in this mock's own list.
    replies = list(dict.fromkeys([*replies, *(reply for reply, _ in near_calls)]))
    lines_below = {id(reply): near_call for reply, near_call in near_calls}
    lines = ["Configured replies:"] if calls else _format_heading(mock, unused)
    for reply in replies[:SHOWN_REPLIES]:
        if reply not in unused:
            lines.append(f"  - {reply.text()}")
            lines += lines_below.get(id(reply), [])
            continue
        lines.append(f"  - {reply.text('not used')}")
        lines += lines_below.get(id(reply)) or _explain_reply(mock, reply, calls)
    return "\n".join([*lines, *_format_rest(replies), *hints])


def explain_late_replies(mock: ExplainedMock, calls: Sequence[Call]) -> str:
    """Return a list of the replies that were configured after a call that needed them."""
    lines = []
    for reply in find_unused_replies(mock, calls):
        for number, call in enumerate(calls, start=1):
            if _came_too_early(mock, call, reply):
                lines.append(f"  - {reply.text('not used')}")
                lines += _format_near_call(number, call, reply)
                break
    return "\n".join(["Configured replies:", *lines]) if lines else ""


def _format_heading(mock: ExplainedMock, unused: Sequence[StandingReply]) -> list[str]:
    """Return the first lines about the replies of a test without calls."""
    lines = []
    problem = "No model was called"
    if mock.explain_left_alone():
        problem = "No call reached the mock"
    elif mock.embedding_models:
        problem = "Only embedding models were called"
    elif earlier := _find_earlier_call(mock, unused):
        problem += " in this test"
        lines.append(
            f"This call was made before the test, and was answered by default:\n"
            f"  {format_request(earlier)}\n{_advise_outside(earlier)}"
        )
    return [*lines, f"{problem}, but replies were configured:"]


def _find_earlier_call(mock: ExplainedMock, unused: Sequence[StandingReply]) -> Call | None:
    """Return an unanswered call outside of tests that matches an unused reply."""
    # Only the mock of the whole run has calls outside of tests.
    earlier = [] if mock.parent is None else mock.parent.history.calls
    for call in earlier:
        is_matched = any(not _find_misses(reply, call) for reply in unused)
        if is_matched and not call["configured"]:
            return call
    return None


def _format_rest(replies: Sequence[StandingReply]) -> list[str]:
    """Return a line with the number of replies that are not shown, if there are any."""
    rest = len(replies) - SHOWN_REPLIES
    return [f"  … {rest} more"] if rest > 0 else []


def _find_near_calls(
    mock: ExplainedMock, calls: Sequence[Call]
) -> list[tuple[StandingReply, list[str]]]:
    """Return the reply that is nearest to each unmatched call, with lines about the call."""
    near_calls = []
    for number, call in enumerate(calls, start=1):
        candidates = [] if call["configured"] else _get_all_configured(mock)
        if candidates:
            distances = [_measure_distance(mock, reply, call) for reply in candidates]
            nearest = candidates[distances.index(min(distances))]
            near_calls.append((nearest, _format_near_call(number, call, nearest)))
    return near_calls


def find_unused_replies(mock: ExplainedMock, calls: Sequence[Call]) -> list[StandingReply]:
    """Return the replies of a mock (not of its parents) that answered none of its calls."""
    replies = mock.configurator.replies.get_configured()
    return [reply for reply in replies if not _is_used(reply, mock, calls)]


def _get_all_configured(mock: ExplainedMock) -> list[StandingReply]:
    """Return the replies of a mock, then those of its parents."""
    replies: list[StandingReply] = mock.configurator.replies.get_configured()
    if mock.parent:
        replies += _get_all_configured(mock.parent)
    return replies


def _is_used(reply: StandingReply, mock: ExplainedMock, calls: Sequence[Call]) -> bool:
    """Return whether a reply answered a call, or may have answered one of another process."""
    answered_by = mock.history.answered_by
    # A queued reply is removed from the script when it is used up.
    if hasattr(reply, "remaining"):
        return False
    if reply in answered_by.values():
        return True
    # For a call of another process, it is unknown which configured reply answered it.
    for call in calls:
        is_of_other_process = call["configured"] and call["number"] not in answered_by
        if is_of_other_process and not _find_misses(reply, call):
            return True
    return False


def _explain_reply(mock: ExplainedMock, reply: StandingReply, calls: Sequence[Call]) -> list[str]:
    """Return lines about an unused reply: the nearest call, or the order of replies."""
    return (
        _explain_order(mock, reply, calls)
        or _explain_answered_calls(mock, reply, calls)
        or _format_nearest_call(mock, reply, calls)
    )


def _explain_order(mock: ExplainedMock, reply: StandingReply, calls: Sequence[Call]) -> list[str]:
    """Return a line about a tool call that was queued after the final text."""
    if not calls or not calls[-1]["tools"] or not getattr(reply.answer, "tool_calls", False):
        return []
    text = mock.history.answered_by.get(calls[-1]["number"])
    # A standing text would have come after the queued tool call.
    if text is None or not hasattr(text, "remaining"):
        return []
    if getattr(text.answer, "tool_calls", False):
        return []
    origin = format_origin(text.place)
    return [
        f"    the text{origin} was used first, so the application made no further call. Queue the "
        "tool call before it. For both in one answer, write Reply(text, tool_calls=[…])."
    ]


def _explain_answered_calls(
    mock: ExplainedMock, reply: StandingReply, calls: Sequence[Call]
) -> list[str]:
    """Return a line about the calls that match an unused reply, if other replies answered all."""
    answers: list[StandingReply] = []
    hint = ""
    matching: list[Call] = []
    for number, call in enumerate(calls, start=1):
        if _find_misses(reply, call):
            continue
        matching.append(call)
        answer = mock.history.answered_by.get(call["number"])
        # A reply with `times` answered some of the calls, but needs more.
        if answer is reply or _came_too_early(mock, call, reply):
            return []
        if answer is not None:
            answers.append(answer)
            hint = hint or _explain_swapped_replies(answer, reply, call)
        elif call["error"]:
            return [f"    call {number} matches, but failed: see the error of the call"]
    if not matching:
        return []
    description = _describe_answers(answers, reply, matching)
    return [f"    {description}{hint}"]


def _describe_answers(
    answers: Sequence[StandingReply], reply: StandingReply, matching: Sequence[Call]
) -> str:
    """Return which replies answered the calls that match an unused reply.

    Args:
        answers: the replies that answered.
        reply: the unused reply.
        matching: the calls, at least one.
    """
    shown = _format_places(answers)
    first, *others = matching
    if others:
        return f"other replies answered all {len(matching)} calls that match it{shown}"
    places = {format_location(answer.place) for answer in answers}
    is_of_one_script = places == {format_location(reply.place)}
    other = "an earlier reply of this line" if is_of_one_script else "another reply"
    description = f"{other} answered the only call that matches it{shown}"
    return f"{description}{_explain_streamed(answers, reply, first)}"


def _explain_streamed(answers: Sequence[StandingReply], reply: StandingReply, call: Call) -> str:
    """Return a hint if the texts of two queued replies are probably meant as chunks of a stream."""
    if not call.get("stream") or not hasattr(reply, "remaining"):
        return ""
    first = getattr(answers[0].answer, "content", "") if answers else ""
    second = getattr(reply.answer, "content", "")
    if not first or not second or not hasattr(answers[0], "remaining"):
        return ""
    return (
        ". One call uses one reply: for several chunks of a stream, write "
        f"Reply(chunks=[{shorten(first)}, {shorten(second)}])"
    )


def _explain_swapped_replies(answer: StandingReply, unused: StandingReply, call: Call) -> str:
    """Return a hint if an unused reply fits the schema of a call and its answer does not."""
    if not call.schema or not _fits_schema(unused, call.schema):
        return ""
    if _fits_schema(answer, call.schema) or getattr(answer.answer, "invalid", False):
        return ""
    return (
        ". This reply matches the schema of that call, but the used reply does not: check the "
        "order of the replies"
    )


def _fits_schema(reply: StandingReply, schema: JSONObject) -> bool:
    """Return whether the text of a reply satisfies a schema; a function has no text."""
    content = getattr(reply.answer, "content", None)
    return isinstance(content, str) and not find_text_violations(schema, content)


def _format_nearest_call(
    mock: ExplainedMock, reply: StandingReply, calls: Sequence[Call]
) -> list[str]:
    """Return a line about the call that is nearest to an unused reply; no line without calls."""
    numbered = list(enumerate(calls, start=1))
    candidates = [
        (number, call)
        for number, call in numbered
        if _find_misses(reply, call) or _came_too_early(mock, call, reply)
    ]
    if not candidates:
        return []
    number, nearest = min(
        candidates, key=lambda candidate: _measure_distance(mock, reply, candidate[1])
    )
    return _format_near_call(number, nearest, reply)


def _came_too_early(mock: ExplainedMock, call: Call, reply: StandingReply) -> bool:
    """Return whether a call fits an unused reply that was configured after it."""
    if _find_misses(reply, call):
        return False
    answered_by = mock.history.answered_by
    if call["number"] not in answered_by:
        return not call["configured"]
    answer = answered_by[call["number"]]
    # The call was refused, so no reply answered it.
    if answer is None:
        return True
    # Queued replies go before standing ones, and later standing replies replace earlier ones.
    if hasattr(answer, "remaining"):
        return False
    is_replaced = answer not in mock.configurator.replies.get_configured()
    return hasattr(reply, "remaining") or (is_replaced and answer.get_key() == reply.get_key())


def _format_near_call(number: int, call: Call, reply: StandingReply) -> list[str]:
    misses = _find_misses(reply, call)
    if misses:
        return [f"    nearest call: {number}, but {' and '.join(misses)}"]
    method, _, path = str(call.get("api", "")).partition(" ")
    # The `api` of a call to a model is a word; for another endpoint, it is a method and a path.
    if path:
        return [
            f"    nearest call: {number}, but set(), add() and script() do not answer it: write "
            f"on({method!r}, {path!r}, …)"
        ]
    return [
        f"    nearest call: {number}, but it was made before the reply was configured: configure "
        "the reply before the call"
    ]


def _measure_distance(
    mock: ExplainedMock, reply: StandingReply, call: Call
) -> tuple[int, bool, float, float, float]:
    """Return how far a reply is from a call: unmet conditions, then similarity of texts.

    The texts are the model, the prompt and the system prompt. Of equally near replies, an unused
    one is nearer, because it is probably the one that was meant.
    """
    from difflib import SequenceMatcher  # only messages need it

    likeness = SequenceMatcher(None, reply.model, call["model_id"]).ratio()
    number = len(_find_misses(reply, call))
    is_used = reply in mock.history.answered_by.values()
    prompt = _measure_share(getattr(reply.matchers, "prompt", None), call["prompt"])
    system = _measure_share(getattr(reply.matchers, "system", None), call.system or "")
    return number, is_used, -likeness, -prompt, -system


def _measure_share(expected: object, text: str) -> float:
    """Return the largest share of an expected text that a text contains; 1 without that text."""
    if not isinstance(expected, str) or not expected:
        return 1.0
    from difflib import SequenceMatcher  # only messages need it

    # The longest common part, because the text may be much longer than the expected one.
    compared = text[:COMPARED_CHARACTERS].lower()
    wanted = expected[:COMPARED_CHARACTERS].lower()
    longest = SequenceMatcher(None, wanted, compared, autojunk=False).find_longest_match()
    return longest.size / len(wanted)


def _find_misses(reply: StandingReply, call: Call) -> list[str]:
    """Return the unmet conditions of a reply; an error in a project's matcher counts as one."""
    try:
        return reply.misses(call)
    except Exception as error:
        return [f"a condition of the reply raised {shorten_name(format_error(error))}"]
