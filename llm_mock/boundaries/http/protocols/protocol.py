"""What every protocol can do: read a request, write an answer in one piece or streamed, and say what went wrong."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from llm_mock.boundaries.http.body_types import Shape, find_mismatch
from llm_mock.boundaries.http.chunks import CompleteReply, ResponseContext
from llm_mock.boundaries.http.error_formats import ErrorFormat
from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.request import Attachment, HTTPRequest, Message
from llm_mock.boundaries.http.wire import WireRequest
from llm_mock.core.events import Wait


class WireProtocol(Protocol):
    """One API of the providers. A module of this package has an instance of it named `PROTOCOL`."""

    errors: ErrorFormat
    """How the provider tells what went wrong."""

    def parse_request(self, sent: WireRequest) -> HTTPRequest:
        """What is asked.

        Raises:
            WireError: the body is not one of this API.
        """

    def build_body(self, context: ResponseContext, whole: CompleteReply) -> Any:
        """The body of an answer in one piece, as JSON values."""

    def stream(self, context: ResponseContext) -> Iterator[bytes | Wait]:
        """The body of a streamed answer. Raises the error of the reply where it comes."""

    def unknown_model_error(self, model_id: str) -> WireError:
        """What is answered where there is no such model."""

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """An error within a stream, behind so many events."""


def text_part(text: str) -> Message:
    """A part of a message that is text."""
    return {"type": "text", "text": text}


def parse_parts(content: Any, read: Callable[[dict[str, Any]], Message | None]) -> list[Message]:
    """The parts of a message's content, which is a text or a list; what `read` does not know is left out."""
    if isinstance(content, str):
        return [text_part(content)] if content else []
    return [part for given in content or () if isinstance(given, dict) and (part := read(given)) is not None]


def attachment_part(type: str | None, url: str | None = None, content: bytes | None = None) -> Message:
    """A part of a message that is an attachment."""
    return {"type": "attachment", "attachment": Attachment(type, url, content)}


def url_part(url: str, type: str | None = None) -> Message:
    """The part for a URL; one that holds its data (`data:image/png;base64,…`) is read."""
    if not url.startswith("data:"):
        return attachment_part(type, url)
    head, _, data = url[5:].partition(",")
    return base64_part(data, head.split(";")[0] or type)


def base64_part(data: str, type: str | None) -> Message:
    """The part for data in base64, in either alphabet.

    Raises:
        WireError: it is none.
    """
    try:
        content = base64.b64decode(data.replace("-", "+").replace("_", "/") + "=" * (-len(data) % 4), validate=True)
    except (binascii.Error, ValueError, AttributeError):
        raise WireError(400, "Invalid base64 data.") from None
    return attachment_part(type, None, content)


def validate_body(body: dict[str, Any], shape: Shape, errors: ErrorFormat, *required: str) -> dict[str, Any]:
    """Return a body whose values have the types that the API wants, and which has the fields that are required.

    Raises:
        WireError: it is malformed; in the provider's words.
    """
    mismatch = find_mismatch(body, shape)
    if mismatch is not None:
        raise errors.invalid_type(mismatch)
    for name in required:
        if body.get(name) is None:
            raise errors.missing_field(name)
    return body


def extract_options(body: dict[str, Any], *known: str) -> dict[str, Any]:
    """The fields of a body that are options: all but those named, and those that say nothing."""
    return {name: value for name, value in body.items() if name not in known and value is not None}


def parse_json_or_text(text: Any) -> Any:
    """The JSON value that a text is; a text that is none stays one."""
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def add_schema_title(schema: Any, name: Any) -> dict[str, Any] | None:
    """A schema with a title, by which replies name it: its own, or the name that the request gives it."""
    return ({"title": name, **schema} if name else schema) if isinstance(schema, dict) else None
