"""The record of a call, which tests, checks, reports and cassettes read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from time import time_ns
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from llm_mock.core.call_parts import CallPart, CallParts, UnknownCallKey
from llm_mock.core.keys import make_passed_key
from llm_mock.core.request import copy_json, describe_attachments, describe_tool
from llm_mock.support.json_types import JSONObject
from llm_mock.support.schemas import get_schema_name
from llm_mock.support.text import find_nearest, shorten, shorten_name, suggest_nearest

if TYPE_CHECKING:
    from llm_mock.core.request import Request


DEFAULTS: dict[bool, dict[str, float | None]] = {
    True: {"temperature": 0.0, "max_tokens": 1000},
    False: {"temperature": None},
}
"""The documented defaults of `prompt()`, recorded for calls that do not pass these options."""


SYNONYMS = {
    "answer": "response",
    "content": "response",
    "output": "response",
    "reply": "response",
    "result": "response",
    "response_text": "response",
    "text": "response",
    "tool_calls": "response",
    "system_prompt": "system",
    "history": "messages",
    "images": "attachments",
    "files": "attachments",
    "body": "request",
}
"""Wrong names for a key or an attribute of a call that tests often use."""


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "ABSENT"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
"""The value of a parameter that must not be sent, such as `temperature=ABSENT`."""


class SentRequest(NamedTuple):
    """The HTTP request of a call, without secrets."""

    method: str
    """The method, such as `POST`."""
    url: str
    """The URL with its query."""
    headers: Mapping[str, str]
    """The headers; their names are in lower case."""
    body: JSONObject
    """The JSON body with exactly the fields that were sent."""
    extra_body: JSONObject | None = None
    """The fields of the body that the method of OpenAI's or Anthropic's SDK has no argument for, so
    that applications pass them in `extra_body`; None for another API."""


class Call(dict[str, Any]):
    """The record of one call to a model: a mapping of JSON values with typed attributes.

    Keys and attributes describe the same call. The keys are a snapshot that can be written as JSON.
    They are `timestamp`, `number`, `model_id`, `turn`, `prompt`, `prompt_length`, `kwargs`,
    `schema`, `tools`, `options`, `key`, `response`, `error`, `input_tokens`, `output_tokens` and
    `configured`. A misbehaviour adds `misbehaviour`, and `prompt(stream=False)` adds `stream`.
    Calls over HTTP also have `api`, `provider`, `sdk`, `stream`, `tool_choice`, `fingerprint`,
    `status`, `retry_after`, `shortened_wait`, `cut_off`, `malformed` and `finish_reason`.
    """

    # Slots without a value read as None; see `__getattr__`.
    __slots__ = ("_described", "_request", "_test")

    _described: JSONObject | None
    """The messages and the HTTP request, if they were read before or are from another process."""
    _request: Request | None
    """The request, which the messages are built from on the first read.

    It is None if prompt and system prompt are all messages, so that a long history takes little
    memory."""
    _test: str | None

    def __repr__(self) -> str:
        """Return one short line, because pytest shows the calls of a failed `len(calls) == 2`."""
        model = shorten_name(str(self.get("model_id")))
        results = self.get("kwargs", {}).get("tool_results", ())
        # A turn that only returns tool results has an empty prompt.
        outputs = [result["output"] for result in results]
        return f"<Call {self.get('number')}: {model} {shorten(self.get('prompt') or outputs)}>"

    def __missing__(self, key: object) -> Any:
        name = SYNONYMS.get(str(key), str(key))
        attributes = _attributes()
        nearest = find_nearest(name, [*self, *attributes])
        if nearest in self:
            hint = f"; did you mean {nearest!r}?"
        elif nearest:
            hint = f"; did you mean the attribute call.{nearest}?"
        else:
            hint = "."
        keys, names = ", ".join(self), ", ".join(attributes)
        raise UnknownCallKey(
            f"A call has no key {key!r}{hint} Its keys: {keys}. Its attributes: {names}."
        )

    # Hidden from type checkers, which would otherwise accept any attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in Call.__slots__:
                return None
            # `copy` and `pickle` look for methods that a dict need not have.
            if name.startswith("__"):
                raise AttributeError(name)
            # A property that failed comes here too, and shows its own error.
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)
            known = _attributes()
            hint = suggest_nearest(SYNONYMS.get(name, name), known) or "."
            if name in self:
                hint = f", but a key: call[{name!r}]."
            elif name == "tool_calls":
                hint = ". The tool calls of the answer are in call.response['tool_calls']."
            message = f"A call has no attribute {name!r}{hint} Its attributes: {', '.join(known)}."
            # Without `obj`, because Python 3.12 and later would add a suggestion of their own.
            raise AttributeError(message, name=name)

    def __reduce__(self) -> tuple[Any, ...]:
        # The request belongs to a library and cannot be pickled, so its description goes instead.
        return restore_call, (dict(self), self.describe_request(), self._test)

    def copy(self) -> Call:
        """Return a copy that also has the attributes."""
        return restore_call(dict(self), self.describe_request(), self._test)

    def describe_request(self) -> JSONObject:
        """Return the messages and the HTTP request as JSON values, for a process or a copy."""
        described = self._described
        if described is None:
            described = {"messages": self._simple_messages(), "request": None}
            request = self._request
            if request is not None:
                described["messages"] = [_flatten_message(each) for each in request.messages()]
                sent = request.get_sent_request()
                described["request"] = None if sent is None else [*sent]
            self._described = described
        return described

    def _simple_messages(self) -> list[JSONObject]:
        texts = {"system": self.system, "user": self.prompt}
        return [{"role": role, "text": text} for role, text in texts.items() if text]

    @property
    def number(self) -> int:
        """The position among all calls of the mock, from 1."""
        return int(self["number"])

    @property
    def model(self) -> str:
        """The id of the called model."""
        return str(self["model_id"])

    @property
    def prompt(self) -> str:
        """The text of the prompt: the last message of the user."""
        return str(self["prompt"])

    @property
    def system(self) -> str:
        """The system prompt; empty without one."""
        return str(self["kwargs"].get("system", ""))

    @property
    def messages(self) -> list[JSONObject]:
        """All messages that were sent to the model, in the same form for every library.

        Each message has `role` and `text`. It also has `reasoning`, `tool_calls` (`name`,
        `arguments`, `tool_call_id`), `tool_results` (`name`, `output`, `tool_call_id`, and
        `is_error` if the application reports that the tool failed) and `attachments`, if these
        were sent. The system prompt is the first message.
        """
        return CallParts("message", self.describe_request()["messages"], self.number)

    @property
    def tools(self) -> list[JSONObject]:
        """The offered tools, each with `name`, `description` and `input_schema`."""
        return CallParts("tool", self["tools"], self.number)

    @property
    def tool_results(self) -> list[JSONObject]:
        """The tool results that this call sends to the model, each with `name` and `output`.

        `is_error` is True if the application reports an error to Anthropic or Bedrock.
        """
        return CallParts("tool result", self["kwargs"].get("tool_results", ()), self.number)

    @property
    def schema(self) -> JSONObject | None:
        """The requested JSON schema; None without one."""
        schema: JSONObject | None = self["schema"]
        return schema

    @property
    def options(self) -> JSONObject:
        """The options of the call, such as `temperature`; only those that were passed."""
        return CallPart("dict of options", self["options"])

    @property
    def attachments(self) -> list[JSONObject]:
        """The attachments of the prompt, each with `type`, and `path`, `url` or `bytes`."""
        return CallParts("attachment", self["kwargs"].get("attachments", ()), self.number)

    @property
    def turn(self) -> int:
        """The position of the answer in its conversation, from 1."""
        return int(self["turn"])

    @property
    def stream(self) -> bool | None:
        """True if a stream was requested; through `llm`, False for `stream=False`, else None."""
        return self.get("stream")

    @property
    def response(self) -> Any:
        """The answer: a text, or the data of a structured reply; None for an error."""
        return self["response"]

    @property
    def error(self) -> str | None:
        """The message of the error that was raised; None without one."""
        error: str | None = self["error"]
        return error

    @property
    def usage(self) -> dict[str, int | None]:
        """The tokens of the call: `input_tokens` and `output_tokens`; None for an error."""
        tokens = {name: self[name] for name in ("input_tokens", "output_tokens")}
        return CallPart("usage", tokens)

    @property
    def test(self) -> str | None:
        """The node id of the test that made the call; None outside of pytest."""
        return self._test

    def waits_forever(self) -> bool:
        """Return whether the client is in this process and is known to have no read timeout."""
        return self._request is not None and self._request.waits_forever

    @property
    def request(self) -> SentRequest | None:
        """The HTTP request; None through `llm`."""
        sent = self.describe_request()["request"]
        if sent is None:
            return None
        request = SentRequest(*sent)
        return request._replace(body=CallPart("request body", request.body))


def get_told_wait(call: Call) -> float | None:
    """Return the seconds that a response told the client to wait; None without such a header."""
    wait: float | None = call.get("shortened_wait", call.get("retry_after"))
    return wait


def _attributes() -> list[str]:
    """Return the names of the public attributes of a call."""
    return [name for name, value in vars(Call).items() if isinstance(value, property)]


def restore_call(
    fields: JSONObject, described: JSONObject | None = None, test: str | None = None
) -> Call:
    """Return a call of another process, or a copy."""
    call = Call(fields)
    call._described, call._test = described, test
    return call


def _flatten_message(message: Mapping[str, Any]) -> JSONObject:
    """Return a message with its parts grouped by kind."""
    kinds: dict[str, list[Any]] = {}
    for part in message["parts"]:
        values = {key: value for key, value in part.items() if key != "type"}
        kinds.setdefault(part["type"], []).append(values)
    flat: JSONObject = {"role": message["role"], "text": _join_texts(kinds, "text")}
    if "reasoning" in kinds:
        flat["reasoning"] = _join_texts(kinds, "reasoning")
    for kind in ("tool_call", "tool_result"):
        if kind in kinds:
            flat[f"{kind}s"] = kinds[kind]
    if "attachment" in kinds:
        flat["attachments"] = [part["attachment"] for part in kinds["attachment"]]
    return flat


def _join_texts(kinds: Mapping[str, list[Any]], kind: str) -> str:
    return "\n".join(part["text"] for part in kinds.get(kind, ()) if part["text"])


_current_second: tuple[int, str] = (-1, "")
"""The microseconds at the start of the current second, and the start of its timestamps."""


def format_now() -> str:
    """Return the current local time in ISO 8601 with microseconds."""
    # Cached for each second, because formatting a new one takes three times as long.
    global _current_second
    moment = time_ns() // 1000
    second, formatted = _current_second
    microseconds = moment - second
    if not 0 <= microseconds < 1_000_000:
        microseconds = moment % 1_000_000
        second = moment - microseconds
        formatted = datetime.fromtimestamp(second // 1_000_000).isoformat()
        _current_second = second, formatted
    return f"{formatted}.{microseconds:06}"


def new_call(request: Request, test: str | None) -> Call:
    """Return the record of a call that is not answered yet and has no number yet.

    Args:
        request: the request.
        test: the node id of the test that makes the call; None outside of pytest.
    """
    options = request.options
    text = request.prompt
    schema_name = schema = None
    if request.schema:
        schema_name = get_schema_name(request.schema)
        schema = copy_json(request.schema)
    model_id = request.model_id
    defaults = DEFAULTS[request.passed]
    call = Call(
        {
            "timestamp": format_now(),
            "number": 0,
            "model_id": model_id,
            "turn": request.turn,
            "prompt": text,
            "prompt_length": len(text),
            "kwargs": {"schema": schema_name, **defaults, "model": model_id, **options},
            "schema": schema,
            "tools": [],
            "options": options,
            "key": make_passed_key(request.key) if request.key else None,
            "response": None,
            "error": None,
            "input_tokens": None,
            "output_tokens": None,
            "configured": True,
        }
    )
    call._test = test
    # Most calls are only a text, and skip the rest.
    if request.is_text:
        return call
    if not request.is_simple:
        _keep_request(call, request)
    if request.system or request.tools or request.tool_results or request.attachments:
        _add_further_inputs(call, request)
    if request.stream is False:
        call["stream"] = False
    return call


def _keep_request(call: Call, request: Request) -> None:
    """Keep the request, so that the messages can be built on the first read."""
    call._request = request
    if request.http_fields is not None:
        call.update(request.http_fields)
    # The application may change or remove a file before the messages are read.
    if request.attachments and any(each.path for each in request.attachments):
        call.describe_request()


def _add_further_inputs(call: Call, request: Request) -> None:
    """Add the system prompt, tools, tool results and attachments of a request to its record."""
    kwargs = call["kwargs"]
    # A record has these keys only if the request has the values.
    if request.system:
        kwargs["system"] = request.system
    if request.tools:
        kwargs["tools"] = [tool.name for tool in request.tools]
        call["tools"] = [describe_tool(tool) for tool in request.tools]
    if request.tool_results:
        results = []
        for result in request.tool_results:
            described = {"name": result.name, "output": result.output}
            if getattr(result, "is_error", False):
                described["is_error"] = True
            results.append(described)
        kwargs["tool_results"] = results
    if request.attachments:
        descriptions = describe_attachments(request.attachments, hashed=False)
        kwargs["attachments"] = [{"type": None, **attachment} for attachment in descriptions]
