"""Setup, steps, teardown and cleanup of a test, within its time."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock.errors import DriverError, LLMMockError, MissingExtra, ServerError, TimeIsUp
from llm_mock.specs import StepResult, Verdict, load_spec, runner
from llm_mock.specs.allowed_hosts import AllowedHosts
from llm_mock.specs.drivers import Driver, DryRun, Task
from llm_mock.specs.prompt import render_prompt

from .local_tools import local_tools as local_tools
from .local_tools import tool_process as tool_process
from .projects import Project, statuses
from .projects import project as project

pytestmark = pytest.mark.usefixtures("local_tools")

PARTS = """\
setup: [{tool: shop_open, save_as: shop}]
steps: [{tool: shop_sell, args: {item: apple}}]
teardown: [{tool: shop_refuse}, {tool: shop_close, args: {key: "${shop.key}"}}]
"""
GOOD_PARTS = PARTS.replace("{tool: shop_refuse}, ", "")


@dataclass
class Scripted:
    """A driver that does and says what it is told."""

    outcome: Verdict | BaseException
    needs_http: bool = False
    needs_live: bool = False
    name: str = "scripted"
    task: Task | None = None

    def run(self, task: Task) -> Verdict:
        self.task = task
        task.tools.tools["shop_sell"].call({"item": "pear"})
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


def verdict_of(word: Any) -> Verdict:
    return Verdict(verdict=word, reason="So it is", steps=[StepResult(name="Mine", status="pass")])


@pytest.mark.parametrize(
    "outcome", [DriverError("no model"), KeyboardInterrupt(), ZeroDivisionError()], ids=repr
)
def test_the_teardown_is_done_whatever_the_driver_raises(
    project: Project, outcome: BaseException
) -> None:
    with pytest.raises(type(outcome)):
        project.run(PARTS, driver=Scripted(outcome))
    assert project.journal == ["open", "sell pear", "refuse", "close k-1", "cleanup"]


def test_a_failed_setup_skips_the_steps_and_not_the_teardown(project: Project) -> None:
    driver = Scripted(verdict_of("PASS"))
    verdict = project.run(
        "setup: [{tool: shop_refuse}, {tool: shop_open}]\n"
        + GOOD_PARTS.split("\n", 1)[1].replace(', args: {key: "${shop.key}"}', ""),
        driver=driver,
    )
    assert driver.task is None
    assert verdict.verdict == "FAIL"
    assert verdict.reason.startswith("setup: shop_refuse: ")
    assert [(step.name, step.status, step.details) for step in verdict.steps[1:]] == [
        ("setup: shop_open", "skip", "not run: setup: shop_refuse failed"),
        ("shop_sell", "skip", "not run: the setup failed"),
        ("teardown: shop_close", "pass", "shop_close()"),
    ]
    assert project.journal == ["refuse", "close", "cleanup"]


@pytest.mark.parametrize(
    ("said", "becomes"), [("PASS", "FAIL"), ("UNCLEAR", "FAIL"), ("FAIL", "FAIL")]
)
def test_a_failed_teardown_makes_the_test_fail(project: Project, said: str, becomes: str) -> None:
    verdict = project.run(PARTS, driver=Scripted(verdict_of(said)))
    assert verdict.verdict == becomes
    assert verdict.reason.startswith(
        "So it is" if said == "FAIL" else "teardown: shop_refuse failed: "
    )
    assert verdict.issues[-1].startswith("teardown: shop_refuse failed: ")
    assert statuses(verdict) == [
        ("setup: shop_open", "pass"),
        ("Mine", "pass"),
        ("teardown: shop_refuse", "fail"),
        ("teardown: shop_close", "pass"),
    ]


@pytest.mark.usefixtures("tool_process")
def test_a_failed_cleanup_makes_the_test_fail(project: Project) -> None:
    plugin = "from llm_mock.specs import LLMPlugin\n\nclass Till(LLMPlugin):\n    async def cleanup(self): 1 / 0\n"  # noqa: E501
    (project.tests / "plugins" / "till.py").write_text(plugin)
    told: list[Any] = []
    verdict = project.run(GOOD_PARTS, report=told.append)
    problem = "The cleanup of the plugin 'till' failed: ZeroDivisionError: division by zero"
    assert (verdict.verdict, verdict.reason, verdict.issues) == ("FAIL", problem, [problem])
    assert told[-1] == problem
    assert project.journal[-1] == "cleanup"


@pytest.mark.usefixtures("tool_process")
def test_after_an_interrupt_the_teardown_is_not_waited_for_as_long_as_the_test_had(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "TEARDOWN_TIME", 0.5)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        project.run(
            "steps: [{expect: x}]\nteardown: [{tool: shop_wait_for_ever}]",
            driver=Scripted(KeyboardInterrupt()),
        )
    assert time.monotonic() - start < 30
    assert project.journal == ["sell pear", "wait", "cleanup"]


@pytest.mark.usefixtures("tool_process")
def test_a_test_that_takes_too_long_fails_with_what_was_done(project: Project) -> None:
    steps = "steps: [{tool: shop_sell, args: {item: apple}}, {name: Wait, tool: shop_wait_for_ever}, {tool: shop_open}]\n"  # noqa: E501
    start = time.monotonic()
    verdict = project.run(steps + "teardown: [{tool: shop_close}]", timeout=1)
    assert time.monotonic() - start < 30
    assert verdict.verdict == "FAIL"
    assert verdict.reason == "Timed out after 1 s during Wait. Completed steps: shop_sell."
    assert statuses(verdict) == [
        ("shop_sell", "pass"),
        ("Wait", "fail"),
        ("teardown: shop_close", "pass"),
    ]
    assert verdict.steps[1].details.startswith(
        "shop_wait_for_ever(): The tool 'shop_wait_for_ever' of the MCP server"
    )
    assert re.search(r" did not answer within (1|0\.\d+) seconds\. ", verdict.steps[1].details)
    assert project.journal == ["sell apple", "wait", "close", "cleanup"]


def test_a_driver_that_takes_too_long_is_a_fail(project: Project) -> None:
    verdict = project.run(GOOD_PARTS, driver=Scripted(TimeIsUp("the work of a model")), timeout=7)
    assert verdict.verdict == "FAIL"
    assert (
        verdict.reason
        == "Timed out after 7 s during the work of a model. Completed steps: setup: shop_open."
    )
    assert project.journal[-2:] == ["close k-1", "cleanup"]


def test_a_teardown_has_a_time_of_its_own_and_no_more(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "TEARDOWN_TIME", 0.5)
    verdict = project.run(
        "steps: [{name: Work, tool: sleep, args: {seconds: 60}}]\n"
        "teardown: [{name: Wait, tool: shop_wait_for_ever}, {tool: shop_close}]",
        timeout=0.5,
    )
    assert verdict.reason == "Timed out after 0.5 s during Work. Completed steps: none."
    assert statuses(verdict) == [("Work", "fail"), ("teardown: Wait", "fail")]


def test_a_driver_is_told_what_it_needs(project: Project) -> None:
    driver = Scripted(verdict_of("PASS"), needs_http=True)
    project.run(GOOD_PARTS, driver=driver, timeout=50)
    task = driver.task
    assert task is not None
    assert 0 < task.deadline.left < 50
    assert task.root == project.root
    assert task.saved["shop"]["key"] == "k-1"
    assert [result.name for result in task.setup] == ["setup: shop_open"]
    assert (task.tools.url or "").startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("allowed", "named"),
    [(None, "localhost"), (AllowedHosts(["192.0.2.1", "*.test"]), "192.0.2.1, *.test")],
)
def test_a_dry_run_connects_to_this_machine_alone_unless_told_otherwise(
    project: Project, allowed: AllowedHosts | None, named: str
) -> None:
    verdict = project.run(
        "steps: [{tool: http_get, args: {url: 'http://192.0.2.7/'}}]", allowed_hosts=allowed
    )
    assert verdict.steps[0].status == "fail"
    for part in ("192.0.2.7", named, "llm_mock_allowed_hosts"):
        assert part in verdict.reason


@pytest.mark.usefixtures("tool_process")
def test_a_broken_plugin_is_an_error_that_names_it(project: Project) -> None:
    (project.tests / "plugins" / "broken.py").write_text("import nothing_of_the_kind\n")
    with pytest.raises(ServerError, match=r"broken\.py"):
        project.run(GOOD_PARTS)
    assert project.journal == []


def test_a_missing_jinja2_is_told_with_the_extra_to_install(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pytest-llm-mock\[specs\]'"):
        render_prompt(load_spec(project.write(PARTS)), [], {})


def test_the_drivers_are_drivers() -> None:
    from llm_mock.specs.claude_code import ClaudeCodeDriver
    from llm_mock.specs.llm_driver import LLMDriver

    drivers: list[Driver] = [DryRun(), LLMDriver(), ClaudeCodeDriver()]
    assert [(driver.name, driver.needs_http, driver.needs_live) for driver in drivers] == [
        ("dry run", False, False),
        ("llm", False, False),
        ("claude-code", True, True),
    ]


def test_outside_of_pytest_the_values_of_fixtures_are_given(project: Project) -> None:
    path = project.write("steps: [{tool: assert_equals, args: {actual: '${port}', expected: 80}}]")
    path.write_text(path.read_text().replace("name: Shop", "name: Shop, fixtures: [port]"))
    spec = load_spec(path)
    assert runner.run_llm_test(spec, path, driver=DryRun(), fixtures={"port": 80}).verdict == "PASS"
    with pytest.raises(
        LLMMockError,
        match="The test needs the pytest fixture 'port': run it with `pytest --llm`",
    ):
        runner.run_llm_test(spec, path, driver=DryRun())
