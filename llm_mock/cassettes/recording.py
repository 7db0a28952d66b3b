"""Between `llm` and a cassette: what a call asked, what a model answered, and how that is played again."""

from __future__ import annotations

import base64
import copy
import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pydantic

from llm_mock.boundaries.llm import boundary
from llm_mock.boundaries.llm.response import StreamEvent
from llm_mock.cassettes import exceptions, schema
from llm_mock.core.records import plain
from llm_mock.core.reply import Reply
from llm_mock.errors import CassetteMiss, NotRecordable
from llm_mock.support.yaml_files import Inline

if TYPE_CHECKING:
    import llm

    from llm_mock.core.records import CallRecord


def request_of(record: CallRecord, prompt: llm.Prompt, conversation: Any) -> schema.Request:
    """What a call asked.

    Args:
        record: its record in the history.
        prompt: what `llm` handed to the model.
        conversation: the conversation, if the call is part of one: its history is what was recorded before.
    """
    return schema.Request(
        model=record["model_id"],
        turn=record["turn"],
        system=prompt.system or _system_message(prompt),
        prompt=record["prompt"],
        tool_results=[_tool_result(result) for result in prompt.tool_results],
        attachments=[_sent(attachment) for attachment in prompt.attachments],
        messages=[] if conversation else list(_given_history(prompt, record["prompt"])),
        options={name: value for name, value in record["options"].items() if value is not None},
        schema=plain(prompt.schema) or None,
        tools=[_tool(tool) for tool in prompt.tools],
    )


def _given_history(prompt: llm.Prompt, text: str) -> Iterator[dict[str, Any]]:
    """The messages that the application gave itself, but for the system prompt and the text that is asked now."""
    messages = [message for message in boundary.given_messages(prompt) if message.role != "system"]
    for position, message in enumerate(messages, start=1):
        described = message.to_dict()
        for part in described["parts"]:
            if content := part.get("attachment", {}).pop("content", None):
                part["attachment"]["sha256"] = _digest(base64.b64decode(content))
        asked_now = {"role": "user", "parts": [{"type": "text", "text": text}]}
        if position < len(messages) or described != asked_now:
            yield described


def _system_message(prompt: llm.Prompt) -> str:
    messages = getattr(prompt, "messages", ())  # from llm 0.32 on
    system = [message for message in messages if message.role == "system"]
    return "\n\n".join(part.text for message in system for part in message.parts if hasattr(part, "text"))


def _tool(tool: Any) -> schema.Tool:
    return schema.Tool(
        name=tool.name, description=tool.description, input_schema=plain(getattr(tool, "input_schema", {}))
    )


def _tool_result(result: Any) -> schema.ToolResult:
    attachments = [_sent(attachment) for attachment in getattr(result, "attachments", None) or ()]
    return schema.ToolResult(name=result.name, output=str(result.output), attachments=attachments)


def _sent(attachment: llm.Attachment) -> schema.Attachment:
    if attachment.url:
        return schema.Attachment(type=attachment.type, url=attachment.url)
    content: bytes = attachment.content_bytes()  # type: ignore[no-untyped-call]
    kind = attachment.type or attachment.resolve_type()  # type: ignore[no-untyped-call]
    return schema.Attachment(type=kind, sha256=_digest(content), bytes=len(content))


class AnswerCollector:
    """Collects what a real model answers, chunk by chunk."""

    def __init__(self) -> None:
        self._chunks: list[tuple[dict[str, Any], str]] = []

    @property
    def empty(self) -> bool:
        """Whether nothing came yet."""
        return not self._chunks

    def add(self, chunk: Any) -> None:
        """Take a chunk in, before `llm` changes it.

        Raises:
            NotRecordable: it is a stream event of a kind that a cassette has no place for.
        """
        traits = {} if isinstance(chunk, str) else _traits(chunk)
        text = chunk if isinstance(chunk, str) else chunk.chunk
        self._chunks.append((traits, text))

    def answer(
        self, response: Any, error: dict[str, Any] | None = None, unfinished: bool = False
    ) -> tuple[schema.Response, dict[str, bytes]]:
        """What was answered, and the content of the attachments that came with it, by its hash.

        Args:
            response: the `llm` response, as far as it was completed.
            error: the description of what was raised.
            unfinished: the application stopped reading.

        Raises:
            NotRecordable: something of it is no JSON value.
        """
        outcome = boundary.outcome_of(response)
        contents = {_digest(item.content): item.content for item in outcome["attachments"] if item.content}
        try:
            answer = schema.Response(
                events=[
                    _event(traits, [text for _, text in run]) for traits, run in groupby(self._chunks, lambda c: c[0])
                ],
                tool_calls=[_tool_call(call) for call in outcome["tool_calls"]],
                attachments=[_received(item) for item in outcome["attachments"]],
                usage=schema.Usage(**outcome["usage"]),
                resolved_model=outcome["resolved_model"],
                json=outcome["response_json"],
                error=error,
                unfinished=unfinished,
            )
            answer.plain()
        except (ValueError, pydantic.ValidationError) as problem:  # a serialization error is a ValueError
            lines = " ".join(line.strip() for line in str(problem).splitlines()[:3])
            raise NotRecordable(f"something of it is no JSON value ({lines})") from None
        return answer, contents


