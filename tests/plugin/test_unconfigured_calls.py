"""Calls that no reply was configured for: an error over HTTP, the default reply through `llm`."""

from __future__ import annotations

import pytest

APPLICATION = """
import json
import anthropic
import llm
import openai

HELLO = [{"role": "user", "content": "Hello"}]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA}}


def ask_llm(**more):
    return llm.get_model("gpt-4o").prompt("Hello", **more).text()


def ask_openai(**more):
    client = openai.OpenAI(max_retries=0)
    answer = client.chat.completions.create(model="gpt-4o", messages=HELLO, **more)
    return answer.choices[0].message.content


def ask_anthropic():
    client = anthropic.Anthropic(max_retries=0)
    answer = client.messages.create(model="claude-opus-5", max_tokens=9, messages=HELLO)
    return answer.content[0].text
"""
TESTS = """
import app
import pytest


def test_llm():
    assert app.ask_llm() == '{"success": true}'


def test_openai():
    assert app.ask_openai() == '{"success": true}'


def test_anthropic():
    assert app.ask_anthropic() == '{"success": true}'
"""
LEVEL = 'With ini llm_mock_strict = warn, unmatched calls are answered with {"success": true}.'
ADVICE = (
    "Configure one with the fixture mock_llm_responses: "
    'mock_llm_responses.set("gpt-4o", "…"), or set("*", "…") for any model.'
)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a project that asks models through `llm` and by two SDKs."""
    pytester.makepyfile(app=APPLICATION)
    return pytester


def list_passed(result: pytest.RunResult) -> set[str]:
    lines = [line.split() for line in result.outlines]
    return {line[0].partition("::")[2] for line in lines if line[1:2] == ["PASSED"]}


@pytest.mark.parametrize(
    ("settings", "passed"),
    [
        ("", {"test_llm"}),
        ("llm_mock_strict = warn", {"test_llm", "test_openai", "test_anthropic"}),
        ("llm_mock_strict = off", {"test_llm", "test_openai", "test_anthropic"}),
        ("llm_mock_strict = error", set()),
        ("llm_mock = strict", set()),
        (
            "llm_mock = strict\nllm_mock_strict = warn",
            {"test_llm", "test_openai", "test_anthropic"},
        ),
    ],
)
def test_the_level_is_that_of_the_ini_key(
    project: pytest.Pytester, settings: str, passed: set[str]
) -> None:
    project.makeini(f"[pytest]\n{settings}")
    project.makepyfile(TESTS)
    result = project.runpytest("-v")
    result.assert_outcomes(passed=len(passed), failed=3 - len(passed))
    assert list_passed(result) == passed


@pytest.mark.parametrize(
    ("level", "is_refused"), [("warn", False), ("off", False), ("error", True)]
)
def test_the_level_is_that_of_the_marker(
    project: pytest.Pytester, level: str, is_refused: bool
) -> None:
    marker = f"pytestmark = pytest.mark.llm_mock_strict({level!r})"
    project.makepyfile(f"{TESTS}\n\n{marker}\n")
    outcomes = {"failed": 3} if is_refused else {"passed": 3}
    project.runpytest().assert_outcomes(**outcomes)


def test_the_failure_says_how_to_configure_a_reply(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import app

        def test_that_swallows_the_error():
            try:
                app.ask_openai()
            except Exception:
                pass
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "No reply was configured for this call:",
            "  gpt-4o  'Hello'",
            "No reply was configured before this call.",
            ADVICE.replace("*", "[*]"),
            LEVEL,
        ],
        consecutive=True,
    )


@pytest.mark.parametrize(
    ("file", "text", "quote"),
    [
        ("pytest.ini", "[pytest]", ""),
        ("tox.ini", "[pytest]", ""),
        ("pyproject.toml", "[tool.pytest.ini_options]", '"'),
    ],
)
def test_a_setting_is_written_as_the_file_of_the_project_has_it(
    project: pytest.Pytester, file: str, text: str, quote: str
) -> None:
    (project.path / file).write_text(f"{text}\nverbosity_test_cases = 0\n")
    project.makepyfile(TESTS)
    output = project.runpytest().stdout.str()
    assert f"\nWith ini llm_mock_strict = {quote}warn{quote}, unmatched calls are" in output
    assert (
        f"\nTo fail the tests with these calls, set ini llm_mock_strict = {quote}error{quote}."
        in output
    )
    assert f". Ini llm_mock = {quote}strict{quote} sets all recommended settings." in output


@pytest.mark.parametrize(
    ("times", "advice"),
    [
        (0, ADVICE),
        (
            1,
            'Queue one more: mock_llm_responses.add("gpt-4o", "…"), or a further reply in '
            "script(). If the application should not call again, correct the application.",
        ),
    ],
)
def test_the_advice_is_about_the_kind_of_reply_that_is_missing(
    project: pytest.Pytester, times: int, advice: str
) -> None:
    project.makepyfile(
        f"""
        import app

        def test_it(mock_llm_responses):
            mock_llm_responses.script("gpt-4o", *["Hi!"] * {times}) if {times} else None
            for _ in range({times + 1}):
                app.ask_openai()
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    lines = [line for line in result.outlines if line.startswith(("Queue", "Configure one"))]
    assert lines == [advice]


