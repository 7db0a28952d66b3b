"""A failed test names the coroutines that nobody awaited.

Most runs are processes of their own, because Python warns of a coroutine when it is removed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import NESTED_OPTIONS

TESTS = """
import pytest

async def app():
    return "Hi"

async def outer():
    return app()

class Client:
    async def ask(self):
        return await app()

@pytest.fixture(autouse=True)
def reply(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "Hi")

def test_it(mock_llm_responses):
    {statement}
"""
NEVER = (
    "was never awaited, so its code did not run. The test is not async: write async def and await"
)
NEVER_IN_FUNCTION = "was never awaited, so its code did not run: write await before the call"


IN_LINE_18, IN_LINE_19 = (f"The coroutine app() {NEVER} (test_it.py:{line})." for line in (18, 19))
NAMED = {
    "compared": ("assert app() == 'Hi'", IN_LINE_18),
    "held": (
        "answer = Client().ask(); answer.text",
        f"The coroutine Client.ask() {NEVER} (test_it.py:18).",
    ),
    "held above": ("answer = app()\n    answer.text", IN_LINE_18),
    "held twice": ("an_answer = answer = app()\n    answer2 = 1\n    answer.text", IN_LINE_18),
    "object": ("pass\n    app().text", IN_LINE_19),
    "replaced": ("held = app()\n    held = None\n    assert held", IN_LINE_19),
    "returned": (
        "import asyncio\n\n    async def check():\n        assert await outer() == 'Hi'\n\n"
        "    asyncio.run(check())",
        "The coroutine app() was never awaited, so its code did not run. This line runs "
        "outer(), which returned the coroutine (test_it.py:21): write await before the call to "
        "app() in that function.",
    ),
    "returned to the loop": (
        "import asyncio\n    assert asyncio.run(outer()) == 'Hi'",
        "The coroutine app() was never awaited, so its code did not run. This line runs "
        "outer(), which returned the coroutine (test_it.py:19): write await before the call to "
        "app() in that function.",
    ),
    "attribute": ("assert app().text", IN_LINE_18),
    "in a list": ("answers = [app()]\n    assert not answers", IN_LINE_18),
    "in a tuple": ("answers = (app(), 'Hi')\n    assert not answers", IN_LINE_18),
    "dropped": ("app(); mock_llm_responses.assert_called_once()", IN_LINE_18),
    "unused reply": ("mock_llm_responses.add('m', 'x'); app()", IN_LINE_18),
}
"""Statements that leave a coroutine, each with the line of the failure that names it."""
UNUSED = {
    "one call": ("answer = app()", f"{NEVER} (test_it.py:18)"),
    "a line": ("answer = app(); answer = app()", f"{NEVER} (test_it.py:18)"),
    "two lines": ("answer = app()\n    answer = app()", NEVER_IN_FUNCTION),
    "no call": ("answer = [app][0]()", NEVER_IN_FUNCTION),
    "beside an awaited call": (
        "import sys\n\n    async def check():\n        await sys.modules[__name__].app()\n\n"
        "    answer = app()",
        f"{NEVER} (test_it.py:23)",
    ),
}
"""Statements of tests that pass and leave a reply unused, each with the problem."""
OTHERS = {
    "awaited": "import asyncio; assert asyncio.run(app()) == 'Hello'",
    "closed": "held = app(); held.close(); assert held == 'Hi'",
    "another warning": "import warnings; warnings.warn('app was awaited'); raise ValueError",
}
"""Statements that leave no coroutine."""


HANDLED = """
    def handle():
        answer = app()
        try:
            answer.text
        except AttributeError as error:
            # A cycle, which only the garbage collector frees.
            error.self = error

    handle()
    {statement}
