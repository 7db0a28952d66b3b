"""Parser for responses of Bedrock's InvokeModel."""

from __future__ import annotations

from collections.abc import Iterator

from llm_mock.boundaries.http.readers.anthropic_messages import MessagesReader
from llm_mock.boundaries.http.readers.bedrock_converse import ConverseReader
from llm_mock.boundaries.http.readers.reader import (
    ResponseReader,
    TextSlot,
    get_nested_dict,
    select_dicts,
)
from llm_mock.support.json_types import JSONObject

METRICS = "amazon-bedrock-invocationMetrics"


class PromptReader(ResponseReader):
    """A parser for the texts of Meta's and Mistral's models."""

    def find_slots(self, body: object) -> Iterator[TextSlot]:
        """Yield the texts of a body or of a chunk."""
        if not isinstance(body, dict):
            return
        if "generation" in body:
            yield TextSlot(body, "generation", "text")
            self._update_metadata(body)
        for output in select_dicts(body.get("outputs"))[:1]:
            yield TextSlot(output, "text", "text")
            self._update_metadata(output)
        self._update_usage(body.get(METRICS), "inputTokenCount", "outputTokenCount")
        # What is left are times.
        self.usage.pop("details", None)

    def _update_metadata(self, fields: JSONObject) -> None:
        self._update_usage(fields, "prompt_token_count", "generation_token_count")
        reason = fields.get("stop_reason")
        if reason is not None:
            self.has_ended = True
            self.finish_reason = None if reason == "stop" else reason


class InvokeReader(ResponseReader):
    """A parser for the bodies of all companies, which differ in their fields."""

    def __init__(self) -> None:
        super().__init__()
        self._reader: ResponseReader | None = None

    def find_slots(self, body: object) -> Iterator[TextSlot]:
        """Yield the texts of a body or of a chunk."""
        if not isinstance(body, dict):
            return
        if self._reader is None:
            self._reader = _choose_reader(body)
        reader = self._reader
        yield from reader.find_slots(body)
        self.model = reader.model
        self.finish_reason = reader.finish_reason
        self.usage = reader.usage
        self.has_ended = reader.has_ended


def _choose_reader(body: JSONObject) -> ResponseReader:
    if "type" in body:
        return MessagesReader()
    if "output" in body or get_nested_dict(body, "messageStart"):
        return ConverseReader()
    return PromptReader()


READER = InvokeReader
