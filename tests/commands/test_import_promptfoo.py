"""`llm-mock import`: a configuration of promptfoo's becomes a suite and the role that it asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

pytest.importorskip("rich")

from llm_mock.cli import main
from llm_mock.suites import load_role, load_suite

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
    - {type: moderation}
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
    options: {rubricPrompt: Grade it}
    threshold: 0.5
  - file://tests.csv
  - file://tests.py:generate
"""
EXPECTED = """\
promptfooconfig.yaml:12: the provider exec:python app.py is an application: name it as the target of the suite, \
target: {function, command or url}
promptfooconfig.yaml:18: the assertion moderation has no counterpart
promptfooconfig.yaml:19: maxConcurrency has no counterpart: give the command -j N
promptfooconfig.yaml:20: outputPath has no counterpart: give the file to the command, -o FILE
promptfooconfig.yaml:32: python: in place of a context the function has parameters result, variables and case here
promptfooconfig.yaml:33: the assertion regex is not imported: pattern: '([' is not a valid regular expression: \
unterminated character set (position 1)
promptfooconfig.yaml:34: the assertion contains is not imported: wanted.txt: cannot be read: No such file or directory
promptfooconfig.yaml:36: {{greeting}} has no value here, and is empty
promptfooconfig.yaml:39: rubricPrompt of a test has no counterpart
promptfooconfig.yaml:42: file://tests.py:generate is not imported: expected files that end in .yaml, .yml, .json, .csv, .jsonl
promptfooconfig.suite.yaml: 10 cases, 10 problems listed above
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
    model = {"provider": "openai", "name": "gpt-4o-mini", "temperature": 0, "options": {"top_p": 1}}
    assert role["spec"] == {"role": "", "model": model}
    assert role["metadata"] == {"name": "promptfooconfig"}

    written = yaml.safe_load((folder / "promptfooconfig.suite.yaml").read_text())
    assert written["metadata"] == {
        "name": "promptfooconfig",
        "description": "Answers of the shop",
    }
    assert (written["defaults"]["repeat"], written["defaults"]["judge"]) == (2, "gpt-judge")
    sonnet = "anthropic/claude-sonnet"
    assert written["matrix"] == {
        "models": [{"model": "gpt-4o-mini", "options": {"temperature": 0, "top_p": 1}}, sonnet]
    }
    suite = load_suite(folder / "promptfooconfig.suite.yaml")
    prompts = {case.name: case.prompt for case in suite.cases}
    assert prompts["opening hours [prompt 1]"] == "Answer in ${currency}: When are you open?"
    assert prompts["opening hours [short]"] == "When are you open? Be short."
    assert list(prompts.values()).count("Where? Be short.") == 1
    hours: Any = suite.cases[0].assertions
    types = "not_icontains skipped contains contains_any json judge max_latency max_cost similar python skipped skipped starts_with"  # noqa: E501
    assert [each.type for each in hours] == types.split()
    assert [getattr(each, "value", None) for each in hours][2] == "EUR"
    assert (hours[3].values, hours[3].case_insensitive) == (("open", "hours"), True)
    assert (hours[5].model, hours[5].weight, hours[6].value) == ("anthropic/claude-judge", 2, 1.5)
    assert (hours[8].threshold, suite.cases[2].min_score) == (0.75, 0.5)
    reasons = [each.reason for each in hours if each.type == "skipped"]
    assert reasons == [
        "the assertion moderation has no counterpart",
        "the assertion regex is not imported: pattern: '([' is not a valid regular expression: "
        "unterminated character set (position 1)",
        "the assertion contains is not imported: wanted.txt: cannot be read: "
        "No such file or directory",
    ]


PYTHON_HINT = "write its code as a function in a file beside the suite, function: checks.py:name"


@pytest.mark.parametrize(
    ("threshold", "types"), [("", ["contains"]), (", threshold: 0.5", ["skipped"])]
)
def test_only_a_set_of_assertions_without_a_threshold_is_taken_apart(
    threshold: str, types: list[str], folder: Path
) -> None:
    each = "{type: assert-set, assert: [{type: contains, value: a}]" + threshold + "}"
    code, _ = run(folder, f"prompts: [a]\ntests:\n  - assert: [{each}]\n")
    assert code == 0
    suite = load_suite(folder / "promptfooconfig.suite.yaml")
    assert [assertion.type for assertion in suite.cases[0].assertions] == types


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
        ("type: llm-rubric, value: kind", {"type": "judge", "criteria": "kind"}),
        ("type: model-graded-closedqa, value: kind", {"type": "judge", "criteria": "kind"}),
        ("type: g-eval, value: [kind, true]", {"type": "judge", "criteria": "kind\ntrue"}),
        (
            "type: llm-rubric, value: kind, threshold: 0.5, weight: 2, metric: tone",
            {"type": "judge", "criteria": "kind", "weight": 2, "metric": "tone", "threshold": 0.5},
        ),
        (
            "type: python, value: 'file://c.py', threshold: 0.5",
            {"type": "python", "function": "c.py:get_assert", "threshold": 0.5},
        ),
        ("type: similar, value: a", {"type": "similar", "value": "a", "threshold": 0.75}),
        (
            "type: similar, value: a, threshold: 1",
            {"type": "similar", "value": "a", "threshold": 1},
        ),
        ("type: levenshtein, value: a", {"type": "levenshtein", "value": "a"}),
        (
            "type: levenshtein, value: a, threshold: 0",
            {"type": "levenshtein", "value": "a", "max_distance": 0},
        ),
        ("type: equals, value: true", {"type": "equals", "value": "true"}),
        ("type: equals, value: 2.0", {"type": "equals", "value": "2"}),
        ("type: contains, value: 2.5", {"type": "contains", "value": "2.5"}),
        ("type: equals, value: {a: '{{q}}'}", {"type": "json", "value": {"a": "${q}"}}),
        ("type: not-equals, value: [1, 2]", {"type": "not_json", "value": [1, 2]}),
        (
            "type: contains, value: [1, 2]",
            "its value must be text",
        ),
        (
            "type: starts-with, value: {a: 1}",
            "its value must be text",
        ),
        (
            "type: contains-all, value: 'a, \"b, c\" ,d'",
            {"type": "contains_all", "values": ["a", "b, c", "d"]},
        ),
        (
            "type: contains-any, value: [1, false, x]",
            {"type": "contains_any", "values": ["1", "false", "x"]},
        ),
        (
            "type: contains-any, value: [[1]]",
            "values.0: should be text, not a list",
        ),
        (
            "type: contains-any, value: [{a: 1}]",
            "values.0: should be text, not a mapping",
        ),
        (
            'type: is-json, value: \'{"type": "object"}\'',
            {"type": "json", "schema": {"type": "object"}},
        ),
        (
            "type: not-contains-json, value: 'required: [a]'",
            {"type": "not_contains_json", "schema": {"required": ["a"]}},
        ),
        (
            "type: is-json, value: 'no: [schema'",
            "schema: should be a mapping (key: value), not 'no: [schema'",
        ),
        (
            "type: is-json, value: just text",
            "schema: should be a mapping (key: value), not 'just text'",
        ),
        (
            "type: not-levenshtein, value: a, threshold: 2.5",
            {"type": "not_levenshtein", "value": "a", "max_distance": 2},
        ),
        (
            "type: levenshtein, value: a, threshold: few",
            "its threshold must be a number",
        ),
        ("type: levenshtein", "'value' is missing"),
        ("type: rouge-n, value: a", {"type": "rouge_n", "value": "a"}),
        (
            "type: rouge-n, value: a, threshold: 0.5",
            {"type": "rouge_n", "value": "a", "threshold": 0.5},
        ),
        (
            "type: not-bleu, value: [a, '{{q}}'], threshold: 0.2",
            {"type": "not_bleu", "value": ["a", "${q}"], "threshold": 0.2},
        ),
        ("type: bleu, value: a", {"type": "bleu", "value": "a"}),
        ("type: latency, threshold: 500", {"type": "max_latency", "value": 0.5}),
        ("type: cost, threshold: 0.5", {"type": "max_cost", "value": 0.5}),
        ("type: javascript, value: output > 1", {"type": "javascript", "code": "output > 1"}),
        (
            "type: not-javascript, value: 'output.includes(`$\\{{{q}}}`)', threshold: 2, "
            "config: {a: 1}",
            {
                "type": "not_javascript",
                "code": "output.includes(`$\\{${q}}`)",
                "threshold": 2,
                "config": {"a": 1},
            },
        ),
        (
            "type: javascript, value: 'file://a/b.js:f'",
            {"type": "javascript", "function": "a/b.js:f"},
        ),
        (
            "type: javascript, value: file://../b.js",
            "function: '../b.js' is outside of the suite's folder",
        ),
        (
            "type: javascript",
            "needs either 'code' or 'function'",
        ),
        ("type: not-equals, value: a", {"type": "not_equals", "value": "a"}),
        (
            "type: contains-any, value: 5",
            "values: should be a list, not the number 5",
        ),
        ("type: contains-any", "'values' is missing"),
        (
            "type: contains, value: a, transform: 'a${b}'",
            {"type": "contains", "value": "a", "transform": "javascript: a$${b}"},
        ),
        (
            "type: python, value: 5",
            PYTHON_HINT,
        ),
        (
            "type: python, value: output",
            PYTHON_HINT,
        ),
        ("type: latency", "it has no threshold"),
        ("type: cost, threshold: few", "it has no threshold"),
    ],
)
def test_each_type_of_assertion_has_its_counterpart(
    folder: Path, theirs: str, ours: dict[str, Any] | str
) -> None:
    run(folder, f"prompts: ['{{{{q}}}}']\ntests: [{{vars: {{q: Hi}}, assert: [{{{theirs}}}]}}]")
    written = yaml.safe_load((folder / "promptfooconfig.suite.yaml").read_text())
    (case,) = written["cases"]
    if isinstance(ours, str):
        kind = theirs.split(",")[0].removeprefix("type: ")
        reason = f"the assertion {kind} is not imported: {ours}"
        ours = {"type": "skipped", "reason": reason}
    assert case["assertions"] == [ours]


@pytest.mark.parametrize("test", ["", "vars: {q: Hi}, "])
def test_a_reason_is_read_as_it_is_told(folder: Path, test: str) -> None:
    each = "{type: equals, value: a, transform: 'file://${q}.rb', metric: m}"
    _, output = run(folder, f"prompts: [Hi]\ntests: [{{{test}assert: [{each}]}}]")
    (case,) = load_suite(folder / "promptfooconfig.suite.yaml").cases
    (check,) = case.assertions
    assert check.type == "skipped"
    assert check.metric == "m"
    assert check.reason.startswith("the transform file://${q}.rb is not imported: ")
    assert check.reason in output


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("type: contains, value: file://a.txt", {"type": "contains", "value": "Bonn"}),
        (
            "type: is-json, value: file://a.json",
            {"type": "json", "schema": {"required": ["a"]}},
        ),
        ("type: contains-any, value: file://a.yaml", {"type": "contains_any", "values": ["a"]}),
        ("type: contains, value: file://a.js", "its value is in file://a.js"),
        ("type: contains, value: file://none.txt", "none.txt: cannot be read: No such file"),
        ("type: is-json, value: file://broken.json", "broken.json:2: is not valid YAML"),
    ],
)
def test_the_value_of_an_assertion_may_be_in_a_file(
    folder: Path, theirs: str, ours: dict[str, Any] | str
) -> None:
    files = {"a.txt": " Bonn\n", "a.json": '{"required": ["a"]}', "a.yaml": "[a]", "a.js": ""}
    for name, text in {**files, "broken.json": "["}.items():
        (folder / name).write_text(text)
    code, output = run(folder, f"prompts: [Hi]\ntests: [{{assert: [{{{theirs}}}]}}]\n")
    assert code == 0
    written = yaml.safe_load((folder / "promptfooconfig.suite.yaml").read_text())
    (found,) = written["cases"][0]["assertions"]
    if isinstance(ours, dict):
        assert found == ours
    else:
        assert found["type"] == "skipped"
        assert ours in found["reason"]
        assert ours in output


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


LABELLED = """\
prompts: [Hi]
providers:
  - {id: openai:gpt-5, label: low, config: {temperature: 0}}
  - {id: openai:gpt-5, label: low, config: {temperature: 1}}
  - {id: openai:gpt-4o, config: {temperature: 0}}
  - {id: openai:gpt-4o, config: {temperature: 1, max_tokens: 9}}
  - {id: openai:gpt-4o, label: " "}
  - {id: openai:gpt-4o}
  - openai:o3
