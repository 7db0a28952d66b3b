"""The command-line options and ini keys of the plugin, and how they are read."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.cassettes.record_modes import RECORD_MODES
from llm_mock.errors import LLMMockError
from llm_mock.support.numbers import MOST_REPETITIONS

if TYPE_CHECKING:
    from llm_mock.core.settings import Settings
    from llm_mock.cost.prices import Prices

DRIVERS = {
    "llm": "llm_mock.specs.llm_driver:LLMDriver",
    "claude-code": "llm_mock.specs.claude_code:ClaudeCodeDriver",
}
"""What ini `llm_mock_spec_driver` may be, and the classes that are loaded then. They take `model`: an id, or None."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("llm_mock", "mocking of the llm library")
    group.addoption(
        "--llm-mock-live",
        action="store_true",
        help="Run the tests marked llm_live, with real models.",
    )
    group.addoption(
        "--llm-mock-record",
        choices=RECORD_MODES,
        help="Record mode of the tests with a cassette: none, once, new_episodes, all or rewrite.",
    )
    group.addoption(
        "--llm-mock-report",
        action="append",
        default=[],
        metavar="PATH",
        help="Write every test's calls to PATH: a page (.html) or data (.json). May be given more than once.",
    )
    group.addoption(
        "--llm-mock-repeat",
        type=_times,
        metavar="N",
        help="Run each test marked llm_mock_repeat N times; it passes where its threshold is reached.",
    )
    group.addoption(
        "--llm-mock-judge",
        metavar="MODEL",
        help="The model that judges: llm_assert, llm_score, suites.",
    )
    group.addoption(
        "--llm",
        action="store_true",
        help="Collect plain-language tests: YAML files in folders named llm.",
    )
    group.addoption(
        "--llm-verbose",
        action="store_true",
        help="Show the steps of plain-language tests as they happen.",
    )
    group.addoption(
        "--llm-timeout", type=int, metavar="SECONDS", help="What a plain-language test may take."
    )
    group.addoption(
        "--llm-mock-dry-run",
        action="store_true",
        help="Run plain-language tests without a model: only their tools.",
    )
    _add_ini_keys(parser)


