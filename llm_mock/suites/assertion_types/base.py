"""Base class, context and outcome that all types of assertions share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import pydantic
from pydantic import ConfigDict, Field

from llm_mock.agents.result import AgentResult
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import redact
from llm_mock.support.text import escape_unprintable, shorten_name
from llm_mock.support.validation import Number, Text

MAX_QUOTED = 120
"""The longest quotation in a message, in characters."""
# 0 is excluded: every score reaches it, so the assertion could not fail.
Threshold = Annotated[Number, Field(gt=0, le=1)]
"""A share or a score above 0 and at most 1."""


class StrictModel(pydantic.BaseModel):
    """A part of a suite file. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def accept_text_items(schema: JSONObject) -> None:
    """Let the JSON Schema of a list accept plain texts as items."""
    text = {"type": "string"}
    schema["items"] = {"anyOf": [schema["items"], text]}


CassetteState = Literal["recorded", "replayed"]


@dataclass(frozen=True)
class RunContext:
    """Facts besides the output that assertions may check."""

    result: AgentResult | None = None
    """The run that gave the output, limited to one turn."""
    dry_run: bool = False
    """True if no real model answered; assertions that need one are skipped."""
    offered: tuple[str, ...] | None = None
    """The names of the tools that the agent offers; None if unknown."""
    judge: str | None = None
    """The id of the default judge model, for assertions that name none."""
    folder: Path | None = None
    """The folder of Python functions; the working directory by default."""
    only_judge: str | None = None
    """The id of a judge model that overrides those of assertions."""
    # The type would be an import upward: suites.schema imports the assertions.
    case: Any = None
    """The `TestCase` of the assertion."""
    prompt: str | None = None
    """The prompt that was sent; None if unknown."""
    system: str | None = None
    """The system prompt; None if unknown."""
    cassette: CassetteState | None = None
    """The state of the replies of models in the cassette; None without a cassette."""


class AssertionOutcome(NamedTuple):
    """The outcome of a check, before `not_` is applied."""

    holds: bool | None
    """True if the assertion without `not_` holds; None if the check was impossible."""
    message: str
    tokens: int = 0
    """The input and output tokens that a judge model took."""
    cost: Decimal | None = Decimal(0)
    """The cost of the judge model in US dollars; None if its price is unknown."""
    score: float | None = None
    """The score from 0 to 1 without `not_`; by default 1 if `holds`, else 0."""
    judge: str | None = None
    """The id of the judge model; None if no model judged."""


def _require_type(schema: JSONObject) -> None:
    """Make `type` required in the JSON Schema."""
    # The field has a default, so that Python code can leave it out. Files cannot.
    others = schema.get("required", ())
    schema["required"] = ["type", *others]


class BaseAssertion(StrictModel, ABC):
    """A requirement for an answer; negated if `type` begins with `not_`."""

    model_config = ConfigDict(json_schema_extra=_require_type)

    needs_run: ClassVar[bool] = False
    """True if it checks the run of the output; without a run it is skipped."""
    dry_run_skip: ClassVar[str | None] = None
    """The reason to skip it in a dry run; None to evaluate it."""

    type: str
    weight: Annotated[Number, Field(ge=0)] = 1.0
    """The weight in the score of the case. Weight 0 only measures: the case does not fail."""
    metric: Text | None = None
    """The metric that its score belongs to; each metric has an average of its own."""

    @property
    def is_negated(self) -> bool:
        """Return True if the opposite is asserted."""
        return self.type.startswith("not_")

    def get_cassette_skip(self, cassette: CassetteState) -> str | None:
        """Return the reason to skip it with a cassette, or None to evaluate it."""
        return None

    def find_mistake(self, context: RunContext) -> str | None:
        """Return the mistake in the assertion itself, independent of the output, or None."""
        return None

    @abstractmethod
    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Return the outcome without `not_`. Problems are outcomes; nothing is raised."""


def quote(text: str, length: int = MAX_QUOTED) -> str:
    """Return a text in quotes: shortened, without secrets, control characters escaped."""
    text = redact(text)
    cut = text
    if len(text) > length:
        cut = f"{text[: length - 1]}…"
    if not cut.isprintable():
        cut = escape_unprintable(cut)
    return f"'{cut}'"


def format_external_text(text: str) -> str:
    """Return a text of a model or of the project's code on one line, without secrets."""
    return shorten_name(text, 500)


def format_error(error: BaseException) -> str:
    """Return the type and the message of an error on one line."""
    message: object = error
    if isinstance(error, KeyError) and error.args:
        # str() of a KeyError is the repr of its key, with quotes.
        message = error.args[0]
    text = format_external_text(str(message))
    name = type(error).__name__
    return f"{name}: {text}" if text else name