"""


def test_models_have_the_names_of_their_labels_or_of_what_differs(folder: Path) -> None:
    assert run(folder, LABELLED)[0] == 0
    written = yaml.safe_load((folder / "promptfooconfig.suite.yaml").read_text())
    assert written["matrix"]["models"] == [
        {"model": "gpt-5", "name": "low", "options": {"temperature": 0}},
        {"model": "gpt-5", "name": "low (2)", "options": {"temperature": 1}},
        {"model": "gpt-4o", "name": "gpt-4o, temperature=0", "options": {"temperature": 0}},
        {
            "model": "gpt-4o",
            "name": "gpt-4o, temperature=1, max_tokens=9",
            "options": {"temperature": 1, "max_tokens": 9},
        },
        "gpt-4o",
        {"model": "gpt-4o", "name": "gpt-4o (2)"},
        "o3",
    ]


DOTTED = """\
prompts: ["Greet {{user.name}} of {{ user.home.town }}"]
tests:
  - vars: {user: [{name: Ann, home: {town: Bonn}}, {name: Bob, home: {town: Rom}}]}
    assert: [{type: contains, value: "{{user.name}}"}]
"""


def test_fields_of_mappings_are_variables_of_their_own(folder: Path) -> None:
    assert run(folder, DOTTED)[0] == 0
    text = (folder / "promptfooconfig.suite.yaml").read_text()
    assert "prompt: Greet ${user.name} of ${user.home.town}" in text
    cases = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert [case.prompt for case in cases] == ["Greet Ann of Bonn", "Greet Bob of Rom"]
    assert [case.assertions[0].value for case in cases] == ["Ann", "Bob"]


@pytest.mark.parametrize(
    ("option", "options", "said"),
    [
        ("seed: 7, max_tokens: 9", {"seed": 7, "max_tokens": 9}, ""),
        ("frequency_penalty: 1.5, presence_penalty: -1, reasoning_effort: low", None, ""),
        (
            "stop: [END], temperature: 0, top_k: 3",
            {"stop": "END", "temperature": 0, "top_k": 3},
            "",
        ),
        ("stop: END", {"stop": "END"}, ""),
        ("stop: [a, b]", {}, "stop of a provider has no counterpart\n"),
        ("seed: {a: 1}", {}, "seed of a provider has no counterpart\n"),
        ("response_format: {type: json_object}", {"json_object": True}, ""),
        (
            "response_format: {type: json_schema}",
            {},
            "response_format of a provider has no counterpart: ask for the form in the prompt",
        ),
        ("tools: [{type: function}]", {}, "tools of a provider has no counterpart: give the role"),
        ("apiBaseUrl: x", {}, "apiBaseUrl of a provider has no counterpart\n"),
    ],
)
def test_options_of_a_provider_are_those_of_llm_or_are_told(
    folder: Path, option: str, options: dict[str, Any] | None, said: str
) -> None:
    text = f"prompts: [Hi]\nproviders:\n  - id: openai:gpt-5\n    config: {{{option}}}\n"
    code, output = run(folder, text)
    assert code == 0
    assert output.startswith(f"promptfooconfig.yaml:4: {said}" if said else "promptfooconfig.suite")
    found = dict(load_role(folder / "promptfooconfig.role.yaml").agent.asks.options)
    assert found == (yaml.safe_load(f"{{{option}}}") if options is None else options)


def test_the_json_of_other_providers_is_told(folder: Path) -> None:
    config = "{response_format: {type: json_object}}"
    _, output = run(folder, f"prompts: [Hi]\nproviders: [{{id: 'mistral:m', config: {config}}}]")
    assert "response_format of a provider has no counterpart" in output


def test_options_of_a_judge_are_told(folder: Path) -> None:
    judge = "{id: openai:gpt-5, label: strict, config: {temperature: 0}}"
    text = f"""\
