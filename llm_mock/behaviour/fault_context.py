"""A call that a fault of the catalogue is to spoil."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llm_mock.core.reply import DEFAULT_REPLY, UNSET, Reply
from llm_mock.errors import LLMMockError
from llm_mock.support import schemas

if TYPE_CHECKING:
    from llm_mock.core.latency import Latency
    from llm_mock.core.request import Request

KEPT = ("usage", "resolved_model", "reasoning", "attachments", "latency")
"""What of a reply stays where its content is changed."""


@dataclass
class FaultContext:
    """A call that a model is about to answer, and what is known of the calls before it."""

    model_id: str
    request: Request
    reply: Reply
    """What the test configured."""
    first_answer: Reply | None
    """The first answer of the same model, if there was one."""
    last_tool_call: Any
    """The tool call that was scripted last."""
    applied: int
    """To how many calls the fault was applied so far."""

    def __post_init__(self) -> None:
        self.schema = self.request.schema
        self.tools: dict[str, Any] = {tool.name: tool for tool in self.request.tools}
        self.data = UNSET if self.reply is DEFAULT_REPLY and not self.schema else _data_in(self.reply.content)
        """The object or the list that the reply is; UNSET where it is text."""

    def changed(self, text: str | None = None, **fields: Any) -> Reply:
        """The reply with another content; what it cost, and who gave it, stays."""
        return Reply(text, invalid=True, **{name: getattr(self.reply, name) for name in KEPT} | fields)

    def delayed(self, latency: Latency) -> Reply:
        """The reply as it is, with another latency."""
        reply = copy.copy(self.reply)
        reply.__dict__.update(latency=latency, invalid=True)  # the way around `__setattr__`
        return reply

    def breaks_the_schema(self, data: Any) -> bool:
        """Whether data are wrong; without a schema any are."""
        return self.schema is None or next(schemas.violations(self.schema, data), None) is not None

    def objects(self) -> list[dict[str, Any]]:
        """The objects in the data, outer ones first."""
        return [] if self.data is UNSET else list(_objects(self.data))

    def with_object(self, position: int, replacement: dict[str, Any]) -> Any:
        """The data with one of its objects replaced."""
        data = copy.deepcopy(self.data)
        target = list(_objects(data))[position]
        target.clear()
        target.update(replacement)
        return data

    def tool_call(self) -> tuple[str, dict[str, Any]] | None:
        """A call of an offered tool; None where the model would make none.

        Once it has a tool's result a model answers, unless the script says that it calls a tool again.
        """
        if not self.tools or (self.request.tool_results and not self.reply.tool_calls):
            return None
        return self.any_tool_call()

    def any_tool_call(self) -> tuple[str, dict[str, Any]]:
        """The tool call that was scripted for this call, or else last, or else one of the first tool on offer."""
        call = next(iter(self.reply.tool_calls), self.last_tool_call)
        if call is not None and call.name in self.tools:
            return call.name, dict(call.arguments)
        name, tool = next(iter(self.tools.items()))
        return name, _arguments(tool.input_schema)


def _data_in(text: str) -> Any:
    with suppress(json.JSONDecodeError):
        if isinstance(data := json.loads(text), (dict, list)):
            return data
    return UNSET


def _objects(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        yield data
    for item in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _objects(item)


def _arguments(schema: Any) -> dict[str, Any]:
    from llm_mock.behaviour.generate import instance

    with suppress(LLMMockError):  # such as for a pattern
        if isinstance(arguments := instance(schema or {"type": "object"}), dict):
            return arguments
    return {}
