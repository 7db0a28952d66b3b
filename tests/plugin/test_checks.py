"""Checks of the plugin: unexpected calls, broken schemas, real models, autospec."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

PYTEST = Path(sys.executable).with_name("pytest")

CAUGHT = (
    "The application or the test caught this error, but the test fails all the same: otherwise the "
    "mistake would go unnoticed. Fix the mistake as described above. To test how your code handles "
    "an error, configure one with set_error()."
)
SWALLOWING = """
    import llm, pytest

    def app():
        try:
            return llm.get_model("m").prompt("Hello").text()
        except Exception:
            return "fallback"
"""


def test_an_unexpected_call_fails_the_test_though_the_application_went_on(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        SWALLOWING
        + """
    pytestmark = pytest.mark.llm_mock_strict

    def test_swallowed(mock_llm_responses):
        mock_llm_responses.set("n", "x")
        assert app() == "fallback"

    def test_raised():
        llm.get_model("m").prompt("Hello")

    def test_configured(mock_llm_responses):
        mock_llm_responses.set("*", "x")
        assert app() == "x"

    @pytest.mark.llm_mock_strict("warn")
    def test_not_strict():
        assert app() == '{"success": true}'
        """
    )
    result = pytester.runpytest("--strict-markers")
    result.assert_outcomes(failed=2, passed=2)
    result.stdout.fnmatch_lines(
        [
            "*_ test_swallowed _*",
            "No reply was configured for this call:",
            "  m  'Hello'",
            "Configured replies:",
            "  - n  → 'x'  (test_*.py:*)",
            "    does not match: the model is m, not n",
            "*- LLM calls -*",
            "*_ test_raised _*",
            "*UnexpectedCall: No reply was configured for this call:",
        ]
    )
    assert sum("No reply was configured before this call" in line for line in result.outlines) >= 1


@pytest.mark.parametrize(
    ("marker", "call", "problem"),
    [
        ("llm_mock_strict", "app()", "No reply was configured for this call:"),
        ("llm_mock_cassette(record='none')", "app()", "*test_it*yaml*"),
        ("llm_mock_strict", "app_of_openai()", "No reply was configured for this call:"),
    ],
    ids=["unexpected", "not recorded", "HTTP"],
)
def test_the_failure_says_that_an_error_was_caught(
    pytester: pytest.Pytester, marker: str, call: str, problem: str
) -> None:
    pytester.makepyfile(
        test_it=f"""{SWALLOWING}
    def app_of_openai():
        import openai
        message = {{"role": "user", "content": "Hello"}}
        client = openai.OpenAI(api_key="any")
        try:
            client.chat.completions.create(model="gpt-4o", messages=[message])
        except openai.OpenAIError:
            return "fallback"

    @pytest.mark.{marker}
    def test_caught():
        assert {call} == "fallback"
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([problem, CAUGHT])
    assert result.stdout.str().count(CAUGHT) == 1
    assert result.stdout.str().count("raised: see above") == 1


def test_a_problem_of_no_call_is_not_called_caught(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm, openai, pytest

        @pytest.mark.llm_mock_strict
        def test_it(mock_llm_responses):
            mock_llm_responses.set("*", "x")
            assert llm.get_model("m").prompt("Hello").text() == "x"
            try:
                openai.OpenAI(api_key="any").files.retrieve("f")
            except openai.OpenAIError:
                pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["* is not supported by llm_mock; nothing was sent.*"])
    result.stdout.no_fnmatch_line("*caught this error*")


