"""Replies for the patterns that tests need again and again: plain functions, each gives a `Reply`.

Example:
    >>> from llm_mock import templates
    >>> templates.classification("spam", confidence=0.9).content
    '{"label": "spam", "confidence": 0.9}'

Each takes what `Reply` takes, too: `usage`, `resolved_model`, `response_json` and the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from llm_mock.core.json_text import json_text
from llm_mock.core.provider_error import ProviderError
from llm_mock.core.reply import Reply, as_answer
from llm_mock.core.tool_calls import ToolCall
from llm_mock.errors import InvalidReply
from llm_mock.support.numbers import is_whole
from llm_mock.support.text import described

__tracebackhide__ = True

if TYPE_CHECKING:
    import llm

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


def classification(label: str, *, confidence: float | None = None, field: str = "label", **details: Any) -> Reply:
    """A label, as a classifier gives it: `{"label": "spam"}`.

    Args:
        label: the class.
        confidence: from 0 to 1; a second field, where it is given.
        field: the name of the label's field.
        details: what else `Reply` takes.
    """
    data: dict[str, Any] = {field: label}
    return Reply(data=data if confidence is None else {**data, "confidence": confidence}, **details)


def extraction(*records: Any, field: str = "items", **details: Any) -> Reply:
    """What was extracted from a text, a list under `items`, as `llm.schema_dsl(…, multi=True)` asks for it.

    Args:
        records: mappings or pydantic instances, one for each thing that was found.
        field: the name of the list's field.
        details: what else `Reply` takes.
    """
    return Reply(data={field: list(records)}, **details)


def yes_no(answer: bool, reason: str, *, field: str = "answer", **details: Any) -> Reply:
    """A decision with its reason: `{"answer": true, "reason": "…"}`.

    Args:
        answer: the decision.
        reason: why.
        field: the name of the decision's field.
        details: what else `Reply` takes.
    """
    return Reply(data={field: answer, "reason": reason}, **details)


class ToolCallThenAnswer:
    """A reply function: calls a tool, and answers once there is a result; see `tool_call`."""

    def __init__(self, call: Reply, then: Any) -> None:
        self.call = call
        self.then = then

    def __call__(self, prompt: llm.Prompt) -> Any:
        """The reply to one call of the model."""
        if not prompt.tool_results:
            return self.call
        answer = as_answer(self.then)
        return answer if isinstance(answer, Reply) else answer(prompt)


def tool_call(
    name: str, arguments: Mapping[str, Any] | None = None, *, then: Any, **details: Any
) -> ToolCallThenAnswer:
    """A tool call, then an answer: two replies of the model, in one standing answer.

    Example:
        `mock_llm_responses.set("gpt-4o-mini", templates.tool_call("weather", {"city": "Rome"}, then="Sunny."))`

    Args:
        name: the tool that is called, one of those that are offered.
        arguments: what it is called with.
        then: the answer once the tool's result is there: any reply, such as a function of the prompt, which has the
            result in `prompt.tool_results[0].output`.
        details: what else `Reply` takes, for the reply that calls the tool.

    Returns:
        A reply function, for `set` or for `add(…, times=2)`.
    """
    as_answer(then)  # so that what is no reply is refused here
    return ToolCallThenAnswer(Reply(tool_calls=[ToolCall(name, dict(arguments or {}))], **details), then)


def refusal(text: str = REFUSAL, **details: Any) -> Reply:
    """The model declines, in plain text, whatever schema was asked for.

    Args:
        text: what it says.
        details: what else `Reply` takes.
    """
    return Reply(text, **{"invalid": True, **details})


def truncated(content: Any, *, after: int | None = None, **details: Any) -> Reply:
    """An answer that ends in the middle because the limit of output tokens was reached.

    `response_json` says so as `llm`'s OpenAI models do: `"finish_reason": "length"`. Another provider's payload can
    be given instead, such as `response_json={"stop_reason": "max_tokens"}`.

    Args:
        content: the whole answer: text, or anything that has a JSON form.
        after: how many characters come; by default the first half.
        details: what else `Reply` takes.
    """
    whole = content if isinstance(content, str) else json_text(content)
    if after is not None and not is_whole(after):
        raise InvalidReply(f"after={described(after)}: give a whole number of characters from 0.")
    text = whole[: len(whole) // 2 if after is None else after]
    payload = {"content": text, "role": "assistant", "finish_reason": "length"}
    return Reply(text, **{"invalid": True, "response_json": payload, **details})


def long_answer(words: int = 1000, **details: Any) -> Reply:
    """A long text, streamed word by word, always the same.

    Args:
        words: how many words.
        details: what else `Reply` takes.
    """
    if not is_whole(words):
        raise InvalidReply(f"words={described(words)}: give a whole number from 0.")
    paragraph = [f"{word} " for word in " ".join(SENTENCES).split()]
    paragraph[-1] = paragraph[-1].rstrip() + "\n\n"
    chunks = list(islice(cycle(paragraph), words))
    return Reply(chunks=[*chunks[:-1], *(last.rstrip() for last in chunks[-1:])], **details)


def rate_limit(*, retry_after: float | None = None, **details: Any) -> Reply:
    """The provider refuses: too many requests. It is the error of the SDK that asks, such as `openai.RateLimitError`.

    Through `llm` it is that of the SDK of the model's provider, where it is OpenAI or Anthropic and the SDK is
    installed, else an `llm.ModelError`. An SDK makes it of the provider's own response, whoever the provider is. So it
    is with the errors below.

    Example:
        `mock_llm_responses.add_all("gpt-4o-mini", [templates.rate_limit(retry_after=2), "at last"])`

    Args:
        retry_after: seconds for the header `Retry-After`, by default 1.
        details: what else `Reply` takes, such as `chunks` and `error_after` for what comes before.
    """
    return Reply(error=ProviderError("rate_limit", retry_after), **details)


def overloaded(*, retry_after: float | None = None, **details: Any) -> Reply:
    """The provider is overloaded: status 503, of Anthropic 529.

    Args:
        retry_after: seconds for the header `Retry-After`, by default none.
        details: what else `Reply` takes.
    """
    return Reply(error=ProviderError("overloaded", retry_after), **details)


def context_overflow(**details: Any) -> Reply:
    """The provider refuses: the prompt is longer than the model's context.

    Args:
        details: what else `Reply` takes.
    """
    return Reply(error=ProviderError("context_overflow"), **details)


def authentication(**details: Any) -> Reply:
    """The provider refuses: the key is invalid.

    Args:
        details: what else `Reply` takes.
    """
    return Reply(error=ProviderError("invalid_key"), **details)


def timeout(**details: Any) -> Reply:
    """The provider does not answer in time, such as `openai.APITimeoutError`; else it is a `TimeoutError`.

    Args:
        details: what else `Reply` takes.
    """
    return Reply(error=ProviderError("timeout"), **details)


def no_connection(**details: Any) -> Reply:
    """The provider cannot be reached, such as `openai.APIConnectionError`; else it is a `ConnectionRefusedError`.

    Args:
        details: what else `Reply` takes.
    """
    return Reply(error=ProviderError("no_connection"), **details)
