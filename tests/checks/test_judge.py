"""The judge of a project: one setting for checks in Python, in steps and in fixtures."""

from __future__ import annotations

import pytest

ASKED = """
    import pytest
    from llm_mock.checks import judge

    def test_it(mock_llm_responses):
        mock_llm_responses.set("{model}", {{"reason": "So it is.", "met": True}})
        finding = judge("Is polite"{own})("Please.")
        assert finding, finding.reason
"""


@pytest.mark.parametrize(
    ("ini", "option", "own", "model"),
    [
        ("llm_mock_judge = j-1", (), "", "j-1"),
        ("llm_mock_judge = j-1", (), ", model='j-3'", "j-3"),
        ("llm_mock_judge = j-1", ("--llm-mock-judge", "j-2"), ", model='j-3'", "j-2"),
    ],
)
def test_the_option_overrides_the_check_and_the_check_the_ini(
    pytester: pytest.Pytester, ini: str, option: tuple[str, ...], own: str, model: str
) -> None:
    pytester.makeini(f"[pytest]\n{ini}\n")
    pytester.makepyfile(ASKED.format(model=model, own=own))
    pytester.runpytest(*option).assert_outcomes(passed=1)
    # Nothing stays for the run around this one.
    from llm_mock.core.judge_choice import JudgeChoice, get_judge_choice

    assert get_judge_choice() == JudgeChoice()


def test_without_a_judge_nothing_is_judged(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ASKED.format(model="j", own=""))
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *No judge model: *, or ini llm_mock_judge for the project*"])


@pytest.mark.parametrize("fixture", ["llm_assert", "llm_score"])
@pytest.mark.parametrize("by_option", [True, False])
def test_a_misspelt_judge_ends_a_live_test_before_it_runs(
    pytester: pytest.Pytester, fixture: str, by_option: bool
) -> None:
    name = "gpt-4o-minni"
    if not by_option:
        pytester.makeini(f"[pytest]\nllm_mock_judge = {name}\n")
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.llm_live
        def test_live({fixture}):
            print("the agent runs")

        def test_mocked({fixture}):
            pass
        """
    )
    option = ("--llm-mock-judge", name) if by_option else ()
    result = pytester.runpytest("--llm-mock-live", "-s", *option)
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(
        [f"E *llm does not know the judge model '{name}'. Did you mean gpt-4o-mini*"]
    )
    result.stdout.no_fnmatch_line("*the agent runs*")
