"""The output of a failing test."""

from __future__ import annotations

import pytest


def test_a_failure_shows_the_calls_of_its_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm, pytest

        def test_other():
            llm.get_model("m").prompt("not shown")

        def test_failing(mock_llm_responses):
            mock_llm_responses.set("m", {"found": False})
            mock_llm_responses.set_error("broken", ConnectionError("no route"))
            llm.get_model("m").prompt("Is there " + "x" * 500)
            with pytest.raises(ConnectionError):
                llm.get_model("broken").prompt("Hello")
            assert 0
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- LLM calls -*",
            '  1. m  \'Is there xxx*x…  → {"found": false}',
            "  2. broken  'Hello'  → raised: no route",
        ]
    )
    result.stdout.no_fnmatch_line("*not shown*")
    assert max(len(line) for line in result.outlines if "Is there" in line and "→" in line) < 200


def test_a_unittest_failure_shows_its_calls(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import unittest
        import llm

        class PlannerTest(unittest.TestCase):
            def test_failing(self):
                self.assertEqual(llm.get_model("m").prompt("Hello").text(), "no")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*- LLM calls -*", "  1. m  'Hello'  → {\"success\": true}  (answered by default)"]
    )


def test_a_failing_fixture_shows_the_calls_made_so_far(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm, pytest

        @pytest.fixture
        def planner():
            llm.get_model("m").prompt("from the fixture")
            raise RuntimeError("broken fixture")

        def test_it(planner): ...
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*- LLM calls -*", "  1. m  'from the fixture'*"])


def test_a_failure_without_calls_has_no_section(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_failing(): assert 0")
    pytester.runpytest().stdout.no_fnmatch_line("*- LLM calls -*")


UNUSED = """
    import unittest
    import llm, pytest

    def test_unused(mock_llm_responses):
        mock_llm_responses.add("m", {"found": True}, schema="Discovery", times=2)
        mock_llm_responses.add("n", ValueError("bad"))
        mock_llm_responses.add("m", lambda prompt: "x")
        llm.get_model("m").prompt("Hello")
"""


def test_unused_replies_fail_the_test_once_and_clearly(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(UNUSED + "\n    def test_next(): ...")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*_ test_unused _*",
            "2 queued replies were not used:",
            '  - m  schema Discovery  → {"found": true}  (test_*.py:5, 2 of 2 uses left)',
            "    nearest call: 1, but the schema is none, not Discovery",
            "  - n  → raises ValueError('bad')  (test_*.py:6)",
            "    nearest call: 1, but the model is m, not n",
            (
                "Remove the reply, correct its conditions, or pass optional=True if the reply may "
                "stay unused."
            ),
            "*- LLM calls -*",
            "  1. m  'Hello'  → 'x'",
        ],
        consecutive=True,
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*llm_mock/*")


def test_unused_replies_are_shown_beside_another_failure_and_not_as_one(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        UNUSED
        + """
        assert 0, "the real problem"

    class OldStyle(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def responses(self, mock_llm_responses):
            mock_llm_responses.add("m", "unused")

        def test_old_style(self):
            self.fail("the real problem")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=2)
    assert result.outlines.count("E       AssertionError: the real problem") == 2
    result.stdout.no_fnmatch_line("*not used:*")
    result.stdout.fnmatch_lines(
        [
            "*- LLM calls -*",
            "  1. m  'Hello'  → 'x'",
            "Configured replies:",
            '  - m  schema Discovery  → {"found": true}  (test_*.py:5, 2 of 2 uses left, not used)',
            "    nearest call: 1, but the schema is none, not Discovery",
            "  - n  → raises ValueError('bad')  (test_*.py:6, not used)",
            "*- LLM calls -*",
            "No model was called, but replies were configured:",
            "  - m  → 'unused'  (test_*.py:15, not used)",
        ]
    )


def test_a_queued_reply_shows_how_often_it_can_still_be_used(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm, sys

        def test_it(mock_llm_responses):
            mock_llm_responses.add("m", "a", times=3)
            mock_llm_responses.add("m", "b", times=2)
            mock_llm_responses.add("m", "c", times=sys.maxsize)
            mock_llm_responses.add("m", "d")
            for _ in range(4):
                llm.get_model("m").prompt("Hello")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "3 queued replies were not used:",
            "  - m  → 'b'  (test_*.py:5, 1 of 2 uses left)",
            "  - m  → 'c'  (test_*.py:6)",
            "  - m  → 'd'  (test_*.py:7)",
        ]
    )


COMMON_MISTAKES = """
    import llm, openai, pytest
    from pydantic import BaseModel

    class Ticket(BaseModel):
        category: str

    class Person(BaseModel):
        name: str

    def by_llm():
        return llm.get_model("gpt-4o-mini").prompt("Classify", schema=Ticket).text()

    def by_sdk():
        schema = {"name": "Ticket", "schema": Ticket.model_json_schema()}
        return openai.OpenAI().chat.completions.create(
            model="gpt-4o-mini", messages=[{"role": "user", "content": "Classify"}],
            response_format={"type": "json_schema", "json_schema": schema},
        ).choices[0].message.content

    @pytest.fixture(params=[by_llm, by_sdk])
    def ask(request):
        return request.param

    def test_model(ask, mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mnii", {"category": "bug"})
        assert "bug" in ask()

    def test_class(ask, mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mini", {"category": "bug"}, schema=Person)
        assert "bug" in ask()

    def test_name(ask, mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mini", {"category": "bug"}, schema="Tickets")
        assert "bug" in ask()

    def test_late(ask, mock_llm_responses):
        answer = ask()
        mock_llm_responses.set("gpt-4o-mini", {"category": "bug"})
        assert "bug" in answer
"""
"""Each by `llm` and by an SDK: a misspelt model, the class of another schema, a misspelt schema, and a late `set`."""  # noqa: E501


def test_the_commonest_mistakes_are_shown_for_what_they_are(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_strict = warn")
    pytester.makepyfile(test_it=COMMON_MISTAKES)
    result = pytester.runpytest("-p", "no:randomly")
    result.assert_outcomes(failed=8)
    call = (
        "  1. gpt-4o-mini  'Classify'  schema Ticket  → {\"success\": true}  (answered by default)"
    )
    mistakes = [
        ("gpt-4o-mnii", 25, "the model is gpt-4o-mini, not gpt-4o-mnii"),
        ("gpt-4o-mini  schema Person", 29, "the schema is Ticket, not Person"),
        ("gpt-4o-mini  schema Tickets", 33, "the schema is Ticket, not Tickets"),
        (
            "gpt-4o-mini",
            38,
            "it was made before the reply was configured: configure the reply before the call",
        ),
    ]
    sections = [
        number for number, line in enumerate(result.outlines, start=1) if "- LLM calls -" in line
    ]
    assert ["\n".join(result.outlines[number : number + 4]) for number in sections] == [
        f"{call}\nConfigured replies:\n"
        f'  - {configured}  → {{"category": "bug"}}  (test_it.py:{line}, not used)\n'
        f"    nearest call: 1, but {miss}"
        for configured, line, miss in mistakes
        for _ in ("by llm", "by an SDK")
    ]


def test_a_failure_says_what_was_configured_only_where_a_call_or_a_reply_was_left(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        "def pytest_llm_mock_configure(mock): mock.set('gpt-4o', 'x', schema='Other')"
    )
    pytester.makepyfile(
        test_it="""
        import llm, pytest

        def ask(model="gpt-4o-mini"):
            return llm.get_model(model).prompt("Hi").text()

        def test_all_met(mock_llm_responses):
            mock_llm_responses.set("gpt-4o-mini", "used")
            assert ask() == "wrong"

        def test_two_calls(mock_llm_responses):
            mock_llm_responses.set("gpt-4o-mini", "used")
            ask()
            assert ask("gpt-4o") == "wrong"

        def test_a_matcher_that_fails(mock_llm_responses):
            mock_llm_responses.set_error("*", ValueError("bad"))
            with pytest.raises(ValueError):
                ask()
            mock_llm_responses.add("*", "x", prompt=lambda text: 1 / 0)
            assert 0

        @pytest.fixture
        def broken(mock_llm_responses):
            mock_llm_responses.set("m", "x")
            raise RuntimeError("broken")

        def test_that_never_began(broken): ...
        """
    )
    result = pytester.runpytest("-p", "no:randomly", "--tb=short")
    result.assert_outcomes(failed=3, errors=1)
    shown = [
        line
        for line in result.outlines
        if (line.startswith("  ") and "→" in line) or "nearest call" in line
    ]
    assert shown == [
        "  1. gpt-4o-mini  'Hi'  → 'used'",
        "  1. gpt-4o-mini  'Hi'  → 'used'",
        "  2. gpt-4o  'Hi'  → {\"success\": true}  (answered by default)",
        "  - gpt-4o-mini  → 'used'  (test_it.py:11)",
        "  - gpt-4o  schema Other  → 'x'  (conftest.py:1)",
        "    nearest call: 2, but the schema is none, not Other",
        "  1. gpt-4o-mini  'Hi'  → raised: bad",
        (
            "  - *  prompt satisfies test_a_matcher_that_fails.<locals>.<lambda>()  → 'x'  "
            "(test_it.py:19, not used)"
        ),
        (
            "    nearest call: 1, but a condition of the reply raised ZeroDivisionError: "
            "division by zero"
        ),
        "  - *  → raises ValueError('bad')  (test_it.py:16)",
    ]


def test_a_failure_names_the_prompts_that_nobody_read(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import asyncio, llm

        def test_it(mock_llm_responses):
            mock_llm_responses.add("*", ConnectionError("raised by prompt() itself"), prompt="fails")
            model, async_model = llm.get_model("m"), llm.get_async_model("m")
            model.prompt("read").text()
            asyncio.run(async_model.prompt("awaited").text())
            model.chain("read, too").text()
            next(iter(model.prompt("begun")))
            try:
                model.prompt("fails")
            except ConnectionError:
                pass
            model.prompt("decided at once")
            model.prompt("lazy", lazy=True)
            model.conversation().prompt("in a conversation")
            model.chain("a chain")
            async_model.prompt("not awaited")
            async_model.prompt(5)
            try:
                model.prompt(5)
            except TypeError:
                pass
            assert False

        def test_next():
            assert False
        """  # noqa: E501
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "  6. m  'decided at once'  → {*",
            "Responses that were never read. Read them, for example with .text(): in production, *",
            "  - m  'decided at once'  (call 6)",
            "  - m  'lazy'",
            "  - m  'in a conversation'",
            "  - m  'a chain'",
            "  - m  'not awaited'",
            "  - m  (prompt is not a string)",
            "*_ test_next _*",
        ],
        consecutive=False,
    )
    result.stdout.no_fnmatch_line("*- m  '*'read*")
    assert result.stdout.str().count("  - m  ") == 6


def test_unused_replies_fail_a_unittest_that_passed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import unittest, pytest

        class OldStyle(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def responses(self, mock_llm_responses):
                mock_llm_responses.add("m", "unused")

            def test_old_style(self): ...
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["One queued reply was not used:", "  - m  → 'unused'  (test_*.py:6)"]
    )


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "mock_llm_responses.set('m', object())",
            "*InvalidReply: This is not a reply: an object of type object.*",
        ),
        (
            "mock_llm_responses.set_error('m', 'bad')",
            "*InvalidReply: This is not an exception: 'bad'.*",
        ),
        (
            "mock_llm_responses.get_model('m').assert_called_with()",
            "*AssertionError: Model 'm' was never called.*",
        ),
    ],
)
def test_bad_input_fails_one_test_and_no_other(
    pytester: pytest.Pytester, statement: str, message: str
) -> None:
    pytester.makepyfile(f"def test_bad(mock_llm_responses):\n    {statement}\ndef test_good(): ...")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([message])


def test_an_expected_failure_stays_one(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.xfail(strict=True)
        def test_expected(mock_llm_responses):
            mock_llm_responses.add("m", "unused")

        def test_skipped(mock_llm_responses):
            mock_llm_responses.add("m", "unused")
            pytest.skip("not today")
        """
    )
    pytester.runpytest().assert_outcomes(xfailed=1, skipped=1)


def test_what_models_say_cannot_disturb_the_terminal(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        r"""
        import llm

        def test_it(mock_llm_responses):
            mock_llm_responses.set("a\nb", {"a": "\ud800\x9b[31m"})
            mock_llm_responses.set_error("c", ValueError("\x1b[31mred"))
            llm.get_model("a\nb").prompt("\x1b[2J" + "x" * 10)
            try:
                llm.get_model("c").prompt("Hi")
            except ValueError:
                pass
            assert 0
        """
    )
    result = pytester.runpytest("--junitxml=out.xml")
    result.assert_outcomes(failed=1)
    assert [line for line in result.outlines if "→" in line] == [
        r"""  1. a b  '\x1b[2Jxxxxxxxxxx'  → {"a": "\ud800\x9b[31m"}""",
        r"""  2. c  'Hi'  → raised: \x1b[31mred""",
    ]


def test_items_that_are_no_functions_show_their_own_calls(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import llm, pytest

        class Item(pytest.Item):
            def runtest(self):
                llm.get_model("m").prompt(f"from {self.name}")
                assert self.name != "b"

        class File(pytest.File):
            def collect(self):
                yield Item.from_parent(self, name="a")
                yield Item.from_parent(self, name="b")

        def pytest_collect_file(file_path, parent):
            if file_path.suffix == ".items":
                return File.from_parent(parent, path=file_path)
        """
    )
    pytester.makefile(".items", some="")
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    assert [line for line in result.outlines if "→" in line] == [
        "  1. m  'from b'  → {\"success\": true}  (answered by default)"
    ]


def test_debug_llm_prints_nothing_that_a_terminal_could_act_on(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import llm\n\ndef test_it(debug_llm):\n    llm.get_model('m').prompt('\\x1b[31mred "
        "\\x9b2J')\n"
    )
    result = pytester.runpytest("-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([r"  - \x1b[[]31mred \x9b2J"])


TRACEBACKS = """
    import asyncio, llm, openai, pytest
    from llm_mock import Reply, ToolCall, assert_llm_called_times

    def weather(city: str) -> str:
        "The weather."
        return f"sunny in {city}"

    def by_chain():
        return llm.get_model("gpt-4o-mini").chain("Hi", tools=[weather]).text()

    def test_configured(mock_llm_responses):
        mock_llm_responses.set_error("gpt-4o-mini", ConnectionError("no route"))
        by_chain()

    def test_async(mock_llm_responses):
        mock_llm_responses.set_error("gpt-4o-mini", ConnectionError("no route"))

        async def ask():
            return await llm.get_async_model("gpt-4o-mini").prompt("Hi").text()

        asyncio.run(ask())

    def test_wrapped(mock_llm_responses):
        mock_llm_responses.set_error("gpt-4o-mini", ConnectionError("no route"))
        try:
            by_chain()
        except ConnectionError as error:
            raise RuntimeError("of the application") from error

    def test_function(mock_llm_responses):
        def reply(prompt):
            return {}["of the reply"]

        mock_llm_responses.set("gpt-4o-mini", reply)
        by_chain()

    @pytest.mark.llm_mock_strict
    def test_strict(mock_llm_responses):
        by_chain()

    @pytest.mark.llm_mock_strict
    def test_strict_sdk(mock_llm_responses):
        openai.OpenAI().responses.create(model="gpt-4o-mini", input="Hi")

    def test_option():
        llm.get_model("gpt-4o-mini").prompt("Hi", temprature=1)

    def test_unknown():
        llm.get_model("gpt-4o-mnii")

    def test_tool(mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mini", Reply(tool_calls=[ToolCall("wether", {"city": "Bern"})]))
        by_chain()

    @pytest.mark.llm_mock_strict("warn")
    def test_assertion(mock_llm_calls):
        by_chain()
        assert_llm_called_times(mock_llm_calls, "gpt-4o-mini", 2)

    def test_other():
        llm.Attachment().resolve_type()
"""  # noqa: E501


@pytest.mark.parametrize("arguments", [("--tb=long",), ("--tb=short",), ("--tb=native",)])
def test_a_traceback_is_of_the_project_and_a_message_is_there_once(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    pytester.makeini("[pytest]\nllm_mock_strict = error")
    pytester.makepyfile(test_it=TRACEBACKS)
    result = pytester.runpytest("-p", "no:randomly", "-rN", *arguments)
    result.assert_outcomes(failed=11)
    failures, _, of_llm = result.stdout.str().partition("test_other")
    for folder in ("llm_mock/", "llm/", "openai/"):
        assert folder not in failures.partition("FAILURES")[2]
    assert "llm/models.py" in of_llm  # nothing of ours was on the way
    assert failures.count("Unknown model: ") == 1
    assert failures.count("No reply was configured for this call") == 2
    assert failures.count("calls the tool 'wether'") == 1
    assert failures.count("'Hi'  → {") == 1
    for kept in (
        "raise RuntimeError",
        'return {}["of the reply"]',
        "await llm.get_async_model",
        "KeyError",
    ):
        assert kept in failures
    result.stdout.fnmatch_lines(["  1. gpt-4o-mini  'Hi'  → raised: see above"])


def test_the_whole_traceback_is_there_for_who_asks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TRACEBACKS)
    result = pytester.runpytest("--full-trace", "-k", "configured")
    assert "llm/models.py" in result.stdout.str()


INVALID_AT_IMPORT = {
    "agents": {
        "Agent('a', max_turns=0)": "max_turns of Agent(…) is 0",
        "CLIServer('c', '')": "CLIServer('c') has no command. Pass the one to run.",
        "Skill.from_path('none')": "none: cannot be read",
        "Provider('m', retries=-1)": "retries of Provider(…) is -1",
    },
    "checks": {"contains('')": "1 validation error for ContainsAssertion"},
    "suites": {
        "load_role('none.yaml')": "none.yaml: cannot be read",
        "load_suite('none.yaml')": "none.yaml: cannot be read",
    },
    "specs": {"load_spec('none.yaml')": "none.yaml: cannot be read"},
    "templates": {"long_answer(True)": "words=True: pass a whole number of at least 0."},
    "": {
        "Latency(jitter=2)": "Latency(jitter=2): pass a fraction from 0 to 1.",
        "Reply(tool_calls=5)": "This is not a tool call: 5.",
    },
}
"""What fails when a test file is imported, and its error, by the package."""


def test_an_error_at_the_import_of_a_test_file_shows_only_its_line(
    pytester: pytest.Pytester,
) -> None:
    expected = []
    for package, lines in INVALID_AT_IMPORT.items():
        for line, message in lines.items():
            name = f"test_{len(expected)}"
            place = f"llm_mock.{package}".removesuffix(".")
            pytester.makepyfile(**{name: f"from {place} import *\n\nVALUE = {line}"})
            expected += [f"{name}.py:3: in <module>", f"*VALUE = {line}*", f"E   *{message}*"]
    # In a process of its own: else the packages would keep names of modules that are forgotten.
    result = pytester.runpytest_subprocess("-p", "no:randomly")
    result.assert_outcomes(errors=len(expected) // 3)
    for line in expected:
        result.stdout.fnmatch_lines([line.replace("[", "[[]")])
    assert "llm_mock/" not in result.stdout.str()


@pytest.mark.parametrize("arguments", [(), ("-n1",)], ids=["here", "xdist"])
def test_a_message_of_ours_has_the_colour_of_an_error(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    pytester.makepyfile(
        test_it="def test_it(mock_llm_responses):\n    mock_llm_responses.add('m', 'x', schema='S')"
    )
    red = pytester.runpytest("--color=yes", *arguments).stdout.str()
    assert "\x1b[31m\x1b[1mOne queued reply was not used:\x1b[0m" in red
    plain = pytester.runpytest("--color=no", "--junitxml=out.xml", *arguments)
    plain.stdout.fnmatch_lines(
        ["One queued reply was not used:", "  - m  schema S  → 'x'  (test_it.py:2)"]
    )
    assert "31m" not in plain.stdout.str() + (pytester.path / "out.xml").read_text()


def test_a_turn_after_tools_shows_what_they_gave(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import anthropic, llm, openai
        from llm_mock import Reply, ToolCall

        def weather(city: str) -> str:
            "The weather."
            return f"sunny in {city}"

        def test_it(mock_llm_responses):
            call = ToolCall("weather", {"city": "Bern"})
            mock_llm_responses.add("m", Reply(tool_calls=[call, call]))
            mock_llm_responses.set("*", "nice")
            llm.get_model("m").chain("How is it?", tools=[weather]).text()
            asked = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
            openai.OpenAI().chat.completions.create(model="o", messages=[
                {"role": "user", "content": "How is it?"},
                {"role": "assistant", "tool_calls": [asked]},
                {"role": "tool", "tool_call_id": "1", "content": "rain"},
            ])
            anthropic.Anthropic().messages.create(model="a", max_tokens=9, messages=[
                {"role": "user", "content": "How is it?"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "weather", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "snow"}]},
            ])
            assert 0
        """  # noqa: E501
    )
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(
        [
            "  2. m  weather returned 'sunny in Bern', weather returned 'sunny in Bern'  → 'nice'",
            "  3. o  weather returned 'rain'  → 'nice'",
            "  4. a  weather returned 'snow'  → 'nice'",
        ]
    )


CALLABLE_FIXTURE = """\
class Made:
    __name__ = "made"

    def __call__(self):
        return []

mock_llm_calls = pytest.fixture(name="mock_llm_calls")(Made())
"""


@pytest.mark.parametrize(
    ("conftest", "place"),
    [
        ("@pytest.fixture\ndef mock_llm_calls():\n    return []", "conftest.py:3"),
        (CALLABLE_FIXTURE, "conftest"),
    ],
    ids=["a function", "a callable object"],
)
def test_a_failure_names_a_fixture_of_the_project_that_hides_ours(
    pytester: pytest.Pytester, conftest: str, place: str
) -> None:
    pytester.makeconftest(f"import pytest\n\n{conftest}")
    pytester.makepyfile(
        """
        def test_it(mock_llm_calls):
            mock_llm_calls.get_model("m")

        def test_ours(mock_llm_responses):
            assert mock_llm_responses.calls == 0
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=2)
    assert [line for line in result.outlines if "hides the fixture" in line] == [
        f"The fixture mock_llm_calls of {place} hides the fixture of pytest-llm-mock with this "
        "name. To use the fixture of pytest-llm-mock, rename yours."
    ]


@pytest.mark.parametrize(
    "name",
    [
        *("mock_llm_calls", "mock_llm_responses", "debug_llm"),
        *("llm_mock_cassette", "llm_mock_server"),
    ],
)
def test_each_fixture_that_hides_ours_is_named(name: str, pytester: pytest.Pytester) -> None:
    pytester.makeconftest(f"import pytest\n\n@pytest.fixture\ndef {name}(): pass")
    pytester.makepyfile(f"def test_it({name}): assert False")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    problem = f"The fixture {name} of conftest.py:3 hides the fixture of pytest-llm-mock"
    result.stdout.fnmatch_lines([f"{problem} with this name. *"])


def test_an_exception_without_a_text_is_reported_as_it_is(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import httpx

        class Broken(Exception):
            def __str__(self):
                raise RuntimeError("no text")

        def test_it():
            httpx.post("https://api.openai.com/v1/batches", json={})
            raise Broken
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E  *Broken: <exception str() failed>",
            "*- LLM calls -*",
            "POST /v1/batches of api.openai.com is not supported*",
        ]
    )
    result.stdout.no_fnmatch_line("*HookFailureWarning*")


def test_a_refusal_names_its_line_once(pytester: pytest.Pytester) -> None:
    path = pytester.makepyfile(
        """
        import openai

        def test_it():
            openai.OpenAI(api_key="any").files.retrieve("f")
        """
    )
    result = pytester.runpytest("--tb=line")
    result.assert_outcomes(failed=1)
    failure = result.stdout.str().partition("site-packages")[0].partition("FAILED")[0]
    assert "The call: " not in failure
    assert f"{path.name}:4" in failure


def test_what_a_reply_function_fails_with_is_shown_as_it_is(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm
        import pytest

        def refuse(prompt):
            pytest.fail("asked with sk-proj-0123456789abcdefghijkl")

        def test_refusing(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", refuse)
            llm.get_model("gpt-4o").prompt("Hello").text()
        """
    )
    result = pytester.runpytest_inprocess()
    result.stdout.fnmatch_lines(["E   *Failed: asked with sk-proj-0123456789abcdefghijkl"])


def test_a_refused_call_is_located_in_the_application_and_in_the_test(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        app="""
        import openai

        def ask():
            message = {"role": "user", "content": "Hi"}
            client = openai.OpenAI(max_retries=0)
            return client.chat.completions.create(model="gpt-4o", messages=[message])

        def answer():
            return ask()
        """,
        test_it="""
        import app

        def test_of_the_application():
            app.answer()

        def test_of_its_own():
            client = app.openai.OpenAI(max_retries=0)
            client.models.retrieve("gpt-4o")
            client.chat.completions.create(model="gpt-4o", messages=[{"role": "user"}])
        """,
    )
    result = pytester.runpytest("-p", "no:randomly")
    result.assert_outcomes(failed=2)
    located = [line for line in result.outlines if line.startswith("The call: ")]
    assert located == ["The call: app.py:6, from test_it.py:4"]


def test_a_failure_in_code_without_a_file_is_shown_as_it_is(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_production_responses = true")
    pytester.makepyfile(
        """
        import llm

        def test_it(mock_llm_responses):
            response = llm.get_model("m").prompt("p")
            response.text()
            exec("response.json()['data']")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *TypeError: 'NoneType' object is not *", "*- LLM calls -*"])
    result.stdout.no_fnmatch_line("*HookFailureWarning*")