@pytest.mark.parametrize("end", ["", "raise", "assert not 'handled'"])
def test_an_error_that_failed_the_test_is_not_called_caught(
    pytester: pytest.Pytester, end: str
) -> None:
    pytester.makepyfile(
        f"""
        import llm, pytest

        @pytest.mark.llm_mock_strict
        def test_it():
            try:
                llm.get_model("m").prompt("Hello").text()
            except Exception:
                {end or "raise RuntimeError('own')"}
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*caught this error*")


@pytest.mark.parametrize(
    ("configured", "calls", "message"),
    [
        (
            "add('m', 'a'); mock.add('m', 'b')",
            2,
            "2 queued replies for it were used up by earlier calls (test_*.py:4). A reply of "
            "set() answers any number of calls.",
        ),
        (
            "add('m', 'a', times=2)",
            2,
            "One queued reply for it was used up by earlier calls (test_*.py:4). A reply of set() "
            "answers any number of calls.",
        ),
        (
            "add('m', 'a', prompt='Hi')",
            0,
            "does not match: the prompt 'Hello' does not contain 'Hi'",
        ),
        ("reset()", 0, "No reply was configured before this call."),
    ],
    ids=["two replies", "one reply", "another prompt", "none"],
)
def test_a_call_after_the_last_queued_reply_says_which_there_were(
    pytester: pytest.Pytester, configured: str, calls: int, message: str
) -> None:
    pytester.makepyfile(
        f"""
        import llm, pytest

        def test_it(mock_llm_responses):
            mock = mock_llm_responses; mock.{configured}
            for _ in range({calls}):
                llm.get_model("m").prompt("Hello").text()
            llm.get_model("m").prompt("Hello").text()

        pytestmark = pytest.mark.llm_mock_strict
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*UnexpectedCall: No reply was configured for this call:"])
    result.stdout.fnmatch_lines([f"E   *{message}"])
    assert result.stdout.str().count("used up") == bool(calls)


def test_a_call_that_is_answered_by_default_says_so_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm

        def test_used_up(mock_llm_responses):
            mock_llm_responses.add("m", "a")
            replies = [llm.get_model("m").prompt("Hello").text() for _ in range(3)]
            assert replies == ["a", "a", "a"]

        def test_used(mock_llm_responses):
            mock_llm_responses.add("m", "a")
            assert llm.get_model("m").prompt("Hello").text() == "b"
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=2)
    message = (
        "One queued reply for a call that was answered by default was used up by earlier calls "
        "(test_*.py:4). A reply of set() answers any number of calls. For this call, queue one "
        "more reply with "
        "add() or script()."
    )
    result.stdout.fnmatch_lines(
        ["*_ test_used_up _*", "  3. m  'Hello' *", message, "*_ test_used _*"]
    )
    assert sum("answered by default was" in line for line in result.outlines) == 1


def test_a_list_of_texts_is_explained_where_its_test_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm
        import pytest
        from llm_mock import Reply

        def ask():
            return llm.get_model("m").prompt("Hello").text()

        def test_guessed(mock_llm_responses):
            mock_llm_responses.set("m", ["a", "b"])
            assert ask() == "a"

        def test_passed(mock_llm_responses):
            mock_llm_responses.set("m", ["a", "b"])
            assert ask() == '["a", "b"]'

        def test_meant(mock_llm_responses):
            mock_llm_responses.set("m", Reply(data=["a", "b"]))
            assert ask() == "a"

        @pytest.mark.llm_mock_strict("error")
        def test_queued(mock_llm_responses):
            mock_llm_responses.script("m", ["a", "b"])
            ask()
            ask()
        """
    )
    result = pytester.runpytest("-Wignore")
    result.assert_outcomes(failed=3, passed=1)
    hint = "This list of texts is structured data: each call of 'm' *script('m', first, second)*"
    result.stdout.fnmatch_lines(["*- LLM calls -*", "  1. m  'Hello'  → *", hint])
    result.stdout.fnmatch_lines(["*One queued reply for it was used up*", hint])
    assert result.stdout.str().count("This list of texts is structured data") == 2


def test_what_the_application_swallowed_stands_whole_beside_another_failure(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        SWALLOWING.replace('"Hello")', '"Hello", schema={"type": "object", "required": ["a"]})')
        + """
    def test_unexpected():
        assert app() == "x"

    def test_broken_schema(mock_llm_responses):
        mock_llm_responses.set("*", {"b": 1})
        assert app() == "x"

    pytestmark = pytest.mark.llm_mock_strict
        """
    )
    result = pytester.runpytest("-p", "no:randomly")
    result.stdout.fnmatch_lines(
        [
            "*- LLM calls -*",
            "No reply was configured for this call:",
            "Configure one with *",
            "  1. m  'Hello'* raised: see above",
            "*- LLM calls -*",
            "The reply for 'm' (*.py:13) violates the schema of the call:",
            "  - the answer: 'a' is a required property, but 'b' was given",
            'Expected: {"a": …}',
            "  1. m  'Hello'* raised: see above",
        ]
    )


def test_a_broken_reply_is_explained_beside_unused_ones(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm
        from llm_mock import ToolCall

        def app():
            try:
                return llm.get_model("gpt-4o").prompt("Hello").text()
            except Exception:
                return None

        def test_broken(mock_llm_responses):
            mock_llm_responses.add("gpt-4o", ToolCall("weather", {}))
            mock_llm_responses.add("gpt-4o", "not used")
            assert app()

        def test_unanswered(mock_llm_responses):
            mock_llm_responses.set("gpt-4o-mini", "not used")
            assert app()
        """
    )
    result = pytester.runpytest("-p", "no:randomly", "-o", "llm_mock_strict=error")
    result.stdout.fnmatch_lines(
        [
            "*- LLM calls -*",
            "The reply (*.py:11) calls the tool 'weather', which the call does not offer. *",
            "  1. gpt-4o  'Hello'* raised: see above",
            "Configured replies:",
            "*- LLM calls -*",
            'Call 1 has no reply. Configure one: set("gpt-4o", …).',
            "The call: *.py:6, from *.py:17",
            "  1. gpt-4o  'Hello'* raised: No reply was configured for this call",
            "Configured replies:",
        ],
    )
    assert "No reply was configured for this call:" not in result.stdout.str()


