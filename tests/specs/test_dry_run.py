"""Dry runs: every tool is really called, and no model."""

# ruff: noqa: RUF001 (the names of steps have other characters than ASCII)

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock.agents.tools import ToolAnswer
from llm_mock.errors import TimeIsUp
from llm_mock.specs import Step, StepResult, Verdict
from llm_mock.specs.drivers import DryRun
from llm_mock.specs.steps import Deadline, StepRunner

from .local_tools import local_tools as local_tools
from .local_tools import tool_process as tool_process
from .projects import Project, statuses
from .projects import project as project

pytestmark = pytest.mark.usefixtures("local_tools")


@pytest.mark.usefixtures("tool_process")
def test_every_step_is_done_in_order_with_what_earlier_ones_saved(project: Project) -> None:
    verdict = project.run(
        """\
        setup:
          - {tool: shop_open, save_as: shop}
        steps:
          - name: Sell two things
            repeat: 2
            steps:
              - {tool: shop_sell, args: {item: "apple for ${shop.till.1}"}, save_as: sale}
              - {name: Number, tool: compare_values, args: {value1: "${sale.number}", value2: "${sale.number}"}}
          - {tool: shop_all_sold, save_as: sold}
          - {tool: assert_equals, args: {actual: "${sold}", expected: [apple for 20, apple for 20]}}
          - {tool: assert_equals, args: {actual: "${sale.number}", expected: 2}}
          - {name: Polite?, analyze: Was the shop polite?}
        teardown:
          - {tool: shop_close, args: {key: "${shop.key}"}}
        """  # noqa: E501
    )
    assert (verdict.verdict, verdict.issues) == ("PASS", [])
    assert (
        verdict.reason
        == "Dry run: 7 calls succeeded; 1 more needs a model. Not judged: 1 expectation and the "
        "criteria."
    )
    assert statuses(verdict) == [
        ("setup: shop_open", "pass"),
        ("Sell two things [1/2] › shop_sell", "pass"),
        ("Sell two things [1/2] › Number", "pass"),
        ("Sell two things [2/2] › shop_sell", "pass"),
        ("Sell two things [2/2] › Number", "pass"),
        ("shop_all_sold", "pass"),
        ("assert_equals", "pass"),
        ("assert_equals", "pass"),
        ("Polite?", "skip"),
        ("teardown: shop_close", "pass"),
    ]
    assert verdict.steps[3].tool_output == {"item": "apple for 20", "number": 2}
    assert verdict.steps[5].tool_output == ["apple for 20", "apple for 20"]
    assert project.journal == [
        "open",
        "sell apple for 20",
        "sell apple for 20",
        "close k-1",
        "cleanup",
    ]


FAILURES = {
    "{name: 1, tool: assert_equals, args: {actual: 1, expected: 2}}": "): 1 is not 2",
    "{name: 2, tool: assert_true, args: {condition: false, message: Not so}}": "): Not so",
    "{name: 3, tool: compare_values, args: {value1: 1, value2: 2}}": '): {"equal": false',
    "{name: 4, tool: shop_refuse, args: {reason: closed}}": "The shop refuses: closed",
    "{name: 5, tool: shop_sell, args: {thing: x}}": "'item' is a required property",
    (
        "{name: 6, tool: sleep, args: {seconds: 9}, timeout: 0.05}"
    ): "did not answer within 0.05 seconds",
    (
        "{name: 7, tool: shop_sell, args: {item: '${shop.nam}'}}"
    ): "there is no 'nam' in shop; it has name, key, till",
    (
        "{name: 8, tool: shop_busy, args: {times: 9}, retry: 1, retry_delay: 0}"
    ): "Too busy (after 2 attempts)",
    "{name: 9, tool: shop_burn_down}": "ended during this call, with exit code 3",
}


@pytest.mark.usefixtures("tool_process")
def test_every_kind_of_failure_is_told_and_a_teardown_goes_on_after_it(project: Project) -> None:
    steps = "\n".join(f"  - {step}" for step in FAILURES).replace("name: ", "name: Step ")
    verdict = project.run(f"steps: [{{tool: shop_open, save_as: shop}}]\nteardown:\n{steps}")
    assert (verdict.verdict, len(verdict.issues)) == ("FAIL", len(FAILURES))
    assert verdict.reason.startswith(
        "teardown: Step 1 failed: assert_equals(actual=1, expected=2): 1 is not 2"
    )
    for result, expected in zip(verdict.steps[1:], FAILURES.values(), strict=True):
        assert result.status == "fail"
        assert expected in result.details