prompts: [Hi]
defaultTest:
  options: {{provider: {judge}}}
tests:
  - assert: [{{type: llm-rubric, value: Kind, provider: {judge}}}]
"""
    code, output = run(folder, text)
    assert code == 0
    lines = output.splitlines()[:2]
    assert lines == [
        "promptfooconfig.yaml:3: config of a judge has no counterpart",
        "promptfooconfig.yaml:5: config of a judge has no counterpart",
    ]
    (case,) = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert [check.model for check in case.assertions] == ["gpt-5"]


TEMPLATES = """\
prompts: ["{{a}}"]
defaultTest:
  assert: [{type: javascript, value: "(`${output}` === 'Hi')"}]
tests: [{vars: {a: Hi}, providerOutput: Hi}]
"""


def test_a_description_keeps_what_looks_like_a_variable(folder: Path) -> None:
    text = 'prompts: ["{{a}}"]\ntests: [{description: "costs ${a}", vars: {a: Hi}}]\n'
    assert run(folder, text)[0] == 0
    (case,) = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert case.name == "costs ${a}"


def test_template_literals_of_the_default_test_are_no_variables(folder: Path) -> None:
    assert run(folder, TEMPLATES)[0] == 0
    (case,) = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert case.assertions[0].code == "(`${output}` === 'Hi')"


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
        ("prompts: ['{{a.b}} {{a.c.d}}']\ntests: [{vars: {a: {b: 1, c: {d: x}}}}]", "1 x", "1 x"),
        ("prompts: ['{{a.b}}!']\ntests: [{vars: {a: [{b: 1}, {b: 2}]}}]", "1!", "1!"),
        ("prompts: ['{{a.b}}']\ntests: [{vars: {c: 7, a: {b: 'x{{c}}'}}}]", "x7", "x7"),
        ("prompts: ['{{a.b}}']\ntests: [{vars: {a: {b: [ü], c: 1}}}]", '["ü"]', '["ü"]'),
        (
            "prompts: ['{{a.b}}']\ntests: [{vars: {a: [{c: 1}, {b: 2}]}}]",
            "",
            "{{a.b}} has no value",
        ),
        ("prompts: ['{{a.b.c}}']\ntests: [{vars: {a: {b: 1}}}]", "", "{{a.b.c}} has no value here"),
        ("prompts: ['{{a.b}}']\ntests: [{vars: {a: 1}}]", "", "{{a.b}} has no value here"),
        ("prompts: ['{{a}}']\ntests: [{vars: {b: 1, a: 'x {{b}}'}}]", "x 1", "x 1"),
        ("prompts: ['{{a}}']\ntests: [{vars: {c: 1, b: '{{c}}', a: '{{b}}!'}}]", "1!", "1!"),
        ("prompts: ['{{a}}']\ntests: [{vars: {a: 'x{{b}}'}}]", "x", "{{b}} has no value here"),
        ("prompts: ['{{a}}']\ntests: [{vars: {b: [1, 2], a: 'x{{b}}'}}]", "x1", "x1"),
        (
            "prompts: ['{{a}}']\ntests: [{vars: {a: {b: ü, c: [2020-01-01]}}}]",
            '{"b": "ü", "c": ["2020-01-01"]}',
            '{"b": "ü", "c": ["2020-01-01"]}',
        ),
        (
            "prompts: ['{{a}}']\ntests: [{vars: {a: [[1]]}}]",
            "",
            "the variable 0 is not imported: it must be text",
        ),
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
            "Error: promptfooconfig.suite.yaml exists already: remove it, or choose another file "
            "with --output.\n"
        ),
    )
    assert run(folder, "prompts: [Hi]", "-o", "other.yaml") == (
        0,
        "other.yaml: 1 case\nRun them: llm-mock test other.role.yaml -s other.yaml\n",
    )


def test_a_suite_is_written_beside_its_configuration(folder: Path) -> None:
    (folder / "suites").mkdir()
    assert run(folder, "prompts: [Hi]", "-o", "suites/other.yaml") == (
        1,
        "Error: The suite must be in the folder of the configuration, because it may refer to "
        "files there. Change --output.\n",
    )
    assert not list((folder / "suites").iterdir())


DROPPED = """\
prompts: ["{{question}}"]
providers: [openai:gpt-4o-mini]
tests:
  - {vars: {question: Hi}, assert: [{type: ruby, value: "output.length < ${x}"}]}