def test_a_call_whose_error_the_application_handles_is_located(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        app="""
        import llm

        def ask():
            try:
                return send()
            except Exception:
                return None

        def send():
            return llm.get_model("gpt-4o").prompt("Hello").text()
        """,
        test_it="""
        import pytest
        from app import ask

        pytestmark = pytest.mark.llm_mock_strict

        def test_passing(mock_llm_calls):
            ask()
            ask()
            mock_llm_calls.reset()
            ask()

        def test_failing():
            assert ask()

        def test_raising():
            import llm
            llm.get_model("gpt-4o").prompt("Hello").text()
        """,
    )
    result = pytester.runpytest("-p", "no:randomly")
    result.assert_outcomes(failed=3)
    problem = "No reply was configured for this call:"
    result.stdout.fnmatch_lines([problem, "The application * caught *", problem])
    located = [line for line in result.outlines if line.startswith("The call: ")]
    assert located == [
        "The call: app.py:10, from test_it.py:10",
        "The call: app.py:10, from test_it.py:13",
    ]


@pytest.mark.parametrize(
    "call",
    [
        "with contextlib.suppress(Exception): llm.get_model('gpt-4o').prompt('Hi')",
        "openai.OpenAI(api_key='x').responses.create(model='gpt-4o', input='Hi')",
    ],
    ids=["caught", "raised"],
)
def test_a_call_is_located_beside_a_reply_whose_line_begins_with_its_number(
    pytester: pytest.Pytester, call: str
) -> None:
    test = "def test_it(mock_llm_responses):\n    mock_llm_responses.set('m', 'x')\n    ask()"
    lines = ["import contextlib, llm, openai", "def ask():", f"    {call}", *[""] * 26, test]
    pytester.makepyfile(test_it="\n".join(lines))
    result = pytester.runpytest("-o", "llm_mock_strict=error")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*  - m  → 'x'  (test_it.py:31)*"])
    result.stdout.fnmatch_lines(["*The call: test_it.py:3, from test_it.py:32"])


def test_a_call_that_pytest_makes_for_the_test_is_located(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import llm
        import pytest

        @pytest.mark.llm_mock_strict
        def test_raises():
            pytest.raises(Exception, llm.get_model("gpt-4o").prompt, "Hello")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["The call: test_it.py:6"])


