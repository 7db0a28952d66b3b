"""Say why pytest does not find YAML tests that are named on its command line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm_mock.errors import InvalidFile
from llm_mock.plugin.options import get_ini_folder
from llm_mock.specs.file_kinds import SUFFIXES, find_kind
from llm_mock.suites.role_settings import INI, find_roles
from llm_mock.support import yaml_files


def explain_missing_tests(config: pytest.Config) -> Iterator[str]:
    """Yield a line for each YAML test on the command line that needs a setting to be a test."""
    for argument in config.args:
        path = Path(config.invocation_params.dir, argument.partition("::")[0])
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        try:
            kind = find_kind(yaml_files.load(path))
        except InvalidFile:
            continue
        name = os.path.relpath(path, config.rootpath)
        if kind == "spec" and not config.getoption("--llm"):
            yield f"{name} is a plain-language test: add --llm"
        elif kind == "suite" and not _is_listed(path, config):
            yield (
                f"{name} is a suite: add a line such as {name} = role.yaml to ini {INI}, or run "
                f"llm-mock test -s {name}"
            )


def _is_listed(suite: Path, config: pytest.Config) -> bool:
    """Return whether ini `llm_mock_suites` names a suite."""
    return suite.resolve() in find_roles(config.getini(INI), get_ini_folder(config))
