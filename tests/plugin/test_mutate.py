"""`--llm-mock-mutate`: which changes of its calls does a test notice?"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from llm_mock import LLMMock
from llm_mock.plugin.mutate import MockResults
from tests.openai_server import OpenAIServer
from tests.plugin.files import write
from tests.plugin.test_cassettes import running as running
from tests.plugin.test_cassettes import server as server

OPENAI = """
    import json
    import openai

    PROPERTIES = {"city": {"type": "string"}}
    SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    REQUEST = {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Earlier question"},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "t", "type": "function",
                 "function": {"name": "weather", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "t", "content": "sun"},
            {"role": "user", "content": "What is new?"},
        ],
        "tools": [{"type": "function", "function": {
            "name": "weather", "parameters": {"type": "object", "properties": PROPERTIES}}}],
        "response_format": {
            "type": "json_schema", "json_schema": {"name": "N", "schema": SCHEMA}},
    }

    def read(completion):
        message = completion.choices[0].message
        calls = message.tool_calls or []
        return message.content or "", [json.loads(call.function.arguments) for call in calls]
"""
APPLICATIONS = {
    "llm": """
        import llm

        def weather(city: str) -> str:
            return "rain"

        SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

        def call():
            try:
                response = llm.get_model("gpt-4o").prompt(
                    "What is new?",
                    system="Be brief.",
                    tools=[weather],
                    schema=SCHEMA,
                    tool_results=[
                        llm.ToolResult(name="weather", output="sun", tool_call_id="t")],
                )
                text = response.text()
                return text, [call.arguments for call in response.tool_calls()]
            except Exception:
                return "failed", []
    """,
    "openai": OPENAI
    + """
    def call():
        try:
            return read(openai.OpenAI().chat.completions.create(**REQUEST))
        except openai.APIError:
            return "failed", []
    """,
    "openai-async": OPENAI
    + """
    import asyncio

    async def ask():
        try:
            return read(await openai.AsyncOpenAI().chat.completions.create(**REQUEST))
        except openai.APIError:
            return "failed", []

    def call():
        return asyncio.run(ask())
    """,
    "anthropic": """
        import anthropic

        SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}

        def call():
            try:
                message = anthropic.Anthropic().messages.create(
                    model="claude-sonnet-4-5",
                    max_tokens=100,
                    system="Be brief.",
                    tools=[{"name": "weather", "input_schema": SCHEMA}],
                    messages=[
                        {"role": "user", "content": "Earlier question"},
                        {"role": "assistant", "content": [
                            {"type": "tool_use", "id": "t", "name": "weather", "input": {}}]},
                        {"role": "user", "content": [
                            {"type": "tool_result", "tool_use_id": "t", "content": "sun"},
                            {"type": "text", "text": "What is new?"}]},
                    ],
                )
            except anthropic.APIError:
                return "failed", []
            text = "".join(block.text for block in message.content if block.type == "text")
            return text, [block.input for block in message.content if block.type == "tool_use"]
    """,
}
"""Applications whose `call` returns the text and the arguments of the tool calls."""
TESTS = """
    import pytest
    from app import call
    from llm_mock import Reply, ToolCall

    REPLIES = {
        "text": Reply("hello", invalid=True),
        "data": Reply(data={"n": 1}),
        "tools": Reply(
            "Let me see.", tool_calls=[ToolCall("weather", {"city": "Rome"})], invalid=True),
        "error": Reply(error=ConnectionError("down")),
    }
    RESULTS = {
        "text": ("hello", []),
        "data": ('{"n": 1}', []),
        "tools": ("Let me see.", [{"city": "Rome"}]),
        "error": ("failed", []),
    }

    @pytest.mark.parametrize("reply", REPLIES)
    def test_ignores(reply, mock_llm_responses):
        mock_llm_responses.set("*", REPLIES[reply])
        call()

    @pytest.mark.parametrize("reply", REPLIES)
    def test_result(reply, mock_llm_responses):
        mock_llm_responses.set("*", REPLIES[reply])
        assert call() == RESULTS[reply]

    def test_request(mock_llm_responses):
        mock_llm_responses.set("*", REPLIES["text"])
        call()
        first = mock_llm_responses.calls[0]
        assert (first.prompt, first.system) == ("What is new?", "Be brief.")
        assert first.model in ("gpt-4o", "claude-sonnet-4-5")
        assert [tool["name"] for tool in first.tools] == ["weather"]
        assert [result["output"] for result in first.tool_results] == ["sun"]
        assert first.schema or "claude" in first.model
        assert "Earlier" in str(first.messages) or first.request is None

    def test_request_over_http(mock_llm_responses):
        mock_llm_responses.set("*", REPLIES["text"])
        call()
        sent = mock_llm_responses.calls[0].request
        body = sent and str(sent.body)
        for text in ("Earlier question", "What is new?", "sun", "Be brief.", "input_schema"):
            assert sent is None or text.replace("input_", "") in body
        assert sent is None or sent.body["model"] in ("gpt-4o", "claude-sonnet-4-5")
        assert sent is None or sent.body["tools"]
        assert sent is None or "claude" in body or sent.body["response_format"]

    def test_native(mock_llm_responses):
        def reply(native):
            assert native.prompt == "What is new?"
            assert native.system == "Be brief."
            return Reply("hello", invalid=True)

        mock_llm_responses.set("*", reply)
        assert call()[0] == "hello"
