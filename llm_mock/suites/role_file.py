"""The format of role files."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic import AliasChoices, ConfigDict, Field

from llm_mock.errors import InvalidFile
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten, shorten_name, suggest_nearest
from llm_mock.support.validation import Location, Number, Seconds, Text, Whole, WithExtensions
from llm_mock.support.yaml_files import Document

TOOL_TYPES = ("mcp", "cli", "function")
"""The types of tools that are supported."""
OTHER_KINDS = {
    "Flow": "a flow",
    "Team": "a team",
    "Compose": "a composition",
    "Pipeline": "a pipeline",
    "Service": "a service",
}
"""Kinds of InitRunner files that are not supported."""
# Keys of a flat agent that only describe it, as `metadata` of a role does.
_DESCRIPTIVE_KEYS = (
    "description",
    "tags",
    "author",
    "team",
    "version",
    "dependencies",
    "bundle",
    "spec_version",
)
_REQUIRED_KEYS = (
    ((), ("apiVersion", "kind", "metadata", "spec")),
    (("metadata",), ("name",)),
    (("spec",), ("role",)),
)
_STDIO_KEYS = ("command", "args", "env", "cwd")
_HTTP_KEYS = ("url", "headers")
_MCP_KEYS = ("type", "name", "transport", "tool_filter", "timeout", "tool_exclude")
_CLI_KEYS = ("type", "name", "command", "tool_prefix", "cwd", "env", "timeout", "description")

_FUNCTION_KEYS = ("type", "name", "function", "env", "timeout")


class _Part(pydantic.BaseModel):
    """A part of a role file, which may have unknown keys: see `find_ignored_keys`."""

    # pydantic would reserve names that begin with `model_`.
    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=())


class _Metadata(_Part):
    name: Text


class RoleModel(_Part):
    """The model of a role: an id of `llm`, or a provider and the name of its model."""

    provider: str | None
    name: Text | None
    temperature: Annotated[Number, Field(ge=0)] | None = None
    max_tokens: Annotated[Whole, Field(ge=1)] | None = None
    options: JSONObject = {}
    """Further options of the model, under the names that `llm` uses."""

    @pydantic.model_validator(mode="before")
    @classmethod
    def _expand_id(cls, data: object) -> Any:
        if isinstance(data, str) and data:
            return {"provider": None, "name": data}
        if not isinstance(data, Mapping):
            raise ValueError("should be a model id, or a mapping with provider and name")
        if "provider" in data or "name" in data:
            return data
        # Options alone: the command line names the model.
        return {**data, "provider": None, "name": None}

    @property
    def ids(self) -> list[str]:
        """The ids under which `llm` may know the model, the most likely first."""
        if self.name is None:
            return []
        if not self.provider:
            return [self.name]
        qualified_name = f"{self.provider}/{self.name}"
        # The models of OpenAI are built into `llm`, without a prefix.
        if self.provider == "openai":
            return [self.name, qualified_name]
        return [qualified_name, self.name]

    @property
    def all_options(self) -> JSONObject:
        """The options of the model that the file sets."""
        own = self.model_dump(include={"temperature", "max_tokens"}, exclude_none=True)
        return {**self.options, **own}


class RoleTool(_Part):
    """A tool of a role: an MCP server, a command line, a Python function, or an unsupported one."""

    type: str
    name: str | None = None
    command: str = ""
    cwd: str | None = None
    env: dict[str, str] = {}
    # Later versions of InitRunner call it `timeout_seconds`.
    timeout: Annotated[
        Seconds,
        Field(validation_alias=AliasChoices("timeout", "timeout_seconds")),
    ] = 60.0
    # The following are for MCP servers.
    transport: str = "stdio"
    args: tuple[str, ...] = ()
    url: str | None = None
    headers: dict[str, str] = {}
    tool_filter: tuple[str, ...] = ()
    tool_exclude: tuple[str, ...] = ()
    # The following are for command-line tools.
    tool_prefix: str | None = None
    description: str | None = None
    # The following is for Python functions.
    function: str = ""

    @pydantic.model_validator(mode="before")
    @classmethod
    def _drop_unsupported(cls, data: object) -> Any:
        if not isinstance(data, Mapping):
            raise ValueError("should be a mapping with a type")
        kind = data.get("type")
        if isinstance(kind, str) and kind not in TOOL_TYPES:
            # Its keys may have other types than ours of the same names.
            return {"type": kind}
        return data

    @property
    def effective_keys(self) -> tuple[str, ...]:
        """The keys that have an effect for this type and transport."""
        if self.type == "cli":
            return _CLI_KEYS
        if self.type == "function":
            return _FUNCTION_KEYS
        transport_keys = _STDIO_KEYS if self.transport == "stdio" else _HTTP_KEYS
        return _MCP_KEYS + transport_keys


class _Guardrails(_Part):
    max_request_limit: Annotated[Whole, Field(ge=1)] | None = None


class _Spec(_Part):
    role: str
    model: RoleModel = RoleModel(provider=None, name=None)
    tools: tuple[RoleTool, ...] = ()
    guardrails: _Guardrails = _Guardrails()
    skill: str | None = None


class RoleFile(WithExtensions, _Part):
    """A role file with `apiVersion`, `kind`, `metadata` and `spec`."""

    apiVersion: Literal["initrunner/v1", "llm-mock/v1"]
    kind: Literal["Agent"]
    metadata: _Metadata
    spec: _Spec
    place: ClassVar[tuple[str, ...]] = ("spec",)
    """The keys that lead to the spec in the file."""

    @property
    def name(self) -> str:
        """The name of the role."""
        return self.metadata.name


class FlatAgent(WithExtensions, _Spec):
    """A flat agent of InitRunner, which has the keys of a spec at its top level."""

    name: Text
    role: str = Field(alias="prompt")
    place: ClassVar[tuple[str, ...]] = ()

    @pydantic.model_validator(mode="before")
    @classmethod
    def _expand_short_forms(cls, data: Mapping[str, object]) -> JSONObject:
        expanded = {key: value for key, value in data.items() if key not in _DESCRIPTIVE_KEYS}
        tools = expanded.get("tools")
        if isinstance(tools, list):
            expanded["tools"] = [_expand_tool(tool) for tool in tools]
        model = expanded.get("model")
        if isinstance(model, str) and ":" in model:
            provider, _, name = model.partition(":")
            expanded["model"] = {"provider": provider, "name": name}
        return expanded

    @property
    def spec(self) -> _Spec:
        """The agent itself."""
        return self


def _expand_tool(tool: Any) -> Any:
    """Return the long form of a tool, which may be only a type, or `type: its other keys`."""
    if isinstance(tool, str):
        return {"type": tool}
    is_short = isinstance(tool, Mapping) and len(tool) == 1 and "type" not in tool
    if not is_short:
        return tool
    ((kind, options),) = tool.items()
    if isinstance(options, Mapping):
        return {**options, "type": kind}
    return {"type": kind}


def describe_unsupported_kind(data: object) -> str | None:
    """Return an error message for an InitRunner file of an unsupported kind; None for others."""
    if not isinstance(data, dict):
        return None
    kind = data.get("kind")
    if isinstance(kind, str):
        description = OTHER_KINDS.get(kind)
    else:
        description = None
    if description:
        problem = f"kind is {kind!r}, {description} of InitRunner"
    elif kind is None and "name" in data and "agents" in data:
        # Flat files have no kind.
        problem = "this file has several agents, like a team or a flow of InitRunner"
    else:
        return None
    return f"{problem}: only its roles (Agent) and suites (TestSuite) are supported"


def is_flat_agent(data: Mapping[str, object]) -> bool:
    """Return True for the data of a flat agent of InitRunner."""
    keys = set(data)
    return {"name", "prompt"} <= keys and keys.isdisjoint(("apiVersion", "kind", "spec", "agents"))


def check_kind(document: Document) -> None:
    """Raise an error if a file is not a role.

    Raises:
        InvalidFile: it is another kind of file, or lacks required keys.
    """
    __tracebackhide__ = True
    data = document.data
    if not isinstance(data, dict):
        content = "is empty"
        if data is not None:
            content = "holds a list" if isinstance(data, list) else "holds a single value"
        expected = "a role has the keys apiVersion, kind, metadata and spec"
        raise document.error(f"the file {content}; {expected}")
    if is_flat_agent(data):
        return
    # A missing kind is reported below, with other missing keys.
    kind = data.get("kind", "Agent")
    if kind == "TestSuite":
        message = "this is a suite (kind: TestSuite), not a role (kind: Agent)"
        advice = f"to run it, use llm-mock test -s {document.path}"
        raise document.error(f"{message}; {advice}", ("kind",))
    unsupported = describe_unsupported_kind(data)
    if unsupported:
        raise document.error(unsupported, ("kind",))
    if kind != "Agent":
        raise document.error(f"kind is {shorten(kind)}; a role has kind: Agent", ("kind",))
    problems: list[str] = []
    for location, keys in _REQUIRED_KEYS:
        problems += map(str, _find_missing_keys(document, location, keys))
    if problems:
        raise InvalidFile("\n".join(problems))


def _find_missing_keys(
    document: Document,
    location: Sequence[str],
    keys: Sequence[str],
) -> Iterator[InvalidFile]:
    """Yield an error for each missing key, with the unknown key that may be a misspelling of it."""
    owner = functools.reduce(dict.get, location, document.data)
    if not isinstance(owner, dict):
        # The validation reports that it must be a mapping.
        return
    unknown_keys = [name for name in owner if isinstance(name, str) and name not in keys]
    for key in keys:
        if key in owner:
            continue
        if location:
            owner_text = f" in {'.'.join(location)}"
        else:
            owner_text = ""
        message = f"{key!r} is missing{owner_text}"
        similar = difflib.get_close_matches(key, unknown_keys, n=1)
        if similar:
            line = document.line_of([*location, similar[0]])
            message += f"; is {shorten(similar[0])} (line {line}) a misspelling of it?"
        yield document.error(message, location)


def find_ignored_keys(document: Document, file: RoleFile | FlatAgent) -> Iterator[str]:
    """Yield the path and line of each unsupported key, except in `metadata`."""
    spec = file.spec
    parts: dict[tuple[str, ...], _Part] = {(): file, file.place: spec}
    for name in ("model", "guardrails"):
        parts[(*file.place, name)] = getattr(spec, name)
    for location, part in parts.items():
        yield from _format_keys(document, location, part.model_extra or (), type(part).model_fields)
    for position, tool in enumerate(spec.tools):
        place: Location = (*file.place, "tools", position)
        if tool.type in TOOL_TYPES:
            ignored_keys = tool.model_fields_set.difference(tool.effective_keys)
            yield from _format_keys(document, place, ignored_keys, tool.effective_keys)
        else:
            kind = shorten_name(tool.type)
            yield f"{_format_location(place)} of type {kind} (line {document.line_of(place)})"


def _format_keys(
    document: Document,
    location: Location,
    keys: Iterable[str],
    known_keys: Iterable[str],
) -> Iterator[str]:
    """Yield the path of each key with its line, in the order of the file, and a similar key."""
    owner = _format_location(location)
    prefix = f"{owner}." if owner else ""
    lines = sorted((document.line_of((*location, key)), key) for key in keys)
    for line, key in lines:
        other_keys = [name for name in known_keys if name != key]
        yield f"{prefix}{shorten_name(key)} (line {line}{suggest_nearest(key, other_keys)})"


def _format_location(location: Location) -> str:
    """Return a location as text, such as `spec.tools[0]`."""
    text = ""
    for step in location:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text
