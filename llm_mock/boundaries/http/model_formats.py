"""The format in which OpenAI describes its models; those of other providers derive from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.model_names import is_glob
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock

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

    def build_unknown_error(self, model: str) -> WireError:
        """Return the error for the description of a model that does not exist."""
        message = f"The model '{model}' does not exist"
        return WireError(404, message, param="model", code="model_not_found")


OPENAI_MODELS = ModelFormat()


def list_known_models(mock: Mock) -> list[str]:
    """Return the models with configured replies and those that were called, sorted.

    Models that the test made unknown, or that the application deleted, are left out.
    """
    known = {name for name in mock.get_named_ids() if not is_glob(name)}
    # A call of an endpoint without a model is recorded under the path.
    called = {call["model_id"] for call in mock.calls}
    known.update(name for name in called if not name.startswith("/"))
    return sorted(name for name in known if not mock.is_unknown(name))
