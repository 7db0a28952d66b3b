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


SUITE = {"apiVersion": "llm-mock/v1", "kind": "TestSuite", "metadata": {"name": "s"}}
PLUGIN = """\
from llm_mock.specs import LLMPlugin


class SayPlugin(LLMPlugin):
    name = "say"

    async def it(self, output: str) -> str:
        return output
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "app.py").write_text("def answer(prompt):\n    return prompt\n")
    (folder / "functions.py").write_text(FUNCTIONS)
    (folder / "pyproject.toml").write_text("")
    plugins = folder / "tests" / "llm" / "plugins"
    plugins.mkdir(parents=True)
    (plugins / "say.py").write_text(PLUGIN)
    return folder


def list_outputs(name: str) -> list[tuple[str, bool]]:
    """Return the outputs of a check, and whether it holds for them."""
    _, _, good, bad = CHECKS[name]
    return [(good, True), (bad, False)]


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_of_an_output_or_a_run_holds_in_python(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    check = CHECKS[name][0]
    for output, holds in list_outputs(name):
        turn = Turn(output, (ToolCallRecord("search", {}, "x"),), None)  # type: ignore[arg-type]
        run = AgentResult("a", "m", "p", (turn,), success=True)
        assert check(output).outcome == ("passed" if holds else "failed")
        assert bool(check(run)) is holds
        assert bool((~check)(output)) is not holds


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_and_its_negation_have_the_same_meaning_in_a_suite(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    fields = CHECKS[name][1]
    assertions = [{"type": kind, **fields} for kind in (name, f"not_{name}")]
    cases = [
        {"name": str(holds), "prompt": output, "assertions": assertions}
        for output, holds in list_outputs(name)
    ]
    suite = {**SUITE, "target": {"function": "app.py:answer"}, "cases": cases}
    (folder / "suite.yaml").write_text(json.dumps(suite))
    results = run_suite(None, load_suite(folder / "suite.yaml"), dry_run=True).case_results
    found = [[each.passed for each in result.decisive_attempt.assertions] for result in results]
    assert found == [[True, False], [False, True]]


@pytest.fixture(scope="module")
def step_statuses(folder: Path) -> dict[str, str]:
    """Return the statuses of steps with each check, which share the process of their tool."""
    steps = []
    for name, (_, fields, *_) in CHECKS.items():
        for output, holds in list_outputs(name):
            step = {"name": f"{name} {holds}", "tool": "say_it", "args": {"output": output}}
            steps.append({**step, "checks": [{"type": name, **fields}]})
    # A step that fails ends the test, but not its teardown.
    spec = {
        "test": {"name": "t"},
        "steps": [steps[0]],
        "teardown": steps[1:],
        "verdict": {"pass_if": "a", "fail_if": "b"},
    }
    path = folder / "test_it.yaml"
    path.write_text(json.dumps(spec))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        verdict = run_llm_test(load_spec(path), path, driver=DryRun())
    return {step.name.removeprefix("teardown: "): step.status for step in verdict.steps}


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_has_the_same_meaning_in_a_step(name: str, step_statuses: dict[str, str]) -> None:
    found = {holds: step_statuses[f"{name} {holds}"] for _, holds in list_outputs(name)}
    assert found == {True: "pass", False: "fail"}
