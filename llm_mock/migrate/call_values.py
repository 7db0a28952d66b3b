"""Values that a test reads from recorded calls, and that have no expression of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import libcst as cst

ATTACHMENTS = "attachments"
EXTRA_BODY = "extra_body"
REQUEST_CONFIG = "config"
REQUEST_CONTENTS = "contents"


@dataclass(frozen=True)
class CallList:
    """An expression for a list of recorded calls.

    Attributes:
        source: the expression.
        is_of_getter: whether they are calls of `get_model`, of which only the names are recorded.
        is_legacy: whether the old test reads records of its own mock.
        sdk: the SDK that is called, whose arguments are those of the request; empty for `llm`.
        kept: what a fake keeps of each call; None for the calls of `unittest.mock`.
    """

    source: str
    is_of_getter: bool = False
    is_legacy: bool = False
    sdk: str = ""
    kept: Kept | None = None


@dataclass(frozen=True)
class Kept:
    """The part of each call that a fake keeps.

    Attributes:
        value: the expression, with the names of the module `argument_logs`.
        first: the name of the first parameter of the fake.
    """

    value: cst.BaseExpression
    first: str


@dataclass(frozen=True)
class SingleCall:
    """An expression for one recorded call.

    Attributes:
        source: the expression.
        is_of_getter: whether it is a call of `get_model`, recorded as the name it was given.
        is_legacy: whether the old test reads a record of its own mock.
        sdk: the SDK that is called, whose arguments are those of the request; empty for `llm`.
        origin: the expression for the call if its source is a name that the new test keeps.
    """

    source: str
    is_of_getter: bool = False
    is_legacy: bool = False
    sdk: str = ""
    origin: str = ""

    @property
    def is_last(self) -> bool:
        """Return whether it is another call after each call of the application."""
        return self.source.endswith(".last_call") or "[-" in self.source


@dataclass(frozen=True)
class PositionalArguments:
    """The positional arguments of a call."""

    call: SingleCall


@dataclass(frozen=True)
class KeywordArguments:
    """The keyword arguments of a call.

    Attributes:
        call: the call.
        calls: the expression for all calls if the arguments are those of all of them, each the
            last one of its name; else empty.
        is_whole: whether they are all that the body of the request has.
        name: the name of the body if the new test keeps one for it.
    """

    call: SingleCall
    calls: str = ""
    is_whole: bool = True
    name: str = ""

    @property
    def body(self) -> str:
        """The expression for the body of the request."""
        return self.name or f"{self.call.source}.request.body"


@dataclass(frozen=True)
class ExtraBody(KeywordArguments):
    """The argument `extra_body` of a call, whose items the SDK puts into the body."""

    @property
    def source(self) -> str:
        """The expression for the items that are not arguments themselves."""
        return f"{self.call.source}.request.{EXTRA_BODY}"


@dataclass(frozen=True)
class KeptItems:
    """A dict or a tuple in which a fake keeps arguments of a call.

    Attributes:
        call: the call.
        items: the items by key or position, with the names of the module `argument_logs`.
        first: the name of the first parameter of the fake.
    """

    call: SingleCall
    items: Mapping[str, cst.BaseExpression]
    first: str


@dataclass(frozen=True)
class AttachmentList:
    """The attachments of a call."""

    call: SingleCall

    @property
    def source(self) -> str:
        """The expression for them in a record."""
        return f'{self.call.source}["kwargs"]["{ATTACHMENTS}"]'


@dataclass(frozen=True)
class SingleAttachment:
    """One attachment of a call, of which a record has the fields.

    Attributes:
        call: the call.
        source: the expression for the attachment.
    """

    call: SingleCall
    source: str


@dataclass(frozen=True)
class RequestConfig:
    """The argument `config` of google-genai, whose parts a record has under other names."""

    call: SingleCall


@dataclass(frozen=True)
class RequestContents:
    """The argument `contents` of google-genai, which may be a text or a whole history."""

    call: SingleCall


@dataclass(frozen=True)
class HTTPCallList:
    """The requests that a route of respx records.

    Attributes:
        source: the expression for the calls.
        last: the last of them.
    """

    source: str
    last: SingleCall


@dataclass(frozen=True)
class HTTPCall:
    """The request and the response of one of these calls."""

    call: SingleCall


@dataclass(frozen=True)
class AnsweredRequest:
    """The HTTP request of a call."""

    call: SingleCall


@dataclass(frozen=True)
class AnsweredContent:
    """The body of a request, which is JSON."""

    call: SingleCall


CallValue = (
    CallList
    | SingleCall
    | PositionalArguments
    | KeywordArguments
    | KeptItems
    | AttachmentList
    | SingleAttachment
    | RequestConfig
    | RequestContents
    | HTTPCallList
    | HTTPCall
    | AnsweredRequest
    | AnsweredContent
)
"""One of these values."""

PARTS_OF_CALLS = (
    PositionalArguments,
    KeywordArguments,
    KeptItems,
    AttachmentList,
    SingleAttachment,
    RequestConfig,
    RequestContents,
    HTTPCall,
    AnsweredRequest,
    AnsweredContent,
)
