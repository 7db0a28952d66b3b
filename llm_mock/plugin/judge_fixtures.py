"""Fixtures for verdicts of a model on texts and images, shown in failures and reports."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.plugin.guard import reporting_hook

if TYPE_CHECKING:
    from llm_mock.agents import Score
    from llm_mock.agents.result import Finding


@pytest.fixture
def llm_assert(pytestconfig: pytest.Config) -> Callable[..., Finding]:
    """Ask a model whether a text or an image meets a criterion.

    Example: `llm_assert(text, "Is a greeting")`.
    """
    from llm_mock.agents import assertions

    return _bind_judge(pytestconfig, assertions.llm_assert)


@pytest.fixture
def llm_score(pytestconfig: pytest.Config) -> Callable[..., Score]:
    """Ask a model for a score from 0 to 1.

    Example: `assert llm_score(text, "Is polite") >= 0.8`.
    """
    from llm_mock.agents import assertions

    return _bind_judge(pytestconfig, assertions.llm_score)


def _bind_judge(config: pytest.Config, function: Callable[..., object]) -> Callable[..., Any]:
    """Return a function that takes its judge from the command line, its call or the ini file."""

    @wraps(function)
    def ask_judge(*arguments: Any, judge: str = "", **more: Any) -> Any:
        __tracebackhide__ = True
        # As everywhere in pytest, the command line overrides the code, and the code the ini file.
        chosen = config.getoption("--llm-mock-judge") or judge or config.getini("llm_mock_judge")
        return function(*arguments, judge=chosen, **more)

    return ask_judge


@reporting_hook()
def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain a failed comparison with a score: the judge's reason and the model."""
    # Where the module was not imported, no value is a score.
    assertions = sys.modules.get("llm_mock.agents.assertions")
    if assertions is None:
        return None
    scores = [value for value in (left, right) if isinstance(value, assertions.Score)]
    if not scores:
        return None
    return [f"{_format_value(left)} {op} {_format_value(right)}", *scores[0].explain()]


def _format_value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


def take_verdicts() -> list[dict[str, str]]:
    """Return the verdicts since the last call of this function, in the form of the report."""
    assertions = sys.modules.get("llm_mock.agents.assertions")
    return assertions.take_checks() if assertions else []
