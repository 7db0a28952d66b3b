"""Fixtures with a judge: their judge, their failures, their report."""

from __future__ import annotations

import json

import pytest

# pytester forgets what is first imported within a run, and the package would keep the old module.
from llm_mock.agents import assertions as assertions
from tests.plugin.files import write

TESTS = """
    import pytest

    def judged(met, reason="It sends the user away."):
        return {"reason": reason, "met": met}

    def test_met(llm_assert, mock_llm_responses, mock_llm_calls):
        mock_llm_responses.set("judge-of-all", judged(True, "A hello"))
        assert llm_assert("Hello", "Is a greeting").reason == "A hello"
        mock_llm_responses.set("other", judged(True))
        llm_assert("Hello", "Is a greeting", judge="other")
        assert [call["model_id"] for call in mock_llm_calls.calls] == ["judge-of-all", "other"]

    def test_not_met(llm_assert, mock_llm_responses):
        mock_llm_responses.set("judge-of-all", judged(False))
        llm_assert("Go away", "Is a greeting")

    def test_low(llm_score, mock_llm_responses):
        graded = {"tone": {"reason": "It is rude", "score": 0.25}, "size": {"reason": "Brief", "score": 1}}
        mock_llm_responses.set("judge-of-all", graded)
        assert llm_score("Go away", {"tone": "Is polite", "size": "Is brief"}) >= 0.8

    def test_low_part(llm_score, mock_llm_responses):
        mock_llm_responses.set("judge-of-all", {"tone": {"reason": "It is rude", "score": 0.25}})
        assert 0.5 < llm_score("Go away", {"tone": "Is polite"}).parts["tone"]
"""  # noqa: E501


@pytest.mark.parametrize(
    "processes", [(), ("-p", "xdist", "-n", "2")], ids=["one process", "xdist"]
)
def test_the_judge_is_chosen_once_and_failures_say_what_it_said(
    processes: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    write(pytester, "pytest.ini", "[pytest]\nllm_mock_judge = judge-of-all\n")
    pytester.makepyfile(TESTS)
    result = pytester.runpytest("--llm-mock-report=r.json", *processes)
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines_random(
        [
            "E*AssertionError: Not met: Is a greeting",
            "E*the judge judge-of-all: It sends the user away.",
            "E*answer: Go away",
            "E*assert 0.625 >= 0.8",
            "E*tone 0.25 (Is polite): It is rude",
            "E*size 1 (Is brief): Brief",
            "E*assert 0.5 < 0.25",
            "E*criterion: Is polite",
            "E*reason: It is rude",
        ]
    )
    result.stdout.no_fnmatch_line("*assertions.py*")
    tests = {
        test["id"].split("::")[1]: test
        for test in json.loads((pytester.path / "r.json").read_text())["tests"]
    }
    checks = {
        name: [tuple(check.values()) for check in test["checks"]] for name, test in tests.items()
    }
    assert checks == {
        "test_met": [
            ("passed", "Is a greeting: A hello"),
            ("passed", "Is a greeting: It sends the user away."),
        ],
        "test_not_met": [("failed", "Is a greeting: It sends the user away.")],
        "test_low": [("scored", "tone 0.25: It is rude"), ("scored", "size 1: Brief")],
        "test_low_part": [("scored", "tone 0.25: It is rude")],
    }


def test_the_option_goes_before_all_and_without_a_judge_the_message_says_how(
    pytester: pytest.Pytester,
) -> None:
    write(pytester, "pytest.ini", "[pytest]\nllm_mock_judge = judge-of-all\n")
    write(
        pytester,
        "test_it.py",
        """
        def test_it(llm_assert, mock_llm_responses, mock_llm_calls):
            mock_llm_responses.set("*", {"reason": "Yes", "met": True})
            llm_assert("Hello", "Is a greeting")
            llm_assert("Hello", "Is a greeting", judge="other")
            assert [call["model_id"] for call in mock_llm_calls.calls] == ["another", "another"]
        """,
    )
    pytester.runpytest("--llm-mock-judge", "another").assert_outcomes(passed=1)
    result = pytester.runpytest("-ollm_mock_judge=")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E*JudgeError: No judge is configured. Set one for all tests (ini llm_mock_judge = *"]
    )


def test_a_judge_is_recorded_replayed_and_asked_live_as_other_models(
    pytester: pytest.Pytester,
) -> None:
    write(pytester, "pytest.ini", "[pytest]\nllm_mock_judge = real-judge\n")
    pytester.makeconftest(
        """
        import llm
        import pytest

        class Real(llm.Model):
            model_id = "real-judge"
            supports_schema = True
            attachment_types = {"image/png"}
            asked = 0

            def execute(self, prompt, stream, response, conversation):
                type(self).asked += 1
                met = "true" if prompt.attachments else "false"
                yield '{"reason": "asked %d times", "met": %s}' % (self.asked, met)

        class Plugin:
            @staticmethod
            @llm.hookimpl
            def register_models(register):
                register(Real())

        @pytest.fixture
        def asked():
            return lambda: Real.asked

        def pytest_configure(config):
            from llm.plugins import pm
            pm.register(Plugin, "real-judge")

        def pytest_unconfigure(config):
            from llm.plugins import pm
            pm.unregister(name="real-judge")
        """
    )
    pytester.makepyfile(
        """
        import llm
        import pytest

        IMAGE = llm.Attachment(type="image/png", content=b"\\x89PNG")

        @pytest.mark.llm_mock_cassette
        @pytest.mark.llm_mock_repeat(2)
        def test_recorded(llm_assert):
            assert llm_assert(IMAGE, "Shows a bar").reason == "asked 1 times"

        @pytest.mark.llm_live
        def test_live(llm_assert, asked):
            before = asked()
            with pytest.raises(AssertionError, match="Not met: Is a bar"):
                llm_assert("a text", "Is a bar")
            assert asked() == before + 1
        """
    )
    pytester.runpytest(
        "-p", "no:randomly", "--llm-mock-live", "--llm-mock-record=once"
    ).assert_outcomes(passed=2)
    result = pytester.runpytest("-p", "no:randomly")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*test_recorded  2 of 2  100%*"])
