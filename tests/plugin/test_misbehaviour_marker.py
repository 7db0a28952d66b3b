"""`@pytest.mark.llm_mock_misbehaviour`: one test, run once for each thing that models do wrong."""

from __future__ import annotations

import pytest

from llm_mock.behaviour.catalogue import CATALOGUE

APPLICATION = """
    import llm, pytest
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    def ask():
        return Person.model_validate_json(llm.get_model("gpt-4o-mini").prompt("Who?", schema=Person).text())

    def ask_until_answered():
        for attempt in range(3):
            try:
                return ask()
            except Exception as error:
                failure = error
        raise RuntimeError("no answer") from failure
"""  # noqa: E501


def run(pytester: pytest.Pytester, code: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(APPLICATION + code)
    return pytester.runpytest("-rsf", "--strict-markers", "-Werror", *arguments)


def test_without_names_the_test_is_run_once_for_each(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
    @pytest.mark.llm_mock_misbehaviour
    def test_the_application_copes(mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mini", Person(name="Ada", age=36))
        try:
            assert ask_until_answered().age == 36
        except RuntimeError as error:
            assert str(error) == "no answer"
        """,
        "-v",
    )
    unfit = [
        "unknown-tool",
        "bad-tool-arguments",
        "endless-tool-calls",
        "repeated-answer",
        "malformed-chunk",
        "split-frames",
    ]
    result.assert_outcomes(passed=len(CATALOGUE) - len(unfit), skipped=len(unfit))
    result.stdout.fnmatch_lines(
        [
            (
                f"*::test_the_application_copes[[]{name}[]] "
                f"{'SKIPPED' if name in unfit else 'PASSED'} *"
            )
            for name in CATALOGUE
        ]
    )
    result.stdout.fnmatch_lines(
        [
            "SKIPPED [[]1[]] test_without_names*.py:*: unknown-tool changed no call in this test "
            "(1 call made): it needs a call that offers tools",
        ]
    )
    location = next(line for line in result.outlines if line.startswith("SKIPPED [1]")).split(":")[
        1
    ]
    lines = (
        (pytester.path / "test_without_names_the_test_is_run_once_for_each.py")
        .read_text()
        .splitlines()
    )
    assert "llm_mock_misbehaviour" in lines[int(location) - 1]


def test_names_choose_and_combine_with_other_parameters(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
    @pytest.mark.parametrize("question", ["Who?", "What?"])
    @pytest.mark.llm_mock_misbehaviour("refusal", "rate-limit", times=1)
    @pytest.mark.llm_mock_misbehaviour("empty-text")
    def test_it(question, mock_llm_responses, llm_mock_misbehaviour):
        mock_llm_responses.set("*", "Hello")
        try:
            text = llm.get_model("gpt-4o-mini").prompt(question).text()
        except Exception as error:
            text = type(error).__name__
        assert llm_mock_misbehaviour.description
        assert text == {
            "refusal": "I'm sorry, but I can't help with that.", "rate-limit": "RateLimitError", "empty-text": ""
        }[llm_mock_misbehaviour.name]
        again = llm.get_model("gpt-4o-mini").prompt(question).text()
        assert again == ("" if llm_mock_misbehaviour.name == "empty-text" else "Hello")
        assert llm_mock_misbehaviour.calls == ([1, 2] if llm_mock_misbehaviour.name == "empty-text" else [1])
        """,  # noqa: E501
        "-v",
    )
    result.assert_outcomes(passed=6)
    names = [line.split("[")[1].split("]")[0] for line in result.outlines if "::test_it[" in line]
    assert sorted(names) == sorted(
        f"{question}-{name}"
        for question in ("Who?", "What?")
        for name in ("refusal", "rate-limit", "empty-text")
    )


def test_a_class_may_be_marked_and_a_method_chooses_for_itself(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
    @pytest.mark.llm_mock_misbehaviour("refusal", "empty-text")
    class TestIt:
        def test_both(self):
            ask_nothing()

        @pytest.mark.llm_mock_misbehaviour("timeout")
        def test_one(self):
            with pytest.raises(Exception, match="timed out"):
                ask_nothing()

    def ask_nothing():
        assert llm.get_model("gpt-4o-mini").prompt("Hi").text() in ("", "I'm sorry, but I can't help with that.")
        """,  # noqa: E501
        "-v",
    )
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["*::TestIt::test_both[[]refusal[]]*", "*::TestIt::test_one[[]timeout[]]*"]
    )


def test_async_tests_and_a_chain(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
    def weather(city: str) -> str:
        return city

    @pytest.mark.asyncio
    @pytest.mark.llm_mock_misbehaviour("endless-tool-calls", "overloaded")
    async def test_it():
        with pytest.raises((ValueError, Exception)) as caught:
            await llm.get_async_model("gpt-4o-mini").conversation().chain("Hi", tools=[weather], chain_limit=3).text()
        assert "Chain limit of 3" in str(caught.value) or "overloaded" in str(caught.value)
        """,  # noqa: E501
    )
    result.assert_outcomes(passed=2)


def test_a_failure_shows_the_misbehaviour_and_what_it_was_applied_to(
    pytester: pytest.Pytester,
) -> None:
    result = run(
        pytester,
        """
    @pytest.mark.llm_mock_misbehaviour("wrong-types", "unknown-tool")
    def test_it(mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mini", {"name": "Ada", "age": 36})
        ask()
        assert False
        """,
    )
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*_ test_it[[]wrong-types[]] _*",
            "*- LLM misbehaviour -*",
            "wrong-types: Values in the JSON have the wrong types.",
            "Applied to call 1.",
            "*- LLM calls -*",
            '  1. gpt-4o-mini  \'Who?\'  schema Person  → {"name": ["Ada"], "age": "about 36"}',
            "*_ test_it[[]unknown-tool[]] _*",
            "*- LLM misbehaviour -*",
            "Applied to no call.",
        ]
    )


