"""Schema of suite files; `load_suite` reads a file and expands it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic import Field, PrivateAttr

from llm_mock.checks.base import StrictModel, Threshold
from llm_mock.checks.functions import PythonAssertion as PythonAssertion
from llm_mock.checks.javascript_functions import JavaScriptAssertion as JavaScriptAssertion
from llm_mock.checks.models import LLMJudgeAssertion as LLMJudgeAssertion
from llm_mock.checks.models import SimilarAssertion as SimilarAssertion
from llm_mock.checks.runs import MaxCostAssertion as MaxCostAssertion
from llm_mock.checks.runs import MaxLatencyAssertion as MaxLatencyAssertion
from llm_mock.checks.runs import MaxTokensAssertion as MaxTokensAssertion
from llm_mock.checks.runs import ReasoningBudgetAssertion as ReasoningBudgetAssertion
from llm_mock.checks.runs import ToolCalledAssertion as ToolCalledAssertion
from llm_mock.checks.runs import ToolCallsAssertion as ToolCallsAssertion
from llm_mock.checks.schema import Assertion as Assertion
from llm_mock.checks.skipped import SkippedAssertion as SkippedAssertion
from llm_mock.checks.text_scores import BleuAssertion as BleuAssertion
from llm_mock.checks.text_scores import LevenshteinAssertion as LevenshteinAssertion
from llm_mock.checks.text_scores import RougeAssertion as RougeAssertion
from llm_mock.checks.texts import ContainsAllAssertion as ContainsAllAssertion
from llm_mock.checks.texts import ContainsAnyAssertion as ContainsAnyAssertion
from llm_mock.checks.texts import ContainsAssertion as ContainsAssertion
from llm_mock.checks.texts import ContainsJSONAssertion as ContainsJSONAssertion
from llm_mock.checks.texts import EqualsAssertion as EqualsAssertion
from llm_mock.checks.texts import IContainsAssertion as IContainsAssertion
from llm_mock.checks.texts import JSONAssertion as JSONAssertion
from llm_mock.checks.texts import RegexAssertion as RegexAssertion
from llm_mock.checks.texts import StartsWithAssertion as StartsWithAssertion
from llm_mock.checks.trajectories import TrajectoryAssertion as TrajectoryAssertion
from llm_mock.checks.transforms import Transform
from llm_mock.suites import initrunner
from llm_mock.suites.cassette_settings import CassetteSettings
from llm_mock.suites.chats import HistoryMessage as HistoryMessage
from llm_mock.suites.matrix import Matrix as Matrix
from llm_mock.suites.prompt_functions import PromptFunction
from llm_mock.suites.simulated_user import SimulatedUser as SimulatedUser
from llm_mock.suites.suite_replies import SuiteReply
from llm_mock.suites.target import Target as Target
from llm_mock.support.numbers import MOST_REPETITIONS
from llm_mock.support.validation import Seconds, Text, Whole, WithExtensions

Repeat = Annotated[Whole, Field(ge=1, le=MOST_REPETITIONS)]


class CaseTurn(StrictModel):
    """A user message in a conversation, and the requirements for the reply."""

    prompt: str | None = None
    prompt_file: str | None = None
    """A text file next to the suite with the prompt; a final newline is removed."""
    expected_output: str | None = None
    """The model's reply in a dry run; ignored in a live run."""
    expected_output_file: str | None = None
    replies: tuple[SuiteReply, ...] = ()
    """The replies of the model, or of the models of a `target`, in a dry run. Each is used once,
    or `times` times, and must be used unless it is `optional`. By default the reply is
    `expected_output`, if it is set."""
    transform: Transform | None = None
    """A transform of the output before it is checked; by default the case's own."""
    assertions: tuple[Assertion, ...] = ()
    # The session of the simulated user who wrote it. Its type would need an upward import.
    # On the class, and set in the dictionary of an instance: private attributes are slow to read.
    user_session: ClassVar[object] = None

    @property
    def is_followed(self) -> bool:
        """Return True if a simulated user may send another message after this turn."""
        return bool(getattr(self.user_session, "is_followed", False))


class Defaults(StrictModel):
    """Defaults for all cases; a case overrides them."""

    tags: tuple[Text, ...] = ()
    """Added to the tags of each case."""
    variables: Mapping[str, Any] = {}
    """Variables; those of a case override them."""
    assertions: tuple[Assertion, ...] = ()
    """Assertions before those of each case; in a conversation they apply to the last turn."""
    transform: Transform | None = None
    """A transform of each output before it is checked."""
    repeat: Repeat = 1
    threshold: Threshold = 1.0
    min_score: Threshold | None = None
    timeout: Seconds | None = None
    each_turn: tuple[Assertion, ...] = ()
    """Assertions before those of each turn of each case."""
    judge: Text | None = None
    """The judge model for assertions without a `model`."""


