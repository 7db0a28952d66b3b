"""Suites in a run of tests: each case is a test of pytest."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest

from tests.conftest import NESTED_OPTIONS
from tests.plugin.files import write

ROLE = """
apiVersion: initrunner/v1
kind: Agent
metadata: {name: shop}
spec:
  role: You help the customers of a shop.
  model: {provider: openai, name: gpt-5-mini}
"""
SUITE = """
apiVersion: initrunner/v1
kind: TestSuite
metadata: {name: greetings}
cases:
  - name: says-hello
    prompt: Hi there!
    expected_output: Hello! How can I help?
    assertions:
      - {type: contains, value: Hello}
  - name: says-sorry
    prompt: Where is my order?
    expected_output: I don't know.
    assertions:
      - {type: contains, value: sorry}
      - {type: not_contains, value: error}
  - name: is-polite
    prompt: You are wrong
    tags: [slow, customer-care]
    expected_output: Indeed?
    assertions:
      - {type: judge, criteria: The answer is polite}
"""
INI = "[pytest]\naddopts = --strict-markers\nllm_mock_suites = suites/*.yaml = role.yaml\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Create a project with a suite whose cases pass, fail and are skipped in a dry run."""
    pytester.makeini(INI)
    write(pytester, "role.yaml", ROLE)
    write(pytester, "suites/greetings.yaml", SUITE)
    return pytester


def test_each_case_is_a_test(project: pytest.Pytester) -> None:
    result = project.runpytest("-v")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "suites/greetings.yaml::says-hello PASSED*",
            "suites/greetings.yaml::says-sorry FAILED*",
            "suites/greetings.yaml::is-polite SKIPPED (not checked: *)*",
        ]
    )


