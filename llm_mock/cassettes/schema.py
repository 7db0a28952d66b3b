"""Data models of a cassette file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pydantic

from llm_mock.core.request import describe_tool, to_plain_json
from llm_mock.support.json_types import JSONObject
from llm_mock.support.numbers import check_finite
from llm_mock.support.text import join_alternatives

if TYPE_CHECKING:
    from llm_mock.core.request import Request

VERSION = 2
"""The version that is written. Files of version 1 have no count of their calls."""

Count = Annotated[int, pydantic.Field(ge=0)]
JSON = Annotated[Any, pydantic.AfterValidator(check_finite)]
"""A JSON value."""
FiniteJSONObject = Annotated[JSONObject, pydantic.AfterValidator(check_finite)]

RequestPart = Literal["model", "turn", "system", "prompt", "options", "schema", "tools"]


class _StrictModel(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(
        extra="forbid",
        populate_by_name=True,
        # By default, pydantic warns about fields whose names begin with `model_`.
        protected_namespaces=(),
    )

    def to_json(self) -> JSONObject:
        """Return the fields as JSON values, without those at their default."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


class RecordedTool(_StrictModel):
    """A tool that was offered to the model."""

    name: str
    description: str | None = None
    input_schema: JSONObject = {}

    @classmethod
    def from_tool(cls, tool: Any) -> RecordedTool:
        """Return the record of a tool."""
        fields = describe_tool(tool)
        # The defaults replace None.
        given = {name: value for name, value in fields.items() if value is not None}
        return cls(**given)


class RecordedToolResult(_StrictModel):
    """A result of a tool that was sent to the model."""

    name: str
    output: str
    attachments: list[RecordedAttachment] = []

    @classmethod
    def from_result(cls, result: Any) -> RecordedToolResult:
        """Return the record of a tool result."""
        # Tool results have attachments only in newer versions of `llm`.
        attachments = getattr(result, "attachments", None) or ()
        return cls(
            name=result.name or "",
            output=str(result.output),
            attachments=[RecordedAttachment.from_sent(attachment) for attachment in attachments],
        )


class RecordedAttachment(_StrictModel):
    """An attachment: the hash of a sent one; the hash and the content of a received one."""

    type: str | None = None
    url: str | None = None
    sha256: str | None = None
    bytes: Count | None = None
    """The size."""
    content: str | None = None
    """The content of a small received attachment, as base64."""
    file: str | None = None
    """The name of the file beside the cassette with the content of a larger received attachment."""

    @classmethod
    def from_sent(cls, attachment: Any) -> RecordedAttachment:
        """Return the record of an attachment that the application sent."""
        if attachment.url:
            return cls(type=attachment.type, url=attachment.url)
        content = attachment.content_bytes()
        return cls(
            type=attachment.type or attachment.resolve_type(),
            sha256=hash_content(content),
            bytes=len(content),
        )

    @classmethod
    def from_received(cls, attachment: Any) -> RecordedAttachment:
        """Return the record of an attachment of a response, without its content."""
        content = attachment.content
        if not content:
            return cls(type=attachment.type, url=attachment.url)
        return cls(
            type=attachment.type,
            url=attachment.url,
            sha256=hash_content(content),
            bytes=len(content),
        )


class RecordedRequest(_StrictModel):
    """The request of a recorded call."""

    model: str
    turn: Annotated[int, pydantic.Field(ge=1)] = 1
    system: str = ""
    prompt: str = ""
    tool_results: list[RecordedToolResult] = []
    attachments: list[RecordedAttachment] = []
    messages: list[JSONObject] = []
    """The history of the conversation, if the application itself passed it."""
    options: FiniteJSONObject = {}
    schema_: JSONObject | None = pydantic.Field(default=None, alias="schema")
    tools: list[RecordedTool] = []

    @classmethod
    def from_request(cls, request: Request) -> RecordedRequest:
        """Return the record of a request, without the history that earlier calls recorded."""
        fields: JSONObject = {
            "model": request.model_id,
            "turn": request.turn,
            "prompt": request.prompt,
        }
        if request.is_simple:
            options = request.options
            fields["system"] = request.system
        else:
            options = request.common_options()
            fields["system"] = request.system_message()
            fields["tool_results"] = [
                RecordedToolResult.from_result(result) for result in request.tool_results
            ]
            fields["attachments"] = [
                RecordedAttachment.from_sent(attachment) for attachment in request.attachments
            ]
            fields["messages"] = _remove_prompt(request.given_messages(), request.prompt)
        if request.schema:
            fields["schema"] = to_plain_json(request.schema)
        if request.tools:
            fields["tools"] = [RecordedTool.from_tool(tool) for tool in request.tools]
        given_options = {name: value for name, value in options.items() if value is not None}
        if given_options:
            fields["options"] = given_options
        return cls(**fields)

    def list_parts(self, names: Iterable[RequestPart]) -> list[Any]:
        """Return the parts that calls are matched by, as JSON values."""
        return [self._get_part(name) for name in names]

    def _get_part(self, name: RequestPart) -> Any:
        if name == "prompt":
            results = [result.to_json() for result in self.tool_results]
            attachments = [attachment.to_json() for attachment in self.attachments]
            return [self.messages, self.prompt, results, attachments]
        if name == "tools":
            return [tool.to_json() for tool in self.tools]
        # pydantic has a method `schema`, so the field has another name.
        return getattr(self, "schema_" if name == "schema" else name)