"""


def test_a_test_of_which_each_assertion_was_dropped_does_not_pass(folder: Path) -> None:
    assert run(folder, DROPPED)[0] == 0
    command = ["test", "promptfooconfig.role.yaml", "-s", "promptfooconfig.suite.yaml"]
    for option in ("--dry-run", "--verbose"):
        ended = CliRunner().invoke(main, [*command, option])
        assert ended.exit_code == 1
        assert "NOT CHECKED" in ended.output
        assert "0/0 passed, 1 not checked, 1 of 1 check skipped" in ended.output
    assert "Skipped: the assertion ruby has no" in ended.output


@pytest.mark.parametrize(
    ("text", "exit_code"), [(DROPPED, 1), (DROPPED.replace("ruby", "contains"), 0)]
)
def test_strict_fails_if_something_has_no_counterpart(
    folder: Path, text: str, exit_code: int
) -> None:
    found, output = run(folder, text, "--strict")
    assert found == exit_code
    assert ("Error: --strict: the parts in the lines above" in output) == bool(exit_code)
    assert (folder / "promptfooconfig.suite.yaml").exists()


def convert_table(folder: Path, table: str) -> Any:
    (folder / "table.csv").write_text(table)
    text = 'prompts: ["{{question}}"]\nproviders: [openai:gpt-4o]\ntests: file://table.csv\n'
    code, output = run(folder, text)
    assert code == 0, output
    return load_suite(folder / "promptfooconfig.suite.yaml").cases, output


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("Bonn", {"type": "equals", "value": "Bonn"}),
        ("at 10:30", {"type": "equals", "value": "at 10:30"}),
        ("note: yes", {"type": "equals", "value": "note: yes"}),
        ("equals: Bonn", {"type": "equals", "value": "Bonn"}),
        ("contains:Bonn", {"type": "contains", "value": "Bonn"}),
        ("contains", {"type": "equals", "value": "contains"}),
        ("not-contains: Paris", {"type": "not_contains", "value": "Paris"}),
        ("icontains: bonn", {"type": "icontains", "value": "bonn"}),
        ("starts-with: In", {"type": "starts_with", "value": "In"}),
        ("regex: ^In (Bonn|Kiel)$", {"type": "regex", "pattern": "^In (Bonn|Kiel)$"}),
        ('"contains-any: Bonn, Kiel"', {"type": "contains_any", "values": ("Bonn", "Kiel")}),
        ("is-json", {"type": "json"}),
        ('"is-json: {""type"": ""array""}"', {"type": "json", "json_schema": {"type": "array"}}),
        ("llm-rubric: polite", {"type": "judge", "criteria": "polite"}),
        ("grade: polite", {"type": "judge", "criteria": "polite"}),
        ("similar(0.9): In Bonn", {"type": "similar", "value": "In Bonn", "threshold": 0.9}),
        ("latency(1500)", {"type": "max_latency", "value": 1.5}),
        ("file://checks.py:is_short", {"type": "python", "function": "checks.py:is_short"}),
        ("javascript: output.length", {"type": "javascript", "code": "output.length"}),
        ("fn: output.length", {"type": "javascript", "code": "output.length"}),
        ("eval: output.length", {"type": "javascript", "code": "output.length"}),
        ("file://check.js", {"type": "javascript", "function": "check.js"}),
        ("similar: In Bonn", {"type": "similar", "threshold": 0.8}),
        ("rouge-n(0.5): Bonn", {"type": "rouge_n", "value": "Bonn", "threshold": 0.5}),
        ("rouge-n: Bonn", {"type": "rouge_n", "threshold": 0.75}),
        ("levenshtein(3): Bonn", {"type": "levenshtein", "value": "Bonn", "max_distance": 3}),
        ("levenshtein: Bonn", {"type": "levenshtein", "max_distance": 0}),
        ("bleu: Bonn", {"type": "bleu", "value": "Bonn", "threshold": 0.5}),
        ("is-sql", {"type": "skipped"}),
    ],
)
def test_a_cell_of_expected_is_an_assertion(
    folder: Path, cell: str, expected: dict[str, Any]
) -> None:
    (case,), _ = convert_table(folder, f"question,__expected\nWhere?,{cell}\n")
    assert case.prompt == "Where?"
    (assertion,) = case.assertions
    assert {key: getattr(assertion, key) for key in expected} == expected


def test_an_assertion_without_counterpart_keeps_its_metric(folder: Path) -> None:
    rows = "Where?,is-sql,safety\nWho?,is-sql,\n"
    cases, _ = convert_table(folder, f"question,__expected,__metric\n{rows}")
    assertions = [assertion for case in cases for assertion in case.assertions]
    assert [(each.type, each.metric) for each in assertions] == [
        ("skipped", "safety"),
        ("skipped", None),
    ]


ALONE = """
is-json contains-json is-sql contains-sql is-xml contains-xml is-html contains-html is-refusal
is-valid-openai-tools-call is-valid-openai-function-call is-valid-function-call latency cost
moderation guardrails perplexity perplexity-score
"""
WITH_VALUE = """
contains icontains starts-with regex contains-any contains-all icontains-any icontains-all similar
llm-rubric model-graded-closedqa model-graded-factuality g-eval factuality answer-relevance
context-recall context-relevance context-faithfulness classifier select-best javascript python ruby
webhook levenshtein rouge-n bleu gleu meteor word-count finish-reason pi
"""


@pytest.mark.parametrize("cell", [*ALONE.split(), *(f"{kind}: x" for kind in WITH_VALUE.split())])
def test_a_cell_may_have_each_type_of_promptfoo(folder: Path, cell: str) -> None:
    (case,), _ = convert_table(folder, f"question,__expected\nWhere?,{cell}\n")
    (assertion,) = case.assertions
    assert assertion.type != "equals"


def test_the_other_columns_of_a_table_are_read_or_named(folder: Path) -> None:
    header = "question,__expected1,__expected2,__description,__metric,__threshold,__providerOutput"
    more = "__metadata:topic,__metadata:who[],__of_our_own"
    row = 'Where?,contains: Bonn,contains: In,The place,facts,0.5,In Bonn,city,"me, you",Say'
    (first, second), output = convert_table(folder, f"{header},{more}\n{row}\nWho?,,,,,,,,,\n")
    assert (first.name, first.min_score, first.expected_output) == ("The place", 0.5, "In Bonn")
    assert [(each.value, each.metric) for each in first.assertions] == [
        ("Bonn", "facts"),
        ("In", "facts"),
    ]
    assert first.tags == ("topic=city", "who=me", "who=you")
    assert (second.prompt, second.assertions) == ("Who?", ())
    assert "the column __of_our_own has no counterpart" in output
    assert output.count("no counterpart") == 1


def test_prefixes_suffixes_and_thresholds_are_columns(folder: Path) -> None:
    header = "question,__expected1,__expected2,__prefix,__suffix,__config:__expected2:threshold"
    more = (
        "__config:__expected1:weight,__config:__expected:threshold,__config:__expected9:threshold"
    )
    table = (
        f"{header},{more}\n"
        "Where?,rouge-n: a,similar: b,Please: , Thanks {{question}},0.3,1,0.6,0.1\n"
        "Who?,rouge-n: a,similar: b,,,,,,few\n"
    )
    (first, second), output = convert_table(folder, table)
    assert (first.prompt, second.prompt) == ("Please: Where? Thanks Where?", "Who?")
    assert [each.threshold for each in first.assertions] == [0.6, 0.3]
    assert [each.threshold for each in second.assertions] == [0.75, 0.8]
    assert "the column __config:__expected1:weight has no counterpart" in output


def test_a_threshold_of_a_column_must_be_a_number(folder: Path) -> None:
    header = "question,__expected,__config:__expected:threshold"
    (case,), output = convert_table(folder, f"{header}\nWhere?,rouge-n: a,few\n")
    assert [each.type for each in case.assertions] == ["skipped"]
    assert "threshold: should be a number, not 'few'" in output


OPTIONS = """\
prompts: ["{{question}}"]
defaultTest: {options: {prefix: "Please: ", suffix: "!", transform: output.trim()}}
tests:
  - vars: {question: Where?}
    options: {suffix: " {{question}}", transform: "JSON.parse(output).a[0].b;"}
  - {vars: {question: Who?}, options: {prefix: ""}}