def test_a_call_of_another_process_is_located_nowhere(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import subprocess
        import sys

        ASK = '''
        import llm

        try:
            llm.get_model("gpt-4o").prompt("Hello").text()
        except Exception:
            pass
        '''

        def test_it(mock_llm_calls):
            subprocess.run([sys.executable, "-c", ASK], check=True)
            assert len(mock_llm_calls.calls) == 1
        """
    )
    result = pytester.runpytest("-o", "llm_mock_strict=error")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["No reply was configured for this call:"])
    result.stdout.no_fnmatch_line("The call: *")


def test_a_marker_makes_one_test_strict(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_llm_mock_configure(mock): mock.set('standing', 'x')")
    pytester.makepyfile(
        SWALLOWING
        + """
    @pytest.mark.llm_mock_strict
    def test_strict():
        assert llm.get_model("standing").prompt("Hello").text() == "x"
        assert app() == "fallback"

    def test_not_strict():
        assert app() == '{"success": true}'
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "  - standing  → 'x'  (conftest.py:1)",
            "    does not match: the model is m, not standing",
        ]
    )


SCHEMA = """
    import llm, pytest
    from llm_mock import Reply
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    def ask():
        return llm.get_model("m").prompt("Who?", schema=Person).text()

    def test_broken(mock_llm_responses):
        mock_llm_responses.set("m", {"name": "Ada", "age": "old"})
        try:
            assert ask() == '{"name": "Ada", "age": "old"}'
        except Exception:
            pass

    def test_broken_text(mock_llm_responses):
        mock_llm_responses.set("m", "Ada, 36")
        assert llm.get_model("m").conversation().prompt("Who?", schema=Person.model_json_schema()).text()

    def test_kept(mock_llm_responses):
        mock_llm_responses.set("m", '{"name": "Ada", "age": 36}')
        ask()

    def test_broken_on_purpose(mock_llm_responses):
        mock_llm_responses.set("m", Reply(data={"name": 1}, invalid=True))
        ask()

    def test_default(mock_llm_responses):
        assert ask() == '{"success": true}'

    def test_error(mock_llm_responses):
        mock_llm_responses.set_error("m", ConnectionError("down"))
        with pytest.raises(ConnectionError):
            ask()
"""  # noqa: E501


