"""Ready-made replies for common cases; each function returns a `Reply`.

Example:
    >>> from llm_mock import templates
    >>> templates.classification("spam", confidence=0.9).content
    '{"label": "spam", "confidence": 0.9}'

Each function also accepts the keyword arguments of `Reply`: `usage`, `resolved_model`,
`response_json` and the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle, islice
from types import FunctionType
from typing import TYPE_CHECKING, Any

from llm_mock.core.json_text import to_json_text
from llm_mock.core.provider_error import ProviderError
from llm_mock.core.reply import Reply, to_reply
from llm_mock.core.tool_calls import ToolCall
from llm_mock.errors import InvalidReply
from llm_mock.support.json_types import JSONObject
from llm_mock.support.numbers import is_number, is_whole
from llm_mock.support.text import described

# Hides all functions of this module, so that errors are reported on the line of the test.
__tracebackhide__ = True

if TYPE_CHECKING:
    import llm

# Fixed texts, because tests and snapshots must see the same reply in every run.
REFUSAL = "I'm sorry, but I can't help with that."
SENTENCES = (
    "The first thing to look at is what was asked.",
    "Several answers are possible, and each has its price.",
    "A short example shows where they differ.",
    "What holds for a small case need not hold for a large one.",
    "It helps to write down what is known before guessing the rest.",
    "Most of the time the simple way is good enough.",
    "There are exceptions, and they are worth a paragraph of their own.",
    "In the end it depends on what comes next.",
)


GUESSED_NAMES = {
    "authentication": "auth_error invalid_key unauthorized",
    "context_overflow": "context_length too_long token_limit",
    "no_connection": "connection_error network_error",
    "overloaded": "service_unavailable",
    "refusal": "content_filter safety",
    "server_error": "api_error internal_error internal_server_error",
    "truncated": "length max_tokens",
}
"""Wrong names that tests often use, separated by spaces, by the right template."""


def __getattr__(name: str) -> object:
    """Raise an AttributeError that names the nearest template, or all of them."""
    from llm_mock.support.text import suggest_name

    for template, guesses in GUESSED_NAMES.items():
        if name in guesses.split():
            raise AttributeError(
                f"module {__name__!r} has no attribute {name!r}; did you mean {template!r}?"
            )

    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}{suggest_name(name, __dir__())}"
    )


def __dir__() -> list[str]:
    """Return the names of the templates, so that editors offer nothing else."""
    functions = [value for value in globals().values() if isinstance(value, FunctionType)]
    names = [function.__name__ for function in functions if function.__module__ == __name__]
    return [name for name in names if not name.startswith("_")]


def classification(
    label: str, *, confidence: float | None = None, field: str = "label", **details: Any
) -> Reply:
    """Return the answer of a classifier: `{"label": "spam"}`.

    Args:
        label: the class of the text.
        confidence: a second field of the answer, from 0 to 1; omitted by default.
        field: the name of the label's field.
        details: further keyword arguments of `Reply`.
    """
    data: JSONObject = {field: label}
    # Omitted by default, because a schema with `additionalProperties: false` would forbid it.
    if confidence is not None:
        data["confidence"] = confidence
    return Reply(data=data, **details)


def extraction(*records: Any, field: str = "items", **details: Any) -> Reply:
    """Return extracted records as a list under `items`, as in `llm.schema_dsl(…, multi=True)`.

    Args:
        records: mappings or pydantic instances, one for each item found.
        field: the name of the list's field.
        details: further keyword arguments of `Reply`.
    """
    data = {field: list(records)}
    return Reply(data=data, **details)


def yes_no(answer: bool, reason: str, *, field: str = "answer", **details: Any) -> Reply:
    """Return a decision with its reason: `{"answer": true, "reason": "…"}`.

    Args:
        answer: the decision.
        reason: the reason for it.
        field: the name of the decision's field.
        details: further keyword arguments of `Reply`.
    """
    data = {field: answer, "reason": reason}
    return Reply(data=data, **details)


class ToolCallThenAnswer:
    """A reply function that calls a tool, and answers after its result; see `tool_call`."""

    def __init__(self, call: Reply, then: object) -> None:
        self.call = call
        self.then = then

    def __call__(self, prompt: llm.Prompt) -> Any:
        """Return the tool call, or the answer if the prompt contains a tool result."""
        # `llm` sends the results of tools with the next prompt of the conversation.
        if not prompt.tool_results:
            return self.call
        answer = to_reply(self.then)
        return answer if isinstance(answer, Reply) else answer(prompt)


def tool_call(
    name: str, arguments: Mapping[str, object] | None = None, *, then: object, **details: Any
) -> ToolCallThenAnswer:
    """Return a reply function that first returns a tool call, then a final answer.

    Example:
        `reply = templates.tool_call("weather", {"city": "Rome"}, then="Sunny.")`
        `mock_llm_responses.set("gpt-4o-mini", reply)`

    Args:
        name: the name of an offered tool.
        arguments: the arguments of the call.
        then: the answer after the tool result: any reply. A reply function finds the result in
            `prompt.tool_results[0].output`.
        details: further keyword arguments of the `Reply` that calls the tool.

    Returns:
        A reply function, for `set` or for `add(…, times=2)`.
    """
    # Only a check: an invalid reply raises here, on the line of the test, and not later in a call.
    to_reply(then)
    given = {} if arguments is None else dict(arguments)
    call = ToolCall(name, given)
    reply = Reply(tool_calls=[call], **details)
    return ToolCallThenAnswer(reply, then)


def refusal(text: str = REFUSAL, **details: Any) -> Reply:
    """Return a refusal, in the API's own field for refusals, even if the request has a schema.

    Args:
        text: the text of the refusal.
        details: further keyword arguments of `Reply`.
    """
    return Reply(refusal=text, **details)


def truncated(content: object, *, after: int | None = None, **details: Any) -> Reply:
    """Return an answer that is cut off at the limit of output tokens.

    SDKs receive the provider's finish reason for this limit, such as `length`. Through `llm`,
    `response_json` has `"finish_reason": "length"`, like the payload of OpenAI's models. For
    another provider, pass its payload, such as `response_json={"stop_reason": "max_tokens"}`.

    Args:
        content: the whole answer: text, or any JSON value.
        after: the number of characters to keep; by default half of them.
        details: further keyword arguments of `Reply`.
    """
    whole = content if isinstance(content, str) else to_json_text(content)
    if after is not None and not is_whole(after):
        raise InvalidReply(
            f"after={described(after)}: pass a whole number of characters of at least 0."
        )
    if after is None:
        after = len(whole) // 2
    text = whole[:after]
    payload = {
        "content": text,
        "role": "assistant",
        "finish_reason": "length",
    }
    # Half a JSON document violates every schema, which must not be reported.
    details.setdefault("invalid", True)
    details.setdefault("response_json", payload)
    details.setdefault("finish_reason", "length")
    return Reply(text, **details)


def long_answer(words: int = 1000, **details: Any) -> Reply:
    """Return a long text, always the same one, streamed word by word.

    Args:
        words: the number of words.
        details: further keyword arguments of `Reply`.
    """
    if not is_whole(words):
        raise InvalidReply(f"words={described(words)}: pass a whole number of at least 0.")
    text = " ".join(SENTENCES)
    paragraph = [f"{word} " for word in text.split()]
    last_word = paragraph.pop().rstrip()
    paragraph.append(f"{last_word}\n\n")
    chunks = list(islice(cycle(paragraph), words))
    if chunks:
        last_chunk = chunks.pop().rstrip()  # providers end an answer without white space
        chunks.append(last_chunk)
    return Reply(chunks=chunks, **details)


def rate_limit(*, retry_after: float | None = None, **details: Any) -> Reply:
    """Return the provider's rate limit error, such as `openai.RateLimitError`.

    An SDK raises its own exception for the provider's response. Calls through `llm` raise the
    exception of OpenAI's or Anthropic's SDK for their models if the SDK is installed, and otherwise
    an `llm.ModelError`. The errors below work the same way.

    Example:
        `replies = [templates.rate_limit(retry_after=2), "at last"]`
        `mock_llm_responses.script("gpt-4o-mini", *replies)`

    Args:
        retry_after: the header `Retry-After` in seconds; by default 1.
        details: further keyword arguments of `Reply`, such as `chunks` and `error_after` to send
            chunks before the error.
    """
    _check_retry_after(retry_after)
    error = ProviderError("rate_limit", retry_after)
    return Reply(error=error, **details)


def overloaded(*, retry_after: float | None = None, **details: Any) -> Reply:
    """Return the provider's error for overload: status 503, or 529 from Anthropic.

    Args:
        retry_after: the header `Retry-After` in seconds; omitted by default.
        details: further keyword arguments of `Reply`.
    """
    _check_retry_after(retry_after)
    error = ProviderError("overloaded", retry_after)
    return Reply(error=error, **details)


def _check_retry_after(seconds: object) -> None:
    """Raise an InvalidReply if `retry_after` is neither None nor a number of seconds."""
    if seconds is not None and not is_number(seconds):
        raise InvalidReply(
            f"retry_after={described(seconds)}: pass a number of seconds of at least 0."
        )


def server_error(**details: Any) -> Reply:
    """Return the provider's internal server error: status 500.

    Args:
        details: further keyword arguments of `Reply`.
    """
    return Reply(error=ProviderError("server_error"), **details)


def context_overflow(**details: Any) -> Reply:
    """Return the provider's error for a prompt that exceeds the model's context.

    Args:
        details: further keyword arguments of `Reply`.
    """
    return Reply(error=ProviderError("context_overflow"), **details)


def authentication(**details: Any) -> Reply:
    """Return the provider's error for an invalid key.

    Args:
        details: further keyword arguments of `Reply`.
    """
    return Reply(error=ProviderError("invalid_key"), **details)


def timeout(**details: Any) -> Reply:
    """Return a timeout: the SDK's, such as `openai.APITimeoutError`, or a `TimeoutError`.

    Args:
        details: further keyword arguments of `Reply`.
    """
    return Reply(error=ProviderError("timeout"), **details)


def no_connection(**details: Any) -> Reply:
    """Return a failed connection: the SDK's `APIConnectionError`, or a `ConnectionRefusedError`.

    Args:
        details: further keyword arguments of `Reply`.
    """
    return Reply(error=ProviderError("no_connection"), **details)
