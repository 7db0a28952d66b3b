"""The mock is there from the first conftest on, and every test has a clean one."""

from __future__ import annotations

import pytest

UNKNOWN_HOOK = "unknown hook pytest_llm_mock_configured; did you mean 'pytest_llm_mock_configure'?"


def test_everything_before_the_first_test_is_mocked(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import llm
        IN_CONFTEST = llm.get_model("gpt-4o-mini")
        IN_CONFTEST_ANSWER = IN_CONFTEST.prompt("Hello").json()
        """
    )
    pytester.makepyfile(
        app="from llm import get_model\nMODEL = get_model('gpt-4o-mini')",
        test_it="""
        import llm, pytest
        import app
        from conftest import IN_CONFTEST, IN_CONFTEST_ANSWER
        AT_COLLECTION = llm.get_model("gpt-4o-mini").prompt("Hello").json()

        @pytest.fixture(scope="session")
        def session_model():
            model = llm.get_model("gpt-4o-mini")
            assert model.prompt("Hello").json() == {"success": True}
            return model

        @pytest.fixture(scope="module")
        def module_answer():
            return llm.get_model("gpt-4o-mini").prompt("Hello").json()

        def test_before():
            assert IN_CONFTEST_ANSWER == AT_COLLECTION == {"success": True}

        @pytest.mark.parametrize("number", [1, 2])
        def test_forwards(number, session_model, module_answer, mock_llm_responses, mock_llm_calls):
            assert module_answer == {"success": True}
            assert mock_llm_calls.calls == []
            mock_llm_responses.set("gpt-4o-mini", {"number": number})
            for model in (IN_CONFTEST, app.MODEL, session_model):
                assert model.prompt("Hello").json() == {"number": number}
                assert model.conversation().prompt("Hello").text() == f'{{"number": {number}}}'
            assert session_model.prompt_count == mock_llm_calls.get_model("gpt-4o-mini").prompt_count == 6
        """,  # noqa: E501
    )
    pytester.runpytest().assert_outcomes(passed=3)


def test_standing_answers_of_the_project_lie_below_those_of_a_test(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        """
        def pytest_llm_mock_configure(config, mock):
            assert config.rootpath
            mock.set("judge", "PASS")
            mock.set("gpt", {"from": "project"})
            mock.set_error("down", ConnectionError("down"))
            mock.set_unknown("gone")
            mock.get_model("default").default_response = "default of the project"
        """
    )
    pytester.makepyfile(
        """
        import llm, pytest
        AT_COLLECTION = llm.get_model("judge").prompt("Good?").text()

        def test_project():
            assert AT_COLLECTION == llm.get_model("judge").prompt("Good?").text() == "PASS"
            assert llm.get_model("default").prompt("Hi").text() == "default of the project"
            with pytest.raises(ConnectionError):
                llm.get_model("down").prompt("Hi")
            with pytest.raises(llm.UnknownModelError):
                llm.get_model("gone")

        def test_own(mock_llm_responses):
            mock_llm_responses.set("*", "any")
            mock_llm_responses.set("gpt", {"from": "test"})
            assert llm.get_model("judge").prompt("Good?").text() == "any"
            assert llm.get_model("gpt").prompt("Hi").json() == {"from": "test"}
            mock_llm_responses.reset()
            assert llm.get_model("gpt").prompt("Hi").json() == {"from": "project"}
        """
    )
    pytester.runpytest().assert_outcomes(passed=2)


def test_a_conftest_in_a_subfolder_may_configure_too(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("deep")
    (folder / "conftest.py").write_text(
        "def pytest_llm_mock_configure(mock): mock.set('m', 'deep')"
    )
    (folder / "test_deep.py").write_text(
        "import llm\ndef test_it(): assert llm.get_model('m').prompt('').text() == 'deep'"
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_queued_reply_for_the_whole_run_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_llm_mock_configure(mock): mock.add('m', 'x')")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: add('m', …) is not possible in pytest_llm_mock_configure: the first test that *"]
    )


def test_a_misspelt_hook_ends_the_run(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import llm\ndef pytest_llm_mock_configured(mock): pass")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: conftest.py:2: {UNKNOWN_HOOK}"])


def test_a_misspelt_hook_in_a_subfolder_is_an_error_of_the_folder(
    pytester: pytest.Pytester,
) -> None:
    folder = pytester.mkdir("deep")
    (folder / "conftest.py").write_text("def pytest_llm_mock_configured(mock): pass")
    (folder / "test_deep.py").write_text("def test_it(): pass")
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    [line] = [line for line in result.outlines if line.startswith("E ")]
    assert line == f"E   pytest.UsageError: deep/conftest.py:1: {UNKNOWN_HOOK}"
    assert "INTERNALERROR" not in result.stdout.str()
    assert "hooks.py" not in result.stdout.str()


def test_a_failing_test_leaves_nothing_behind(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm, pytest

        @pytest.mark.parametrize("number", range(4))
        def test_it(number, mock_llm_responses, mock_llm_calls):
            assert mock_llm_calls.calls == [] and mock_llm_calls.models == {}
            assert llm.get_model("m").prompt("Hello").json() == {"success": True}
            mock_llm_responses.set("m", "left")
            mock_llm_responses.set_error("*", ValueError("left"))
            mock_llm_responses.set_unknown("n")
            assert number % 2
        """
    )
    pytester.runpytest().assert_outcomes(passed=2, failed=2)


