"""An old mock that replaces a whole module is pointed out."""

from __future__ import annotations

import pytest

OLD_MOCK = """
    import sys, types

    class MockPlanningModule(types.ModuleType):
        def __repr__(self):
            return "<MockPlanningModule>"

    class FakePlanner(types.ModuleType): ...
"""


def test_an_old_mock_is_warned_about_once(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        OLD_MOCK + "\n    sys.modules['pflow.planning'] = MockPlanningModule('pflow.planning')"
    )
    pytester.makepyfile("def test_one(): ...\ndef test_two(): ...")
    result = pytester.runpytest("-Wdefault")
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        ["*LegacyMockWarning: Old mock detected in pflow.planning: *MIGRATION_GUIDE.md.*"]
    )


def test_an_old_mock_that_appears_later_is_warned_about(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_legacy_modules =\n    team.planner = FakePlanner")
    pytester.makeconftest(OLD_MOCK)
    pytester.makepyfile(
        """
        import sys
        import pytest
        from conftest import FakePlanner

        @pytest.fixture
        def old_mock(monkeypatch):
            monkeypatch.setitem(sys.modules, "team.planner", FakePlanner("team.planner"))

        def test_clean(): ...

        def test_appears(old_mock): ...
        """
    )
    result = pytester.runpytest("-Wdefault")
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        ["*::test_appears", "*LegacyMockWarning: Old mock detected in team.planner:*"]
    )


def test_a_real_module_of_that_name_is_no_old_mock(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        **{
            "pflow/__init__": "",
            "pflow/planning": "",
            "test_it": "import pflow.planning\ndef test_it(): ...",
        }
    )
    pytester.runpytest().assert_outcomes(passed=1, warnings=0)


def test_an_old_mock_fails_its_test_clearly_where_warnings_are_errors(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        OLD_MOCK + "\n    sys.modules['pflow.planning'] = MockPlanningModule('pflow.planning')"
    )
    pytester.makepyfile("def test_one(): ...\ndef test_two(): ...")
    result = pytester.runpytest("-Werror::llm_mock.LegacyMockWarning")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Old mock detected in pflow.planning: *"])
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_a_test_that_still_patches_get_model_beside_its_replies_is_warned_of(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        app=(
            "from llm import get_model\n\ndef ask():\n"
            "    return get_model('gpt-4o').prompt('Hi').text()"
        )
    )
    pytester.makepyfile(
        """
        from unittest.mock import MagicMock, patch
        import app, llm

        @patch("app.get_model")
        def test_half_migrated(get_model, mock_llm_responses):
            get_model.return_value.prompt.return_value.text.return_value = "old"
            mock_llm_responses.set("gpt-4o", "new")
            assert app.ask() == "old"

        def test_patched_later(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "new")
            with patch("llm.get_model"), patch.object(llm, "get_async_model"):
                llm.get_model("gpt-4o").prompt("Hi")

        def test_replies_that_are_used(mock_llm_responses):
            mock_llm_responses.set("gpt-4o-mini", "new")
            with patch("app.get_model"):
                assert llm.get_model("gpt-4o-mini").prompt("Hi").text() == "new"

        def test_that_fails(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "new")
            with patch("app.get_model"):
                assert app.ask() == "new"

        @patch("app.get_model")
        def test_of_the_old_kind(get_model):
            app.ask()

        def test_of_something_else(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "new")
            with patch.object(MagicMock(), "get_model"), patch("app.ask"):
                app.ask()
        """
    )
    result = pytester.runpytest("-Wdefault")
    result.assert_outcomes(passed=5, failed=1, warnings=2)
    result.stdout.fnmatch_lines(
        [
            "No model was called, but replies were configured:",
            "  - gpt-4o  → 'new'  (test_a_test_that_still*.py:21, not used)",
            (
                "This test patches app.get_model by hand. Calls of the patched function "
                "never reach the mock. Remove *"
            ),
            "*::test_half_migrated",
            (
                "*LegacyMockWarning: This test patches app.get_model by hand, and configures "
                "replies that were not used:"
            ),
            "    - gpt-4o  → 'new'  (test_a_test_that_still*.py:7)",
            "*rewrites such tests.",
            "*::test_patched_later",
            "*This test patches llm.get_model and llm.get_async_model by hand, *",
        ]
    )
