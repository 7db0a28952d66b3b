"""What a plain-language test consists of, and its verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic import AfterValidator, ConfigDict, Field, PrivateAttr

from llm_mock.support.numbers import LONGEST, MOST_REPETITIONS, MOST_RETRIES
from llm_mock.support.text import shorten, shorten_name
from llm_mock.support.validation import Number, Seconds, Text, Whole, WithExtensions

PARTS = {"setup": "setup: ", "steps": "", "teardown": "teardown: "}
"""The lists of steps, in the order in which they are done, and the beginnings of the names of their results."""
SHOWN_OUTPUT = 300
"""How many characters of what a tool or a model said are shown."""
_MARKS = {"pass": "✓", "fail": "✗", "skip": "–"}  # noqa: RUF001 (as wide as the others)


class _Strict(pydantic.BaseModel):
    """A part of a test's file; an unknown key is an error."""

    __test__: ClassVar[bool] = False
    model_config = ConfigDict(extra="forbid")


class TestMeta(_Strict):
    """What a test is called, and how it is treated."""

    name: Text
    """Shown in pytest's output."""
    description: str = ""
    tags: list[Text] = []
    """Each becomes a marker of pytest."""
    fixtures: list[Text] = []
    """Fixtures of pytest, whose values the steps can refer to by their names."""
    timeout: Annotated[Whole, Field(gt=0, le=LONGEST)] = 120
    """Seconds that the whole test may take."""


def _without_prefix(tool: str) -> str:
    return tool.removeprefix("llm_pytest.")


class Step(_Strict):
    """One step: a call of a tool, or steps that are repeated."""

    name: Text = ""
    tool: Annotated[Text, AfterValidator(_without_prefix)] = ""
    """The name of the tool; `llm_pytest.` before it makes no difference."""
    args: dict[str, Any] = {}
    """Its arguments. `${name}` and `${name.key.0}` stand for results that were saved, `${stored.name}` for a value that
    `store_value` stored."""
    expect: Text = ""
    """What should come of it, in plain language, for the model."""
    analyze: Text = ""
    """What the model should look at."""
    save_as: Text = ""
    """The name under which the result is kept."""
    repeat: Annotated[Whole, Field(ge=1, le=MOST_REPETITIONS)] = 1
    """How often the step, or its nested steps, are done."""
    steps: list[Step] = []
    """Nested steps."""
    retry: Annotated[Whole, Field(ge=0, le=MOST_RETRIES)] = 0
    """How often a call that failed is made again."""
    retry_delay: Annotated[Number, Field(ge=0, le=LONGEST)] = 1.0
    """Seconds before it is made again."""
    timeout: Seconds | None = None
    """Seconds that one call may take; by default what is left of the test's."""

    def is_nested(self) -> bool:
        """Whether this step contains steps."""
        return bool(self.steps)


class VerdictSpec(_Strict):
    """When the test passes and when it fails, in plain language."""

    pass_if: Text
    fail_if: Text


class TestSpec(WithExtensions, _Strict):
    """A whole test."""

    test: TestMeta
    setup: list[Step] = []
    """Done before the steps; one that fails ends the test."""
    steps: Annotated[list[Step], Field(min_length=1)]
    teardown: list[Step] = []
    """Always done."""
    verdict: VerdictSpec
    _path: Path | None = PrivateAttr(default=None)
    _lines: dict[tuple[str | int, ...], int] = PrivateAttr(default_factory=dict)

    @property
    def path(self) -> Path | None:
        """The file it was read from; None for one that was made in Python."""
        return self._path

    def line_of(self, *location: str | int) -> int | None:
        """Where a part stands in its file, such as `line_of("steps", 0)`, from 1; None where that is not known."""
        return self._lines.get(location)


class StepResult(pydantic.BaseModel):
    """What came of one step. As a text it is one line."""

    __test__: ClassVar[bool] = False

    name: str
    status: Literal["pass", "fail", "skip"]
    details: str = ""
    tool_output: Any = None

    def __str__(self) -> str:
        details = f"  {shorten_name(self.details)}" if self.details else ""
        return self.head + details + (f" → {self.output_beside}" if self.output_beside else "")

    @property
    def head(self) -> str:
        """How its line begins: a mark for the status, and the name."""
        return f"{_MARKS[self.status]} {shorten_name(self.name)}"

    @property
    def output_beside(self) -> str | None:
        """What the tool answered, as it is shown; None where the details say so already."""
        shown = shorten(self.tool_output, SHOWN_OUTPUT)
        known = self.tool_output is None or any(said in self.details for said in (shown, str(self.tool_output)))
        return None if known else shown


class Verdict(pydantic.BaseModel):
    """What came of a test."""

    __test__: ClassVar[bool] = False

    verdict: Literal["PASS", "FAIL", "UNCLEAR"]
    reason: str
    steps: list[StepResult] = []
    issues: list[str] = []
