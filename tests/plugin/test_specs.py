"""Plain-language tests in a run of tests."""

from __future__ import annotations

import sys
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Literal

import pytest

from llm_mock.specs import Verdict
from llm_mock.specs.drivers import DRIVERS, Task
from llm_mock.specs.models import TestSpec
from tests.conftest import NESTED_OPTIONS
from tests.plugin.files import write

SPEC = """
test:
  name: The numbers agree
  tags: [smoke, two-words]
  timeout: 60
steps:
  - name: Compare
    tool: compare_values
    args: {value1: 1, value2: ONE}
    save_as: comparison
  - name: Check
    tool: assert_true
    args: {condition: "${comparison.equal}", message: They must agree}
verdict:
  pass_if: Both numbers are equal
  fail_if: They differ
"""
PASSES, FAILS = (
    SPEC.replace("ONE", "1"),
    SPEC.replace("ONE", "2").replace("The numbers", "Other numbers"),
)
VERDICT = '{"verdict": "%s", "reason": "%s", "steps": [{"name": "Compare", "status": "fail"}], "issues": ["They differ"]}'  # noqa: E501
DRY = ("--llm", "--llm-mock-dry-run")


class Critic:
    """A driver that passes nothing."""

    name, needs_http, needs_live = "critic", False, False

    def __init__(self, model: str | None) -> None:
        self.model = model

    def run(self, task: Task) -> Verdict:
        return Verdict(
            verdict="FAIL", reason=f"{self.model} likes nothing of {task.spec.test.name}"
        )


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a project with one test that passes in a dry run, and one that fails."""
    pytester.makeini("[pytest]\naddopts = --strict-markers\n")
    write(pytester, "tests/llm/test_passes.yaml", PASSES)
    write(pytester, "tests/llm/test_fails.yaml", FAILS)
    return pytester


@pytest.fixture
def quick_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge tests by their names, without the server of tools: most of what a test takes."""

    def judge(spec: TestSpec, *arguments: object, **options: object) -> Verdict:
        verdict: Literal["PASS", "FAIL"] = "FAIL" if "Other" in spec.test.name else "PASS"
        return Verdict(verdict=verdict, reason="It was not run")

    monkeypatch.setattr("llm_mock.plugin.spec_items.run_llm_test", judge)


def answer(project: pytest.Pytester, verdict: str, reason: str) -> None:
    """Script the model that does the tests: it calls the tools of both steps, then judges."""
    project.makeconftest(
        f"""
        from llm.models import ToolCall
        from llm_mock import Reply

        COMPARE = ToolCall("compare_values", {{"value1": 1, "value2": 1}})
        CHECK = ToolCall("assert_true", {{"condition": True}})

        def pytest_llm_mock_configure(mock):
            verdict = {VERDICT % (verdict, reason)!r}
            mock.set("*", lambda prompt: verdict if prompt.tool_results else Reply(tool_calls=[COMPARE, CHECK]))
        """  # noqa: E501
    )


class FailingService(BaseHTTPRequestHandler):
    """A service that answers 500 to all."""

    def do_GET(self) -> None:
        self.send_response(500)
        self.end_headers()

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def failing_url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), FailingService)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


FOLDERS = {
    **{"tests/llm": True, "tests/llm/users": True, "tests/users": False},
    **{"tests/llm/plugins": False, "tests/llm/cassettes": False, "tests/llm/cassettes/a": False},
}
"""Folders with the file of a test, and whether it is one without being named."""


@pytest.mark.usefixtures("quick_verdicts")
def test_the_files_of_the_folder_are_tests_but_not_those_of_plugins_and_cassettes(
    pytester: pytest.Pytester,
) -> None:
    files = [f"{folder}/numbers.yaml" for folder in FOLDERS]
    for file in files:
        write(pytester, file, PASSES)
    found = [file for file, is_test in zip(files, FOLDERS.values(), strict=True) if is_test]
    assert list_passed(pytester) == sorted(found)
    assert list_passed(pytester, *files) == sorted(files)


