"""A project may have names unknown that neither a plugin nor a test knows."""

from __future__ import annotations

import pytest

REFUSE = "[pytest]\nllm_mock_strict = error"


def test_a_name_that_nobody_knows_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makeini(REFUSE)
    pytester.makepyfile(
        """
        import subprocess, sys
        import llm, pytest
        from click.testing import CliRunner
        from llm import get_model
        from llm.cli import cli

        GETTERS = [get_model, llm.get_async_model, llm.get_embedding_model]

        @pytest.mark.parametrize("get_model", GETTERS)
        def test_refused(get_model):
            with pytest.raises(llm.UnknownModelError, match="Unknown model: gpt-4o-mnii"):
                get_model("gpt-4o-mnii")

        def test_refused_on_the_command_line():
            result = CliRunner().invoke(cli, ["prompt", "Hi", "-m", "gpt-4o-mnii"])
            assert "Unknown model: gpt-4o-mnii" in result.output

        def test_refused_in_another_process(mock_llm_responses):
            mock_llm_responses.set("our/model", "Hello")
            ask = "import llm, sys; print(llm.get_model(sys.argv[1]).prompt('Hi').text())"
            env = mock_llm_responses.environment()
            for name, said in ("our/model", "Hello"), ("gpt-4o-mnii", "Unknown model"):
                done = subprocess.run([sys.executable, "-c", ask, name], env=env, capture_output=True, text=True)
                assert said in done.stdout + done.stderr

        @pytest.mark.parametrize("name", ["gpt-4o-mini", "4.1", "3-small"])
        def test_known_by_a_plugin(name):
            (llm.get_embedding_model if name == "3-small" else llm.get_model)(name)

        """  # noqa: E501
    )
    pytester.runpytest().assert_outcomes(passed=8)


@pytest.mark.parametrize(
    "naming",
    [
        *(
            "set('own', 'Hello')",
            "set('o?n*', 'Hello')",
            "add('own', 'Hello', optional=True)",
            "set_error('own', ValueError)",
        ),
        *(
            "set_latency('own', None)",
            "set_price('own', 1, 2)",
            "set_embedding('own', 'Hello', [1.0])",
            "get_model('own')",
            "get_embedding_model('own')",
        ),
    ],
)
def test_a_name_that_the_test_names_is_known(pytester: pytest.Pytester, naming: str) -> None:
    pytester.makeini(REFUSE)
    pytester.makepyfile(
        f"""
        import llm, pytest

        @pytest.mark.parametrize("get_model", [llm.get_model, llm.get_async_model, llm.get_embedding_model])
        def test_named(get_model, mock_llm_responses):
            mock_llm_responses.{naming}
            assert get_model("own").model_id == "own"

        def test_not_named_here(mock_llm_responses):
            mock_llm_responses.set("*", "anything")
            with pytest.raises(llm.UnknownModelError):
                llm.get_model("own")
        """  # noqa: E501
    )
    pytester.runpytest().assert_outcomes(passed=4)


def test_a_name_that_the_project_names_is_known(pytester: pytest.Pytester) -> None:
    pytester.makeini(REFUSE)
    pytester.makeconftest("def pytest_llm_mock_configure(mock): mock.set('own', 'Hello')")
    pytester.makepyfile(
        """
        import llm

        def test_it():
            assert llm.get_model("own").prompt("Hi").text() == "Hello"
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ("[pytest]\nllm_mock_strict = error", "llm_mock_strict = error"),
        ("[pytest]\nllm_mock = strict", "llm_mock = strict"),
        ("[pytest]\nllm_mock = strict\nllm_mock_strict = error", "llm_mock_strict = error"),
        ("[tool.pytest.ini_options]\nllm_mock = 'strict'", 'llm_mock = "strict"'),
    ],
)
def test_the_message_has_the_nearest_name_and_says_what_to_do(
    pytester: pytest.Pytester, settings: str, named: str
) -> None:
    file = "pyproject.toml" if "tool" in settings else "pytest.ini"
    (pytester.path / file).write_text(settings)
    pytester.makepyfile(
        """
        import llm

        def test_it(mock_llm_responses):
            mock_llm_responses.set("*", "anything")
            llm.get_model("gpt-4o-mnii")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*Unknown model: gpt-4o-mnii; did you mean *gpt-4o-mini*? No installed plugin of llm*"]
    )
    advice = "Correct the name, install the plugin, or set() a reply for this name. "
    assert (
        f"registers it, and the test configures no reply for it (ini {named}). {advice}"
        "A reply for * does not count."
    ) in result.stdout.str()


def test_a_strict_run_says_where_to_name_a_model_of_a_module(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm

        MODEL = llm.get_model("my-model")

        def test_it(mock_llm_responses):
            mock_llm_responses.set("my-model", "Hi")
            assert MODEL.prompt("Hello").text() == "Hi"
        """
    )
    result = pytester.runpytest("-o", "llm_mock=strict")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*was obtained while a file was imported or in a fixture of a *"])
    pytester.makeconftest("def pytest_llm_mock_configure(mock): mock.set('my-model', 'Bye')")
    pytester.runpytest("-o", "llm_mock=strict").assert_outcomes(passed=1)


@pytest.mark.parametrize("settings", ["", "llm_mock_strict = warn", "llm_mock_strict = off"])
def test_any_name_is_a_model_below_that_level(pytester: pytest.Pytester, settings: str) -> None:
    pytester.makeini(f"[pytest]\n{settings}")
    pytester.makepyfile(
        """
        import llm, pytest

        def test_unknown_name():
            assert llm.get_model("gpt-4o-mnii").prompt("Hi").text()

        def test_real_model():
            class Own(llm.Model):
                model_id = "own"
                def execute(self, prompt, stream, response, conversation):
                    raise AssertionError("executed")
            assert Own().prompt("Hi").text()
        """
    )
    pytester.runpytest().assert_outcomes(passed=2)


def test_the_marker_is_about_replies_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm, pytest

        @pytest.mark.llm_mock_strict
        def test_it(mock_llm_responses):
            mock_llm_responses.set("*", "Hello")
            assert llm.get_model("gpt-4o-mnii").prompt("Hi").text() == "Hello"
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)
