"""The format in which OpenAI describes its models; those of other providers derive from it."""

from __future__ import annotations

from collections.abc import Sequence

from llm_mock.support.json_types import JSONObject

CREATED = 1_700_000_000
"""The time when each model was created, in seconds, for APIs that have one."""


class ModelFormat:
    """The format of OpenAI and of most other providers; the rest have subclasses."""

    def describe(self, model: str) -> JSONObject:
        """Return the object that describes a model."""
        return {"id": model, "object": "model", "created": CREATED, "owned_by": "llm-mock"}

    def build_list(self, models: Sequence[str]) -> JSONObject:
        """Return the body that lists models."""
        return {"object": "list", "data": [self.describe(model) for model in models]}


OPENAI_MODELS = ModelFormat()
