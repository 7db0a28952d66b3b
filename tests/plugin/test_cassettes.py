"""Cassettes in a pytest run: record modes, misses, settings, and what can be wrong with a file."""

from __future__ import annotations

import errno
import fnmatch
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import llm.default_plugins.openai_models  # noqa: F401 (so that runs inside the run do not import it anew)
import pytest

from tests.conftest import NESTED_OPTIONS
from tests.openai_server import OpenAIServer, openai_server

KEY = "stored-key-0123456789abcdef"
MODULE = """
    import llm
    import pytest

    pytestmark = pytest.mark.llm_mock_cassette

    def ask(text, **arguments):
        return llm.get_model("loopback").prompt(text, **arguments).text()
"""
CASSETTE = Path("cassettes/test_it/test_hi.llm.yaml")


@pytest.fixture(scope="module")
def running() -> Iterator[OpenAIServer]:
    with openai_server() as server:
        yield server


@pytest.fixture
def server(running: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """Return the server, as a model that the user has configured in `llm`, with a stored key."""
    running.requests.clear()
    monkeypatch.setenv("LLM_USER_PATH", str(make_user(tmp_path, running)))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return running


def make_user(folder: Path, server: OpenAIServer) -> Path:
    """Make a folder of `llm` that has the server as a model, and a key for it."""
    user = folder / "user"
    user.mkdir()
    entry = {
        "model_id": "loopback",
        "model_name": "loopback",
        "api_base": server.url,
        "api_key_name": "loop",
    }
    traits = {"can_stream": True, "supports_schema": True, "supports_tools": True}
    (user / "extra-openai-models.yaml").write_text(json.dumps([entry | traits]))  # JSON is YAML
    (user / "keys.json").write_text(json.dumps({"loop": KEY}))
    return user


def write(pytester: pytest.Pytester, *tests: str) -> None:
    pytester.makepyfile(test_it=MODULE + "".join(tests))


def prompt_test(*prompts: str, name: str = "test_hi") -> str:
    asked = "".join(f'\n        ask("{prompt}")' for prompt in prompts)
    return f"\n    def {name}():{asked}\n"


def strict_by_marker(level: str) -> str:
    return f"\n    pytestmark = [pytestmark, pytest.mark.llm_mock_strict({level!r})]\n"


def prompts(server: OpenAIServer) -> list[str]:
    return [request["messages"][-1]["content"] for request in server.requests]


def recorded(path: Path = CASSETTE) -> list[str]:
    return [
        line.split(": ", 1)[1]
        for line in path.read_text().splitlines()
        if line.startswith("    prompt: ")
    ]


def test_calls_are_recorded_with_the_users_model_and_key_and_replayed_without(
    pytester: pytest.Pytester, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        pytester,
        """
    def test_hi():
        assert ask("Hi") == "Answer 1 to: Hi"

    class TestGroup:
        @pytest.mark.parametrize("name", ["a/b", "c"])
        def test_too(self, name):
            assert ask("Hi") == "Answer 1 to: Hi"
        """,
    )
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=3)
    assert prompts(server) == ["Hi"] * 3
    monkeypatch.delenv("LLM_USER_PATH")
    pytester.runpytest().assert_outcomes(passed=3)
    assert len(server.requests) == 3
    changed, *names = sorted(path.name for path in Path("cassettes/test_it").iterdir())
    assert fnmatch.fnmatch(changed, "TestGroup.test_too[[]a-b]-????????.llm.yaml")
    assert names == ["TestGroup.test_too[c].llm.yaml", "test_hi.llm.yaml"]


@pytest.mark.parametrize(
    ("mode", "asked", "in_file", "outcome"),
    [
        ("none", [], ["One", "Two"], "failed"),
        ("once", [], ["One", "Two"], "failed"),
        ("new_episodes", ["New"], ["One", "Two", "New"], "passed"),
        ("all", ["One", "New"], ["One", "Two", "New"], "passed"),
        ("rewrite", ["One", "New"], ["One", "New"], "passed"),
    ],
)
def test_each_record_mode_records_what_it_says(
    pytester: pytest.Pytester,
    server: OpenAIServer,
    mode: str,
    asked: list[str],
    in_file: list[str],
    outcome: str,
) -> None:
    write(pytester, prompt_test("One", "Two"))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
    server.requests.clear()
    write(pytester, prompt_test("One", "New"))

    pytester.runpytest("--llm-mock-record", mode).assert_outcomes(**{outcome: 1})

    assert prompts(server) == asked
    assert recorded() == in_file


