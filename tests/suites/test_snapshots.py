"""Snapshots: outputs that were accepted, and that later runs must give again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from llm_mock.suites import load_suite, run_suite
from llm_mock.suites.snapshots import Snapshots, get_snapshot_path, load_snapshots
from tests.suites.conftest import Project

HEAD = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: shop}\n"
TARGET = "target: {function: 'app.py:answer'}\n"
APP = """
from pathlib import Path

def answer(prompt):
    return Path(prompt).read_text()
"""
CASES = """cases:
  - {name: hours, prompt: hours.txt, assertions: [{type: contains, value: nine}]}
  - {name: price, prompt: price.txt}
"""
FILE = Path("__snapshots__/shop.snap")


@pytest.fixture
def shop(project: Project) -> Project:
    """Return a project whose application answers what is in files."""
    project.write("app.py", APP)
    project.write("hours.txt", "From nine\nto five.")
    project.write("price.txt", "7 $")
    project.write("shop.yaml", HEAD + TARGET + CASES)
    return project


def run(shop: Project, *options: str) -> tuple[int, str]:
    """Run the suite, and return the exit code and the output."""
    ended = shop.command("test", "-s", "shop.yaml", *options)
    return ended.exit_code, ended.output


def test_an_update_saves_outputs_in_a_file_of_their_own(shop: Project) -> None:
    before = Path("shop.yaml").read_bytes()
    code, output = run(shop, "--update")
    assert code == 0
    assert f"Snapshots in {FILE}: 2 written, 0 updated, 0 unchanged" in output
    assert FILE.read_text() == (
        "version: 1\ncases:\n  hours:\n  - |-\n    From nine\n    to five.\n  price:\n  - 7 $\n"
    )
    assert Path("shop.yaml").read_bytes() == before


def test_nothing_is_compared_or_written_without_an_update(shop: Project) -> None:
    code, output = run(shop, "-v")
    assert code == 0
    assert "napshot" not in output
    assert not FILE.exists()


def test_another_output_fails_with_a_difference_in_every_output(shop: Project) -> None:
    run(shop, "--update")
    assert run(shop)[0] == 0
    shop.write("hours.txt", "From nine\nto six.")
    outputs = [word for name in ("o.json", "o.md", "o.xml", "o.html") for word in ("-o", name)]
    code, output = run(shop, *outputs)
    assert code == 1
    assert "Output differs from its snapshot; to accept it, run `llm-mock test --update`:" in output
    for line in ("--- snapshot", "+++ output", "-to five.", "+to six."):
        assert line in output
    for name in ("o.json", "o.md", "o.xml", "o.html"):
        text = Path(name).read_text()
        assert "-to five." in text
        assert "+to six." in text
    (suite,) = json.loads(Path("o.json").read_text())["suites"]
    checks = [check["type"] for check in suite["cases"][0]["attempts"][0]["assertions"]]
    assert checks == ["contains", "snapshot"]
    assert (suite["passed"], suite["failed"]) == (1, 1)


def test_an_update_accepts_what_changed_and_says_so(shop: Project) -> None:
    run(shop, "--update")
    shop.write("price.txt", "8 $")
    code, output = run(shop, "--update")
    assert code == 0
    assert "0 written, 1 updated, 1 unchanged" in output
    assert run(shop)[0] == 0
    assert "8 $" in FILE.read_text()


def test_an_update_of_nothing_leaves_the_file_as_it_is(shop: Project) -> None:
    run(shop, "--update")
    text = FILE.read_text() + "# by hand\n"
    FILE.write_text(text)
    assert "0 written, 0 updated, 2 unchanged" in run(shop, "--update")[1]
    assert FILE.read_text() == text


def test_a_selected_case_leaves_the_snapshots_of_others(shop: Project) -> None:
    run(shop, "--update", "-k", "hours")
    assert "1 written" in run(shop, "--update", "-k", "price")[1]
    snapshots = load_snapshots(Path("shop.yaml"))
    assert snapshots is not None
    assert list(snapshots.outputs) == ["hours", "price"]


def test_a_failed_case_is_not_saved_without_a_word(shop: Project) -> None:
    shop.write("hours.txt", "From ten.")
    code, output = run(shop, "--update")
    assert code == 1
    assert "1 written, 0 updated, 0 unchanged" in output
    assert "not saved: hours, because it failed" in output
    assert "ten" not in FILE.read_text()


def test_a_case_of_which_nothing_was_checked_is_not_saved(shop: Project) -> None:
    check = "assertions: [{type: skipped, reason: later}]"
    cases = f"cases: [{{name: c, prompt: price.txt, {check}}}]\n"
    shop.write("shop.yaml", HEAD + TARGET + cases)
    assert "not saved: c, because it was not checked" in run(shop, "--update")[1]
    assert not FILE.exists()


def test_runs_with_different_outputs_have_no_snapshot(shop: Project) -> None:
    shop.write("app.py", "def answer(prompt, n=[]):\n    n.append(1)\n    return str(len(n))\n")
    output = run(shop, "--update", "-k", "price", "--repeat", "2")[1]
    assert "not saved: price, because its runs returned different outputs" in output


def test_a_dry_run_saves_and_compares_nothing(shop: Project) -> None:
    ended = shop.command("test", "-s", "shop.yaml", "--dry-run", "--update")
    assert ended.exit_code == 2
    assert "--update saves the outputs of a real run" in ended.output
    run(shop, "--update")
    shop.write("price.txt", "9 $")
    code, output = run(shop, "--dry-run", "-v")
    assert code == 0
    assert "Skipped in a dry run: snapshot" in output
    assert "1 of 2 cases not checked" in output


def test_the_transformed_output_is_saved_turn_by_turn_in_each_variant(shop: Project) -> None:
    shop.write("app.py", "import json\ndef answer(prompt):\n    return {'id': 7, 'say': prompt}\n")
    matrix = "matrix: {targets: [{name: one, function: 'app.py:answer'}]}\n"
    cases = "cases: [{name: c, transform: $.say, turns: [{prompt: Hi}, {prompt: Ho}]}]\n"
    shop.write("shop.yaml", HEAD + matrix + cases)
    run(shop, "--update")
    snapshots = load_snapshots(Path("shop.yaml"))
    assert snapshots is not None
    assert snapshots.outputs == {"c[one]": ["Hi", "Ho"]}
    assert run(shop)[0] == 0
    shop.write("shop.yaml", HEAD + matrix + cases.replace("prompt: Ho", "prompt: Hu"))
    code, output = run(shop)
    assert code == 1
    assert "turn 2: Output differs" in output


@pytest.mark.parametrize("saved", [["7 $", "more"], []])
def test_another_number_of_turns_differs(shop: Project, saved: list[str]) -> None:
    run(shop, "--update")
    FILE.write_text(f"version: 1\ncases:\n  price: {json.dumps(saved)}\n")
    code, output = run(shop, "-k", "price")
    assert code == 1
    assert "(no such turn)" in output


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "a\n\n",
        " a ",
        "a\r\nb\r",
        "tab\t\x00\x1b[1m",
        "yes",
        "7",
        "ünï ✓",
        "\ud800",
        "# a",
    ],
)
def test_every_text_is_the_same_after_it_was_saved(shop: Project, text: str) -> None:
    shop.write("app.py", f"def answer(prompt):\n    return {text!r}\n")
    run(shop, "--update", "-k", "price")
    code, output = run(shop, "-k", "price", "-v")
    assert code == 0, output
    assert "Output matches its snapshot" in output


def test_secrets_are_not_saved(shop: Project) -> None:
    key = "sk-proj-" + "a1B2" * 12
    shop.write("price.txt", f"My key is {key}")
    run(shop, "--update")
    assert key not in FILE.read_text()
    assert run(shop)[0] == 0


def test_ends_of_lines_that_differ_are_named(shop: Project) -> None:
    run(shop, "--update")
    shop.write("price.txt", "7 $\n")
    assert "only the line endings differ" in run(shop)[1]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("version: 2\ncases: {}\n", "version"),
        ("version: 1\ncases: {c: 7}\n", "a list"),
        ("version: 1\nsuites: {}\n", "suites"),
        ("[", "shop.snap"),
    ],
)
def test_a_broken_file_is_an_error_with_its_name(shop: Project, content: str, problem: str) -> None:
    shop.write(str(FILE), content)
    code, output = run(shop)
    assert code == 1
    assert problem in output
    assert "shop.snap" in output


def test_in_python_and_in_pytest_snapshots_are_compared(
    shop: Project, pytester: pytest.Pytester
) -> None:
    shop.write("app.py", APP.replace("Path(prompt)", "(Path(__file__).parent / prompt)"))
    # The folder of pytester is the current one.
    suite_file = str(shop.path / "shop.yaml")
    assert shop.command("test", "-s", suite_file, "--update").exit_code == 0
    shop.write("price.txt", "9 $")
    suite = load_suite(shop.path / "shop.yaml")
    result = run_suite(None, suite)
    assert [case.status for case in result.case_results] == ["passed", "failed"]
    result = run_suite(None, suite, compare_snapshots=False)
    assert result.all_passed
    shop.write("pytest.ini", "[pytest]\nllm_mock_suites = shop.yaml\n")
    ended = pytester.runpytest(shop.path, "--rootdir", shop.path, "--llm-mock-live")
    ended.assert_outcomes(passed=1, failed=1)
    ended.stdout.fnmatch_lines(["*Output differs from its snapshot*", "*-7 $*", "*+9 $*"])


def test_a_suite_without_a_file_has_no_snapshots() -> None:
    assert load_snapshots(None) is None
    assert get_snapshot_path(Path("a/b.yaml")) == Path("a/__snapshots__/b.snap")
    assert Snapshots(Path("x")).check("c", (), dry_run=False) == []
