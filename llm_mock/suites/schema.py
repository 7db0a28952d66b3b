"""What a suite file holds. Nothing is run or read here; `load_suite` reads a file, and expands it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic import ConfigDict, Field, PrivateAttr

from llm_mock.agents.result import Mode
from llm_mock.support import schemas

Threshold = Annotated[float, Field(ge=0, le=1)]
"""A share, from 0 to 1."""


class _Strict(pydantic.BaseModel):
    """A part of a suite file. A key that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# --- Assertions -----------------------------------------------------------------------------------------------------


def _needs_type(schema: dict[str, Any]) -> None:
    """Have the JSON Schema ask for the type, which only Python code may leave out."""
    schema["required"] = ["type", *schema.get("required", ())]


class _Assertion(_Strict):
    """What an answer must be like. Where `type` begins with `not_`, what it must not be like."""

    model_config = ConfigDict(json_schema_extra=_needs_type)

    @property
    def negated(self) -> bool:
        """Whether the opposite is asserted."""
        return str(getattr(self, "type")).startswith("not_")  # noqa: B009 (each subclass has its own)


class ContainsAssertion(_Assertion):
    """The output has a text in it."""

    type: Literal["contains", "not_contains"] = "contains"
    value: str
    """The text."""
    case_insensitive: bool = False


class IContainsAssertion(_Assertion):
    """The output has a text in it, in upper or lower case."""

    type: Literal["icontains", "not_icontains"] = "icontains"
    value: str


class ContainsAnyAssertion(_Assertion):
    """The output has at least one of these texts in it."""

    type: Literal["contains_any", "not_contains_any"] = "contains_any"
    values: Annotated[tuple[str, ...], Field(min_length=1)]
    case_insensitive: bool = False


class ContainsAllAssertion(_Assertion):
    """The output has all of these texts in it."""

    type: Literal["contains_all", "not_contains_all"] = "contains_all"
    values: Annotated[tuple[str, ...], Field(min_length=1)]
    case_insensitive: bool = False


class EqualsAssertion(_Assertion):
    """The output is this text; spaces and line ends around both do not count."""

    type: Literal["equals", "not_equals"] = "equals"
    value: str
    case_insensitive: bool = False


class StartsWithAssertion(_Assertion):
    """The output begins with a text."""

    type: Literal["starts_with", "not_starts_with"] = "starts_with"
    value: str
    case_insensitive: bool = False


class RegexAssertion(_Assertion):
    """A pattern is found in the output, anywhere, as `re.search` does it."""

    type: Literal["regex", "not_regex"] = "regex"
    pattern: str

    @pydantic.field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            where = "" if error.pos is None else f" (position {error.pos})"
            raise ValueError(f"{pattern!r} is no regular expression: {error.msg}{where}") from None
        except (OverflowError, RecursionError) as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return pattern