"""


def test_options_of_a_test_override_those_of_the_default_test(folder: Path) -> None:
    code, output = run(folder, OPTIONS, "--strict")
    assert code == 0, output
    written = yaml.safe_load((folder / "promptfooconfig.suite.yaml").read_text())
    assert written["defaults"] == {"transform": "javascript: output.trim()"}
    first, second = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert (first.prompt, first.transform) == ("Please: Where? Where?", "$.a[0].b")
    assert (second.prompt, second.transform) == ("Who?!", "javascript: output.trim()")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("output.trim()", "javascript: output.trim()"),
        ("JSON.parse(output).a + 1", "javascript: JSON.parse(output).a + 1"),
        ("JSON.parse(output).a", "$.a"),
        ("file://clean.js", "clean.js:default"),
        ("file://clean.mjs:shout", "clean.mjs:shout"),
        ("file://clean.py", "clean.py:get_transform"),
        ("file://clean.py:shout", "clean.py:shout"),
        ("file://../clean.js", None),
        ("file://clean.rb", None),
        ("{a: 1}", None),
        ("''", None),
    ],
)
def test_a_transform_is_imported_or_told(folder: Path, theirs: str, ours: str | None) -> None:
    options = f"options: {{transform: {theirs}}}"
    own = f"assert: [{{type: not-contains, value: x, transform: {theirs}}}]"
    text = f"prompts: [Hi]\ntests:\n  - {{{options}}}\n  - {{{own}}}\n"
    _, output = run(folder, text)
    first, second = load_suite(folder / "promptfooconfig.suite.yaml").cases
    (assertion,) = second.assertions
    if ours is None:
        assert (first.transform, assertion.type) == (None, "skipped")
        assert output.count(" is not imported: ") == 2
    else:
        assert (first.transform, assertion.transform) == (ours, ours)


def test_a_transform_of_an_assertion_keeps_its_template_literals(folder: Path) -> None:
    text = (
        "prompts: ['{{q}}']\ntests:\n  - vars: {q: Hi}\n"
        "    options: {transform: '`${output}`'}\n"
        "    assert: [{type: equals, value: a, transform: '`${q}`'}]\n"
    )
    assert run(folder, text)[0] == 0
    (case,) = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert case.transform == "javascript: `${output}`"
    assert case.assertions[0].transform == "javascript: `${q}`"


def test_a_table_of_variables_alone_stays_a_file_of_rows(folder: Path) -> None:
    cases, _ = convert_table(folder, "question,place\nWhere?,Bonn\nWho?,We\n")
    written = yaml.safe_load((folder / "promptfooconfig.suite.yaml").read_text())
    (case,) = written["cases"]
    assert (case["name"], case["rows_file"]) == ("table", "table.csv")
    assert len(cases) == 2


def test_each_line_of_a_jsonl_file_is_a_test(folder: Path) -> None:
    (folder / "tests.jsonl").write_text(
        '{"vars": {"question": "Where?"}, "assert": [{"type": "contains", "value": "Bonn"}]}\n'
        '{"vars": {"question": "Who?"}, "metadata": {"topic": "people"}}\n'
    )
    text = 'prompts: ["{{question}}"]\nproviders: [openai:gpt-4o]\ntests: file://tests.jsonl\n'
    code, output = run(folder, text, "--strict")
    assert code == 0, output
    first, second = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert (first.prompt, first.assertions[0].type) == ("Where?", "contains")
    assert (second.prompt, second.tags) == ("Who?", ("topic=people",))


ENDPOINT = """\
prompts: ["{{question}}"]
providers:
  - id: PROVIDER
    config:
      URLmethod: POST
      headers: {Authorization: "Bearer {{env.TOKEN}}"}
      body: {messages: [{role: user, content: "{{prompt}}"}]}
      transformResponse: json.choices[0].message.content
tests:
  - {vars: {question: Hi}, assert: [{type: contains, value: Hello}, {type: cost, threshold: 1}]}
"""


@pytest.mark.parametrize(
    ("provider", "url"),
    [
        ("https://api.shop.test/v1", ""),
        ("https", "url: https://api.shop.test/v1\n      "),
        ("http", "url: https://api.shop.test/v1\n      "),
    ],
)
def test_an_http_provider_becomes_the_target(folder: Path, provider: str, url: str) -> None:
    text = ENDPOINT.replace("PROVIDER", provider).replace("URL", url)
    code, output = run(folder, text)
    assert code == 0, output
    suite = load_suite(folder / "promptfooconfig.suite.yaml")
    assert suite.target is not None
    assert suite.target.url == "https://api.shop.test/v1"
    assert suite.target.headers == {"Authorization": "Bearer ${TOKEN}"}
    assert suite.target.body == {"messages": [{"role": "user", "content": "{prompt}"}]}
    assert suite.target.output == "choices[0].message.content"
    assert [each.type for each in suite.cases[0].assertions] == ["contains", "skipped"]
    assert not (folder / "promptfooconfig.role.yaml").exists()
    assert "Run them: llm-mock test -s promptfooconfig.suite.yaml" in output


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("method: POST", "method: GET", "the method GET is not imported"),
        ("json.choices[0].message.content", "json.a + 1", "transformResponse is not imported"),
        (
            '{messages: [{role: user, content: "{{prompt}}"}]}',
            "q={{prompt}}",
            "body is not imported",
        ),
        ('content: "{{prompt}}"', 'content: "{{question}}"', "only {{prompt}} has a counterpart"),
        (
            "method: POST",
            "queryParams: {a: b}",
            "queryParams of an HTTP provider has no counterpart",
        ),
    ],
)
def test_what_a_target_cannot_do_is_told(folder: Path, old: str, new: str, problem: str) -> None:
    text = ENDPOINT.replace("PROVIDER", "https://api.shop.test/v1").replace("URL", "")
    assert old in text
    code, output = run(folder, text.replace(old, new))
    assert code == 0, output
    assert problem in output


def test_several_http_providers_stand_side_by_side(folder: Path) -> None:
    providers = "providers: [https://a.test/x, https://b.test/x]"
    text = f'prompts: ["Hi"]\n{providers}\ntests: [{{assert: [{{type: contains, value: a}}]}}]\n'
    code, output = run(folder, text, "--strict")
    assert code == 0, output
    written = yaml.safe_load((folder / "promptfooconfig.suite.yaml").read_text())
    assert written["matrix"]["targets"] == [
        {"name": "1 a.test", "url": "https://a.test/x"},
        {"name": "2 b.test", "url": "https://b.test/x"},
    ]


CHAT = """\
[
  {"role": "system", "content": "Speak {{language}}."},
  {"role": "user", "content": "Hello, I am {{ user.name }}"},
  {"role": "assistant", "content": "Hi ${x}"},
  {"role": "user", "content": {{ question | dump }}}
]
"""
CHAT_TESTS = """\
tests:
  - vars: {language: Polish, question: 'Is it "open"?', user: {name: Ada}}
