"""The context in which a fault of the catalogue changes a reply."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llm_mock.core.reply import DEFAULT_REPLY, UNSET, Reply
from llm_mock.errors import LLMMockError
from llm_mock.support import schemas

if TYPE_CHECKING:
    from llm_mock.core.latency import Latency
    from llm_mock.core.request import Request
    from llm_mock.support.json_types import JSONObject

KEPT_FIELDS = ("usage", "resolved_model", "reasoning", "attachments", "latency")
"""The fields of a reply that survive a change of its content."""


@dataclass
class FaultContext:
    """A call that a model is about to answer, with facts about the calls before it."""

    model_id: str
    request: Request
    reply: Reply
    """The configured reply."""
    first_answer: Reply | None
    """The first answer of the same model, if there was one."""
    last_tool_call: Any
    """The tool call that was scripted last."""
    applied: int
    """The number of calls that the fault was applied to so far."""

    def __post_init__(self) -> None:
        self.schema = self.request.schema
        self.tools: dict[str, Any] = {tool.name: tool for tool in self.request.tools}
        self.data: Any = UNSET
        """The object or list in the reply's text; UNSET if the text is not JSON."""
        # The default reply is JSON only by accident: without a schema nobody asked for JSON.
        is_unasked = self.reply is DEFAULT_REPLY and not self.schema
        if not is_unasked:
            self.data = _parse_container(self.reply.content)

    def change_reply(self, text: str | None = None, **fields: Any) -> Reply:
        """Return the reply with other content; the `KEPT_FIELDS` stay."""
        kept = {name: getattr(self.reply, name) for name in KEPT_FIELDS}
        return Reply(text, invalid=True, **kept | fields)

    def delay_reply(self, latency: Latency) -> Reply:
        """Return the same reply with another latency."""
        reply = copy.copy(self.reply)
        # A `Reply` is frozen: writing to `__dict__` goes around its `__setattr__`.
        reply.__dict__.update(latency=latency, invalid=True)
        return reply

    def pace_reply(self, latency: Latency) -> Reply:
        """Return the same reply with another latency; it is checked like any other reply."""
        reply = copy.copy(self.reply)
        reply.__dict__["latency"] = latency
        return reply

    def breaks_the_schema(self, data: object) -> bool:
        """Return whether the data violate the schema; without a schema all data do."""
        if self.schema is None:
            return True
        return next(schemas.find_violations(self.schema, data), None) is not None

    def list_objects(self) -> list[JSONObject]:
        """Return the objects in the data, outer ones first."""
        return [] if self.data is UNSET else list(_iter_objects(self.data))

    def replace_object(self, position: int, replacement: JSONObject) -> Any:
        """Return the data with one of its objects replaced."""
        data = copy.deepcopy(self.data)
        target = list(_iter_objects(data))[position]
        target.clear()
        target.update(replacement)
        return data

    def choose_tool_call(self) -> tuple[str, JSONObject] | None:
        """Return a call to an offered tool; None if the model would not call a tool.

        After a tool result, a model answers unless the script calls a tool again.
        """
        has_results_only = self.request.tool_results and not self.reply.tool_calls
        if not self.tools or has_results_only:
            return None
        return self.choose_any_tool_call()

    def choose_any_tool_call(self) -> tuple[str, JSONObject]:
        """Return the scripted tool call, else the last one, else one of the first offered tool."""
        call = next(iter(self.reply.tool_calls), self.last_tool_call)
        # The tool of the last call may no longer be offered.
        if call is not None and call.name in self.tools:
            return call.name, dict(call.arguments)
        name, tool = next(iter(self.tools.items()))
        return name, _generate_arguments(tool.input_schema)


def _parse_container(text: str) -> Any:
    """Return the JSON object or list in a text, or UNSET."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        return UNSET
    return data if isinstance(data, (dict, list)) else UNSET


def _iter_objects(data: object) -> Iterator[JSONObject]:
    items: Iterable[Any] = ()
    if isinstance(data, dict):
        yield data
        items = data.values()
    elif isinstance(data, list):
        items = data
    for item in items:
        yield from _iter_objects(item)


def _generate_arguments(schema: Any) -> JSONObject:
    # Imported late: generating needs `referencing` and `jsonschema`.
    from llm_mock.behaviour.generate import generate_instance

    try:
        arguments = generate_instance(schema or {"type": "object"})
    except LLMMockError:
        # For example a `pattern`, which is not generated.
        return {}
    return arguments if isinstance(arguments, dict) else {}
