"""HTTP requests to providers in a run of pytest: keys, refusals, settings, other processes."""

from __future__ import annotations

import json
import re

import pytest

from tests.provider_server import KEY, TEXT, ProviderServer, served

ASK = """
import openai

def ask(client=None, **more):
    client = client or openai.OpenAI(max_retries=0)
    messages = [{"role": "user", "content": "Hello"}]
    return client.chat.completions.create(model="gpt-4o", messages=messages, **more).choices[0].message.content
"""  # noqa: E501


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a project that asks a model by an SDK, on a machine without keys."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    pytester.makepyfile(app=ASK)
    return pytester


def test_no_key_is_needed_and_llm_is_not_imported(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import os, sys
        import pytest
        import app

        CLIENT = app.openai.OpenAI()

        @pytest.mark.skipif(not os.environ.get("OPENAI_API_KEY"), reason="real calls")
        def test_that_wants_a_real_key():
            raise AssertionError

        @pytest.mark.parametrize("client", [CLIENT, None])
        def test_it(mock_llm_responses, client):
            mock_llm_responses.set("gpt-4o", "Hi!")
            assert app.ask(client) == "Hi!"
            assert repr(mock_llm_responses) == "<LLMMock: 1 reply available, 1 call>"
            assert "llm" not in sys.modules
        """
    )
    project.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=2, skipped=1)


def test_llm_and_an_sdk_share_replies_and_history(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import llm
        import app

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "Hi!")
            assert app.ask() == llm.get_model("gpt-4o").prompt("Hello").text() == "Hi!"
            assert [call["prompt"] for call in mock_llm_responses.calls] == ["Hello", "Hello"]
            assert mock_llm_responses.get_model("gpt-4o").prompt_count == 2
        """
    )
    project.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("app.ask()", "No reply was configured for this call:"),
        (
            "app.openai.OpenAI().files.retrieve('f')",
            "GET /v1/files/f of api.openai.com is not supported*",
        ),
        (
            (
                "anthropic.Anthropic().messages.create(model='claude', max_tokens=1, "
                "messages=QUESTION)"
            ),
            "No reply was*",
        ),
    ],
)
def test_a_refusal_is_one_failure_that_says_where_the_call_was(
    project: pytest.Pytester, call: str, told: str
) -> None:
    project.makepyfile(
        f"""
        import anthropic, pytest
        import app

        QUESTION = [{{"role": "user", "content": "Hello"}}]

        @pytest.mark.llm_mock_strict
        def test_it():
            {call}
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([told])
    output = result.stdout.str()
    assert re.search(r"(The call:|Requested at) \S+\.py:\d+", output)
    assert "_base_client" not in output


@pytest.mark.parametrize(
    ("ini", "last", "outcome"),
    [
        ("llm_mock_strict = warn", "pass", {"passed": 1}),
        ("llm_mock_strict = warn", "assert not 'handled'", {"failed": 1}),
        ("llm_mock_strict = error", "pass", {"failed": 1}),
    ],
)
def test_a_request_that_is_not_understood_fails_a_test_unless_the_application_copes(
    project: pytest.Pytester, ini: str, last: str, outcome: dict[str, int]
) -> None:
    project.makeini(f"[pytest]\n{ini}")
    project.makepyfile(
        f"""
        import contextlib
        import app

        def test_it():
            with contextlib.suppress(Exception):
                app.openai.OpenAI().fine_tuning.jobs.list()
            {last}
        """
    )
    result = project.runpytest()
    result.assert_outcomes(**outcome)
    if "failed" in outcome:
        result.stdout.fnmatch_lines(
            ["GET /v1/fine_tuning/jobs of api.openai.com is not supported*nothing was sent*"]
        )


def test_calls_may_be_refused(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nllm_mock_http = error")
    project.makepyfile(
        "import app\n\ndef test_it():\n    app.ask(app.openai.OpenAI(api_key='key'))"
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["A call to the model 'gpt-4o' was about to reach api.openai.com*"])


def test_a_wrong_setting_is_told(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nllm_mock_http = maybe")
    result = project.runpytest()
    result.stderr.fnmatch_lines(
        ["ERROR: *ini llm_mock_http = 'maybe' is not supported. Write answer, error or off."]
    )


def test_a_host_that_the_project_names_is_a_provider(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nllm_mock_hosts = localhost:11434 llm.example.com")
    project.makepyfile(
        """
        import pytest
        import app

        @pytest.mark.parametrize("url", ["http://localhost:11434/v1", "https://llm.example.com/openai"])
        def test_it(mock_llm_responses, url):
            mock_llm_responses.set("gpt-4o", "Hi!")
            assert app.ask(app.openai.OpenAI(base_url=url)) == "Hi!"
        """
    )
    project.runpytest().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    "ini", ["llm_mock_http = off", "llm_mock_passthrough = gpt-*", "llm_mock = false"]
)
def test_what_is_let_through_reaches_its_host(project: pytest.Pytester, ini: str) -> None:
    project.makeini(f"[pytest]\nllm_mock_hosts = localhost\n{ini}")
    project.makepyfile(
        """
        import asyncio, threading
        from http.server import BaseHTTPRequestHandler, HTTPServer
        import aiohttp, httpx, httpx2, pytest, requests, trio

        class Provider(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        async def by_aiohttp(url, json):
            async with aiohttp.ClientSession() as session, session.post(url, json=json) as response:
                return await response.json()

        async def by_httpx2(url, json):
            async with httpx2.AsyncClient() as client:
                return (await client.post(url, json=json)).json()

        @pytest.mark.parametrize("ask", [
            lambda url, json: httpx.post(url, json=json).json(),
            lambda url, json: requests.post(url, json=json).json(),
            lambda url, json: asyncio.run(by_httpx2(url, json)),
            lambda url, json: trio.run(by_httpx2, url, json),
            lambda url, json: asyncio.run(by_aiohttp(url, json)),
        ])
        def test_it(ask):
            with HTTPServer(("127.0.0.1", 0), Provider) as server:
                thread = threading.Thread(target=server.handle_request)
                thread.start()
                url = f"http://localhost:{server.server_port}/v1/chat/completions"
                question = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
                assert ask(url, question) == question
                thread.join()
        """
    )
    project.runpytest().assert_outcomes(passed=5)


def test_another_process_answers_for_sdks_and_reports(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import subprocess, sys

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "Hi!")
            code = "import app; print(app.ask())"
            environment = mock_llm_responses.environment()
            ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
            assert (ran.stdout, ran.stderr) == ("Hi!\\n", "")
            assert [call["api"] for call in mock_llm_responses.calls] == ["chat.completions"]
        """  # noqa: E501
    )
    project.runpytest().assert_outcomes(passed=1)


def test_what_a_test_itself_mocks_wins(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import httpx2
        import app

        def answer(request):
            message = {"role": "assistant", "content": "of the test"}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return httpx2.Response(200, json={"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o",
                                              "choices": [choice]})

        def test_it(mock_llm_calls):
            http_client = httpx2.Client(transport=httpx2.MockTransport(answer))
            assert app.ask(app.openai.OpenAI(http_client=http_client)) == "of the test"
            assert mock_llm_calls.calls == []
        """  # noqa: E501
    )
    project.runpytest().assert_outcomes(passed=1)


def test_a_cassette_records_an_sdk_only_with_a_key(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import app

        def test_it(llm_mock_cassette):
            app.ask()
        """
    )
    result = project.runpytest("--llm-mock-record=once")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*There is no API key for api.openai.com, so nothing was sent. Set OPENAI_API_KEY, *"]
    )