"""
ANSWER_KINDS = {
    "text": {"text", "empty", "error"},
    "data": {"data", "empty", "error"},
    "tools": {"text", "no-tool-call", "arguments", "empty", "error"},
    "error": {"no-error"},
}
"""The changes of each reply."""
REQUEST_KINDS = {"prompt", "system", "tool-results", "model", "tools"}
OPTIONS = ("--llm-mock-mutate", "-p", "no:randomly")
GREETING = """
    import llm

    SYSTEM = "You are a poet. Always answer in JSON."

    def greet(name):
        return llm.get_model("gpt-4o").prompt(f"Greet {name}", system=SYSTEM).text()
"""


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SDKs find a key."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none")


def mutate(pytester: pytest.Pytester, tests: str, *options: str) -> dict[str, Any]:
    """Run tests with the option, and return the JSON document."""
    write(pytester, "test_app.py", tests)
    pytester.runpytest(*OPTIONS, "--llm-mock-mutate-json=changes.json", *options)
    document: dict[str, Any] = json.loads((pytester.path / "changes.json").read_text())
    return document


def find_test(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a test of the document by the end of its id."""
    (test,) = [test for test in document["tests"] if test["id"].endswith(name)]
    return test


def list_kinds(test: dict[str, Any], noticed: bool) -> set[str]:
    """Return the kinds of changes that a test noticed, or did not notice."""
    return {change["kind"] for change in test["changes"] if change["noticed"] is noticed}


@pytest.mark.parametrize(
    ("library", "replies"),
    [
        ("llm", ["text", "data", "tools", "error"]),
        ("openai", ["data", "tools", "error"]),
        ("openai-async", ["tools"]),
        ("anthropic", ["tools"]),
    ],
)
def test_each_change_is_noticed_by_the_assertion_about_it_alone(
    pytester: pytest.Pytester, library: str, replies: list[str]
) -> None:
    write(pytester, "app.py", APPLICATIONS[library])
    selected = " or ".join([*replies, "request", "native"])
    document = mutate(pytester, TESTS, "-k", selected)

    is_over_http = library != "llm"
    request_kinds = {*REQUEST_KINDS, "dropped-call"}
    if is_over_http:
        request_kinds.add("message")
    if library != "anthropic":
        request_kinds.add("schema")
    for reply in replies:
        ignoring = find_test(document, f"test_ignores[{reply}]")
        assert list_kinds(ignoring, noticed=True) == set()
        assert list_kinds(ignoring, noticed=False) == ANSWER_KINDS[reply] | request_kinds

        of_result = find_test(document, f"test_result[{reply}]")
        assert list_kinds(of_result, noticed=True) == ANSWER_KINDS[reply]
        assert list_kinds(of_result, noticed=False) == request_kinds

    of_request = find_test(document, "test_request")
    assert list_kinds(of_request, noticed=True) == request_kinds
    assert list_kinds(of_request, noticed=False) - {"message"} == ANSWER_KINDS["text"]
    of_body = find_test(document, "test_request_over_http")
    noticed = request_kinds if is_over_http else {"dropped-call"}
    assert list_kinds(of_body, noticed=True) == noticed
    of_native = find_test(document, "test_native")
    assert list_kinds(of_native, noticed=True) == {"prompt", "system", *ANSWER_KINDS["text"]}


