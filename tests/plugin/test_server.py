"""The fixture `llm_mock_server`: other programs are answered as the test says, and appear in it."""

from __future__ import annotations

import shutil

import pytest

from llm_mock.boundaries import PLACEHOLDER_KEY

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="needs Node")
needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
ASK = """
import json, os, subprocess, sys, urllib.request

QUESTION = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9}

def ask(url, **more):
    body = json.dumps({**QUESTION, **more}).encode()
    with urllib.request.urlopen(url + "/chat/completions", data=body) as response:
        return json.load(response)["choices"][0]["message"]["content"]
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a project that asks a server, in Python without an SDK."""
    pytester.makepyfile(app=ASK)
    return pytester


def test_its_calls_are_those_of_the_test_and_problems_fail_it(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import urllib.error
        import pytest
        from app import ask

        @pytest.mark.parametrize("text", ["one", "two"])
        def test_each_has_its_own_calls(llm_mock_server, mock_llm_responses, text):
            mock_llm_responses.add("m", text)
            assert ask(llm_mock_server.openai_url) == text
            [call] = mock_llm_responses.calls
            assert (call["prompt"], call["response"], call["api"]) == ("Hello", text, "chat.completions")

        @pytest.mark.llm_mock_strict
        def test_that_fails(llm_mock_server):
            with pytest.raises(urllib.error.HTTPError) as raised:
                ask(llm_mock_server.openai_url)
            raised.value.close()

        def test_after_it(llm_mock_server, mock_llm_calls):
            assert mock_llm_calls.calls == []
        """  # noqa: E501
    )
    result = project.runpytest("-Werror", "-p", "no:randomly")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["No reply was configured for this call:*"])


def test_a_program_of_the_run_is_answered_by_the_test_that_runs(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from app import ask

        @pytest.fixture(scope="session")
        def url(llm_mock_session_server):
            return llm_mock_session_server.environment()["OPENAI_BASE_URL"]

        @pytest.mark.parametrize("text", ["one", "two"])
        def test_it(url, mock_llm_responses, text):
            mock_llm_responses.set("m", text)
            assert ask(url) == text
            assert len(mock_llm_responses.calls) == 1
        """
    )
    project.runpytest("-Werror").assert_outcomes(passed=2)


def test_it_is_there_at_once_and_ends_with_the_run(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import threading, time
        from app import ask

        def test_it(request, mock_llm_responses):
            mock_llm_responses.set("m", "Hi!")
            started = time.perf_counter()
            server = request.getfixturevalue("llm_mock_server")
            assert time.perf_counter() - started < 2
            assert server.url.startswith("http://127.0.0.1:")
            assert ask(server.openai_url) == "Hi!"
        """
    )
    project.makeconftest(
        """
        import threading

        def pytest_unconfigure():
            print([thread.name for thread in threading.enumerate() if "llm-mock" in thread.name])
        """
    )
    # A process of its own: the run around this test may have a server that lives on.
    result = project.runpytest_subprocess("-Werror", "-s")
    result.assert_outcomes(passed=1)
    assert result.outlines[-1] == "[]"


def test_calls_that_a_test_left_end_with_it(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import threading
        from app import ask

        def test_it(llm_mock_server, mock_llm_responses):
            mock_llm_responses.set_error("m", TimeoutError())

            def left():
                try:
                    ask(llm_mock_server.openai_url)
                except OSError:
                    pass

            test_it.thread = threading.Thread(target=left)
            test_it.thread.start()
            while not mock_llm_responses.calls:
                pass

        def test_after_it():
            test_it.thread.join()
        """
    )
    project.runpytest("-Werror", "-p", "no:randomly").assert_outcomes(passed=2)