def test_a_reply_that_breaks_the_schema_is_warned_of_where_it_was_asked_for(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(SCHEMA)
    result = pytester.runpytest("-Wdefault")
    result.assert_outcomes(passed=6, warnings=2)
    result.stdout.fnmatch_lines(
        [
            "*::test_broken",
            "*test_a_reply_that_breaks*.py:10: SchemaViolationWarning: The reply for 'm' "
            "(test_a_*.py:13) "
            "violates the schema Person of the call:",
            "    - the answer.age: 'old' is not of type 'integer'",
            '  The reply: {"name": "Ada", "age": "old"}',
            "  Correct the reply. If it is wrong on purpose, pass Reply(…, invalid=True).",
            "*::test_broken_text",
            "    - the text is not JSON: Expecting value: line 1 column 1 (char 0)",
        ]
    )


def test_a_warning_of_a_call_over_http_has_the_line_of_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import openai

        SCHEMA = {"type": "object", "required": ["name"]}
        FORMAT = {"type": "json_schema", "json_schema": {"name": "P", "schema": SCHEMA}}

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", {})
            openai.OpenAI().chat.completions.create(
                model="gpt-4o", messages=[{"role": "user", "content": "x"}], response_format=FORMAT
            )
        """
    )
    result = pytester.runpytest("-Wdefault")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*test_a_warning*.py:8: SchemaViolationWarning: The reply *"])


WARNED_REPLIES = """
    import llm
    import warnings

    SCHEMA = {"title": "Person", "type": "object", "required": ["name"]}

    def test_schema_fails(mock_llm_responses):
        mock_llm_responses.set("m", {"age": 1})
        assert llm.get_model("m").prompt("Hi", schema=SCHEMA).text() == "Ada"

    def test_list_fails(mock_llm_responses):
        mock_llm_responses.set("m", ["one", "two"])
        warnings.warn("a warning of the project")
        assert llm.get_model("m").prompt("Hi").text() == "one"

    def test_schema_passes(mock_llm_responses):
        mock_llm_responses.set("m", {"weight": 1})
        llm.get_model("m").prompt("Hi", schema=SCHEMA).text()

    def test_list_passes(mock_llm_responses):
        mock_llm_responses.set("m", ["three", "four"])
        llm.get_model("m").prompt("Hi").text()
    """


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_a_failed_test_shows_a_mistake_in_its_section_and_not_as_a_warning_too(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_it=WARNED_REPLIES)
    result = pytester.runpytest("-p", "no:randomly", "-Wdefault", *workers)
    # Those of the passed tests, and the project's own.
    result.assert_outcomes(passed=2, failed=2, warnings=3)
    shown = result.stdout.str()
    assert shown.count("(test_it.py:7) violates the schema Person") == 1
    assert shown.count("violates the schema Person of the call") == 2
    assert shown.count("This list of texts is structured data") == 2
    result.stdout.fnmatch_lines(
        [
            "*warnings summary*",
            "*UserWarning: a warning of the project",
            "*test_it.py:17: SchemaViolationWarning: *",
            "*test_it.py:20: ListReplyWarning: *",
        ]
    )


@pytest.mark.parametrize("option", ["--tb=no", "--tb=line", "--show-capture=no"])
def test_a_warning_stays_where_the_section_is_not_shown(
    pytester: pytest.Pytester, option: str
) -> None:
    pytester.makepyfile(test_it=WARNED_REPLIES)
    result = pytester.runpytest("-Wdefault", option)
    result.assert_outcomes(passed=2, failed=2, warnings=5)


def test_a_failing_test_shows_each_broken_schema_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm

        SCHEMA = {"title": "Person", "type": "object", "required": ["name"]}

        def test_it(mock_llm_responses):
            mock_llm_responses.set("m", {"city": "Rome"})
            for _ in range(2):
                answer = llm.get_model("m").prompt("Hi", schema=SCHEMA).json()
            answer["name"]
        """
    )
    result = pytester.runpytest("-Wignore")
    result.assert_outcomes(failed=1)
    place = "test_a_failing_test_shows_each_broken_schema_once.py:6"
    shown = result.stdout.str().partition("- LLM calls -")[2].splitlines()
    assert shown[3:8] == [
        f"The reply for 'm' ({place}) violates the schema Person of the call:",
        "  - the answer: 'name' is a required property, but 'city' was given",
        'The reply: {"city": "Rome"}',
        "Correct the reply. If it is wrong on purpose, pass Reply(…, invalid=True).",
        "=========================== short test summary info ============================",
    ]


def test_a_reply_that_breaks_the_schema_can_be_an_error(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_strict = error")
    pytester.makepyfile(SCHEMA)
    # The default reply is refused, too.
    result = pytester.runpytest()
    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*_ test_broken _*",
            ("The reply for 'm' (test_a_*.py:13) violates the schema Person of the call:"),
            "  - the answer.age: 'old' is not of type 'integer'",
        ]
    )


