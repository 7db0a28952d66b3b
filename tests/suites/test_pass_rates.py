"""Pass rates of cases with several runs."""

from __future__ import annotations

import itertools
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from llm_mock import LLMMock
from llm_mock.suites.pass_rates import PassRate, mean_pass_at_k, mean_pass_hat_k
from tests.suites.conftest import Project

PASS_K = "pass@2 90%, pass^2 30%, pass@5 100%, pass^5 0%"


@pytest.mark.parametrize(
    ("passed", "runs", "low", "high"),
    [  # from R: prop.test(passed, runs, correct = FALSE)$conf.int
        (3, 5, 0.2307, 0.8824),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),
        (1, 1, 0.2065, 1.0),
    ],
)
def test_the_interval_is_that_of_wilsons_score(
    passed: int, runs: int, low: float, high: float
) -> None:
    assert PassRate(passed, runs).interval == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("higher", "lower", "bound"),
    [  # Newcombe (1998), table II, method 10
        (PassRate(56, 70), PassRate(48, 80), 0.0524),
        (PassRate(9, 10), PassRate(3, 10), 0.1705),
        (PassRate(10, 10), PassRate(0, 20), 0.6791),
        (PassRate(5, 56), PassRate(0, 29), -0.0381),
    ],
)
def test_the_lead_of_a_rate_is_the_bound_of_newcombes_interval(
    higher: PassRate, lower: PassRate, bound: float
) -> None:
    assert higher.get_lead(lower) == pytest.approx(bound, abs=5e-5)


@pytest.mark.parametrize(("passed", "runs"), [(0, 4), (1, 4), (3, 5), (4, 4), (2, 9)])
def test_pass_at_k_is_the_share_of_all_choices_of_k_runs_in_which_one_passed(
    passed: int, runs: int
) -> None:
    outcomes = [True] * passed + [False] * (runs - passed)
    for k in range(1, runs + 1):
        choices = list(itertools.combinations(outcomes, k))
        assert PassRate(passed, runs).pass_at(k) == pytest.approx(
            sum(map(any, choices)) / len(choices)
        )


@pytest.mark.parametrize(("passed", "runs"), [(0, 4), (1, 4), (3, 5), (4, 4), (7, 9)])
def test_pass_hat_k_is_the_share_of_all_choices_of_k_runs_in_which_all_passed(
    passed: int, runs: int
) -> None:
    outcomes = [True] * passed + [False] * (runs - passed)
    for k in range(1, runs + 1):
        choices = list(itertools.combinations(outcomes, k))
        found = PassRate(passed, runs).pass_hat(k)
        assert found == pytest.approx(sum(map(all, choices)) / len(choices))
        assert math.copysign(1, found) == 1


def test_pass_hat_k_is_there_for_the_same_k_as_pass_at_k() -> None:
    rate = PassRate(9_000, 10_000)
    assert list(rate.pass_hat_k) == list(rate.pass_at_k)
    assert rate.pass_hat_k[20] == pytest.approx(math.comb(9_000, 20) / math.comb(10_000, 20))


def test_pass_at_k_of_many_runs_is_finite_and_there_for_1_2_5_and_so_on() -> None:
    values = PassRate(3, 10_000).pass_at_k
    assert list(values) == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]
    assert values[5000] == pytest.approx(1 - math.comb(9_997, 5000) / math.comb(10_000, 5000))


def test_of_several_cases_it_is_the_mean_as_far_as_all_have_enough_runs() -> None:
    assert mean_pass_at_k([PassRate(1, 2), PassRate(5, 5)]) == pytest.approx({1: 0.75, 2: 1.0})
    assert mean_pass_at_k([]) == {}
    assert mean_pass_hat_k([PassRate(1, 2), PassRate(5, 5)]) == pytest.approx({1: 0.75, 2: 0.5})
    assert mean_pass_hat_k([]) == {}


def test_a_share_that_is_not_quite_all_or_nothing_is_not_shown_as_such() -> None:
    assert str(PassRate(9_999, 10_000)).startswith(">99% (9999/10000), 95% interval >99% to >99%")
    assert str(PassRate(1, 10_000)).startswith("<1% (1/10000)")
    assert (
        str(PassRate(3, 5))
        == "60% (3/5), 95% interval 23% to 88%, pass@2 90%, pass^2 30%, pass@5 100%, pass^5 0%"
    )


def test_every_output_of_the_command_has_them(
    project: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.script("gpt-4o-mini", "Hello", "Hm", "Hello", "Hm", "Hello")
    check = "[{type: contains, value: Hello}]"
    project.write_cases(
        f"  - {{name: c, prompt: Hi, repeat: 5, threshold: 0.8, assertions: {check}}}\n"
    )
    outputs = ["out.json", "out.xml", "out.md", "out.html"]
    result = project.test(*(word for name in outputs for word in ("-o", name)))
    rows = [
        [cell.strip() for cell in re.split("[│┃]", line)[4:7]]
        for line in result.stdout.splitlines()[2:8]
    ]
    assert rows[0] == ["Pass rate", "95% interval", "pass@k, pass^k"]
    assert rows[2:] == [
        ["60% (3/5)", "23% to 88%", "pass@2 90%"],
        ["", "", "pass^2 30%"],
        ["", "", "pass@5 100%"],
        ["", "", "pass^5 0%"],
    ]
    assert (
        f"  pass rate 60% (3/5), 95% interval 23% to 88%, {PASS_K}\n  2 of 5 runs" in result.stdout
    )
    assert f"Mean of the repeated cases: pass rate 60%, {PASS_K}" in result.stdout
    (suite,) = json.loads(Path("out.json").read_text())["suites"]
    assert suite["pass_at_k"] == {"1": 0.6, "2": 0.9, "5": 1.0}
    assert suite["pass_hat_k"] == {"1": 0.6, "2": 0.3, "5": 0.0}
    (case,) = suite["cases"]
    assert case["repeats"] == {
        **{"runs": 5, "passed": 3, "interval_95": [0.230724, 0.882379]},
        "pass_at_k": {"1": 0.6, "2": 0.9, "5": 1.0},
        "pass_hat_k": {"1": 0.6, "2": 0.3, "5": 0.0},
    }
    rate = f"60% (3/5), 95% interval 23% to 88%, {PASS_K}"
    (found,) = [
        each
        for each in ElementTree.parse("out.xml").iter("property")
        if each.get("name") == "pass_rate"
    ]
    assert found.get("value") == rate
    assert f"| {rate} |" in Path("out.md").read_text()
    assert f'"pass_rate": "{rate}"' in Path("out.html").read_text()


def test_cases_that_were_run_once_have_none(project: Project) -> None:
    output = project.dry("-o", "out.json", "-o", "out.md").stdout
    assert "95%" not in output
    assert "pass@" not in output
    assert "pass^" not in output
    (suite,) = json.loads(Path("out.json").read_text())["suites"]
    assert (suite["pass_at_k"], suite["pass_hat_k"]) == ({}, {})
    assert {case["repeats"] for case in suite["cases"]} == {None}
    assert "Pass rate" not in Path("out.md").read_text()