"""
HANDLING = {
    # pytest reads the source of the failed line, and ignores all warnings meanwhile.
    "within Python": "import json; json.loads('no')",
    "in the test": "assert False",
    # Without garbage collection, only the error keeps the coroutine. This test is the last of its
    # run, as nothing turns the garbage collection on again.
    "not collected": "import gc; gc.disable(); assert False",
}
"""Statements of tests that fail after an error that was handled."""
EACH = "held = app(); Client().ask(); assert held == 'Hi'"


@dataclass(frozen=True)
class Run:
    """A run of tests that all fail."""

    failures: dict[str, str]
    """The failure of each test; all of them are of a file `test_it.py`."""
    warnings: dict[str, int]
    """The number of warnings of each test that has any, if the tests count them."""
    output: str


COUNTING = """
import gc
from collections import Counter

numbers = Counter()

def pytest_runtest_teardown():
    # So that no later test is warned of what this test left.
    gc.collect()

def pytest_warning_recorded(nodeid):
    numbers[nodeid] += 1

def pytest_terminal_summary(terminalreporter):
    for nodeid, number in numbers.items():
        terminalreporter.write_line(f"Warnings of {nodeid}: {number}")
"""
"""A `conftest.py` that counts the warnings of each test."""


def run_tests(folder: Path, tests: dict[str, str], *options: str) -> Run:
    """Run tests called `test_it`, each in a file of its own, in one process."""
    for index, text in enumerate(tests.values()):
        name = f"test_{index}"
        folder.joinpath(f"{name}.py").write_text(text.strip().replace("test_it", name))
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-Wdefault", "--color=no", *options],
        cwd=folder,
        env={**os.environ, "PYTEST_ADDOPTS": NESTED_OPTIONS},
        capture_output=True,
        text=True,
        check=False,
    )
    # Nothing passed, and there are no errors.
    outcomes = rf"^=+ {len(tests)} failed(, \d+ warnings?)? in "
    assert re.search(outcomes, result.stdout, re.MULTILINE), result.stdout + result.stderr
    parts = re.split(r"^_+ test_(\d+) _+$|^=+ warnings", result.stdout, flags=re.MULTILINE)
    names = list(tests)
    failures = {}
    for number, text in zip(parts[1::2], parts[2::2], strict=True):
        if number is not None:
            failures[names[int(number)]] = text.replace(f"test_{number}.py", "test_it.py")
    assert failures.keys() == tests.keys(), result.stdout + result.stderr
    counted = re.findall(r"^Warnings of (.*): (\d+)$", result.stdout, re.MULTILINE)
    ids = {f"test_{index}.py::test_{index}": name for index, name in enumerate(tests)}
    warnings = {ids[nodeid]: int(number) for nodeid, number in counted}
    return Run(failures, warnings, result.stdout)


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the failure of a test with each of the statements, all of one run."""
    statements = {
        **{name: statement for name, (statement, _) in NAMED.items()},
        **{
            name: f"{statement}\n    mock_llm_responses.add('m', 'x')"
            for name, (statement, _) in UNUSED.items()
        },
        **OTHERS,
        "each": EACH,
    }
    tests = {name: TESTS.format(statement=statement) for name, statement in statements.items()}
    return run_tests(tmp_path_factory.mktemp("statements"), tests).failures


@pytest.fixture(scope="module")
def handled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the failure of a test with each of `HANDLING`, all of one run."""
    start = TESTS.format(statement="pass")
    tests = {
        name: start + HANDLED.format(statement=statement) for name, statement in HANDLING.items()
    }
    return run_tests(tmp_path_factory.mktemp("handled"), tests).failures


@pytest.mark.parametrize("name", NAMED)
def test_a_coroutine_that_nobody_awaited_is_named_once(name: str, failures: dict[str, str]) -> None:
    lines = failures[name].splitlines()
    [line] = [line for line in lines if "was never awaited, so its code did not run" in line]
    assert line == NAMED[name][1]


def test_each_coroutine_has_a_line(failures: dict[str, str]) -> None:
    lines = failures["each"].splitlines()
    heading = next(number for number, line in enumerate(lines) if "- LLM calls -" in line)
    assert lines[heading + 1 : heading + 3] == [
        f"The coroutine Client.ask() {NEVER} (test_it.py:18).",
        f"The coroutine app() {NEVER} (test_it.py:18).",
    ]


@pytest.mark.parametrize("name", HANDLING)
def test_a_coroutine_of_a_handled_error_is_named(name: str, handled: dict[str, str]) -> None:
    line = f"The coroutine app() {NEVER_IN_FUNCTION} (test_it.py:21)."
    assert handled[name].count(line) == 1


VAIN = """
@pytest.mark.parametrize("number", range({vain}))
def test_a_vain_search(number):
    assert False
