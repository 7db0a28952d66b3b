"""What a role file holds, validated. No agent is made of it here."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic import AliasChoices, ConfigDict, Field

from llm_mock.errors import InvalidFile
from llm_mock.support.text import nearest, shorten, shorten_name
from llm_mock.support.validation import Location, Number, Seconds, Text, Whole, WithExtensions
from llm_mock.support.yaml_files import Document

TOOL_TYPES = ("mcp", "cli")
"""The types of tools that are run here."""
OTHER_KINDS = {
    "Flow": "a flow",
    "Team": "a team",
    "Compose": "a composition",
    "Pipeline": "a pipeline",
    "Service": "a service",
}
"""Kinds of files of InitRunner that have no counterpart."""
_DESCRIBING = ("description", "tags", "author", "team", "version", "dependencies", "bundle", "spec_version")
"""Keys of a flat agent that describe it only, as `metadata` of a role does."""
_REQUIRED = (
    ((), ("apiVersion", "kind", "metadata", "spec")),
    (("metadata",), ("name",)),
    (("spec",), ("role",)),
)
_OF_STDIO = ("command", "args", "env", "cwd")
_OF_HTTP = ("url", "headers")
_OF_MCP = ("type", "name", "transport", "tool_filter", "timeout", "tool_exclude")
_OF_CLI = ("type", "name", "command", "tool_prefix", "cwd", "env", "timeout", "description")


class _Part(pydantic.BaseModel):
    """A part of a role file. It may have keys that are not known here."""

    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=())


class _Metadata(_Part):
    name: Text


class Model(_Part):
    provider: str | None
    name: Text | None
    temperature: Annotated[Number, Field(ge=0)] | None = None
    max_tokens: Annotated[Whole, Field(ge=1)] | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def _id_alone(cls, data: Any) -> Any:
        if isinstance(data, str) and data:
            return {"provider": None, "name": data}
        if not isinstance(data, Mapping):
            raise ValueError("give the id of a model, or a mapping with provider and name")
        return data if {"provider", "name"} & {*data} else {**data, "provider": None, "name": None}

    @property
    def ids(self) -> list[str]:
        """The names under which `llm` may know it, the likeliest first; none where the file names no model."""
        if self.name is None:
            return []
        if not self.provider:
            return [self.name]
        of_provider = f"{self.provider}/{self.name}"
        return [self.name, of_provider] if self.provider == "openai" else [of_provider, self.name]

    @property
    def options(self) -> dict[str, Any]:
        """Those that the file gives."""
        return self.model_dump(include={"temperature", "max_tokens"}, exclude_none=True)


class Tool(_Part):
    type: str
    name: str | None = None
    command: str = ""
    cwd: str | None = None
    env: dict[str, str] = {}
    timeout: Annotated[Seconds, Field(validation_alias=AliasChoices("timeout", "timeout_seconds"))] = 60.0
    # of MCP servers
    transport: str = "stdio"
    args: tuple[str, ...] = ()
    url: str | None = None
    headers: dict[str, str] = {}
    tool_filter: tuple[str, ...] = ()
    tool_exclude: tuple[str, ...] = ()
    # of command-line tools
    tool_prefix: str | None = None
    description: str | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def _only_known_types(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise ValueError("a tool is a mapping that has a type")
        kind = data.get("type")
        return {"type": kind} if isinstance(kind, str) and kind not in TOOL_TYPES else data

    @property
    def effective(self) -> tuple[str, ...]:
        """The keys that have an effect."""
        if self.type == "cli":
            return _OF_CLI
        return _OF_MCP + (_OF_STDIO if self.transport == "stdio" else _OF_HTTP)


class _Guardrails(_Part):
    max_request_limit: Annotated[Whole, Field(ge=1)] | None = None


class _Spec(_Part):
    role: str
    model: Model = Model(provider=None, name=None)
    tools: tuple[Tool, ...] = ()
    guardrails: _Guardrails = _Guardrails()
    skill: str | None = None


class RoleFile(WithExtensions, _Part):
    apiVersion: Literal["initrunner/v1", "llm-mock/v1"]
    kind: Literal["Agent"]
    metadata: _Metadata
    spec: _Spec
    place: ClassVar[tuple[str, ...]] = ("spec",)
    """Where the spec stands in the file."""

    @property
    def name(self) -> str:
        return self.metadata.name


class FlatAgent(WithExtensions, _Spec):
    """A flat agent of InitRunner: what a role has in its spec stands at the top, beside the name."""

    name: Text
    role: str = Field(alias="prompt")
    place: ClassVar[tuple[str, ...]] = ()

    @pydantic.model_validator(mode="before")
    @classmethod
    def _short_forms(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        given = {key: value for key, value in data.items() if key not in _DESCRIBING}
        if isinstance(given.get("tools"), list):
            given["tools"] = [_long_form(tool) for tool in given["tools"]]
        if isinstance(given.get("model"), str) and ":" in given["model"]:
            provider, _, name = given["model"].partition(":")
            given["model"] = {"provider": provider, "name": name}
        return given

    @property
    def spec(self) -> _Spec:
        return self


def _long_form(tool: Any) -> Any:
    """A tool that may be written as its type alone, or as `type: what else it has`."""
    if isinstance(tool, Mapping) and len(tool) == 1 and "type" not in tool:
        ((kind, given),) = tool.items()
        return {**given, "type": kind} if isinstance(given, Mapping) else {"type": kind}
    return {"type": tool} if isinstance(tool, str) else tool


def not_ours(data: Any) -> str | None:
    """What to say of a file of InitRunner's that has no counterpart here; None for any other."""
    kind = data.get("kind") if isinstance(data, dict) else None
    what = OTHER_KINDS.get(kind) if isinstance(kind, str) else None
    if what:
        is_other = f"kind is {kind!r}, which is {what} of InitRunner"
    elif kind is None and isinstance(data, dict) and {"name", "agents"} <= {*data}:
        is_other = "this has several agents, as a team or a flow of InitRunner"
    else:
        return None
    return f"{is_other}: only its roles (Agent) and suites (TestSuite) run here"


