"""A run touches nothing of the person who starts it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def home(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create an `llm` user folder with keys, an alias, a default model and no logs."""
    folder = pytester.mkdir("of-the-user")
    (folder / "keys.json").write_text('{"openai": "sk-of-the-user"}')
    (folder / "aliases.json").write_text('{"mine": "gpt-4o"}')
    (folder / "default_model.txt").write_text("gpt-of-the-user")
    monkeypatch.setenv("LLM_USER_PATH", str(folder))
    return folder


def test_the_users_folder_is_neither_read_nor_written(
    pytester: pytest.Pytester, home: Path
) -> None:
    before = {path.name: path.read_bytes() for path in home.iterdir()}
    pytester.makepyfile(
        """
        import llm
        from click.testing import CliRunner
        from llm.cli import cli

        def test_it(mock_llm_calls):
            assert llm.get_key(alias="openai") is None
            assert llm.get_model("mine").model_id == "mine"
            assert llm.get_model().model_id == llm.DEFAULT_MODEL
            assert CliRunner().invoke(cli, ["Hello"]).exit_code == 0
            llm.set_default_model("other")
            llm.set_alias("short", "gpt-4o")
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)
    assert {path.name: path.read_bytes() for path in home.iterdir()} == before


SUBPROCESS = """
    import subprocess, sys

    def test_it():
        code = "import llm; print(type(llm.get_model('gpt-4o-mini')).__name__, llm.user_dir())"
        name, folder = subprocess.check_output([sys.executable, "-c", code], text=True).split()
        assert (name, "llm-mock-" in folder) == EXPECTED
"""


@pytest.mark.parametrize(
    ("value", "expected"), [(None, "MockKeyModel"), ("1", "MockKeyModel"), ("0", "Chat")]
)
def test_a_subprocess_is_mocked_unless_the_environment_says_no(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, value: str | None, expected: str
) -> None:
    monkeypatch.delenv("PFLOW_TESTING")
    if value is not None:
        monkeypatch.setenv("PFLOW_TESTING", value)
    pytester.makepyfile(SUBPROCESS.replace("EXPECTED", repr((expected, True))))
    pytester.runpytest().assert_outcomes(passed=1)


def test_the_llm_command_line_as_a_subprocess_is_mocked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import subprocess, sys

        def test_it():
            command = [sys.executable, "-m", "llm", "Hello", "-m", "4o-mini"]
            assert subprocess.check_output(command, text=True, stdin=subprocess.DEVNULL) == '{"success": true}\\n'
        """  # noqa: E501
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_run_that_never_imports_llm_does_not_pay_for_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4", {"a": 1})
            mock_llm_responses.add("gpt-4", ValueError("x"))
            mock_llm_responses.reset()
            assert {"llm", "pydantic", "yaml", "openai"}.isdisjoint(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-p", "no:hypothesispytest").assert_outcomes(passed=1)


def test_a_run_that_asks_no_model_loads_nothing_that_answers_or_redacts(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others import HTTP libraries
    pytester.makepyfile(
        """
        import sys

        UNUSED = (
            "llm_mock.behaviour", "llm_mock.boundaries.passthrough", "llm_mock.boundaries.http.interception",
            "llm_mock.boundaries.llm.get_model", "llm_mock.core.mock", "llm_mock.plugin.failures",
            "llm_mock.support.redaction.redactor", "llm_mock.support.text",
        )

        def test_it():
            assert not [name for name in sys.modules if name.startswith(UNUSED)]
        """  # noqa: E501
    )
    pytester.runpytest_subprocess("-p", "llm_mock.pytest_plugin").assert_outcomes(passed=1)


def test_an_alias_may_be_named_before_anything_imports_llm(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(mock_llm_responses):
            mock_llm_responses.set("4o", "from the alias")
            import llm
            assert llm.get_model("4o").prompt("Hello").text() == "from the alias"
            assert llm.get_model("gpt-4o").prompt("Hello").text() == "from the alias"
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_the_package_may_be_what_imports_llm_first(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys
        assert "llm" not in sys.modules
        from llm_mock import AsyncMockLLMModel, MockEmbeddingModel, MockLLMModel, create_mock_get_model

        def test_it(mock_llm_responses):
            assert create_mock_get_model({"m": "x"})("m").prompt("Hi").text() == "x"
            assert MockLLMModel("m").prompt("Hi").json() == {"success": True}
        """  # noqa: E501
    )
    pytester.runpytest_subprocess("-p", "no:hypothesispytest").assert_outcomes(passed=1)


CLEARED = """
    import os
    import llm
    from click.testing import CliRunner
    from llm.cli import cli

    def test_it(monkeypatch, mock_llm_responses):
        for name in list(os.environ):
            if name != "HOME":
                monkeypatch.delenv(name)
        assert CliRunner().invoke(cli, ["Hello", "-m", "m"]).exit_code == 0
        assert "llm-mock-" in str(llm.user_dir())
"""


@pytest.mark.parametrize("ini", ["", "llm_mock = false"])
def test_a_test_that_clears_the_environment_stays_in_the_runs_folder(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ini: str
) -> None:
    monkeypatch.setenv("HOME", str(pytester.path))
    pytester.makeini(f"[pytest]\n{ini}")
    pytester.makepyfile(CLEARED)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
    assert not (pytester.path / ".config").exists()


def test_calls_after_the_last_test_are_mocked_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import atexit, threading, time
        import llm

        class Provider(llm.Model):
            model_id = "provider"
            def execute(self, prompt, stream, response, conversation):
                yield "REAL"

        EARLY = llm.get_model("early")

        def late():
            for model in (EARLY, Provider(), llm.get_model("late")):
                print("LATE", model.prompt("Hello").text(), llm.user_dir(), flush=True)

        def test_it():
            atexit.register(late)
        """
    )
    result = pytester.runpytest_subprocess("-s")
    assert (
        len(
            [
                line
                for line in result.outlines
                if 'LATE {"success": true}' in line and "llm-mock-" in line
            ]
        )
        == 3
    )


def test_a_program_that_runs_pytest_gets_llm_back(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PFLOW_TESTING")
    pytester.makepyfile(
        test_it="import llm\ndef test_it(): assert llm.get_model('m').prompt('').text()",
        program="""
        import os
        import pytest
        os.environ["LLM_USER_PATH"] = "mine"
        for arguments in (["test_it.py", "-q"], ["--nonsense"]):
            pytest.main(arguments)
            import llm
            print("AFTER", type(llm.get_model("gpt-4o")).__name__, os.environ["LLM_USER_PATH"],
                  os.environ.get("PFLOW_TESTING"))
        """,
    )
    result = pytester.runpython("program.py")
    assert [line for line in result.outlines if "AFTER" in line] == ["AFTER Chat mine None"] * 2


REPLACED = ("aiohttp", "anthropic", "google.auth", "grpc", "llm", "openai", "pycurl")


@pytest.mark.parametrize(
    "replacement", ["None", "types.ModuleType('openai')", "types.SimpleNamespace()", "MagicMock()"]
)
def test_a_library_that_was_replaced_before_the_run_is_left_as_it_is(
    pytester: pytest.Pytester, replacement: str
) -> None:
    pytester.makepyfile(
        replaced=f"""
        import sys, types
        from unittest.mock import MagicMock

        MODULES = {{name: {replacement} for name in {REPLACED}}}
        BEFORE = {{name: dir(module) for name, module in MODULES.items()}}
        sys.modules.update(MODULES)
        """,
        test_it="""
        import sys
        import pytest
        import replaced

        @pytest.mark.parametrize("name", replaced.MODULES)
        def test_it(mock_llm_responses, name):
            assert sys.modules[name] is replaced.MODULES[name]
            assert dir(sys.modules[name]) == replaced.BEFORE[name]
        """,
    )
    result = pytester.runpytest_subprocess("-p", "replaced", "-Werror")
    result.assert_outcomes(passed=len(REPLACED))


def test_a_run_that_never_imports_llm_loads_neither_the_mock_nor_a_boundary(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import sys

        LOADED = "llm", "llm_mock.core.mock", "llm_mock.boundaries.llm.get_model", "llm_mock.support.schemas"

        def test_it():
            assert not [name for name in LOADED if name in sys.modules]

        def test_another_that_fails():
            assert LOADED[0] in sys.modules
        """  # noqa: E501
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1, failed=1)
