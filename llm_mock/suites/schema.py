"""What a suite file holds. Nothing is run or read here; `load_suite` reads a file, and expands it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic import Field, PrivateAttr

from llm_mock.behaviour.scripted_replies import ScriptedReply
from llm_mock.suites import initrunner
from llm_mock.suites.assertion_types.base import StrictModel, Threshold
from llm_mock.suites.assertion_types.functions import PythonAssertion as PythonAssertion
from llm_mock.suites.assertion_types.models import LLMJudgeAssertion as LLMJudgeAssertion
from llm_mock.suites.assertion_types.models import SimilarAssertion as SimilarAssertion
from llm_mock.suites.assertion_types.runs import MaxCostAssertion as MaxCostAssertion
from llm_mock.suites.assertion_types.runs import MaxLatencyAssertion as MaxLatencyAssertion
from llm_mock.suites.assertion_types.runs import MaxTokensAssertion as MaxTokensAssertion
from llm_mock.suites.assertion_types.runs import ReasoningBudgetAssertion as ReasoningBudgetAssertion
from llm_mock.suites.assertion_types.runs import ToolCallsAssertion as ToolCallsAssertion
from llm_mock.suites.assertion_types.runs import ToolNamesAssertion as ToolNamesAssertion
from llm_mock.suites.assertion_types.text_assertion import Transform
from llm_mock.suites.assertion_types.texts import ContainsAllAssertion as ContainsAllAssertion
from llm_mock.suites.assertion_types.texts import ContainsAnyAssertion as ContainsAnyAssertion
from llm_mock.suites.assertion_types.texts import ContainsAssertion as ContainsAssertion
from llm_mock.suites.assertion_types.texts import ContainsJSONAssertion as ContainsJSONAssertion
from llm_mock.suites.assertion_types.texts import EqualsAssertion as EqualsAssertion
from llm_mock.suites.assertion_types.texts import IContainsAssertion as IContainsAssertion
from llm_mock.suites.assertion_types.texts import JSONAssertion as JSONAssertion
from llm_mock.suites.assertion_types.texts import RegexAssertion as RegexAssertion
from llm_mock.suites.assertion_types.texts import StartsWithAssertion as StartsWithAssertion
from llm_mock.suites.cassette_settings import CassetteSettings
from llm_mock.suites.matrix import Matrix as Matrix
from llm_mock.suites.target import Target as Target
from llm_mock.support.numbers import MOST_REPETITIONS
from llm_mock.support.validation import Seconds, Text, Whole, WithExtensions

Assertion = Annotated[
    ContainsAssertion
    | IContainsAssertion
    | ContainsAnyAssertion
    | ContainsAllAssertion
    | EqualsAssertion
    | StartsWithAssertion
    | RegexAssertion
    | JSONAssertion
    | ContainsJSONAssertion
    | ToolCallsAssertion
    | ToolNamesAssertion
    | ReasoningBudgetAssertion
    | MaxTokensAssertion
    | MaxLatencyAssertion
    | MaxCostAssertion
    | SimilarAssertion
    | LLMJudgeAssertion
    | PythonAssertion,
    Field(discriminator="type"),
]

Repeat = Annotated[Whole, Field(ge=1, le=MOST_REPETITIONS)]


class Turn(StrictModel):
    """One thing that the user says in a conversation, and what is expected of the answer."""

    prompt: str | None = None
    prompt_file: str | None = None
    """A text file with the prompt, beside the suite; the line end at its end does not count."""
    expected_output: str | None = None
    """What the model answers in a dry run; a live run does not look at it."""
    expected_output_file: str | None = None
    replies: tuple[ScriptedReply, ...] = ()
    """What the models answer the application in a dry run of a suite with a `target`: each once, unless it says
    `times`, and all must be asked for. Without any they answer `expected_output`, if there is one."""
    transform: Transform | None = None
    """What is made of the output before it is checked; in a conversation that of the case holds for each turn."""
    assertions: tuple[Assertion, ...] = ()


class Defaults(StrictModel):
    """What holds for all cases that do not say otherwise."""

    tags: tuple[Text, ...] = ()
    """Added to the tags of each case."""
    variables: Mapping[str, Any] = {}
    """Those of a case go before them."""
    assertions: tuple[Assertion, ...] = ()
    """Put before those of each case; in a case of several turns they hold for the last."""
    transform: Transform | None = None
    """What is made of the outputs before they are checked."""
    repeat: Repeat = 1
    threshold: Threshold = 1.0
    min_score: Threshold | None = None
    timeout: Seconds | None = None
    each_turn: tuple[Assertion, ...] = ()
    """Put before those of each turn of each case."""
    judge: Text | None = None
    """The model that judges where an assertion names none."""


class TestCase(Turn):
    """One case: a prompt, or several turns of one conversation."""

    __test__: ClassVar[bool] = False

    name: Text
    """Unique in the suite."""
    turns: tuple[Turn, ...] = ()
    """Instead of `prompt`: what the user says, one after the other."""
    tags: tuple[Text, ...] = ()
    variables: Mapping[str, Any] = {}
    """`${name}` in prompts, expected outputs and the texts of assertions is replaced; `$${name}` stands for `${name}`.
    Where a case has no variables at all, nothing is replaced."""
    rows: Annotated[tuple[Mapping[str, Any], ...], Field(min_length=1)] = ()
    """Variables of several cases, which this one is made into: `name[first value]`, or what `${…}` in `name` gives."""
    rows_file: Text | None = None
    """Instead of `rows`: a file of them beside the suite (`.csv`, `.jsonl`, `.yaml`), or a glob of such files."""
    repeat: Repeat | None = None
    """How often the case is run; by default once."""
    threshold: Threshold | None = None
    """The share of these runs that must pass for the case to pass; by default all."""
    min_score: Threshold | None = None
    """The least score for a run to pass: the average of what its assertions score, by their weights. By default each
    assertion must hold."""
    timeout: Seconds | None = None
    """Seconds that a run of the case may take, its assertions included; then it is ended."""
    each_turn: tuple[Assertion, ...] = ()
    """What the answer to each turn must be like."""
    _line: int | None = PrivateAttr(default=None)
    _values: Mapping[str, Any] = PrivateAttr(default={})

    @property
    def line(self) -> int | None:
        """Where in its file it stands, from 1; None for a case that was made in Python."""
        return self._line

    @property
    def values(self) -> Mapping[str, Any]:
        """The variables that were replaced in it, by their names; empty until `load_suite` has done so."""
        return self._values

    @property
    def all_turns(self) -> tuple[Turn, ...]:
        """What the user says: the turns, or the one prompt."""
        return self.turns or (self,)


class Metadata(StrictModel):
    """What a suite is called."""

    name: Text
    description: str = ""


def _not_empty(matrix: Any) -> Any:
    if matrix is None:
        raise ValueError("should be a mapping (key: value), not empty")
    return matrix


class TestSuiteDefinition(WithExtensions, StrictModel):
    """A suite: its name and its cases."""

    __test__: ClassVar[bool] = False

    apiVersion: Literal["initrunner/v1", "llm-mock/v1"]
    kind: Literal["TestSuite"]
    metadata: Metadata
    target: Target | None = None
    """The application that answers the prompts; by default the agent of a role does, which the run names."""
    matrix: Annotated[Matrix | None, pydantic.BeforeValidator(_not_empty)] = None
    """What the cases are run with, side by side; by default with the one agent or target."""
    min_score: Threshold | None = None
    """The least score for the whole suite to pass: the average of its cases. By default each case must pass."""
    cassette: CassetteSettings = CassetteSettings()
    """What does not get into its cassettes, and what does not count in them."""
    defaults: Defaults = Defaults()
    cases: tuple[TestCase, ...] = ()
    _path: Path | None = PrivateAttr(default=None)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _of_initrunner(cls, data: Any) -> Any:
        is_theirs = isinstance(data, Mapping) and data.get("apiVersion") == initrunner.API_VERSION
        return initrunner.translated(data) if is_theirs else data

    @property
    def path(self) -> Path | None:
        """The file it was read from; None for a suite that was made in Python."""
        return self._path