@pytest.mark.parametrize(
    ("reply", "is_named"),
    [("[1, 2]", True), ("['a']", False), ("{'response': 'a'}", False), ("'1, 2'", False)],
    ids=["the value", "another value", "wrapped", "text"],
)
def test_the_only_field_of_a_schema_is_named_for_its_bare_value(
    reply: str, is_named: bool, pytester: pytest.Pytester
) -> None:
    pytester.makeini("[pytest]\nllm_mock_strict = error")
    pytester.makepyfile(
        f"""
        import llm
        from llm_mock import Reply

        NUMBERS = {{"type": "array", "items": {{"type": "integer"}}}}
        SCHEMA = {{
            "type": "object", "properties": {{"response": NUMBERS}}, "required": ["response"]
        }}

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", Reply(data={reply}))
            llm.get_model("gpt-4o").prompt("Hi", schema=SCHEMA).json()
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    message = "The schema expects the value in the field 'response': write {'response': …}."
    assert (message in result.stdout.str()) is is_named


def test_schemas_need_not_be_checked(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_strict = off")
    pytester.makepyfile(SCHEMA)
    pytester.runpytest().assert_outcomes(passed=6, warnings=0)


def test_unconfigured_schemas_can_be_answered_with_valid_instances(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nllm_mock_generate = true")
    pytester.makepyfile(
        """
        import llm
        from pydantic import BaseModel, Field

        class Person(BaseModel):
            name: str = Field(min_length=3)
            age: int = Field(ge=18)

        def test_it(mock_llm_responses):
            answers = [llm.get_model("m").prompt("Who?", schema=Person).text() for _ in range(2)]
            assert Person.model_validate_json(answers[0]).age >= 18
            assert answers[0] == answers[1]
            assert llm.get_model("m").prompt("Hi").json() == {"success": True}
            mock_llm_responses.set("m", Person(name="Ada", age=36))
            assert '"Ada"' in llm.get_model("m").prompt("Who?", schema=Person).text()
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "llm_mock_strict = strict",
            "ERROR: tox.ini:2: ini llm_mock_strict = 'strict' is not supported. Write off, *",
        ),
        (
            "llm_mock_strict = true",
            "ERROR: tox.ini:2: ini llm_mock_strict = 'true' is not supported. Write off, *",
        ),
    ],
)
def test_an_unknown_ini_value_is_one_clear_error(
    pytester: pytest.Pytester, line: str, message: str
) -> None:
    pytester.makeini(f"[pytest]\n{line}")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


@pytest.mark.skipif(
    not hasattr(pytest, "version_tuple") or pytest.version_tuple < (9,),
    reason="the table [tool.pytest] came with pytest 9",
)
def test_an_ini_value_of_another_type_is_one_clear_error(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml("[tool.pytest]\nllm_mock_strict = true")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: pyproject.toml:2: ini llm_mock_strict = True is not supported. Write off, warn "
            "or error."
        ]
    )


