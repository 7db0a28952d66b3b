"""Files of plain-language tests: valid content, and messages for invalid content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from llm_mock.errors import InvalidFile
from llm_mock.specs import TestSpec, load_spec
from llm_mock.specs.cases import load_spec_suite
from llm_mock.specs.drivers import DryRun

Write = Callable[[str], Path]

FULL = """\
test:
  name: "API Health Check"
  description: "Verify the API is responding"
  tags: ["smoke", "slow"]
  timeout: 30

setup:
  - tool: server_start
    args: {port: 8080}
    save_as: server

steps:
  - name: "Check health"
    tool: http_get
    args: {url: "http://localhost:${server.port}/health"}
    expect: "Status should be 200"
  - name: "Verify pagination"
    tool: api_get_users
    args:
      page: 1
      limit: 10
    analyze: |
      Check the response:
      1. Does `data.length` equal 10?
  - name: "Zoom cycle test"
    repeat: 3
    steps:
      - tool: chart_test_zoom_in
        args: {factor: 0.5}
        save_as: zoom_state
      - tool: chart_test_zoom_out
        args: {factor: 2.0}
  - analyze: "Was it fast?"

teardown:
  - tool: server_stop

verdict:
  pass_if: "Health endpoint returns 200"
  fail_if: "Health endpoint is unreachable"
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file, and returns its path."""

    def write(text: str) -> Path:
        path = tmp_path / "test_it.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def problem(write: Write) -> Callable[[str], str]:
    """Return what is said of a file, without its path."""

    def problem(text: str) -> str:
        path = write(text)
        with pytest.raises(InvalidFile) as raised:
            load_spec(path)
        return str(raised.value).replace(str(path), "FILE")

    return problem


def with_steps(steps: str) -> str:
    """Return a test with these steps, which begin on line 2."""
    return f"test: {{name: t}}\n{steps}\nverdict: {{pass_if: p, fail_if: f}}\n"


def test_a_whole_file_is_read(write: Write) -> None:
    spec = load_spec(write(FULL))
    assert isinstance(spec, TestSpec)
    assert (spec.test.name, spec.test.tags, spec.test.timeout) == (
        "API Health Check",
        ["smoke", "slow"],
        30,
    )
    assert [step.is_nested() for step in spec.steps] == [False, False, True, False]
    assert spec.steps[2].repeat == 3
    assert spec.steps[2].steps[0].args == {"factor": 0.5}
    assert spec.teardown[0].tool == "server_stop"
    assert spec.verdict.fail_if == "Health endpoint is unreachable"


def test_the_least_file_has_the_defaults_of_the_rest(write: Write) -> None:
    spec = load_spec(
        str(write("test: {name: t}\nsteps: [{expect: x}]\nverdict: {pass_if: p, fail_if: f}\n"))
    )
    assert (spec.test.description, spec.test.tags, spec.test.timeout) == ("", [], 120)
    assert (spec.setup, len(spec.steps), spec.teardown) == ([], 1, [])


@pytest.mark.parametrize(
    ("test", "prompt"), [("name: t", "t"), ("name: t, description: Sells things", "Sells things")]
)
def test_the_prompt_of_a_case_is_the_description_or_the_name(
    test: str, prompt: str, write: Write
) -> None:
    path = write(f"test: {{{test}}}\nsteps: [{{expect: x}}]\nverdict: {{pass_if: p, fail_if: f}}\n")
    suite, _ = load_spec_suite(path, lambda model: DryRun(), None, None)
    assert [case.prompt for case in suite.cases] == [prompt]


def test_a_test_knows_its_file_and_the_lines_of_its_parts(write: Write) -> None:
    path = write(FULL)
    spec = load_spec(path)
    assert spec.path == path
    places: dict[tuple[str | int, ...], int] = {
        ("test",): 1,
        ("setup", 0): 8,
        ("steps", 0): 13,
        ("steps", 2, "steps", 1): 31,
        ("steps", 3): 33,
        ("teardown", 0): 36,
        ("verdict",): 38,
    }
    assert {place: spec.line_of(*place) for place in places} == places


def test_more_repetitions_than_anybody_waits_for_are_refused(problem: Callable[[str], str]) -> None:
    steps = (
        "setup: [{tool: a}]\nsteps: [{repeat: 2000, steps: [{tool: b, repeat: 1000}, {expect: c}]}]"
    )
    assert (
        problem(with_steps(steps))
        == "FILE:3: 2,002,000 steps, counting repetitions; at most 10,000 are supported"
    )


def test_keys_of_the_author_s_own_hold_what_anchors_name(
    write: Write, problem: Callable[[str], str]
) -> None:
    text = "x-args: &args {a: 1}\n" + with_steps("steps: [{tool: x, args: *args}]")
    assert load_spec(write(text)).steps[0].args == {"a": 1}
    assert problem(text.replace("x-args", "args")).startswith("FILE:1: unknown key 'args'")


def test_a_file_of_several_kinds_of_problems_names_them_all(problem: Callable[[str], str]) -> None:
    steps = "steps:\n  - tool: a\n    save_as: my result\n  - {}\n  - tool: b\n    args:\n      x: [1, '${c}']"  # noqa: E501
    assert problem(with_steps(steps)).splitlines() == [
        (
            "FILE:4: save_as is 'my result'; use a name of letters, digits and _, so that ${name} "
            "can refer to it"
        ),
        "FILE:5: this step does nothing; add tool, steps, expect or analyze",
        "FILE:8: ${c} refers to 'c', which no earlier step saves (saved so far: my result); "
        "for the literal text, write $${c}",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "",
            (
                "FILE:1: the file is empty; a plain-language test is a mapping with test (name), "
                "steps and verdict"
            ),
        ),
        ("- 1", "FILE:1: this is [1]; a plain-language test is a mapping"),
        ("just text", "FILE:1: this is 'just text'; a plain-language test"),
        (
            "a: 1\nkind: TestSuite\n",
            "FILE:2: this is a suite (kind: TestSuite): run it with `llm-mock test`",
        ),
        ("test: [", "is not valid YAML"),
        ("steps: [{expect: x}]", "FILE:1: 'test' is missing\nFILE:1: 'verdict' is missing"),
        (with_steps("steps:\n  - tol: x"), "FILE:3: unknown key 'tol'; did you mean 'tool'?"),
        (with_steps("steps:\n  - tool: x\n    repeat: 0"), "FILE:4: steps.0.repeat: "),
        (with_steps("steps: x"), "FILE:2: steps: "),
        (
            "test: {name: t, timeout: -1}\nsteps: [{expect: x}]\nverdict: {pass_if: p, fail_if: f}",
            "FILE:1: test.timeout: ",
        ),
    ],
)
def test_a_file_that_is_no_test_is_refused_with_its_line(
    text: str, expected: str, problem: Callable[[str], str]
) -> None:
    assert expected in problem(text)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            "{tool: a, steps: [{tool: b}]}",
            "FILE:3: a step cannot have both tool and steps; make the call to 'a' the first",
        ),
        ("{name: a}", "FILE:3: this step does nothing"),
        (
            "{expect: x, args: {a: 1}}",
            "FILE:3: args has no effect without a tool; add a tool, or remove args",
        ),
        ("{steps: [{tool: b}], retry: 2}", "FILE:3: retry has no effect without a tool"),
        ("{tool: a, save_as: 1a}", "FILE:3: save_as is '1a'"),
        (
            "{tool: a, args: {since: 2026-01-01}}",
            "FILE:3: YAML reads 2026-01-01 as date; tools accept only JSON",
        ),
        (
            "{tool: a, args: {x: [.nan]}}",
            "FILE:3: nan is not a valid JSON number; use a finite number, or null",
        ),
        ("{tool: a, args: {x: -.inf}}", "FILE:3: -inf is not a valid JSON number"),
        ("{tool: a, args: {x: {1: y}}}", "FILE:3: the key 1 is not text"),
        (
            "{tool: a, args: {x: 'a ${b c} d'}}",
            (
                "FILE:3: ${b c} is not a valid reference, such as ${name.key.0}; for the literal "
                "text, write $${b c}"
            ),
        ),
        (
            "{tool: a, save_as: x, args: {y: '${x}'}}",
            "${x} refers to 'x', which no earlier step saves (nothing is saved",
        ),
    ],
)
def test_a_step_that_makes_no_sense_is_refused_with_its_line(
    step: str, expected: str, problem: Callable[[str], str]
) -> None:
    assert expected in problem(with_steps(f"steps:\n  - {step}"))


def test_the_nearest_saved_name_is_named(problem: Callable[[str], str]) -> None:
    steps = "steps:\n  - {tool: a, save_as: login}\n  - tool: b\n    args: {token: '${logn.token}'}"
    assert (
        "FILE:5: ${logn.token} refers to 'logn', which no earlier step saves; did you mean 'login'?"
        in problem(with_steps(steps))
    )


@pytest.mark.parametrize(
    "steps",
    [
        "setup: [{tool: a, save_as: x}]\nsteps: [{tool: b, args: {y: '${x}'}}]",
        (
            "setup: [{tool: a, save_as: x}]\nsteps: [{tool: b}]\n"
            "teardown: [{tool: c, args: {y: '${x}'}}]"
        ),
        "steps: [{tool: a, save_as: x}]\nteardown: [{tool: c, args: {y: 'the ${x.0.id}'}}]",
        "steps: [{repeat: 2, steps: [{tool: a, save_as: x}, {tool: b, args: {y: '${x}'}}]}]",
        "steps: [{steps: [{tool: a, save_as: x}]}, {tool: b, args: {y: '${x}'}}]",
        "steps: [{analyze: look, save_as: x}, {tool: b, args: {y: '${x}'}}]",
        "steps: [{tool: a, args: {y: '$${x} costs 5 $'}}]",
    ],
)
def test_what_was_saved_before_can_be_referred_to(steps: str, write: Write) -> None:
    assert load_spec(write(with_steps(steps))).steps


def test_steps_that_are_many_by_reference_alone_are_refused_at_once(tmp_path: Path) -> None:
    doubled = "".join(
        f"- &a{level} {{steps: [*a{level - 1}, *a{level - 1}]}}\n" for level in range(1, 16)
    )
    path = tmp_path / "test.yaml"
    path.write_text(
        f"test: {{name: t}}\nverdict: {{pass_if: a}}\nsteps:\n- &a0 {{tool: x}}\n{doubled}"
    )
    with pytest.raises(
        InvalidFile, match=r"test\.yaml:\d+: is not valid YAML: its references are circular"
    ):
        load_spec(path)
