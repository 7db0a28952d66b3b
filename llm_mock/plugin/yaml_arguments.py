"""Say why pytest does not collect the YAML tests on its command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from llm_mock.errors import InvalidFile
from llm_mock.plugin.options import get_ini_folder
from llm_mock.specs.file_kinds import find_kind
from llm_mock.suites.role_settings import INI, find_roles
from llm_mock.support import yaml_files
from llm_mock.support.text import format_path


def explain_missing_tests(files: Iterable[str], config: pytest.Config) -> Iterator[str]:
    """Yield a line for each YAML test that pytest collects only with a setting or an option.

    Args:
        files: the files on the command line.
        config: the configuration.
    """
    folder = get_ini_folder(config)
    for file in files:
        path = Path(config.invocation_params.dir, file)
        try:
            kind = find_kind(yaml_files.load(path))
        except InvalidFile:
            # It may be missing, too.
            continue
        if kind == "spec" and not config.getoption("--llm"):
            yield f"{file} is a plain-language test: add --llm"
        elif kind == "suite" and path.resolve() not in find_roles(config.getini(INI), folder):
            yield (
                f"{file} is a suite: add a line such as {format_path(path, folder)} = role.yaml to "
                f"ini {INI}, or run llm-mock test -s {file}"
            )