def test_a_miss_fails_the_test_and_shows_the_nearest_recorded_call_although_the_application_goes_on(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(pytester, prompt_test("What is one and one?", "What is the weather?"))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
    write(
        pytester,
        """
    def test_hi():
        try:
            ask("What is one and two?", temperature=0.5)
        except Exception:
            pass
        """,
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "The cassette cassettes/test_it/test_hi.llm.yaml does not contain this call:",
            "  model: loopback",
            "  prompt: What is one and two?",
            "  options:",
            "    temperature: 0.5",
            "The nearest of its 2 calls is number 1. The difference:",
            "  -prompt: What is one and one?",
            "  +prompt: What is one and two?",
            "  +options:",
            "  +  temperature: 0.5",
            (
                "Record new calls with the real model: pytest test_it.py::test_hi "
                "--llm-mock-record new_episodes"
            ),
        ],
        consecutive=False,
    )
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ("", "There is no cassette cassettes/test_it/test_hi.llm.yaml for this call:"),
        (
            prompt_test("Hi"),
            (
                "The cassette cassettes/test_it/test_hi.llm.yaml contains this call once, but the "
                "call was made again:"
            ),
        ),
    ],
    ids=["no file", "used up"],
)
def test_a_miss_says_what_to_do(
    pytester: pytest.Pytester, server: OpenAIServer, tests: str, message: str
) -> None:
    write(pytester, tests)
    pytester.runpytest("--llm-mock-record", "once")
    write(pytester, prompt_test("Hi", "Hi"))
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{message}", "*--llm-mock-record *"])


NEAR_REPLIES = """
    import llm
    import pytest

    pytestmark = pytest.mark.llm_mock_cassette

    def ask(text="Hi"):
        llm.get_model("gpt-4o-mini").prompt(text).text()

    def test_model(mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mni", "Hello")
        ask()

    def test_prompt(mock_llm_responses):
        mock_llm_responses.set("claude", "Hello", prompt="Bye")
        mock_llm_responses.set("gpt-4o-mini", "Hello", prompt="Bye")
        ask()

    def test_of_another_model(mock_llm_responses):
        mock_llm_responses.set("claude-sonnet-4", "Hello")
        ask()

    def test_two_conditions(mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mni", "Hello", prompt="Bye")
        ask()

    def test_used_by_another_call(mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mini", "Hello", prompt="Bye")
        ask("Bye")
        ask()

    def test_without_replies():
        ask()
    """


def test_a_missing_cassette_is_named_beside_the_reply_that_nearly_matches(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_it=NEAR_REPLIES)
    result = pytester.runpytest("-p", "no:randomly")
    result.assert_outcomes(failed=6)
    result.stdout.fnmatch_lines(
        [
            "*There is no cassette cassettes/test_it/test_model.llm.yaml for this call:",
            "*Record it with the real model and your key: pytest test_it.py::test_model *",
            "E * Or correct this reply:",
            "E * - gpt-4o-mni  → 'Hello'  (test_it.py:10)",
            "E * does not match: the model is gpt-4o-mini, not gpt-4o-mni",
            "*There is no cassette cassettes/test_it/test_prompt.llm.yaml for this call:",
            "E * Or correct this reply:",
            "E * - gpt-4o-mini  prompt contains 'Bye'  → 'Hello'  (test_it.py:15)",
            "E * does not match: *",
        ]
    )
    assert result.stdout.str().count("Or correct this reply") == 2


UNUSED = [
    "  cassettes/test_it/test_hi.llm.yaml: 2 recorded calls were not made",
    "    - loopback  'One'",
    "    - loopback  'Three'",
    "Remove them from the cassette: pytest --llm-mock-record rewrite",
]


@pytest.mark.parametrize(("level", "outcome"), [("", "passed"), ("error", "failed")])
def test_recordings_that_nobody_used_are_reported_or_fail(
    pytester: pytest.Pytester, server: OpenAIServer, level: str, outcome: str
) -> None:
    write(pytester, prompt_test("One", "Two", "Three"), prompt_test("One", name="test_other"))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=2)
    marked = strict_by_marker(level) if level else ""
    write(pytester, marked, prompt_test("Two"), prompt_test("One", name="test_other"))

    result = pytester.runpytest()

    result.assert_outcomes(**({"passed": 2} if outcome == "passed" else {"passed": 1, "failed": 1}))
    heading = [] if level else ["=* Recorded LLM calls that the tests do not make =*"]
    result.stdout.fnmatch_lines([*heading, *UNUSED])


def test_of_many_recordings_that_nobody_used_the_first_are_shown(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(pytester, prompt_test(*"ABCDEFGH"))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
    write(pytester, prompt_test("B"))
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(
        [
            "  cassettes/test_it/test_hi.llm.yaml: 7 recorded calls were not made",
            *(f"    - loopback  '{prompt}'" for prompt in "ACDEF"),
            "    … 2 more",
            "Remove them from the cassette: *",
        ],
        consecutive=True,
    )


def test_recordings_that_nobody_used_can_be_ignored(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(pytester, prompt_test("One", "Two"))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
    write(pytester, prompt_test("Two"))

    result = pytester.runpytest("-o", "llm_mock_strict=off")

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*recorded call*not made*")


def test_what_counts_is_settable(pytester: pytest.Pytester, server: OpenAIServer) -> None:
    pytester.makeconftest(
        """
        import pytest
        from llm_mock.cassettes import DATES, IDS, TEMPORARY_PATHS, CassetteConfig

        @pytest.fixture(scope="session")
        def llm_mock_cassette_config():
            return CassetteConfig(
                match=("model", "prompt"),
                normalize=(DATES, IDS, TEMPORARY_PATHS, r"build \\d+"),
                redact=("ACME-\\\\w+",),
            )
        """
    )
    text = "{} {} {} build {} ACME-4711"
    for date, identity, number, mode, temperature in (
        ("2026-11-22T10:00:00Z", "0b0d9b0e-4b2e-4d5e-8a51-0d5f1f1c9b1a", 7, "once", 0.1),
        ("2027-01-01", "1c1d9b0e-4b2e-4d5e-8a51-0d5f1f1c9b1a", 8, "none", 0.9),
    ):
        path = f"/tmp/pytest-{number}/x"
        prompt = text.format(date, identity, path, number)
        write(
            pytester, f"\n    def test_hi():\n        ask({prompt!r}, temperature={temperature})\n"
        )
        pytester.runpytest("--llm-mock-record", mode).assert_outcomes(passed=1)
    assert "ACME-4711" not in CASSETTE.read_text()
    assert "2026-11-22T10:00:00Z" in CASSETTE.read_text()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            "{'match': ['prompt']}",
            "*returned {*}. Return a llm_mock.cassettes.CassetteConfig(match=*",
        ),
        (
            "CassetteConfig(match=('promt',))",
            "CassetteConfig(match=('promt',)): match must be a tuple of model, turn, *",
        ),
        (
            "CassetteConfig(normalize=['('])",
            "CassetteConfig: normalize (unless it is a function) and redact must be *",
        ),
    ],
)
def test_wrong_settings_are_one_clear_error(
    pytester: pytest.Pytester, returned: str, message: str
) -> None:
    pytester.makeconftest(
        f"""
        import pytest
        from llm_mock.cassettes import CassetteConfig

        @pytest.fixture
        def llm_mock_cassette_config():
            return {returned}
        """
    )
    write(pytester, prompt_test("Hi"))
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{message}"])


BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "truncated": (lambda text: text[: len(text) // 2] + '"', "FILE:*: *"),
    "version": (
        lambda text: text.replace("version: 2", "version: 3"),
        "FILE:2: has version 3, *versions 1 to 2",
    ),
    "unknown_key": (
        lambda text: text.replace("prompt:", "promt:"),
        "FILE:6: unknown key 'promt'; did you mean 'prompt'?",
    ),
    "missing": (lambda text: text.replace("model: loopback\n", ""), "FILE:*: *"),
    "type": (
        lambda text: text.replace("prompt: Hi", "prompt: [Hi]"),
        "FILE:6: *should be text, not a list",
    ),
    "duplicate": (
        lambda text: text + "version: 1\n",
        "FILE:*: is not valid YAML: duplicate key 'version'",
    ),
    "no_version": (lambda text: "calls: []\n", "FILE:1: is not a cassette: *"),
    "empty": (lambda text: "", "FILE:1: is not a cassette: *"),
    "tab": (lambda text: "calls: []\n\tversion: 1", "FILE:2: is not valid YAML: *"),
    "NUL": (
        lambda text: "version: 1\ncalls:\n- request: \x00",
        "FILE:3: is not valid YAML: *",
    ),
}
"""Changes of cassettes, each with its error."""


def test_a_broken_cassette_is_one_clear_error_with_its_line_and_stays_as_it_is(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    tests = dedent(MODULE + prompt_test("Hi") + prompt_test("Hi", name="test_other"))
    pytester.makepyfile(**{f"test_{name}": tests for name in BROKEN})
    count = len(BROKEN)
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=2 * count)
    broken = {}
    for name, (change, _) in BROKEN.items():
        path = Path(f"cassettes/test_{name}/test_hi.llm.yaml")
        broken[path] = change(path.read_text())
        path.write_text(broken[path])

    for mode in ("none", "new_episodes", "all"):
        result = pytester.runpytest("--llm-mock-record", mode)
        result.assert_outcomes(passed=count, errors=count)
        for name, (_, message) in BROKEN.items():
            file = f"*test_{name}/test_hi.llm.yaml"
            result.stdout.fnmatch_lines([message.replace("FILE", file), "*, or record it again: *"])
        result.stdout.no_fnmatch_line("*Traceback*")
        assert {path: path.read_text() for path in broken} == broken
    pytester.runpytest("--llm-mock-record", "rewrite").assert_outcomes(passed=2 * count)
    pytester.runpytest().assert_outcomes(passed=2 * count)


def test_two_tests_that_claim_one_file_fail_both_and_the_others_go_on(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.llm_mock_cassette("shared")
        def test_one(): ...

        @pytest.mark.llm_mock_cassette("shared.yaml")
        def test_two(): ...

        @pytest.mark.llm_mock_cassette(name="own")
        def test_three(): ...
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(errors=2, passed=1)
    result.stdout.fnmatch_lines(
        [
            "These tests share the cassette cassettes/shared.yaml, but each test needs its own:",
            "  test_two_tests_that_claim_one_file_fail_both_and_the_others_go_on.py::test_one",
            "  test_two_tests_that_claim_one_file_fail_both_and_the_others_go_on.py::test_two",
        ]
    )


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        (
            "llm_mock_cassette('../up')",
            "@*llm_mock_cassette('../up'): '../up' is not a relative path below *",
        ),
        (
            "llm_mock_cassette('.')",
            "*llm_mock_cassette('.'): '.' is not a relative path *",
        ),
        (
            "llm_mock_cassette('/up')",
            "*llm_mock_cassette('/up'): '/up' is not a relative path *",
        ),
        (
            "llm_mock_cassette('a\\tb')",
            "*llm_mock_cassette(*): * is not a relative path *",
        ),
        (
            "llm_mock_cassette(' ')",
            "@*llm_mock_cassette(' '): ' ' is not a relative path below *",
        ),
        (
            r"llm_mock_cassette('a\\b')",
            r"@*llm_mock_cassette('a\\*b'): 'a\\*b' is not a relative path below *",
        ),
        (
            "llm_mock_cassette(7)",
            "@*llm_mock_cassette(7): 7 is not a relative path below *",
        ),
        (
            "llm_mock_cassette(record='twice')",
            "@*(record='twice'): Unknown record mode 'twice'. It must be one of none, once, *:3)",
        ),
        (
            "llm_mock_cassette.with_args(record='once')\n@pytest.mark.llm_live",
            "This test is marked llm_live and has *",
        ),
    ],
)
def test_a_wrong_marker_is_one_clear_error(
    pytester: pytest.Pytester, marker: str, message: str
) -> None:
    pytester.makepyfile(f"import pytest\n\n@pytest.mark.{marker}\ndef test_it(): ...\n")
    result = pytester.runpytest("--llm-mock-live")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