@pytest.mark.parametrize("settings", ["llm_mock_strict = error", "llm_mock = strict"])
def test_a_project_that_chose_the_level_is_not_told_of_it(
    project: pytest.Pytester, settings: str
) -> None:
    project.makeini(f"[pytest]\n{settings}")
    project.makepyfile(TESTS)
    output = project.runpytest().stdout.str()
    assert ADVICE in output
    assert LEVEL not in output


def test_the_sdk_raises_an_error_with_the_advice(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import app
        import pytest

        def test_it(mock_llm_calls):
            with pytest.raises(app.openai.BadRequestError) as caught:
                app.ask_openai()
            assert 'mock_llm_responses.set("gpt-4o", ' in caught.value.body["message"]
            assert mock_llm_calls.last_call["configured"] is True
            mock_llm_calls.problems.clear()
        """
    )
    project.runpytest().assert_outcomes(passed=1)


def test_outside_of_the_root_the_failure_has_no_line_of_the_call(project: pytest.Pytester) -> None:
    root = project.mkdir("root")
    project.makepyfile("import app\n\ndef test_it(): app.ask_openai()")
    for options, lines in (([], 1), (["--rootdir", root], 0)):
        result = project.runpytest(*options)
        result.assert_outcomes(failed=1)
        assert sum(line.startswith("The call: ") for line in result.outlines) == lines
        assert sum(ADVICE in line for line in result.outlines) == 1
        result.stdout.no_fnmatch_line("*IndexError*")


def test_generated_replies_are_given_over_http_too(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nllm_mock_generate = true")
    project.makepyfile(
        """
        import app

        def test_with_a_schema():
            assert app.ask_openai(response_format=app.FORMAT) == '{"city": "text"}'

        def test_without_one():
            app.ask_openai()
        """
    )
    project.runpytest().assert_outcomes(passed=1, failed=1)


def test_a_call_for_a_schema_is_refused_where_nothing_is_generated(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        """
        import app

        def test_with_a_schema():
            app.ask_openai(response_format=app.FORMAT)
        """
    )
    project.runpytest().assert_outcomes(failed=1)


def test_what_the_mock_answers_by_itself_needs_no_reply(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import app

        def test_it():
            client = app.openai.OpenAI()
            vector = client.embeddings.create(model="text-embedding-3-small", input="a").data[0]
            assert len(vector.embedding) == 1536
            assert not client.moderations.create(input="a").results[0].flagged
            assert client.images.generate(model="gpt-image-1", prompt="a").data
        """
    )
    project.runpytest().assert_outcomes(passed=1)


