"""A model that an assertion asks and that there is not is an error before anything is asked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from llm_mock.suites import asked_models
from llm_mock.suites.asked_models import AskedModel
from tests.suites.conftest import Project, command_line

APP = """\
from pathlib import Path

def answer(prompt):
    with Path("asked").open("a") as file:
        file.write("asked ")
    return "Hello"
"""
SUITE = """\
apiVersion: llm-mock/v1
kind: TestSuite
metadata: {name: app}
target: {function: "app.py:answer"}
DEFAULTS
cases:
  - {name: first, prompt: Hi, repeat: 3, assertions: [ASSERTION]}
  - {name: second, prompt: Hi, repeat: 3, assertions: [ASSERTION]}
"""
JUDGE = "{type: judge, criteria: Polite}"
OTHER_JUDGE = "{type: judge, criteria: Polite, model: gpt-4o-minni}"
SIMILAR = "{type: similar, value: Hi, model: 3-smal}"


@pytest.fixture
def app(real_project: Project) -> Project:
    """Return a project with an application."""
    real_project.write("app.py", APP)
    return real_project


def write(app: Project, assertion: str, defaults: str = "") -> None:
    text = SUITE.replace("DEFAULTS", defaults).replace("ASSERTION", assertion)
    app.write("suite.yaml", text)


@pytest.mark.parametrize(
    ("assertion", "defaults", "options", "problem"),
    [
        (
            OTHER_JUDGE,
            "",
            (),
            "llm does not know the judge model 'gpt-4o-minni'. Did you mean ",
        ),
        (JUDGE, "defaults: {judge: gpt-4o-minni}", (), "Did you mean gpt-4o-mini"),
        (
            JUDGE,
            "defaults: {judge: gpt-4o}",
            ("--judge", "gpt-4o-minni"),
            "Did you mean gpt-4o-mini",
        ),
        (JUDGE, "defaults: {judge: zzz}", (), "Run `llm models` to list the known models"),
        (JUDGE, "", (), "No judge model: set model: … in the assertion"),
        (SIMILAR, "", (), "llm does not know the embedding model '3-smal'"),
        (
            "], user: {instructions: Be Ada., model: gpt-4o-minni}, tags: [",
            "",
            (),
            "llm does not know the simulated user's model 'gpt-4o-minni'. Did you mean ",
        ),
        (
            "], user: {instructions: Be Ada., model: zzz}, tags: [",
            "",
            (),
            "Run `llm models` to list the known models",
        ),
    ],
    ids=[
        *("assertion", "defaults", "option", "no-near-name", "none", "embedding"),
        *("user", "no-near-user"),
    ],
)
def test_nothing_is_asked_if_a_model_of_an_assertion_is_unknown(
    app: Project,
    assertion: str,
    defaults: str,
    options: tuple[str, ...],
    problem: str,
) -> None:
    write(app, assertion, defaults)
    ended = app.command("test", "-s", "suite.yaml", *options)
    assert ended.exit_code == 1
    assert f"Error: suite.yaml:7: {problem}" in ended.stderr or problem in ended.stderr
    assert ended.stderr.count("Error: ") == 1
    assert not Path("asked").exists()


def test_a_process_of_the_command_knows_the_models(
    app: Project, process_environment: dict[str, str]
) -> None:
    write(app, OTHER_JUDGE)
    ended = subprocess.run(
        command_line("test", "-s", "suite.yaml"),
        env=process_environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(
        "Error: suite.yaml:7: llm does not know the judge model 'gpt-4o-minni'. Did you mean "
    )
    assert ended.stderr.count("Error: ") == 1
    assert not Path("asked").exists()


def test_a_dry_run_needs_no_judge(app: Project) -> None:
    write(app, f"{OTHER_JUDGE}, {{type: equals, value: Hello}}")
    ended = app.command("test", "-s", "suite.yaml", "--dry-run")
    assert ended.exit_code == 0, ended.output


@pytest.mark.parametrize(
    ("assertion", "exit_code", "said"),
    [
        (OTHER_JUDGE, 1, "suite.yaml:7: llm does not know the judge model 'gpt-4o-minni'."),
        (SIMILAR, 1, "llm does not know the embedding model '3-smal'"),
        (OTHER_JUDGE.replace("gpt-4o-minni", "zzz"), 0, "llm does not know the judge model 'zzz'"),
        (OTHER_JUDGE.replace("gpt-4o-minni", "gpt-4o-mini"), 0, "suite 'app', 2 cases\n"),
    ],
    ids=["misspelt", "embedding", "plugin-missing", "known"],
)
def test_validate_knows_the_models_of_assertions(
    app: Project,
    assertion: str,
    exit_code: int,
    said: str,
) -> None:
    write(app, assertion)
    ended = app.command("validate", "suite.yaml")
    assert ended.exit_code == exit_code
    assert said in ended.output
    assert ended.output.count("llm does not know") <= 1


@pytest.fixture(scope="module")
def step_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of all plain-language tests: the server of its tools is started once."""
    return tmp_path_factory.mktemp("steps")