RECORDED = [
    (
        "llm-mock: * mocked, except tests with a cassette, which make and record real "
        "calls (mode once)"
    ),
    "*= Recorded LLM calls =*",
    "  cassettes/test_it/test_hi.llm.yaml: 2 real calls recorded",
    "  cassettes/test_it/test_three.llm.yaml: 1 real call recorded",
]


def test_a_run_that_records_says_so_and_what_it_wrote(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(pytester, prompt_test("One", "Two"), prompt_test("Three", name="test_three"))
    recording = pytester.runpytest("--llm-mock-record", "once")
    recording.stdout.fnmatch_lines(RECORDED)
    replaying = pytester.runpytest()
    replaying.assert_outcomes(passed=2)
    replaying.stdout.no_fnmatch_line("*real call*")


@pytest.mark.parametrize("mode", ["all", "rewrite"])
def test_a_failed_test_never_replaces_its_cassette(
    pytester: pytest.Pytester, server: OpenAIServer, mode: str
) -> None:
    write(pytester, prompt_test("One", "Two"))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
    before = CASSETTE.read_text()
    write(pytester, "\n    def test_hi():\n        ask('One')\n        assert False\n")

    result = pytester.runpytest("--llm-mock-record", mode)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "The test failed, so the cassette cassettes/test_it/test_hi.llm.yaml is unchanged; "
            "the 1 recorded call was not written."
        ]
    )
    assert CASSETTE.read_text() == before


def test_a_failed_test_keeps_what_it_recorded_first_but_no_errors(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(pytester, prompt_test("One", "Fail"))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(failed=1)
    assert recorded() == ["One"]


@pytest.mark.usefixtures("own_temporary_folder")
def test_a_cassette_that_cannot_be_written_fails_its_test_and_damages_nothing(
    pytester: pytest.Pytester, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(pytester, prompt_test("One"))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
    before = CASSETTE.read_text()
    write(pytester, prompt_test("One", "New"))

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        result = pytester.runpytest("--llm-mock-record", "new_episodes")
    result.assert_outcomes(failed=1)
    message = "The cassette cassettes/test_it/test_hi.llm.yaml could not be written: No space left on device. *"  # noqa: E501
    result.stdout.fnmatch_lines([message])
    (line,) = (line for line in result.outlines if line.startswith("The recorded calls are in "))
    kept = Path(
        line.removeprefix("The recorded calls are in ").split(": move them to cassettes/test_it")[0]
    )
    assert recorded(kept / CASSETTE.name) == ["One", "New"]
    assert [CASSETTE.read_text(), *Path("cassettes/test_it").iterdir()] == [before, CASSETTE]


VCR = """interactions:
- request:
    uri: http://127.0.0.1/v1/chat/completions
  response:
    body: {string: "calls: none"}
version: 1
"""


@pytest.mark.parametrize("mode", ["none", "once", "new_episodes", "all", "rewrite"])
@pytest.mark.parametrize(
    ("text", "what"), [(VCR, "a cassette of VCR"), ("- a list\n", "another kind of file")]
)
def test_a_file_that_is_not_ours_is_never_replaced(
    pytester: pytest.Pytester, server: OpenAIServer, mode: str, text: str, what: str
) -> None:
    write(pytester, "\n    @pytest.mark.llm_mock_cassette('test_it/test_hi')" + prompt_test("Hi"))
    taken = Path("cassettes/test_it/test_hi.yaml")
    taken.parent.mkdir(parents=True)
    taken.write_text(text)
    result = pytester.runpytest("--llm-mock-record", mode)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            (
                f"*test_hi.yaml:1: is not a cassette of pytest-llm-mock, but {what}, so it is left "
                "unchanged. *"
            )
        ]
    )
    assert server.requests == []
    assert taken.read_text() == text


@pytest.mark.usefixtures("own_temporary_folder")
def test_a_file_that_another_plugin_writes_while_the_test_runs_is_not_replaced(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(
        pytester,
        f"""
    def test_hi(llm_mock_cassette):
        ask("Hi")
        llm_mock_cassette.path.write_text({VCR!r})
        """,
    )
    result = pytester.runpytest("--llm-mock-record", "once")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*could not be written: *is not a cassette of *",
            "The recorded calls are in */recorded-cassette-*",
        ]
    )
    assert CASSETTE.read_text() == VCR


