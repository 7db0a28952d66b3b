"""Checks suites, roles and plain-language tests without running them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from llm_mock.specs.loading import is_spec, load_spec
from llm_mock.specs.models import TestSpec
from llm_mock.specs.tool_check import find_tool_problems, list_project_tools
from llm_mock.specs.tools_server import find_project_root
from llm_mock.suites.loading import load_suite
from llm_mock.suites.role import load_role
from llm_mock.suites.role_file import describe_unsupported_kind, is_flat_agent
from llm_mock.suites.schema import TestSuiteDefinition
from llm_mock.support import yaml_files
from llm_mock.support.text import count

FORMATS: dict[str, Any] = {"suite": TestSuiteDefinition, "spec": TestSpec}
NEITHER = (
    "is no suite (kind: TestSuite), no role (kind: Agent) and no plain-language test (test, steps and verdict); "
    "`llm-mock schema suite` and `llm-mock schema spec` print what these hold"
)


def validated(path: Path, files_in: Path | None) -> str:
    """What a file is, such as `suite 'greeting', 3 cases`; InvalidFile where it is wrong."""
    document = yaml_files.load(path)
    content: Any = document.data
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind == "TestSuite":
        suite = load_suite(path, files_in=files_in)
        return f"suite {suite.metadata.name!r}, {count(len(suite.cases), 'case')}"
    if kind == "Agent" or is_flat_agent(content):
        return f"role {load_role(path).name!r}"
    if is_spec(content):
        spec = load_spec(path)
        found = find_tool_problems(spec, _tools(find_project_root(path), path))
        if problems := list(islice(found, yaml_files.MOST_PROBLEMS)):
            raise document.errors(problems)
        return f"plain-language test {spec.test.name!r}, {count(len(spec.steps), 'step')}"
    if other := describe_unsupported_kind(content):
        raise document.error(other, ("kind",))
    raise document.error(NEITHER)


_tools_of_roots: dict[Path, Mapping[str, Any]] = {}


def _tools(root: Path, path: Path) -> Mapping[str, Any]:
    """The tools of a project, whose server is started once."""
    if root not in _tools_of_roots:
        _tools_of_roots[root] = list_project_tools(path)
    return _tools_of_roots[root]


def format_of(kind: str) -> dict[str, Any]:
    """The JSON Schema of one of `FORMATS`."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **FORMATS[kind].model_json_schema()}