def list_passed(pytester: pytest.Pytester, *paths: str) -> list[str]:
    """Return the files of the tests of a run, all of which pass."""
    passed, skipped, failed = pytester.inline_run(*DRY, *paths).listoutcomes()
    assert (skipped, failed) == ([], [])
    return sorted(report.nodeid.partition("::")[0] for report in passed)


@pytest.mark.usefixtures("quick_verdicts")
def test_outside_of_the_root_only_the_folder_of_a_file_makes_it_a_test(
    pytester: pytest.Pytester,
) -> None:
    write(pytester, "project/pytest.ini", "[pytest]\n")
    for folder in ("llm", "llm/users", "llm/plugins", "users/llm"):
        write(pytester, f"elsewhere/{folder}/numbers.yaml", PASSES)
    result = pytester.runpytest(*DRY, "-c", "project/pytest.ini", "-v", "elsewhere")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["  llm/numbers.yaml::*", "  users/llm/numbers.yaml::*"])


NAMED_FILES = {
    "numbers.yaml": (PASSES, "numbers.yaml is a plain-language test: add --llm"),
    "greeting.yml": (
        "kind: TestSuite",
        "greeting.yml is a suite: add a line such as greeting.yml = role.yaml to ini "
        "llm_mock_suites, or run llm-mock test -s greeting.yml",
    ),
    "role.yaml": ("kind: Agent", None),
    "values.yaml": ("values: [1]", None),
    "broken.yaml": ("values: [1", None),
    "folder.yaml/numbers.yaml": (PASSES, None),
}
"""Files with their text, and the advice if they are on the command line."""


@pytest.mark.parametrize("file", NAMED_FILES)
def test_a_file_on_the_command_line_that_needs_a_setting_names_it(
    pytester: pytest.Pytester, file: str
) -> None:
    assert_advice(pytester, [file])


def test_files_on_the_command_line_name_their_settings_once_under_xdist(
    pytester: pytest.Pytester,
) -> None:
    assert_advice(pytester, list(NAMED_FILES), "-n1")


def assert_advice(pytester: pytest.Pytester, files: list[str], *options: str) -> None:
    """Assert the lines of a run with files, or their folders, on the command line."""
    for file in files:
        write(pytester, file, NAMED_FILES[file][0])
    names = [file.partition("/")[0] for file in files]
    result = pytester.runpytest(*names, "missing.yaml", *options)
    result.stdout.no_fnmatch_line("*HookFailureWarning*")
    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)
    starts = tuple(f"llm-mock: {name}" for name in names)
    lines = [line for line in result.outlines if line.startswith(starts)]
    advice = [NAMED_FILES[file][1] for file in files]
    assert lines == [f"llm-mock: {each}" for each in advice if each is not None]


SERVICE = """
test: {name: The service works}
steps:
  - {tool: http_get, args: {url: "URL"}, expect: Status 200}
verdict: {pass_if: It answers 200, fail_if: It answers anything else}
"""


@pytest.mark.parametrize("options", [(), ("-n", "2", "-p", "xdist")], ids=["alone", "distributed"])
def test_a_dry_run_says_what_nobody_judged(
    project: pytest.Pytester, failing_url: str, options: tuple[str, ...]
) -> None:
    service = SERVICE.replace("URL", failing_url)
    check = "  - {tool: assert_true, args: {condition: true}}\nverdict"
    write(project, "tests/llm/service.yaml", service)
    write(project, "tests/llm/checked.yaml", service.replace("verdict", check))
    result = project.runpytest(*DRY, "-v", "-rs", *options)
    # A service that fails, and that nothing checks, is not green.
    result.assert_outcomes(passed=2, failed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["*UNCLEAR: Not checked in the dry run: no step compares anything. 1 call succeeded.*"]
    )
    result.stdout.fnmatch_lines(
        [
            "*Passed tests that were not fully checked*",
            "*checked.yaml::The service works  Dry run: 2 calls succeeded. Not judged: "
            "1 expectation and the criteria.",
        ]
    )
    if not options:
        result.stdout.fnmatch_lines(
            [
                "tests/llm/test_fails.yaml::Other numbers agree FAILED*",
                "tests/llm/test_passes.yaml::The numbers agree PASSED*",
            ]
        )
        result.stdout.fnmatch_lines(["*test_fails.yaml:6*", "*✗ Compare*"])
    # No model is called, and no frame is shown.
    result.stdout.no_fnmatch_line("*LLM calls of the run*")
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*.py:*")


