"""The commands `llm-mock validate` and `llm-mock schema`: check files without running them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from llm_mock.agents.pool import get_server_pool
from llm_mock.commands.test_settings import read_test_settings
from llm_mock.core.judge_choice import JudgeChoice, choose_judge, get_judge_choice
from llm_mock.errors import InvalidFile
from llm_mock.specs.asked_models import iterate_step_models
from llm_mock.specs.file_kinds import SUFFIXES, Kind, get_kind
from llm_mock.specs.loading import load_spec
from llm_mock.specs.models import TestSpec
from llm_mock.specs.servers import create_servers
from llm_mock.specs.tool_check import find_tool_problems, list_project_tools
from llm_mock.specs.tools_server import find_project_root
from llm_mock.suites.asked_models import AskedModel, find_unknown_models, iterate_asked_models
from llm_mock.suites.loading import load_suite
from llm_mock.suites.role import load_role
from llm_mock.suites.schema import TestSuiteDefinition
from llm_mock.support import yaml_files
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_count
from llm_mock.support.yaml_files import Document

FORMATS: dict[str, Any] = {"suite": TestSuiteDefinition, "spec": TestSpec}


def describe_file(path: Path, files_in: Path | None) -> str:
    """Return what a valid file is, such as `suite 'greeting', 3 cases`.

    Args:
        path: the file.
        files_in: the folder of the files that cases name; by default that of the suite.

    Raises:
        InvalidFile: the file is wrong, or of an unknown kind.
    """
    settings = read_test_settings()
    with choose_judge(JudgeChoice(default=settings.judge)):
        document, kind = _load(path)
        return _describe(document, kind, files_in or settings.files_in)


def _load(path: Path) -> tuple[Document, Kind]:
    try:
        document = yaml_files.load(path)
        return document, get_kind(document)
    except InvalidFile:
        # Advice about YAML would not help.
        if path.suffix not in SUFFIXES and os.path.isfile(path):
            raise InvalidFile(f"{path}: is not a YAML file (.yaml or .yml)") from None
        raise


def _describe(document: Document, kind: Kind, files_in: Path | None) -> str:
    path = document.path
    if kind == "suite":
        suite = load_suite(path, files_in=files_in)
        cases = format_count(len(suite.cases), "case")
        unknown = _describe_unknown_models(
            iterate_asked_models(suite.cases, get_judge_choice()), path
        )
        return f"suite {suite.metadata.name!r}, {cases}{unknown}"
    if kind == "role":
        return f"role {load_role(path).name!r}"
    return _describe_spec(document)


def _describe_unknown_models(asked: Iterable[AskedModel], path: Path) -> str:
    """Return the models of checks that `llm` does not know; empty if it knows all.

    Raises:
        InvalidFile: one of them is a misspelling, as it is similar to a known one.
    """
    unknown = list(find_unknown_models(asked))
    misspelt = [model for model in unknown if model.similar]
    if misspelt:
        raise InvalidFile("\n".join(f"{path}:{model.line}: {model}" for model in misspelt))
    # The plugin of a model need not be installed where files are checked.
    return "".join(f"; {model}" for model in unknown)


def _describe_spec(document: Document) -> str:
    path = document.path
    spec = load_spec(path)
    tools = dict(_get_tools(find_project_root(path), path))
    for tool in get_server_pool().tools(create_servers(spec, path)):
        tools[tool.name] = tool
    # A generator: a file may have very many problems.
    problems = list(islice(find_tool_problems(spec, tools), yaml_files.MOST_PROBLEMS))
    if problems:
        raise document.errors(problems)
    unknown = _describe_unknown_models(iterate_step_models(spec), path)
    steps = format_count(len(spec.steps), "step")
    return f"plain-language test {spec.test.name!r}, {steps}{unknown}"


# Starting the server of a project takes seconds.
_tools_by_root: dict[Path, Mapping[str, Any]] = {}


def _get_tools(root: Path, path: Path) -> Mapping[str, Any]:
    """Return the tools of a project; their server is started once for all files."""
    if root not in _tools_by_root:
        _tools_by_root[root] = list_project_tools(path)
    return _tools_by_root[root]


def get_json_schema(kind: str) -> JSONObject:
    """Return the JSON Schema of one of `FORMATS`."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, **FORMATS[kind].model_json_schema()}
