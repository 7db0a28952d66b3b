"""A process that a test starts is part of the test."""

from __future__ import annotations

import os

import pytest

ASK = """
import sys, urllib3
body = {"model": sys.argv[1], "messages": [{"role": "user", "content": f"Hi from {sys.argv[1]}"}]}
answer = urllib3.request("POST", "https://api.openai.com/v1/chat/completions", json=body).json()
print(answer["choices"][0]["message"]["content"] if "choices" in answer else answer["error"]["message"])
"""  # noqa: E501
ASK_BY_HTTPX = """
import httpx, sys
body = {"model": sys.argv[1], "messages": [{"role": "user", "content": f"Hi from {sys.argv[1]}"}]}
answer = httpx.post("https://api.openai.com/v1/chat/completions", json=body).json()
print(answer["choices"][0]["message"]["content"])
"""
IS_MOCKED = (
    "import sys; print(any('llm_mock' in type(finder).__module__ for finder in sys.meta_path))"
)


def test_what_a_process_asks_is_part_of_the_test_that_started_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        ask=ASK,
        spawned="import os\ndef look(): os._exit(7 if 'LLM_MOCK_FOLDER' in os.environ else 8)",
    )
    pytester.makepyfile(
        """
        import asyncio, multiprocessing, os, subprocess, sys
        import pytest

        def ask(model, **arguments):
            return subprocess.run([sys.executable, "ask.py", model], stdout=-1, text=True, **arguments).stdout

        def test_every_way(mock_llm_calls, mock_llm_responses):
            mock_llm_responses.add("m", "first")
            mock_llm_responses.set("m", "later")
            assert ask("m") == "first\\n"
            assert ask("m", env={**os.environ, "MODE": "fast"}) == "later\\n"

            async def run():
                process = await asyncio.create_subprocess_exec(sys.executable, "ask.py", "m", stdout=-1)
                return (await process.communicate())[0]

            assert asyncio.run(run()) == b"later\\n"
            assert os.system(f"{sys.executable} ask.py m > said") == 0
            child = os.fork()
            if not child:
                mock_llm_calls.get_model("m").prompt("from a fork")
                os._exit(0)
            os.waitpid(child, 0)
            prompts = [call["prompt"] for call in mock_llm_calls.calls]
            assert prompts == [*["Hi from m"] * 4, "from a fork"]
            os.spawnve(os.P_WAIT, sys.executable, [sys.executable, "ask.py", "m"], {**os.environ, "MODE": "fast"})
            by_position = [-1, None, None, -1, None, None, True, False, None, None]
            assert subprocess.Popen([sys.executable, "ask.py", "m"], *by_position).communicate()[0] == b"later\\n"
            assert len(mock_llm_calls.calls) == 7
            import spawned
            process = multiprocessing.get_context("spawn").Process(target=spawned.look)
            process.start()
            process.join()
            assert process.exitcode == 7
            assert "LLM_MOCK_FOLDER" not in os.environ

        @pytest.mark.llm_mock_strict("warn")
        def test_failure():
            assert ask("nobody") == "a reply"

        @pytest.mark.llm_mock_strict
        def test_strict():
            ask("nobody")

        class Answers:
            def answer(self, prompt):
                return "never"

        def test_function(mock_llm_responses):
            mock_llm_responses.set("other", "text")
            mock_llm_responses.set("another", Answers().answer)
            mock_llm_responses.set("m", lambda prompt: "never")
            assert ask("other") == "text\\n"
            ask("m")

        @pytest.mark.llm_mock_cassette
        def test_cassette(mock_llm_responses):
            mock_llm_responses.set("m", "configured")
            assert ask("m") == "configured\\n"
            ask("other")
        """  # noqa: E501
    )
    result = pytester.runpytest("-rf")
    result.assert_outcomes(passed=1, failed=4)
    result.stdout.fnmatch_lines(
        [
            "*_ test_failure _*",
            "*LLM calls*",
            "  1. nobody  'Hi from nobody'  → {\"success\": true}  (answered by default)",
            "*_ test_strict _*",
            "No reply was configured for this call:",
            "*_ test_function _*",
            "The reply to this call needs the function of *test_what_a_process_asks*.py:*, which "
            "the process that the "
            "test started cannot load: *",
            "  1. other  'Hi from other'  → 'text'",
            "*_ test_cassette _*",
            "The model 'other' was called in a process that the test started. A cassette records "
            "and replays the calls "
            "of the test's own process only: *",
        ]
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork server")
def test_multiprocessing_hands_the_replies_of_each_test_over(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        asking="""
        import llm

        def ask(queue):
            queue.put(llm.get_model("m").prompt("Hi").text())
        """
    )
    pytester.makepyfile(
        """
        import multiprocessing
        import pytest
        import asking

        def answer(prompt):
            return f"function: {prompt.prompt}"

        @pytest.mark.parametrize("method", ["forkserver", "spawn"])
        @pytest.mark.parametrize("reply", ["first", "second", answer])
        def test_it(mock_llm_responses, method, reply):
            mock_llm_responses.set("m", reply)
            context = multiprocessing.get_context(method)
            queue = context.Queue()
            process = context.Process(target=asking.ask, args=(queue,))
            process.start()
            assert queue.get(timeout=60) == (reply if reply != answer else "function: Hi")
            process.join()
            assert len(mock_llm_responses.calls) == 1
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=6)


def test_a_process_that_asks_for_no_mock_is_handed_none(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(is_mocked=IS_MOCKED)
    pytester.makepyfile(
        """
        import os, subprocess, sys
        import pytest

        @pytest.mark.parametrize("variables", [{"LLM_MOCK": "0"}, {"PFLOW_TESTING": "off", "LLM_MOCK": "1"}])
        def test_it(variables, mock_llm_calls, monkeypatch):
            command = [sys.executable, "is_mocked.py"]
            assert subprocess.check_output(command) == b"True\\n"
            assert subprocess.check_output(command, env={**os.environ, **variables}) == b"False\\n"
            folder = mock_llm_calls.folder.folder
            mock_llm_calls.folder = None
            for name, value in variables.items():
                monkeypatch.setenv(name, value)
            assert subprocess.check_output(command) == b"False\\n"
            assert subprocess.check_output(command, env={}) == b"False\\n"
            assert mock_llm_calls.folder is None
        """  # noqa: E501
    )
    pytester.runpytest().assert_outcomes(passed=2)


def test_a_project_may_hand_the_mock_over_by_itself(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os, subprocess, sys
        COMMAND = [sys.executable, "-c", "import os; print('LLM_MOCK_FOLDER' in os.environ)"]

        def test_it(mock_llm_calls):
            assert subprocess.check_output(COMMAND) == b"False\\n"
            assert subprocess.check_output(COMMAND, env=mock_llm_calls.environment()) == b"True\\n"
        """
    )
    pytester.runpytest("-o", "llm_mock_processes=false").assert_outcomes(passed=1)
    pytester.runpytest("-o", "llm_mock_processes=true").assert_outcomes(failed=1)


def test_a_process_that_is_started_outside_tests_has_the_standing_answers_of_the_project(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(ask=ASK_BY_HTTPX)
    pytester.makeconftest("def pytest_llm_mock_configure(mock): mock.set('*', 'of the project')")
    pytester.makepyfile(
        """
        import subprocess, sys
        import pytest

        @pytest.fixture(scope="session")
        def server():
            command = [sys.executable, "-c", "input(); import ask", "m"]
            with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
                yield process

        def test_it(server, mock_llm_responses, mock_llm_calls):
            mock_llm_responses.set("*", "of the test")
            assert server.communicate("\\n")[0] == "of the project\\n"
            assert mock_llm_calls.calls == []
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


@pytest.mark.usefixtures("all_libraries")
def test_a_process_is_started_after_a_run_within_the_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('pytest_plugins = ["pytester"]')
    pytester.makepyfile(
        ask=ASK,
        test_it="""
        import subprocess, sys
        import pytest

        @pytest.mark.parametrize("text", ["one", "two"])
        def test_it(pytester, request, mock_llm_responses, text):
            mock_llm_responses.set("m", text)
            pytester.makepyfile(test_inner="def test_inner(mock_llm_calls): assert not mock_llm_calls.calls")
            pytester.runpytest_inprocess("test_inner.py").assert_outcomes(passed=1)
            asked = [sys.executable, request.path.with_name("ask.py"), "m"]
            assert subprocess.run(asked, stdout=-1, text=True).stdout == f"{text}\\n"
        """,  # noqa: E501
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_the_command_that_an_sdk_asks_for_the_processor_is_not_handed_the_mock(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import subprocess, sys
        import pytest

        @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no uname")
        def test_it(mock_llm_calls):
            subprocess.check_output(["uname", "-p"])
            subprocess.check_output(args=["uname", "-p"])
            assert mock_llm_calls.folder is None
            subprocess.check_output([sys.executable, "--version"])
            assert mock_llm_calls.folder is not None
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


OWN_ENVIRONMENTS = """
import os, subprocess, sys
import os

import pytest

VARIABLES = {"PATH": os.environ["PATH"]}

@pytest.fixture(autouse=True)
def replies(mock_llm_responses):
    mock_llm_responses.set("m", "text")

@pytest.mark.parametrize("command", [[sys.executable, "-c", ""], ["python3", "-c", ""]])
def test_python(command):
    for _ in range(2):
        subprocess.run(command, env=VARIABLES)
    assert False

def test_shell():
    subprocess.run("python -c ''", shell=True, env=VARIABLES)
    assert False

@pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="POSIX only")
def test_spawn():
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], VARIABLES)
    os.waitpid(pid, 0)
    assert False