"""


@pytest.mark.parametrize("name", ["chat.json", "chat.yaml", ""])
def test_a_chat_becomes_a_system_prompt_a_history_and_a_prompt(folder: Path, name: str) -> None:
    if name:
        (folder / name).write_text(CHAT)
        prompts = f"prompts: file://{name}\n"
    else:
        prompts = yaml.safe_dump({"prompts": [CHAT]})
    code, output = run(folder, prompts + CHAT_TESTS, "--strict")
    assert code == 0, output
    role = yaml.safe_load((folder / "promptfooconfig.role.yaml").read_text())
    assert role["spec"] == {"role": ""}
    written = yaml.safe_load((folder / "promptfooconfig.suite.yaml").read_text())
    assert list(written["cases"][0])[:4] == ["name", "prompt", "variables", "system"]
    (case,) = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert case.system == "Speak Polish."
    assert [(each.role, each.content) for each in case.history] == [
        ("user", "Hello, I am Ada"),
        ("assistant", "Hi ${x}"),
    ]
    assert case.prompt == 'Is it "open"?'


def test_a_system_message_of_all_prompts_is_that_of_the_role(folder: Path) -> None:
    for number in (1, 2):
        messages = [
            {"role": "developer", "content": "Be kind"},
            {"role": "user", "content": f"{{{{q}}}} {number}"},
        ]
        (folder / f"{number}.json").write_text(json.dumps(messages))
    tests = "tests: [{vars: {q: Hi}}]\n"
    assert run(folder, f"prompts: [file://1.json, file://2.json]\n{tests}", "--strict")[0] == 0
    role = yaml.safe_load((folder / "promptfooconfig.role.yaml").read_text())
    assert role["spec"]["role"] == "Be kind"
    cases = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert [(each.prompt, each.system) for each in cases] == [("Hi 1", None), ("Hi 2", None)]


def test_different_system_messages_are_those_of_cases(folder: Path) -> None:
    (folder / "kind.json").write_text(
        '[{"role": "system", "content": "Be kind"}, {"role": "user", "content": "Hi"}]'
    )
    code, output = run(folder, "prompts: [file://kind.json, Hello]\ntests: [{}]\n", "--strict")
    assert code == 0, output
    role = yaml.safe_load((folder / "promptfooconfig.role.yaml").read_text())
    assert role["spec"]["role"] == ""
    cases = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert [(each.prompt, each.system) for each in cases] == [("Hi", "Be kind"), ("Hello", None)]


UNSUPPORTED_CHAT = (
    "promptfooconfig.yaml:1: this chat is not imported: the messages must be texts: optionally one "
    "system message, then user and assistant messages in turn, with a user message at the end"
)


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ("[]", UNSUPPORTED_CHAT),
        ('[{"role": "system", "content": "a"}]', UNSUPPORTED_CHAT),
        ('[{"role": "user", "content": [{"type": "text"}]}]', UNSUPPORTED_CHAT),
        (
            '[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]',
            UNSUPPORTED_CHAT,
        ),
        (
            '[{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]',
            UNSUPPORTED_CHAT,
        ),
        ('{"role": "user"}', UNSUPPORTED_CHAT),
        ('["a"]', UNSUPPORTED_CHAT),
        ("[{% for", "chat.json:1: "),
        (None, "promptfooconfig.yaml:1: file://chat.json is not imported"),
        (b"\xff\xfe\x00", "promptfooconfig.yaml:1: "),
    ],
)
def test_a_chat_that_a_suite_cannot_have_is_told(
    folder: Path, messages: str | bytes | None, problem: str
) -> None:
    if isinstance(messages, str):
        messages = messages.encode()
    if messages is not None:
        (folder / "chat.json").write_bytes(messages)
    code, output = run(folder, "prompts: [file://chat.json, Hi]\n")
    assert code == 0
    assert problem in output
    assert len(load_suite(folder / "promptfooconfig.suite.yaml").cases) == 1


def test_of_a_chat_a_target_gets_the_last_message(folder: Path) -> None:
    (folder / "chat.json").write_text(CHAT)
    providers = "providers: [https://a.test/x]\n"
    code, output = run(folder, f"prompts: file://chat.json\n{providers}{CHAT_TESTS}")
    assert code == 0, output
    problem = "of this chat only the last message is imported: a target is sent no other"
    assert f"promptfooconfig.yaml:1: {problem}\n" in output
    (case,) = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert (case.prompt, case.system, case.history) == ('Is it "open"?', None, ())
    (folder / "promptfooconfig.suite.yaml").unlink()
    (folder / "chat.json").write_text('[{"role": "user", "content": "Hi"}]')
    code, output = run(folder, f"prompts: file://chat.json\n{providers}")
    assert problem not in output


@pytest.mark.parametrize(
    ("prompts", "functions"),
    [
        ("file://p/prompt.js", {"c": "p/prompt.js"}),
        ("p/prompt.js", {"c": "p/prompt.js"}),
        ("file://p/prompt.js:chat", {"c": "p/prompt.js:chat"}),
        ("[{id: file://p/prompt.js, label: kind}, 'Hi.py or not']", {"c [kind]": "p/prompt.js"}),
        (
            "[file://p/prompt.js, file://p/prompt.js:chat, file://p.py:chat]",
            {
                "c [prompt]": "p/prompt.js",
                "c [prompt:chat]": "p/prompt.js:chat",
                "c [p:chat]": "p.py:chat",
            },
        ),
    ],
)
def test_prompt_functions_are_called_by_the_suite(
    folder: Path, prompts: str, functions: dict[str, str]
) -> None:
    (folder / "p").mkdir()
    (folder / "p" / "prompt.js").touch()
    (folder / "p.py").touch()
    tests = "tests: [{description: c, vars: {a: 1}}]\n"
    code, output = run(folder, f"prompts: {prompts}\n{tests}", "--strict")
    assert code == 0, output
    cases = load_suite(folder / "promptfooconfig.suite.yaml").cases
    found = {case.name: case.prompt_function for case in cases if case.prompt is None}
    assert found == functions
    assert [case.values for case in cases] == [{"a": 1}] * len(cases)


@pytest.mark.parametrize(
    ("prompt", "problem"),
    [
        ("file://none.mjs", "file://none.mjs is not imported: there is no such file"),
        (
            "file://checks.py",
            "file://checks.py is not imported: should be file.py:function or "
            "package.module:function",
        ),
        (
            "../p.cjs",
            "../p.cjs is not imported: '../p.cjs' is outside of the suite's folder",
        ),
        (
            "file://p.ts:a-b",
            "file://p.ts:a-b is not imported: should be file.js or file.js:function",
        ),
    ],
)
def test_a_prompt_function_that_cannot_be_called_is_told(
    folder: Path, prompt: str, problem: str
) -> None:
    code, output = run(folder, f"prompts: [Hi, '{prompt}']\n")
    assert code == 0, output
    assert f"promptfooconfig.yaml:1: {problem}\n" in output


def test_a_prompt_function_gets_mappings_as_text(folder: Path) -> None:
    tests = "tests: [{vars: {one: {a: 1}, two: x, more: [{b: 2}, y]}}]\n"
    _, output = run(folder, f"prompts: file://checks.py:is_short\n{tests}")
    reported = [line for line in output.splitlines() if "the prompt function" in line]
    assert reported == [
        "promptfooconfig.yaml:1: the prompt function gets the mapping more as the text of its JSON",
        "promptfooconfig.yaml:1: the prompt function gets the mapping one as the text of its JSON",
    ]
    _, output = run(folder, f"prompts: ['{{{{one}}}}']\n{tests}", name="other.yaml")
    assert "the prompt function" not in output


def test_a_mapping_of_prompts_has_their_labels(folder: Path) -> None:
    prompts = "prompts:\n  prompts/short.txt: brief\n  'Hi {{question}}': long\n  none.txt: no\n"
    code, output = run(folder, f"{prompts}tests: [{{vars: {{question: a}}}}]\n")
    assert code == 0
    assert output.startswith("promptfooconfig.yaml:4: none.txt is not imported: ")
    cases = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert {each.name: each.prompt for each in cases} == {
        "test 1 [brief]": "a Be short.",
        "test 1 [long]": "Hi a",
    }


@pytest.mark.parametrize("entry", ["id: prompts/short.txt", "raw: '{{question}} Be short.'"])
def test_a_single_prompt_may_be_a_mapping(folder: Path, entry: str) -> None:
    tests = "tests: [{vars: {question: a}}]\n"
    assert run(folder, f"prompts: {{{entry}, label: brief}}\n{tests}", "--strict")[0] == 0
    (case,) = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert case.prompt == "a Be short."


def import_lines(folder: Path, text: str) -> list[str]:
    """Import a configuration, and return the lines about what has no counterpart."""
    code, output = run(folder, text)
    assert code == 0, output
    lines = output.splitlines()
    assert lines[-1].startswith("Run them: ")
    start = "promptfooconfig.yaml:"
    return [line.removeprefix(start) for line in lines[:-2]]


SCENARIO = """\
prompts: ["{{a}}{{b}}"]
defaultTest: {vars: {a: 1, b: 1}}
scenarios:
  - description: a scenario
    config: [{description: theirs, vars: {a: 2, b: 2}, metadata: {of: config}}, 5]
    tests: [{vars: {b: 3}, metadata: {of: test}}, {description: own}]
    extra: 1
