"""What a model that nobody knows accepts: any option, any attachment, any further argument."""

from __future__ import annotations

import inspect
from typing import Any

import llm
from pydantic import ConfigDict

from llm_mock.replies import json_schema

LLM_ARGUMENTS = frozenset(inspect.signature(llm.Model.prompt).parameters) | {"key"}


class AnyOptions(llm.Options):
    """Takes any option. A subclass of a mocked model may declare its own, as for any `llm` model."""

    model_config = ConfigDict(extra="allow")


class AnyAttachmentType(frozenset[str]):
    """Has every attachment type."""

    def __contains__(self, attachment_type: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True


def split_arguments(options: type[llm.Options], arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the keyword arguments of `prompt()` into those that `llm` takes and those only for the history.

    A pydantic class as schema becomes its JSON schema here, which `llm` would generate anew for each call.

    Args:
        options: the model's `Options`; what it does not take `llm` would refuse.
        arguments: the keyword arguments.
    """
    takes_any = options.model_config.get("extra") == "allow"
    for_llm: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in arguments.items():
        taken = name in LLM_ARGUMENTS or name in options.model_fields or (takes_any and name != "model")
        (for_llm if taken else others)[name] = json_schema(value) if name == "schema" else value
    return for_llm, others