def test_asked_for_no_mock():
    subprocess.run([sys.executable, "-c", ""], env={**VARIABLES, "LLM_MOCK": "0"})
    assert False

def test_all_variables():
    subprocess.run([sys.executable, "-c", ""], env={**os.environ})
    assert False

def test_inherited():
    subprocess.run([sys.executable, "-c", ""])
    assert False

def test_other_program():
    subprocess.run(["true"], env=VARIABLES)
    assert False

def test_no_unused_reply(mock_llm_calls):
    mock_llm_calls.get_model("m").prompt("Hi").text()
    subprocess.run([sys.executable, "-c", ""], env=VARIABLES)
    assert False
"""


def test_a_failure_names_a_python_program_with_an_environment_of_its_own(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_it=OWN_ENVIRONMENTS)
    result = pytester.runpytest("--tb=short")
    result.assert_outcomes(failed=9)
    lines = OWN_ENVIRONMENTS.strip().splitlines()
    starts = ["subprocess.run(command", 'subprocess.run("python', "pid = os.posix_spawn"]
    [first, second, third] = [
        number
        for start in starts
        for number, line in enumerate(lines, start=1)
        if line.strip().startswith(start)
    ]
    shown = [line for line in result.stdout.lines if line.startswith("A Python process was")]
    assert shown == [
        f"A Python process was started with its own environment (test_it.py:{number}), which "
        "contains neither LLM_MOCK nor PFLOW_TESTING, so the mock was not active in the process. "
        "Write env={**os.environ, …}, or in a test env=mock_llm_calls.environment()."
        for number in (first, first, second, third)
    ]


def test_the_own_environment_of_a_program_is_located_where_the_application_starts_it(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        app="""
        import subprocess
        import sys

        def run():
            subprocess.run([sys.executable, "-c", ""], env={})
        """,
        test_it="""
        import app

        def test_it(mock_llm_responses):
            mock_llm_responses.set("m", "text")
            app.run()
            assert False
        """,
    )
    result = pytester.runpytest("--tb=short")
    result.assert_outcomes(failed=1)
    place = "A Python process was started with its own environment (app.py:5), which"
    assert place in result.stdout.str()
