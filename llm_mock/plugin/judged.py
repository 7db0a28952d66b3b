"""What a model judges in tests: the fixtures, what pytest shows of a score, and what the report is told."""

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
    """Have a model judge whether a text or an image meets a criterion: `llm_assert(text, "Is a greeting")`."""
    from llm_mock.agents import assertions

    return _judged_by(pytestconfig, assertions.llm_assert)


@pytest.fixture
def llm_score(pytestconfig: pytest.Config) -> Callable[..., Score]:
    """Have a model judge how well it does, from 0 to 1: `assert llm_score(text, "Is polite") >= 0.8`."""
    from llm_mock.agents import assertions

    return _judged_by(pytestconfig, assertions.llm_score)


def _judged_by(config: pytest.Config, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the judge of the command line, else that of its call, else that of the ini file."""

    @wraps(function)
    def judged(*arguments: Any, judge: str = "", **more: Any) -> Any:
        __tracebackhide__ = True
        chosen = config.getoption("--llm-mock-judge") or judge or config.getini("llm_mock_judge")
        return function(*arguments, judge=chosen, **more)

    return judged


@reporting_hook()
def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    judged = sys.modules.get("llm_mock.agents.assertions")
    scores = [
        each for each in (left, right) if judged is not None and isinstance(each, judged.Score)
    ]
    return [f"{_shown(left)} {op} {_shown(right)}", *scores[0].explained()] if scores else None


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


def judged_since() -> list[dict[str, str]]:
    """What was judged in tests since this was last asked, as the report has checks."""
    judged = sys.modules.get("llm_mock.agents.assertions")
    return judged.taken_checks() if judged else []