def test_pytest_recording_may_record_the_same_test(
    pytester: pytest.Pytester, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pytest_recording")
    pytester.makeini("[pytest]\nfilterwarnings = ignore::DeprecationWarning")
    pytester.makepyfile(
        test_it="""
    import urllib.request, llm, os, pytest

    @pytest.mark.vcr
    @pytest.mark.llm_mock_cassette
    def test_hi():
        assert llm.get_model("loopback").prompt("Hi").text() == "Answer 1 to: Hi"
        body = b'{"model": "m", "messages": [{"role": "user", "content": "by HTTP"}]}'
        urllib.request.urlopen(os.environ["SERVER"] + "/chat/completions", body).read()
    """
    )
    monkeypatch.setenv("SERVER", server.url)
    theirs = CASSETTE.with_name("test_hi.yaml")
    for mode in ("once", "rewrite"):
        pytester.runpytest(
            "-p", "recording", "--record-mode", mode, "--llm-mock-record", mode
        ).assert_outcomes(passed=1)
        assert theirs.read_text().startswith("interactions:")
        assert recorded() == ["Hi"]
    asked = len(server.requests)
    pytester.runpytest("-p", "recording").assert_outcomes(passed=1)
    assert len(server.requests) == asked


def test_a_cassette_where_they_lay_before_is_found_and_recorded_anew_there(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(pytester, prompt_test("One"))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
    former = CASSETTE.rename(CASSETTE.with_name("test_hi.yaml"))
    pytester.runpytest().assert_outcomes(passed=1)
    write(pytester, prompt_test("New"))
    pytester.runpytest("--llm-mock-record", "rewrite").assert_outcomes(passed=1)
    assert recorded(former) == ["New"]
    assert not CASSETTE.exists()


def test_tests_whose_names_differ_in_case_have_one_file_where_case_does_not_count(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(pytester, prompt_test("Hi"), prompt_test("Hi", name="test_HI"))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=2)
    Path("TEST_IT.PY").hardlink_to(
        "test_it.py"
    )  # such a file system finds the file by this name, too
    result = pytester.runpytest("test_it.py")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        [
            "These tests share the cassette *",
            "  test_it.py::test_hi",
            "  test_it.py::test_HI",
            "Use a different name in each marker: llm_mock_cassette('NAME').",
        ]
    )


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (lambda: Path("cassettes").write_text("a file"), "Not a directory|File exists"),
        (
            lambda: Path("cassettes").symlink_to("/proc/self/fdinfo"),
            "No such file or directory|Permission denied",
        ),
    ],
    ids=["a file in place of the folder", "a folder of the system"],
)
def test_no_real_call_is_made_where_its_answer_cannot_be_written(
    pytester: pytest.Pytester, server: OpenAIServer, prepare: Callable[[], object], reason: str
) -> None:
    write(pytester, prompt_test("One", "Two"))
    prepare()
    result = pytester.runpytest("--llm-mock-record", "once")
    result.assert_outcomes(failed=1)
    shown = "No real call was made, because the cassette cassettes/test_it/test_hi.llm.yaml cannot be written: "  # noqa: E501
    result.stdout.re_match_lines(
        [f".*{shown}({reason}).*Make the folder cassettes/test_it writable"]
    )
    result.stdout.no_fnmatch_line("*def check_writable*")
    assert server.requests == []


@pytest.mark.parametrize("mode", ["none", "once", "rewrite"])
@pytest.mark.parametrize(
    "name", ["x" * 5_000, "x/" * 5_000 + "x", "a\0b", "a\x1bb"], ids=["long", "deep", "NUL", "ESC"]
)
def test_a_name_that_no_file_can_have_is_one_clear_error(
    pytester: pytest.Pytester, name: str, mode: str
) -> None:
    pytester.makepyfile(
        f"import pytest\n\n@pytest.mark.llm_mock_cassette({name!r})\ndef test_it(): ...\n"
    )
    result = pytester.runpytest("--llm-mock-record", mode)
    result.assert_outcomes(errors=1)
    result.stdout.re_match_lines(
        [
            (
                "(The cassette .*…? cannot be used: File name too long|@.* is not a relative "
                "path below).*"
            )
        ]
    )
    result.stdout.no_fnmatch_line("*OSError*")
    assert max(map(len, result.outlines)) < 300


