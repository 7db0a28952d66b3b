"""Create replies from recorded responses."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.llm.parts import create_attachment
from llm_mock.cassettes import exceptions, schema
from llm_mock.cassettes.prompt_json import restore_prompt_json
from llm_mock.cassettes.recording_command import get_recording_command
from llm_mock.core.events import CompletedEvent, Event
from llm_mock.core.reply import Received, Reply
from llm_mock.core.tokens import count_input_tokens
from llm_mock.core.tool_calls import ToolCall
from llm_mock.errors import CassetteMiss

if TYPE_CHECKING:
    from llm_mock.core.request import Request

NO_ATTACHMENTS: Mapping[str, str] = MappingProxyType({})


class RecordedReply(Reply):
    """A reply that replays a recorded response.

    Args:
        recorded: the response.
        contents: the contents of its attachments, by hash.
        wants_json: whether the call has a schema, so that the history shows data.
        encoded: the attachments of the call in base64, by their placeholders in the cassette.
        on_overrun: called when the application reads more than was recorded.
    """

    is_recorded = True
    _recorded: schema.RecordedResponse
    _encoded: Mapping[str, str]
    _wants_json: bool
    _on_overrun: Callable[[CassetteMiss], None]

    def __init__(
        self,
        recorded: schema.RecordedResponse,
        contents: Mapping[str, bytes],
        wants_json: bool,
        encoded: Mapping[str, str] = NO_ATTACHMENTS,
        on_overrun: Callable[[CassetteMiss], None] = lambda _: None,
    ) -> None:
        # An error that cannot be rebuilt raises here, before the application gets any chunk.
        chunks: list[str | Event] = []
        for event in recorded.events:
            chunks += _split_event(event)
        error = None if recorded.error is None else exceptions.rebuild(recorded.error)
        tool_calls = []
        for recorded_call in recorded.tool_calls:
            tool_call = ToolCall(
                recorded_call.name, recorded_call.arguments, recorded_call.tool_call_id
            )
            tool_calls.append(tool_call)
        attachments = []
        for recorded_attachment in recorded.attachments:
            digest = recorded_attachment.sha256
            content = contents[digest] if digest else None
            attachments.append(
                create_attachment(recorded_attachment.type, recorded_attachment.url, content)
            )
        super().__init__(
            chunks=chunks,
            tool_calls=tool_calls,
            attachments=tuple(attachments),
            usage={
                "input_tokens": recorded.usage.input,
                "output_tokens": recorded.usage.output,
                "details": copy.deepcopy(recorded.usage.details),
            },
            resolved_model=recorded.resolved_model,
            error=error,
            error_after=None if error is None else len(chunks),
        )
        for made_call, recorded_call in zip(self.tool_calls, recorded.tool_calls, strict=True):
            vars(made_call).update(copy.deepcopy(recorded_call.attributes))
        # Not by assignment, because a reply is immutable.
        self.__dict__.update(
            response_json=recorded.raw,
            attributes=recorded.attributes,
            _recorded=recorded,
            _encoded=encoded,
            _wants_json=wants_json,
            _on_overrun=on_overrun,
        )

    def stream(self, stream: bool) -> Iterable[Any]:
        """Return the recorded chunks; reading beyond the end of an unfinished recording raises."""
        chunks = self.chunks or ()
        return self._raise_after(chunks) if self._recorded.unfinished else chunks

    def tokens(self, request: Request | None) -> tuple[int | None, int | None]:
        """Return the recorded tokens, or estimates if the provider sent none with its answer."""
        recorded = self._recorded.usage
        has_failed = self.error is not None and not self.chunks
        if has_failed or recorded.input is not None or recorded.output is not None:
            return recorded.input, recorded.output
        estimated_input = None if request is None else count_input_tokens(request)
        return estimated_input, self.estimated_tokens

    def exception(self) -> BaseException:
        """Return the recorded exception, with its cause."""
        assert isinstance(self.error, BaseException)
        return self.error

    def over_http(self) -> Received | None:
        """Return the HTTP response, or None if the call was not made over HTTP."""
        recorded, error = self._recorded, self._recorded.error
        is_http_error = error is not None and "status_code" in error and not recorded.events
        if error is not None and is_http_error and error.get("content") is not None:
            return Received(
                api=None,
                streamed=False,
                status=error["status_code"],
                headers=error.get("headers") or {},
                body=error["content"],
                unfinished=False,
            )
        if recorded.http is None:
            return None
        return Received(
            api=recorded.http.api,
            streamed=recorded.http.streamed,
            status=recorded.http.status,
            headers=recorded.http.headers,
            body=copy.deepcopy(recorded.raw),
            unfinished=recorded.unfinished,
        )

    def sent(self, before: object) -> Any:
        """Return the payload that the plugin sent when the call was recorded.

        Args:
            before: the payload of the previous call in the conversation.
        """
        if self._recorded.prompt_json is None:
            return None
        return restore_prompt_json(self._recorded, before, self._encoded)

    def _raise_after(self, chunks: Iterable[object]) -> Iterator[Any]:
        yield from chunks
        error = CassetteMiss(
            "When this call was recorded, the application stopped reading here, so the rest is not "
            f"in the cassette. Record it again: {get_recording_command('rewrite')}"
        )
        self._on_overrun(error)
        raise error

    @property
    def outcome(self) -> Any:
        """The response as the history shows it: text, or data if the call has a schema."""
        if self.error is not None and not self.content:
            return None
        if self._wants_json:
            with contextlib.suppress(json.JSONDecodeError):
                return json.loads(self.content)
        return self.content


def _split_event(event: schema.RecordedEvent) -> Iterator[str | Event]:
    """Yield the stream events that were recorded as one, or plain texts if they are only that."""
    fields = event.model_dump(exclude={"text", "chunks", "later"}, exclude_defaults=True)
    lengths = event.chunks
    # The lengths are wrong if the text in the file was edited.
    if sum(lengths) != len(event.text) or not lengths:
        lengths = [len(event.text)]
    for length, end in zip(lengths, accumulate(lengths), strict=True):
        chunk = event.text[end - length : end]
        if event.later is None and not fields:
            yield chunk
            continue
        # Each has copies of its own, which the application may change.
        own_fields = {"type": "text", **copy.deepcopy(fields)}
        if event.later is None:
            yield Event(**own_fields, chunk=chunk)
        else:
            completed = CompletedEvent(**own_fields, chunk=chunk)
            completed.later = event.later
            yield completed