def test_an_application_that_stops_early_may_leave_replies_unused(
    pytester: pytest.Pytester,
) -> None:
    result = run(
        pytester,
        """
    def scripted(mock):
        mock.add("gpt-4o-mini", {"name": "Ada", "age": 36})
        mock.add("gpt-4o-mini", {"name": "Bob", "age": 37})

    @pytest.mark.llm_mock_misbehaviour("truncated-json", "invalid-key")
    def test_stops(mock_llm_responses):
        scripted(mock_llm_responses)
        with pytest.raises(Exception):
            ask()
            ask()

    def test_without_misbehaviour(mock_llm_responses):
        scripted(mock_llm_responses)
        ask()
        """,
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["FAILED *::test_without_misbehaviour*"])


def test_an_application_that_calls_tools_without_end_fails_though_it_swallows_the_error(
    pytester: pytest.Pytester,
) -> None:
    result = run(
        pytester,
        """
    def weather(city: str) -> str:
        return city

    @pytest.mark.llm_mock_misbehaviour("endless-tool-calls")
    def test_it():
        try:
            llm.get_model("gpt-4o-mini").chain("Hi", tools=[weather]).text()
        except Exception:
            pass
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["The model called a tool 100 times, and the application did not stop it.*"]
    )


def test_strict_calls_stay_strict(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
    @pytest.mark.llm_mock_strict
    @pytest.mark.llm_mock_misbehaviour("refusal")
    def test_it():
        try:
            llm.get_model("gpt-4o-mini").prompt("Hi")
        except Exception:
            pass
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["No reply was configured for this call:*"])


def test_a_test_without_the_marker_is_given_none(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
    def test_it(llm_mock_misbehaviour):
        assert llm_mock_misbehaviour is None
        assert llm.get_model("gpt-4o-mini").prompt("Hi").text() == '{"success": true}'

    def test_llm_mock_misbehaviour():
        pass
        """,
    )
    result.assert_outcomes(passed=2)