@pytest.mark.usefixtures("quick_verdicts")
def test_a_quiet_run_does_not_say_what_nobody_judged(project: pytest.Pytester) -> None:
    arguments = (*DRY, "tests/llm/test_passes.yaml")
    assert "not fully checked" in project.runpytest(*arguments).stdout.str()
    assert "not fully checked" not in project.runpytest(*arguments, "-q").stdout.str()


def test_without_the_option_nothing_is_collected_and_nothing_imported(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        "import sys\ndef test_it(): assert not any(m.startswith('llm_mock.specs') for m in "
        "sys.modules)"
    )
    project.runpytest_subprocess().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("verdict", "outcome"), [("PASS", "passed"), ("FAIL", "failed"), ("UNCLEAR", "skipped")]
)
def test_the_verdict_of_the_model_is_the_outcome(
    verdict: str, outcome: str, project: pytest.Pytester
) -> None:
    answer(project, verdict, "I have looked")
    result = project.runpytest("--llm", "--llm-verbose", "-rs", "tests/llm/test_passes.yaml")
    result.assert_outcomes(**{outcome: 1})
    if verdict != "PASS":
        result.stdout.fnmatch_lines(["*I have looked*"])
    # What the model calls is shown as it happens.
    result.stdout.fnmatch_lines(
        [
            "asking *",
            "  compare_values(value1=1, value2=1) → {*",
            "  assert_true(condition=true) → {*",
            "✗ Compare*",
        ]
    )


def test_a_model_that_nobody_scripted_is_not_taken_for_a_judge(project: pytest.Pytester) -> None:
    result = project.runpytest("--llm", "tests/llm/test_passes.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*--llm-mock-live*"])


def test_claude_code_needs_the_permission_to_reach_a_real_model(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nllm_mock_spec_driver = claude-code\n")
    result = project.runpytest("--llm", "tests/llm/test_passes.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*--llm-mock-live*"])


@pytest.mark.parametrize(
    ("arguments", "outcomes"),
    [
        (["-m", "smoke and two-words"], {"passed": 1, "failed": 1}),
        (["-m", "llm and not smoke"], {"deselected": 2}),
        (["-k", "Other"], {"failed": 1, "deselected": 1}),
    ],
)
@pytest.mark.usefixtures("quick_verdicts")
def test_tests_are_chosen_like_any_other(
    arguments: list[str], outcomes: dict[str, int], project: pytest.Pytester
) -> None:
    project.runpytest(*DRY, *arguments).assert_outcomes(**outcomes)


