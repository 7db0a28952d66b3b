"""`llm_mock_repeat`: tests that run several times and pass where enough of their runs do."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.plugin.files import write

TESTS = """
    import itertools
    import llm
    import pytest
    from llm_mock import Reply

    answers = itertools.cycle(["yes", "no", "yes", "yes", "yes"])
    modules = []

    @pytest.fixture(scope="module")
    def shared():
        modules.append("up")
        yield
        modules.append("down")

    @pytest.fixture
    def asked(mock_llm_responses, shared):
        mock_llm_responses.add("m", Reply(next(answers), usage={"input_tokens": 10, "output_tokens": 1}))
        return lambda: llm.get_model("m").prompt("Well?").text()

    class TestRates:
        @pytest.mark.llm_mock_repeat(5, threshold=0.8)
        def test_enough(self, asked):
            assert not hasattr(self, "seen"), "each run has an instance of its own"
            self.seen = print("seen once")
            assert asked() == "yes"

        @pytest.mark.llm_mock_repeat(times=5, threshold=0.9)
        def test_too_few(self, asked):
            print("said in this run")
            assert asked() == "yes"

        @pytest.mark.llm_mock_repeat
        def test_as_often_as_the_option_says(self, asked):
            assert asked() in ("yes", "no")

    @pytest.mark.llm_mock_repeat(3, threshold=0.1)
    def test_skipped_once(shared):
        modules.append("run")
        if modules.count("run") == 2:
            pytest.skip("not now")

    @pytest.fixture
    def broken():
        yield
        raise ValueError("broken fixture")

    @pytest.mark.llm_mock_repeat(2, threshold=0.1)
    def test_error(broken): ...

    def test_plain(shared):
        assert modules == ["up", "run", "run", "run"], "what is shared is made once"
"""  # noqa: E501


def reported(pytester: pytest.Pytester) -> dict[str, dict[str, Any]]:
    tests = json.loads((pytester.path / "r.json").read_text())["tests"]
    return {test["id"].rpartition("::")[2]: test for test in tests}


@pytest.mark.parametrize(
    "processes",
    [("-p", "no:xdist"), ("-p", "xdist", "-n", "2", "--dist", "loadfile")],
    ids=["one process", "xdist"],
)
def test_a_repeated_test_passes_where_enough_of_its_runs_do(
    processes: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    write(
        pytester, "pytest.ini", "[pytest]\nllm_mock_budget = tokens=1000\njunit_family = xunit1\n"
    )
    write(pytester, "test_r.py", TESTS)
    reports = ("--llm-mock-report=r.json", "--junitxml=j.xml", "-rA", "-p", "no:randomly")
    result = pytester.runpytest(*reports, *processes)
    result.assert_outcomes(passed=4, failed=1, skipped=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*- Repeated runs -*",
            "4 of 5 runs passed (80%); at least 90% must pass:",
            "  run 2 failed: AssertionError: assert 'no' == 'yes'*",
            "=* Repeated tests =*",
            "test  * passed  rate  95% interval  at least",
            "test_r.py::TestRates::test_enough   4 of 5   80%    38% to 96%       80%",
            "  run 2 failed: AssertionError: assert 'no' == 'yes'*",
            "test_r.py::TestRates::test_too_few  4 of 5   80%    38% to 96%       90%",
            "FAILED test_r.py::TestRates::test_too_few - 4 of 5 runs passed (80%); *",
        ]
    )
    assert result.outlines.count("said in this run") == 1
    tests = reported(pytester)
    enough, few = tests["test_enough"], tests["test_too_few"]
    assert (enough["outcome"], few["outcome"]) == ("passed", "failed")
    assert [call["response"]["text"] for call in enough["calls"]] == [
        "yes",
        "no",
        "yes",
        "yes",
        "yes",
    ]
    assert [call["number"] for call in few["calls"]] == [1, 2, 3, 4, 5]
    repeats = enough["repeats"]
    assert (repeats["runs"], repeats["passed"], repeats["threshold"]) == (5, 4, 0.8)
    assert [failure["run"] for failure in repeats["failures"]] == [2]
    assert enough["pass_rate"].startswith("80% (4/5), 95% interval 38% to 96%")
    assert few["repeats"]["failures"][0]["duration_s"] < few["duration_s"]
    assert "repeats" not in tests["test_plain"]
    cases = {
        case.get("name"): case
        for case in ElementTree.parse(pytester.path / "j.xml").iter("testcase")
    }
    assert len(cases) == 6
    properties = {
        each.get("name"): each.get("value") for each in cases["test_enough"].iter("property")
    }
    assert properties["pass_rate"] == enough["pass_rate"]
    assert (properties["llm_calls"], properties["llm_input_tokens"]) == ("5", "50")


def test_the_option_goes_before_the_marker_and_names_a_run_without_marked_tests(
    pytester: pytest.Pytester,
) -> None:
    write(pytester, "test_r.py", TESTS)
    result = pytester.runpytest("--llm-mock-repeat=10", "-k", "TestRates", "-p", "no:randomly")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["*::test_as_often_as_the_option_says  10 of 10  100%   72% to 100%      100%"]
    )
    result.stdout.fnmatch_lines(["*::test_enough * 8 of 10 *"])
    result = pytester.runpytest("--llm-mock-repeat=10", "-k", "test_plain")
    result.stdout.fnmatch_lines(
        ["--llm-mock-repeat had no effect: none of the tests is marked llm_mock_repeat."]
    )
    assert pytester.runpytest("--setup-only", "-k", "TestRates").ret == 0
    result = pytester.runpytest("--llm-mock-repeat=0")
    result.stderr.fnmatch_lines(["*--llm-mock-repeat: '0' must be a whole number from 1 to 10,000"])


def test_the_runs_of_agents_are_all_in_their_table_and_budgets_count_them(
    pytester: pytest.Pytester,
) -> None:
    write(pytester, "pytest.ini", "[pytest]\nllm_mock_budget = tokens=1000\n")
    pytester.makepyfile(
        """
        import itertools
        import pytest
        from llm_mock import Reply
        from llm_mock.agents import Agent

        answers = itertools.cycle(["yes", "no"])

        @pytest.mark.llm_mock_repeat(4, threshold=0.5)
        def test_it(aitest_run_sync, mock_llm_responses):
            mock_llm_responses.set("m", Reply(next(answers), usage={"input_tokens": 10, "output_tokens": 1}))
            assert aitest_run_sync(Agent("m"), "Well?").final_response == "yes"
        """  # noqa: E501
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1  m      2 of 4  50 %     4 *", "44 of 1000 tokens"])


@pytest.mark.parametrize(
    ("marker", "body", "outcome"),
    [
        ("", "if len(runs) == 2: pytest.xfail('known')", "xfailed"),
        ("@pytest.mark.xfail", "assert len(runs) != 1", "xfailed"),
        ("@pytest.mark.xfail", "pass", "xpassed"),
        ("", "if len(runs) == 2: pytest.xfail('known')\n    assert len(runs) != 3", "passed"),
    ],
    ids=["in the test", "by its marker", "passed", "beside a failure"],
)
def test_an_expected_failure_of_one_run_is_the_outcome_unless_a_run_fails(
    marker: str, body: str, outcome: str, pytester: pytest.Pytester
) -> None:
    write(
        pytester,
        "test_r.py",
        f"""