"""


def test_the_tests_of_a_scenario_run_with_each_part_of_its_configuration(folder: Path) -> None:
    assert import_lines(folder, SCENARIO) == [
        "5: this part of a scenario is not imported: it must be a mapping",
        "7: extra of a scenario has no counterpart",
    ]
    first, second = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert (first.name, first.prompt, first.tags) == ("theirs", "23", ("of=config", "of=test"))
    assert (second.name, second.prompt) == ("own", "22")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("targets: [openai:gpt-4o]", []),
        ("tests: [{providerOutput: Hi, threshold: 1}]", []),
        ("scenarios: [{config: [{}], tests: [{}]}]", []),
        (
            "providers: [openai:gpt-4o, https://a.test/x]",
            ["2: HTTP endpoints beside models are not imported: write them into another suite"],
        ),
        (
            "providers: [{id: https, config: {url: a.test}}]",
            ["2: the HTTP provider is not imported: it has no url"],
        ),
        (
            "providers: [{id: https, config: {}}]",
            ["2: the HTTP provider is not imported: it has no url"],
        ),
        ("defaultTest: {threshold: 0.5, metadata: {a: 1}}", []),
        ("defaultTest: {extra: 1}", ["2: extra of the default test has no counterpart"]),
        (
            "defaultTest: {options: {provider: 'exec:a', extra: 1, prefix: a, suffix: b}}",
            [
                "2: extra of the default test has no counterpart",
                "2: provider of the default test has no counterpart",
            ],
        ),
        ("defaultTest: {options: {provider: 'openai:a', transform: output}}", []),
        ("defaultTest: 'file://default.yaml'", ["default.yaml:1: key of the default test"]),
        ("evaluateOptions: {repeat: 1}", []),
        ("evaluateOptions: {repeat: 10000}", []),
        *[
            (
                f"evaluateOptions: {{repeat: {number}}}",
                ["2: repeat is not imported: it must be a whole number from 1 to 10,000"],
            )
            for number in (0, 10001, 2.5)
        ],
        *[
            (
                f"{owner}{{threshold: {number}}}{end}",
                ["2: the threshold is not imported: a score must be above 0 and at most 1"],
            )
            for owner, end in [("tests: [", "]"), ("defaultTest: ", "")]
            for number in (0, 1.1, -1, "few")
        ],
        (
            "tests: [{metadata: {a: [1, x, true, 0.5], b: {c: 1}}}]",
            ["2: the metadata b are not imported: they must be texts"],
        ),
        ("tests: [{}, 5]", ["2: this test is not imported: it must be a mapping"]),
        (
            "tests: [{}, file://broken.csv]",
            ["2: broken.csv:2: expected 1 values, one for each column, "],
        ),
        (
            "tests: [{}, file:///none.yaml]",
            [
                "2: file:///none.yaml is not imported: expected files that end in .yaml, .yml, "
                ".json, .csv, .jsonl"
            ],
        ),
        ("tests: [{vars: {'a b': 1}}]", ["2: invalid name of a variable: a b"]),
        ("tests: [{vars: {a: file://short.md}}]", []),
        (
            "tests: [{vars: {a: file://none.txt}}]",
            ["2: file://none.txt is not imported: expected files that end in .txt, .md"],
        ),
        (
            "tests: [{assert: [{type: assert-set, extra: 1, assert: [{type: is-json}]}]}]",
            ["2: extra of assert-set has no counterpart"],
        ),
        (
            "tests: [{assert: [{type: assert-set, threshold: 1, assert: []}]}]",
            [
                "2: the assertion assert-set has no counterpart: a set with a threshold needs "
                "scores; write its assertions one by one"
            ],
        ),
        (
            "tests: [{assert: [{type: is-json, extra: 1}]}]",
            ["2: extra of is-json has no counterpart"],
        ),
        (
            "providers: [{id: https://a.test/x, config: {method: POST, headers: {a: b}, "
            "body: {a: 1}, transformResponse: json.a}}]",
            [],
        ),
        ("providers: [openai:a, 5]", ["2: the provider 5 is an application: "]),
        ("providers: [{'openai:a': {config: {temperature: 0}}}]", []),
        ("tests: [{extra: 1}]", ["2: extra of a test has no counterpart"]),
        ("tests: [{}, file://wrong.yaml]", ["2: wrong.yaml:2: is not valid YAML"]),
        (
            "tests: [{providerOutput: 'a {% if a %} b {% endif %}'}]",
            ["2: {% if a %} is left unchanged: only {{name}} has a counterpart"],
        ),
        (
            "tests: [{vars: {b: 1}, assert: [{type: equals, value: '{{a}}'}]}]",
            ["2: {{a}} has no value here, and is empty"],
        ),
        ("tests: [{assert: [{type: similar, value: a, threshold: 1}]}]", []),
        ("tests: [{assert: [{type: levenshtein, value: a, threshold: 1}]}]", []),
        ("tests: [{assert: [{type: equals, value: a, transform: output}]}]", []),
        ("tests: [{assert: [{type: g-eval, value: a, provider: 'openai:a'}]}]", []),
        (
            "tests: [{assert: [{type: latency, threshold: 1, transform: output}]}]",
            ["2: transform of latency has no counterpart"],
        ),
        (
            "tests:\n- assert:\n  - type: equals\n    value: '{{a | b}}'",
            ["5: {{a | b}} is left unchanged: only {{name}} has a counterpart"],
        ),
    ],
)
def test_only_keys_and_values_without_a_counterpart_are_told(
    folder: Path, text: str, lines: list[str]
) -> None:
    (folder / "default.yaml").write_text("key: 1\n")
    (folder / "short.md").write_text("Short\n")
    (folder / "broken.csv").write_text("a\n1,2\n")
    (folder / "wrong.yaml").write_text("[")
    found = import_lines(folder, f"prompts: [Hi]\n{text}\n")
    assert [line[: len(start)] for line, start in zip(found, lines, strict=True)] == lines


def test_the_default_test_may_be_in_a_file(folder: Path) -> None:
    (folder / "default.yaml").write_text(
        "vars: {a: 1, b: file://value.txt}\nmetadata: {topic: shop}\nthreshold: 0.5\n"
        "assert: [{type: cost, threshold: 1}]\n"
    )
    (folder / "value.txt").write_text(" two\n")
    text = "prompts: ['{{a}} {{b}} {{c}}']\ndefaultTest: file://default.yaml\n"
    tests = "tests: [{vars: {a: 3, c: []}, providerOutput: '{{a}}!'}]\n"
    assert import_lines(folder, text + tests) == []
    (case,) = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert (case.prompt, case.expected_output) == ("3 two ", "3!")
    assert (case.tags, case.min_score) == (("topic=shop",), 0.5)
    assert [each.type for each in case.assertions] == ["max_cost"]


def test_the_cost_of_a_target_is_not_checked_and_that_is_told(folder: Path) -> None:
    cost = "assert: [{type: latency, threshold: 1}, {type: cost, threshold: 1}]"
    text = f"targets: [https://a.test/x]\nprompts: [Hi]\ndefaultTest: {{{cost}}}\n"
    assert import_lines(folder, f"{text}tests: [{{{cost}}}]\n") == [
        "1: max_cost needs a role: the calls of a target are not known"
    ]
    (case,) = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert [each.type for each in case.assertions] == ["max_latency", "skipped"] * 2


def test_tests_with_the_same_description_are_numbered(folder: Path) -> None:
    text = "prompts: [Hi]\ntests: [{description: a}, {}, {description: a}, {description: a}]\n"
    assert import_lines(folder, text) == []
    cases = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert [case.name for case in cases] == ["a", "test 2", "a (2)", "a (3)"]


def test_a_prompt_that_is_no_text_is_told(folder: Path) -> None:
    problem = "1: this prompt is not imported: it must be text"
    assert import_lines(folder, "prompts: [Hi, 5]\n") == [problem]


@pytest.mark.parametrize(
    "prompts",
    [
        ["Hi"],
        [[{"role": "user", "content": "Hi"}]],
        [[{"role": "system", "content": each}, {"role": "user", "content": "Hi"}] for each in "ab"],
        [[{"role": "system", "content": "{{a}}"}, {"role": "user", "content": "Hi"}]],
    ],
)
def test_a_role_has_only_a_system_message_that_all_prompts_share(
    folder: Path, prompts: list[Any]
) -> None:
    texts = [each if isinstance(each, str) else json.dumps(each) for each in prompts]
    tests = [{"vars": {"a": 1}}]
    assert import_lines(folder, yaml.safe_dump({"prompts": texts, "tests": tests})) == []
    role = yaml.safe_load((folder / "promptfooconfig.role.yaml").read_text())
    assert role["spec"]["role"] == ""


def test_endpoints_beside_models_are_left_out(folder: Path) -> None:
    run(folder, "prompts: [Hi]\nproviders: [openai:gpt-4o, https://a.test/x]\n")
    assert load_suite(folder / "promptfooconfig.suite.yaml").target is None
    assert (folder / "promptfooconfig.role.yaml").exists()


def test_scenarios_alone_are_a_configuration(folder: Path) -> None:
    text = "scenarios: [{config: [{vars: {prompt: Hi}}], tests: [{}]}]\n"
    assert import_lines(folder, text) == []


@pytest.mark.parametrize(
    ("prompts", "tests", "code"),
    [
        (["a", "b"], [{}, {}], 0),
        (["a", "b"], [{}, {}, {}], 1),
        (["a"], [{"vars": {"a": [1, 2], "b": [1, 2]}}], 0),
        (["a"], [{"vars": {"a": [1, 2, 3], "b": [1, 2]}}], 1),
    ],
)
def test_only_more_cases_than_the_limit_are_refused(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    prompts: list[str],
    tests: list[Any],
    code: int,
) -> None:
    monkeypatch.setattr("llm_mock.suites.promptfoo.configuration._MAX_CASES", 4)
    assert run(folder, yaml.safe_dump({"prompts": prompts, "tests": tests}))[0] == code


def test_many_prompts_with_many_tests_are_refused(folder: Path) -> None:
    text = yaml.safe_dump({"prompts": ["a"] * 101, "tests": [{}] * 100})
    code, output = run(folder, text)
    problem = "this makes more than 10,000 cases: name the rows in a file, rows_file"
    assert (code, problem in output) == (1, True)


PROVIDERS = """
anthropic azure bedrock cerebras cohere deepseek fireworks google groq huggingface mistral ollama
openrouter perplexity togetherai vertex xai
"""
KINDS = "chat responses messages completion completions embedding embeddings"


@pytest.mark.parametrize(
    "provider_id",
    [
        *(f"{provider}:m:1" for provider in PROVIDERS.split()),
        *(f"openai:{kind}:m:1" for kind in KINDS.split()),
    ],
)
def test_each_model_provider_and_kind_of_api_is_known(folder: Path, provider_id: str) -> None:
    assert import_lines(folder, f"prompts: [Hi]\nproviders: ['{provider_id}']\n") == []
    role = yaml.safe_load((folder / "promptfooconfig.role.yaml").read_text())
    provider = provider_id.partition(":")[0]
    assert role["spec"]["model"] == {"provider": provider, "name": "m:1"}


@pytest.mark.parametrize("suffix", [".txt", ".md", ".j2", ".TXT"])
def test_a_file_of_text_has_prompts_between_lines_of_dashes(folder: Path, suffix: str) -> None:
    (folder / f"p{suffix}").write_bytes(b"\r\nOne\r\n---\r\nTwo\r\n")
    assert import_lines(folder, f"prompts: file://p{suffix}\n") == []
    cases = load_suite(folder / "promptfooconfig.suite.yaml").cases
    assert {case.name: case.prompt for case in cases} == {
        "test 1 [p 1]": "One",
        "test 1 [p 2]": "Two",
    }


def test_the_body_of_a_target_may_be_json_in_a_text(folder: Path) -> None:
    config = """{url: "https://a.test/x", body: '{"q": "{{-prompt -}}"}'}"""
    providers = f"providers: [{{id: http, config: {config}}}]"
    assert import_lines(folder, f"prompts: [Hi]\n{providers}\n") == []
    target = load_suite(folder / "promptfooconfig.suite.yaml").target
    assert target is not None
    assert (target.url, target.body) == ("https://a.test/x", {"q": "{prompt}"})