def test_the_table_names_the_line_the_change_and_the_assertion(pytester: pytest.Pytester) -> None:
    write(pytester, "app.py", GREETING)
    write(
        pytester,
        "test_app.py",
        """
        from app import greet

        def test_greets(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "hello")
            assert greet("Ann") == "hello"

        def test_of_nothing():
            pass

        def test_system(mock_llm_responses):
            greet("Ann")
            mock_llm_responses.assert_called_with(system="Always answer in JSON.")
        """,
    )
    result = pytester.runpytest(*OPTIONS)
    result.assert_outcomes(passed=3)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "llm-mock: up to 24 changes of calls and prompts, about *; Ctrl-C shows *",
            "*= Which changes do the tests notice? =*",
            "test_app.py::test_greets  noticed 4 of 7",
            "  call 1 to gpt-4o at app.py:6, not noticed:",
            "    - the call is not recorded",
            "      assert_llm_called_times(mock, 'gpt-4o', …)",
            "    - the prompt is empty",
            "      mock.assert_called_with(prompt='Greet Ann')",
            "    - the system prompt is empty",
            "      mock.assert_called_with(system='You are a poet. Always answer in JSON.')",
            "test_app.py::test_system  noticed 3 of 7",
            "    - another model is called",
            "      mock.assert_called_with(model='gpt-4o')",
            "Rules of prompts that no test pins: 1 of 2",
            "  - You are a poet.  (not noticed: deleted, negated)",
            "  To pin a rule, check its words with mock.assert_called_with: system=… or prompt=….",
            "The tests notice 10 of 19 changes (52.6 %).",
        ],
        consecutive=False,
    )
    result.stdout.no_fnmatch_line("*test_of_nothing*")


def test_a_reply_function_gets_the_changed_body(pytester: pytest.Pytester) -> None:
    write(
        pytester,
        "test_it.py",
        """
        import openai

        def answer(request):
            question = request.body["messages"][-1]["content"]
            return "known" if question == "What is new?" else "unknown"

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", answer)
            message = {"role": "user", "content": "What is new?"}
            client = openai.OpenAI(api_key="test")
            response = client.chat.completions.create(model="gpt-4o", messages=[message])
            assert response.choices[0].message.content == "known"
        """,
    )
    result = pytester.runpytest(*OPTIONS)
    # Only that the call is not recorded makes no difference.
    result.stdout.fnmatch_lines(["test_it.py::test_it  noticed 5 of 6"])


def test_a_terminal_shows_how_many_changes_are_made(pytester: pytest.Pytester) -> None:
    write(
        pytester,
        "conftest.py",
        """
        def pytest_sessionstart(session):
            session.config.pluginmanager.get_plugin("terminalreporter").isatty = lambda: True
        """,
    )
    write(pytester, "app.py", GREETING)
    write(
        pytester,
        "test_app.py",
        """
        from app import greet

        def test_greets(mock_llm_responses):
            assert greet("Ann")

        def test_greets_again(mock_llm_responses):
            assert greet("Bob")
        """,
    )
    result = pytester.runpytest(*OPTIONS)
    made = re.findall(r"llm-mock: (\d+ of \d+) changes made", result.stdout.str())
    assert made == ["12 of 24", "24 of 24"]