def test_real_models_can_be_refused(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_strict = error")
    pytester.makepyfile(
        """
        import asyncio
        import llm, pytest
        from llm_mock import RealModelCall

        class Provider(llm.Model):
            model_id = "provider"
            def execute(self, prompt, stream, response, conversation):
                raise AssertionError("executed")

        class AsyncProvider(llm.AsyncModel):
            model_id = "provider"
            async def execute(self, prompt, stream, response, conversation):
                raise AssertionError("executed")
                yield ""

        def test_refused():
            Provider().prompt("Hello").text()

        def test_refused_and_swallowed():
            with pytest.raises(RealModelCall):
                Provider().prompt("Hello").text()

        def test_refused_async():
            async def ask():
                return await AsyncProvider().prompt("Hello").text()
            asyncio.run(ask())

        def test_mocked(mock_llm_responses):
            mock_llm_responses.set("provider", "Hi!")
            assert llm.get_model("provider").prompt("Hello").text() == "Hi!"
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines(
        ["*The real model 'provider' was about to execute in *::test_refused. The application*"]
    )
    advice = "*@pytest.mark.llm_live*llm_mock_passthrough. With ini llm_mock_strict = warn, the *"
    result.stdout.fnmatch_lines([advice])


AUTOSPEC = """
    import llm, pytest
    from pydantic import ValidationError

    class Small(llm.Model):
        model_id = "small"
        class Options(llm.Options):
            temperature: float | None = None
        def execute(self, prompt, stream, response, conversation):
            raise AssertionError("executed")

    class Plugin:
        __name__ = "small"
        @llm.hookimpl
        def register_models(self, register):
            register(Small(), aliases=["sm"])

    @pytest.fixture(autouse=True)
    def registered():
        llm.pm.register(Plugin(), name="small")
        yield
        llm.pm.unregister(name="small")

    def lookup(word: str) -> str:
        return word

    REFUSED = [
        ({"max_tokens": 5}, ValidationError),
        ({"temperature": "hot"}, ValidationError),
        ({"attachments": [llm.Attachment(type="image/png", content=b"x")]}, ValueError),
        ({"tools": [lookup]}, ValueError),
        ({"schema": {"type": "object"}}, ValueError),
    ]
"""


def test_autospec_refuses_what_the_real_model_would_refuse(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        AUTOSPEC
        + """
    @pytest.mark.parametrize(("arguments", "error"), REFUSED)
    @pytest.mark.parametrize("name", ["small", "sm"])
    def test_refused(name, arguments, error, mock_llm_calls):
        with pytest.raises(error):
            llm.get_model(name).prompt("Hello", **arguments)
        if hasattr(llm, "Message") or "attachments" not in arguments:  # llm 0.28 lets attachments through here
            with pytest.raises(error):
                llm.get_model(name).conversation().prompt("Hello", **arguments)
        assert mock_llm_calls.calls == []

    def test_accepted():
        assert llm.get_model("small").prompt("Hello", temperature=0.5).json() == {"success": True}

    @pytest.mark.parametrize(("arguments", "error"), REFUSED)
    def test_unknown_models_accept_everything(arguments, error):
        assert llm.get_model("nobody/knows").prompt("Hello", **arguments).text()
        """  # noqa: E501
    )
    pytester.runpytest().assert_outcomes(passed=16)


def test_a_test_can_turn_autospec_on(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_autospec = false")
    pytester.makepyfile(
        AUTOSPEC
        + """
    def test_on(mock_llm_calls):
        assert llm.get_model("small").prompt("Hello", tools=[lookup]).text()
        mock_llm_calls.autospec()
        with pytest.raises(ValueError, match="does not support tools"):
            llm.get_model("small").prompt("Hello", tools=[lookup])

    def test_off():
        assert llm.get_model("small").prompt("Hello", tools=[lookup]).text()
        """
    )
    pytester.runpytest().assert_outcomes(passed=2)


def test_a_test_can_turn_autospec_off(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        AUTOSPEC
        + """
    @pytest.mark.parametrize(("arguments", "error"), REFUSED)
    def test_off(arguments, error, mock_llm_calls):
        mock_llm_calls.autospec(False)
        assert llm.get_model("small").prompt("Hello", **arguments).text()

    def test_on():
        with pytest.raises(ValueError, match="does not support tools"):
            llm.get_model("small").prompt("Hello", tools=[lookup])
        """
    )
    pytester.runpytest().assert_outcomes(passed=6)


@pytest.mark.parametrize("call", ["ask()", "asyncio.run(ask_async())"])
def test_a_refusal_that_the_application_handles_is_reported(
    pytester: pytest.Pytester, call: str
) -> None:
    pytester.makepyfile(
        f"""
        import asyncio
        import llm

        def ask():
            try:
                return llm.get_model("gpt-4o-mini").prompt("Hi", temprature=1).text()
            except ValueError:
                return "Sorry"

        async def ask_async():
            try:
                return await llm.get_async_model("gpt-4o-mini").prompt("Hi", temprature=1).text()
            except ValueError:
                return "Sorry"

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o-mini", "Hello")
            assert {call} == "Hello"
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "The registered model 'gpt-4o-mini' refuses this call: 1 validation error for *. "
            "If a class of your application answers for this name, write "
            "mock_llm_responses.autospec(False)."
        ]
    )


@pytest.mark.skipif(not PYTEST.exists(), reason="pytest has no script beside this Python")
def test_a_call_in_a_task_is_not_located_in_the_script_of_pytest(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import asyncio
        import openai
        import pytest

        @pytest.mark.asyncio
        async def test_it(mock_llm_calls):
            client = openai.AsyncOpenAI(max_retries=0)
            call = client.responses.create(model="gpt-4o", input="Hello")
            # Its stack begins in the event loop, which pytest-asyncio runs.
            with pytest.raises(openai.APIError):
                await asyncio.create_task(call)
        """
    )
    result = pytester.run(PYTEST, "-p", "no:randomly")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["No reply was configured for this call:"])
    result.stdout.no_fnmatch_line("The call: *")