import pytest

runs = []

{marker}
@pytest.mark.llm_mock_repeat(3, threshold=0.1)
def test_it():
    runs.append("run")
    {body}
""",
    )
    result = pytester.runpytest()
    assert result.parseoutcomes() == {outcome: 1}
    assert ("1 of 3" in result.stdout.str()) is (outcome == "passed")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("0", "times is 0; it must be a whole number from 1 to 10,000."),
        ("threshold=0", "threshold is 0; it must be a number above 0 and at most 1."),
        ("threshold=180", "threshold is 180; it must be a number*"),
        ("5, pass_rate=0.8", "It has no parameter pass_rate; did you mean 'threshold'?"),
    ],
)
def test_a_marker_that_makes_no_sense_fails_its_test(
    arguments: str, message: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        f"import pytest\n@pytest.mark.llm_mock_repeat({arguments})\ndef test_it(): ...\n"
    )
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    example = "Write @pytest.mark.llm_mock_repeat[(]5, threshold=0.8[)]"
    mark = "*@pytest.mark.llm_mock_repeat(*)"
    result.stdout.fnmatch_lines([f"{mark}: {message} {example}  (*.py:*)"])


def test_a_skipped_run_hides_none_that_failed(pytester: pytest.Pytester) -> None:
    write(
        pytester,
        "test_r.py",
        """
        import itertools
        import pytest

        runs = itertools.count()

        @pytest.mark.llm_mock_repeat(4)
        def test_mostly_wrong():
            if next(runs) == 3:
                pytest.skip("not now")
            raise AssertionError("wrong")
        """,
    )
    result = pytester.runpytest("-p", "no:randomly")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "0 of 4 runs passed (0%); at least 100% must pass:",
            "  run 1 failed: AssertionError: wrong",
        ]
    )


def test_each_run_of_a_method_has_an_instance_of_its_own(pytester: pytest.Pytester) -> None:
    write(
        pytester,
        "test_r.py",
        """
        import unittest
        import pytest

        instances = []

        class TestMethods:
            @pytest.fixture(autouse=True)
            def instance(self):
                assert not any(self is other for other in instances)
                instances.append(self)

            @pytest.mark.llm_mock_repeat(3)
            def test_method(self):
                assert self is instances[-1]

        class TestOfUnittest(unittest.TestCase):
            @pytest.mark.llm_mock_repeat(3)
            def test_method(self):
                assert not hasattr(self, "seen")
                self.seen = True

        def test_number():
            assert len(instances) == 3
        """,
    )
    result = pytester.runpytest("-p", "no:randomly")
    result.assert_outcomes(passed=3)
