"""An error response of a provider, before it is encoded in the provider's format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class ErrorContent(NamedTuple):
    """The content of the response in an SDK's exception.

    Attributes:
        data: the body.
        type: the content type.
        provider: the provider; None if the SDK can call several.
    """

    data: bytes
    type: str
    provider: str | None


class WireError(Exception):
    """An error response of the provider.

    Args:
        status: the HTTP status.
        message: the provider's message.
        type: the provider's type of the error; None to derive it from the status.
        code: the provider's code of the error, if it has one.
        param: the invalid field of the request, for providers that name it.
        headers: additional headers.
        body: the whole JSON body, if an SDK's error contains it.
        content: the content of the response, if an SDK's error contains it.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        type: str | None = None,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
        body: object = None,
        content: ErrorContent | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.type = type
        self.code = code
        self.param = param
        self.request_id: str | None = None
        self.headers = dict(headers or {})
        self.body = body
        self.content = content
