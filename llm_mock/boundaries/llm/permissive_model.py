"""What a model that nobody knows accepts: any option, any attachment, any further argument."""

from __future__ import annotations

import inspect
from typing import Any

import llm
from pydantic import ConfigDict

from llm_mock.boundaries.llm.real_model import ReplacesRealModel
from llm_mock.support.schemas import to_json_schema

LLM_ARGUMENTS = frozenset(inspect.signature(llm.Model.prompt).parameters) | {"key"}
CAPABILITIES = (
    *("Options", "attachment_types", "can_stream", "key_env_var", "needs_key"),
    *("supports_conversation", "supports_schema", "supports_tools"),
)
"""What `llm` and applications ask a model for, wherever it has it."""


class AnyOptions(llm.Options):
    """Takes any option. A subclass of a mocked model may declare its own, as for any `llm` model."""

    model_config = ConfigDict(extra="allow")


class AnyAttachmentType(frozenset[str]):
    """Has every attachment type."""

    def __contains__(self, attachment_type: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True


SERVER_SIDE_TOOL: Any = getattr(llm, "ServerSideTool", None)
"""What the tools of providers derive from; older versions of `llm` have none."""


class PermissiveModel(ReplacesRealModel):
    """What a mocked model accepts, until it takes the traits of a real one."""

    can_stream = True
    supports_schema = True
    supports_tools = True
    attachment_types: frozenset[str] | set[str] = AnyAttachmentType()
    has_real_capabilities = False
    """Whether it took the traits of a real model; then `prompt()` lets `llm` refuse what is no option of the model."""
    _server_side_tools: tuple[type, ...] = ()

    @property
    def supported_server_side_tools(self) -> tuple[type, ...]:
        """The classes of the provider's own tools that may be offered: the real model's, or else all there are."""
        return self._server_side_tools if self.has_real_capabilities else _list_server_side_tools()

    def _validate_attachments(self, attachments: Any = None) -> None:
        if not isinstance(
            self.attachment_types, AnyAttachmentType
        ):  # else `llm` would ask a URL for its type
            super()._validate_attachments(attachments)  # type: ignore[misc]

    def copy_capabilities(self, real: Any) -> None:
        """Become like a real model in what applications look at: what it supports, its options, its name."""
        self.bind_real_model(real, CAPABILITIES)
        self._server_side_tools = tuple(getattr(real, "supported_server_side_tools", ()))
        self.has_real_capabilities = True


def _list_server_side_tools() -> tuple[type, ...]:
    tools = [SERVER_SIDE_TOOL] if SERVER_SIDE_TOOL else []
    for tool in tools:
        tools += tool.__subclasses__()
    return tuple(tools)


def split_arguments(model: Any, arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the keyword arguments of `prompt()` into those that `llm` takes and those only for the history.

    A pydantic class as schema becomes its JSON schema here, which `llm` would generate anew for each call.
    """
    options = model.Options
    takes_any = options.model_config.get("extra") == "allow"
    for_llm: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in arguments.items():
        taken = model.has_real_capabilities or name in LLM_ARGUMENTS or name in options.model_fields
        taken = taken or (takes_any and name != "model")
        (for_llm if taken else others)[name] = to_json_schema(value) if name == "schema" else value
    return for_llm, others
