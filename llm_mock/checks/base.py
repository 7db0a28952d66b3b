"""Context, outcome and messages that all types of assertions share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pydantic
from pydantic import ConfigDict, Field

from llm_mock.agents.result import AgentResult
from llm_mock.core.judge_choice import NO_CHOICE, JudgeChoice
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import redact
from llm_mock.support.text import escape_unprintable, shorten_message
from llm_mock.support.validation import Number

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


def expand_names(items: object) -> object:
    """Return a list with a mapping in place of each plain text, which is a name."""
    if not isinstance(items, (list, tuple)):
        # Reported by the validation that follows.
        return items
    return [{"name": item} if isinstance(item, str) else item for item in items]


ScriptedFact = Literal["tools", "usage", "steps"]
"""A fact that scripted replies can state: the tools that the model calls, its tokens, or the order
of all calls to models and tools."""
CassetteState = Literal["recorded", "replayed"]


@dataclass(frozen=True)
class RunContext:
    """Facts besides the output that assertions can check."""

    result: AgentResult | None = None
    """The run that gave the output, limited to one turn."""
    dry_run: bool = False
    """True if no real model answered; assertions that need one are skipped."""
    scripted: Collection[ScriptedFact] = ()
    """The facts that the replies of a dry run state, so that they can be checked there, too."""
    offered: tuple[str, ...] | None = None
    """The names of the tools that the agent offers; None if unknown."""
    judges: JudgeChoice = NO_CHOICE
    folder: Path | None = None
    """The folder of Python functions; the working directory by default."""
    # The type would be an import upward: suites.schema imports the assertions.
    case: Any = None
    """The `TestCase` of the assertion."""
    prompt: str | None = None
    """The prompt that was sent; None if unknown."""
    system: str | None = None
    """The system prompt; None if unknown."""
    cassette: CassetteState | None = None
    """The state of the model responses in the cassette; None without a cassette."""
    unknown_calls: str | None = None
    """The reason why the model calls are unknown; None if they are known."""
    # It gets an `AssertionResult`, whose module imports this one.
    on_check: Callable[..., None] | None = None
    """A function to call with the result of each check of a step in a plain-language test."""


class AssertionOutcome(NamedTuple):
    """The outcome of a check, before `not_` is applied."""

    holds: bool | None
    """True if the assertion without `not_` holds; None if the check was impossible."""
    message: str
    tokens: int = 0
    """The input and output tokens that a judge model used."""
    cost: Decimal | None = Decimal(0)
    """The cost of the judge model in US dollars; None if its price is unknown."""
    score: float | None = None
    """The score from 0 to 1 without `not_`; by default 1 if `holds`, else 0."""
    judge: str | None = None
    """The id of the judge model; None if no model judged."""


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
    return shorten_message(text)


def format_error(error: BaseException) -> str:
    """Return the type and the message of an error on one line."""
    message: object = error
    if isinstance(error, KeyError) and error.args:
        # str() of a KeyError is the repr of its key, with quotes.
        message = error.args[0]
    text = format_external_text(str(message))
    name = type(error).__name__
    return f"{name}: {text}" if text else name
