"""Role files: YAML files that say what an agent is. Nothing is started or called here."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

from llm_mock.agents.agent import MAX_TURNS, Agent, Provider
from llm_mock.agents.servers import CLIServer, MCPServer, Transport
from llm_mock.agents.skill import Skill
from llm_mock.errors import InvalidFile, InvalidServer
from llm_mock.suites.role_file import FlatAgent, RoleFile, Tool, check_envelope, ignored_keys, is_flat
from llm_mock.support import yaml_files
from llm_mock.support.text import listed, shorten, shorten_name
from llm_mock.support.validation import Location
from llm_mock.support.yaml_files import Document

PLUGINS = {
    "anthropic": "llm-anthropic",
    "bedrock": "llm-bedrock",
    "cohere": "llm-command-r",
    "deepseek": "llm-deepseek",
    "google": "llm-gemini",
    "groq": "llm-groq",
    "mistral": "llm-mistral",
    "ollama": "llm-ollama",
    "openrouter": "llm-openrouter",
    "xai": "llm-grok",
}
"""The plugin of `llm` that has the models of a provider."""


NO_MODEL = "no model"
"""The model of a role that names none; a dry run needs none."""


@dataclass(frozen=True)
class Role:
    """What a role file says."""

    name: str
    agent: Agent
    """The agent. Until `resolve_model` its model is what the file says, whether `llm` knows it or not."""
    path: Path
    """The file."""
    ignored: tuple[str, ...] = ()
    """What it says that has no effect here, each with its line."""
    model_ids: tuple[str, ...] = ()
    """The names under which `llm` may know the model, the likeliest first."""
    provider: str | None = None
    """The provider that the file names; None where it gives a model id of `llm`."""
    model_line: int = 1
    """Where in the file the model stands, from 1."""

    @property
    def warning(self) -> str | None:
        """One sentence that names what is ignored; None where nothing is."""
        if not self.ignored:
            return None
        return f"{self.path}: ignored, as this has no effect here: {', '.join(self.ignored)}."


def load_role(path: str | Path) -> Role:
    """Read a role file. `llm` is not asked whether it knows the model; see `resolve_model`.

    Tools of type `mcp` and `cli` become the agent's servers; a relative `cwd` and a `skill` start at the role's folder.
    What a role file says besides is kept in `Role.ignored`.

    Args:
        path: the file, of `apiVersion: initrunner/v1` or `llm-mock/v1` and `kind: Agent`; or a flat agent of
            InitRunner, which has `name` and `prompt`.

    Raises:
        InvalidFile: it cannot be read or is no role; the message names the line.
    """
    __tracebackhide__ = True
    document = yaml_files.load(Path(path))
    check_envelope(document)
    file = document.as_model(FlatAgent) if is_flat(document.data) else document.as_model(RoleFile)
    model, ignored = file.spec.model, tuple(ignored_keys(document, file))
    line = document.line_of((*file.place, "model"))
    agent = _agent(document, file)
    return Role(file.name, agent, document.path, ignored, tuple(model.ids), model.provider, line)


def resolve_model(role: Role) -> Role:
    """The role with the id under which `llm` knows its model, as a live run needs it.

    Options that this model does not have are left out, and named in `ignored`. Where `llm` does not know it, the
    message of the InvalidFile lists near names, and the plugin to install.
    """
    import llm

    __tracebackhide__ = True
    names = role.model_ids or (role.agent.asks.model,)
    if names == (NO_MODEL,):
        wanted = "write a model: with the id of one, or choose one with --model"
        raise InvalidFile(f"{role.path}:{role.model_line}: the role names no model: {wanted}; a dry run needs none")
    for name in names:
        try:
            return _with_model(role, llm.get_model(name))
        except llm.UnknownModelError:
            continue
    known = list(llm.get_model_aliases())
    near = dict.fromkeys(match for name in names for match in difflib.get_close_matches(name, known, n=3))
    listed = f"Near are: {', '.join(map(shorten_name, list(near)[:5]))}"
    advice = listed if near else "`llm models` lists those that it knows"
    plugin = PLUGINS.get(role.provider or "")
    install = f". The plugin for it is installed by: llm install {plugin}" if plugin else ""
    asked = " or ".join(map(shorten, names))
    raise InvalidFile(f"{role.path}:{role.model_line}: llm knows no model {asked}. {advice}{install}")


def _with_model(role: Role, model: Any) -> Role:
    """The role with a model that `llm` knows, and the options that this one has."""
    provider, options = role.agent.asks, model.Options
    takes_any = options.model_config.get("extra") == "allow"
    known = {name: value for name, value in provider.options.items() if takes_any or name in options.model_fields}
    without = f"the model {shorten_name(model.model_id)} has no such option"
    notes = [f"spec.model.{name} ({without})" for name in provider.options if name not in known]
    agent = replace(role.agent, provider=replace(provider, model=model.model_id, options=known))
    return replace(role, agent=agent, ignored=(*role.ignored, *notes), model_ids=(model.model_id,))


def _agent(document: Document, file: RoleFile | FlatAgent) -> Agent:
    __tracebackhide__ = True
    spec = file.spec
    servers = [_server(document, (*file.place, "tools", n), tool) for n, tool in enumerate(spec.tools)]
    return Agent(
        Provider([*spec.model.ids, NO_MODEL][0], spec.model.options),
        mcp_servers=[server for server in servers if isinstance(server, MCPServer)],
        cli_servers=[server for server in servers if isinstance(server, CLIServer)],
        skill=_skill(document, (*file.place, "skill"), spec.skill),
        system_prompt=spec.role,
        max_turns=spec.guardrails.max_request_limit or MAX_TURNS,
        name=file.name,
    )


def _skill(document: Document, where: Location, path: str | None) -> Skill | None:
    __tracebackhide__ = True
    if path is None:
        return None
    place = document.path.parent / path
    if not os.path.exists(place):  # unlike `Path.exists` it takes any text
        wanted = "give the folder of one, or its SKILL.md, relative to the role"
        raise document.error(f"there is no skill at {str(place)!r}: {wanted}", where)
    return Skill.from_path(place)


def _server(document: Document, where: Location, tool: Tool) -> MCPServer | CLIServer | None:
    """The server of a tool; None for a tool of another type."""
    __tracebackhide__ = True
    cwd = None if tool.cwd is None else document.path.parent / tool.cwd
    try:
        if tool.type == "mcp":
            return _mcp_server(tool, cwd)
        return _cli_server(tool, cwd) if tool.type == "cli" else None
    except InvalidServer as error:
        raise document.error(str(error), where) from None


def _mcp_server(tool: Tool, cwd: Path | None) -> MCPServer:
    if tool.tool_exclude:
        raise InvalidServer(
            "tool_exclude is not supported, and without it the tools would be offered; name the others in tool_filter"
        )
    if tool.transport not in get_args(Transport):
        known = listed(get_args(Transport))
        raise InvalidServer(f"the transport {shorten(tool.transport)} is not supported; write one of {known}")
    shared: dict[str, Any] = {"tools": tool.tool_filter or None, "call_timeout": tool.timeout, "name": tool.name}
    if tool.transport != "stdio":
        if not tool.url:
            raise InvalidServer(f"a tool of type mcp with transport: {tool.transport} needs a 'url'")
        return MCPServer(url=tool.url, headers=tool.headers, transport=cast("Transport", tool.transport), **shared)
    if not tool.command.strip():
        raise InvalidServer("a tool of type mcp needs a 'command' (or transport: streamable-http and a 'url')")
    return MCPServer(tool.command, tool.args, env=tool.env, cwd=cwd, **shared)


def _cli_server(tool: Tool, cwd: Path | None) -> CLIServer:
    if not tool.name or not tool.command.strip():
        raise InvalidServer("a tool of type cli needs a 'name' and a 'command'")
    prefix = tool.tool_prefix or ""
    return CLIServer(
        tool.name, tool.command, prefix, cwd=cwd, env=tool.env, timeout=tool.timeout, description=tool.description
    )
