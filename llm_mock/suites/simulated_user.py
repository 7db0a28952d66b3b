"""A simulated user of a case, played by a script or a model."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, NamedTuple

import pydantic
from pydantic import Field

from llm_mock.checks.base import StrictModel, format_error
from llm_mock.errors import LLMMockError
from llm_mock.support.text import shorten_name
from llm_mock.support.validation import Text, Whole

STOP = "###STOP###"
"""The stop word of tau-bench and of promptfoo's simulated user."""
MOST_TURNS = 100
ROLE = (
    "You play the user of an assistant; you are not the assistant. Write the next message of the "
    "user, and nothing else. When the user has what they want, or cannot get it, write {stop}."
)


class SimulatedUser(StrictModel):
    """A simulated user, whose messages come from a script or a model."""

    instructions: Text | None = None
    """A description of the user and their goal, for the model that plays the user in a live run."""
    model: Text | None = None
    """The model that plays the user."""
    script: tuple[Text, ...] = ()
    """The user's messages in a dry run; without `instructions`, in a live run, too."""
    max_turns: Annotated[Whole, Field(ge=1, le=MOST_TURNS)] = 10
    """The maximum number of user messages."""
    stop: Text = STOP
    """The word that ends the conversation; a message that contains it is not sent."""

    @pydantic.model_validator(mode="after")
    def _check_source(self) -> SimulatedUser:
        if self.instructions is None and not self.script:
            raise ValueError("needs a 'script', or 'instructions' and a 'model'")
        if (self.instructions is None) != (self.model is None):
            raise ValueError("'instructions' and 'model' must be set together")
        return self

    def is_scripted(self, dry_run: bool) -> bool:
        """Return True if the messages come from the script."""
        return dry_run or self.instructions is None


class UserMessage(NamedTuple):
    """A message of the user."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = Decimal(0)


def ask_user(user: SimulatedUser, exchanges: list[tuple[str, str]]) -> UserMessage:
    """Ask the model that plays the user for the next message.

    Args:
        user: the user.
        exchanges: the messages of the user so far, each with the reply to it.

    Raises:
        LLMMockError: the model failed.
    """
    # Imported here: suites without such a user do not need it.
    import llm

    from llm_mock.agents.result import now
    from llm_mock.cost.prices import compute_usage_cost

    started = now()
    system = f"{ROLE.format(stop=user.stop)}\n\n{user.instructions}"
    lines = []
    for message, answer in exchanges:
        lines += [f"User: {message}", f"Assistant: {answer}"]
    prompt = "\n\n".join(lines) or "The conversation begins."
    name = user.model or ""
    try:
        response = llm.get_model(name).prompt(prompt, system=system)
        text = response.text().strip()
        usage = response.usage()
    except Exception as error:  # Whatever a provider raises.
        reason = format_error(error)
        problem = f"The model {shorten_name(name)!r} that plays the user failed: {reason}"
        raise LLMMockError(problem) from None
    return UserMessage(
        text, usage.input or 0, usage.output or 0, compute_usage_cost(name, usage, started)
    )
