"""Files written for llm-pytest, its first and last version, run unchanged."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock.agents.result import ToolCallRecord
from llm_mock.errors import InvalidFile
from llm_mock.specs import load_spec
from llm_mock.specs.drivers import Task
from llm_mock.specs.models import Verdict
from llm_mock.specs.steps import Deadline
from llm_mock.specs.tool_check import describe_unknown_tool
from llm_mock.specs.tools_server import RunningTools
from llm_mock.specs.verdict_consistency import check_verdict

from .projects import Project, statuses
from .projects import project as project

WITH_PREFIX = """\
steps:
  - name: "A share apart"
    tool: llm_pytest.compare_values
    args:
      value1: 40
      value2: 41
      tolerance: 0.05
    save_as: comparison
    expect: |
      They are close:
      - less than 5 % apart
  - name: "The share is told"
    tool: llm_pytest.assert_contains
    args: {container: "${comparison}", item: difference_percent}
"""
WITH_STATE = """\
setup:
  - tool: shop_open
    save_as: shop
steps:
  - name: "Sell a pear"
    tool: shop_sell
    args:
      item: "pear"
    save_as: sale
    analyze: |
      1. Is there a number?
  - name: "Keep its number"
    tool: store_value
    args:
      name: "number"
      value: ${sale.number}
    expect: "It is kept"
  - name: "Read it"
    tool: get_value
    args:
      name: "number"
    save_as: kept
  - name: "Read what nobody kept"
    tool: get_value
    args: {name: "colour", default: green}
    save_as: colour
  - tool: list_values
    save_as: names
  - tool: assert_equals
    args:
      actual: ["${kept.value}", "${kept.found}", "${colour.value}", "${names.keys}"]
      expected: [1, true, green, [number]]
  - name: "It keeps its type, and stands in texts"
    tool: assert_equals
    args: {actual: ["${stored.number}", "no. ${stored.number}"], expected: [1, "no. 1"]}
teardown:
  - tool: shop_close
    args: {key: "no. ${stored.number}"}
"""


@pytest.mark.parametrize("parts", [WITH_PREFIX, WITH_STATE])
def test_a_file_of_theirs_runs_dry_unchanged(parts: str, project: Project) -> None:
    verdict = project.run(parts)
    assert verdict.verdict == "PASS", verdict
    assert {status for _, status in statuses(verdict)} == {"pass"}
    assert project.journal in (["cleanup"], ["open", "sell pear", "close no. 1", "cleanup"])


def test_a_tool_has_one_name_with_their_prefix_and_without(project: Project) -> None:
    spec = load_spec(
        project.write("steps: [{tool: llm_pytest.http_get, args: {url: x}}, {tool: http_get}]")
    )
    assert [step.tool for step in spec.steps] == ["http_get", "http_get"]


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("http_gett", "; did you mean 'http_get'? The tools are "),
        ("shop.sell", "; did you mean 'shop_sell'?"),
        ("add", "; did you mean 'shop_add'?"),
        ("mcp__llm_pytest__http_get", "; did you mean 'http_get'?"),
        (
            "shop_cleanup",
            (
                ": cleanup() of a plugin is not a tool. It runs automatically when the test ends: "
                "remove this step."
            ),
        ),
    ],
)
def test_a_tool_that_there_is_not_is_told_with_the_near_name(tool: str, expected: str) -> None:
    known = dict.fromkeys(["http_get", "http_post", "shop_sell", "shop_add"])
    assert f"There is no tool {tool!r}{expected}" in describe_unknown_tool(tool, known)


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (
            (
                "[{tool: store_value, args: {name: a, value: 1}}, {tool: b, args: {c: "
                "'${stored.a.d}'}}]"
            ),
            "",
        ),
        (
            (
                "[{tool: store_value, args: {name: '${x}', value: 1}}, {tool: b, args: {c: "
                "'${stored.a}'}}]"
            ),
            "",
        ),
        ("[{tool: b, save_as: stored}, {tool: b, args: {c: '${stored.a}'}}]", ""),
        (
            (
                "[{tool: store_value, args: {name: number, value: 1}}, {tool: b, args: {c: "
                "'${stored.numbr}'}}]"
            ),
            "refers to 'stored.numbr', which no earlier step saves; did you mean 'stored.number'?",
        ),
    ],
)
def test_what_was_stored_is_known_before_a_run(steps: str, problem: str, project: Project) -> None:
    path = project.write(f"setup: [{{tool: b, save_as: x}}]\nsteps: {steps}")
    with pytest.raises(InvalidFile, match=re.escape(problem)) if problem else nullcontext():
        load_spec(path)


def test_a_teardown_has_what_a_model_stored(project: Project) -> None:
    steps = [{"tool": "store_value", "args": {"name": "key", "value": "${x}"}}]
    spec = load_spec(project.write(f"setup: [{{tool: b, save_as: x}}]\nsteps: {steps}"))
    tools: Any = RunningTools(servers=[], tools={})
    task = Task(spec, tools, Deadline(60), lambda happened: None, project.root)
    call = ToolCallRecord(
        "store_value", {"name": "key", "value": 7}, '{"stored": "key", "value": 7}', None
    )
    check_verdict(Verdict(verdict="PASS", reason="fine"), task, [call])
    assert task.saved == {"stored.key": 7}
