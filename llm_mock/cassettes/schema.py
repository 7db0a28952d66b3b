"""What a cassette file holds."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pydantic

from llm_mock.core.request import described_tool, plain
from llm_mock.support.numbers import check_finite

if TYPE_CHECKING:
    from llm_mock.core.request import Request as AskedRequest

VERSION = 2
"""What is written. Files of version 1 do not say how many calls they hold."""

Count = Annotated[int, pydantic.Field(ge=0)]
JSON = Annotated[Any, pydantic.AfterValidator(check_finite)]
"""A JSON value."""
JSONObject = Annotated[dict[str, Any], pydantic.AfterValidator(check_finite)]

RequestPart = Literal["model", "turn", "system", "prompt", "options", "schema", "tools"]


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", populate_by_name=True, protected_namespaces=())

    def plain(self) -> dict[str, Any]:
        """As JSON values, without what is at its default."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


class Tool(_Strict):
    """A tool that was offered."""

    name: str
    description: str | None = None
    input_schema: dict[str, Any] = {}

    @classmethod
    def of(cls, tool: Any) -> Tool:
        """One as the core has it."""
        return cls(**{name: value for name, value in described_tool(tool).items() if value is not None})


class ToolResult(_Strict):
    """What a tool had given."""

    name: str
    output: str
    attachments: list[Attachment] = []

    @classmethod
    def of(cls, result: Any) -> ToolResult:
        """One as the core has it."""
        sent = [Attachment.sent(attachment) for attachment in getattr(result, "attachments", None) or ()]
        return cls(name=result.name or "", output=str(result.output), attachments=sent)


class Attachment(_Strict):
    """An attachment: what was sent, by its hash; what came back, in the file or beside it."""

    type: str | None = None
    url: str | None = None
    sha256: str | None = None
    bytes: Count | None = None
    """Its size."""
    content: str | None = None
    """The content of a small one that came back, as base64."""
    file: str | None = None
    """The name of the file beside the cassette that holds a larger one that came back."""

    @classmethod
    def sent(cls, attachment: Any) -> Attachment:
        """One that the application sent."""
        if attachment.url:
            return cls(type=attachment.type, url=attachment.url)
        content = attachment.content_bytes()
        return cls(type=attachment.type or attachment.resolve_type(), sha256=digest(content), bytes=len(content))

    @classmethod
    def received(cls, attachment: Any) -> Attachment:
        """One that came back; its content is kept beside it."""
        known, content = cls(type=attachment.type, url=attachment.url), attachment.content
        return known.model_copy(update={"sha256": digest(content), "bytes": len(content)}) if content else known


class Request(_Strict):
    """What was asked."""

    model: str
    turn: Annotated[int, pydantic.Field(ge=1)] = 1
    system: str = ""
    prompt: str = ""
    tool_results: list[ToolResult] = []
    attachments: list[Attachment] = []
    messages: list[dict[str, Any]] = []
    """What the application itself gave as the history of the conversation."""
    options: JSONObject = {}
    schema_: dict[str, Any] | None = pydantic.Field(default=None, alias="schema")
    tools: list[Tool] = []

    @classmethod
    def of(cls, request: AskedRequest) -> Request:
        """What a call asked; the history that a conversation gave it was recorded before."""
        return cls(
            model=request.model_id,
            turn=request.turn,
            system=request.system_message(),
            prompt=request.prompt,
            tool_results=[ToolResult.of(result) for result in request.tool_results],
            attachments=[Attachment.sent(attachment) for attachment in request.attachments],
            messages=list(_without_what_is_asked(request.given_messages(), request.prompt)),
            options={name: value for name, value in request.common_options().items() if value is not None},
            schema=plain(request.schema) or None,
            tools=[Tool.of(tool) for tool in request.tools],
        )

    def part(self, name: str) -> Any:
        """One of the parts by which a call is found."""
        if name == "prompt":
            results, attachments = [each.plain() for each in self.tool_results], [a.plain() for a in self.attachments]
            return [self.messages, self.prompt, results, attachments]
        if name == "tools":
            return [tool.plain() for tool in self.tools]
        return getattr(self, "schema_" if name == "schema" else name)