@pytest.mark.usefixtures("quick_verdicts")
def test_only_what_failed_is_run_again_and_junit_knows_it(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", NESTED_OPTIONS.replace("-p no:cacheprovider", ""))
    project.runpytest(*DRY)
    project.runpytest(*DRY, "--lf", "--junitxml=junit.xml").assert_outcomes(failed=1)
    cases = ElementTree.parse(project.path / "junit.xml").findall(".//testcase")
    assert [case.get("name") for case in cases] == ["Other numbers agree"]


def test_steps_are_shown_as_they_happen(project: pytest.Pytester) -> None:
    result = project.runpytest(*DRY, "--llm-verbose", "tests/llm/test_passes.yaml")
    result.stdout.fnmatch_lines(["*✓ Compare*", "*✓ Check*"])


def test_without_a_terminal_steps_are_printed(project: pytest.Pytester) -> None:
    options = ("--llm-verbose", "-p", "no:terminal", "-s")
    result = project.runpytest(*DRY, *options, "tests/llm/test_passes.yaml")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*✓ Compare*", "*✓ Check*"])


@pytest.mark.usefixtures("quick_verdicts")
def test_a_name_does_nothing_to_the_terminal(project: pytest.Pytester) -> None:
    write(
        project,
        "tests/llm/test_passes.yaml",
        PASSES.replace("The numbers agree", '"Red \\e[31m [b]\\n名"'),
    )
    result = project.runpytest("-v", *DRY, "tests/llm/test_passes.yaml")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([r"tests/llm/test_passes.yaml::Red \x1b[[]31m [[]b]\n名 PASSED*"])


@pytest.mark.usefixtures("quick_verdicts")
def test_the_other_files_go_on_where_one_is_wrong(project: pytest.Pytester) -> None:
    write(project, "tests/llm/broken.yaml", SPEC.replace("pass_if", "passes_if"))
    result = project.runpytest(*DRY, "--continue-on-collection-errors")
    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*broken.yaml:14: *passes_if*pass_if*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_the_timeout_of_the_command_line_bounds_a_test(project: pytest.Pytester) -> None:
    write(
        project,
        "tests/llm/slow.yaml",
        SPEC.replace("tool: compare_values", "tool: sleep").replace(
            "args: {value1: 1, value2: ONE}", "args: {seconds: 50}"
        ),
    )
    result = project.runpytest(*DRY, "--llm-timeout", "1", "tests/llm/slow.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Timed out after 1 s*"])


@pytest.mark.parametrize(
    ("ini", "arguments", "message"),
    [
        (
            "llm_mock_spec_driver = codex",
            [],
            "*llm_mock_spec_driver: 'codex' must be one of llm, claude-code*",
        ),
        ("", ["--llm-timeout", "0"], "*--llm-timeout: 0 must be a number of seconds from 1*"),
    ],
)
def test_a_setting_without_sense_is_a_usage_error(
    ini: str, arguments: list[str], message: str, project: pytest.Pytester
) -> None:
    project.makeini(f"[pytest]\n{ini}\n")
    result = project.runpytest(*DRY, *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_a_driver_of_the_table_can_be_chosen(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DRIVERS, "critic", f"{__name__}:Critic")
    project.makeini("[pytest]\nllm_mock_spec_driver = critic\nllm_mock_spec_model = m-1\n")
    result = project.runpytest("--llm", "tests/llm/test_passes.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*m-1 likes nothing of The numbers agree"])


def test_hosts_beyond_loopback_are_not_reached_in_a_dry_run(project: pytest.Pytester) -> None:
    text = SPEC.replace("tool: compare_values", "tool: http_get").replace(
        "{value1: 1, value2: ONE}", "{url: 'http://example.com/'}"
    )
    # A file that is named may be anywhere.
    write(project, "specs/away.yaml", text)
    result = project.runpytest(*DRY, "specs/away.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*example.com*llm_mock_allowed_hosts*"])


def test_nothing_is_left_running(project: pytest.Pytester) -> None:
    plugin = """
        import os
        from llm_mock.specs import LLMPlugin

        class Marker(LLMPlugin):
            name = "marker"
            async def number(self) -> dict:
                return {"pid": os.getpid()}
            async def cleanup(self) -> None:
                open("cleaned", "w").write(str(os.getpid()))
    """
    write(project, "pyproject.toml", "")
    write(project, "tests/llm/plugins/marker.py", plugin)
    write(
        project,
        "tests/llm/test_marker.yaml",
        SPEC.replace("tool: compare_values", "tool: marker_number")
        .replace("args: {value1: 1, value2: ONE}", "args: {}")
        .replace("comparison.equal", "comparison.pid"),
    )
    project.runpytest(*DRY, "tests/llm/test_marker.yaml").assert_outcomes(failed=1)
    pid = int((project.path / "cleaned").read_text())
    if sys.platform == "linux":
        assert not Path(f"/proc/{pid}").exists()