def test_a_step_that_fails_ends_the_steps_but_not_the_teardown(project: Project) -> None:
    verdict = project.run(
        """\
        steps:
          - name: Check
            repeat: 2
            steps: [{tool: assert_true, args: {condition: false}}, {tool: shop_open}]
          - {tool: shop_sell, args: {item: pear}, save_as: sale}
          - {name: Often, repeat: 3, steps: [{tool: shop_sell, args: {item: pear}}]}
        teardown:
          - {tool: shop_close, args: {key: "${sale.item}"}}
          - {name: Close, tool: shop_close}
        """
    )
    assert (verdict.verdict, verdict.issues) == ("FAIL", [verdict.reason])
    assert verdict.reason.startswith("Check [1/2] › assert_true: ")
    not_run = "not run: Check [1/2] › assert_true failed"
    assert [(step.name, step.status, step.details) for step in verdict.steps[1:]] == [
        ("Check [1/2] › shop_open", "skip", not_run),
        ("shop_sell", "skip", not_run),
        ("Often", "skip", not_run),
        ("teardown: shop_close", "skip", "not run: nothing was saved as 'sale'"),
        ("teardown: Close", "pass", "shop_close()"),
    ]
    assert project.journal == ["close", "cleanup"]


def test_a_call_that_fails_is_made_again_as_often_as_the_step_says(project: Project) -> None:
    verdict = project.run("steps: [{tool: shop_busy, args: {times: 2}, retry: 2, retry_delay: 0}]")
    assert verdict.verdict == "UNCLEAR"
    assert verdict.steps[0].tool_output == "served"
    assert project.journal == ["attempt 1", "attempt 2", "attempt 3", "cleanup"]


def test_an_unknown_tool_is_told_before_anything_is_done(project: Project) -> None:
    verdict = project.run(
        """\
        setup: [{tool: shop_open}]
        steps: [{repeat: 2, steps: [{tool: shop_sel, args: {item: x}}]}]
        teardown: [{name: End, tool: shop_shut}]
        """
    )
    assert verdict.verdict == "FAIL"
    assert "There is no tool 'shop_sel'; did you mean 'shop_sell'? The tools are " in verdict.reason
    assert statuses(verdict) == [("step 1 [1/2] › shop_sel", "fail"), ("teardown: End", "fail")]
    assert project.journal == ["cleanup"]


def test_a_test_that_only_a_model_can_judge_is_unclear(project: Project) -> None:
    verdict = project.run(
        "steps: [{expect: It is nice, save_as: nice}, {tool: shop_sell, args: {item: '${nice}'}}]"
    )
    assert verdict.verdict == "UNCLEAR"
    assert [step.details for step in verdict.steps] == [
        "only a model can judge it",
        "not run: nothing was saved as 'nice'",
    ]


COMPARISONS = (
    "{tool: assert_equals, args: {actual: 1, expected: 1}}",
    "{tool: assert_contains, args: {container: abc, item: b}}",
    "{tool: assert_true, args: {condition: true}}",
    "{tool: compare_values, args: {value1: 1, value2: 1}}",
)


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_a_test_passes_if_a_comparison_held(project: Project, comparison: str) -> None:
    verdict = project.run(f"steps: [{comparison}]")
    assert verdict.verdict == "PASS", verdict.reason
    assert verdict.reason == "Dry run: 1 call succeeded. Not judged: the criteria."


@pytest.mark.parametrize(
    ("step", "unjudged"),
    [
        ("{tool: sleep, args: {seconds: 0}}", "the criteria"),
        (
            "{tool: shop_sell, args: {item: x}, expect: Status 200}",
            "1 expectation and the criteria",
        ),
        ("{tool: shop_sell, args: {item: x}, analyze: Polite?}", "1 expectation and the criteria"),
        (
            "{repeat: 2, steps: [{tool: shop_sell, args: {item: x}, expect: Sold}]}",
            "2 expectations and the criteria",
        ),
    ],
)
def test_a_test_that_compares_nothing_is_not_checked(
    project: Project, step: str, unjudged: str
) -> None:
    verdict = project.run(f"steps: [{step}]")
    assert verdict.verdict == "UNCLEAR"
    assert verdict.reason.startswith("Not checked in the dry run: no step compares anything. ")
    assert verdict.reason.endswith(f" succeeded. Not judged: {unjudged}.")
    assert {result.status for result in verdict.steps} == {"pass"}


def test_a_step_names_the_expectation_that_nobody_judged(project: Project) -> None:
    verdict = project.run(
        "steps: [{tool: shop_sell, args: {item: x}, expect: Status 200, analyze: Polite?}]"
    )
    assert verdict.steps[0].details == 'shop_sell(item="x"); not judged: Status 200; Polite?'


TYPED = """
from llm_mock.specs import LLMPlugin

class TypedPlugin(LLMPlugin):
    name = "typed"

    async def number(self) -> int:
        return 204

    async def share(self) -> float:
        return 0.5

    async def agreed(self) -> bool:
        return True

    async def nothing(self) -> None:
        return None

    async def parts(self) -> list[int]:
        return [1, 2]

    async def mapping(self) -> dict[str, int]:
        return {"result": 1}

    async def text(self) -> str:
        return "204"
"""


RESULTS = {
    "number": "204",
    "share": "0.5",
    "agreed": "true",
    "nothing": "null",
    "parts": "[1, 2]",
    "mapping": "{result: 1}",
    "text": "'204'",
}