@pytest.mark.parametrize(
    ("by_ini", "judge", "exit_code", "said"),
    [
        (True, "gpt-4o-minni", 1, "step.yaml:3: llm does not know the judge model 'gpt-4o-minni'"),
        (False, "gpt-4o-minni", 1, "step.yaml:3: llm does not know the judge model 'gpt-4o-minni'"),
        (False, "zzz", 0, "1 step; llm does not know the judge model 'zzz'"),
        (False, "gpt-4o-mini", 0, "1 step\n"),
    ],
)
def test_validate_knows_the_models_of_steps(
    real_project: Project,
    step_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    by_ini: bool,
    judge: str,
    exit_code: int,
    said: str,
) -> None:
    monkeypatch.chdir(step_folder)
    check = "type: judge, criteria: Polite"
    ini = f"[pytest]\nllm_mock_judge = {judge}\n" if by_ini else "[pytest]\n"
    if not by_ini:
        check += f", model: {judge}"
    Path("pytest.ini").write_text(ini)
    step = f"{{tool: assert_true, args: {{condition: true}}, checks: [{{{check}}}]}}"
    verdict = "verdict: {pass_if: x, fail_if: y}"
    Path("step.yaml").write_text(f"test: {{name: x}}\nsteps:\n  - {step}\n{verdict}\n")
    ended = real_project.command("validate", "step.yaml")
    assert (ended.exit_code, said in ended.output) == (exit_code, True), ended.output


ROLE = """\
apiVersion: llm-mock/v1
kind: Agent
metadata: {name: helper}
spec: {role: Be brief, model: {provider: openai, name: gpt-4o-minni}}
"""


@pytest.mark.parametrize(
    "arguments",
    [("run", "role.yaml", "--prompt", "Hi"), ("test", "role.yaml", "--suite", "suite.yaml")],
    ids=["run", "test"],
)
@pytest.mark.parametrize(
    ("options", "exit_code", "place"),
    [((), 1, "role.yaml:4"), (("--model", "gpt-4o-minni"), 2, "--model")],
    ids=["in the role", "on the command line"],
)
def test_an_unknown_model_of_the_command_line_is_wrong_usage(
    real_project: Project,
    arguments: tuple[str, ...],
    options: tuple[str, ...],
    exit_code: int,
    place: str,
) -> None:
    real_project.write("role.yaml", ROLE)
    suite = SUITE.replace('target: {function: "app.py:answer"}\nDEFAULTS\n', "")
    real_project.write("suite.yaml", suite.replace("ASSERTION", "{type: equals, value: Hi}"))
    ended = real_project.command(*arguments, *options)
    assert ended.exit_code == exit_code
    assert f"Error: {place}: llm does not know the model 'gpt-4o-minni'" in ended.stderr
    assert ended.stderr.startswith("Usage: ") == (exit_code == 2)


def test_a_live_case_of_pytest_asks_nothing_either(pytester: pytest.Pytester) -> None:
    text = SUITE.replace("DEFAULTS", "").replace("ASSERTION", OTHER_JUDGE)
    (pytester.path / "suite.yaml").write_text(text)
    (pytester.path / "app.py").write_text(APP)
    pytester.makeini("[pytest]\nllm_mock_suites = suite.yaml\n")
    result = pytester.runpytest_inprocess("--llm-mock-live", "suite.yaml")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*llm does not know the judge model 'gpt-4o-minni'*"])
    assert not (pytester.path / "asked").exists()


def test_an_unknown_model_is_told_once_with_the_two_nearest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = dict.fromkeys(["gpt-4o-1", "gpt-4o-2", "gpt-4o-3", "other"])
    monkeypatch.setattr(asked_models, "_list_known_names", lambda name, is_embedding: known)
    asked = [
        AskedModel("judge", None, 1),
        AskedModel("judge", "gpt-4o-4", 2),
        AskedModel("judge", "gpt-4o-4", 3),
        AskedModel("embedding", "gpt-4o-4", 4),
        AskedModel("judge", "abc", 5),
    ]
    found = list(asked_models.find_unknown_models(asked))
    assert [(each.name, each.kind, each.line) for each in found] == [
        ("gpt-4o-4", "judge", 2),
        ("gpt-4o-4", "embedding", 4),
        ("abc", "judge", 5),
    ]
    assert [len(each.similar) for each in found] == [2, 2, 0]