class RecordedEvent(_StrictModel):
    """Consecutive stream events of one kind, with their texts joined."""

    type: Literal["text", "reasoning", "tool_call_name", "tool_call_args", "tool_result"] = "text"
    text: str = ""
    chunks: list[Count] = []
    """The length of each chunk; empty for one chunk, and ignored when the text was edited."""
    tool_call_id: str | None = None
    tool_name: str | None = None
    server_executed: bool = False
    redacted: bool = False
    part_index: int | None = None
    message_index: int = 0
    provider_metadata: JSONObject | None = None
    later: JSONObject | None = None
    """Fields of the stream event that the plugin set after it had yielded the event."""


class RecordedToolCall(_StrictModel):
    """A tool call that the model made."""

    name: str
    arguments: FiniteJSONObject = {}
    tool_call_id: str | None = None
    attributes: JSONObject = {}
    """Attributes that the plugin set on the call for the next turn."""


class RecordedUsage(_StrictModel):
    """The tokens that the provider counted."""

    input: Count | None = None
    output: Count | None = None
    details: FiniteJSONObject | None = None


class RecordedHTTP(_StrictModel):
    """The HTTP response to a call by an SDK.

    The field `json` of the recorded response is its body, with `…` for the texts of `events`.
    """

    api: str
    """The API that was called; `endpoint` for requests that do not generate text."""
    status: Annotated[int, pydantic.Field(ge=200, le=399)] = 200
    streamed: bool = False
    """Whether `json` is a list of server-sent events."""
    headers: dict[str, str] = {}

    @pydantic.field_validator("api")
    @classmethod
    def _check_api(cls, api: str) -> str:
        # Imported late: the cassettes of `llm` have no HTTP responses.
        from llm_mock.boundaries.http.routing import list_apis

        known = list_apis()
        if api not in known:
            raise ValueError(f"should be {join_alternatives(map(repr, known))}")
        return api

    @pydantic.field_validator("headers")
    @classmethod
    def _check_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            has_valid_name = re.fullmatch(r"[!-~]+", name)
            has_valid_value = re.fullmatch(r"[\t -~\x80-\xff]*", value)
            if not has_valid_name or not has_valid_value:
                raise ValueError(f"the header {name!r} has a character that headers do not allow")
        return headers


class RecordedResponse(_StrictModel):
    """The response of a recorded call."""

    events: list[RecordedEvent] = []
    tool_calls: list[RecordedToolCall] = []
    attachments: list[RecordedAttachment] = []
    usage: RecordedUsage = RecordedUsage()
    resolved_model: str | None = None
    raw: JSON = pydantic.Field(default=None, alias="json")
    """The provider's payload."""
    prompt_json: JSON = None
    """The payload that was sent, as far as the plugin reports it."""
    prompt_json_repeats: dict[str, Count] = {}
    """The number of items, by list, that are left out because the previous call sent them."""
    attributes: JSONObject = {}
    """Other attributes that the plugin set on the response."""
    http: RecordedHTTP | None = None
    error: JSONObject | None = None
    """The exception that was raised after the events; see `exceptions.describe`."""
    unfinished: bool = False
    """Whether the application stopped reading here."""

    @pydantic.field_validator("error")
    @classmethod
    def _check_error(cls, error: JSONObject | None) -> JSONObject | None:
        if error is None:
            return error
        class_name = error.get("class")
        # An error that came over HTTP has no class if its SDK is unknown.
        is_http_error = class_name is None and isinstance(error.get("status_code"), int)
        has_class = isinstance(class_name, str) and class_name != ""
        if not is_http_error and not has_class:
            raise ValueError(
                "'class' is missing: the type of the exception, such as ValueError or "
                "openai:RateLimitError"
            )
        return error

    @pydantic.model_validator(mode="after")
    def _check_streamed_body(self) -> RecordedResponse:
        is_streamed = self.http is not None and self.http.streamed
        if is_streamed and not isinstance(self.raw, list):
            raise ValueError(
                "`json` must be the list of the server-sent events, because `http` has "
                "`streamed: true`"
            )
        return self


class RecordedCall(_StrictModel):
    """A recorded call."""

    request: RecordedRequest
    response: RecordedResponse


class CassetteFile(_StrictModel):
    """The content of a cassette file."""

    version: Literal[1, 2]
    incomplete: bool = False
    """Whether the test that recorded the calls failed, so that some may be missing."""
    calls: list[RecordedCall] = []
    count: int | None = None
    """The number of calls. It is on the last line, so that a file that was cut off is detected."""


def hash_content(content: bytes) -> str:
    """Return the hash that identifies the content of an attachment in a cassette."""
    return hashlib.sha256(content).hexdigest()


def get_history(request: Request) -> list[JSONObject]:
    """Return all messages before the prompt, including those of the conversation."""
    messages = [message for message in request.messages() if message["role"] != "system"]
    return _remove_prompt(messages, request.prompt)


def _remove_prompt(messages: list[JSONObject], prompt: str) -> list[JSONObject]:
    """Return messages without the prompt at their end, and with hashes in place of contents."""
    for message in messages:
        for part in message["parts"]:
            content = part.get("attachment", {}).pop("content", None)
            if content:
                part["attachment"]["sha256"] = hash_content(base64.b64decode(content))
    prompt_message = {"role": "user", "parts": [{"type": "text", "text": prompt}]}
    if messages and messages[-1] == prompt_message:
        return messages[:-1]
    return messages