def _add_ini_keys(parser: pytest.Parser) -> None:
    parser.addini(
        "llm_mock", "Mock llm in the whole run (default: true).", type="bool", default=True
    )
    parser.addini(
        "llm_mock_lazy", "Decide a call when its response is read (default: false).", type="bool"
    )
    parser.addini(
        "llm_mock_strict",
        "A call that no configured reply fits fails (default: false).",
        type="bool",
    )
    parser.addini(
        "llm_mock_autospec",
        "Refuse what the real model would refuse (default: true).",
        type="bool",
        default=True,
    )
    parser.addini(
        "llm_mock_unknown_models",
        "A name nobody knows: answer (default) or refuse.",
        default="answer",
    )
    parser.addini(
        "llm_mock_generate",
        "Answer schemas with generated instances (default: false).",
        type="bool",
    )
    parser.addini(
        "llm_mock_schema_check",
        "A reply that violates the schema: warn (default), error or off.",
        default="warn",
    )
    parser.addini(
        "llm_mock_response_json",
        "response.json() gives the reply's data (default) or raw.",
        default="data",
    )
    parser.addini(
        "llm_mock_real_models",
        "A real model that executes: answer (default) or refuse.",
        default="answer",
    )
    parser.addini(
        "llm_mock_processes",
        "Processes are part of the test (default: true).",
        type="bool",
        default=True,
    )
    parser.addini(
        "llm_mock_http",
        "HTTP requests to providers: answer (default), refuse or off.",
        default="answer",
    )
    parser.addini(
        "llm_mock_hosts",
        "Further hosts of providers, such as localhost:11434; !example.com is none.",
        type="args",
    )
    parser.addini(
        "llm_mock_telemetry",
        "Reports of frameworks on their use: drop (default) or allow.",
        default="drop",
    )
    parser.addini(
        "llm_mock_shared_ssl",
        "Clients share their default SSL context (default: true).",
        type="bool",
        default=True,
    )
    parser.addini(
        "llm_mock_fast_retries",
        "Tell clients to try again after 50 ms, beside Retry-After (default: true).",
        type="bool",
        default=True,
    )
    parser.addini(
        "llm_mock_passthrough", "Globs of the ids of models that run for real.", type="args"
    )
    parser.addini(
        "llm_mock_record", "The record mode of cassettes (default: none).", default="none"
    )
    parser.addini(
        "llm_mock_unused_recordings",
        "Recorded calls not asked for: report or error.",
        default="report",
    )
    parser.addini(
        "llm_mock_max_cost",
        "What the calls of the run may cost together, in US dollars.",
        default="",
    )
    parser.addini(
        "llm_mock_max_tokens", "How many tokens the calls of the run may take together.", default=""
    )
    parser.addini(
        "llm_mock_prices",
        "Prices, each model = input output, US dollars a million.",
        type="linelist",
    )
    parser.addini(
        "llm_mock_suites", "Suites to collect, and their role, each GLOB = ROLE.", type="linelist"
    )
    parser.addini(
        "llm_mock_files_in",
        "Where files that suites name may lie (default: beside them).",
        default="",
    )
    parser.addini(
        "llm_mock_judge", "The model that judges: llm_assert, llm_score, suites.", default=""
    )
    parser.addini(
        "llm_mock_spec_driver",
        f"Who does plain-language tests: {' or '.join(DRIVERS)}.",
        default="llm",
    )
    parser.addini("llm_mock_spec_model", "The model that does plain-language tests.", default="")
    parser.addini(
        "llm_mock_allowed_hosts", "Globs of hosts that plain-language tests may reach.", type="args"
    )
    parser.addini(
        "llm_mock_legacy_modules", "Old mocks to warn of, each module=Text.", type="linelist"
    )


def _times(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= MOST_REPETITIONS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no whole number from 1 to {MOST_REPETITIONS:,}"
        )
    return number


def settings_of(config: pytest.Config) -> Callable[[], Settings]:
    """How the project wants calls decided and checked; what it writes wrong is said at once."""
    values: dict[str, Any] = {
        "lazy": boolean(config, "llm_mock_lazy"),
        "strict": boolean(config, "llm_mock_strict"),
        "schema": choice(config, "llm_mock_schema_check", "warn", "error", "off"),
        "autospec": boolean(config, "llm_mock_autospec"),
        "refuse_unknown": choice(config, "llm_mock_unknown_models", "answer", "refuse") == "refuse",
        "generate": boolean(config, "llm_mock_generate"),
        "raw_json": choice(config, "llm_mock_response_json", "data", "raw") == "raw",
        "prices": _prices(config),
    }

    def settings() -> Settings:
        from llm_mock.core.settings import Settings

        return Settings(**values)

    return settings


def _prices(config: pytest.Config) -> Prices:
    lines = config.getini("llm_mock_prices")
    if not lines:
        return ()
    from llm_mock.cost.prices import parse_prices

    try:
        return parse_prices(lines)
    except LLMMockError as error:
        raise pytest.UsageError(str(error)) from None


def choice(config: pytest.Config, name: str, *values: str) -> str:
    """The value of an ini key that has a few."""
    value = str(config.getini(name))
    if value not in values:
        raise pytest.UsageError(f"ini {name} = {value!r}: write {' or '.join(values)}.")
    return value


def boolean(config: pytest.Config, name: str) -> bool:
    """The value of an ini key that is true or false."""
    try:
        return bool(config.getini(name))
    except (TypeError, ValueError, pytest.UsageError):
        given = config.inicfg.get(name)
        raise pytest.UsageError(
            f"ini {name} = {given!r}: write true or false (also yes/no, on/off, 1/0)."
        ) from None