def test_each_later_call_and_each_test_of_a_run_is_changed_by_itself(
    pytester: pytest.Pytester,
) -> None:
    document = mutate(
        pytester,
        """
        import llm
        import pytest

        modules = []

        @pytest.fixture(scope="module", autouse=True)
        def shared():
            modules.append(1)
            yield

        class TestTwice:
            def test_second(self, mock_llm_responses, tmp_path):
                assert not hasattr(self, "seen")
                self.seen = True
                model = llm.get_model("m")
                texts = [model.prompt("one").text(), model.prompt("two").text()]
                mock_llm_responses.assert_called_with(prompt="two")

        @pytest.mark.parametrize("name", ["a", "b"])
        def test_of_row(name, mock_llm_responses):
            mock_llm_responses.set("m", name)
            assert llm.get_model("m").prompt("p").text() == name

        def test_fixtures_of_modules_are_kept_between_the_runs():
            assert len(modules) == 1

        def test_how_often_they_are_made(mock_llm_responses):
            llm.get_model("m").prompt("p")
            assert len(modules) < 3
        """,
    )
    second = find_test(document, "test_second")
    noticed = {
        (each["kind"], each["call"]["number"]) for each in second["changes"] if each["noticed"]
    }
    assert noticed == {("prompt", 2), ("dropped-call", 2)} | {("error", 1), ("error", 2)}
    assert find_test(document, "test_of_row[b]")["noticed"] == 4
    assert not find_test(document, "they_are_made")["not_changed"]


def test_methods_of_unittest_and_async_tests_are_changed(pytester: pytest.Pytester) -> None:
    write(pytester, "app.py", GREETING)
    document = mutate(
        pytester,
        """
        import unittest
        import llm
        import pytest
        from app import greet

        class TestUnit(unittest.TestCase):
            def setUp(self):
                self.name = "Bob"

            def test_unit(self):
                self.assertEqual(greet(self.name), '{"success": true}')

        class TestAsyncUnit(unittest.IsolatedAsyncioTestCase):
            async def test_async_unit(self):
                text = await llm.get_async_model("gpt-4o").prompt("Hi").text()
                self.assertTrue(text)

        @pytest.mark.asyncio
        async def test_async(mock_llm_responses):
            text = await llm.get_async_model("gpt-4o").prompt("Hi").text()
            assert text == '{"success": true}'
        """,
        "-p",
        "asyncio",
    )
    assert list_kinds(find_test(document, "test_unit"), noticed=True) == ANSWER_KINDS["data"]
    assert list_kinds(find_test(document, "async_unit"), noticed=True) == {"empty", "error"}
    of_async = find_test(document, "test_async")
    assert list_kinds(of_async, noticed=True) == ANSWER_KINDS["data"]


def test_tests_that_cannot_be_changed_are_named_with_the_reason(
    pytester: pytest.Pytester,
) -> None:
    write(pytester, "app.py", GREETING)
    document = mutate(
        pytester,
        """
        import pytest
        from app import greet

        seen = []

        def test_unstable(mock_llm_responses):
            greet("Ann")
            seen.append(1)
            assert len(seen) == 1

        @pytest.mark.llm_mock_repeat(2, threshold=0.5)
        def test_repeated(mock_llm_responses):
            greet("Ann")

        def test_with_subtests(subtests):
            with subtests.test("one"):
                assert greet("Ann")

        def test_fails(mock_llm_responses):
            greet("Ann")
            assert False

        @pytest.mark.xfail
        def test_expected_to_fail(mock_llm_responses):
            greet("Ann")
            assert False

        @pytest.mark.xfail
        def test_passes_unexpectedly(mock_llm_responses):
            greet("Ann")
        """,
    )
    reasons = {test["id"].partition("::")[2]: test["not_changed"] for test in document["tests"]}
    if "test_with_subtests" in reasons:
        assert "subtests" in reasons.pop("test_with_subtests")
    assert reasons == {
        "test_unstable": "it fails when it runs again without a change",
        "test_repeated": "it is marked llm_mock_repeat, so that some of its runs may fail",
    }
    assert document["changes"] == 0


