"""A recorded answer as a reply."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from llm_mock.boundaries.llm.parts import attachment
from llm_mock.cassettes import exceptions, schema
from llm_mock.core.events import Event
from llm_mock.core.reply import Reply
from llm_mock.core.tool_calls import ToolCall
from llm_mock.errors import CassetteMiss


class RecordedReply(Reply):
    """An answer that a cassette holds, as the model gave it, with the contents of its attachments by their hashes.

    Args:
        wants_json: whether the call asked for a schema, so that the history shows data.
        overrun: is told where more is read than was recorded.
    """

    is_recorded = True
    _unfinished: bool
    _wants_json: bool
    _overrun: Callable[[CassetteMiss], None]

    def __init__(
        self,
        recorded: schema.Response,
        contents: Mapping[str, bytes],
        wants_json: bool,
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
            response_json=recorded.raw,
            error=error,
            error_after=len(chunks) if error is not None and chunks else None,
        )
        self.__dict__.update(_unfinished=recorded.unfinished, _wants_json=wants_json, _overrun=overrun)

    def stream(self, stream: bool) -> Iterable[Any]:
        """The chunks as they came; where the application stopped reading when they were recorded, no more."""
        chunks = super().stream(stream)
        return self._until_the_end(chunks) if self._unfinished else chunks

    def _until_the_end(self, chunks: Iterable[Any]) -> Iterator[Any]:
        yield from chunks
        error = CassetteMiss(
            "When this call was recorded, the application stopped reading here, so there is no more. "
            "Record it anew: pytest --llm-mock-record rewrite"
        )
        self._overrun(error)
        raise error

    @property
    def outcome(self) -> Any:
        """What the history shows as the response: the text, or its data where these were asked for."""
        text = super().outcome if self.error_after is not None else self.content
        if self._wants_json:
            with contextlib.suppress(json.JSONDecodeError):
                return json.loads(text)
        return text


def _pieces(event: schema.Event) -> Iterator[str | Event]:
    traits = event.model_dump(exclude={"text", "chunks"}, exclude_defaults=True)
    lengths = event.chunks if event.chunks and sum(event.chunks) == len(event.text) else [len(event.text)]
    for length, end in zip(lengths, accumulate(lengths), strict=True):
        piece = event.text[end - length : end]
        yield Event(**{"type": "text", **copy.deepcopy(traits)}, chunk=piece) if traits else piece
