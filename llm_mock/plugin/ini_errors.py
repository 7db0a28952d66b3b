"""All mistakes in the ini keys of a project at once, each with its file and line."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from llm_mock.boundaries.http.settings import MODES
from llm_mock.cassettes import RECORD_MODES
from llm_mock.core.source_location import format_location
from llm_mock.plugin.misspelt_names import find_unknown_keys
from llm_mock.plugin.options import (
    read_boolean,
    read_budget,
    read_choice,
    read_disabled_rules,
    read_hosts,
    read_mode,
    read_prices,
    read_strict,
)

READERS: dict[str, Callable[[pytest.Config], object]] = {
    "llm_mock": read_mode,
    "llm_mock_autospec": lambda config: read_boolean(config, "llm_mock_autospec"),
    "llm_mock_budget": read_budget,
    "llm_mock_disabled_rules": read_disabled_rules,
    "llm_mock_generate": lambda config: read_boolean(config, "llm_mock_generate"),
    "llm_mock_hosts": read_hosts,
    "llm_mock_http": lambda config: read_choice(config, "llm_mock_http", MODES),
    "llm_mock_prices": read_prices,
    "llm_mock_processes": lambda config: read_boolean(config, "llm_mock_processes"),
    "llm_mock_production_responses": lambda config: read_boolean(
        config, "llm_mock_production_responses"
    ),
    "llm_mock_record": lambda config: read_choice(config, "llm_mock_record", RECORD_MODES),
    "llm_mock_strict": read_strict,
}
"""The functions that read the ini keys and raise a pytest.UsageError for a wrong value."""


def collect_ini_errors(config: pytest.Config, has_all_keys: bool) -> pytest.UsageError:
    """Return an error with all mistakes in the ini keys; there must be at least one.

    Args:
        config: the configuration.
        has_all_keys: whether the keys of conftests are registered, too.
    """
    problems = find_unknown_keys(config, has_all_keys)
    for key, read in READERS.items():
        try:
            read(config)
        except pytest.UsageError as error:
            # A wrong `llm_mock` is an error of the keys that depend on it, too.
            if str(error) not in problems.values():
                problems[key] = str(error)
    lines = [f"{_locate(config, key)}{problem}" for key, problem in problems.items()]
    return pytest.UsageError("\n".join(lines))


def _locate(config: pytest.Config, key: str) -> str:
    """Return the file and line of an ini key, for the start of a message; empty for an option."""
    # Not `getoption`, which has no values before conftests are loaded.
    options = config.known_args_namespace.override_ini or ()
    overridden = [option.partition("=")[0] for option in options]
    if config.inipath is None or key in overridden:
        return ""
    lines = config.inipath.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        # Ini files have colons, too, and TOML quotes.
        if re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=:]""", line):
            return f"{format_location((str(config.inipath), number))}: "
    return ""