@pytest.mark.usefixtures("tool_process")
def test_the_result_of_a_tool_keeps_its_type(project: Project) -> None:
    (project.root / "tests/llm/plugins/typed.py").write_text(TYPED)
    steps = ""
    for tool, expected in RESULTS.items():
        arguments = f'{{actual: "${{{tool}}}", expected: {expected}}}'
        steps += f"  - {{tool: typed_{tool}, save_as: {tool}}}\n"
        steps += f"  - {{name: {tool}, tool: assert_equals, args: {arguments}}}\n"
    # A step that fails ends the test, but not its teardown.
    verdict = project.run(f"steps: [{COMPARISONS[0]}]\nteardown:\n{steps}")
    found = dict(statuses(verdict))
    assert {tool: found[f"teardown: {tool}"] for tool in RESULTS} == dict.fromkeys(RESULTS, "pass")


def test_a_value_that_was_never_stored_is_a_failure_without_a_default(project: Project) -> None:
    value = "tool: get_value, args: {name: price"
    verdict = project.run(
        f"""\
        steps:
          - {{{value}, default: 3}}}}
          - {{{value}, default: null}}}}
          - {{{value}}}}}
        teardown:
          - {{tool: store_value, args: {{name: cost, value: 1}}}}
          - {{{value}}}}}
        """
    )
    advice = "Store it with store_value, or pass a default."
    assert [step.status for step in verdict.steps] == ["pass", "pass", "fail", "pass", "fail"]
    for step, default in zip(verdict.steps, [3, None], strict=False):
        assert step.tool_output == {"name": "price", "value": default, "found": False}
    assert "no value is stored as 'price'. Stored names: none." in verdict.steps[2].details
    assert advice in verdict.steps[2].details
    assert "Stored names: 'cost'." in verdict.steps[4].details


def test_each_result_is_reported_as_it_comes(project: Project) -> None:
    reported: list[Any] = []

    def report(happened: Any) -> None:
        reported.append((happened.name, list(project.journal)))

    project.run(
        "setup: [{tool: shop_open}]\nsteps: [{tool: shop_sell, args: {item: x}}]\n"
        "teardown: [{tool: shop_close}]",
        report=report,
    )
    assert reported == [
        ("setup: shop_open", ["open"]),
        ("shop_sell", ["open", "sell x"]),
        ("teardown: shop_close", ["open", "sell x", "close"]),
    ]


def test_verbose_prints_what_happens(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    item = '"a\\x1b[31m"'
    project.run(
        f"steps: [{{tool: shop_sell, args: {{item: {item}}}}}, {{analyze: x}}, {{tool: "
        f"shop_refuse}}]",
        verbose=True,
    )
    sold, judged, refused = capsys.readouterr().out.splitlines()
    assert [sold, judged] == [
        '✓ shop_sell  shop_sell(item="a\\u001b[31m") → {"item": "a\\u001b[31m", "number": 1}',
        "– step 2  only a model can judge it",
    ]
    assert refused.startswith("✗ shop_refuse  ")
    assert refused.endswith("The shop refuses: no")


def test_http_errors_are_for_the_judge() -> None:
    """A tool that answers has succeeded, whatever the status is."""

    class Answers:
        def call(self, arguments: dict[str, Any], timeout: float | None = None) -> ToolAnswer:
            return ToolAnswer("", structured={"status_code": 500, "body": "", "headers": {}})

    told: list[StepResult | str] = []
    tools: Any = {"http_get": Answers()}
    StepRunner(tools, {}, Deadline(10), told.append).run(
        [Step(tool="http_get", args={"url": "http://localhost/"})]
    )
    assert isinstance(told[0], StepResult)
    assert told[0].status == "pass"


def test_a_step_for_which_no_time_is_left_is_not_done() -> None:
    told: list[Any] = []
    with pytest.raises(TimeIsUp, match="Late"):
        StepRunner({}, {}, Deadline(0), told.append).run(
            [Step(name="Late", tool="sleep", args={"seconds": 0})]
        )
    assert [(result.status, result.details) for result in told] == [
        ("fail", "sleep(seconds=0): the test ran out of time")
    ]


def test_the_model_of_a_dry_run_is_its_name() -> None:
    assert DryRun().model_id == "dry run"


@pytest.mark.usefixtures("tool_process")
def test_secrets_are_in_no_result(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "open-sesame-42")
    told: list[Any] = []
    verdict: Verdict = project.run(
        "steps: [{tool: shop_variable, args: {name: open-sesame-42}}, {tool: assert_true, args: "
        "{condition: false, "
        "message: open-sesame-42}}]",
        report=told.append,
    )
    assert verdict.verdict == "FAIL"
    assert verdict.steps[0].tool_output == {"password": "[redacted]", "value": "[redacted secret]"}
    assert "[redacted secret]" in verdict.reason
    assert "open-sesame" not in f"{verdict}{told}"
