"""The command-line options and ini keys of the plugin."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from llm_mock.cassettes import RECORD_MODES
from llm_mock.errors import LLMMockError
from llm_mock.plugin import VERIFY
from llm_mock.support.strictness import STRICTNESS_LEVELS, Strictness

if TYPE_CHECKING:
    from llm_mock.core.settings import Settings
    from llm_mock.cost.budgets import UsageBudget
    from llm_mock.cost.prices import Prices

MUTATION_OPTIONS = ("--llm-mock-mutate", "--llm-mock-mutate-min", "--llm-mock-mutate-json")
"""The options of `plugin.mutate`, which is imported only for these options."""
DEFAULTS: Mapping[str, str | bool] = {
    "llm_mock_production_responses": False,
}
"""The defaults of the ini keys that `llm_mock = strict` sets; see also `read_strict`.

They are registered without a default, because only `None` shows that the project sets no value.
"""
RECOMMENDED: Mapping[str, str | bool] = {
    "llm_mock_strict": "error",
    "llm_mock_production_responses": True,
}
"""Their defaults under `llm_mock = strict`."""
MODES = ("true", "false", "strict")
"""The values of ini key `llm_mock`."""
SPELLINGS = {
    **dict.fromkeys(("yes", "y", "t", "on", "1"), "true"),
    **dict.fromkeys(("no", "n", "f", "off", "0"), "false"),
}
"""The other words that pytest takes for true and false."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and ini keys."""
    group = parser.getgroup("llm_mock", "mocking of LLM calls (pytest-llm-mock)")
    group.addoption(
        "--llm-mock-live",
        action="store_true",
        help="Run the tests marked llm_live, which call real models. By default they are skipped.",
    )
    group.addoption(
        "--llm-mock-record",
        choices=(*RECORD_MODES, VERIFY),
        help="Set the record mode of tests with a cassette. Overrides their markers and ini "
        "llm_mock_record. verify repeats the recorded calls with the provider, compares the "
        "answers and records nothing.",
    )
    group.addoption(
        "--llm-mock-report",
        action="append",
        default=[],
        metavar="PATH",
        help="Write the calls of every test to PATH: a page (.html) or data (.json). Repeat the "
        "option to write both.",
    )
    group.addoption(
        "--llm-mock-baseline",
        metavar="PATH",
        help="Show the changes in tests of agents, repeated tests and plain-language tests since "
        "PATH, the JSON report of an earlier run.",
    )
    group.addoption(
        "--llm-mock-repeat",
        type=_parse_repetitions,
        metavar="N",
        help="Run each test marked llm_mock_repeat N times. It passes if enough of its runs pass.",
    )
    group.addoption(
        "--llm-mock-mutate",
        action="store_true",
        help="After all tests, repeat each passed test that called a model, with one change to its "
        "calls at a time. List the changes that no assertion notices.",
    )
    group.addoption(
        "--llm-mock-mutate-min",
        type=_parse_percent,
        metavar="PERCENT",
        help="Fail the run if the tests notice less than this percentage of the changes.",
    )
    group.addoption(
        "--llm-mock-mutate-json",
        metavar="PATH",
        help="Write the changes to PATH as JSON.",
    )
    group.addoption(
        "--llm-mock-judge",
        metavar="MODEL",
        help="Use this model as the judge of llm_assert, llm_score, checks, suites and steps. "
        "Overrides ini llm_mock_judge.",
    )
    group.addoption(
        "--llm",
        action="store_true",
        help="Collect plain-language tests: YAML files in folders named llm.",
    )
    group.addoption(
        "--llm-verbose",
        action="store_true",
        help="Print each step of a plain-language test as it happens.",
    )
    group.addoption(
        "--llm-timeout",
        type=int,
        metavar="SECONDS",
        help="End a plain-language test after this time.",
    )
    group.addoption(
        "--llm-mock-dry-run",
        action="store_true",
        help="Run plain-language tests without a model: only call their tools.",
    )
    _add_ini_keys(parser)


