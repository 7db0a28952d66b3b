"""The target of a suite: the application that answers its prompts, instead of the agent of a role."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Any

import pydantic
from pydantic import Field

from llm_mock.suites.assertion_types.base import StrictModel
from llm_mock.suites.assertion_types.python_functions import FunctionReference
from llm_mock.suites.assertion_types.text_assertion import JSONPath
from llm_mock.support.validation import Seconds, Text

WAYS = ("function", "command", "url")
PROMPT = "{prompt}"


class Target(StrictModel):
    """The application: a function, a command, or an HTTP endpoint."""

    function: FunctionReference | None = None
    """`app.py:answer`, a file beside the suite, or `package.module:answer`, sync or async: it is called with the
    prompt, and returns the output, a text or a JSON value."""
    command: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """The words of a command, run in the suite's folder. `{prompt}` in them is the prompt, which else is its standard
    input; the output is what it prints."""
    url: Annotated[str, Field(pattern=r"^https?://[^/\s]")] | None = None
    """Where the prompt is sent, by POST; the output is what is answered."""
    body: Any = Field(default={"prompt": PROMPT})
    """What is sent as JSON; `{prompt}` in its texts is the prompt."""
    headers: Mapping[str, str] = {}
    """Sent with it; `${NAME}` in them is an environment variable."""
    mocked: bool = False
    """Whether `llm-mock serve` answers the models of the application at `url`: only then a dry run asks it."""
    output: JSONPath | None = None
    """Where in the JSON that the application gives the output stands; by default all is the output."""
    timeout: Seconds = 60.0
    """Seconds that a command or an endpoint may take."""

    @pydantic.model_validator(mode="after")
    def _is_one(self) -> Target:
        given = [name for name in WAYS if getattr(self, name) is not None]
        if len(given) != 1:
            what = f"has {' and '.join(given)}" if given else "has none of them"
            raise ValueError(f"needs one of function, command and url, and {what}")
        if self.url is None and (foreign := sorted(self.model_fields_set & {"body", "headers", "mocked"})):
            raise ValueError(f"{foreign[0]} belongs to a url")
        if self.function is not None and "timeout" in self.model_fields_set:
            raise ValueError("timeout belongs to a command or a url")
        return self

    @property
    def label(self) -> str:
        """What reports call it."""
        return self.function or self.url or shlex.join(self.command or ())
