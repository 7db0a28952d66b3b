"""Roles: agents that are described by YAML files."""

from __future__ import annotations

import difflib
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from llm_mock.agents.agent import MAX_TURNS, Agent, Provider
from llm_mock.agents.servers import CLIServer, MCPServer, Transport
from llm_mock.agents.skill import Skill
from llm_mock.checks.python_functions import validate_reference
from llm_mock.errors import InvalidFile, InvalidServer
from llm_mock.suites.role_file import (
    FlatAgent,
    RoleFile,
    RoleTool,
    check_kind,
    find_ignored_keys,
    is_flat_agent,
)
from llm_mock.support import yaml_files
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import join_alternatives, join_names, shorten, shorten_name
from llm_mock.support.validation import Location
from llm_mock.support.yaml_files import Document

if TYPE_CHECKING:
    import llm

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
"""The plugin of `llm` for each provider."""
NO_MODEL = "no model"
"""The model id of a role without a model, which is enough for a dry run."""
MAX_SUGGESTIONS = 5


@dataclass(frozen=True)
class Role:
    """An agent that a role file describes."""

    name: str
    agent: Agent
    """The agent. Until `resolve_model`, `llm` may not know its model."""
    path: Path
    """The role file."""
    ignored: tuple[str, ...] = ()
    """The keys of the file that are not supported, each with its line."""
    model_ids: tuple[str, ...] = ()
    """The ids under which `llm` may know the model, the most likely first."""
    provider: str | None = None
    """The model's provider; None if the file has a model id of `llm`."""
    model_line: int = 1
    """The line of the model in the file, from 1."""

    @property
    def warning(self) -> str | None:
        """A sentence that lists the ignored keys; None if there are none."""
        if not self.ignored:
            return None
        return f"{self.path}: not supported and ignored: {', '.join(self.ignored)}."


def load_role(path: str | Path) -> Role:
    """Read a role file, without looking up its model in `llm`; see `resolve_model`.

    Tools of type `mcp`, `cli` and `function` become the agent's servers. A relative `cwd` or
    `skill` is relative to the folder of the role. Unsupported keys are reported by `Role.ignored`.

    Args:
        path: a file with `kind: Agent` and `apiVersion: initrunner/v1` or `llm-mock/v1`; or a flat
            agent of InitRunner, which has `name` and `prompt`.

    Raises:
        InvalidFile: the file cannot be read or is not a role; the message names the line.
    """
    __tracebackhide__ = True
    document = yaml_files.load(Path(path))
    check_kind(document)
    is_flat = is_flat_agent(document.data)
    file: RoleFile | FlatAgent
    if is_flat:
        file = document.as_model(FlatAgent)
    else:
        file = document.as_model(RoleFile)
    model = file.spec.model
    return Role(
        name=file.name,
        agent=_create_agent(document, file),
        path=document.path,
        ignored=tuple(find_ignored_keys(document, file)),
        model_ids=tuple(model.ids),
        provider=model.provider,
        model_line=document.line_of((*file.place, "model")),
    )


def resolve_model(role: Role) -> Role:
    """Look up the model of a role in `llm`, and return the role with its id, for a live run.

    Options that the model does not support are dropped and added to `Role.ignored`.

    Raises:
        InvalidFile: `llm` does not know the model; the message suggests names, and a plugin to
            install.
    """
    # Imported here: a dry run does not need it.
    import llm

    __tracebackhide__ = True
    names = role.model_ids or (role.agent.asks.model,)
    place = f"{role.path}:{role.model_line}"
    if names == (NO_MODEL,):
        advice = "add model: MODEL_ID to it, pass --model, or use a dry run"
        raise InvalidFile(f"{place}: the role has no model: {advice}")
    for name in names:
        try:
            model = llm.get_model(name)
        except llm.UnknownModelError:
            continue
        return _set_model(role, model)
    known_names = list(llm.get_model_aliases())
    similar: list[str] = []
    for name in names:
        similar += difflib.get_close_matches(name, known_names, n=3)
    if similar:
        # Both names of a model may be similar to the same known name.
        unique = list(map(shorten_name, dict.fromkeys(similar)))[:MAX_SUGGESTIONS]
        advice = f"Did you mean {join_alternatives(unique)}?"
    else:
        advice = "Run `llm models` to list the known models."
    plugin = PLUGINS.get(role.provider or "")
    if plugin:
        advice += f" To install the plugin for it, run: llm install {plugin}"
    unknown = join_alternatives(map(shorten, names))
    problem = f"llm does not know the model {unknown}"
    raise InvalidFile(f"{place}: {problem}. {advice}")


def _set_model(role: Role, model: llm.Model) -> Role:
    """Return a role with a model of `llm`, and only the options that this model has."""
    provider = role.agent.asks
    option_class = model.Options
    # Models of some plugins accept every option.
    accepts_all = option_class.model_config.get("extra") == "allow"
    options: JSONObject = {}
    ignored = list(role.ignored)
    for name, value in provider.options.items():
        if accepts_all or name in option_class.model_fields:
            options[name] = value
        else:
            reason = f"the model {shorten_name(model.model_id)} has no such option"
            ignored.append(f"spec.model.{name} ({reason})")
    provider = replace(provider, model=model.model_id, options=options)
    return replace(
        role,
        agent=replace(role.agent, provider=provider),
        ignored=tuple(ignored),
        model_ids=(model.model_id,),
    )