def test_unittest_asyncio_anyio_and_doctest_items_are_mocked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        '''
        import unittest
        import llm, pytest

        def documented():
            """
            >>> import llm
            >>> llm.get_model("m").prompt("Hello").json()
            {'success': True}
            """

        class OldStyle(unittest.TestCase):
            def test_old_style(self):
                self.assertEqual(llm.get_model("m").prompt("Hello").json(), {"success": True})

        @pytest.mark.asyncio
        async def test_async(mock_llm_responses):
            mock_llm_responses.set("m", "later")
            assert await llm.get_async_model("m").prompt("Hello").text() == "later"

        @pytest.mark.anyio
        @pytest.mark.parametrize("anyio_backend", ["asyncio"])
        async def test_anyio(mock_llm_responses):
            mock_llm_responses.set("m", "later")
            assert await llm.get_async_model("m").prompt("Hello").text() == "later"
        '''
    )
    pytester.runpytest("-p", "anyio", "--doctest-modules").assert_outcomes(passed=4)


def test_a_thread_of_a_test_is_mocked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import threading
        import llm

        def test_it(mock_llm_calls):
            thread = threading.Thread(target=lambda: llm.get_model("m").prompt("from a thread"))
            thread.start()
            thread.join()
            mock_llm_calls.get_model("m").assert_called_with("from a thread")
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_run_inside_a_run_gives_the_outer_mock_back(pytester: pytest.Pytester) -> None:
    import llm

    before = llm.get_model("m")
    pytester.makepyfile(
        "import llm\ndef test_it(mock_llm_responses): mock_llm_responses.set('m', 'inner')"
    )
    pytester.runpytest().assert_outcomes(passed=1)
    assert llm.get_model("m") is before
    assert before.prompt("Hello").json() == {"success": True}