"""


@pytest.mark.parametrize(("vain", "named"), [(9, 1), (10, 0)])
def test_after_ten_vain_searches_no_objects_are_searched(
    vain: int, named: int, pytester: pytest.Pytester
) -> None:
    handled = HANDLED.format(statement="assert False")
    vain_tests = VAIN.format(vain=vain) + "\n\ndef test_last():" + handled
    pytester.makepyfile(test_it=TESTS.format(statement="pass") + vain_tests)
    result = pytester.runpytest_subprocess("-Wdefault")
    assert result.parseoutcomes()["failed"] == vain + 1
    assert result.stdout.str().count(f"The coroutine app() {NEVER_IN_FUNCTION}") == named


CLIENTS = {
    "client in a sync test": (
        "def",
        ". The test is not async: write async def and await, or use the sync client",
    ),
    "client in an async test": ("async def", ": write await before the call"),
}
"""The beginnings of tests that call an async client without await, each with the advice."""
CLIENT = """
import openai
import pytest

@pytest.mark.asyncio
{beginning} test_it(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "Hello")
    answer = openai.AsyncOpenAI().responses.create(model="gpt-4o", input="Hi")
    assert answer.output_text == "Hello"
"""
TEXT = """
import asyncio
import llm

async def ask():
    return llm.get_async_model("gpt-4o").prompt("Hi").text()

def test_it(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "Hello")
    assert asyncio.run(ask()) == "Hello"
"""
AGENTS = {
    "a reply": ("mock_llm_responses.set('gpt-5', 'Hello')", "assert result"),
    "no reply": ("pass", "assert result"),
    "another call": ("llm.get_model('gpt-4o').prompt('Hi').text()", "assert result"),
    "another coroutine": ("pass", "asyncio.sleep(0)"),
}
"""Statements before and after an agent that runs without await."""
AGENT = """
import asyncio, llm, pytest
from llm_mock.agents import Agent

@pytest.mark.asyncio
async def test_it(aitest_run, mock_llm_responses):
    {before}
    result = aitest_run(Agent("gpt-5"), "Hi")
    {after}
"""


@pytest.fixture(scope="module")
def with_libraries(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return one run of the tests that call models, as importing the libraries takes long."""
    tests = {
        **{name: CLIENT.format(beginning=beginning) for name, (beginning, _) in CLIENTS.items()},
        "text": TEXT,
    }
    return run_tests(tmp_path_factory.mktemp("libraries"), tests, "-p", "asyncio")