def test_a_test_whose_cassette_may_record_is_not_changed(
    pytester: pytest.Pytester, server: OpenAIServer
) -> None:
    tests = """
        import llm
        import pytest

        @pytest.mark.llm_mock_cassette(record="once")
        def test_recorded():
            assert llm.get_model("loopback").prompt("Hi").text() == "Answer 1 to: Hi"
    """
    mutate(pytester, tests)
    document = mutate(pytester, tests)
    assert [test["not_changed"] for test in document["tests"]] == ["it may call a real model"]
    assert len(server.requests) == 1


def test_a_doctest_is_not_changed(pytester: pytest.Pytester) -> None:
    write(pytester, "app.py", GREETING)
    document = mutate(
        pytester,
        """
        def greet_ann():
            '''
            >>> from app import greet
            >>> greet("Ann") == ""
            False
            '''
        """,
        "--doctest-modules",
    )
    [test] = document["tests"]
    assert test["not_changed"] == "only test functions and methods are changed"


def test_the_runs_leave_no_trace_in_results_warnings_and_sums(pytester: pytest.Pytester) -> None:
    write(pytester, "app.py", GREETING)
    write(
        pytester,
        "test_app.py",
        """
        import warnings
        from app import greet

        def test_warns(mock_llm_responses, record_property):
            record_property("key", "value")
            warnings.warn("only once")
            print("printed")
            greet("Ann")
        """,
    )
    # pytest keeps what a test printed until the end of the run.
    pytester.makeconftest(
        "def pytest_sessionfinish(session):\n"
        "    [item] = session.items\n"
        "    assert [text for *_, text in item._report_sections] == ['printed\\n']\n"
    )
    options = (
        "-W",
        "default",
        "-v",
        "-o",
        "junit_family=legacy",
        "--junitxml=junit.xml",
        "--llm-mock-report=report.json",
    )
    result = pytester.runpytest(*OPTIONS, *options)
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["gpt-4o*     1  *"])
    report = json.loads((pytester.path / "report.json").read_text())
    assert [len(test["calls"]) for test in report["tests"]] == [1]
    assert report["outside_tests"] == []
    assert report["mutations"]["changes"] == len(report["mutations"]["tests"][0]["changes"]) + 5
    assert (pytester.path / "junit.xml").read_text().count("<testcase") == 1
    assert (pytester.path / "junit.xml").read_text().count('name="key"') == 1


def test_what_the_summary_tells_of_a_test_is_told_once_after_the_runs(
    pytester: pytest.Pytester,
) -> None:
    write(
        pytester,
        "test_app.py",
        """
        import llm

        def test_misspelt(mock_llm_responses):
            mock_llm_responses.set("gpt-4o-mni", "Hi")
            llm.get_model("gpt-4o-mini").prompt("p")
        """,
    )
    results = [pytester.runpytest(*options) for options in ((), OPTIONS)]
    told = [[line for line in each.outlines if "gpt-4o-mni" in line] for each in results]
    assert told[0] == told[1]
    assert len(told[0]) == 1


