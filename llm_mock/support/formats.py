"""The formats of texts in JSON schemas: date, time, uuid and others that providers guarantee."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jsonschema import FormatChecker

EXAMPLES = {
    "date": "2025-05-01",
    "date-time": "2025-05-01T10:30:00Z",
    "duration": "PT1H30M",
    "email": "ada@example.com",
    "hostname": "api.example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "10:30:00Z",
    "uuid": "00000000-0000-4000-8000-000000000001",
}
"""An example of each checked format. Other formats are ignored."""


HOSTNAME = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*\Z",
    re.IGNORECASE | re.ASCII,
)
"""A host name of RFC 1123: labels of 1 to 63 letters, digits and inner hyphens."""


@functools.cache
def get_format_checker() -> FormatChecker:
    """Return a checker of formats that accepts every text that pydantic accepts."""
    from jsonschema import FormatChecker
    from pydantic_core import SchemaValidator, core_schema

    # The checks of jsonschema need further packages for most formats, and reject texts that
    # pydantic accepts, such as a UUID without hyphens.
    types: dict[str, core_schema.CoreSchema] = {
        "date": core_schema.date_schema(),
        "date-time": core_schema.datetime_schema(),
        "duration": core_schema.timedelta_schema(),
        "time": core_schema.time_schema(),
        "uuid": core_schema.uuid_schema(),
    }
    accepts: dict[str, Callable[[str], bool]] = {
        "email": lambda text: "@" in text,
        "hostname": lambda text: HOSTNAME.match(text) is not None,
        "ipv4": lambda text: IPv4Address(text) is not None,
        "ipv6": lambda text: IPv6Address(text) is not None,
    }
    for name, schema in types.items():
        accepts[name] = SchemaValidator(schema).isinstance_python
    checker = FormatChecker(formats=())
    for name, accepts_text in accepts.items():
        checker.checks(name, raises=ValueError)(_only_for_texts(accepts_text))
    return checker


def _only_for_texts(accepts_text: Callable[[str], bool]) -> Callable[[object], bool]:
    """Return a check for texts that accepts all other values, as JSON Schema requires."""

    def check(value: object) -> bool:
        return not isinstance(value, str) or accepts_text(value)

    return check