def _traits(event: Any) -> dict[str, Any]:
    """What a stream event says beside its text."""
    defaults = {field.name: field.default for field in dataclasses.fields(event)}
    traits = {name: value for name, value in vars(event).items() if name != "chunk" and value != defaults[name]}
    if unknown := sorted(traits.keys() - schema.Event.model_fields.keys()):
        version = "cassettes of this version of pytest-llm-mock"
        raise NotRecordable(f"its stream events have {', '.join(unknown)}, which {version} cannot hold")
    return copy.deepcopy(traits)


def _event(traits: Mapping[str, Any], texts: list[str]) -> schema.Event:
    lengths = Inline(map(len, texts)) if len(texts) > 1 else []
    return schema.Event(**traits, text="".join(texts), chunks=lengths)


def _tool_call(call: Any) -> schema.ToolCall:
    return schema.ToolCall(name=call.name, arguments=call.arguments, tool_call_id=call.tool_call_id)


def _received(attachment: llm.Attachment) -> schema.Attachment:
    content = attachment.content
    if not content:
        return schema.Attachment(type=attachment.type, url=attachment.url)
    return schema.Attachment(type=attachment.type, url=attachment.url, sha256=_digest(content), bytes=len(content))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class PlayedAnswer:
    """An answer that was played or recorded, as the history and a report look at one.

    Args:
        recorded: the answer.
        contents: the content of its attachments, by its hash.
    """

    def __init__(self, recorded: schema.Response, contents: Mapping[str, bytes]) -> None:
        self.content = "".join(event.text for event in recorded.events if event.type == "text")
        self.chunks = [chunk for event in recorded.events for chunk in _chunks(event)]
        self.tool_calls = recorded.tool_calls
        self.attachments = [_attachment(attachment, contents) for attachment in recorded.attachments]
        self.usage = recorded.usage
        self.resolved_model = recorded.resolved_model
        self.response_json = recorded.raw


def as_reply(recorded: schema.Response, contents: Mapping[str, bytes]) -> Reply:
    """A recorded answer as a reply that a misbehaving model can spoil."""
    if recorded.error is not None:
        return Reply(error=exceptions.rebuild(recorded.error))
    calls = [boundary.tool_call(call.name, call.arguments, call.tool_call_id) for call in recorded.tool_calls]
    answer = PlayedAnswer(recorded, contents)
    return Reply(
        answer.content,
        tool_calls=calls,
        attachments=answer.attachments,
        usage={"input_tokens": answer.usage.input, "output_tokens": answer.usage.output},  # type: ignore[dict-item]
        resolved_model=recorded.resolved_model,
        response_json=recorded.raw,
    )


def _attachment(attachment: schema.Attachment, contents: Mapping[str, bytes]) -> Any:
    content = contents[attachment.sha256] if attachment.sha256 else None
    return boundary.attachment(attachment.type, attachment.url, content)


def play(recorded: schema.Response, contents: Mapping[str, bytes], response: Any) -> Iterator[Any]:
    """Play a recorded answer into a response, sync or async.

    Args:
        recorded: the answer.
        contents: the content of its attachments, by its hash.
        response: the `llm` response to complete.

    Yields:
        The chunks as they came. Before `llm` 0.32, which has no stream events, those of text.

    Raises:
        Exception: the error that was recorded.
        CassetteMiss: more is read than was recorded.
    """
    __tracebackhide__ = True
    for event in recorded.events:
        yield from _chunks(event)
    if recorded.error is not None:
        raise exceptions.rebuild(recorded.error)
    if recorded.unfinished:
        raise CassetteMiss(
            "When this call was recorded, the application stopped reading here, so there is no more. "
            "Record it anew: pytest --llm-mock-record rewrite"
        )
    for call in recorded.tool_calls:
        response.add_tool_call(boundary.tool_call(call.name, copy.deepcopy(call.arguments), call.tool_call_id))
    usage = recorded.usage
    if usage != schema.Usage():
        response.set_usage(input=usage.input, output=usage.output, details=copy.deepcopy(usage.details))
    response.attachments.extend(_attachment(attachment, contents) for attachment in recorded.attachments)
    if recorded.resolved_model:
        response.set_resolved_model(recorded.resolved_model)
    response.response_json = copy.deepcopy(recorded.raw)


def _chunks(event: schema.Event) -> Iterator[Any]:
    traits = event.model_dump(exclude={"text", "chunks"}, exclude_defaults=True)
    if traits and StreamEvent is None:
        if event.type == "text":
            yield from _pieces(event)
        return
    for piece in _pieces(event):
        yield StreamEvent(**{"type": "text", **copy.deepcopy(traits)}, chunk=piece) if traits else piece


def _pieces(event: schema.Event) -> Iterator[str]:
    lengths = event.chunks if sum(event.chunks) == len(event.text) and event.chunks else [len(event.text)]
    start = 0
    for length in lengths:
        yield event.text[start : start + length]
        start += length
