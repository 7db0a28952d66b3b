"""The summary at the end of a run: one, whatever the number of processes."""

from __future__ import annotations

import pytest

TESTS = """
    import llm, pytest
    llm.get_model("outside").prompt("at collection")

    @pytest.mark.parametrize("number", range(6))
    def test_it(number, mock_llm_responses):
        mock_llm_responses.set("gpt-4o", "x" * 8)
        mock_llm_responses.set_error("broken", ConnectionError("down"))
        llm.get_model("gpt-4o").prompt("y" * 12)
        with pytest.raises(ConnectionError):
            llm.get_model("broken").prompt("Hello")
        %s
"""
UNCONFIGURED = TESTS % 'llm.get_model("forgotten").prompt("Hello")'
HEAD = "model      calls  tokens in  tokens out  errors  answered by default"
ROWS = [
    "broken         6          0           0       6                    0",
    "forgotten      6         12          30       0                    6",
    "gpt-4o         6         18          12       0                    0",
]


def test_unconfigured_calls_are_summed_up_at_the_end(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(UNCONFIGURED)
    result = pytester.runpytest()
    result.assert_outcomes(passed=6)
    outside = "outside        1          4           5       0                    1"
    result.stdout.fnmatch_lines(
        [
            "*= LLM calls of the run =*",
            HEAD,
            *ROWS,
            outside,
            "Answered by default, because no reply was configured for the call:",
            "  outside of tests  (1 call)",
            *(f"  test_unconfigured*.py::test_it[[]{number}[]]  (1 call)" for number in range(6)),
            (
                "To fail the tests with these calls, set ini llm_mock_strict = error. To hide this "
                "list, use off instead. Ini llm_mock = strict sets all recommended settings."
            ),
        ]
    )


DEFAULT_REPLIES = """
        import llm, pytest

        def test_off():
            llm.get_model("m").prompt("Hello").text()

        @pytest.mark.llm_mock_strict("warn")
        def test_warn():
            llm.get_model("m").prompt("Hello").text()
"""
GENERATED_VECTORS = """
        import openai, pytest

        def embed(*texts):
            openai.OpenAI().embeddings.create(model="m", input=[*texts])

        def test_off():
            embed("a")

        @pytest.mark.llm_mock_strict("warn")
        def test_warn(mock_llm_responses):
            embed("d")
            mock_llm_responses.reset()
            mock_llm_responses.set_embedding("m", "a", [1.0])
            embed("a")
            embed("a", "b", "c")
            embed("b")

        @pytest.mark.llm_mock_strict("warn")
        def test_configured(mock_llm_responses):
            mock_llm_responses.set_embedding("m", "a", [1.0])
            embed("a")
"""


def test_default_replies_are_listed_unless_strictness_is_off(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_strict = off")
    pytester.makepyfile(DEFAULT_REPLIES)
    result = pytester.runpytest()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["Answered by default, *", "*::test_warn  (1 call)"])
    result.stdout.no_fnmatch_line("*::test_off  (*")


def test_generated_vectors_are_listed_as_default_replies_are(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_strict = off")
    pytester.makepyfile(GENERATED_VECTORS)
    result = pytester.runpytest()
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*LLM calls of the run*", "Answered by default, *"])
    result.stdout.fnmatch_lines(["*::test_warn  (2 calls)"])
    result.stdout.no_fnmatch_line("*::test_off  (*")
    result.stdout.no_fnmatch_line("*::test_configured  (*")


def test_a_worker_lists_default_replies_and_generated_vectors(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_strict = off")
    pytester.makepyfile(test_replies=DEFAULT_REPLIES, test_vectors=GENERATED_VECTORS)
    result = pytester.runpytest("-n", "1")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["*LLM calls of the run*", "Answered by default, *"])
    result.stdout.fnmatch_lines(["  test_replies.py::test_warn  (1 call)"])
    result.stdout.fnmatch_lines(["  test_vectors.py::test_warn  (2 calls)"])
    result.stdout.no_fnmatch_line("*::test_off  (*")
    result.stdout.no_fnmatch_line("*::test_configured  (*")


def test_of_many_tests_with_unconfigured_calls_those_with_the_most_are_named(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        test_it="""
        import llm, openai, pytest

        @pytest.mark.parametrize("calls", range(1, 13))
        def test_it(calls):
            for _ in range(calls):
                llm.get_model("m").prompt("Hello")

        @pytest.mark.llm_mock_strict("warn")
        def test_sdk():
            for _ in range(20):
                openai.OpenAI().responses.create(model="m", input="Hello")
        """
    )
    result = pytester.runpytest()
    shown = [
        "test_sdk  (20 calls)",
        *(f"test_it[[]{calls}[]]  ({calls} calls)" for calls in range(12, 3, -1)),
    ]
    lines = [*(f"  test_it.py::{test}" for test in shown), "  … 3 more tests"]
    result.stdout.fnmatch_lines(lines, consecutive=True)


MISSPELT_MODELS = """
    import llm
    import openai
    import pytest

    def ask(model="gpt-4o-mini"):
        return llm.get_model(model).prompt("Hello").text()

    def test_misspelt(mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mni", "Hi")
        ask()

    @pytest.mark.llm_mock_strict("warn")
    def test_misspelt_in_http(mock_llm_responses):
        mock_llm_responses.set("claude-sonet-4", "Hi")
        openai.OpenAI().responses.create(model="claude-sonnet-4", input="Hello")

    def test_another_known_model(mock_llm_responses):
        mock_llm_responses.set("gpt-4o", "Hi")
        ask()
        mock_llm_responses.set("gpt-4.1-mini", "Hi")
        ask("gpt-4.1-mini-1")

    def test_model_that_a_plugin_registers(mock_llm_responses):
        mock_llm_responses.set("gpt-4-turbo", "Hi")
        ask("gpt-4-trbo")

    def test_real_model_of_another_test(mock_llm_responses):
        mock_llm_responses.set("our-planer", "Hi")
        ask("our-planner")

    def test_that_calls_it(mock_llm_responses):
        mock_llm_responses.set("our-planer", "Hi")
        ask("our-planer")

    def test_that_calls_both(mock_llm_responses):
        mock_llm_responses.set("our-writer", "Hi", prompt="Bye")
        ask("our-writer")
        ask("our-wrter")

    def test_another_condition(mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mni", "Hi", prompt="Bye")
        ask()

    def test_with_its_reply_used(mock_llm_responses):
        mock_llm_responses.set("gpt-4o-m*", "Hi")
        mock_llm_responses.set("gpt-4o-mni", "Hi")
        ask()

    def test_far_off(mock_llm_responses):
        mock_llm_responses.set("gemini-2.5-pro", "Hi")
        ask()

    @pytest.mark.llm_mock_strict("off")
    def test_lenient(mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mni", "Hi")
        ask()

    def test_that_fails(mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mni", "Hi")
        assert ask() == "Hi"
    """


MISSPELT_BY_HTTP = MISSPELT_MODELS.replace("    import openai\n", "    import urllib3\n").replace(
    """openai.OpenAI().responses.create(model="claude-sonnet-4", input="Hello")""",
    """body = {"model": "claude-sonnet-4", "input": "Hello"}
        response = urllib3.request("POST", "https://api.openai.com/v1/responses", json=body)
        assert response.status == 200""",
)
"""The same without the SDK, as importing it is most of what a worker takes."""


@pytest.mark.parametrize(
    ("tests", "workers"),
    [(MISSPELT_MODELS, ()), (MISSPELT_BY_HTTP, ("-n", "2"))],
    ids=["alone", "xdist"],
)
def test_a_passed_test_that_misspells_the_model_of_a_reply_is_told_the_called_one(
    pytester: pytest.Pytester, tests: str, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_it=tests)
    result = pytester.runpytest(*workers)
    result.assert_outcomes(passed=11, failed=1)
    lines = [
        "Answered by default, *",
        "  test_it.py::test_misspelt  (1 call)",
        (
            "    not used: the reply for 'gpt-4o-mni' (test_it.py:9). If its model is misspelt, "
            "write 'gpt-4o-mini'."
        ),
        "  test_it.py::test_misspelt_in_http  (1 call)",
        (
            "    not used: the reply for 'claude-sonet-4' (test_it.py:14). If its model is "
            "misspelt, write 'claude-sonnet-4'."
        ),
    ]
    result.stdout.fnmatch_lines(lines, consecutive=True)
    assert result.stdout.str().count("is misspelt, write") == 2


@pytest.mark.parametrize(("option", "is_shown"), [("-q", True), ("-qq", False)])
def test_a_misspelt_model_is_told_in_a_quiet_run_too(
    pytester: pytest.Pytester, option: str, is_shown: bool
) -> None:
    pytester.makepyfile(test_it=MISSPELT_MODELS)
    result = pytester.runpytest(option)
    told = [line for line in result.outlines if "is misspelt, write" in line]
    expected = [
        "llm-mock: test_it.py::test_misspelt: not used: the reply for 'gpt-4o-mni' (test_it.py:9). "
        "If its model is misspelt, write 'gpt-4o-mini'.",
        "llm-mock: test_it.py::test_misspelt_in_http: not used: the reply for 'claude-sonet-4' "
        "(test_it.py:14). If its model is misspelt, write 'claude-sonnet-4'.",
    ]
    assert sorted(told) == (expected if is_shown else [])
    result.stdout.no_fnmatch_line("Answered by default*")


@pytest.mark.parametrize("arguments", [("-n2",), ("-n2", "--dist=loadfile")])
def test_all_workers_together_have_one_summary(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    pytester.makepyfile(
        UNCONFIGURED.replace('llm.get_model("outside").prompt("at collection")', "")
    )
    result = pytester.runpytest(*arguments)
    result.assert_outcomes(passed=6)
    tests = (f"  test_all*.py::test_it[[]{number}[]]  (1 call)" for number in range(6))
    result.stdout.fnmatch_lines(
        ["*= LLM calls of the run =*", HEAD, *ROWS, "Answered by default*", *tests]
    )
    assert sum("LLM calls of the run" in line for line in result.outlines) == 1


def test_a_run_in_which_all_is_configured_says_nothing_unless_asked(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        (TESTS % "pass").replace('llm.get_model("outside").prompt("at collection")', "")
    )
    pytester.runpytest().stdout.no_fnmatch_line("*LLM calls of the run*")
    pytester.runpytest("-v").stdout.fnmatch_lines(
        ["gpt-4o      6         18          12       0                    0"]
    )


def test_a_run_without_calls_says_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): ...")
    pytester.runpytest("-v").stdout.no_fnmatch_line("*LLM calls of the run*")


@pytest.mark.parametrize("more", [0, 1])
def test_ten_misspelt_models_are_told_in_a_quiet_run(pytester: pytest.Pytester, more: int) -> None:
    pytester.makepyfile(
        f"""
        import llm, pytest

        @pytest.mark.parametrize("number", range({10 + more}))
        def test_misspelt(number, mock_llm_responses):
            mock_llm_responses.set("gpt-4o-mni", "Hi")
            llm.get_model("gpt-4o-mini").prompt("Hello").text()
        """
    )
    output = pytester.runpytest("-q").stdout.str()
    assert output.count("is misspelt, write") == 10
    assert output.count("llm-mock: … ") == output.count("llm-mock: … 1 more") == more
