"""Check the details of replies that few replies have.

Imported only for replies with such details.
"""

from __future__ import annotations

from collections.abc import Mapping

from llm_mock.errors import InvalidReply
from llm_mock.support.text import described

FRAMING_HEADERS = ("connection", "content-encoding", "content-length", "transfer-encoding")
"""The headers about the transfer of the body, which only the mock sets."""


def check_headers(headers: object) -> dict[str, str]:
    """Return headers with their names in lower case.

    Raises:
        InvalidReply: they are not headers, or include a header that only the mock sets.
    """
    __tracebackhide__ = True
    if not isinstance(headers, Mapping):
        raise InvalidReply(
            f"These are not headers: {described(headers)}. Pass a dict of names and values."
        )
    checked = {}
    for name, value in headers.items():
        text = str(value) if isinstance(value, int) else value
        if not _is_header_text(name) or not _is_header_text(text):
            raise InvalidReply(
                f"This is not a header: {described(name)}: {described(value)}. Pass ASCII texts."
            )
        if name.lower() in FRAMING_HEADERS:
            raise InvalidReply(f"The mock sets the header {name!r} itself: remove it.")
        checked[name.lower()] = text
    return checked


def _is_header_text(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable()


def check_service_tier(service_tier: object) -> str:
    """Return a service tier as it is.

    Raises:
        InvalidReply: it is not a text.
    """
    __tracebackhide__ = True
    if not isinstance(service_tier, str) or not service_tier:
        raise InvalidReply(f"service_tier={described(service_tier)} must be a str or None.")
    return service_tier
