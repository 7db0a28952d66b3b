"""`llm-mock test --cassette`: what models answer is recorded beside the suite, and replayed."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import llm
import llm.plugins
import pytest

from llm_mock.agents import Agent
from llm_mock.cassettes import CassetteConfig
from llm_mock.errors import InvalidFile
from llm_mock.suites import Attempt, CaseResult, TurnResult, run_suite
from llm_mock.suites.cassette_settings import CassetteSettings
from tests.suites.cases import EXAMPLES, case, suite
from tests.suites.conftest import HEAD, Project, statuses
from tests.suites.recorded import CASES, ROLE, Parrot, recorded
from tests.suites.recorded import parrot as parrot


def test_what_was_answered_is_recorded_and_not_asked_again(
    project: Project, parrot: Parrot
) -> None:
    project.write_cases(CASES)
    first = project.test("--cassette")
    assert (first.exit_code, parrot.asked) == (0, ["One", "Two"]), first.output
    assert recorded(project) == {"a.llm.yaml": ["One"], "b.llm.yaml": ["Two"]}
    project.write_cases(CASES.replace("Answer 2", "Answer 7") + "  - {name: c, prompt: Three}\n")
    second = project.test("--cassette")
    assert statuses(second.stdout) == {"a": "PASS", "b": "FAIL", "c": "PASS"}
    assert parrot.asked == ["One", "Two", "Three"]
    third = project.test("--cassette", "--record", "none", "-j", "3")
    assert statuses(third.stdout) == {"a": "PASS", "b": "FAIL", "c": "PASS"}
    assert parrot.asked == ["One", "Two", "Three"]


def test_each_repeat_and_each_variant_has_its_own_recording(
    project: Project, parrot: Parrot
) -> None:
    project.write_cases("  - {name: a, prompt: One, repeat: 3}\n")
    project.test("--cassette", "-o", "first.json")
    assert recorded(project) == {f"a{run}.llm.yaml": ["One"] for run in ("", ".run-2", ".run-3")}
    project.test("--cassette", "--record", "none", "-o", "second.json")
    assert (
        outputs("second.json")
        == outputs("first.json")
        == [f"Answer {number} to One" for number in (1, 2, 3)]
    )
    project.test("--cassette", "--model", "parrot", "--model", "finch", "--repeat", "1")
    assert {name for name in recorded(project) if "[" in name} == {
        "a[parrot].llm.yaml",
        "a[finch].llm.yaml",
    }


def outputs(file: str) -> list[str]:
    """Return what was answered in each run of the first case of a result."""
    attempts = json.loads(Path(file).read_text())["suites"][0]["cases"][0]["attempts"]
    return [turn["output"] for attempt in attempts for turn in attempt["turns"]]


def test_a_judge_is_recorded_and_its_verdict_judged_again(project: Project, parrot: Parrot) -> None:
    check = "{type: judge, criteria: It is an answer}"
    project.write_cases(f"  - {{name: a, prompt: One, assertions: [{check}]}}\n")
    assert project.test("--cassette").exit_code == 0
    assert [len(prompts) for prompts in recorded(project).values()] == [2]
    result = project.test("--cassette", "--record", "none", "-v")
    assert "Judged 2" in result.stdout
    project.write_cases(
        f"  - {{name: a, prompt: One, assertions: [{check.replace('an answer', 'a poem')}]}}\n"
    )
    assert project.test("--cassette").exit_code == 0
    assert len(parrot.asked) == 3


def test_an_interrupted_run_goes_on_where_it_stopped(project: Project, parrot: Parrot) -> None:
    project.write_cases(CASES + "  - {name: c, turns: [{prompt: Three}, {prompt: Four}]}\n")
    parrot.interrupted_at = "Four"
    assert project.test("--cassette").exit_code == 130
    assert recorded(project) == {
        "a.llm.yaml": ["One"],
        "b.llm.yaml": ["Two"],
        "c.llm.yaml": ["Three"],
    }
    assert "incomplete: true" in Path("cassettes/tests/c.llm.yaml").read_text()
    parrot.interrupted_at = None
    result = project.test("--cassette", "--record", "once")
    assert (result.exit_code, parrot.asked) == (0, ["One", "Two", "Three", "Four"]), result.output
    assert "incomplete" not in Path("cassettes/tests/c.llm.yaml").read_text()
    assert "\nCassettes: 3 calls replayed, 1 recorded\n" in result.stdout


@pytest.mark.parametrize(
    ("mode", "stays"), [("once", False), ("new_episodes", False), ("none", True)]
)
def test_a_run_that_ended_after_its_last_answer_is_whole_the_next_time(
    mode: str, stays: bool, project: Project, parrot: Parrot
) -> None:
    project.write_cases("  - {name: a, prompt: One}\n")
    project.test("--cassette")
    path = Path("cassettes/tests/a.llm.yaml")
    path.write_text(path.read_text().replace("version: 2\n", "version: 2\nincomplete: true\n"))
    assert project.test("--cassette", "--record", mode).exit_code == 0
    assert ("incomplete" in path.read_text()) is stays
    assert parrot.asked == ["One"]


def test_what_a_provider_refused_is_not_recorded_and_asked_again(
    project: Project, parrot: Parrot
) -> None:
    project.write_cases(CASES)
    parrot.fails = llm.ModelError("overloaded")
    assert project.test("--cassette").exit_code == 1
    assert recorded(project) == {}
    parrot.fails = None
    assert project.test("--cassette").exit_code == 0


def test_a_run_that_failed_before_a_retry_is_not_replayed(project: Project, parrot: Parrot) -> None:
    project.write_cases("  - {name: a, prompt: One}\n")
    parrot.fails_once = llm.ModelError("overloaded")
    assert project.test("--cassette", "--retry", "1").exit_code == 0
    assert recorded(project) == {"a.llm.yaml": ["One"]}
    assert project.test("--cassette", "--record", "none").exit_code == 0


def test_a_run_whose_time_is_up_is_asked_again(project: Project, parrot: Parrot) -> None:
    project.write_cases("  - {name: a, turns: [{prompt: One}, {prompt: Slow}], timeout: 0.3}\n")
    result = project.test("--cassette")
    assert "Timed out after 0.3 s" in result.stdout
    assert recorded(project) == {"a.llm.yaml": ["One"]}
    parrot.slow = 0
    assert project.test("--cassette").exit_code == 0
    assert recorded(project) == {"a.llm.yaml": ["One", "Slow"]}


def test_what_is_missing_is_named_with_the_command_that_records_it(
    project: Project, parrot: Parrot
) -> None:
    project.write_cases(CASES)
    result = project.test("--cassette", "--record", "none")
    assert (result.exit_code, parrot.asked) == (1, [])
    assert "There is no cassette cassettes/tests/a.llm.yaml for this call" in result.stdout
    assert "llm-mock test role.yaml -s tests.yaml --cassette --record once" in result.stdout
    assert "pytest" not in result.stdout


def test_a_damaged_cassette_fails_its_case_with_its_line(project: Project, parrot: Parrot) -> None:
    project.write_cases(CASES)
    project.test("--cassette")
    path = Path("cassettes/tests/a.llm.yaml")
    path.write_text(path.read_text().replace("    prompt: One", "    prompt: [One"))
    result = project.test("--cassette", "--record", "none")
    assert statuses(result.stdout) == {"a": "FAIL", "b": "PASS"}
    assert re.search(r"cassettes/tests/a\.llm\.yaml:\d+: ", result.stdout)


def test_many_cases_at_once_have_a_cassette_each(project: Project, parrot: Parrot) -> None:
    judged = "assertions: [{type: judge, criteria: Good}]"
    project.write_cases(
        "".join(f"  - {{name: c{n}, prompt: Say {n}, {judged}}}\n" for n in range(20))
    )
    assert project.test("--cassette", "-j", "8").exit_code == 0
    first = {name: prompts[0] for name, prompts in recorded(project).items()}
    assert first == {f"c{n}.llm.yaml": f"Say {n}" for n in range(20)}
    assert project.test("--cassette", "--record", "none", "-j", "8").exit_code == 0
    assert len(parrot.asked) == 40


def test_a_retry_is_in_the_cassette_of_its_run(project: Project, parrot: Parrot) -> None:
    project.write_cases(
        "  - {name: a, prompt: One, assertions: [{type: contains, value: Answer 2}]}\n"
    )
    assert project.test("--cassette", "--retry", "3").exit_code == 0
    assert recorded(project) == {"a.llm.yaml": ["One", "One"]}
    result = project.test("--cassette", "--record", "none", "--retry", "3")
    assert (result.exit_code, len(parrot.asked)) == (0, 2)


def test_what_is_replayed_takes_no_time_and_is_counted_in_every_output(
    project: Project, parrot: Parrot
) -> None:
    checks = "[{type: max_latency, value: 9}, {type: max_tokens, value: 5}]"
    project.write_cases(f"  - {{name: a, prompt: One, assertions: {checks}}}\n")
    assert "skipped" not in project.test("--cassette").stdout
    result = project.test("--cassette", "-v", "-o", "out.json", "-o", "out.md", "-o", "out.html")
    assert "Skipped with a cassette: max_latency, replayed replies take" in " ".join(
        re.findall(r"[\w,:.]+", result.stdout)
    )
    assert "1 of 2 checks skipped with a cassette" in result.stdout
    (suite,) = json.loads(Path("out.json").read_text())["suites"]
    (attempt,) = suite["cases"][0]["attempts"]
    assert (suite["cassette"], attempt["replayed"], attempt["recorded"]) == ("new_episodes", 1, 0)
    assert "Cassettes: 1 call replayed, 0 recorded" in Path("out.md").read_text()
    assert "Cassettes: 1 call replayed, 0 recorded" in Path("out.html").read_text()


def test_embeddings_are_in_no_cassette_and_that_is_said(project: Project, parrot: Parrot) -> None:
    project.write(
        "checks.py",
        "import llm\ndef near(output): llm.get_embedding_model('3-small').embed(output)\n",
    )
    checks = {"a": "{type: similar, value: One}", "b": "{type: python, function: 'checks.py:near'}"}
    project.write_cases(
        "".join(f"  - {{name: {n}, prompt: One, assertions: [{c}]}}\n" for n, c in checks.items())
    )
    result = project.test("--cassette")
    assert statuses(result.stdout) == {"a": "NOT CHECKED", "b": "FAIL"}
    assert "was called, but cassettes cannot record embeddings" in result.stdout


def test_keys_are_in_no_cassette(
    project: Project, parrot: Parrot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "abc-very-secret-123")
    project.write_cases("  - {name: a, prompt: The token is abc-very-secret-123}\n")
    assert project.test("--cassette").exit_code == 0
    assert "abc-very-secret-123" not in Path("cassettes/tests/a.llm.yaml").read_text()
    assert project.test("--cassette", "--record", "none").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--cassette", "--dry-run"],
            "--cassette records a real run, but --dry-run calls no model",
        ),
        (["--record", "none"], "--record needs --cassette"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(
    arguments: list[str], told: str, project: Project
) -> None:
    result = project.test(*arguments)
    assert result.exit_code == 2
    assert told in result.output


def test_the_suite_says_what_is_redacted_and_what_does_not_count(
    project: Project, parrot: Parrot
) -> None:
    settings = r"cassette: {redact: ['customer-\d+'], normalize: ['build \d+']}"
    cases = "  - {name: a, prompt: customer-17 asks of build 1}\n"
    project.write("tests.yaml", HEAD.replace("cases:", f"{settings}\ncases:") + cases)
    assert "customer-17" not in project.test("--cassette").output
    assert recorded(project) == {"a.llm.yaml": ["[redacted] asks of build 1"]}
    project.write(
        "tests.yaml",
        HEAD.replace("cases:", f"{settings}\ncases:") + cases.replace("build 1", "build 2"),
    )
    assert project.test("--cassette", "--record", "none").exit_code == 0
    project.write("tests.yaml", HEAD.replace("cases:", "cassette: {redact: ['(']}\ncases:") + cases)
    result = project.test("--cassette")
    assert re.search(r"tests\.yaml:5: .*'\(' is not a valid regular expression", result.stderr), (
        result.stderr
    )


def test_the_function_of_a_project_normalizes_texts_before_the_patterns_of_a_suite() -> None:
    settings = CassetteSettings(redact=("key-.",), normalize=(r"build \d+",))
    project = CassetteConfig(normalize=lambda text: text.replace("No. ", "build "), redact=["id-."])
    config = settings.add_to(project)
    assert config.redact == (re.compile("id-."), re.compile("key-."))
    assert config.normalize_value(["No. 7", "build 7", "build"]) == ["…", "…", "build"]


def test_tools_run_while_the_answers_of_the_model_are_replayed(
    project: Project, parrot: Parrot
) -> None:
    tool = (
        f"  tools: [{{type: mcp, command: python, args: [-m, bank.server], cwd: '{EXAMPLES}'}}]\n"
    )
    project.write("role.yaml", ROLE + tool)
    called = "{type: tool_called, name: history}"
    project.write_cases(f"  - {{name: a, prompt: Call history, assertions: [{called}]}}\n")
    for mode in ("new_episodes", "none"):
        result = project.test("--cassette", "--record", mode, "-o", "out.json")
        assert result.exit_code == 0, result.output
        (call,) = json.loads(Path("out.json").read_text())["suites"][0]["cases"][0]["attempts"][0][
            "turns"
        ][0]["tool_calls"]
        assert (call["name"], call["error"]) == ("history", None)
        assert call["duration_s"] > 0
    assert len(parrot.asked) == 2


@pytest.mark.parametrize(
    ("recorded", "replayed", "spent"), [(1, 0, 2), (1, 1, 2), (0, 2, 0), (0, 0, 2)]
)
def test_only_what_was_asked_for_real_was_spent(recorded: int, replayed: int, spent: int) -> None:
    turn = TurnResult("Hi", "Hello", cost=Decimal(2))
    attempt = Attempt((turn,), (), recorded=recorded, replayed=replayed)
    result = CaseResult(case(), (attempt,))
    assert (result.spent, result.cost) == (spent, 2)


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        (
            {"cassette": "sometimes"},
            ValueError,
            "Unknown record mode 'sometimes'. Use one of none, once, new_",
        ),
        (
            {"cassette": "once", "dry_run": True},
            ValueError,
            "A dry run calls no real model, so it cannot use cassettes",
        ),
        ({"cassette": "once"}, InvalidFile, "A suite made in Python has no cassettes"),
    ],
)
def test_in_python_what_makes_no_sense_is_refused(
    arguments: Any, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        run_suite(Agent("parrot"), suite(case()), **arguments)