def is_flat(data: Any) -> bool:
    """Whether this is what a flat agent of InitRunner's holds."""
    others = {"apiVersion", "kind", "spec", "agents"}
    return isinstance(data, dict) and {"name", "prompt"} <= {*data} and not others & {*data}


def check_envelope(document: Document) -> None:
    """Refuse what is no role, in words that say what it is instead."""
    __tracebackhide__ = True
    data = document.data
    if not isinstance(data, dict):
        held = "is empty" if data is None else f"holds a {'list' if isinstance(data, list) else 'single value'}"
        raise document.error(f"the file {held}; a role has the keys apiVersion, kind, metadata and spec")
    if is_flat(data):
        return
    kind = data.get("kind", "Agent")
    if kind == "TestSuite":
        raise document.error("this is a suite (kind: TestSuite), not a role (kind: Agent)", ("kind",))
    if other := not_ours(data):
        raise document.error(other, ("kind",))
    if kind != "Agent":
        raise document.error(f"kind is {shorten(kind)}; a role has kind: Agent", ("kind",))
    problems = [str(problem) for location, keys in _REQUIRED for problem in _missing(document, location, keys)]
    if problems:
        raise InvalidFile("\n".join(problems))


def _missing(document: Document, location: Sequence[str], keys: Sequence[str]) -> Iterator[InvalidFile]:
    """The problem of each key that is not there, with the one that may be meant by it."""
    owner = functools.reduce(dict.get, location, document.data)
    if not isinstance(owner, dict):  # what it is instead is told by the validation
        return
    for key in (key for key in keys if key not in owner):
        others = [name for name in owner if isinstance(name, str) and name not in keys]
        near = next(iter(difflib.get_close_matches(key, others, n=1)), None)
        where = f" in {'.'.join(location)}" if location else ""
        line = document.line_of([*location, near or ""])
        meant = f"; did you mean it by {shorten(near)} (line {line})?" if near else ""
        yield document.error(f"{key!r} is missing{where}{meant}", location)


def ignored_keys(document: Document, file: RoleFile | FlatAgent) -> Iterator[str]:
    """Of each key that has no effect its place. What `metadata` says besides the name describes the role only."""
    spec = file.spec
    parts: dict[tuple[str, ...], _Part] = {(): file, file.place: spec}
    parts |= {(*file.place, name): getattr(spec, name) for name in ("model", "guardrails")}
    for location, part in parts.items():
        yield from _without_effect(document, location, part.model_extra or (), type(part).model_fields)
    for position, tool in enumerate(spec.tools):
        place: Location = (*file.place, "tools", position)
        if tool.type not in TOOL_TYPES:
            named = f"{'.'.join((*file.place, 'tools'))}[{position}]"
            yield f"{named} of type {shorten_name(tool.type)} (line {document.line_of(place)})"
            continue
        others = {*tool.model_fields_set, *(tool.model_extra or ())}.difference(tool.effective)
        yield from _without_effect(document, place, others, tool.effective)


def _without_effect(
    document: Document, location: Sequence[str | int], keys: Iterable[str], known: Iterable[str]
) -> Iterator[str]:
    owner = "".join(f"[{step}]" if isinstance(step, int) else f"{step}." for step in location).replace(".[", "[")
    dot = "." if owner.endswith("]") else ""
    for line, key in sorted((document.line_of((*location, key)), key) for key in keys):
        near = nearest(key, [name for name in known if name != key])
        yield f"{owner}{dot}{shorten_name(key)} (line {line}{near})"
