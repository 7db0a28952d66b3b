"""A model that accepts any option, attachment or argument, until it replaces a real one."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import llm
from pydantic import ConfigDict

from llm_mock.boundaries.llm.real_model import ReplacesRealModel
from llm_mock.support.schemas import to_json_schema

if TYPE_CHECKING:
    from llm.models import Attachment
    from llm.models import _BaseModel as BaseModel
else:
    # At runtime the base comes from the class of `llm` that a mocked model derives from as well.
    BaseModel = object

LLM_ARGUMENTS = frozenset(inspect.signature(llm.Model.prompt).parameters) | {"key"}
"""The arguments of `prompt` that `llm` accepts by itself."""
CAPABILITIES = (
    "Options",
    "attachment_types",
    "can_stream",
    "key_env_var",
    "needs_key",
    "supports_conversation",
    "supports_schema",
    "supports_tools",
)
"""The attributes that `llm` and applications read from a model."""


class AnyOptions(llm.Options):
    """Options of any name.

    A subclass of a mocked model may declare its own, as every `llm` model may.
    """

    model_config = ConfigDict(extra="allow")


class AnyAttachmentType(frozenset[str]):
    """A set that contains every attachment type."""

    def __contains__(self, attachment_type: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True


SERVER_SIDE_TOOL: type | None = getattr(llm, "ServerSideTool", None)
"""The base class of the tools that providers run; older versions of `llm` have none."""


class PermissiveModel(ReplacesRealModel, BaseModel):
    """A mocked model that accepts everything until it has the capabilities of a real one."""

    can_stream = True
    supports_schema = True
    supports_tools = True
    attachment_types: frozenset[str] | set[str] = AnyAttachmentType()
    has_real_capabilities = False
    """Whether a real model's capabilities were copied. `prompt()` then lets `llm` refuse arguments
    that are no options of the model."""
    _server_side_tools: tuple[type, ...] = ()

    @property
    def supported_server_side_tools(self) -> tuple[type, ...]:
        """The classes of server-side tools that may be used: the real model's, or else all."""
        if self.has_real_capabilities:
            return self._server_side_tools
        return _list_server_side_tools()

    def _validate_attachments(self, attachments: list[Attachment] | None = None) -> None:
        # If any type is accepted, `llm` would fetch a URL only to find out its type.
        if not isinstance(self.attachment_types, AnyAttachmentType):
            super()._validate_attachments(attachments)

    def copy_capabilities(self, real: object) -> None:
        """Copy the capabilities, options and name of a real model."""
        self.bind_real_model(real, CAPABILITIES)
        # Older versions of `llm` do not have the attribute.
        self._server_side_tools = tuple(getattr(real, "supported_server_side_tools", ()))
        self.has_real_capabilities = True


def _list_server_side_tools() -> tuple[type, ...]:
    tools = [SERVER_SIDE_TOOL] if SERVER_SIDE_TOOL else []
    # The list grows while it is read, so subclasses of subclasses are found too.
    for tool in tools:
        tools += tool.__subclasses__()
    return tuple(tools)


def split_arguments(
    model: PermissiveModel, arguments: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the keyword arguments of `prompt` by whether `llm` accepts them.

    A pydantic class as `schema` becomes its JSON schema here, which `llm` would generate again for
    each call.

    Returns:
        The arguments for `llm`, and those that only the history has.
    """
    options = model.Options
    takes_any = options.model_config.get("extra") == "allow"
    for_llm: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in arguments.items():
        if name == "schema":
            value = to_json_schema(value)
        is_declared = name in LLM_ARGUMENTS or name in options.model_fields
        # The mock accepts `model` for the history; no real model has such an option.
        is_accepted = is_declared or (takes_any and name != "model")
        if is_accepted or model.has_real_capabilities:
            for_llm[name] = value
        else:
            others[name] = value
    return for_llm, others
