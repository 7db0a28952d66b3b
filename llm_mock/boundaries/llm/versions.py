"""Differences between the versions of `llm`; no other module checks the version.

Tested with llm 0.28 to 0.36.
"""

from __future__ import annotations

import functools
import importlib.metadata
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock.core.request import describe_attachments, describe_tool_call, describe_tool_result
from llm_mock.core.tokens import measure_attachments, measure_length, measure_tool_call
from llm_mock.errors import LLMTooOld
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm import Conversation, Prompt
    from llm.parts import Message, StreamEvent, TextPart
    from sqlite_utils import Database


def require_llm(version: str, feature: str) -> None:
    """Check that the installed `llm` is new enough for a feature.

    Raises:
        LLMTooOld: it is older than the given version.
    """
    __tracebackhide__ = True
    installed = importlib.metadata.version("llm")
    is_older = _parse_version(installed) < _parse_version(version)
    if is_older:
        raise LLMTooOld(
            f"{feature} needs llm {version} or newer, but llm {installed} is installed: "
            f"pip install 'llm>={version}'"
        )


def _parse_version(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


@functools.cache
def get_stream_event_class() -> type[StreamEvent] | None:
    """Return the class of stream events; None before llm 0.32."""
    try:
        from llm.parts import StreamEvent
    except ImportError:
        return None
    return StreamEvent


@functools.cache
def get_text_part_class() -> type[TextPart] | None:
    """Return the class of texts in messages; None before llm 0.32, which has no messages."""
    try:
        from llm.parts import TextPart
    except ImportError:
        return None
    return TextPart


def get_sync_execution(response_class: type) -> str:
    """Return the name of the method in which an `llm.Response` executes its model."""
    # Since llm 0.32 `text()`, `json()` and the like start the model without `__iter__`.
    name = "_iter_events"
    return name if hasattr(response_class, name) else "__iter__"


def get_async_execution(response_class: type) -> tuple[str, bool]:
    """Return the method in which an `llm.AsyncResponse` executes its model.

    Returns:
        The name of the method, and whether it is a coroutine function.
    """
    # Since llm 0.32 every way to read leads to this private method; before, to the first chunk.
    name = "_ensure_async_generator"
    if hasattr(response_class, name):
        return name, False
    return "__anext__", True


def is_json_read_for_log() -> bool:
    """Return whether `llm` calls `json()` of a response to log it, as it does before llm 0.32."""
    # It matters, because `json()` of a mocked response raises for plain text.
    return get_stream_event_class() is None


def get_given_messages(prompt: object) -> list[Any]:
    """Return the messages that a prompt got as `messages=`; none before llm 0.32."""
    # A private name, because `messages` also contains the prompt and the system prompt. Without it,
    # the length of messages is not counted; nothing else changes.
    return getattr(prompt, "_explicit_messages", None) or []


def get_previous_prompt_json(response: Any) -> Any:
    """Return the payload that the plugin reports for the previous response of the conversation.

    Returns:
        The payload; None without a previous response, or if the plugin does not report it.
    """
    conversation = response.conversation
    if not conversation or not conversation.responses:
        return None
    previous = conversation.responses[-1]
    # `llm` stores it in its log under this private name, and has no public one.
    return previous._prompt_json


def describe_messages(prompt: Prompt, earlier: Sequence[object]) -> list[JSONObject]:
    """Return all messages that the model receives, in the format of `Request.messages`.

    Args:
        prompt: the prompt.
        earlier: the earlier responses of the conversation.
    """
    if not hasattr(prompt, "messages"):
        return list(_describe_old_conversation(prompt, earlier))
    messages = []
    for message in prompt.messages:
        parts = [_describe_part(part) for part in message.parts]
        messages.append({"role": message.role, "parts": parts})
    return messages


class _MessageCounts(NamedTuple):
    """The counts of the messages of one turn."""

    last: Message
    number: int
    characters: int
    answers: int


def count_messages(
    messages: Sequence[Message], conversation: Conversation | None
) -> tuple[int, int]:
    """Return the number of characters and of answers in the given messages of a prompt.

    A turn of a conversation has the messages of the previous turn and a few more. So the counts are
    stored on the conversation, and only the new messages are counted. Otherwise, a long
    conversation would take quadratic time.
    """
    characters = answers = start = 0
    previous: _MessageCounts | None
    previous = vars(conversation).get(_COUNTS) if conversation else None
    if previous and _continues(messages, previous):
        _, start, characters, answers = previous
    text_part = get_text_part_class()
    part: Any
    for message in messages[start:]:
        for part in message.parts:
            # Most parts are texts, and save the call of the function.
            characters += len(part.text) if type(part) is text_part else _measure_part(part)
        answers += message.role == "assistant"
    if conversation:
        counts = _MessageCounts(messages[-1], len(messages), characters, answers)
        vars(conversation)[_COUNTS] = counts
    return characters, answers


_COUNTS = "llm_mock_counts"


def _continues(messages: Sequence[Message], previous: _MessageCounts) -> bool:
    # `llm` appends new messages to the list of the previous turn, so the identity of its last
    # message decides. Equality does not: an application that shortens the history may repeat a
    # prompt.
    return len(messages) >= previous.number and messages[previous.number - 1] is previous.last


def count_characters(prompt: Prompt, conversation: Any) -> int:
    """Return the number of characters that the model receives, without given messages."""
    characters = _measure_prompt(prompt)
    # Since llm 0.32 a conversation gives its messages to the prompt.
    if conversation and not hasattr(prompt, "messages"):
        for response in conversation.responses:
            characters += _measure_prompt(response.prompt)
            characters += len(response.text_or_raise())
            tool_calls = response.tool_calls_or_raise()
            characters += sum(map(measure_tool_call, tool_calls))
    return characters


def _measure_prompt(prompt: Prompt) -> int:
    characters = len(prompt.prompt or "")
    characters += len(prompt.system or "")
    for result in prompt.tool_results:
        characters += _measure_tool_result(result)
    # Tested first, because most prompts have none.
    if prompt.attachments:
        characters += measure_attachments(prompt.attachments)
    return characters


def _measure_tool_result(result: Any) -> int:
    # Older versions of `llm` have no attachments in the results of tools.
    attachments = getattr(result, "attachments", None) or ()
    return measure_length(result.output) + measure_attachments(attachments)


def _measure_part(part: Any) -> int:
    """Return the number of characters of one part of a message."""
    # The kinds of parts differ between versions, so their attributes tell them apart.
    if hasattr(part, "attachment"):
        return measure_attachments([part.attachment]) if part.attachment else 0
    if hasattr(part, "output"):
        return _measure_tool_result(part)
    if hasattr(part, "arguments"):
        return measure_tool_call(part)
    if hasattr(part, "redacted"):
        return 0  # reasoning, which is not sent again
    return len(getattr(part, "text", None) or "")


def get_system_message(prompt: object) -> str:
    """Return the text of the system messages; empty before llm 0.32, which has no messages."""
    messages: list[Message] = getattr(prompt, "messages", [])
    texts = []
    for message in messages:
        if message.role == "system":
            texts += _get_texts(message)
    return "\n\n".join(texts)


def get_last_user_text(prompt: object) -> str:
    """Return the text of the last message if it is the user's; empty before llm 0.32."""
    messages: list[Message] = getattr(prompt, "messages", [])
    if not messages or messages[-1].role != "user":
        return ""
    return "\n".join(_get_texts(messages[-1]))


def _get_texts(message: Message) -> list[str]:
    return [part.text for part in message.parts if hasattr(part, "text")]


def _describe_part(part: Any) -> JSONObject:
    """Return one part of a message in the format of `Request.messages`."""
    if hasattr(part, "attachment"):
        attachment: JSONObject = {}
        if part.attachment:
            [attachment] = describe_attachments([part.attachment])
        return {"type": "attachment", "attachment": attachment}
    if hasattr(part, "output"):
        return describe_tool_result(part)
    if hasattr(part, "arguments"):
        return {"type": "tool_call", **describe_tool_call(part)}
    if not hasattr(part, "text"):
        return _describe_text(repr(part))
    if not hasattr(part, "redacted"):
        return _describe_text(part.text)
    text = part.text
    if part.redacted and not text:
        text = "(withheld by the provider)"
    return {"type": "reasoning", "text": text}


def _describe_text(text: str) -> JSONObject:
    return {"type": "text", "text": text}


def _describe_old_conversation(prompt: Prompt, earlier: Sequence[Any]) -> Iterator[JSONObject]:
    """Yield the messages of a conversation before llm 0.32 in the format of newer versions."""
    prompts = [*(response.prompt for response in earlier), prompt]
    systems = [each.system for each in prompts if each.system]
    if systems:
        # The first one counts, as in newer versions.
        yield {"role": "system", "parts": [_describe_text(systems[0])]}
    for response in earlier:
        yield from _describe_prompt(response.prompt)
        text = response.text_or_raise()
        parts = [_describe_text(text)] if text else []
        for call in response.tool_calls_or_raise():
            parts.append({"type": "tool_call", **describe_tool_call(call)})
        yield {"role": "assistant", "parts": parts}
    yield from _describe_prompt(prompt)


def _describe_prompt(prompt: Prompt) -> Iterator[JSONObject]:
    if prompt.tool_results:
        results = [describe_tool_result(result) for result in prompt.tool_results]
        yield {"role": "tool", "parts": results}
    parts = [_describe_text(prompt.prompt)] if prompt.prompt else []
    for attachment in describe_attachments(prompt.attachments):
        parts.append({"type": "attachment", "attachment": attachment})
    if parts:
        yield {"role": "user", "parts": parts}


def list_conversation_tables(database: Database) -> list[str]:
    """Return the names of the tables in `llm`'s log that hold conversations."""
    # llm 0.36 added `threads`, and keeps the older table with the conversations that it holds.
    existing = database.table_names()
    return [table for table in ("threads", "conversations") if table in existing]
