"""The same checks of the same outputs, in a suite, in a step and in Python."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock import checks
from llm_mock.agents import AgentResult, ToolCallRecord, Turn
from llm_mock.checks import (
    bleu,
    contains,
    contains_all,
    contains_any,
    contains_json,
    equals,
    icontains,
    javascript,
    levenshtein,
    python,
    regex,
    rouge_n,
    starts_with,
)
from llm_mock.checks.evaluation import BaseAssertion
from llm_mock.specs import load_spec, run_llm_test
from llm_mock.specs.drivers import DryRun
from llm_mock.suites import load_suite, run_suite

FUNCTIONS = """\
def short(output):
    return len(output) < 20
"""
TEXT = "Hello, Ada"
DATA = '{"name": "Ada", "hours": [9, 17]}'
# Each check with an output for which it holds, and one for which it fails.
CHECKS: dict[str, tuple[BaseAssertion, dict[str, Any], str, str]] = {
    "contains": (contains("Ada"), {"value": "Ada"}, TEXT, "Hello, Bob"),
    "icontains": (icontains("ADA"), {"value": "ADA"}, TEXT, "Hello, Bob"),
    "contains_any": (contains_any(["x", "Ada"]), {"values": ["x", "Ada"]}, TEXT, "Hello, Bob"),
    "contains_all": (contains_all(["Hello", "Ada"]), {"values": ["Hello", "Ada"]}, TEXT, "Hello"),
    "equals": (equals("Hello, Ada"), {"value": "Hello, Ada"}, f" {TEXT}\n", "Hello"),
    "starts_with": (starts_with("Hello"), {"value": "Hello"}, TEXT, "Oh, Hello"),
    "regex": (regex("A[a-z]a$"), {"pattern": "A[a-z]a$"}, TEXT, "Ada, hello"),
    "json": (checks.json("hours[0]", value=9), {"path": "hours[0]", "value": 9}, DATA, "[9]"),
    "contains_json": (
        contains_json(schema={"required": ["name"]}),
        {"schema": {"required": ["name"]}},
        f"So: {DATA}",
        'So: {"hours": []}',
    ),
    "levenshtein": (levenshtein(TEXT), {"value": TEXT}, "Hello Ida", "Hello, you two"),
    "rouge_n": (rouge_n(TEXT, n=2), {"value": TEXT, "n": 2}, "hello ada", "Ada, hello"),
    "bleu": (bleu(TEXT), {"value": TEXT}, "hello, ada", "Good evening"),
    "python": (
        python("functions.py:short"),
        {"function": "functions.py:short"},
        TEXT,
        "Hello to each of you, Ada",
    ),
}
if shutil.which("node") is not None:
    CODE = "output.length < 20"
    CHECKS["javascript"] = (javascript(CODE), {"code": CODE}, TEXT, "Hello to each of you, Ada")


def check_in_suite(folder: Path, check: dict[str, Any], output: str) -> bool | None:
    (folder / "app.py").write_text(f"def answer(prompt):\n    return {output!r}\n")
    head = {"apiVersion": "llm-mock/v1", "kind": "TestSuite", "metadata": {"name": "s"}}
    case = {"name": "c", "prompt": "Hi", "assertions": [check]}
    suite = {**head, "target": {"function": "app.py:answer"}, "cases": [case]}
    (folder / "suite.yaml").write_text(json.dumps(suite))
    result = run_suite(None, load_suite(folder / "suite.yaml"), dry_run=True)
    (found,) = result.case_results[0].decisive_attempt.assertions
    return found.passed


def check_in_step(folder: Path, check: dict[str, Any], output: str) -> bool | None:
    step = {"tool": "say_it", "checks": [check]}
    plugin = (
        "from llm_mock.specs import LLMPlugin\n"
        "class SayPlugin(LLMPlugin):\n"
        "    name = 'say'\n"
        "    async def it(self) -> str:\n"
        f"        return {output!r}\n"
    )
    (folder / "pyproject.toml").write_text("")
    (folder / "tests" / "llm" / "plugins").mkdir(parents=True)
    (folder / "tests" / "llm" / "plugins" / "say.py").write_text(plugin)
    spec = {"test": {"name": "t"}, "steps": [step], "verdict": {"pass_if": "a", "fail_if": "b"}}
    path = folder / "test_it.yaml"
    path.write_text(json.dumps(spec))
    verdict = run_llm_test(load_spec(path), path, driver=DryRun())
    return {"PASS": True, "FAIL": False, "UNCLEAR": None}[verdict.verdict]


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("name", CHECKS)
def test_a_check_has_one_verdict_in_a_suite_a_step_and_python(
    name: str, holds: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    check, fields, good, bad = CHECKS[name]
    output = good if holds else bad
    written = {"type": name, **fields}
    negated = {"type": f"not_{name}", **fields}
    turn = Turn(output, (ToolCallRecord("search", {}, "x"),), None)  # type: ignore[arg-type]
    run = AgentResult("a", "m", "p", (turn,), success=True)

    assert check(output).outcome == ("passed" if holds else "failed")
    assert bool(check(run)) is holds
    assert bool((~check)(output)) is not holds
    assert check_in_suite(tmp_path, written, output) is holds
    assert check_in_suite(tmp_path, negated, output) is not holds
    assert check_in_step(tmp_path, written, output) is holds
