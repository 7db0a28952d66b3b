"""`llm-mock import`: a configuration of promptfoo's becomes a suite and the role that it asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

pytest.importorskip("rich")

from llm_mock.cli import main
from llm_mock.suites import load_suite

CONFIGURATION = """\
# yaml-language-server: $schema=https://promptfoo.dev/config-schema.json
description: Answers of the shop
x-anchors: {}
prompts:
  - "Answer in ${currency}: {{ question }}"
  - id: file://prompts/short.txt
    label: short
providers:
  - id: openai:chat:gpt-4o-mini
    config: {temperature: 0, top_p: 1}
  - anthropic:messages:claude-sonnet
  - exec:python app.py
defaultTest:
  vars: {currency: EUR}
  options: {provider: "openai:gpt-judge"}
  assert:
    - {type: not-icontains, value: as an AI}
    - {type: javascript, value: "output.length < 90"}
evaluateOptions: {repeat: 2, maxConcurrency: 4}
outputPath: results.html
tests:
  - description: opening hours
    vars: {question: When are you open?}
    assert:
      - {type: contains, value: "{{currency}}"}
      - {type: icontains-any, value: "open, hours"}
      - {type: is-json, value: {type: object}}
      - {type: llm-rubric, value: It is polite, provider: "anthropic:claude-judge", weight: 2}
      - {type: latency, threshold: 1500}
      - {type: cost, threshold: 0.01}
      - {type: similar, value: From nine to five}
      - {type: python, value: "file://checks.py:is_short"}
      - {type: regex, value: "(["}
      - {type: contains, value: "file://wanted.txt"}
      - {type: assert-set, assert: [{type: starts-with, value: We}]}
  - vars:
      question: [Hello?, "{{greeting}}"]
      place: {city: Bonn}
    options: {transform: output.trim()}
    threshold: 0.5
  - file://tests.csv
  - file://tests.py:generate