def _add_ini_keys(parser: pytest.Parser) -> None:
    parser.addini(
        "llm_mock",
        "Mock LLM calls in the whole run: true (default), false, or strict, which also sets the "
        "recommended settings.",
        default="true",
    )
    parser.addini(
        "llm_mock_production_responses",
        "Make llm responses behave as in production: the mock selects the reply when the response "
        "is read, and response.json() returns the provider's payload (default: false).",
        type="bool",
        default=None,
    )
    parser.addini(
        "llm_mock_strict",
        "Set the level for calls without a matching reply, replies that violate the schema, and "
        "unused recordings: off ignores them, warn (default) reports them, error (default for "
        "unmatched calls over HTTP) fails the test. If you set error, unknown model names and real "
        "models are also errors.",
        default=None,
    )
    parser.addini(
        "llm_mock_autospec",
        "Refuse requests that the real model would refuse (default: true).",
        type="bool",
        default=True,
    )
    parser.addini(
        "llm_mock_disabled_rules",
        "Switch off these rules of providers: names of rules.",
        type="args",
    )
    parser.addini(
        "llm_mock_generate",
        "Generate replies to unconfigured calls that have a schema (default: false).",
        type="bool",
    )
    parser.addini(
        "llm_mock_processes",
        "Also mock LLM calls in processes that a test starts (default: true).",
        type="bool",
        default=True,
    )
    parser.addini(
        "llm_mock_http",
        "Handle HTTP requests to providers: answer (default) mocks them, error fails the test, "
        "off sends them.",
        default="answer",
    )
    parser.addini(
        "llm_mock_hosts",
        "Mock further provider hosts, such as localhost:11434. Write !example.com to exclude a "
        "host from the mock.",
        type="args",
    )
    parser.addini(
        "llm_mock_passthrough",
        "Do not mock these models: globs of model ids.",
        type="args",
    )
    parser.addini(
        "llm_mock_record",
        f"Choose the record mode of cassettes: {', '.join(RECORD_MODES)} (default: none).",
        default="none",
    )
    parser.addini(
        "llm_mock_budget",
        "Fail the tests that exceed the budget of the run: cost=DOLLARS, tokens=NUMBER or both.",
        type="args",
    )
    parser.addini(
        "llm_mock_prices",
        "Set prices of models in US dollars per million tokens. Each line: MODEL = INPUT OUTPUT.",
        type="linelist",
    )
    parser.addini(
        "llm_mock_suites",
        "Collect suites of cases as tests. Each line: GLOB = ROLE, or GLOB.",
        type="linelist",
    )
    parser.addini(
        "llm_mock_files_in",
        "Let suites read the files in this folder (default: the folder of each suite).",
        default="",
    )
    parser.addini(
        "llm_mock_judge",
        "Use this model as the judge of llm_assert, llm_score, checks, suites and steps.",
        default="",
    )
    parser.addini(
        "llm_mock_spec_driver",
        "Run plain-language tests with this driver: llm (default) or claude-code.",
        default="llm",
    )
    parser.addini("llm_mock_spec_model", "Run plain-language tests with this model.", default="")
    parser.addini(
        "llm_mock_allowed_hosts",
        "Let plain-language tests connect to these hosts: globs.",
        type="args",
    )
    parser.addini(
        "llm_mock_legacy_modules",
        "Warn about old hand-written mocks. Each line: MODULE=TEXT.",
        type="linelist",
    )