def test_filters_of_warnings_hold_in_the_runs(pytester: pytest.Pytester) -> None:
    document = mutate(
        pytester,
        """
        import warnings
        import llm
        import pytest

        @pytest.mark.filterwarnings("error")
        def test_error(mock_llm_responses):
            llm.get_model("m").prompt("p")
            with pytest.raises(UserWarning):
                warnings.warn("an error")

        def test_recorded(mock_llm_responses):
            llm.get_model("m").prompt("p")
            with pytest.warns(UserWarning):
                warnings.warn("recorded")
        """,
    )
    assert [test["not_changed"] for test in document["tests"]] == ["", ""]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("raise KeyboardInterrupt", "by the keyboard."),
        ("pytest.exit('enough')", "by pytest.exit: enough."),
    ],
)
def test_an_interrupted_run_shows_the_results_so_far(
    statement: str, reason: str, pytester: pytest.Pytester
) -> None:
    write(
        pytester,
        "test_app.py",
        """
        import llm
        import pytest

        runs = []

        def test_first(mock_llm_responses):
            llm.get_model("m").prompt("p")

        def test_interrupted(mock_llm_responses):
            runs.append(1)
            if len(runs) == 4:
                STATEMENT
            llm.get_model("m").prompt("p")
        """.replace("STATEMENT", statement),
    )
    result = pytester.runpytest(*OPTIONS, no_reraise_ctrlc=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [
            "test_app.py::test_first  noticed 1 of 6",
            "test_app.py::test_interrupted  noticed 0 of 1",
            f"Interrupted: {reason} The results so far:",
            "The tests notice 1 of 7 changes (14.3 %).",
        ]
    )


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("raise KeyboardInterrupt", "by the keyboard."),
        ("pytest.exit('enough')", "by pytest.exit: enough."),
    ],
)
def test_a_fixture_that_ends_the_run_after_a_changed_test_interrupts_it(
    statement: str, reason: str, pytester: pytest.Pytester
) -> None:
    write(
        pytester,
        "test_app.py",
        """
        import llm
        import pytest

        ended = []

        @pytest.fixture(scope="module")
        def shared():
            yield
            ended.append(1)
            if len(ended) == 2:
                STATEMENT

        def test_asks(shared, mock_llm_responses):
            llm.get_model("m").prompt("p")
        """.replace("STATEMENT", statement),
    )
    result = pytester.runpytest(*OPTIONS, no_reraise_ctrlc=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"Interrupted: {reason} The results so far:"])


def test_a_fault_of_another_plugin_in_a_changed_test_ends_the_changes(
    pytester: pytest.Pytester,
) -> None:
    write(
        pytester,
        "conftest.py",
        """
        import pytest

        phases = []

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_makereport(call):
            phases.append(call.when)
            if phases.count("call") == 3:
                raise ValueError("another fault")
        """,
    )
    write(
        pytester,
        "test_app.py",
        """
        import llm

        def test_asks(mock_llm_responses):
            llm.get_model("m").prompt("p")
        """,
    )
    result = pytester.runpytest(*OPTIONS)
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "*HookFailureWarning: llm_mock.plugin.mutate.*_make_changes failed.*",
            "*ValueError: another fault",
            "Interrupted: by a fault of pytest-llm-mock. The results so far:",
        ]
    )


def test_an_application_that_asks_without_end_is_stopped(pytester: pytest.Pytester) -> None:
    document = mutate(
        pytester,
        """
        import llm

        def test_asks_until_yes(mock_llm_responses):
            mock_llm_responses.set("m", "yes")
            while True:
                try:
                    if llm.get_model("m").prompt("Well?").text() == "yes":
                        break
                except Exception:
                    pass
        """,
    )
    assert list_kinds(find_test(document, "until_yes"), noticed=True) == {"error"}