@pytest.fixture(scope="module")
def with_agents(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return one run of all tests with agents, which counts their warnings."""
    folder = tmp_path_factory.mktemp("agents")
    folder.joinpath("conftest.py").write_text(COUNTING)
    tests = {
        name: AGENT.format(before=before, after=after) for name, (before, after) in AGENTS.items()
    }
    return run_tests(folder, tests)


@pytest.mark.parametrize("name", CLIENTS)
def test_an_async_client_in_a_sync_test_is_named_as_the_fault(
    name: str, with_libraries: Run
) -> None:
    advice = CLIENTS[name][1]
    pytest.LineMatcher(with_libraries.failures[name].splitlines()).fnmatch_lines(
        [f"The coroutine AsyncResponses.create() *did not run{advice} (test_it.py:7)."]
    )


def test_a_text_that_was_not_awaited_is_no_response_that_was_not_read(with_libraries: Run) -> None:
    pytest.LineMatcher(with_libraries.failures["text"].splitlines()).fnmatch_lines(
        [
            "The coroutine AsyncResponse.text() was never awaited, so its code did not run. This "
            "line runs ask(), which returned the coroutine (*:9): write await before the call to "
            "text() *"
        ]
    )
    assert "never read" not in with_libraries.output


@pytest.mark.parametrize("name", UNUSED)
def test_a_passing_test_that_left_a_reply_unused_names_the_coroutine_first(
    name: str, failures: dict[str, str]
) -> None:
    problem = f"The coroutine app() {UNUSED[name][1]}.\nOne queued reply was not used:"
    assert f"\n{problem}" in f"\n{failures[name]}"
    assert "Remove the reply" not in failures[name]


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_coroutine_and_warning_is(name: str, failures: dict[str, str]) -> None:
    assert re.search(r"^-+ LLM calls -+\nNo model was called, but ", failures[name], re.MULTILINE)


def test_without_the_warnings_of_pytest_a_dropped_coroutine_is_not_named(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_it=TESTS.format(statement="app(); assert not 'called'"))
    result = pytester.runpytest_subprocess("-pno:warnings")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*- LLM calls -*", "No model was called, but *"], consecutive=True)


def test_a_coroutine_is_not_named_in_the_next_test(pytester: pytest.Pytester) -> None:
    # Each test fails in the frames of another function, so that the first one's are dropped.
    later = "\ndef test_later():\n    import gc\n    gc.collect()\n    assert app.__doc__ == 'Hi'\n"
    statement = "assert app() == 'Hi'" + later + later.replace("later", "last")
    pytester.makepyfile(test_it=TESTS.format(statement=statement))
    result = pytester.runpytest_subprocess("-Wdefault", "-p", "no:randomly")
    assert result.parseoutcomes()["failed"] == 3
    assert result.stdout.str().count("was never awaited, so its code did not run") == 1


def test_two_tests_name_a_coroutine_each(pytester: pytest.Pytester) -> None:
    test = "\ndef test_{}(mock_llm_responses):\n    mock_llm_responses.set('m', 'Hi')\n    {}\n"
    first = test.format("first", "answer = app()\n    assert answer == 'Hi'")
    second = test.format("second", "assert app() == 'Hi'")
    pytester.makepyfile(test_it=f"async def app(): pass\n{first}{second}")
    # As errors, warnings keep the frames of the first test until the second one has failed.
    result = pytester.runpytest_subprocess("-Werror", "-p", "no:randomly")
    result.assert_outcomes(failed=2)
    lines = re.findall(r"did not run. .*test_it.py:(\d+)", result.stdout.str())
    assert lines == ["5", "10"]


AT_ONE_ADDRESS = """
ADDRESSES = set()

async def app(): pass

def test_first(mock_llm_responses):
    mock_llm_responses.set("m", "Hi")
    answers = [app() for _ in range(9)]
    ADDRESSES.update(map(id, answers))
    assert not answers

def test_second(mock_llm_responses):
    mock_llm_responses.set("m", "Hi")
    # The coroutines of the first test are removed in one line, for which Python warns once.
    import gc; gc.collect()
    others = []
    for _ in range(10_000):
        answer = app()
        if id(answer) in ADDRESSES:
            break
        answer.close()
        others.append(answer)
    assert id(answer) in ADDRESSES
    answer = None
    assert answer
"""


def test_a_coroutine_at_the_address_of_one_named_before_is_named(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_it=AT_ONE_ADDRESS)
    result = pytester.runpytest_subprocess("-Wdefault", "-p", "no:randomly")
    result.assert_outcomes(failed=2)
    lines = re.findall(r"did not run. .*test_it.py:(\d+)", result.stdout.str())
    assert lines == ["7", "23"]


def test_an_async_test_that_no_plugin_runs_is_told_how_to_be_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        async def test_without_a_marker(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "Hi")
        """
    )
    hint = "pytest-asyncio is installed but does not run this test: mark it with @pytest.mark.asy*"
    with_plugin = pytester.runpytest_subprocess("-p", "asyncio", "-Wdefault")
    with_plugin.assert_outcomes(failed=1)
    with_plugin.stdout.fnmatch_lines([hint])
    without = pytester.runpytest_subprocess("-p", "no:asyncio", "-Wdefault")
    without.assert_outcomes(failed=1)
    without.stdout.no_fnmatch_line(hint)