"""
EXPECTED = """\
promptfooconfig.yaml:10: top_p of a provider has no counterpart
promptfooconfig.yaml:12: the provider exec:python app.py is an application: name it as the target of the suite, \
target: {function, command or url}
promptfooconfig.yaml:18: the assertion javascript has no counterpart: write a python assertion
promptfooconfig.yaml:19: maxConcurrency has no counterpart: give the command -j N
promptfooconfig.yaml:20: outputPath has no counterpart: give the file to the command, -o FILE
promptfooconfig.yaml:32: python: in place of a context the function has parameters result, variables and case here
promptfooconfig.yaml:33: the assertion regex is not imported: pattern: '([' is not a valid regular expression: \
unterminated character set (position 1)
promptfooconfig.yaml:34: the assertion contains is not imported: its value is in file://wanted.txt
promptfooconfig.yaml:37: {{greeting}} is left unchanged: variables in variables are not supported
promptfooconfig.yaml:38: the variable place is not imported: it must be text, a number, true or false
promptfooconfig.yaml:39: transform of a test has no counterpart
promptfooconfig.yaml:41: the column __expected has no counterpart
promptfooconfig.yaml:42: file://tests.py:generate is not imported: expected files that end in .yaml, .yml, .json, .csv
promptfooconfig.suite.yaml: 10 cases, 13 lines above without the same
Run them: llm-mock test promptfooconfig.role.yaml -s promptfooconfig.suite.yaml
"""  # noqa: E501


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "short.txt").write_text("{{question}} Be short.\n")
    (tmp_path / "tests.csv").write_text("question,__expected\nWhere?,Bonn\nWho?,We\n")
    (tmp_path / "checks.py").write_text("def is_short(output):\n    return True\n")
    return tmp_path


def run(
    folder: Path, text: str, *arguments: str, name: str = "promptfooconfig.yaml"
) -> tuple[int, str]:
    (folder / name).write_text(text)
    result = CliRunner().invoke(main, ["import", name, *arguments])
    assert isinstance(result.exception, (SystemExit, type(None))), result.exc_info
    return result.exit_code, result.output


def test_what_has_a_counterpart_is_written_and_what_has_none_is_told_with_its_line(
    folder: Path,
) -> None:
    assert run(folder, CONFIGURATION) == (0, EXPECTED)
    role = yaml.safe_load((folder / "promptfooconfig.role.yaml").read_text())
    model = {"provider": "openai", "name": "gpt-4o-mini", "temperature": 0}
    assert role["spec"] == {"role": "", "model": model}

    written = yaml.safe_load((folder / "promptfooconfig.suite.yaml").read_text())
    assert (written["defaults"]["repeat"], written["defaults"]["judge"]) == (2, "gpt-judge")
    sonnet = "anthropic/claude-sonnet"
    assert written["matrix"] == {
        "models": [{"model": "gpt-4o-mini", "options": {"temperature": 0}}, sonnet]
    }
    suite = load_suite(folder / "promptfooconfig.suite.yaml")
    prompts = {case.name: case.prompt for case in suite.cases}
    assert prompts["opening hours [prompt 1]"] == "Answer in ${currency}: When are you open?"
    assert prompts["opening hours [short]"] == "When are you open? Be short."
    assert list(prompts.values()).count("Where? Be short.") == 1
    hours: Any = suite.cases[0].assertions
    types = "not_icontains contains contains_any json llm_judge max_latency max_cost similar python starts_with"  # noqa: E501
    assert [each.type for each in hours] == types.split()
    assert [getattr(each, "value", None) for each in hours][1] == "EUR"
    assert (hours[2].values, hours[2].case_insensitive) == (("open", "hours"), True)
    assert (hours[4].model, hours[4].weight, hours[5].value) == ("anthropic/claude-judge", 2, 1.5)
    assert (hours[7].threshold, suite.cases[2].min_score) == (0.75, 0.5)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("type: contains, value: a", {"type": "contains", "value": "a"}),
        ("type: icontains, value: a", {"type": "icontains", "value": "a"}),
        ("type: equals, value: a", {"type": "equals", "value": "a"}),
        ("type: starts-with, value: a", {"type": "starts_with", "value": "a"}),
        ("type: regex, value: a+", {"type": "regex", "pattern": "a+"}),
        ("type: contains-any, value: [a, b]", {"type": "contains_any", "values": ["a", "b"]}),
        ("type: contains-all, value: 'a, b'", {"type": "contains_all", "values": ["a", "b"]}),
        (
            "type: icontains-any, value: [a]",
            {"type": "contains_any", "values": ["a"], "case_insensitive": True},
        ),
        (
            "type: icontains-all, value: [a]",
            {"type": "contains_all", "values": ["a"], "case_insensitive": True},
        ),
        ("type: is-json", {"type": "json"}),
        ("type: is-json, value: {type: object}", {"type": "json", "schema": {"type": "object"}}),
        ("type: contains-json", {"type": "contains_json"}),
        ("type: llm-rubric, value: kind", {"type": "llm_judge", "criteria": "kind"}),
        ("type: model-graded-closedqa, value: kind", {"type": "llm_judge", "criteria": "kind"}),
        ("type: g-eval, value: [kind, true]", {"type": "llm_judge", "criteria": "kind\nTrue"}),
        ("type: similar, value: a", {"type": "similar", "value": "a", "threshold": 0.75}),
        (
            "type: similar, value: a, threshold: 1",
            {"type": "similar", "value": "a", "threshold": 1},
        ),
        ("type: latency, threshold: 500", {"type": "max_latency", "value": 0.5}),
        ("type: cost, threshold: 0.5", {"type": "max_cost", "value": 0.5}),
        ("type: not-equals, value: a", {"type": "not_equals", "value": "a"}),
        ("type: of-our-own, value: a", None),
    ],
)
def test_each_type_of_assertion_has_its_counterpart(
    folder: Path, theirs: str, ours: dict[str, Any] | None
) -> None:
    run(folder, f"prompts: ['{{{{q}}}}']\ntests: [{{vars: {{q: Hi}}, assert: [{{{theirs}}}]}}]")
    written = yaml.safe_load((folder / "promptfooconfig.suite.yaml").read_text())
    (case,) = written["cases"]
    assert case.get("assertions", []) == ([] if ours is None else [ours])


def test_what_was_imported_runs_dry(folder: Path) -> None:
    text = "prompts: ['{{q}}']\ntests: [{vars: {q: Hi}, providerOutput: Hello, assert: [{type: equals, value: Hello}]}]"  # noqa: E501
    assert run(folder, text)[0] == 0
    arguments = [
        "test",
        "promptfooconfig.role.yaml",
        "-s",
        "promptfooconfig.suite.yaml",
        "--dry-run",
    ]
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, "1/1 passed" in result.output) == (0, True)


@pytest.mark.parametrize(
    ("text", "prompt", "variables"),
    [
        ("prompts: ['Costs ${x}']", "Costs ${x}", "Costs ${x}"),
        ("tests: [{vars: {prompt: Say hi}}]", "Say hi", "Say hi"),
        (
            "prompts: ['{{a}} {{b}}']\ntests: [{vars: {a: 1}}]",
            "1 ",
            "{{b}} has no value here, and is empty",
        ),
        (
            "prompts: ['{{a | upper}}']\ntests: [{vars: {a: 1}}]",
            "{{a | upper}}",
            "only {{name}} has a counterpart",
        ),
        ("prompts: ['{{a}}']\ntests: [file://more.yaml]", "5", ""),
        (
            (
                "prompts: ['{{a}} {{b}}']\nscenarios: [{config: [{vars: {a: 1}}], tests: [{vars: "
                "{b: 2}}]}]"
            ),
            "1 2",
            "",
        ),
        (
            'prompts: [\'[{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]\']',
            "u",
            "",
        ),
    ],
)
def test_prompts_have_the_values_of_their_tests(
    text: str, prompt: str, variables: str, folder: Path
) -> None:
    (folder / "more.yaml").write_text("- vars: {a: 5}\n")
    code, said = run(folder, text)
    assert code == 0, said
    case = load_suite(folder / "promptfooconfig.suite.yaml").cases[0]
    assert case.prompt == prompt
    assert variables in said or variables == prompt


@pytest.mark.parametrize(
    "strange",
    [
        None,
        5,
        "x",
        [],
        {},
        [None],
        [5],
        [[1]],
        "file://*.yaml",
        [{"type": "cost"}],
        [{"type": ["x"]}],
        {"repeat": 10**30},
    ],
)
def test_strange_values_are_told_and_what_is_written_can_be_read(
    strange: Any, folder: Path
) -> None:
    whole = {"prompts": ["{{a}}"], "tests": [{"vars": {"a": 1}}]}
    keys = ("prompts", "tests", "providers", "defaultTest", "scenarios", "evaluateOptions")
    of_tests = ("vars", "assert", "options", "threshold", "description", "providerOutput")
    scenario = {"scenarios": [{"config": strange, "tests": strange}]}
    changes = [
        *({key: strange} for key in keys),
        *({"tests": [{key: strange}]} for key in of_tests),
        scenario,
    ]
    (folder / "more.yaml").write_text("- x\n")
    for change in changes:
        for written in folder.glob("promptfooconfig.*"):
            written.unlink()
        code, said = run(folder, yaml.safe_dump(whole | change))
        assert code == 0 or "promptfooconfig.yaml" in said


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "a: 1",
            (
                "promptfooconfig.yaml:1: this is neither a configuration of promptfoo (prompts, "
                "tests) nor a cassette"
            ),
        ),
        (
            "prompts: [file://none.py:f]",
            "promptfooconfig.yaml: nothing in it can become a case of a suite",
        ),
        ("prompts: [", "is not valid YAML"),
        (
            f"prompts: [x]\ntests: [{{vars: {{a: {[1] * 101}, b: {[1] * 100}}}}}]",
            "test 1 makes 10,100 cases; at most 10,000",
        ),
    ],
)
def test_what_nothing_can_be_made_of_is_told_and_nothing_is_written(
    text: str, problem: str, folder: Path
) -> None:
    code, said = run(folder, text)
    assert (code, problem in said) == (1, True)
    assert not list(folder.glob("*.suite.yaml"))


def test_nothing_is_written_over(folder: Path) -> None:
    assert run(folder, "prompts: [Hi]")[0] == 0
    code, said = run(folder, "prompts: [Hi]")
    assert (code, said) == (
        1,
        (
            "Error: promptfooconfig.suite.yaml exists already: remove it, or name another file by "
            "--output.\n"
        ),
    )
    assert run(folder, "prompts: [Hi]", "-o", "other.yaml") == (
        0,
        "other.yaml: 1 case\nRun them: llm-mock test other.role.yaml -s other.yaml\n",
    )
