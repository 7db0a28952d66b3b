"""The servers that a plain-language test names in `tools`, as a role does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from llm_mock.agents.servers import Server
from llm_mock.errors import InvalidServer
from llm_mock.specs.models import TestSpec
from llm_mock.specs.steps import Location
from llm_mock.suites.role import create_server
from llm_mock.suites.role_file import TOOL_TYPES, RoleTool
from llm_mock.support.text import join_names, shorten, suggest_nearest


def create_servers(spec: TestSpec, path: Path) -> list[Server]:
    """Return the MCP servers and command-line tools of a test.

    Args:
        spec: the test.
        path: its file; a `cwd` is relative to its folder.
    """
    servers = [create_server(tool, path.parent) for tool in spec.tools]
    return [server for server in servers if server is not None]


def find_server_problems(spec: TestSpec, path: Path) -> Iterator[tuple[Location, str]]:
    """Yield the problems with the tools of a test, with their locations."""
    for position, tool in enumerate(spec.tools):
        location = ("tools", position)
        if tool.type not in TOOL_TYPES:
            known = join_names(TOOL_TYPES)
            yield location, f"the type {shorten(tool.type)} is not supported; use one of {known}"
            continue
        for key in sorted(tool.model_fields_set.difference(tool.effective_keys)):
            yield (*location, key), _describe_key(tool, key)
        try:
            create_server(tool, path.parent)
        except InvalidServer as error:
            yield location, str(error)


def _describe_key(tool: RoleTool, key: str) -> str:
    """Return the problem with a key that has no effect."""
    if key in RoleTool.model_fields:
        return f"the key {shorten(key)} has no effect here; remove it"
    return f"unknown key {shorten(key)}{suggest_nearest(key, tool.effective_keys)}"
