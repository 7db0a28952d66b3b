"""What differs between the versions of `llm`: the only module that asks which one it is. Tried on llm 0.28 to 0.36."""

from __future__ import annotations

import functools
import importlib.metadata
import re
from collections.abc import Iterator
from typing import Any

from llm_mock.core.request import describe_attachments, describe_tool_call, describe_tool_result
from llm_mock.core.tokens import measure_attachments, measure_length, measure_tool_call
from llm_mock.errors import LLMTooOld


def require_llm(version: str, feature: str) -> None:
    """Say that a feature needs a newer `llm` than the installed one, where that is so."""
    __tracebackhide__ = True
    installed = importlib.metadata.version("llm")
    if _parse_version(installed) < _parse_version(version):
        raise LLMTooOld(
            f"{feature} needs llm {version} or newer, and llm {installed} is installed: pip install 'llm>={version}'"
        )


def _parse_version(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:2]]


@functools.cache
def get_stream_event_class() -> Any:
    """The class of stream events; None before llm 0.32, which has none."""
    try:
        from llm.parts import StreamEvent
    except ImportError:
        return None
    return StreamEvent


def get_sync_execution(response_class: Any) -> str:
    """The method of `llm.Response` that executes a model."""
    # Since llm 0.32 `text()`, `json()` and the like start the model without `__iter__`.
    return "_iter_events" if hasattr(response_class, "_iter_events") else "__iter__"


def get_async_execution(response_class: Any) -> tuple[str, bool]:
    """The method of `llm.AsyncResponse` that executes a model, and whether it is a coroutine function."""
    # Since llm 0.32 all ways to read lead to this private method; before, to the first chunk.
    name = "_ensure_async_generator"
    return (name, False) if hasattr(response_class, name) else ("__anext__", True)


def is_json_read_for_log() -> bool:
    """Whether logging a response calls its `json()`, as it does before llm 0.32: ours raises for plain text."""
    return get_stream_event_class() is None


def get_given_messages(prompt: Any) -> list[Any]:
    """The messages that a prompt was given as they are, such as by `messages=`; before llm 0.32 there are none."""
    # A private name, as `messages` holds the prompt and the system prompt too. Without it the length of
    # messages is not counted, and nothing else changes.
    return getattr(prompt, "_explicit_messages", None) or []


def get_previous_prompt_json(response: Any) -> Any:
    """What the plugin says was sent for the response before, in its conversation; None where it says nothing."""
    earlier = response.conversation.responses if response.conversation else ()
    # llm's own name for what the log stores; there is no public one.
    return earlier[-1]._prompt_json if earlier else None


def describe_messages(prompt: Any, conversation: Any) -> list[dict[str, Any]]:
    """All that the model sees, described as `Request.messages` has it."""
    if not hasattr(prompt, "messages"):
        return list(_describe_old_conversation(prompt, conversation))
    return [
        {"role": message.role, "parts": [*map(_describe_part, message.parts)]}
        for message in prompt.messages
    ]


def count_characters(prompt: Any, conversation: Any) -> int:
    """How many characters the messages have that the model sees."""
    if messages := get_given_messages(prompt):
        return sum(_measure_part(part) for message in messages for part in message.parts)
    characters = _measure_prompt(prompt)
    if conversation and not hasattr(prompt, "messages"):
        for response in conversation.responses:
            characters += _measure_prompt(response.prompt) + len(response.text_or_raise())
            characters += sum(map(measure_tool_call, response.tool_calls_or_raise()))
    return characters


def _measure_prompt(prompt: Any) -> int:
    characters = len(prompt.prompt or "") + len(prompt.system or "")
    for result in prompt.tool_results:
        characters += measure_length(result.output) + measure_attachments(
            getattr(result, "attachments", None) or ()
        )
    return (
        characters + measure_attachments(prompt.attachments) if prompt.attachments else characters
    )


def _measure_part(part: Any) -> int:
    """That of a part of a message; reasoning is not sent again."""
    if hasattr(part, "attachment"):
        return measure_attachments([part.attachment]) if part.attachment else 0
    if hasattr(part, "output"):
        return measure_length(part.output) + measure_attachments(
            getattr(part, "attachments", None) or ()
        )
    if hasattr(part, "arguments"):
        return measure_tool_call(part)
    return 0 if hasattr(part, "redacted") else len(getattr(part, "text", None) or "")


def get_system_message(prompt: Any) -> str:
    """The system prompt among the messages; before llm 0.32 it is none of them."""
    system = [message for message in getattr(prompt, "messages", ()) if message.role == "system"]
    return "\n\n".join(
        part.text for message in system for part in message.parts if hasattr(part, "text")
    )


def get_last_user_text(prompt: Any) -> str:
    """The text of the last message, where that is the user's; before llm 0.32 there is none."""
    messages = getattr(prompt, "messages", ())
    if not messages or messages[-1].role != "user":
        return ""
    return "\n".join(part.text for part in messages[-1].parts if hasattr(part, "text"))


def _describe_part(part: Any) -> dict[str, Any]:
    """A part of a message; what kind it is shows in what it has."""
    if hasattr(part, "attachment"):
        [attachment] = describe_attachments([part.attachment]) if part.attachment else [{}]
        return {"type": "attachment", "attachment": attachment}
    if hasattr(part, "output"):
        return describe_tool_result(part)
    if hasattr(part, "arguments"):
        return {"type": "tool_call", **describe_tool_call(part)}
    if hasattr(part, "redacted"):
        return {
            "type": "reasoning",
            "text": part.text or "(withheld by the provider)" if part.redacted else part.text,
        }
    return {"type": "text", "text": part.text if hasattr(part, "text") else repr(part)}


def _describe_old_conversation(prompt: Any, conversation: Any) -> Iterator[dict[str, Any]]:
    """The messages of the conversation so far and of the prompt, as newer versions give them."""
    earlier = list(conversation.responses) if conversation else []
    if system := next(
        (p.system for p in [*(response.prompt for response in earlier), prompt] if p.system), ""
    ):
        yield {"role": "system", "parts": [{"type": "text", "text": system}]}
    for response in earlier:
        yield from _describe_prompt(response.prompt)
        parts = (
            [{"type": "text", "text": response.text_or_raise()}] if response.text_or_raise() else []
        )
        calls = [
            {"type": "tool_call", **describe_tool_call(call)}
            for call in response.tool_calls_or_raise()
        ]
        yield {"role": "assistant", "parts": parts + calls}
    yield from _describe_prompt(prompt)


def _describe_prompt(prompt: Any) -> Iterator[dict[str, Any]]:
    if prompt.tool_results:
        yield {
            "role": "tool",
            "parts": [describe_tool_result(result) for result in prompt.tool_results],
        }
    parts: list[dict[str, Any]] = [{"type": "text", "text": prompt.prompt}] if prompt.prompt else []
    parts += [
        {"type": "attachment", "attachment": each}
        for each in describe_attachments(prompt.attachments)
    ]
    if parts:
        yield {"role": "user", "parts": parts}


def list_conversation_tables(database: Any) -> list[str]:
    """Where the log has its conversations. Before 0.36 there is one table; later versions keep it for what it holds."""
    return [table for table in ("threads", "conversations") if table in database.table_names()]
