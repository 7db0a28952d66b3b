"""Base class of assertions on a text."""

from __future__ import annotations

from typing import Literal

from llm_mock.checks.base import RunContext
from llm_mock.checks.evaluation import BaseAssertion
from llm_mock.checks.transforms import Transform, apply_transform


class TextAssertion(BaseAssertion):
    """A requirement for a text."""

    of: Literal["output", "prompt", "system"] = "output"
    """The text to check: the output, the prompt with its variables replaced, or the system prompt.
    For an application, these are the prompts of its model calls."""
    transform: Transform | None = None
    """The transform of that text for this assertion."""

    def get_text(self, output: str, context: RunContext) -> str | None:
        """Return the output or a prompt, with the transform applied."""
        texts = {"output": output, "prompt": context.prompt, "system": context.system}
        text = texts[self.of]
        if text is None or self.transform is None:
            return text
        return apply_transform(self.transform, text, context)