@pytest.mark.parametrize(
    ("minimum", "tests", "status", "line"),
    [
        ("57", "text", 0, "The tests notice 4 of 7 changes (57.1 %)."),
        ("58", "text", 1, "--llm-mock-mutate-min=58: the tests notice 4 of 7 changes (57.1 %)."),
        ("1", "none", 1, "--llm-mock-mutate-min=1: no change was made, so there is no *"),
        (None, "none", 0, "No passed test called a model through the mock, so nothing was *"),
    ],
)
def test_a_minimum_fails_the_run(
    pytester: pytest.Pytester, minimum: str | None, tests: str, status: int, line: str
) -> None:
    write(
        pytester,
        "test_app.py",
        """
        import llm

        def test_text(mock_llm_responses):
            mock_llm_responses.set("m", "yes")
            assert llm.get_model("m").prompt("Well?", system="Be.").text() == "yes"

        def test_none():
            pass
        """,
    )
    options = [] if minimum is None else [f"--llm-mock-mutate-min={minimum}"]
    result = pytester.runpytest(*OPTIONS, *options, "-k", tests)
    assert result.ret == status
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines([line])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--llm-mock-mutate-min=80"], "*--llm-mock-mutate-min needs --llm-mock-mutate."),
        (["--llm-mock-mutate-json=a"], "*--llm-mock-mutate-json needs --llm-mock-mutate."),
        (["--llm-mock-mutate", "--pdb"], "*--pdb or --trace would stop*"),
        (["--llm-mock-mutate", "--trace"], "*--pdb or --trace would stop*"),
        (["--llm-mock-mutate", "--llm-mock-record=all"], "*--llm-mock-record makes real ones*"),
        (["--llm-mock-mutate", "--llm-mock-mutate-json=."], "*'*' cannot be written: *"),
        (["--llm-mock-mutate-min=0"], "*'0' must be a number above 0, up to 100"),
        (["--llm-mock-mutate-min=101"], "*'101' must be a number above 0, up to 100"),
        (["--llm-mock-mutate-min=most"], "*'most' must be a number above 0, up to 100"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    pytester: pytest.Pytester, options: list[str], message: str
) -> None:
    result = pytester.runpytest(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_workers_of_xdist_change_their_own_tests(pytester: pytest.Pytester) -> None:
    write(pytester, "app.py", GREETING)
    tests = """
        import pytest
        from app import greet

        @pytest.mark.parametrize("name", "ab")
        def test_greets(name):
            print("printed")
            assert greet(name)

        def test_pins(mock_llm_calls):
            greet("e")
            mock_llm_calls.assert_called_with(system="You are a poet.")
    """
    write(pytester, "test_app.py", tests)
    result = pytester.runpytest(*OPTIONS, "-n", "2", "--llm-mock-mutate-json=changes.json")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "llm-mock: up to 36 changes of calls and prompts, about * of all workers together; *",
            "The tests notice * of 26 changes (*",
        ]
    )
    result.stdout.no_fnmatch_line("*printed*")
    document = json.loads((pytester.path / "changes.json").read_text())
    names = [test["id"].partition("::")[2] for test in document["tests"]]
    assert names == ["test_greets[a]", "test_greets[b]", "test_pins"]
    assert [test["noticed"] for test in document["tests"]] == [2, 2, 3]
    found = {(rule["rule"], rule["kind"]): rule["noticed"] for rule in document["rules"]}
    assert found["You are a poet.", "rule-deleted"]
    assert not found["Always answer in JSON.", "rule-deleted"]


def test_a_run_that_stops_early_changes_nothing(pytester: pytest.Pytester) -> None:
    write(
        pytester,
        "test_app.py",
        """
        import llm

        def test_asks(mock_llm_responses):
            llm.get_model("m").prompt("p")

        def test_fails():
            assert False

        def test_never_runs():
            pass
        """,
    )
    result = pytester.runpytest(*OPTIONS, "-x")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["test_app.py::test_asks  not changed: the run ended before", "No change was made."]
    )


def test_a_fault_of_the_plugin_is_a_warning_and_below_any_minimum(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llm_mock.plugin import mutate as module

    def fail(*args: object) -> None:
        raise ZeroDivisionError

    write(
        pytester,
        "test_app.py",
        """
        import llm

        def test_asks(mock_llm_responses):
            assert llm.get_model("m").prompt("p").text()
        """,
    )
    monkeypatch.setattr(module.MutationRun, "_run_again", fail)
    result = pytester.runpytest(*OPTIONS, "--llm-mock-mutate-min=1")
    result.assert_outcomes(passed=1, warnings=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*HookFailureWarning: llm_mock.plugin.mutate.*_make_changes failed.*",
            "Interrupted: by a fault of pytest-llm-mock. The results so far:",
        ]
    )


