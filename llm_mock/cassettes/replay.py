"""A recorded answer as a reply."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from types import MappingProxyType
from typing import Any

from llm_mock.boundaries.llm.parts import attachment
from llm_mock.cassettes import exceptions, prompt_json, schema
from llm_mock.cassettes.record_modes import recording_command
from llm_mock.core.events import CompletedEvent, Event
from llm_mock.core.reply import Received, Reply
from llm_mock.core.tool_calls import ToolCall
from llm_mock.errors import CassetteMiss

NOTHING: Mapping[str, str] = MappingProxyType({})


class RecordedReply(Reply):
    """An answer that a cassette holds, as the model gave it, with the contents of its attachments by their hashes.

    Args:
        wants_json: whether the call asked for a schema, so that the history shows data.
        encoded: the contents of the attachments that are sent as base64, by what stands for them in the cassette.
        overrun: is told where more is read than was recorded.
    """

    is_recorded = True
    _recorded: schema.Response
    _encoded: Mapping[str, str]
    _wants_json: bool
    _overrun: Callable[[CassetteMiss], None]

    def __init__(
        self,
        recorded: schema.Response,
        contents: Mapping[str, bytes],
        wants_json: bool,
        encoded: Mapping[str, str] = NOTHING,
        overrun: Callable[[CassetteMiss], None] = lambda _: None,
    ) -> None:
        chunks = [piece for event in recorded.events for piece in _pieces(event)]
        error = None if recorded.error is None else exceptions.rebuild(recorded.error)
        usage = recorded.usage
        super().__init__(
            chunks=chunks,
            tool_calls=[ToolCall(call.name, call.arguments, call.tool_call_id) for call in recorded.tool_calls],
            attachments=[
                attachment(each.type, each.url, contents[each.sha256] if each.sha256 else None)
                for each in recorded.attachments
            ],
            usage={"input_tokens": usage.input, "output_tokens": usage.output, "details": copy.deepcopy(usage.details)},
            resolved_model=recorded.resolved_model,
            error=error,
            error_after=None if error is None else len(chunks),
        )
        for call, made in zip(self.tool_calls, recorded.tool_calls, strict=True):
            vars(call).update(copy.deepcopy(made.attributes))
        self.__dict__.update(response_json=recorded.raw, attributes=recorded.attributes)
        self.__dict__.update(_recorded=recorded, _encoded=encoded, _wants_json=wants_json, _overrun=overrun)

    def stream(self, stream: bool) -> Iterable[Any]:
        """The chunks as they came; where the application stopped reading when they were recorded, no more."""
        chunks = self.chunks or ()
        return self._until_the_end(chunks) if self._recorded.unfinished else chunks

    def exception(self) -> BaseException:
        """The error, with its cause."""
        assert isinstance(self.error, BaseException)
        return self.error

    def over_http(self) -> Received | None:
        """How the answer, or the error in place of one, came over HTTP."""
        recorded, http, error = self._recorded, self._recorded.http, self._recorded.error
        if error is not None and "status_code" in error and not recorded.events:
            body = error.get("content")
            if body is not None:
                return Received(None, False, error["status_code"], error.get("headers") or {}, body, False)
        if http is None:
            return None
        body = copy.deepcopy(recorded.raw)
        return Received(http.api, http.streamed, 200, http.headers, body, recorded.unfinished)

    def sent(self, before: Any) -> Any:
        """What the plugin said it sent."""
        return prompt_json.restored(self._recorded, before, self._encoded)

    def _until_the_end(self, chunks: Iterable[Any]) -> Iterator[Any]:
        yield from chunks
        error = CassetteMiss(
            "When this call was recorded, the application stopped reading here, so there is no more. "
            f"Record it anew: {recording_command('rewrite')}"
        )
        self._overrun(error)
        raise error

    @property
    def outcome(self) -> Any:
        """What the history shows as the response: the text, or its data where these were asked for."""
        if self.error is not None and not self.content:
            return None
        text = self.content
        if self._wants_json:
            with contextlib.suppress(json.JSONDecodeError):
                return json.loads(text)
        return text


def _pieces(event: schema.Event) -> Iterator[str | Event]:
    traits = event.model_dump(exclude={"text", "chunks", "later"}, exclude_defaults=True)
    lengths = event.chunks if event.chunks and sum(event.chunks) == len(event.text) else [len(event.text)]
    for length, end in zip(lengths, accumulate(lengths), strict=True):
        piece = event.text[end - length : end]
        if event.later is not None:
            completed = CompletedEvent(**{"type": "text", **copy.deepcopy(traits)}, chunk=piece)
            completed.later = event.later
            yield completed
        else:
            yield Event(**{"type": "text", **copy.deepcopy(traits)}, chunk=piece) if traits else piece