class JSONAssertion(_Assertion):
    """The output is JSON, and fits a JSON schema if one is given."""

    model_config = ConfigDict(populate_by_name=True)

    type: Literal["json", "not_json"] = "json"
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")

    @pydantic.field_validator("json_schema")
    @classmethod
    def _is_schema(cls, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        if schema is not None and (problem := schemas.problem_of(schema)) is not None:
            raise ValueError(f"is no JSON schema: {problem}")
        return schema


class ExpectedToolCall(_Strict):
    """A tool call that is expected: its name, and arguments of which it may have more."""

    name: str
    arguments: dict[str, Any] = {}


def _or_name(schema: dict[str, Any]) -> None:
    """Have the JSON Schema accept the name of a tool for a call."""
    schema["items"] = {"anyOf": [schema["items"], {"type": "string"}]}


class ToolCallsAssertion(_Assertion):
    """The tools that were called; compared as `AgentResult.tool_calls_match` does."""

    type: Literal["tool_calls", "not_tool_calls"] = "tool_calls"
    calls: Annotated[tuple[ExpectedToolCall, ...], Field(json_schema_extra=_or_name)]
    """The calls; the name of a tool alone stands for a call with any arguments."""
    mode: Mode = "strict"

    @pydantic.field_validator("calls", mode="before")
    @classmethod
    def _names_alone(cls, calls: Any) -> Any:
        if not isinstance(calls, (list, tuple)):
            return calls
        return [{"name": call} if isinstance(call, str) else call for call in calls]


class MaxTokensAssertion(_Assertion):
    """The answer took at most so many tokens, input and output together."""

    type: Literal["max_tokens"] = "max_tokens"
    value: Annotated[int, Field(ge=0)]


class MaxLatencyAssertion(_Assertion):
    """The answer took at most so many seconds, tools included."""

    type: Literal["max_latency"] = "max_latency"
    value: Annotated[float, Field(gt=0)]
    """Seconds."""


class MaxCostAssertion(_Assertion):
    """The answer cost at most so much."""

    type: Literal["max_cost"] = "max_cost"
    value: Annotated[float, Field(ge=0)]
    """US dollars."""


class SimilarAssertion(_Assertion):
    """The output means about the same as a text: cosine similarity of their embeddings."""

    type: Literal["similar", "not_similar"] = "similar"
    value: str
    threshold: Threshold = 0.8
    """The least similarity; `not_similar` wants less."""
    model: str | None = None
    """An embedding model of `llm`; by default the one that `llm` has as its default."""


class LLMJudgeAssertion(_Assertion):
    """A model finds that the output meets criteria."""

    type: Literal["llm_judge", "not_llm_judge"] = "llm_judge"
    criteria: str
    model: str | None = None
    """The model that judges; by default the one of the role."""


class PythonAssertion(_Assertion):
    """A function of the project says whether the output is right.

    It is called with the output (a text) and, where it takes a second argument, the `AgentResult`. It returns true or
    false, or `(true or false, message)`, or raises AssertionError.
    """

    type: Literal["python", "not_python"] = "python"
    function: str
    """`checks.py:is_polite`, a file beside the suite, or `package.module:is_polite`."""

    @pydantic.field_validator("function")
    @classmethod
    def _names_function(cls, function: str) -> str:
        module, _, name = function.rpartition(":")
        if not module.strip() or not name.isidentifier():
            raise ValueError("should be file.py:function or package.module:function")
        return function


Assertion = Annotated[
    ContainsAssertion
    | IContainsAssertion
    | ContainsAnyAssertion
    | ContainsAllAssertion
    | EqualsAssertion
    | StartsWithAssertion
    | RegexAssertion
    | JSONAssertion
    | ToolCallsAssertion
    | MaxTokensAssertion
    | MaxLatencyAssertion
    | MaxCostAssertion
    | SimilarAssertion
    | LLMJudgeAssertion
    | PythonAssertion,
    Field(discriminator="type"),
]


# --- Cases ----------------------------------------------------------------------------------------------------------


class Turn(_Strict):
    """One thing that the user says in a conversation, and what is expected of the answer."""

    prompt: str | None = None
    prompt_file: str | None = None
    """A text file with the prompt, beside the suite; the line end at its end does not count."""
    expected_output: str | None = None
    """What the model answers in a dry run; a live run does not look at it."""
    expected_output_file: str | None = None
    assertions: tuple[Assertion, ...] = ()


class Defaults(_Strict):
    """What holds for all cases that do not say otherwise."""

    tags: tuple[str, ...] = ()
    """Added to the tags of each case."""
    variables: Mapping[str, Any] = {}
    """Those of a case go before them."""
    assertions: tuple[Assertion, ...] = ()
    """Put before those of each case; in a case of several turns they hold for the last."""
    repeat: Annotated[int, Field(ge=1)] = 1
    threshold: Threshold = 1.0


class TestCase(Turn):
    """One case: a prompt, or several turns of one conversation."""

    __test__: ClassVar[bool] = False

    name: Annotated[str, Field(min_length=1)]
    """Unique in the suite."""
    turns: tuple[Turn, ...] = ()
    """Instead of `prompt`: what the user says, one after the other."""
    tags: tuple[str, ...] = ()
    variables: Mapping[str, Any] = {}
    """`${name}` in prompts, expected outputs and the texts of assertions is replaced; `$${name}` stands for `${name}`.
    Where a case has no variables at all, nothing is replaced."""
    rows: Annotated[tuple[Mapping[str, Any], ...], Field(min_length=1)] = ()
    """Variables of several cases, which this one is made into: `name[first value]`, or what `${…}` in `name` gives."""
    repeat: Annotated[int, Field(ge=1)] | None = None
    """How often the case is run; by default once."""
    threshold: Threshold | None = None
    """The share of these runs that must pass for the case to pass; by default all."""
    _line: int | None = PrivateAttr(default=None)

    @property
    def line(self) -> int | None:
        """Where in its file it stands, from 1; None for a case that was made in Python."""
        return self._line

    @property
    def all_turns(self) -> tuple[Turn, ...]:
        """What the user says: the turns, or the one prompt."""
        return self.turns or (self,)


class Metadata(_Strict):
    """What a suite is called."""

    name: Annotated[str, Field(min_length=1)]
    description: str = ""


class TestSuiteDefinition(_Strict):
    """A suite: its name and its cases."""

    __test__: ClassVar[bool] = False

    apiVersion: Literal["initrunner/v1", "llm-mock/v1"]
    kind: Literal["TestSuite"]
    metadata: Metadata
    defaults: Defaults = Defaults()
    cases: tuple[TestCase, ...] = ()
    _path: Path | None = PrivateAttr(default=None)

    @property
    def path(self) -> Path | None:
        """The file it was read from; None for a suite that was made in Python."""
        return self._path
