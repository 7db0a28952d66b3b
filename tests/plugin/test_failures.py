"""What a person sees when a test fails."""

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
    result.stdout.fnmatch_lines(["*- LLM calls -*", "  1. m  'Hello'  → {\"success\": true}"])


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
    pytester.runpytest().stdout.no_fnmatch_line("*LLM calls*")


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
            "2 queued replies were not asked for:",
            '  - m  schema Discovery  → {"found": true}  (2 times)',
            "    nearest call: 1, but the schema is none, not Discovery",
            "  - n  → raises ValueError('bad')",
            "    nearest call: 1, but the model is m, not n",
            "Remove the add(), correct what it wants, or say optional=True for a reply that may be unused.",
            "*- LLM calls -*",
            "  1. m  'Hello'  → 'x'",
        ],
        consecutive=True,
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*llm_mock/*")


def test_unused_replies_add_nothing_to_a_failure(pytester: pytest.Pytester) -> None:
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
    result.stdout.no_fnmatch_line("*not asked for*")


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
    result.stdout.fnmatch_lines(["One queued reply was not asked for:", "  - m  → 'unused'"])


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("mock_llm_responses.set('m', object())", "*InvalidReply: This is not a reply: an object of type object.*"),
        ("mock_llm_responses.set_error('m', 'bad')", "*InvalidReply: This is not an exception: 'bad'.*"),
        ("mock_llm_responses.get_model('m').assert_called_with()", "*AssertionError: Model 'm' was never called.*"),
    ],
)
def test_bad_input_fails_one_test_and_no_other(pytester: pytest.Pytester, statement: str, message: str) -> None:
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
    assert [line for line in result.outlines if "→" in line] == ["  1. m  'from b'  → {\"success\": true}"]


def test_debug_llm_prints_nothing_that_a_terminal_could_act_on(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import llm\n\ndef test_it(debug_llm):\n    llm.get_model('m').prompt('\\x1b[31mred \\x9b2J')\n"
    )
    result = pytester.runpytest("-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([r"  - \x1b[[]31mred \x9b2J"])