@pytest.mark.parametrize(
    ("minimum", "noticed", "interrupted", "problem"),
    [
        (None, 0, None, None),
        (50.0, 1, None, None),
        (50.5, 1, None, "the tests notice 1 of 2 changes (50 %)."),
        (1.0, 2, "by Ctrl+C.", "not all changes were made."),
    ],
)
def test_a_run_with_a_minimum_fails_below_it_and_before_its_end(
    minimum: float | None, noticed: int, interrupted: str | None, problem: str | None
) -> None:
    from llm_mock.report.mutation import find_problem

    percent = 100 * noticed / 2
    document = {"changes": 2, "noticed": noticed, "percent": percent, "interrupted": interrupted}
    prefix = "" if minimum is None else f"--llm-mock-mutate-min={minimum:g}: "
    assert find_problem(document, minimum) == (problem and prefix + problem)


def test_fixtures_that_fail_or_exit_in_a_changed_test(pytester: pytest.Pytester) -> None:
    write(
        pytester,
        "test_app.py",
        """
        import llm
        import pytest

        @pytest.fixture(scope="module")
        def shared():
            yield
            assert llm_texts == ['{"success": true}'], "a changed answer was seen"

        llm_texts = []

        @pytest.fixture
        def text(mock_llm_responses):
            text = llm.get_model("m").prompt("p").text()
            yield text
            assert text

        def test_in_fixtures(text):
            pass

        def test_module(shared, mock_llm_responses):
            llm_texts.append(llm.get_model("m").prompt("p").text())
        """,
    )
    result = pytester.runpytest(*OPTIONS, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)
    # The setup fails without an answer, the teardown without a text.
    result.stdout.fnmatch_lines(
        [
            "test_app.py::test_in_fixtures  noticed 2 of 6",
            "test_app.py::test_module  noticed 1 of 6",
        ]
    )


def test_the_planner_of_the_examples_notices_most_changes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = Path(__file__).parents[2] / "examples"
    shutil.copytree(examples, pytester.path / "examples")
    monkeypatch.chdir(pytester.path / "examples")
    result = pytester.runpytest_subprocess(
        *OPTIONS, "--llm-mock-mutate-json=changes.json", "planner/tests/test_planner_steps.py"
    )
    assert result.ret == 0
    document = json.loads((pytester.path / "examples/changes.json").read_text())
    assert document["percent"] > 50
    assert {test["not_changed"] for test in document["tests"]} == {""}
    places = {change["call"]["place"] for test in document["tests"] for change in test["changes"]}
    assert all(place.startswith("planner/") for place in places)


def test_what_changed_tests_note_is_forgotten(mock_llm_calls: LLMMock) -> None:
    history = mock_llm_calls.history
    history.answered_by_default["a.py::before"] = 1
    mock_llm_calls("m").prompt("Before").text()
    results = MockResults(mock_llm_calls)
    mock_llm_calls("m").prompt("Since").text()
    mock_llm_calls("m").prompt("Since then").text()
    history.answered_by_default.update({"a.py::before": 2, "a.py::since": 1})
    results.restore()
    assert [call["prompt"] for call in mock_llm_calls.calls] == ["Before"]
    assert history.answered_by_default == {"a.py::before": 1}


def test_a_test_notices_what_the_last_report_of_it_says(pytester: pytest.Pytester) -> None:
    """Plugins may replace the report of a test, those of a folder after all others."""
    folder = pytester.mkpydir("folder")
    (folder / "conftest.py").write_text(
        """
import copy
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = copy.copy((yield))
    if report.failed:
        report.outcome, report.longrepr = "passed", None
    return report
"""
    )
    (folder / "test_it.py").write_text(
        """
import llm

def test_it(mock_llm_responses):
    mock_llm_responses.set("m", "Hello")
    assert llm.get_model("m").prompt("Hi").text() == "Hello"
"""
    )
    result = pytester.runpytest("--llm-mock-mutate")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["The tests notice 0 of 6 changes (0 %)."])