def test_a_cassette_of_an_sdk_is_recorded_once_and_replayed(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with served(ProviderServer()) as server:
        project.makeini(f"[pytest]\nllm_mock_hosts = {server.host}\nllm_mock_record = once")
        project.makepyfile(
            f"""
            import llm, pytest
            import app

            @pytest.mark.llm_mock_cassette
            def test_it(mock_llm_calls):
                with app.openai.OpenAI(base_url="{server.url}/v1", api_key="{KEY}", max_retries=0) as client:
                    assert app.ask(client) == "{TEXT}"
                assert mock_llm_calls.calls[0]["response"] == "{TEXT}"
            """  # noqa: E501
        )
        project.runpytest().assert_outcomes(passed=1)
    project.runpytest().assert_outcomes(passed=1)
    assert len(server.requests) == 1
    project.makepyfile(app=ASK.replace("Hello", "Good evening"))
    result = project.runpytest("--llm-mock-record=none")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "It contains one other call. The difference:",
            "*-prompt: Hello",
            "*+prompt: Good evening",
        ]
    )


def test_a_report_names_calls_as_opentelemetry_does(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        import app

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "Hi!")
            app.ask(temperature=0.5, max_completion_tokens=9)
            mock_llm_responses.set_error("gpt-4o", ValueError("boom"))
            with pytest.raises(app.openai.InternalServerError):
                app.ask()
        """
    )
    project.runpytest("--llm-mock-report=report.json").assert_outcomes(passed=1)
    answered, failed = json.loads((project.path / "report.json").read_text())["tests"][0]["calls"]
    assert (answered["api"], answered["stream"], answered["finish_reason"]) == (
        "chat.completions",
        False,
        "stop",
    )
    assert answered["gen_ai"] == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 2,
        "gen_ai.usage.output_tokens": 1,
    }
    assert failed["gen_ai"]["error.type"] == "ValueError"


def test_a_report_names_calls_of_gemini_by_their_method(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import httpx

        HOST = "https://generativelanguage.googleapis.com/v1beta"

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gemini-2.5-flash", "Hi!")
            body = {"contents": [{"parts": [{"text": "Hello"}]}]}
            url = f"{HOST}/models/gemini-2.5-flash:generateContent"
            assert httpx.post(url, json=body).status_code == 200
        """
    )
    pytester.runpytest("--llm-mock-report=report.json").assert_outcomes(passed=1)
    [call] = json.loads((pytester.path / "report.json").read_text())["tests"][0]["calls"]
    assert call["gen_ai"]["gen_ai.operation.name"] == "generate_content"
