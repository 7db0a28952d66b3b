"""Decode compressed request bodies, which some coding agents send."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.errors import refusal_headers
from llm_mock.boundaries.http.http1 import MAX_BODY_BYTES
from llm_mock.boundaries.http.providers.registry import get_descriptor
from llm_mock.boundaries.http.wire import WireRequest, WireResponse, error_response
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.text import shorten

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock

ENCODINGS = ("gzip", "x-gzip", "deflate")


def decode_request(sent: WireRequest, provider: str, mock: Mock) -> WireRequest | WireResponse:
    """Return a request with its body decoded, or the response that refuses it.

    Args:
        sent: the request, which has a header `Content-Encoding`.
        provider: its provider, as `find_provider_of_host` names it.
        mock: the mock that records a refusal.
    """
    encoding = sent.headers["content-encoding"].strip().lower()
    if encoding in ("", "identity"):
        return sent
    errors = get_descriptor(provider).errors
    if encoding not in ENCODINGS:
        message = (
            f"Unsupported content encoding {shorten(encoding)} in a request to {sent.host}. "
            "llm_mock decodes gzip and deflate; configure the client to send uncompressed requests."
        )
        mock.note_refusal(message)
        return error_response(errors, WireError(415, message, headers=refusal_headers(message)))
    try:
        return sent._replace(body=_decompress(sent.body, encoding))
    except WireError as error:
        return error_response(errors, error)


def _decompress(content: bytes, encoding: str) -> bytes:
    # With 32, zlib detects gzip or deflate from the header of the data.
    decompressor = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        body = decompressor.decompress(content, MAX_BODY_BYTES + 1)
    except zlib.error:
        raise WireError(400, f"The body is not valid {encoding}.") from None
    if len(body) > MAX_BODY_BYTES:
        message = f"The body is too large; it must have at most {MAX_BODY_BYTES:,} bytes."
        raise WireError(413, message)
    if not decompressor.eof:
        raise WireError(400, f"The {encoding} body is incomplete.")
    return body