def _parse_repetitions(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    from llm_mock.support.numbers import MOST_REPETITIONS

    if not 1 <= number <= MOST_REPETITIONS:
        raise argparse.ArgumentTypeError(
            f"{text!r} must be a whole number from 1 to {MOST_REPETITIONS:,}"
        )
    return number


def _parse_percent(text: str) -> float:
    try:
        percent = float(text)
    except ValueError:
        percent = -1.0
    # Also refuses "nan", which compares as false.
    if not 0 < percent <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number above 0, up to 100")
    return percent


def read_settings(config: pytest.Config) -> Callable[[], Settings]:
    """Read the settings of the project for its mocks.

    Returns:
        A function that makes the settings; a run without calls does not import their module.

    Raises:
        pytest.UsageError: a value is wrong.
    """
    defaults = DEFAULTS
    strict_setting = ("llm_mock_strict", "error")
    if read_mode(config) == "strict":
        defaults = RECOMMENDED
        if _read_text(config, "llm_mock_strict") is None:
            strict_setting = ("llm_mock", "strict")
    is_as_in_production = read_boolean(config, "llm_mock_production_responses", defaults)
    strict = read_strict(config)
    values: dict[str, Any] = {
        "lazy": is_as_in_production,
        "strict": strict,
        "known_models_only": strict == "error",
        "strict_setting": strict_setting,
        "schema_check": strict or "warn",
        "autospec": read_boolean(config, "llm_mock_autospec"),
        "disabled_rules": read_disabled_rules(config),
        "generate": read_boolean(config, "llm_mock_generate"),
        "raw_json": is_as_in_production,
        "prices": read_prices(config),
        "has_quoted_ini": has_quoted_ini(config),
    }

    def make_settings() -> Settings:
        from llm_mock.core.settings import Settings

        return Settings(**values)

    return make_settings


def list_written_keys(config: pytest.Config) -> list[str]:
    """Return the ini keys of the configuration file that may be meant for this plugin."""
    # Private from pytest 9 on, which warns of the public name. Without it no key is checked.
    written = vars(config).get("_inicfg") or vars(config).get("inicfg") or {}
    return [key for key in written if key.startswith("llm") or "mock" in key]


def get_ini_folder(config: pytest.Config) -> Path:
    """Return the folder to which paths in the ini file are relative."""
    return config.inipath.parent if config.inipath else config.rootpath


def has_quoted_ini(config: pytest.Config) -> bool:
    """Return whether the configuration file is TOML, in which texts have quotes."""
    return config.inipath is not None and config.inipath.suffix == ".toml"


@contextmanager
def _usage_error(prefix: str = "") -> Iterator[None]:
    """Raise the errors of this package as a `pytest.UsageError`."""
    try:
        yield
    except LLMMockError as error:
        raise pytest.UsageError(f"{prefix}{error}") from None


def read_disabled_rules(config: pytest.Config) -> frozenset[str]:
    """Return the names of the rules that are switched off.

    Raises:
        pytest.UsageError: a name is not the name of a rule.
    """
    names = config.getini("llm_mock_disabled_rules")
    if not names:
        return frozenset()
    # Imported late: few projects switch rules off.
    from llm_mock.boundaries.http.request_rules.lookup import check_rule_names

    with _usage_error("ini llm_mock_disabled_rules: "):
        return check_rule_names(names)


def read_hosts(config: pytest.Config) -> tuple[str, ...]:
    """Return the hosts, besides those of providers, that the mock answers for or ignores.

    Raises:
        pytest.UsageError: an entry is not a host.
    """
    entries = config.getini("llm_mock_hosts")
    if not entries:
        return ()
    # Imported late: few projects list hosts.
    from llm_mock.boundaries.http.providers.hosts import parse_hosts

    with _usage_error():
        return parse_hosts(entries)


def read_budget(config: pytest.Config) -> UsageBudget:
    """Return the limits of the run.

    Raises:
        pytest.UsageError: a limit is wrong.
    """
    # Imported late: few runs have a budget.
    from llm_mock.cost.budgets import parse_budget_setting

    with _usage_error():
        return parse_budget_setting(config.getini("llm_mock_budget"))


def read_prices(config: pytest.Config) -> Prices:
    """Return the prices of models.

    Raises:
        pytest.UsageError: a line is not a price.
    """
    lines = config.getini("llm_mock_prices")
    if not lines:
        return ()
    from llm_mock.cost.prices import parse_prices

    with _usage_error():
        return parse_prices(lines)


def read_strict(config: pytest.Config) -> Strictness | None:
    """Return the level of strictness; None if the project does not set it.

    Raises:
        pytest.UsageError: the value is not one of the levels.
    """
    name = "llm_mock_strict"
    defaults = RECOMMENDED if read_mode(config) == "strict" else DEFAULTS
    if name not in defaults and _read_text(config, name) is None:
        return None
    return cast("Strictness", read_choice(config, name, STRICTNESS_LEVELS, defaults))


def read_mode(config: pytest.Config) -> str:
    """Return the value of ini key `llm_mock`: `true`, `false` or `strict`.

    Raises:
        pytest.UsageError: it is another value.
    """
    value = str(_read_text(config, "llm_mock"))
    mode = value.strip().lower()
    mode = SPELLINGS.get(mode, mode)
    if mode not in MODES:
        raise _build_choice_error("llm_mock", value, MODES)
    return mode


def read_choice(
    config: pytest.Config,
    name: str,
    choices: Sequence[str],
    defaults: Mapping[str, str | bool] = DEFAULTS,
) -> str:
    """Return the value of an ini key.

    Args:
        config: the configuration.
        name: the key.
        choices: the values that it may have.
        defaults: the defaults of keys that are registered without a default.

    Raises:
        pytest.UsageError: the value is not one of the choices.
    """
    value = _read_text(config, name)
    if value is None:
        value = defaults[name]
    if value not in choices:
        raise _build_choice_error(name, value, choices)
    return str(value)


def _build_choice_error(name: str, value: object, choices: Sequence[str]) -> pytest.UsageError:
    """Return the error about a value that is not one of the choices."""
    from llm_mock.support.text import join_alternatives, suggest_nearest

    nearest = suggest_nearest(str(value), choices) or "."
    return pytest.UsageError(
        f"ini {name} = {value!r} is not supported{nearest} Write {join_alternatives(choices)}."
    )


def read_boolean(
    config: pytest.Config, name: str, defaults: Mapping[str, str | bool] = DEFAULTS
) -> bool:
    """Return the value of an ini key that is true or false.

    Raises:
        pytest.UsageError: the value is neither.
    """
    try:
        value = config.getini(name)
    except (TypeError, ValueError, pytest.UsageError):
        value = _read_written_value(config, name)
        raise pytest.UsageError(
            f"ini {name} = {value!r} is not supported: write true or false (also yes/no, on/off, "
            "1/0)."
        ) from None
    if value is None:
        value = defaults[name]
    return bool(value)


def _read_text(config: pytest.Config, name: str) -> object:
    """Return the value of an ini key that is a text; of any type if it is wrong."""
    try:
        return config.getini(name)
    except (TypeError, pytest.UsageError):
        # A boolean or a number in the table [tool.pytest] of pytest 9, which keeps types.
        return _read_written_value(config, name)


def _read_written_value(config: pytest.Config, name: str) -> object:
    """Return the value of an ini key as the configuration file has it."""
    with warnings.catch_warnings():
        # pytest 9.2 deprecates `inicfg`, and offers nothing else for a value of the wrong type.
        warnings.simplefilter("ignore", pytest.PytestWarning)
        written: object = config.inicfg.get(name)
    # pytest 9.0 has an object there, with the value as an attribute.
    return getattr(written, "value", written)