def test_the_server_of_a_test_refuses_the_call(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import app

        def test_it(llm_mock_server):
            client = app.openai.OpenAI(base_url=llm_mock_server.openai_url, max_retries=0)
            try:
                client.chat.completions.create(model="gpt-4o", messages=app.HELLO)
            except app.openai.BadRequestError:
                pass
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([LEVEL])


def test_a_process_of_a_test_is_as_the_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import subprocess, sys

        def run(code):
            command = [sys.executable, "-c", f"import app; print({code})"]
            return subprocess.run(command, capture_output=True, text=True)

        def test_llm():
            assert run("app.ask_llm()").stdout == '{"success": true}\\n'

        def test_openai():
            assert "mock_llm_responses.set" in run("app.ask_openai()").stderr
        """
    )
    result = project.runpytest("-v")
    result.assert_outcomes(passed=1, failed=1)
    assert list_passed(result) == {"test_llm"}
    result.stdout.fnmatch_lines([LEVEL])


OUTSIDE = (
    "The call was made outside of a test: during an import, or in a fixture of a wider scope. "
    "Make the call in a function that the test calls, or configure its reply in "
    'pytest_llm_mock_configure(mock) of a conftest.py: mock.set("gpt-4o", "…").'
)


@pytest.mark.parametrize(
    "code",
    [
        "app.ask_openai()\ndef test_it(): pass",
        "@pytest.fixture(scope='module')\ndef answer(): return app.ask_openai()\n"
        "def test_it(answer): pass",
    ],
    ids=["import", "fixture"],
)
def test_a_call_outside_of_a_test_is_not_told_of_the_fixture(
    project: pytest.Pytester, code: str
) -> None:
    project.makepyfile(f"import app, pytest\n{code}")
    result = project.runpytest("--tb=short")
    result.assert_outcomes(errors=1)
    output = result.stdout.str()
    assert OUTSIDE in output
    assert ADVICE not in output


@pytest.mark.parametrize(
    ("code", "model", "is_told"),
    [
        ("answer = app.ask_llm()", "gpt-4o", True),
        ("answer = ''", "gpt-4o", False),
        ("answer = app.ask_llm()", "gpt-5", False),
    ],
    ids=["called", "not called", "another model called"],
)
def test_a_failing_test_names_the_call_that_was_made_before_it(
    project: pytest.Pytester, code: str, model: str, is_told: bool
) -> None:
    project.makepyfile(
        f"""
        import app

        {code}

        def test_it(mock_llm_responses):
            mock_llm_responses.set({model!r}, "Hi")
            assert answer == "Hi"
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    output = result.stdout.str()
    told = "This call was made before the test, and was answered by default:\n  gpt-4o  'Hello'\n"
    assert (told + OUTSIDE in output) is is_told
    heading = "No model was called in this test" if is_told else "No model was called"
    assert f"\n{heading}, but replies were configured:\n" in output


@pytest.mark.parametrize(
    ("reply", "prompts", "is_retry"),
    [
        ("templates.rate_limit()", ["Hi"], True),
        ("templates.rate_limit()", ["Hi", "Ho"], False),
        ("'Hello'", ["Hi", "Hi"], False),
    ],
    ids=["the same request", "another request", "after an answer"],
)
def test_a_call_that_repeats_a_failed_one_is_called_a_retry(
    pytester: pytest.Pytester, reply: str, prompts: list[str], is_retry: bool
) -> None:
    pytester.makepyfile(
        f"""
        from contextlib import suppress
        import openai
        from llm_mock import templates

        def test_it(mock_llm_responses):
            mock_llm_responses.add("gpt-5", {reply})
            client = openai.OpenAI(max_retries={int(is_retry)})
            for prompt in {prompts}:
                with suppress(openai.RateLimitError):
                    client.responses.create(model="gpt-5", input=prompt)
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    output = result.stdout.str()
    retry = (
        "The request repeats the failed call before it: most SDKs retry after an error. For an "
        'error on every attempt, use set_error("gpt-5", …). To disable retries, configure the '
        "client, such as with max_retries=0 in openai and anthropic."
    )
    assert (retry in output) is is_retry
    assert ('Queue one more: mock_llm_responses.add("gpt-5", "…")' in output) is not is_retry


@pytest.mark.parametrize(("first", "stays"), [('ToolCall("price", {})', False), ('"A text"', True)])
def test_a_tool_call_that_was_used_up_is_not_to_stay(
    pytester: pytest.Pytester, first: str, stays: bool
) -> None:
    pytester.makepyfile(
        f"""
        import llm
        from llm_mock import ToolCall

        def price() -> str:
            return "3 EUR"

        def test_it(mock_llm_responses):
            mock_llm_responses.add("gpt-4o", {first})
            llm.get_model("gpt-4o").chain("What does tea cost?", tools=[price]).text()
            llm.get_model("gpt-4o").prompt("And coffee?").text()
            assert False
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    output = result.stdout.str()
    queue = "Queue a text after the tool call: script(model, ToolCall(…), text)."
    assert (queue in output) is not stays
    assert ("A reply of set() answers any number of calls." in output) is stays


@pytest.mark.parametrize(("options", "is_told"), [("stream=True", True), ("stream=False", False)])
def test_queued_texts_for_the_chunks_of_one_stream_are_recognised(
    pytester: pytest.Pytester, options: str, is_told: bool
) -> None:
    pytester.makepyfile(
        f"""
        import openai

        def test_it(mock_llm_responses):
            mock_llm_responses.add("gpt-5", "It is ")
            mock_llm_responses.add("gpt-5", "sunny.")
            list(openai.OpenAI().responses.create(model="gpt-5", input="Hi", {options}))
            assert False
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    hint = "for several chunks of a stream, write Reply(chunks=['It is ', 'sunny.'])"
    assert (hint in result.stdout.str()) is is_told


@pytest.mark.parametrize(
    ("reply", "count", "is_told"),
    [
        ("script('gpt-5', 'A', 'B')", 2, True),
        ("set('gpt-5', 'A')", 2, False),
        ("add('gpt-5', 'A', times=2, prompt='x')", 2, False),
        ("script('gpt-5', 'A', 'B')", 1, False),
    ],
    ids=["a queue", "a standing reply", "a condition", "one thread"],
)
def test_several_threads_that_use_one_queue_explain_the_order_of_calls(
    pytester: pytest.Pytester, reply: str, count: int, is_told: bool
) -> None:
    pytester.makepyfile(
        f"""
        from concurrent.futures import ThreadPoolExecutor
        from threading import Barrier
        import openai

        barrier = Barrier({count})

        def ask(prompt):
            barrier.wait()
            client = openai.OpenAI()
            return [client.responses.create(model="gpt-5", input="x") for _ in range(2 // {count})]

        def test_it(mock_llm_responses):
            mock_llm_responses.{reply}
            with ThreadPoolExecutor() as pool:
                list(pool.map(ask, range({count})))
            assert False
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    told = (
        "Calls 1 and 2 came from different threads. If the threads run at the same time, the order "
        "of the calls can change, but queued replies are used in order. Give each reply a "
        'condition: set(model, reply, prompt="…").'
    )
    assert (told in result.stdout.str()) is is_told


def test_a_reply_for_an_endpoint_without_a_conversation_is_told_to_be_another(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import openai
        from llm_mock import Reply

        def test_it(mock_llm_responses):
            mock_llm_responses.set("omni-moderation-latest", Reply(data={"flagged": True}))
            assert openai.OpenAI().moderations.create(input="Hi").results[0].flagged
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "    nearest call: 1, but set(), add() and script() do not answer it: write "
            "on('POST', '/v1/moderations', …)"
        ]
    )


@pytest.mark.parametrize(
    ("calls", "is_told"), [("app.ask(); app.ask()", True), ("app.ask()", False), ("pass", False)]
)
def test_a_function_that_kept_the_result_of_an_earlier_test_is_named(
    pytester: pytest.Pytester, calls: str, is_told: bool
) -> None:
    pytester.makepyfile(
        app="""
        import functools
        import llm

        @functools.lru_cache
        def ask():
            return llm.get_model("gpt-4o").prompt("Hi").text()
        """,
        test_it=f"""
        import app
        import pytest

        @pytest.fixture(scope="module", autouse=True)
        def earlier():
            {calls}

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "Hello")
            assert False
        """,
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    told = (
        "ask() of app caches its results, and returned a cached result without running. If the "
        "result comes from another test, call ask.cache_clear() before each test."
    )
    assert (told in result.stdout.str()) is is_told


def test_the_message_about_a_call_has_the_end_of_its_prompt(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import openai

        def test_it():
            openai.OpenAI().responses.create(model="gpt-5", input=200 * "a " + "At most 20 words.")
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["  gpt-5  'a a *a a At most 20 words.'"])


def test_the_nearest_reply_is_the_one_with_the_most_similar_condition(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        """
        import openai

        def test_it(mock_llm_responses):
            for area in ("technical", "leghal", "financial"):
                mock_llm_responses.set("gpt-5", "Yes.", system=area)
            openai.OpenAI().responses.create(model="gpt-5", input="Hi", instructions="Be legal.")
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["  - gpt-5 *system contains 'leghal' *", "    does not match: the system prompt *"]
    )


def test_a_model_in_the_place_of_the_reply_is_recognised(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import app

        def test_it(mock_llm_responses):
            mock_llm_responses.set("other", "a reply")
            mock_llm_responses.set("Hello there", "gpt-4o")
            app.ask_openai()
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    output = result.stdout.str()
    place = "test_a_model_in_the_place_of_the_reply_is_recognised.py:5"
    message = f"The model comes first: write set('gpt-4o', 'Hello there') ({place})."
    assert message in output
    assert ADVICE not in output


@pytest.mark.parametrize(
    ("replies", "is_told"),
    [
        ("script('Hello there', 'Bye')", True),
        ("set('Hello there', 'Bye', prompt='weather')", False),
        ("set('models/my model', 'Bye')", False),
        ("set('gpt-4', 'Bye')", False),
    ],
)
def test_a_text_in_the_place_of_the_model_is_recognised(
    project: pytest.Pytester, replies: str, is_told: bool
) -> None:
    project.makepyfile(
        test_it=f"import app\ndef test_it(mock_llm_responses):\n"
        f"    mock_llm_responses.{replies}\n    app.ask_openai()\n"
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    message = (
        "'Hello there' is the model of a reply (test_it.py:3). The model comes first: write "
        "set('gpt-4o', 'Hello there')."
    )
    assert (message in result.stdout.str()) is is_told


@pytest.mark.parametrize("swallow", [True, False])
def test_a_function_without_a_result_fails_the_test(
    project: pytest.Pytester, swallow: bool
) -> None:
    project.makepyfile(
        f"""
        import app
        import contextlib
        import openai

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", lambda request: None)
            with contextlib.suppress(*[openai.BadRequestError] * {swallow}):
                app.ask_openai()
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    file = "test_a_function_without_a_result_fails_the_test.py"
    output = result.stdout.str()
    start = f"The reply function test_it.<locals>.<lambda>() ({file}:6) returned something that is "
    assert output.count(f"\n{start}not a reply: None. Is a return statement missing? ") == 1
    assert "_base_client.py" not in output