def test_a_failure_shows_line_prompt_output_and_assertions_and_no_traceback(
    project: pytest.Pytester,
) -> None:
    result = project.runpytest()
    result.stdout.fnmatch_lines(
        [
            "*says-sorry*",
            "*greetings.yaml:10*",
            "*Where is my order?*",
            "*I don't know.*",
            "*✗ Output does not contain 'sorry'*",
            "*✓ Output does not contain 'error'*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*.py:*")


@pytest.mark.parametrize(
    ("arguments", "outcomes"),
    [
        (["-k", "hello"], {"passed": 1, "deselected": 2}),
        (["-m", "slow"], {"skipped": 1, "deselected": 2}),
        (["-m", "not customer-care"], {"passed": 1, "failed": 1, "deselected": 1}),
        (["suites/greetings.yaml::says-hello"], {"passed": 1}),
        (["-n", "2", "-p", "xdist"], {"passed": 1, "failed": 1, "skipped": 1}),
    ],
)
def test_cases_are_chosen_and_distributed_like_any_test(
    arguments: list[str], outcomes: dict[str, int], project: pytest.Pytester
) -> None:
    project.runpytest(*arguments).assert_outcomes(**outcomes)


def test_only_what_failed_is_run_again(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", NESTED_OPTIONS.replace("-p no:cacheprovider", ""))
    project.runpytest()
    project.runpytest("--lf").assert_outcomes(failed=1)


def test_reports_know_the_cases(project: pytest.Pytester) -> None:
    project.runpytest("--junitxml=junit.xml", "--llm-mock-report=report.json")
    cases = ElementTree.parse(project.path / "junit.xml").findall(".//testcase")
    assert [case.get("name") for case in cases] == ["says-hello", "says-sorry", "is-polite"]
    assert [property_.get("name") for property_ in cases[0].iter("property")][:1] == ["llm_calls"]
    tests = json.loads((project.path / "report.json").read_text())["tests"]
    assert [(test["outcome"], len(test["calls"])) for test in tests] == [
        ("passed", 1),
        ("failed", 1),
        ("skipped", 1),
    ]
    assert tests[0]["calls"][0]["model_id"] == "gpt-5-mini"
    assert tests[0]["calls"][0]["response"]["text"] == "Hello! How can I help?"


def test_with_live_models_the_expected_output_has_no_effect(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import llm

        class Sorry(llm.Model):
            model_id = "gpt-5-mini"
            can_stream = False
            supports_tools = True
            class Options(llm.Options):
                temperature: float | None = None
            def execute(self, prompt, stream, response, conversation):
                yield "I am sorry, Hello"

        class Plugin:
            @llm.hookimpl
            def register_models(self, register):
                register(Sorry())

        from llm.plugins import pm
        pm.unregister(name="llm.default_plugins.openai_models")
        pm.register(Plugin(), "sorry")
        """
    )
    result = project.runpytest_subprocess("--llm-mock-live", "-k", "says")
    result.assert_outcomes(passed=2, deselected=1)


def test_the_other_files_go_on_where_one_is_wrong(project: pytest.Pytester) -> None:
    write(project, "suites/wrong.yaml", SUITE.replace("prompt: Hi", "promt: Hi"))
    result = project.runpytest("--continue-on-collection-errors")
    result.assert_outcomes(passed=1, failed=1, skipped=1, errors=1)
    result.stdout.fnmatch_lines(["*wrong.yaml:6: *unknown key 'promt'; did you mean 'prompt'?*"])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("suites/*.yaml =", "*llm_mock_suites: 'suites/[*].yaml =' must be GLOB = ROLE*"),
        (
            "nowhere/*.yaml = role.yaml",
            "*llm_mock_suites: no file in * matches 'nowhere/[*].yaml'*",
        ),
        (
            "nowhere/*.yaml: role.yaml",
            "*no file in * matches 'nowhere/[*].yaml: role.yaml'; write GLOB = ROLE, *",
        ),
        ("suites/*.yaml = other.yaml", "*llm_mock_suites: the role *other.yaml does not exist*"),
        ("/*.yaml = role.yaml", "*llm_mock_suites: invalid glob '/[*].yaml'*"),
    ],
)
def test_an_ini_that_names_nothing_is_a_usage_error(
    line: str, message: str, project: pytest.Pytester
) -> None:
    project.makeini(f"[pytest]\nllm_mock_suites = {line}\n")
    result = project.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_a_case_with_a_target_runs_the_application_under_the_mock_of_its_test(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nllm_mock_suites = suites/*.yaml\n")
    write(
        pytester,
        "suites/app.py",
        "import llm\n\ndef answer(prompt):\n    return llm.get_model('m').prompt(prompt).text()\n",
    )
    head = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: app}\n"
    cases = """cases:
  - {name: fits, prompt: Hi, repeat: 2, replies: [{text: Hello}], assertions: [{type: equals, value: Hello}]}
  - {name: differs, prompt: Hi, replies: [{prompt: Ho, text: Hello}]}
  - {name: unused, prompt: Hi, repeat: 2, threshold: 0.5, replies: [{text: Hello}, {text: too much}]}
"""  # noqa: E501
    write(pytester, "suites/app.yaml", head + 'target: {function: "app.py:answer"}\n' + cases)
    write(pytester, "suites/nobody.yaml", head + "cases: [{name: c, prompt: Hi}]\n")
    result = pytester.runpytest("--llm-mock-report=calls.json", "--continue-on-collection-errors")
    result.assert_outcomes(passed=1, failed=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            (
                "*nobody.yaml: the suite has no role and no target: pass a role, or add a 'target' "
                "to the suite*"
            ),
            "*  asked: m  'Hi'  → raised: No reply was configured for this call*",
            "*the prompt 'Hi' does not contain 'Ho'*",
            "*Add one to the 'replies' of the case.*",
        ]
    )
    tests = json.loads((pytester.path / "calls.json").read_text())["tests"]
    (fits,) = (test for test in tests if test["id"].endswith("::fits"))
    assert [call["response"]["text"] for call in fits["calls"]] == ["Hello", "Hello"]


@pytest.mark.parametrize("report", ["--verbose", "--junitxml=out.xml", "--llm-mock-report=r.json"])
def test_the_tool_calls_of_an_application_are_checked_whatever_report_is_written(
    pytester: pytest.Pytester, report: str
) -> None:
    pytester.makeini("[pytest]\nllm_mock_suites = app.yaml\n")
    pytester.makepyfile(
        app="""
            import llm

            def lookup(order: int) -> str:
                return "sent"

            def answer(prompt):
                return llm.get_model("m").chain(prompt, tools=[lookup]).text()
        """
    )
    pytester.makefile(
        ".yaml",
        app="""
            apiVersion: llm-mock/v1
            kind: TestSuite
            metadata: {name: app}
            target: {function: "app.py:answer"}
            cases:
              - name: tools
                prompt: Where is order 1?
                replies:
                  - tool_calls: [{name: lookup, arguments: {order: 1}}]
                  - text: On its way.
                assertions: [{type: tool_calls, calls: [{name: lookup, arguments: {order: 1}}]}]
        """,
    )
    pytester.runpytest(report).assert_outcomes(passed=1)


def test_a_role_that_is_wrong_is_an_error_of_its_suites(project: pytest.Pytester) -> None:
    write(project, "role.yaml", SUITE)
    project.makepyfile("def test_python(): pass")
    result = project.runpytest("--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*role.yaml*suite*role*"])


def test_a_project_that_opted_out_runs_its_suites_dry_all_the_same(
    project: pytest.Pytester,
) -> None:
    project.makeini(INI + "llm_mock = false\n")
    project.runpytest().assert_outcomes(passed=1, failed=1, skipped=1)


def test_without_the_ini_no_suite_is_collected(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\n")
    assert project.runpytest().ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_name_that_would_act_on_a_terminal_is_escaped(project: pytest.Pytester) -> None:
    write(
        project,
        "suites/greetings.yaml",
        SUITE.replace("name: says-hello", r'name: "says \e[31m\nhello"'),
    )
    result = project.runpytest("-v", "-k", "hello")
    result.assert_outcomes(passed=1, deselected=2)
    result.stdout.fnmatch_lines([r"suites/greetings.yaml::says \x1b[[]31m\nhello PASSED*"])


@pytest.mark.parametrize("arguments", [[], ["-n", "1", "-p", "xdist"]])
def test_how_often_a_repeated_case_passed_is_in_the_summary_and_in_the_report(
    arguments: list[str], project: pytest.Pytester
) -> None:
    write(
        project,
        "suites/greetings.yaml",
        SUITE.replace("prompt: Hi there!", "prompt: Hi there!\n    repeat: 3"),
    )
    result = project.runpytest("--llm-mock-report=report.json", *arguments)
    rate = "100% (3/3), 95% interval 44% to 100%, pass@2 100%, pass^2 100%"
    result.stdout.fnmatch_lines(
        ["*= Repeated cases =*", f"  suites/greetings.yaml::says-hello  {rate}"]
    )
    tests = json.loads((project.path / "report.json").read_text())["tests"]
    assert [test.get("pass_rate") for test in tests] == [rate, None, None]


MATRIX = """
apiVersion: llm-mock/v1
kind: TestSuite
metadata: {name: greetings}
matrix:
  models: [gpt-5-mini, gpt-5]
  system_prompts: [{name: kind, text: Be kind.}, {name: short, text: Be short.}]
cases:
  - {name: says-hello, prompt: Hi!, expected_output: Hello!, assertions: [{type: contains, value: Hello}]}
  - {name: says-sorry, prompt: Where is it?, expected_output: Here., assertions: [{type: contains, value: sorry}]}
"""  # noqa: E501


def test_of_many_tests_that_were_not_fully_checked_the_first_ten_are_named(
    project: pytest.Pytester,
) -> None:
    rows = ", ".join(f"{{number: {number}}}" for number in range(10, 22))
    case = """
  - name: is-polite-${number}
    prompt: Hi
    expected_output: Indeed?
    rows: [ROWS]
    assertions: [{type: contains, value: Indeed}, {type: judge, criteria: Polite}]
"""
    head = SUITE.partition("cases:")[0]
    write(project, "suites/greetings.yaml", f"{head}cases:{case.replace('ROWS', rows)}")
    result = project.runpytest("-p", "no:randomly")
    result.assert_outcomes(passed=12)
    names = [f"  suites/greetings.yaml::is-polite-{number}" for number in range(10, 20)]
    result.stdout.fnmatch_lines(
        [
            "*Passed tests that were not fully checked*",
            "",
            *(f"{name}  1 of 2 checks skipped" for name in names),
            "  … 2 more tests",
        ],
        consecutive=True,
    )


@pytest.mark.parametrize("workers", [[], ["-n", "1", "-p", "xdist"]], ids=["here", "xdist"])
def test_each_case_is_a_test_in_every_variant_of_a_matrix(
    workers: list[str], project: pytest.Pytester
) -> None:
    write(project, "suites/greetings.yaml", MATRIX)
    result = project.runpytest("-v", *workers)
    result.assert_outcomes(passed=4, failed=4)
    result.stdout.fnmatch_lines(
        [
            (
                "suites/greetings.yaml:9: says-sorry[[]gpt-5-mini, kind[]]: Output does not "
                "contain 'sorry'"
            )
        ]
    )
    if not workers:
        result.stdout.fnmatch_lines(["suites/greetings.yaml::says-hello[[]gpt-5, short[]] PASSED*"])
        project.runpytest("-k", "says-hello and short").assert_outcomes(passed=2, deselected=6)


def test_variants_are_asked_live_and_a_model_that_is_not_known_is_named_with_its_line(
    project: pytest.Pytester,
) -> None:
    write(project, "suites/greetings.yaml", MATRIX.replace("gpt-5-mini, gpt-5]", "gpt-5-mni]"))
    result = project.runpytest("--llm-mock-live", "-k", "hello and kind")
    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.fnmatch_lines(
        ["*suites/greetings.yaml:5: llm does not know the model 'gpt-5-mni'. Did you mean *"]
    )


def test_a_listed_suite_without_selected_cases_needs_no_setting(pytester: pytest.Pytester) -> None:
    write(pytester, "role.yaml", ROLE)
    write(pytester, "suite.yaml", SUITE)
    pytester.makeini("[pytest]\nllm_mock_suites = suite.yaml = role.yaml")
    result = pytester.runpytest("suite.yaml", "-k", "nothing")
    result.assert_outcomes(deselected=3)
    result.stdout.no_fnmatch_line("*is a suite*")