CONFTEST = """
import pytest
from pathlib import Path

@pytest.fixture(autouse=True)
def not_for_yaml():
    raise AssertionError("an autouse fixture was set up")

@pytest.fixture(scope="session")
def service():
    with open("journal", "a") as journal:
        print("start", file=journal, flush=True)
        yield {"port": 80}
        print("stop", file=journal, flush=True)

@pytest.fixture
def place(service, tmp_path):
    return [tmp_path, service["port"]]

@pytest.fixture
def connection():
    return object()

@pytest.fixture
def of_another(servce):
    return servce

@pytest.fixture
def first(second):
    return second

@pytest.fixture
def second(first):
    return first

@pytest.fixture
def broken():
    raise ValueError("no database")
"""
WITH_FIXTURES = """
test: {name: NAME, fixtures: [FIXTURES]}
steps: [{tool: assert_equals, args: {actual: "VALUE", expected: 80}}]
verdict: {pass_if: it is so, fail_if: it is not}
"""


def with_fixtures(name: str, fixtures: str, value: str) -> str:
    return WITH_FIXTURES.replace("NAME", name).replace("FIXTURES", fixtures).replace("VALUE", value)


def test_a_test_has_the_fixtures_that_it_names(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\n")
    write(pytester, "conftest.py", CONFTEST)
    for number, (fixtures, value) in enumerate(
        [
            ("service", "${service.port}"),
            ("place, connection", "${place.1}"),
            ("connection", "${connection}"),
            ("servce", "${servce.port}"),
            ("broken", "${broken}"),
            ("of_another", "${of_another}"),
            ("first", "${first}"),
        ],
        start=1,
    ):
        write(
            pytester,
            f"tests/llm/test_{number}.yaml",
            with_fixtures(f"Test {number}", fixtures, value),
        )
    result = pytester.runpytest(*DRY, "tests/llm")
    result.assert_outcomes(passed=2, failed=1, errors=4)
    assert (pytester.path / "journal").read_text() == "start\nstop\n"
    result.stdout.fnmatch_lines_random(
        [
            (
                "*{connection} cannot be used in a step: the fixture 'connection' has the type "
                "object, but tools *"
            ),
            (
                "*tests/llm/test_4.yaml:1: unknown fixture 'servce'; `pytest --fixtures` "
                "lists the known ones"
            ),
            "E *ValueError: no database",
            (
                "*tests/llm/test_6.yaml:1: the fixture 'of_another' requests 'servce', which is "
                "unknown or requests 'of_another' itself; `pytest --fixtures` lists the known ones"
            ),
            (
                "*tests/llm/test_7.yaml:1: the fixture 'second' requests 'first', which is "
                "unknown or requests 'second' itself; *"
            ),
        ]
    )
    assert "_pytest/" not in result.stdout.str(), "frames of pytest are shown"


def test_an_error_of_a_hook_of_the_project_is_shown_as_in_any_test(
    pytester: pytest.Pytester,
) -> None:
    write(pytester, "tests/llm/numbers.yaml", PASSES)
    pytester.makeconftest("def pytest_runtest_call(item): raise ValueError('of the project')")
    result = pytester.runpytest(*DRY)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *ValueError: of the project", "conftest.py:1: ValueError"])


def test_a_check_cannot_have_a_fixture_that_is_no_json(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\n")
    write(pytester, "conftest.py", CONFTEST)
    spec = with_fixtures("Test", "connection", "x")
    check = "checks: [{type: contains, value: '${connection}'}], args:"
    write(pytester, "tests/llm/test_it.yaml", spec.replace("args:", check))
    result = pytester.runpytest(*DRY, "tests/llm")
    result.stdout.fnmatch_lines(["*{connection} cannot be used in a step: the fixture*"])
