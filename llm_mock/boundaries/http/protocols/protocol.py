"""The interface of a provider's API, and helpers that several APIs share."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from pydantic_core import from_json

from llm_mock.boundaries.http.body_types import Mismatch, Shape
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.error_formats import ErrorFormat
from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor
from llm_mock.boundaries.http.request import Attachment, HTTPRequest, Message, Tool
from llm_mock.boundaries.http.wire import WireRequest
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import Wait
from llm_mock.core.mock import Mock
from llm_mock.support.json_types import JSONObject

DEPLOYMENT = re.compile("/deployments/([^/]+)/")


class WireProtocol(Protocol):
    """The interface of an API. Each module of this package has an instance named `PROTOCOL`."""

    provider: ProviderDescriptor
    """The provider whose error format the API uses."""

    def parse_request(self, sent: WireRequest, mock: Mock) -> HTTPRequest:
        """Parse the body of a request.

        Args:
            sent: the request.
            mock: the mock that answers it.

        Raises:
            WireError: the body is not valid for this API.
        """

    def build_body(self, context: ResponseContext, reply: CompleteReply) -> Any:
        """Return the body of a response that is not streamed, as JSON values."""

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """Yield the events of a streamed response.

        Raises:
            Exception: the error of the reply, at its position in the stream.
        """

    def build_unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """Encode an error within a stream.

        Args:
            error: the error.
            number: the number of events before it.
        """


def parse_json_body(content: bytes) -> JSONObject:
    """Parse a body as a JSON object.

    Raises:
        WireError: the body is not a JSON object; the message is the provider's.
    """
    try:
        value = from_json(content, allow_inf_nan=False)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise WireError(400, "We could not parse the JSON body of your request.")
    return value


def read_model(body: JSONObject, sent: WireRequest) -> str:
    """Return the model in a body, or else the Azure deployment in the path.

    Returns:
        The name, or an empty string.
    """
    model: str | None = body.get("model")
    if model is not None:
        return model
    deployment = DEPLOYMENT.search(sent.path)
    return "" if deployment is None else deployment[1]


def validate_body(
    body: JSONObject, shape: Shape, errors: ErrorFormat, *required: str
) -> JSONObject:
    """Validate the types of a body's fields, and return the body.

    Args:
        body: the body.
        shape: the types of its fields.
        errors: the format of the provider's errors.
        required: the fields that must be present.

    Raises:
        WireError: a type is wrong or a field is missing; the message is the provider's.
    """
    # Like the providers, report a wrong type before a missing field.
    mismatch = find_mismatch(body, shape)
    if mismatch is not None:
        raise errors.build_invalid_type_error(mismatch)
    for name in required:
        if body.get(name) is None:
            raise errors.build_missing_field_error(name)
    return body


# This runs for each value of each request. It does not use pydantic, which has its own error
# messages and is slower to import.
def find_mismatch(value: Any, shape: Shape) -> Mismatch | None:
    """Return the first value that does not have the type of its shape; None for a valid body."""
    kind = type(value)
    if kind not in shape.types:
        return Mismatch((), shape, value)
    if kind is dict and shape.fields:
        return _find_in_object(value, shape.fields)
    if kind is list and shape.items is not None:
        return _find_in_list(value, shape.items)
    return None


def _find_in_object(value: dict[str, object], fields: dict[str, Shape]) -> Mismatch | None:
    for name, item in value.items():
        shape = fields.get(name)
        if shape is None or item is None:
            continue
        mismatch = find_mismatch(item, shape)
        if mismatch is not None:
            # For speed, the path is built only if there is a mismatch.
            return mismatch._replace(path=(name, *mismatch.path))
    return None


def _find_in_list(value: list[object], shape: Shape) -> Mismatch | None:
    for index, item in enumerate(value):
        mismatch = find_mismatch(item, shape)
        if mismatch is not None:
            return mismatch._replace(path=(index, *mismatch.path))
    return None


def make_text_part(text: str) -> Message:
    """Return a message part for a text."""
    return {"type": "text", "text": text}


def parse_parts(
    content: str | list[object] | None, parse_part: Callable[[JSONObject], Message | None]
) -> list[Message]:
    """Parse the content of a message, which is a text or a list of parts.

    Args:
        content: the content.
        parse_part: parses a part; returns None for an unknown type, which is skipped.
    """
    if isinstance(content, str):
        return [make_text_part(content)] if content else []
    parts = []
    for item in content or ():
        part = parse_part(item) if isinstance(item, dict) else None
        if part is not None:
            parts.append(part)
    return parts


def make_attachment_part(
    type: str | None, url: str | None = None, content: bytes | None = None
) -> Message:
    """Return a message part for an attachment."""
    return {"type": "attachment", "attachment": Attachment(type, url, content)}


def make_url_part(url: str, type: str | None = None) -> Message:
    """Return a message part for a URL; a `data:image/png;base64,…` URL is decoded."""
    if not url.startswith("data:"):
        # Nothing is downloaded: the attachment has only its URL.
        return make_attachment_part(type, url)
    head, _, data = url[5:].partition(",")
    media_type = head.split(";")[0]
    return make_base64_part(data, media_type or type)


def make_base64_part(data: str, type: str | None) -> Message:
    """Return a message part for data in base64, in the standard or the URL-safe alphabet.

    Raises:
        WireError: the data is not valid base64.
    """
    try:
        standard = data.replace("-", "+").replace("_", "/")
        # Some clients leave out the padding, which `b64decode` requires.
        padding = "=" * (-len(data) % 4)
        content = base64.b64decode(standard + padding, validate=True)
    except (binascii.Error, ValueError, AttributeError):
        raise WireError(400, "Invalid base64 data.") from None
    return make_attachment_part(type, None, content)


def make_file_part(data: str, filename: str | None) -> Message:
    """Return a message part for a file, whose data is a URL or base64.

    Raises:
        WireError: the data is not valid base64.
    """
    # OpenRouter accepts URLs of files, too.
    if data.startswith(("data:", "http://", "https://")):
        return make_url_part(data, "application/pdf")
    media_type = mimetypes.guess_type(filename or "")[0]
    return make_base64_part(data, media_type or "application/pdf")


def extract_options(body: JSONObject, *known: str) -> JSONObject:
    """Return the options in a body: all fields except known and empty ones."""
    options = {}
    for name, value in body.items():
        if name not in known and value is not None:
            options[name] = value
    return options


def remove_format(body: JSONObject, config_name: str, format_name: str) -> JSONObject:
    """Return a body without the answer format, as the call stores it as a schema.

    Args:
        body: the body.
        config_name: the field with the format, whose other fields are options.
        format_name: the field with the format in it.
    """
    config = body.get(config_name)
    if not isinstance(config, dict) or format_name not in config:
        return body
    others = {name: value for name, value in config.items() if name != format_name}
    return {**body, config_name: others or None}


def parse_json_or_text(text: Any) -> Any:
    """Parse a text as JSON; return it unchanged if it is not valid JSON."""
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def encode_arguments(arguments: str) -> JSONObject:
    """Return the arguments of a tool call as an object; broken JSON becomes `{"_raw": …}`."""
    value = parse_json_or_text(arguments)
    return value if isinstance(value, dict) else {"_raw": arguments}


def parse_allowed_tools(mode: str | None, tools: Iterable[JSONObject]) -> str | None:
    """Return the tool choice for a set of allowed tools.

    Args:
        mode: `auto` or `required`.
        tools: the tools, each with its `name`; tools of other types have none.

    Returns:
        The name of the tool if it is the only one and must be called, else the mode.
    """
    names = [tool.get("name") for tool in tools]
    if mode == "required" and len(names) == 1 and names[0]:
        return str(names[0])
    return mode


def parse_function_tools(body: JSONObject) -> list[Tool]:
    """Return the tools of a request that uses the form of `FUNCTION_TOOLS`."""
    tools = []
    for tool in body.get("tools") or ():
        function = tool.get("function") or {}
        name = str(function.get("name"))
        tools.append(Tool(name, function.get("description"), function.get("parameters")))
    return tools


def add_schema_title(schema: object, name: object) -> JSONObject | None:
    """Return a schema with a title, which replies use as its name.

    Args:
        schema: the schema of the request; if it is not an object, None is returned.
        name: the name in the request; the schema's own title takes precedence.
    """
    if not isinstance(schema, dict):
        return None
    return {"title": name, **schema} if name else schema


def split_tool_results(parts: list[Message], role: str) -> Iterator[Message]:
    """Yield the messages of a turn, with tool results in a separate message.

    Anthropic and Google send tool results in a user message, OpenAI and `llm` do not.
    """
    results = [part for part in parts if part["type"] == "tool_result"]
    others = [part for part in parts if part["type"] != "tool_result"]
    # Results first: they answer the previous turn, and the user's text follows them.
    if results:
        yield {"role": "tool", "parts": results}
    if others or not results:
        yield {"role": role, "parts": others}


def join_text(parts: list[Message]) -> str:
    """Return the text of message parts, one line per part."""
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return "\n".join(texts)