def test_fixtures_are_spared_unless_they_ask(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
    @pytest.fixture
    def prepared():
        yield llm.get_model("gpt-4o-mini").prompt("Hi").text()
        assert llm.get_model("gpt-4o-mini").prompt("Hi").text()

    @pytest.fixture
    def asking(llm_mock_misbehaviour):
        return llm.get_model("gpt-4o-mini").prompt("Hi").text()

    @pytest.mark.llm_mock_misbehaviour("empty-text")
    def test_spared(prepared):
        assert prepared
        assert not llm.get_model("gpt-4o-mini").prompt("Hi").text()

    @pytest.mark.llm_mock_misbehaviour("empty-text")
    def test_asked(asking):
        assert not asking
        """,
    )
    result.assert_outcomes(passed=2)


def test_what_cannot_be_run_several_times_is_skipped_with_the_reason(
    pytester: pytest.Pytester,
) -> None:
    result = run(
        pytester,
        """
    import unittest

    @pytest.mark.llm_mock_misbehaviour
    class TestOld(unittest.TestCase):
        def test_it(self):
            pass
        """,
    )
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["SKIPPED*llm_mock_misbehaviour supports only plain test functions*not *TestOld::test_it"]
    )


def test_a_test_that_calls_no_model_is_skipped(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
    @pytest.mark.llm_mock_misbehaviour("rate-limit")
    def test_nothing():
        pass

    @pytest.mark.llm_mock_misbehaviour("rate-limit")
    def test_skips_itself():
        pytest.skip("for another reason")
        """,
    )
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(
        ["SKIPPED*rate-limit changed no call in this test (0 calls made): it needs a call*"]
    )


def test_workers_run_them_too(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
    @pytest.mark.llm_mock_misbehaviour
    def test_it():
        try:
            llm.get_model("gpt-4o-mini").prompt("Hi").text()
        except Exception:
            pass
        """,
        "-n2",
    )
    assert result.parseoutcomes()["passed"] + result.parseoutcomes()["skipped"] == len(CATALOGUE)


def test_the_marker_is_registered_and_explained(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--markers")
    result.stdout.fnmatch_lines(
        ["@pytest.mark.llm_mock_misbehaviour(*names, times=None): Run the test once for each*"]
    )


def test_a_project_that_opted_out_may_use_it(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock = false")
    result = run(
        pytester,
        """
    @pytest.mark.llm_mock_misbehaviour("refusal")
    def test_it():
        assert llm.get_model("gpt-4o-mini").prompt("Hi").text().startswith("I'm sorry")
        """,
    )
    result.assert_outcomes(passed=1)


def test_a_live_test_cannot_misbehave_and_says_so(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.llm_live
        @pytest.mark.llm_mock_misbehaviour("refusal")
        def test_it(): ...
        """
    )
    result = pytester.runpytest("--llm-mock-live")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["This test is marked llm_live and llm_mock_misbehaviour, but only mocked models *"]
    )


def test_a_recorded_answer_misbehaves_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import llm
        import pytest

        @pytest.mark.llm_mock_cassette
        @pytest.mark.llm_mock_misbehaviour("fenced-json", "rate-limit", times=1)
        def test_it(llm_mock_misbehaviour):
            model = llm.get_model("recorded")
            try:
                texts = [model.prompt("Hi").text()]
            except llm.ModelError as error:
                texts = [str(error)]
            texts.append(model.prompt("Hi").text())
            expected = {"fenced-json": "```json", "rate-limit": "Error code: 429"}
            assert texts[0].startswith(expected[llm_mock_misbehaviour.name])
            assert texts[1] == '{"found": true}'
        """
    )
    call = """
- request: {model: recorded, prompt: Hi}
  response: {events: [{text: '{"found": true}'}]}
"""
    folder = pytester.mkdir("cassettes") / "test_it"
    folder.mkdir()
    for name, calls in (("fenced-json", 2), ("rate-limit", 1)):
        (folder / f"test_it[{name}].yaml").write_text(f"version: 1\ncalls:{call * calls}")
    pytester.runpytest().assert_outcomes(passed=2)