class Event(_Strict):
    """Consecutive stream events of one kind, with their text together."""

    type: Literal["text", "reasoning", "tool_call_name", "tool_call_args", "tool_result"] = "text"
    text: str = ""
    chunks: list[Count] = []
    """The length of each piece; empty for one piece, and ignored when the text was edited."""
    tool_call_id: str | None = None
    tool_name: str | None = None
    server_executed: bool = False
    redacted: bool = False
    part_index: int | None = None
    message_index: int = 0
    provider_metadata: dict[str, Any] | None = None
    later: dict[str, Any] | None = None
    """Fields of the stream event that the plugin completed when the answer had ended."""


class ToolCall(_Strict):
    """A tool call that the model made."""

    name: str
    arguments: JSONObject = {}
    tool_call_id: str | None = None
    attributes: dict[str, Any] = {}
    """What the plugin put on it for the next turn."""


class Usage(_Strict):
    """The tokens that the provider counted."""

    input: Count | None = None
    output: Count | None = None
    details: JSONObject | None = None


class HTTP(_Strict):
    """How an answer came over HTTP, where an SDK asked; `json` is its body then, with `…` for the texts of `events`."""

    api: Literal["chat.completions", "responses", "messages", "generate_content"]
    """Which API was asked."""
    streamed: bool = False
    """Whether `json` is the list of the server-sent events."""
    headers: dict[str, str] = {}

    @pydantic.field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not re.fullmatch(r"[!-~]+", name) or not re.fullmatch(r"[\t -~\x80-\xff]*", value):
                raise ValueError(f"the header {name!r} has a character that no header can have")
        return headers


class Response(_Strict):
    """What was answered."""

    events: list[Event] = []
    tool_calls: list[ToolCall] = []
    attachments: list[Attachment] = []
    usage: Usage = Usage()
    resolved_model: str | None = None
    raw: JSON = pydantic.Field(default=None, alias="json")
    """The provider's payload."""
    prompt_json: JSON = None
    """What the plugin says it sent."""
    prompt_json_repeats: dict[str, Count] = {}
    """How many items each of its lists begins with that were sent by the call before; they are left out."""
    attributes: dict[str, Any] = {}
    """What else the plugin put on the response, under names of its own."""
    http: HTTP | None = None
    error: dict[str, Any] | None = None
    """The exception that was raised, after the events; its `class` is its type."""
    unfinished: bool = False
    """The application stopped reading here."""

    @pydantic.field_validator("error")
    @classmethod
    def _has_a_type(cls, error: dict[str, Any] | None) -> dict[str, Any] | None:
        if error is None:
            return error
        kind = error.get("class")
        if isinstance(kind, str) and kind:
            return error
        if kind is None and isinstance(error.get("status_code"), int):  # of an SDK that is not known
            return error
        raise ValueError("'class' is missing, the type of the exception, such as ValueError or openai:RateLimitError")

    @pydantic.model_validator(mode="after")
    def _has_its_events(self) -> Response:
        if self.http is not None and self.http.streamed and not isinstance(self.raw, list):
            raise ValueError("`json` should be the list of the server-sent events, as `http` says `streamed: true`")
        return self


class Call(_Strict):
    """One recorded call."""

    request: Request
    response: Response


class CassetteFile(_Strict):
    """The whole file."""

    version: Literal[1, 2]
    incomplete: bool = False
    """The test that recorded the calls failed, so there may be more to record."""
    calls: list[Call] = []
    count: int | None = None
    """How many calls there are, as the last line from version 2 on; without it a file that was cut off could be one."""


def digest(content: bytes) -> str:
    """The hash by which a cassette knows the content of an attachment."""
    return hashlib.sha256(content).hexdigest()


def whole_history(request: AskedRequest) -> list[dict[str, Any]]:
    """The messages before what is asked now, also where a conversation gave them."""
    messages = [message for message in request.messages() if message["role"] != "system"]
    return list(_without_what_is_asked(messages, request.prompt))


def _without_what_is_asked(messages: list[dict[str, Any]], prompt: str) -> Iterator[dict[str, Any]]:
    """Messages without the text that is asked now, and with the hash of an attachment for its content."""
    for position, message in enumerate(messages, start=1):
        for part in message["parts"]:
            if content := part.get("attachment", {}).pop("content", None):
                part["attachment"]["sha256"] = digest(base64.b64decode(content))
        asked_now = {"role": "user", "parts": [{"type": "text", "text": prompt}]}
        if position < len(messages) or message != asked_now:
            yield message