def test_a_test_with_a_long_name_in_any_script_has_a_cassette(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(pytester, prompt_test("Hi", name="test_" + "界" * 100))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
    pytester.runpytest().assert_outcomes(passed=1)


def test_repetitions_of_a_test_replay_its_cassette(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    pytest.importorskip("pytest_repeat")
    write(
        pytester,
        """
    @pytest.mark.parametrize("text", ["1-3", "b"])
    def test_each(text):
        ask(text)

    @pytest.mark.llm_mock_cassette("named")
    @pytest.mark.repeat(2)
    def test_named():
        ask("named")
        """,
        prompt_test("Hi"),
    )
    repeating = ("-p", "repeat")
    pytester.runpytest(*repeating, "--llm-mock-record", "once").assert_outcomes(passed=5)
    assert sorted(prompts(server)) == ["1-3", "Hi", "b", "named"]
    pytester.runpytest(*repeating, "--count", "3").assert_outcomes(passed=11)
    assert len(server.requests) == 4
    names = sorted(path.name for path in Path("cassettes").rglob("*.yaml"))
    assert names == [
        "named.yaml",
        "test_each[1-3].llm.yaml",
        "test_each[b].llm.yaml",
        "test_hi.llm.yaml",
    ]


def test_recording_again_changes_nothing_where_the_answers_are_the_same(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(pytester, prompt_test("One", "Two"))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
    before = CASSETTE.read_text()
    for mode in ("all", "rewrite"):
        pytester.runpytest("--llm-mock-record", mode).assert_outcomes(passed=1)
        assert CASSETTE.read_text() == before
    assert len(server.requests) == 6


def test_a_recording_that_failed_is_named_then_and_at_each_replay(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(pytester, "\n    def test_hi(request):\n        ask('Hi')\n        assert FAILS == 0\n")
    test = pytester.path / "test_it.py"
    test.write_text(test.read_text() + "\nFAILS = 1\n")
    failed = pytester.runpytest("--llm-mock-record=once")
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(
        [
            f"The test failed, so the cassette {CASSETTE} may lack calls, and is marked "
            "incomplete. Record the rest with --llm-mock-record once.",
        ]
    )
    test.write_text(test.read_text().replace("FAILS = 1", "FAILS = 0"))
    replayed = pytester.runpytest("-Wdefault")
    replayed.assert_outcomes(passed=1, warnings=1)
    replayed.stdout.fnmatch_lines(
        [
            f"*IncompleteCassetteWarning: The test that recorded {CASSETTE} failed, so calls may "
            "be missing. Record the rest with --llm-mock-record once, or correct the file and "
            "remove its line `incomplete: true`."
        ]
    )
    # The rest is recorded, and there is nothing to warn of any more.
    for options in (["--llm-mock-record=once"], []):
        pytester.runpytest("-Werror", *options).assert_outcomes(passed=1)


@pytest.mark.parametrize("mode", ["once", "all"])
def test_the_calls_of_a_cassette_are_there_while_it_is_recorded(
    mode: str, pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(
        pytester,
        """
    def test_hi(llm_mock_cassette):
        for number, prompt in enumerate(("Hi", "Ho"), start=1):
            ask(prompt)
            prompts = [call.request.prompt for call in llm_mock_cassette.calls]
            assert prompts in (["Hi", "Ho"][:number], ["Hi", "Ho"])
        assert prompts == ["Hi", "Ho"]
        assert f"{len(prompts)} calls" in repr(llm_mock_cassette)
""",
    )
    for options in ([f"--llm-mock-record={mode}"], [], [f"--llm-mock-record={mode}"]):
        pytester.runpytest(*options).assert_outcomes(passed=1)
    assert recorded() == ["Hi", "Ho"]


def test_under_strict_a_model_of_the_users_file_needs_a_name_in_the_project(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    pytester.makeini("[pytest]\nllm_mock = strict")
    write(pytester, prompt_test("Hi"))
    refused = pytester.runpytest("--llm-mock-record=once")
    refused.assert_outcomes(failed=1)
    refused.stdout.fnmatch_lines(["*UnknownModelError: *Unknown model: loopback*"])
    pytester.makeconftest("def pytest_llm_mock_configure(config, mock): mock.get_model('loopback')")
    for options in (["--llm-mock-record=once"], []):
        pytester.runpytest(*options).assert_outcomes(passed=1)
    assert recorded() == ["Hi"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "nobody-knows",
            "The call to 'nobody-knows' could not be recorded: UnknownModelError: *nobody-knows*",
        ),
        (
            "gpt-4o-mini",
            "The call to 'gpt-4o-mini' could not be recorded: NeedsKeyException: No key found*",
        ),
    ],
)
def test_a_model_that_cannot_be_had_fails_the_recording(
    pytester: pytest.Pytester,
    server: OpenAIServer,
    model: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write(
        pytester,
        f"""
    def test_hi():
        try:
            llm.get_model("{model}").prompt("Hi").text()
        except Exception:
            pass
        """,
    )
    result = pytester.runpytest("--llm-mock-record", "once")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [message, "Recording needs the plugin of the real model and its key *"]
    )
    assert not CASSETTE.exists()


def test_replies_of_the_test_go_before_the_cassette_and_those_of_the_project_do_not(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    pytester.makeconftest(
        "def pytest_llm_mock_configure(mock):\n    mock.set('*', 'from the project')\n"
    )
    write(
        pytester,
        """
    def test_hi(mock_llm_responses, llm_mock_cassette):
        mock_llm_responses.set("other", "from the test")
        assert llm.get_model("other").prompt("Hi").text() == "from the test"
        assert ask("Hi") == "Answer 1 to: Hi"
        assert llm_mock_cassette.path.name == "test_hi.llm.yaml"
        """,
    )
    for mode in ("once", "none"):
        pytester.runpytest("--llm-mock-record", mode).assert_outcomes(passed=1)
    assert recorded() == ["Hi"]


def test_another_process_cannot_use_the_cassette(pytester: pytest.Pytester) -> None:
    write(
        pytester,
        """
    def test_hi(mock_llm_calls):
        mock_llm_calls.environment()
        """,
    )
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(
        ["*environment() is not supported in a test with a cassette*of the test's own process*"]
    )


HIDING = """
    from llm_mock.cassettes import CassetteConfig

    @pytest.fixture
    def llm_mock_cassette_config():
        return CassetteConfig(redact=(r"customer-\\d+",))
"""
OTHER = prompt_test("One", name="test_other")
THREE = prompt_test("One", "Two", "Three") + OTHER
PARALLEL = {
    "test_each": "".join(
        prompt_test(f"Prompt {number}", name=f"test_{number}") for number in range(12)
    ),
    "test_it": prompt_test("One", "Two") + prompt_test("Three", name="test_three"),
    "test_hidden": HIDING + prompt_test("Who is customer-17?"),
    "test_passed": THREE,
    "test_failed": THREE,
}
"""Tests that workers record."""
CHANGED = {
    "test_passed": prompt_test("Two") + OTHER,
    "test_failed": strict_by_marker("error") + prompt_test("Two") + OTHER,
}
"""What is changed before workers replay the tests."""


@dataclass(frozen=True)
class ParallelRuns:
    """The runs with workers that recorded `PARALLEL` and replayed it after `CHANGED`."""

    folder: Path
    recording: list[str]
    replaying: list[str]
    asked: list[str]
    """The prompts that the server received while the workers recorded."""
    asked_later: list[str]


@pytest.fixture(scope="module")
def parallel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ParallelRuns]:
    """Record and replay with two workers, once for all tests, as workers take long to start."""
    folder = tmp_path_factory.mktemp("parallel")
    with openai_server() as server:
        user = make_user(tmp_path_factory.mktemp("with_user"), server)

        def run(tests: dict[str, str], *options: str) -> list[str]:
            for name, text in tests.items():
                (folder / f"{name}.py").write_text(dedent(MODULE + text))
            variables = {
                **os.environ,
                "LLM_USER_PATH": str(user),
                "NO_PROXY": "127.0.0.1",
                "PYTEST_ADDOPTS": NESTED_OPTIONS,
            }
            result = subprocess.run(
                [sys.executable, "-m", "pytest", "-n2", "-rpf", "--color=no", *options],
                cwd=folder,
                env=variables,
                capture_output=True,
                text=True,
                check=False,
            )
            return result.stdout.splitlines()

        recording = run(PARALLEL, "--llm-mock-record=once")
        asked = prompts(server)
        server.requests.clear()
        replaying = run(CHANGED, "--llm-mock-report=r.json")
        yield ParallelRuns(folder, recording, replaying, asked, prompts(server))


def list_outcomes(lines: list[str], file: str) -> dict[str, str]:
    """Return the outcome of each test of a file, as pytest lists them at the end."""
    found = re.findall(rf"^(PASSED|FAILED) {file}\.py::(\w+)", "\n".join(lines), re.MULTILINE)
    return {name: outcome for outcome, name in found}


def match_lines(lines: list[str], patterns: list[str]) -> None:
    pytest.LineMatcher(lines).fnmatch_lines(patterns)


def test_cassettes_are_recorded_and_replayed_by_parallel_workers(parallel: ParallelRuns) -> None:
    asked = [prompt for prompt in parallel.asked if prompt.startswith("Prompt")]
    assert sorted(asked) == sorted(f"Prompt {number}" for number in range(12))
    assert parallel.asked_later == []
    passed = {f"test_{number}": "PASSED" for number in range(12)}
    assert list_outcomes(parallel.recording, "test_each") == passed
    assert list_outcomes(parallel.replaying, "test_each") == passed
    assert len(list((parallel.folder / "cassettes/test_each").glob("*.yaml"))) == 12


def test_a_run_whose_workers_record_says_so_and_what_they_wrote(parallel: ParallelRuns) -> None:
    match_lines(parallel.recording, RECORDED)
    assert not [line for line in parallel.replaying if "real call" in line]
    passed = {"test_hi": "PASSED", "test_three": "PASSED"}
    assert list_outcomes(parallel.replaying, "test_it") == passed


@pytest.mark.parametrize("outcome", ["passed", "failed"])
def test_recordings_that_no_worker_used_are_reported_or_fail(
    outcome: str, parallel: ParallelRuns
) -> None:
    file = f"test_{outcome}"
    assert list_outcomes(parallel.replaying, file) == {
        "test_hi": outcome.upper(),
        "test_other": "PASSED",
    }
    match_lines(parallel.replaying, [line.replace("test_it", file) for line in UNUSED])


def test_a_report_of_workers_hides_what_the_cassettes_hide(parallel: ParallelRuns) -> None:
    assert list_outcomes(parallel.replaying, "test_hidden") == {"test_hi": "PASSED"}
    report = (parallel.folder / "r.json").read_text()
    assert "Who is [redacted]?" in report
    assert "customer-17" not in report


def test_threads_record_with_the_users_key_and_leave_nothing_of_the_user_behind(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(
        pytester,
        """
    import concurrent.futures

    def test_hi():
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(ask, [str(number) for number in range(24)]))
        assert sorted(answers) == sorted(f"Answer 1 to: {number}" for number in range(24))
        assert llm.load_keys() == {}
        assert "llm-mock" in str(llm.user_dir())
        """,
    )
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
    pytester.runpytest().assert_outcomes(passed=1)
    assert len(server.requests) == 24


def test_a_key_that_the_application_gives_its_model_is_the_one_that_is_used_and_hidden(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(
        pytester,
        """
    def test_hi():
        model = llm.get_model("loopback")
        answers = [model.prompt("Echo my key", key="given-to-the-prompt").text()]
        model.key = "given-to-the-model"
        answers.append(model.prompt("Echo my key").text())
        assert [answer.split()[3] for answer in answers] == ["given-to-the-prompt,", "given-to-the-model,"]
        """,  # noqa: E501
    )
    pytester.runpytest("--llm-mock-record", "once", "--llm-mock-report=r.json").assert_outcomes(
        passed=1
    )
    for written in (CASSETTE, Path("r.json")):
        assert "given-to" not in written.read_text()
        assert "[redacted secret]" in written.read_text()


def test_a_model_that_reads_its_own_key_has_the_users_key_while_it_is_recorded(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    pytester.makeconftest(
        """
        import llm

        class Keyed(llm.Model):
            model_id = "keyed"
            needs_key = "loop"

            def execute(self, prompt, stream, response, conversation):
                yield str(len(self.get_key()))

        class Plugin:
            @llm.hookimpl
            def register_models(self, register):
                register(Keyed())

        llm.plugins.pm.register(Plugin(), name="keyed")

        def pytest_unconfigure():
            llm.plugins.pm.unregister(name="keyed")
        """
    )
    write(
        pytester,
        f"""
    def test_hi():
        assert llm.get_model("keyed").prompt("Hi").text() == "{len(KEY)}"
        """,
    )
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)


def test_a_report_hides_what_the_cassettes_hide(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    pytester.makeconftest(
        """
        import pytest
        from llm_mock.cassettes import CassetteConfig

        @pytest.fixture
        def llm_mock_cassette_config():
            return CassetteConfig(redact=(r"customer-\\d+",))
        """
    )
    write(pytester, prompt_test("Who is customer-17?"))
    pytester.runpytest("--llm-mock-record=once", "--llm-mock-report=r.json").assert_outcomes(
        passed=1
    )
    assert "Who is [redacted]?" in Path("r.json").read_text()
    assert "customer-17" not in Path("r.json").read_text()


@pytest.mark.parametrize("level", ["warn", "error"])
def test_calls_of_the_tests_own_fixtures_are_part_of_its_cassette(
    pytester: pytest.Pytester, server: OpenAIServer, level: str
) -> None:
    write(
        pytester,
        strict_by_marker(level),
        f"""
    @pytest.fixture(scope="module")
    def of_the_module():
        # A strict test refuses the default reply.
        return ask("of the module") if {level == "warn"} else '{{"success": true}}'

    @pytest.fixture
    def of_the_test():
        ask("before")
        yield
        ask("after")

    def test_hi(of_the_module, of_the_test):
        assert of_the_module == '{{"success": true}}'
        ask("during")
        """,
    )
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
    assert recorded() == ["before", "during", "after"]
    result = pytester.runpytest()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*recorded call*not made*")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("greeting", "greeting.yaml"),
        ("greeting.yaml", "greeting.yaml"),
        ("shared/greeting.yml", "shared/greeting.yml"),
        ("greeting.xml", "greeting.xml.yaml"),
    ],
)
def test_a_cassette_may_be_named_with_its_ending(
    pytester: pytest.Pytester, server: OpenAIServer, name: str, file: str
) -> None:
    write(pytester, f"\n    @pytest.mark.llm_mock_cassette({name!r})" + prompt_test("Hi"))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
    assert recorded(Path("cassettes", file)) == ["Hi"]


def test_a_fixture_that_ends_after_the_cassette_is_not_answered_by_it(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    pytester.makepyfile(
        test_it=MODULE.replace("pytestmark =", "_ =")
        + """
    @pytest.fixture
    def earlier():
        yield
        print("answer:", ask("Hi"))

    def test_hi(earlier, llm_mock_cassette):
        ask("Hi")
        """
    )
    result = pytester.runpytest("--llm-mock-record", "once", "-rP")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(['answer: {"success": true}'])
    assert recorded() == ["Hi"]


def test_once_goes_on_where_a_failed_test_left_off(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    write(
        pytester,
        "\n    def test_hi():\n        ask('One')\n        assert False\n        ask('Two')\n",
    )
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(failed=1)
    assert "incomplete: true" in CASSETTE.read_text()
    write(pytester, prompt_test("One", "Two"))
    pytester.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
    assert prompts(server) == recorded() == ["One", "Two"]
    assert "incomplete" not in CASSETTE.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--llm-mock-record", "Once"], "*--llm-mock-record: invalid choice: 'Once' (choose from*"),
        (["--llm-mock-record="], "*--llm-mock-record: invalid choice: ''*"),
        (
            ["-o", "llm_mock_record=onse"],
            "*ini llm_mock_record = 'onse' is not supported; did you mean 'once'? Write none*",
        ),
        (
            ["-o", "llm_mock_strict=no"],
            "*ini llm_mock_strict = 'no' is not supported. Write off, warn or error.",
        ),
    ],
)
def test_a_wrong_setting_is_an_error_before_the_first_test(
    pytester: pytest.Pytester, arguments: list[str], message: str
) -> None:
    result = pytester.runpytest(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
