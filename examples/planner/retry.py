"""Asking a model again when it fails or answers badly."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import llm

from planner.errors import PlannerError, describe

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Retry:
    """The number of attempts and the waits between them.

    Args:
        attempts: how often to ask at most, at least once.
        pause: seconds before the second attempt, doubled before each further one.
        sleep: waits that many seconds.
    """

    attempts: int = 3
    pause: float = 0.0
    sleep: Callable[[float], None] = time.sleep

    def until_answered(self, ask: Callable[[], Answer]) -> Answer:
        """Ask until there is an answer.

        Args: ask: asks the model and checks what it answers; raises an exception when either goes
        wrong.

        Raises:
            PlannerError: every attempt went wrong, or the key of the model is missing.
        """
        for attempt in range(1, self.attempts + 1):
            try:
                return ask()
            except llm.NeedsKeyException as error:
                raise PlannerError(describe(error)) from error
            except Exception as error:  # each provider's client library has exceptions of its own
                failure = error
            if attempt < self.attempts:
                self.sleep(self.pause * 2 ** (attempt - 1))
        raise PlannerError(
            f"No usable answer in {self.attempts} attempts: {describe(failure)}"
        ) from failure