def test_the_environment_leads_a_program_to_it_without_real_keys(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = ("OPENAI_API_BASE", "AZURE_OPENAI_ENDPOINT", "GROQ_API_KEY", "GROQ_BASE_URL")
    for name in ("OPENAI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_AUTH_TOKEN", *others):
        monkeypatch.setenv(name, "real")
    project.makepyfile(
        f"""
        import pytest

        def test_with_it(llm_mock_server, mock_llm_calls):
            url = llm_mock_server.url
            for environment in (mock_llm_calls.environment(MORE="1"), llm_mock_server.environment(MORE="1")):
                assert environment["OPENAI_BASE_URL"] == llm_mock_server.openai_url == url + "/openai/v1"
                assert environment["ANTHROPIC_BASE_URL"] == llm_mock_server.anthropic_url == url + "/anthropic"
                assert environment["GOOGLE_GEMINI_BASE_URL"] == llm_mock_server.gemini_url == url + "/gemini"
                assert environment["MISTRAL_BASE_URL"] == llm_mock_server.mistral_url + "/v1" == url + "/mistral/v1"
                assert environment["OPENAI_API_KEY"] == environment["ANTHROPIC_API_KEY"] == {PLACEHOLDER_KEY!r}
                assert environment["GEMINI_API_KEY"] == environment["MISTRAL_API_KEY"] == {PLACEHOLDER_KEY!r}
                assert "real" not in environment.values()
                assert environment["OPENAI_API_BASE"] == llm_mock_server.openai_url
                assert environment["AZURE_OPENAI_ENDPOINT"] == environment["GROQ_BASE_URL"] == url
                assert "TOGETHER_BASE_URL" not in environment
                assert environment["MORE"] == environment["PFLOW_TESTING"] == "1"

        def test_without_it(mock_llm_calls):
            assert "OPENAI_BASE_URL" not in mock_llm_calls.environment()
        """  # noqa: E501
    )
    project.runpytest("-p", "no:randomly").assert_outcomes(passed=2)


PYTHON = "import openai; r = openai.OpenAI().responses.create(model='m', input='Hello'); print(r.output_text)"  # noqa: E501
NODE = """
const {OPENAI_BASE_URL, OPENAI_API_KEY} = process.env
const body = {model: 'm', messages: [{role: 'user', content: 'Hello'}], stream: true}
const headers = {'content-type': 'application/json', authorization: `Bearer ${OPENAI_API_KEY}`}
const options = {method: 'POST', headers, body: JSON.stringify(body)}
fetch(`${OPENAI_BASE_URL}/chat/completions`, options).then(async response => {
    const events = (await response.text()).split('\\n\\n').map(event => event.slice(6))
    const chunks = events.filter(event => event.startsWith('{')).map(event => JSON.parse(event))
    console.log(chunks.map(chunk => chunk.choices[0].delta.content ?? '').join(''))
})
"""
CURL = """curl -sS $ANTHROPIC_BASE_URL/v1/messages -H "x-api-key: $ANTHROPIC_API_KEY" \
-d '{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}' | grep -o 'Hi from the mock'"""  # noqa: E501


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["python", "-c", PYTHON], id="Python"),
        pytest.param(["node", "-e", NODE], id="Node", marks=needs_node),
        pytest.param(["sh", "-c", CURL], id="curl", marks=needs_curl),
    ],
)
@pytest.mark.parametrize("which", ["llm_mock_server", "mock_llm_calls"])
def test_a_program_in_any_language_is_answered_whatever_proxy_there_is(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, command: list[str], which: str
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "example.com")
    project.makepyfile(
        f"""
        import subprocess, sys

        def test_it(llm_mock_server, mock_llm_calls, mock_llm_responses):
            mock_llm_responses.add("m", "Hi from the mock")
            command = {command!r}
            command = [sys.executable, *command[1:]] if command[0] == "python" else command
            output = subprocess.check_output(command, env={which}.environment(), text=True)
            assert output == "Hi from the mock\\n"
            assert [call["prompt"] for call in mock_llm_calls.calls] == ["Hello"]
        """
    )
    project.runpytest().assert_outcomes(passed=1)


def test_a_project_that_opted_out_has_it_too(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nllm_mock = false")
    project.makepyfile(
        """
        from app import ask

        def test_it(llm_mock_server, mock_llm_responses):
            mock_llm_responses.set("m", "Hi!")
            assert ask(llm_mock_server.openai_url) == "Hi!"
        """
    )
    project.runpytest("-Werror").assert_outcomes(passed=1)


def test_a_suite_without_it_loads_nothing_of_it(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys

        def test_it(mock_llm_calls):
            assert not [name for name in sys.modules if name.startswith("llm_mock.boundaries.http.server")]
        """  # noqa: E501
    )
    project.runpytest_subprocess().assert_outcomes(passed=1)