class TestCase(CaseTurn):
    """A test case: a prompt, or several turns of one conversation."""

    # pytest collects classes called Test… otherwise.
    __test__: ClassVar[bool] = False

    name: Text
    """Unique in the suite."""
    system: str | None = None
    """The system prompt; replaces the role's."""
    history: tuple[HistoryMessage, ...] = ()
    """The messages before the prompt, alternating between user and assistant."""
    prompt_function: PromptFunction | None = None
    """A function that writes the prompt, or all messages; replaces `prompt`. As in promptfoo, it
    receives a mapping with `vars` (the variables) and `provider` (the model)."""
    turns: tuple[CaseTurn, ...] = ()
    """The user's messages in order; replaces `prompt`."""
    user: SimulatedUser | None = None
    """A simulated user, who continues the conversation after each reply; `prompt`, if it is set, is
    the first message."""
    tags: tuple[Text, ...] = ()
    variables: Mapping[str, Any] = {}
    """Values for `${name}` in prompts, expected outputs and texts of assertions; write `$${name}`
    for a literal `${name}`. In a case without variables nothing is replaced."""
    rows: Annotated[tuple[Mapping[str, Any], ...], Field(min_length=1)] = ()
    """The variables of each row; the case becomes one case per row. The names of these
    cases are `name[number]`, unless `name` contains `${…}`."""
    rows_file: Text | None = None
    """A file of rows next to the suite (`.csv`, `.jsonl`, `.yaml`), or a glob; replaces `rows`."""
    repeat: Repeat | None = None
    """The number of runs; by default 1."""
    threshold: Threshold | None = None
    """The share of runs that must pass for the case to pass; by default all."""
    min_score: Threshold | None = None
    """The lowest passing score of a run, the weighted average of its assertions. By default each
    assertion must hold."""
    timeout: Seconds | None = None
    """The time limit of a run in seconds, including its assertions."""
    each_turn: tuple[Assertion, ...] = ()
    """Assertions on the reply to each turn."""
    # Private attributes stay out of the file format; the loader sets them.
    _line: int | None = PrivateAttr(default=None)
    _values: Mapping[str, Any] = PrivateAttr(default={})
    # On the class for the same reason as `user_session`.
    is_scripted: ClassVar[bool] = False
    """True if `select_replies` has chosen its replies for one run."""
    scripts_tools: ClassVar[bool] = False
    """True if a reply of the case, in any run, calls a tool."""

    @property
    def line(self) -> int | None:
        """Return its line in the file, from 1; None for a case made in Python."""
        return self._line

    @property
    def values(self) -> Mapping[str, Any]:
        """Return the replaced variables by name; empty before `load_suite` has replaced them."""
        return self._values

    @property
    def has_turns(self) -> bool:
        """Return True if it can have several turns, of its own or of a simulated user."""
        return len(self.turns) > 1 or self.user is not None

    @property
    def all_turns(self) -> tuple[CaseTurn, ...]:
        """Return the turns; a case with a prompt is its own single turn."""
        return self.turns or (self,)


class Metadata(StrictModel):
    """Name and description of a suite."""

    name: Text
    description: str = ""


def _reject_empty(matrix: object) -> Any:
    # A key without a value is null in YAML, which would pass for no matrix.
    if matrix is None:
        raise ValueError("should be a mapping (key: value), not empty")
    return matrix


class TestSuiteDefinition(WithExtensions, StrictModel):
    """A suite of test cases."""

    __test__: ClassVar[bool] = False

    # Spelled as in the files.
    apiVersion: Literal["initrunner/v1", "llm-mock/v1"]
    kind: Literal["TestSuite"]
    metadata: Metadata
    target: Target | None = None
    """The application under test; by default the agent of the role that the run names."""
    matrix: Annotated[Matrix | None, pydantic.BeforeValidator(_reject_empty)] = None
    """Agents or targets to compare; by default there is a single one."""
    min_score: Threshold | None = None
    """The lowest passing score of the suite, the average of its cases. By default each case must
    pass."""
    cassette: CassetteSettings = CassetteSettings()
    """Settings for its cassettes: values to redact and to ignore."""
    defaults: Defaults = Defaults()
    cases: tuple[TestCase, ...] = ()
    _path: Path | None = PrivateAttr(default=None)
    _expanded: tuple[object, ...] = PrivateAttr(default=())

    @pydantic.model_validator(mode="before")
    @classmethod
    def _translate(cls, data: object) -> Any:
        if not isinstance(data, Mapping):
            return data
        if data.get("apiVersion") != initrunner.API_VERSION:
            return data
        return initrunner.translate_suite(data)

    @property
    def path(self) -> Path | None:
        """Return the file of the suite; None for a suite made in Python."""
        return self._path

    @property
    def is_expanded(self) -> bool:
        """Return True if the cases are expanded, and unchanged since then."""
        # By identity: a copy of the suite may have other cases or defaults.
        pairs = zip(self._expanded, self._list_expanded_parts(), strict=False)
        return bool(self._expanded) and all(before is now for before, now in pairs)

    def mark_expanded(self) -> None:
        """Mark the cases as expanded."""
        self._expanded = self._list_expanded_parts()

    def _list_expanded_parts(self) -> tuple[object, ...]:
        return (self.cases, self.defaults, self.target, self.matrix)
