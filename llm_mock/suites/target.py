"""The target of a suite: an application that answers the prompts instead of an agent."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Any

import pydantic
from pydantic import Field

from llm_mock.checks.base import StrictModel
from llm_mock.checks.python_functions import FunctionReference
from llm_mock.checks.transforms import JSONPath
from llm_mock.suites.target_session import PROMPT
from llm_mock.support.validation import Seconds, Text

KINDS = ("function", "command", "url")


class Target(StrictModel):
    """The application under test: a function, a command, or an HTTP endpoint."""

    function: FunctionReference | None = None
    """A sync or async function that takes the prompt and returns text or a JSON value.

    It also receives `session_id` and `history` if it has parameters with these names.

    Write `app.py:answer` for a file next to the suite, or `package.module:answer`.
    """
    command: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """The words of a command that runs in the suite's folder and prints the output.

    The prompt replaces `{prompt}` in them; if no word has `{prompt}`, it is sent to standard input.
    """
    url: Annotated[str, Field(pattern=r"^https?://[^/\s]")] | None = None
    """The URL that receives the prompt by POST; the output is the body of its response."""
    body: Any = Field(default={"prompt": PROMPT})
    """The JSON body of the request; `{prompt}`, `{session_id}` and `{history}` in its texts are
    replaced."""
    headers: Mapping[str, str] = {}
    """Further headers of the request; `${NAME}` in them is replaced by an environment variable, and
    `{session_id}` by the id of the session."""
    mocked: bool = False
    """True if `llm-mock serve` answers the models of the application at `url`.

    A dry run sends a request only to such a URL.
    """
    output: JSONPath | None = None
    """The path of the output in the application's JSON; by default the output is the whole text."""
    timeout: Seconds = 60.0
    """The time limit of a command or an endpoint in seconds."""

    @pydantic.model_validator(mode="after")
    def _check_kind(self) -> Target:
        kinds = [name for name in KINDS if getattr(self, name) is not None]
        if len(kinds) != 1:
            actual = " and ".join(kinds) or "none of them"
            raise ValueError(f"expected exactly one of function, command and url, got {actual}")
        url_only = self.model_fields_set & {"body", "headers", "mocked"}
        if self.url is None and url_only:
            # Sorted: a set has another order in each run.
            raise ValueError(f"{min(url_only)} is only supported with a url")
        if self.function is not None and "timeout" in self.model_fields_set:
            # A function has the time limit of its case only.
            raise ValueError("timeout is only supported with a command or a url")
        return self

    @property
    def label(self) -> str:
        """The name in reports: the function, the URL, or the words of the command."""
        return self.function or self.url or shlex.join(self.command or ())
