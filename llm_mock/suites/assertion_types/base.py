"""What all types of assertions have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import pydantic
from pydantic import ConfigDict, Field

from llm_mock.agents.result import AgentResult
from llm_mock.support.redaction import redacted
from llm_mock.support.text import escaped, shorten_name
from llm_mock.support.validation import Number, Text

SHOWN = 120
Threshold = Annotated[Number, Field(gt=0, le=1)]
"""A share or a score, above 0, which everything reaches, and at most 1."""


class StrictModel(pydantic.BaseModel):
    """A part of a suite file. A key that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def or_text(schema: dict[str, Any]) -> None:
    """Have the JSON Schema of a list accept texts, each of which stands for an item."""
    schema["items"] = {"anyOf": [schema["items"], {"type": "string"}]}


CassetteState = Literal["recorded", "replayed"]


@dataclass(frozen=True)
class RunContext:
    """What assertions may look at besides the output."""

    result: AgentResult | None = None
    """The run that gave the output: that of one turn."""
    dry_run: bool = False
    """Whether no real model was asked: what only one can show is skipped."""
    offered: tuple[str, ...] | None = None
    """The names of the tools that the agent offers; None where they are not known."""
    judge: str | None = None
    """The id of the model that judges where an assertion names none."""
    folder: Path | None = None
    """Where the files of Python functions lie; by default the working directory."""
    only_judge: str | None = None
    """The id of the model that judges whatever an assertion names; None where that counts."""
    case: Any = None
    """The `TestCase` that the assertion belongs to."""
    prompt: str | None = None
    """What was asked; None where that is not known."""
    system: str | None = None
    """The system prompt; None where that is not known."""
    cassette: CassetteState | None = None
    """Whether what models answered was recorded, or replayed; None without a cassette."""


class Outcome(NamedTuple):
    """What was found out about an output, before it is said whether that was wanted."""

    holds: bool | None
    """Whether the output is as the assertion without `not_` says; None where that could not be found out."""
    message: str
    tokens: int = 0
    """What asking a model took, input and output together."""
    cost: Decimal | None = Decimal(0)
    """What asking a model cost in US dollars; None where the price is not known."""
    score: float | None = None
    """How well the output is as the assertion without `not_` says, from 0 to 1; by default 1 where `holds`, else 0."""
    judge: str | None = None
    """The id of the model that judged; None where none did."""


def _needs_type(schema: dict[str, Any]) -> None:
    """Have the JSON Schema ask for the type, which only Python code may leave out."""
    schema["required"] = ["type", *schema.get("required", ())]


class BaseAssertion(StrictModel, ABC):
    """What an answer must be like. Where `type` begins with `not_`, what it must not be like."""

    model_config = ConfigDict(json_schema_extra=_needs_type)

    needs_run: ClassVar[bool] = False
    """Whether it looks at the run that gave the output; without one it is skipped."""
    skipped_dry: ClassVar[str | None] = None
    """Why a dry run cannot evaluate it; None where it can."""

    type: str
    weight: Annotated[Number, Field(ge=0)] = 1.0
    """How much it counts in the score of the case. With 0 it is measured only: it fails no case."""
    metric: Text | None = None
    """What it measures: the scores of all assertions with this name have an average of their own."""

    @property
    def negated(self) -> bool:
        """Whether the opposite is asserted."""
        return self.type.startswith("not_")

    def skipped_with(self, cassette: CassetteState) -> str | None:
        """Why it cannot be evaluated where answers are recorded or replayed; None where it can."""
        return None

    def mistake(self, context: RunContext) -> str | None:
        """What is wrong with the assertion itself, whatever the output is; None for nothing."""
        return None

    @abstractmethod
    def check(self, output: str, context: RunContext) -> Outcome:
        """Find out whether the output is as the assertion without `not_` says. Nothing is raised."""


def quoted(text: str, length: int = SHOWN) -> str:
    """A text without secrets in quotes, cut, backslashes as they are; what a terminal could act on is escaped."""
    text = redacted(text)
    cut = text if len(text) <= length else f"{text[: length - 1]}…"
    return f"'{escaped(cut)}'"


def reported(text: str) -> str:
    """What a model or the project's code said, on a line and without secrets."""
    return shorten_name(text, 500)


def reported_error(error: BaseException) -> str:
    """An error on a line; of a KeyError its text, which Python shows in quotes."""
    said = reported(str(error.args[0] if isinstance(error, KeyError) and error.args else error))
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