def _create_agent(document: Document, file: RoleFile | FlatAgent) -> Agent:
    __tracebackhide__ = True
    spec = file.spec
    if spec.model.ids:
        model_id = spec.model.ids[0]
    else:
        model_id = NO_MODEL
    mcp_servers: list[MCPServer] = []
    cli_servers: list[CLIServer] = []
    for position, tool in enumerate(spec.tools):
        try:
            server = create_server(tool, document.path.parent)
        except InvalidServer as error:
            raise document.error(str(error), (*file.place, "tools", position)) from None
        if isinstance(server, MCPServer):
            mcp_servers.append(server)
        elif server is not None:
            cli_servers.append(server)
    return Agent(
        Provider(model_id, spec.model.all_options),
        mcp_servers=mcp_servers,
        cli_servers=cli_servers,
        skill=_load_skill(document, (*file.place, "skill"), spec.skill),
        system_prompt=spec.role,
        max_turns=spec.guardrails.max_request_limit or MAX_TURNS,
        name=file.name,
    )


def _load_skill(document: Document, location: Location, path: str | None) -> Skill | None:
    __tracebackhide__ = True
    if path is None:
        return None
    skill_path = document.path.parent / path
    # `Path.exists` raises for a null character before Python 3.12, and for a name that is too long.
    if not os.path.exists(skill_path):
        advice = "set the folder of a skill, or its SKILL.md, relative to the role"
        raise document.error(f"there is no skill at {str(skill_path)!r}: {advice}", location)
    return Skill.from_path(skill_path)


def create_server(tool: RoleTool, folder: Path) -> MCPServer | CLIServer | None:
    """Return the server of a tool; None if its type is not supported.

    Args:
        tool: the tool of a file.
        folder: the folder of the file, to which a `cwd` is relative.

    Raises:
        InvalidServer: a key is wrong or missing.
    """
    if tool.cwd is None:
        cwd = None
    else:
        cwd = folder / tool.cwd
    if tool.type == "mcp":
        return _create_mcp_server(tool, cwd)
    if tool.type == "cli":
        return _create_cli_server(tool, cwd)
    if tool.type == "function":
        return _create_function_server(tool, folder)
    return None


def _create_mcp_server(tool: RoleTool, cwd: Path | None) -> MCPServer:
    # Ignoring this key would offer the agent tools that its author excluded.
    if tool.tool_exclude:
        problem = "tool_exclude is not supported, so the excluded tools would be offered"
        raise InvalidServer(f"{problem}; list the allowed tools in tool_filter instead")
    transports = get_args(Transport)
    if tool.transport not in transports:
        known = join_names(transports)
        transport = shorten(tool.transport)
        raise InvalidServer(f"the transport {transport} is not supported; use one of {known}")
    options: JSONObject = {
        "tools": tool.tool_filter or None,
        "call_timeout": tool.timeout,
        "name": tool.name,
    }
    if tool.transport == "stdio":
        if not tool.command.strip():
            alternative = "(or transport: streamable-http and a 'url')"
            raise InvalidServer(f"a tool of type mcp needs a 'command' {alternative}")
        return MCPServer(tool.command, tool.args, env=tool.env, cwd=cwd, **options)
    if not tool.url:
        raise InvalidServer(f"a tool of type mcp with transport: {tool.transport} needs a 'url'")
    options["transport"] = cast("Transport", tool.transport)
    return MCPServer(url=tool.url, headers=tool.headers, **options)


def _create_function_server(tool: RoleTool, folder: Path) -> MCPServer:
    """Return a server that runs a Python function in its own process."""
    if not tool.function:
        raise InvalidServer("a tool of type function needs a 'function': file.py:name")
    try:
        reference = validate_reference(tool.function)
    except ValueError as error:
        raise InvalidServer(f"function {error}, not {shorten(tool.function)}") from None
    module, _, function_name = reference.rpartition(":")
    path = folder / module
    # `Path.is_file` raises for a name that is too long before Python 3.14.
    if module.endswith(".py") and not os.path.isfile(path):
        raise InvalidServer(f"function: the file {shorten(str(path))} does not exist")
    name = tool.name or function_name
    return MCPServer(
        [sys.executable, "-m", "llm_mock.specs.function_server"],
        args=(reference, name),
        env=tool.env,
        cwd=folder,
        call_timeout=tool.timeout,
        name=reference,
    )


def _create_cli_server(tool: RoleTool, cwd: Path | None) -> CLIServer:
    if not tool.name or not tool.command.strip():
        raise InvalidServer("a tool of type cli needs a 'name' and a 'command'")
    return CLIServer(
        tool.name,
        tool.command,
        tool.tool_prefix or "",
        cwd=cwd,
        env=tool.env,
        timeout=tool.timeout,
        description=tool.description,
    )
