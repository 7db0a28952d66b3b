"""Plain-language tests that are valid YAML without meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.specs import load_spec
from llm_mock.specs.references import resolve_references

TEXT = "test: {name: x}\nsteps:\n- tool: sleep\n  expect: x\nverdict:\n  pass_if: p\n  fail_if: f\n"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("name: x", "name: ' '", "1: test.name: should not be empty"),
        ("name: x", "name: x, tags: ['']", "1: test.tags.0: should not be empty"),
        ("name: x", f"name: x, timeout: 1{'0' * 30}", "1: test.timeout: should be at most 86,400"),
        (
            "name: x",
            "name: x, timeout: 1.0e+30",
            "1: test.timeout: should be a whole number, not the number 1e+30",
        ),
        (
            "name: x",
            "name: x, timeout: true",
            "1: test.timeout: should be a whole number, not true",
        ),
        ("steps:\n- tool: sleep\n  expect: x", "steps: []", "2: steps: should not be empty"),
        ("expect: x", "expect: ' '", "4: steps.0.expect: should not be empty"),
        ("expect: x", "repeat: 1000000000000", "4: steps.0.repeat: should be at most 10,000"),
        ("expect: x", "repeat: true", "4: steps.0.repeat: should be a whole number, not true"),
        ("expect: x", "retry: 1000000000000", "4: steps.0.retry: should be at most 1,000"),
        (
            "expect: x",
            "retry_delay: .inf",
            "4: steps.0.retry_delay: should be a finite number, not .inf",
        ),
        ("expect: x", "timeout: .inf", "4: steps.0.timeout: should be a finite number, not .inf"),
        ("expect: x", "timeout: false", "4: steps.0.timeout: should be a number, not false"),
        ("pass_if: p", "pass_if: ' '", "6: verdict.pass_if: should not be empty"),
        ("fail_if: f", "fail_if: ''", "7: verdict.fail_if: should not be empty"),
    ],
)
def test_a_value_that_makes_no_sense_is_an_error_with_its_line(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    path = tmp_path / "test.yaml"
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(InvalidFile) as caught:
        load_spec(path)
    assert str(caught.value) == f"{path}:{problem}"


def test_many_references_that_lead_nowhere_are_told_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    steps = "".join(
        f"- {{tool: x, save_as: v{n}, args: {{a: '${{w{n}}}'}}}}\n" for n in range(5_000)
    )
    path.write_text(TEXT.replace("- tool: sleep\n  expect: x\n", steps))
    with pytest.raises(InvalidFile) as caught:
        load_spec(path)
    assert len(str(caught.value)) < 50_000


@pytest.mark.parametrize("argument", [["${x}", "${x}"], "${x} ${x}"], ids=["data", "text"])
def test_what_is_saved_and_inserted_again_and_again_comes_to_an_end(argument: object) -> None:
    def grown(saved: object) -> object:
        for _ in range(40):
            saved = resolve_references(argument, {"x": saved})
        return saved

    with pytest.raises(LLMMockError, match="more than 20,000,000 characters"):
        grown("x" * 1_000)
