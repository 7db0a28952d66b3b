"""Suites that run with several models, system prompts, roles or targets."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from llm_mock import LLMMock, Reply
from llm_mock.agents import Agent
from llm_mock.errors import InvalidFile
from llm_mock.suites import Role, Variant, load_role, load_suite, run_suite, variants_of
from llm_mock.suites.matrix import Matrix, MatrixModel
from tests.report.browser import Open
from tests.report.browser import open_page as open_page
from tests.suites.cases import case, suite
from tests.suites.conftest import ROLE, SUITE, Project
from tests.suites.test_broken_files import problems

MATRIX = """\
matrix:
  models: [gpt-4o, {model: gpt-4o-mini, name: hot, options: {temperature: 1}}]
  system_prompts:
    - {name: short, text: Be short.}
    - {name: long, file: prompts/long.txt}
"""
NAMES = ["gpt-4o, short", "gpt-4o, long", "hot, short", "hot, long"]
CASES = """\
cases:
  - name: says-hello
    prompt: "Hi there!"
    expected_output: "Hello!"
    assertions: [{type: contains, value: Hello}]
  - name: has-number
    prompt: "How many?"
    expected_output: "None"
    assertions: [{type: regex, pattern: '\\d+'}]
"""
START = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: greeting-tests}\n"


@pytest.fixture
def matrix(project: Project) -> Project:
    """Return a project whose suite has a matrix of two models and two system prompts."""
    project.write("prompts/long.txt", "Be long.\n")
    project.write("tests.yaml", START + MATRIX + CASES)
    return project


def rows_of(output: str) -> list[list[str]]:
    """Return the cells of the last table of an output."""
    table = output[output.rindex("┏") : output.rindex("┘")]
    return [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in table.splitlines()
        if line.startswith("│")
    ]


# What is asked


def test_every_model_is_asked_with_every_system_prompt(
    matrix: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", "Hello 1")
    assert matrix.test("-j", "2").exit_code == 0
    asked = {
        (call["model_id"], call["kwargs"].get("system"), call["options"].get("temperature"))
        for call in mock_llm_responses.calls
    }
    assert asked == {
        ("gpt-4o", "Be short.", None),
        ("gpt-4o", "Be long.", None),
        ("gpt-4o-mini", "Be short.", 1.0),
        ("gpt-4o-mini", "Be long.", 1.0),
    }
    assert len(mock_llm_responses.calls) == 8


def test_models_of_the_command_line_stand_side_by_side_in_place_of_those_of_the_matrix(
    matrix: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o", "Hello 1")
    mock_llm_responses.set("gpt-4.1", "Bye 1")
    matrix.write("plain.yaml", SUITE)
    ended = matrix.test(
        "-k", "hello", "--model", "gpt-4o", "--model", "gpt-4.1", suite="plain.yaml"
    )
    assert rows_of(ended.stdout)[0] == ["says-hello", "PASS", "FAIL"]
    assert {call["kwargs"].get("system") for call in mock_llm_responses.calls} == {"You are kind."}
    matrix.test("-k", "hello", "--model", "gpt-4.1", "-o", "out.json")
    variants = [suite["variant"] for suite in json.loads(Path("out.json").read_text())["suites"]]
    assert variants == [{"model": "gpt-4.1", "system_prompt": name} for name in ("short", "long")]


def test_roles_and_models_of_a_matrix_need_no_role_of_the_run(
    project: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", "Hello!")
    project.write(
        "roles/other.yaml", ROLE.replace("kind.", "rude.").replace("hello-world", "other")
    )
    project.write(
        "roles.yaml",
        f"{START}matrix: {{roles: [role.yaml, {{role: roles/other.yaml, name: rude}}]}}\n{CASES}",
    )
    project.write("models.yaml", f"{START}matrix: {{models: [gpt-4o, gpt-4o-mini]}}\n{CASES}")
    ended = project.command(
        "test", "-s", "roles.yaml", "-s", "models.yaml", "-k", "hello", "-o", "out.json"
    )
    assert ended.exit_code == 0, ended.output
    assert [
        (call["model_id"], call["kwargs"].get("system")) for call in mock_llm_responses.calls
    ] == [
        ("gpt-4o-mini", "You are kind."),
        ("gpt-4o-mini", "You are rude."),
        ("gpt-4o", None),
        ("gpt-4o-mini", None),
    ]
    found = [
        (each["role"], each["variant"])
        for each in json.loads(Path("out.json").read_text())["suites"]
    ]
    assert found[:2] == [("hello-world", {"role": "role.yaml"}), ("other", {"role": "rude"})]


def test_targets_stand_side_by_side(project: Project) -> None:
    project.write(
        "app.py",
        "import llm\n"
        "def old(prompt): return llm.get_model('gpt-4o').prompt(prompt).text()\n"
        "def new(prompt): return old(prompt).upper()\n",
    )
    targets = "targets: [{name: old, function: 'app.py:old'}, {name: new, function: 'app.py:new'}]"
    cases = CASES.replace('expected_output: "Hello!"', "replies: [{text: Hello}]")
    project.write("tests.yaml", f"{START}matrix: {{{targets}}}\n{cases}")
    ended = project.command("test", "-s", "tests.yaml", "--dry-run", "-k", "hello", "-j", "2")
    assert rows_of(ended.output)[:2] == [["says-hello", "PASS", "FAIL"], ["Passed", "1/1", "0/1"]]
    assert "says-hello[new]: Output does not contain 'Hello'" in ended.output
    assert (
        "remove --model"
        in project.command("test", "role.yaml", "-s", "tests.yaml", "--model", "m").output
    )


def test_variants_in_python(matrix: Project) -> None:
    suite = load_suite("tests.yaml")
    variants = variants_of(load_role("role.yaml"), suite)
    assert [variant.name for variant in variants] == NAMES
    result = variants[2].run(dry_run=True)
    assert (result.model, result.variant) == (
        "gpt-4o-mini",
        {"model": "hot", "system_prompt": "short"},
    )
    with pytest.raises(
        InvalidFile,
        match=r"tests\.yaml: the suite has a matrix: run each variant of `variants_of\(agent, ",
    ):
        run_suite(load_role("role.yaml"), suite)
    agents = variants_of(Agent("m", system_prompt="Be kind."), variants[0].suite, ["a", "b"])
    asked = [variant.run(dry_run=True) for variant in agents]
    assert [(result.model, result.variant) for result in asked] == [
        ("a", {"model": "a"}),
        ("b", {"model": "b"}),
    ]
    expected = [Agent(name, system_prompt="Be kind.") for name in "ab"]
    assert [variant.agent for variant in agents] == expected
    (only,) = variants_of(load_role("role.yaml"), variants[0].suite)
    assert isinstance(only, Variant)
    assert only.name == ""


# What is shown and written


def test_the_table_has_a_row_for_each_case_and_a_column_for_each_variant(matrix: Project) -> None:
    ended = matrix.dry()
    assert ended.exit_code == 1
    assert ended.stdout.startswith(
        "Running greeting-tests (2 cases) against 4 variants (dry-run)\n"
    )
    assert [row[:3] for row in rows_of(ended.stdout)[:3]] == [
        ["says-hello", "PASS", "PASS"],
        ["has-number", "FAIL", "FAIL"],
        ["Passed", "1/2", "1/2"],
    ]
    assert (
        r"tests.yaml:14: has-number[hot, long]: Output does not match pattern '\d+'" in ended.stdout
    )
    assert ended.stdout.endswith("4/8 passed ✗ Some tests failed\n")


def test_verbose_shows_each_variant_alone_and_then_the_table(matrix: Project) -> None:
    output = matrix.dry("-v", "-k", "hello").stdout
    assert [line for line in output.splitlines() if line in NAMES] == NAMES
    assert output.count("✓ Output contains 'Hello'") == 4
    assert output.endswith("4/4 passed ✓ All tests passed\n")


def test_many_variants_stand_in_several_tables(project: Project) -> None:
    models = [f"model-{number}" for number in range(8)]
    output = project.dry(
        "-k", "hello", *(word for model in models for word in ("--model", model))
    ).stdout
    heads = [line.replace("┃", " ").split() for line in output.splitlines() if "Case" in line]
    assert heads == [["Case", *models[:6]], ["Case", *models[6:]]]


def test_texts_in_names_of_variants_act_on_nothing(project: Project) -> None:
    name = "\x1b[31m|`x` </td>\n{{b}}"
    matrix = json.dumps({"models": [{"model": "m", "name": name}]})
    project.write("tests.yaml", f"{START}matrix: {matrix}\n{CASES}")
    ended = project.dry("-o", "out.md", "-o", "out.xml", "-o", "out.html", "-o", "out.json", "-v")
    assert "says-hello" in ended.stdout
    for text in (
        ended.stdout,
        *(Path(f"out.{suffix}").read_text() for suffix in ("md", "xml", "html", "json")),
    ):
        assert "\x1b" not in text
    assert "</td>" not in Path("out.md").read_text()


def test_cost_and_time_stand_under_the_variants_of_a_live_run(
    matrix: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply("Hello 1", usage={"input_tokens": 1, "output_tokens": 0}))
    mock_llm_responses.set_price("gpt-4o", 1_000_000, 0)
    mock_llm_responses.set_price("gpt-4o-mini", 2_000_000, 0)
    output = matrix.test("--repeat", "2", "--max-cost", "20").stdout
    assert rows_of(output)[0] == ["says-hello", "PASS 2/2", "PASS 2/2", "PASS 2/2", "PASS 2/2"]
    assert rows_of(output)[3] == ["Mean pass rate", "100%", "100%", "100%", "100%"]
    assert rows_of(output)[-2] == ["Cost", "$4.00", "$4.00", "$8.00", "$4.00"]
    assert "Stopped: hot, long: the cases cost $4.00, and max_cost is $4.00" in output


def test_a_variant_of_a_live_run_has_the_id_of_its_model(project: Project) -> None:
    [variant] = variants_of(load_role("role.yaml"), load_suite("tests.yaml"), ["4o-mini"])
    role = variant.resolve().answering
    assert isinstance(role, Role)
    assert (role.agent.asks.model, role.model_ids) == ("gpt-4o-mini", ("gpt-4o-mini",))


def test_a_model_without_a_key_stops_no_other_variant(
    project: Project, mock_llm_responses: LLMMock
) -> None:
    import llm

    mock_llm_responses.set_error("gpt-4o", llm.NeedsKeyException("No key"))
    mock_llm_responses.set("gpt-4o-mini", "Hello 1")
    output = project.test("--model", "gpt-4o", "--model", "gpt-4o-mini").stdout
    assert rows_of(output)[:4] == [
        ["says-hello", "FAIL", "PASS"],
        ["no-errors", "-", "PASS"],
        ["has-number", "-", "PASS"],
        ["Passed", "0/1", "3/3"],
    ]


def test_junit_and_markdown_tell_the_variants_apart(matrix: Project) -> None:
    matrix.dry("-o", "out.xml", "-o", "out.md")
    suites = list(ElementTree.parse("out.xml").getroot())
    assert [suite.get("name") for suite in suites] == [f"greeting-tests[{name}]" for name in NAMES]
    assert [case.get("name") for case in suites[3].iter("testcase")] == [
        "says-hello[hot, long]",
        "has-number[hot, long]",
    ]
    properties = {each.get("name"): each.get("value") for each in suites[3].iter("property")}
    assert (properties["model"], properties["variant.model"]) == ("gpt-4o-mini", "hot")
    lines = Path("out.md").read_text().replace("&#44;", ",").splitlines()
    assert lines[0] == "### ❌ <code>greeting-tests</code>: 4/8 passed"
    start = lines.index(f"| Case | {' | '.join(f'<code>{name}</code>' for name in NAMES)} |")
    assert lines[start + 2 : start + 5] == [
        "| <code>says-hello</code> | ✅ PASS | ✅ PASS | ✅ PASS | ✅ PASS |",
        "| <code>has-number</code> | ❌ FAIL | ❌ FAIL | ❌ FAIL | ❌ FAIL |",
        "| **Passed** | 1/2 | 1/2 | 1/2 | 1/2 |",
    ]
    assert "<details><summary><code>has-number&#91;hot, long&#93;</code></summary>" in lines


def test_the_page_has_the_table_whose_cells_lead_to_the_cases(
    matrix: Project, open_page: Open
) -> None:
    matrix.dry("-o", "page.html")
    tab = open_page(matrix.path / "page.html")
    assert tab.locator("#side-by-side thead th").all_inner_texts() == ["Case", *NAMES]
    assert tab.locator("#side-by-side tbody th").all_inner_texts() == ["says-hello", "has-number"]
    rows = tab.locator("#side-by-side tr")
    assert rows.nth(1).get_by_role("link").all_inner_texts() == ["✓ passed"] * 4
    assert rows.nth(2).get_by_role("link").all_inner_texts() == ["✕ failed"] * 4
    assert rows.nth(3).inner_text().split("\t") == ["Passed", *["1/2"] * 4]
    tab.locator("#side-by-side tr", has_text="says-hello").get_by_role("link").nth(2).click()
    assert tab.locator(":focus .case").inner_text() == "says-hello[hot, short]"
    agents = tab.locator("#agent-totals td:first-child").all_inner_texts()
    assert sorted(name.partition(". ")[2] for name in agents) == sorted(
        f"hello-world (model: {model}; prompt: {prompt})"
        for model in ("gpt-4o", "hot")
        for prompt in ("short", "long")
    )


# What is wrong


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [
        ("matrix:", "4: matrix: should be a mapping (key: value), not empty"),
        (
            "matrix: {}",
            (
                "4: matrix: is empty: add lists to compare, such as roles, targets, models, "
                "system_prompts"
            ),
        ),
        ("matrix: {models: []}", "4: matrix.models: should not be empty"),
        ("matrix:\n  modls: [a]", "5: unknown key 'modls'; did you mean 'models'?"),
        (
            "matrix:\n  models:\n  - a\n  - {model: b, option: {}}",
            "7: unknown key 'option'; did you mean 'options'?",
        ),
        (
            "matrix:\n  models:\n  - a\n  - b\n  - a",
            "8: duplicate model 'a' (line 6): remove it, or set another 'name'",
        ),
        (
            "matrix:\n  system_prompts: [{name: a}]",
            "5: matrix.system_prompts.0: needs either a 'text' or a 'file'",
        ),
        (
            "matrix:\n  system_prompts:\n  - {name: a, file: no.txt}",
            "6: matrix.system_prompts: {folder}/no.txt: cannot be read: No such file or directory",
        ),
        (
            "matrix:\n  roles:\n  - a/no.yaml",
            "6: matrix.roles: {folder}/a/no.yaml: cannot be read: No such file",
        ),
        (
            "matrix: {targets: [{name: a, command: [x]}], models: [m]}",
            "4: matrix: 'targets' and 'models' cannot be combined: a target calls its own models",
        ),
        (
            "target: {command: [x]}\nmatrix: {models: [m]}",
            "5: 'target' and 'matrix' cannot be combined: remove one of them",
        ),
        (
            f"matrix:\n  models: [{', '.join(f'm{n}' for n in range(1001))}]",
            "4: the matrix has 1,001 variants, more than 1,000: remove some entries",
        ),
    ],
)
def test_what_is_wrong_with_a_matrix_is_said_with_its_line(
    matrix: str, problem: str, tmp_path: Path
) -> None:
    (found,) = problems(tmp_path, f"{START}{matrix}\n")
    assert found.startswith(problem.replace("{folder}", str(tmp_path)))


def test_a_duplicate_of_a_matrix_in_python_is_told_without_a_line() -> None:
    models = (MatrixModel(model="gpt-4o"), MatrixModel(model="gpt-4o"))
    double = suite(case()).model_copy(update={"matrix": Matrix(models=models)})
    with pytest.raises(InvalidFile) as raised:
        variants_of(Agent("m"), double)
    assert str(raised.value) == (
        "suite 'greetings': duplicate model 'gpt-4o': remove it, or set another 'name'"
    )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("gpt-4o-mni", "tests.yaml:7: llm does not know the model 'gpt-4o-mni'. Did you mean "),
        (
            "{model: gpt-4o, options: {temprature: 1}}",
            "tests.yaml:7: the model 'gpt-4o' has no option 'temprature'",
        ),
    ],
)
def test_a_model_of_a_matrix_that_cannot_be_asked_is_told_before_any_is(
    model: str, message: str, project: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set_unknown("gpt-4o-mni")
    project.write("tests.yaml", f"{START}matrix:\n  models:\n  - gpt-4o-mini\n  - {model}\n{CASES}")
    ended = project.test()
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"Error: {message}")
    assert not mock_llm_responses.calls
    assert project.dry("-k", "hello").exit_code == 0


def test_roles_of_a_matrix_and_one_of_the_run_exclude_each_other(project: Project) -> None:
    project.write("tests.yaml", f"{START}matrix: {{roles: [role.yaml]}}\n{CASES}")
    assert project.dry().stderr == (
        "Error: tests.yaml: a role and the 'roles' of the matrix cannot be combined: remove one of "
        "them\n"
    )