PASSING = """
def ask():
    import llm; llm.get_model("gpt-4o").prompt("Hi").text()

async def app():
    ask()

def test_forgotten(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "Hello")
    app()
    mock_llm_responses.set("gpt-4o-mini", "Hi")

def test_with_a_call(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "Hello")
    mock_llm_responses.set("gpt-4o-mini", "Hello")
    app()
    ask()

def test_without_replies(mock_llm_responses):
    app()

def test_without_a_coroutine(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "Hello")
"""
WARNING = "RuntimeWarning: coroutine 'app' was never awaited (test_it.py:9). No model was called,"


def test_a_passed_test_warns_of_the_reply_for_a_forgotten_call(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_llm_mock_configure(config, mock): mock.set('m', 'Hi')")
    pytester.makepyfile(test_it=PASSING)
    result = pytester.runpytest("-Wdefault", "-p", "no:randomly")
    result.assert_outcomes(passed=4, warnings=4)
    result.stdout.fnmatch_lines(
        [
            f"*test_it.py:7: {WARNING} and replies were not used:",
            "    - gpt-4o  → 'Hello'  (test_it.py:8)",
            "    - gpt-4o-mini  → 'Hi'  (test_it.py:10)",
            "  Write await before the call, or remove the replies.",
        ]
    )
    assert result.stdout.str().count("No model was called") == 1


def test_a_strict_test_fails_for_it(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock = strict")
    pytester.makepyfile(test_it=PASSING)
    result = pytester.runpytest("-Wdefault", "-k", "forgotten")
    result.assert_outcomes(failed=1, warnings=1)
    result.stdout.fnmatch_lines(
        [f"{WARNING.removeprefix('RuntimeWarning: ')} and replies were not used:"]
    )


@pytest.mark.parametrize("name", AGENTS)
def test_a_run_of_an_agent_that_is_not_awaited_fails_any_test(name: str, with_agents: Run) -> None:
    _, after = AGENTS[name]
    assert with_agents.warnings[name] == 1 + after.startswith("asyncio")
    pytest.LineMatcher(with_agents.failures[name].splitlines()).fnmatch_lines(
        [
            "*aitest_run() was never awaited (test_it.py:7), so no agent ran, and this test checks "
            "nothing. Write await aitest_run(…).",
        ]
    )


@pytest.mark.parametrize(
    "options",
    [
        ("-Wignore",),
        ("-Wdefault", "-Wignore:coroutine"),
        ("-Werror::RuntimeWarning", "-Wdefault:coroutine"),
        ("-pno:warnings",),
    ],
    ids=["ignored", "coroutines ignored", "coroutines not an error", "not collected"],
)
def test_the_filters_for_pythons_warning_apply_to_it(
    options: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(test_it=PASSING)
    # Without the plugin for warnings, the filters of this process would hold.
    is_alone = options == ("-pno:warnings",)
    run = pytester.runpytest_subprocess if is_alone else pytester.runpytest
    result = run(*options, "-k", "forgotten")
    assert result.parseoutcomes()["passed"] == 1
    assert result.ret == 0
    is_shown = "-Wdefault:coroutine" in options
    assert ("No model was called" in result.stdout.str()) == is_shown
