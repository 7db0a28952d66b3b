"""Suites and roles that are valid YAML but would mean nothing or never end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from llm_mock.cli import main
from llm_mock.errors import InvalidFile
from llm_mock.suites import load_role, load_suite, run_suite
from llm_mock.suites.schema import TestSuiteDefinition

HEAD = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: x}\n"
ROLE = "apiVersion: llm-mock/v1\nkind: Agent\nmetadata: {name: x}\nspec:\n  role: x\n  model: m\n"


def problem(path: Path, text: str) -> str:
    """Return what is wrong with a suite, without its path."""
    path.mkdir(exist_ok=True)
    (path / "suite.yaml").write_text(text)
    with pytest.raises(InvalidFile) as caught:
        load_suite(path / "suite.yaml")
    return str(caught.value).replace(f"{path / 'suite.yaml'}:", "")


def with_assertion(assertion: str) -> str:
    return f"{HEAD}cases:\n- name: one\n  prompt: x\n  variables: {{none: ''}}\n  assertions:\n  - {{{assertion}}}\n"  # noqa: E501


@pytest.mark.parametrize(
    ("assertion", "why"),
    [
        *(
            (f"type: {name}, value: ''", "value: should not be empty")
            for name in ("contains", "not_contains")
        ),
        ("type: icontains, value: ''", "value: should not be empty"),
        ("type: contains, value: '${none}'", "value: should not be empty"),
        ("type: starts_with, value: ''", "value: should not be empty"),
        ("type: contains_any, values: [a, '']", "values.1: should not be empty"),
        ("type: contains_all, values: ['']", "values.0: should not be empty"),
        *(
            (f"type: regex, pattern: '{pattern}'", f"pattern: {pattern!r} matches every output")
            for pattern in (
                "",
                "x*",
                ".*",
                "^",
                "$",
                "(a|b)?",
                r"\s*",
                "^(?P<word>[^$]*)",
                r"\$?",
                ".*$",
            )
        ),
        ("type: not_regex, pattern: '.*'", "pattern: '.*' matches every output"),
        (
            "type: tool_calls, calls: [], mode: superset",
            "mode superset without calls: every run would pass",
        ),
        (
            "type: tool_calls, calls: [], mode: in_order",
            "mode in_order without calls: every run would pass",
        ),
        (
            "type: tool_calls, calls: [a], mode: in_order, allow_repeats: true",
            "mode in_order: allow_repeats needs a mode without an order",
        ),
        (
            "type: tool_calls, calls: [a], allow_repeats: true",
            "mode strict: allow_repeats needs a mode without an order",
        ),
        ("type: tool_calls, calls: ['']", "calls.0.name: should not be empty"),
        ("type: max_tokens, value: true", "value: should be a whole number, not true"),
        ("type: max_latency, value: .inf", "value: should be a finite number, not .inf"),
        ("type: max_latency, value: true", "value: should be a number, not true"),
        ("type: max_cost, value: .nan", "value: should be a finite number, not .nan"),
        ("type: similar, value: x, threshold: 0", "threshold: should be more than 0"),
        ("type: similar, value: x, threshold: true", "threshold: should be a number, not true"),
        ("type: similar, value: ' '", "value: should not be empty"),
        ("type: similar, value: x, model: ''", "model: should not be empty"),
        ("type: judge, criteria: ' '", "criteria: should not be empty"),
        (
            "type: python, function: '../checks.py:f'",
            "function: '../checks.py' is outside of the suite's folder",
        ),
        (
            "type: python, function: '/checks.py:f'",
            "function: '/checks.py' is outside of the suite's folder",
        ),
    ],
)
def test_an_assertion_that_says_nothing_is_an_error(
    tmp_path: Path, assertion: str, why: str
) -> None:
    found = problem(tmp_path, with_assertion(assertion))
    assert found.startswith(("5: case 'one': ", "9: case 'one': "))
    assert why in found


@pytest.mark.parametrize(
    "assertion",
    [
        r"type: regex, pattern: '^$'",
        r"type: regex, pattern: '^(?!.*secret)'",
        r"type: regex, pattern: '^[a-z]*$'",
        "type: regex, pattern: '[[a]'",
        r"type: regex, pattern: '\A\d*\Z'",
        "type: regex, pattern: '.+'",
        "type: equals, value: ''",
        "type: contains, value: ' '",
        "type: tool_calls, calls: []",
        "type: max_tokens, value: 0",
    ],
)
def test_an_assertion_that_some_outputs_break_is_none(tmp_path: Path, assertion: str) -> None:
    (tmp_path / "suite.yaml").write_text(with_assertion(assertion))
    assert load_suite(tmp_path / "suite.yaml").cases


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("repeat: 1000000000000", "repeat: should be at most 10,000"),
        ("repeat: true", "repeat: should be a whole number, not true"),
        ("threshold: 0", "threshold: should be more than 0"),
        ("threshold: .nan", "threshold: should be a finite number, not .nan"),
        ("threshold: false", "threshold: should be a number, not false"),
        ("tags: ['']", "tags.0: should not be empty"),
    ],
)
def test_a_number_that_makes_no_sense_is_an_error_with_its_line(
    tmp_path: Path, line: str, why: str
) -> None:
    text = f"{HEAD}cases:\n- name: one\n  prompt: x\n  {line}\n"
    assert problem(tmp_path, text) == f"7: case 'one': {why}"


def test_a_blank_name_is_an_error(tmp_path: Path) -> None:
    assert problem(tmp_path, f"{HEAD}cases:\n- {{name: '  ', prompt: x}}\n").endswith(
        "name: should not be empty"
    )
    assert "metadata.name: should not be empty" in problem(
        tmp_path, HEAD.replace("name: x", "name: ' '")
    )


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (
            "model: {provider: p, name: m, temperature: .nan}",
            "temperature: should be a finite number, not .nan",
        ),
        (
            "model: {provider: p, name: m, temperature: true}",
            "temperature: should be a number, not true",
        ),
        (
            "model: {provider: p, name: m, max_tokens: true}",
            "max_tokens: should be a whole number, not true",
        ),
        ("model: {provider: p, name: ' '}", "name: should not be empty"),
        (
            f"tools: [{{type: cli, name: x, command: y, timeout: 1{'0' * 30}}}]",
            "timeout: should be at most 86,400",
        ),
        (
            "tools: [{type: cli, name: x, command: y, timeout: .inf}]",
            "timeout: should be a finite number, not .inf",
        ),
        (
            "guardrails: {max_request_limit: true}",
            "max_request_limit: should be a whole number, not true",
        ),
    ],
)
def test_a_role_is_held_to_the_same(tmp_path: Path, part: str, why: str) -> None:
    path = tmp_path / "role.yaml"
    path.write_text(
        ROLE.replace("  model: m\n", "")
        + f"  {part}\n"
        + ("" if "model:" in part else "  model: m\n")
    )
    with pytest.raises(InvalidFile) as caught:
        load_role(path)
    assert str(caught.value).startswith(f"{path}:6: spec.")
    assert str(caught.value).endswith(why)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--threshold", "0"),
        ("--threshold", "nan"),
        ("--max-cost", "inf"),
        ("--max-cost", "nan"),
        ("--repeat", "1" + "0" * 12),
        ("--retry", "1" + "0" * 12),
    ],
)
def test_options_of_the_command_are_held_to_the_same(arguments: tuple[str, str]) -> None:
    result = CliRunner().invoke(main, ["test", "role.yaml", "-s", "suite.yaml", *arguments])
    assert result.exit_code == 2
    assert f"Invalid value for '{arguments[0]}'" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        {"repeat": True},
        {"repeat": 10**12},
        {"retry": 10**12},
        {"threshold": 0},
        {"threshold": True},
    ],
)
def test_arguments_of_run_suite_are_held_to_the_same(
    tmp_path: Path, arguments: dict[str, object]
) -> None:
    (tmp_path / "role.yaml").write_text(ROLE)
    suite = TestSuiteDefinition.model_validate(
        {"apiVersion": "llm-mock/v1", "kind": "TestSuite", "metadata": {"name": "x"}}
    )
    with pytest.raises(ValueError, match=f"^{next(iter(arguments))} is "):
        run_suite(load_role(tmp_path / "role.yaml"), suite, dry_run=True, **arguments)  # type: ignore[arg-type]


OUTSIDE = f"{HEAD}cases:\n- name: one\n  prompt_file: {{name}}\n"


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret.txt", "link.txt", "folder/link.txt"])
@pytest.mark.parametrize("key", ["prompt_file", "expected_output_file"])
def test_a_file_outside_of_the_folder_of_the_suite_is_refused(
    tmp_path: Path, name: str, key: str
) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "suites"
    folder.mkdir()
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "folder").symlink_to(tmp_path)
    (tmp_path / "link.txt").write_text("secret")
    other = "" if key == "prompt_file" else "  prompt: x\n"
    found = problem(folder, f"{HEAD}cases:\n- name: one\n{other}  {key}: {name}\n")
    assert f"case 'one': {key}: {name} is outside of the folder {folder}:" in found
    assert "--files-in FOLDER" in found


def test_a_folder_can_be_allowed(tmp_path: Path) -> None:
    (tmp_path / "suites").mkdir()
    (tmp_path / "prompt.txt").write_text("Hello\n")
    path = tmp_path / "suites" / "suite.yaml"
    path.write_text(f"{HEAD}cases:\n- name: one\n  prompt_file: ../prompt.txt\n")
    assert load_suite(path, files_in=tmp_path).cases[0].prompt == "Hello"
    assert CliRunner().invoke(main, ["validate", str(path)]).exit_code == 1
    assert (
        CliRunner().invoke(main, ["validate", str(path), "--files-in", str(tmp_path)]).exit_code
        == 0
    )


def test_pytest_allows_a_folder_by_its_ini(pytester: pytest.Pytester) -> None:
    pytester.makeini(
        "[pytest]\nllm_mock_suites = suites/*.yaml = role.yaml\nllm_mock_files_in = .\n"
    )
    for name, text in {
        "role.yaml": ROLE,
        "prompt.txt": "Hello",
        "suites/suite.yaml": f"{HEAD}cases:\n- name: one\n  prompt_file: ../prompt.txt\n",
    }.items():
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    pytester.runpytest_inprocess("suites").assert_outcomes(passed=1)
    pytester.makeini("[pytest]\nllm_mock_suites = suites/*.yaml = role.yaml\n")
    result = pytester.runpytest_inprocess("suites")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*prompt.txt is outside of *llm_mock_files_in*"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("name", ["pipe", "zero"])
def test_a_file_without_end_is_refused_wherever_one_is_named(tmp_path: Path, name: str) -> None:
    if name == "pipe":
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).symlink_to("/dev/zero")
    for load in (load_suite, load_role):
        with pytest.raises(InvalidFile, match="not a regular file, but a pipe or a device"):
            load(tmp_path / name)
    if name == "pipe":
        assert "pipe: cannot be read: not a regular file" in problem(
            tmp_path, OUTSIDE.replace("{name}", name)
        )


@pytest.mark.parametrize(
    "case",
    [
        "prompt: '" + "${a}" * 1_000 + "'\n  variables: {a: " + "x" * 100_000 + "}",
        "prompt: &a '" + "x" * 1_000_000 + "${a}'\n  rows: [" + "{a: 1}, " * 1_000 + "]",
        "prompt: x\n  rows: ["
        + "{a: 1}, " * 10_000
        + "]\n  assertions: ["
        + "{type: contains, value: x}, " * 1_000
        + "]",
        "turns: [" + "{prompt_file: large.txt}, " * 100 + "]",
    ],
    ids=["variables", "rows", "assertions", "files"],
)
def test_a_small_file_does_not_become_a_large_suite(tmp_path: Path, case: str) -> None:
    (tmp_path / "large.txt").write_text("x" * 2_000_000)
    found = problem(tmp_path, f"{HEAD}cases:\n- name: one\n  {case}\n")
    assert found.startswith("5: case 'one': with ")
    assert "50 million characters: use fewer" in found or "more than 20,000,000 characters" in found