@pytest.mark.parametrize("arguments", [(), ("inner",), ("inner", "outer")])
def test_an_inner_conftest_has_the_last_word(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    pytester.makeconftest(
        "def pytest_llm_mock_configure(mock): mock.set('judge', 'outer'); mock.set('both', 'outer')"
    )
    folder = pytester.mkdir("inner")
    (folder / "conftest.py").write_text(
        "def pytest_llm_mock_configure(mock, config): mock.set('judge', 'inner')"
    )
    (folder / "test_inner.py").write_text(
        "import llm\n"
        "def test_it():\n"
        "    assert [llm.get_model(name).prompt('').text() for name in ('judge', 'both')] == "
        "['inner', 'outer']"
    )
    (pytester.mkdir("outer") / "test_outer.py").write_text("def test_it(): ...")
    pytester.runpytest(*arguments).assert_outcomes(passed=1 if arguments == ("inner",) else 2)


def test_markers_work_beside_a_fixture_of_the_project_that_has_the_name_of_ours(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(autouse=True)
        def mock_llm_calls():
            return "the project's own"
        """
    )
    pytester.makepyfile(
        """
        import llm, pytest

        @pytest.mark.llm_mock_strict
        def test_a_call_is_unexpected(mock_llm_calls):
            assert mock_llm_calls == "the project's own"
            llm.get_model("m").prompt("Hi").text()

        @pytest.mark.llm_mock_misbehaviour("empty-text")
        def test_a_model_misbehaves(llm_mock_misbehaviour):
            assert llm.get_model("m").prompt("Hi").text() == ""
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*No reply was configured for this call*"])


@pytest.mark.parametrize(
    "name", ["mock_llm_calls", "mock_llm_responses", "llm_mock_cassette", "llm_mock_misbehaviour"]
)
def test_every_marker_and_fixture_works_beside_a_fixture_of_the_project(
    pytester: pytest.Pytester, name: str
) -> None:
    pytester.makeconftest(
        f"""
        import pytest

        @pytest.fixture(autouse=True)
        def {name}():
            return "the project's own"
        """
    )
    pytester.makepyfile(
        f"""
        import llm, pytest

        def ask():
            return llm.get_model("gpt-4o").prompt("Hi").text()

        @pytest.mark.llm_mock_misbehaviour("empty-text")
        def test_a_model_misbehaves({name}):
            assert {name} == "the project's own"
            assert ask() == ""

        @pytest.mark.llm_mock_cassette
        def test_a_cassette_is_looked_for():
            ask()

        @pytest.mark.skipif({name == "mock_llm_responses"}, reason="it is the project's")
        def test_replies_are_set(request):
            request.getfixturevalue("mock_llm_responses").set("*", "of the test")
            assert ask() == "of the test"

        def test_calls_are_logged(debug_llm, caplog):
            ask()
            assert "gpt-4o" in caplog.text
            assert len(debug_llm.calls) == 1
        """
    )
    skipped = int(name == "mock_llm_responses")
    result = pytester.runpytest()
    result.assert_outcomes(passed=3 - skipped, failed=1, skipped=skipped)
    result.stdout.fnmatch_lines(["*There is no cassette *"])


def test_a_fixture_of_the_project_may_extend_the_mock(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def mock_llm_calls(mock_llm_calls):
            mock_llm_calls.set("*", "of the project")
            return mock_llm_calls
        """
    )
    pytester.makepyfile(
        """
        import llm

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "of the test")
            answers = [llm.get_model(name).prompt("").text() for name in ("gpt-4o", "m")]
            assert answers == ["of the test", "of the project"]
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_an_assertion_names_the_fixture_that_hides_the_mock(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        from llm_mock import assert_llm_called_times, assert_prompt_contains

        @pytest.fixture
        def mock_llm_calls():
            return {}

        @pytest.mark.parametrize("assertion, wanted", [(assert_llm_called_times, 1), (assert_prompt_contains, "Hi")])
        def test_it(mock_llm_calls, assertion, wanted):
            assertion(mock_llm_calls, "m", wanted)
        """  # noqa: E501
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["*Expected a mock of llm_mock, got {}. If the project has its own fixture mock_llm_calls*"]
    )


@pytest.mark.parametrize("scope", ["class", "module", "session"])
@pytest.mark.parametrize("fixture", ["mock_llm_responses", "mock_llm_calls"])
def test_a_fixture_that_outlasts_the_mock_is_told_what_to_write(
    pytester: pytest.Pytester, scope: str, fixture: str
) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.fixture(scope="{scope}")
        def replies({fixture}):
            {fixture}.set("*", "Hi")

        def test_it(replies):
            pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*Scope of the mock*",
            f"Each test has a mock of its own, so a fixture of scope '{scope}' cannot request "
            f"{fixture}. For replies in all tests, define in conftest.py:",
            "    def pytest_llm_mock_configure(config, mock):",
            '        mock.set("[*]", "…")',
            "For replies in some of them, remove the scope of the fixture.",
        ]
    )


def test_another_failure_in_the_setup_says_nothing_of_scopes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def other():
            pytest.fail("ScopeMismatch of something else")

        @pytest.fixture(scope="module")
        def wider(tmp_path):
            pass

        def test_one(other):
            pass

        def test_two(wider):
            pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(errors=2)
    result.stdout.no_fnmatch_line("*Scope of the mock*")
