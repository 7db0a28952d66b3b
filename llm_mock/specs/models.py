"""Data models of a plain-language test and its verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic import AfterValidator, ConfigDict, Field, PrivateAttr

from llm_mock.checks.schema import Assertion
from llm_mock.suites.role_file import RoleTool
from llm_mock.support.json_types import JSONObject
from llm_mock.support.numbers import LONGEST, MOST_REPETITIONS, MOST_RETRIES
from llm_mock.support.text import shorten, shorten_name
from llm_mock.support.validation import Number, Seconds, Text, Whole, WithExtensions

PARTS = {"setup": "setup: ", "steps": "", "teardown": "teardown: "}
"""The lists of steps in their order, with the prefix of the names of their results."""
MAX_SHOWN = 300
"""The maximum number of characters of a tool's or a model's text in messages."""
_MARKS = {"pass": "✓", "fail": "✗", "skip": "–"}  # noqa: RUF001 (as wide as the others)


class _StrictModel(pydantic.BaseModel):
    # pytest would collect classes whose names begin with `Test`.
    __test__: ClassVar[bool] = False
    model_config = ConfigDict(extra="forbid")


class TestMeta(_StrictModel):
    """The name of a test, and its settings."""

    name: Text
    """The name in pytest's output."""
    description: str = ""
    tags: list[Text] = []
    """Tags, which become markers of pytest."""
    fixtures: list[Text] = []
    """Fixtures of pytest; steps can refer to their values by name."""
    timeout: Annotated[Whole, Field(gt=0, le=LONGEST)] = 120
    """The time limit of the whole test in seconds."""


def _remove_prefix(tool: str) -> str:
    return tool.removeprefix("llm_pytest.")


class Step(_StrictModel):
    """A step: a tool call, an expectation for a model, or a list of nested steps."""

    name: Text = ""
    tool: Annotated[Text, AfterValidator(_remove_prefix)] = ""
    """The name of the tool; a prefix `llm_pytest.` is ignored."""
    args: JSONObject = {}
    """The arguments. `${name}` and `${name.key.0}` are replaced by saved results, and
    `${stored.name}` by a value that `store_value` stored."""
    checks: list[Assertion] = []
    """Checks of the tool's output. If one fails, the test fails, regardless of the model's verdict.
    Their texts may refer to saved results."""
    expect: Text = ""
    """The expected outcome in plain language, for the model."""
    analyze: Text = ""
    """A question in plain language, for the model."""
    save_as: Text = ""
    """The name under which the result is saved."""
    repeat: Annotated[Whole, Field(ge=1, le=MOST_REPETITIONS)] = 1
    """The number of times to run the step, or its nested steps."""
    steps: list[Step] = []
    """Nested steps."""
    retry: Annotated[Whole, Field(ge=0, le=MOST_RETRIES)] = 0
    """The number of retries after a failed call."""
    retry_delay: Annotated[Number, Field(ge=0, le=LONGEST)] = 1.0
    """The seconds between attempts."""
    timeout: Seconds | None = None
    """The time limit of one call in seconds; by default the remaining time of the test."""

    def is_nested(self) -> bool:
        """Return whether this step has nested steps."""
        return bool(self.steps)


class VerdictSpec(_StrictModel):
    """The criteria of a verdict, in plain language."""

    pass_if: Text
    fail_if: Text


class TestSpec(WithExtensions, _StrictModel):
    """A plain-language test."""

    test: TestMeta
    tools: list[RoleTool] = []
    """MCP servers (`type: mcp`), command-line tools (`type: cli`) and Python functions
    (`type: function`), as in a role."""
    setup: list[Step] = []
    """Steps before the test; if one fails, the test ends."""
    steps: Annotated[list[Step], Field(min_length=1)]
    teardown: list[Step] = []
    """Steps after the test, which are always run."""
    verdict: VerdictSpec
    # Set by `load_spec`.
    _path: Path | None = PrivateAttr(default=None)
    _lines: dict[tuple[str | int, ...], int] = PrivateAttr(default_factory=dict)

    @property
    def path(self) -> Path | None:
        """The file of the test; None if it was created in Python."""
        return self._path

    def line_of(self, *location: str | int) -> int | None:
        """Return the line of a part, such as `line_of("steps", 0)`, from 1, or None if unknown."""
        return self._lines.get(location)


class StepResult(pydantic.BaseModel):
    """The result of one step; `str()` returns it on one line."""

    __test__: ClassVar[bool] = False

    name: str
    status: Literal["pass", "fail", "skip"]
    details: str = ""
    tool_output: Any = None

    def __str__(self) -> str:
        parts = [self.head]
        if self.details:
            parts.append(f"  {shorten_name(self.details)}")
        if self.extra_output:
            parts.append(f" → {self.extra_output}")
        return "".join(parts)

    @property
    def head(self) -> str:
        """The beginning of its line: a mark for the status, and the name."""
        return f"{_MARKS[self.status]} {shorten_name(self.name)}"

    @property
    def extra_output(self) -> str | None:
        """The output of the tool, shortened; None if the details already contain it."""
        if self.tool_output is None:
            return None
        output = shorten(self.tool_output, MAX_SHOWN)
        if output in self.details or str(self.tool_output) in self.details:
            return None
        return output


class Verdict(pydantic.BaseModel):
    """The outcome of a test."""

    __test__: ClassVar[bool] = False

    verdict: Literal["PASS", "FAIL", "UNCLEAR"]
    reason: str
    steps: list[StepResult] = []
    issues: list[str] = []
