"""Options of calls under the names of all providers, such as the limit of output tokens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llm_mock.core.call import ABSENT
from llm_mock.support.redaction import redact
from llm_mock.support.text import shorten

if TYPE_CHECKING:
    from llm_mock.core.call import Call

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict")


def find_option(call: Call, *names: str) -> object:
    """Return the option with one of these names; `ABSENT` if it was not set."""
    for option, value in call.options.items():
        if option in names or _to_snake_case(option) in names:
            return value
    return ABSENT


def describe_sent_limit(call: Call, name: str) -> str:
    """Return a note about the token limit that a call has instead of the named one."""
    if _to_snake_case(name) not in TOKEN_LIMITS:
        return ""
    for option, value in call.options.items():
        if _to_snake_case(option) in TOKEN_LIMITS:
            return f"; the request has {option}={shorten(redact(value))}"
    return ""


def _to_snake_case(option: str) -> str:
    """Return the name of an option in snake case; Gemini and Bedrock use camel case."""
    return re.sub("([A-Z])", r"_\1", option).lower()
