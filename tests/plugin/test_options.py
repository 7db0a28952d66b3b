"""Opting out, letting through, real calls, and what the header says."""

from __future__ import annotations

import re

import pytest

FAKES = """
    import llm

    class Fake(llm.Model):
        def __init__(self, model_id):
            self.model_id = model_id

        def execute(self, prompt, stream, response, conversation):
            yield f"{self.model_id} ran"

    class Plugin:
        __name__ = "fakes"

        @llm.hookimpl
        def register_models(self, register):
            for name in ("own-fake", "own-other", "foreign-fake"):
                register(Fake(name), aliases=[f"alias-of-{name}"])

    llm.pm.register(Plugin(), name="fakes")

    def pytest_unconfigure():
        llm.pm.unregister(name="fakes")

    EARLY = {name: llm.get_model(name) for name in ("own-fake", "foreign-fake")}
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a project whose conftest registers models of its own."""
    pytester.makeconftest(FAKES)
    return pytester


def test_the_header_says_that_models_are_mocked(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(["llm-mock: LLM calls are mocked"])
    result.stdout.no_fnmatch_line("*plugin of llm*")


def test_a_project_opts_out(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nllm_mock = false")
    project.makepyfile(
        """
        import os, subprocess, sys
        import llm, pytest
        from conftest import EARLY

        def test_real():
            assert type(EARLY["own-fake"]).__name__ == "Fake"
            assert llm.get_model("own-fake").prompt("").text() == "own-fake ran"
            with pytest.raises(llm.UnknownModelError):
                llm.get_model("nobody/knows")

        def test_real_in_a_subprocess():
            code = "import llm; print(type(llm.get_model('gpt-4o-mini')).__name__)"
            assert subprocess.check_output([sys.executable, "-c", code], text=True) == "Chat\\n"

        def test_mocked_on_request(mock_llm_responses):
            mock_llm_responses.set("own-fake", "mocked")
            assert llm.get_model("own-fake").prompt("").text() == EARLY["own-fake"].prompt("").text() == "mocked"

        def test_real_again():
            assert EARLY["own-fake"].prompt("").text() == "own-fake ran"
        """  # noqa: E501
    )
    result = project.runpytest()
    result.assert_outcomes(passed=4)
    result.stdout.no_fnmatch_line("llm-mock:*")


def test_opting_out_wins_over_the_environment(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PFLOW_TESTING", "1")
    project.makeini("[pytest]\nllm_mock = false")
    project.makepyfile(
        "import llm\ndef test_it(): assert llm.get_model('own-fake').prompt('').text() == "
        "'own-fake ran'"
    )
    project.runpytest().assert_outcomes(passed=1)


def test_named_models_run_for_real(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nllm_mock_passthrough =\n    own-*\n    another")
    project.makepyfile(
        """
        import llm
        from conftest import EARLY, Fake

        def test_it(mock_llm_calls):
            for model in (llm.get_model("own-fake"), llm.get_model("alias-of-own-fake"), EARLY["own-fake"],
                          Fake("own-by-hand"), [m for m in llm.get_models() if m.model_id == "own-fake"][0]):
                assert model.prompt("").text() == f"{model.model_id} ran"
                assert model.conversation().prompt("").text() == f"{model.model_id} ran"
            assert mock_llm_calls.calls == []
            for model in (llm.get_model("foreign-fake"), llm.get_model("alias-of-foreign-fake"), EARLY["foreign-fake"],
                          Fake("foreign-by-hand")):
                assert model.prompt("").text() == '{"success": true}'
            assert len(mock_llm_calls.calls) == 4
        """  # noqa: E501
    )
    result = project.runpytest()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["llm-mock: LLM calls are mocked, except own-*, another"])


LIVE = """
    import os
    import llm, pytest
    from conftest import EARLY

    @pytest.mark.llm_live
    def test_live(mock_llm_calls):
        assert llm.get_model("own-fake").prompt("").text() == "own-fake ran"
        assert EARLY["own-fake"].prompt("").text() == "own-fake ran"
        assert EARLY["own-fake"].conversation().prompt("").text() == "own-fake ran"
        assert os.environ["LLM_USER_PATH"].endswith("of-the-user")
        assert os.environ["PFLOW_TESTING"] == "0"
        assert mock_llm_calls.calls == []

    def test_mocked():
        assert EARLY["own-fake"].prompt("").text() == '{"success": true}'
        assert not os.environ["LLM_USER_PATH"].endswith("of-the-user")
        assert os.environ["PFLOW_TESTING"] == "1"
"""


def test_a_live_test_is_skipped_unless_asked_for(project: pytest.Pytester) -> None:
    project.makepyfile(LIVE)
    result = project.runpytest("-rs", "--strict-markers")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["SKIPPED*llm_live: this test calls a real model; run it with --llm-mock-live"]
    )


def test_a_live_test_has_real_models_and_the_others_have_not(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_USER_PATH", str(project.path / "of-the-user"))
    monkeypatch.delenv("PFLOW_TESTING")
    project.makepyfile(LIVE)
    result = project.runpytest("--llm-mock-live")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["llm-mock: LLM calls are mocked, except tests marked llm_live"])


def test_a_lazy_project_decides_when_the_response_is_read(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_production_responses = true")
    pytester.makepyfile(
        """
        import llm, pytest
        EARLY = llm.get_model("m")

        def test_it(mock_llm_responses):
            mock_llm_responses.set_error("m", ConnectionError("down"))
            for model in (EARLY, llm.get_model("m")):
                response = model.prompt("Hello")
                with pytest.raises(ConnectionError):
                    response.text()
                with pytest.raises(ConnectionError):
                    model.prompt("Hello", lazy=False)
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_an_ini_value_that_is_neither_true_nor_false_is_one_clear_error(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nllm_mock_production_responses = maybe")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in result.errlines if line]
    assert lines == [
        "ERROR: tox.ini:2: ini llm_mock_production_responses = 'maybe' is not supported: write "
        "true or false (also yes/no, on/off, 1/0)."
    ]


STRICT_KEYS = """
    import llm, pytest

    NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}

    def test_strict():
        llm.get_model("gpt-4o").prompt("Hi").text()

    @pytest.mark.filterwarnings("ignore::llm_mock.SchemaViolationWarning")
    def test_schema_check(mock_llm_responses):
        mock_llm_responses.set("gpt-4o", {"n": "one"})
        llm.get_model("gpt-4o").prompt("Hi", schema=NUMBER).text()

    def test_response_json(mock_llm_responses):
        mock_llm_responses.set("gpt-4o", {"n": 1})
        assert llm.get_model("gpt-4o").prompt("Hi").json() == {"n": 1}

    def test_lazy(mock_llm_responses):
        mock_llm_responses.set_error("gpt-4o", ConnectionError("down"))
        with pytest.raises(ConnectionError):
            llm.get_model("gpt-4o").prompt("Hi")
"""
"""Tests that pass unless the key of their name has its strict value."""
ALL_KEYS = {"strict", "schema_check", "response_json", "lazy"}


def find_strict_keys(pytester: pytest.Pytester, *options: str) -> set[str]:
    """Return the keys of `STRICT_KEYS` that have their strict value in a run."""
    pytester.makepyfile(STRICT_KEYS)
    reports = pytester.inline_run(*options).getfailures()
    return {report.nodeid.partition("::test_")[2] for report in reports}


needs_pytest_9 = pytest.mark.skipif(
    pytest.version_tuple < (9,), reason="the table [tool.pytest] came with pytest 9"
)


@pytest.mark.parametrize(
    ("file", "text", "options", "expected"),
    [
        ("pytest.ini", "[pytest]", (), set()),
        ("pytest.ini", "[pytest]\nllm_mock = true", (), set()),
        ("pytest.ini", "[pytest]\nllm_mock = strict", (), ALL_KEYS),
        ("pytest.ini", "[pytest]", ("-o", "llm_mock=Strict"), ALL_KEYS),
        ("pytest.ini", "[pytest]\nllm_mock = strict", ("-o", "llm_mock=true"), set()),
        ("pyproject.toml", "[tool.pytest.ini_options]\nllm_mock = 'strict'", (), ALL_KEYS),
        pytest.param(
            "pyproject.toml",
            "[tool.pytest]\nllm_mock = 'strict'",
            (),
            ALL_KEYS,
            marks=needs_pytest_9,
        ),
    ],
)
def test_one_line_sets_all_recommended_settings(
    pytester: pytest.Pytester, file: str, text: str, options: tuple[str, ...], expected: set[str]
) -> None:
    (pytester.path / file).write_text(text)
    assert find_strict_keys(pytester, *options) == expected


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("strict", "warn"),
        ("production_responses", "false"),
    ],
)
@pytest.mark.parametrize("source", ["ini", "option", pytest.param("toml", marks=needs_pytest_9)])
def test_a_key_that_is_set_by_itself_goes_before_the_recommended_value(
    pytester: pytest.Pytester, key: str, value: str, source: str
) -> None:
    effects = {"strict", "schema_check"} if key == "strict" else {"response_json", "lazy"}
    line = f"llm_mock_{key} = {value}"
    options = ["-o", line.replace(" ", "")] if source == "option" else []
    if source == "toml":
        quoted = value if value == "false" else f"'{value}'"
        pytester.makepyprojecttoml(f"[tool.pytest]\nllm_mock = 'strict'\nllm_mock_{key} = {quoted}")
    else:
        lines = ["[pytest]", "llm_mock = strict", line if source == "ini" else ""]
        pytester.makeini("\n".join(lines))
    assert find_strict_keys(pytester, *options) == ALL_KEYS - effects


def test_a_recommended_value_can_be_set_without_the_others(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_production_responses = yes")
    assert find_strict_keys(pytester) == {"lazy", "response_json"}


@pytest.mark.parametrize(
    ("words", "is_mocked"),
    [
        (("true", "True", "yes", "y", "t", "on", "1", " STRICT "), True),
        (("false", "FALSE", "no", "n", "f", "off", "0"), False),
    ],
)
def test_true_and_false_have_the_words_that_pytest_knows(
    pytester: pytest.Pytester, words: tuple[str, ...], is_mocked: bool
) -> None:
    for word in words:
        result = pytester.runpytest("-o", f"llm_mock={word}")
        assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED, word
        assert ("llm-mock: LLM calls are mocked" in result.outlines) is is_mocked, word


@needs_pytest_9
@pytest.mark.parametrize(("value", "is_mocked"), [("true", True), ("false", False)])
def test_the_types_of_toml_are_understood_without_a_warning(
    pytester: pytest.Pytester, value: str, is_mocked: bool
) -> None:
    pytester.makepyprojecttoml(f"[tool.pytest]\nllm_mock = {value}")
    result = pytester.runpytest("-W", "error")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert ("llm-mock: LLM calls are mocked" in result.outlines) is is_mocked


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("maybe", "'maybe' is not supported."),
        ("stict", "'stict' is not supported; did you mean 'strict'?"),
        ("", "'' is not supported."),
    ],
)
def test_another_value_of_llm_mock_is_one_clear_error(
    pytester: pytest.Pytester, value: str, problem: str
) -> None:
    result = pytester.runpytest("-o", f"llm_mock={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in result.errlines if line]
    assert lines == [f"ERROR: ini llm_mock = {problem} Write true, false or strict."]


def test_a_legacy_module_without_a_text_is_one_clear_error(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_legacy_modules = myapp.planner")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: ini llm_mock_legacy_modules: 'myapp.planner' must be module=Text*"]
    )


def test_the_plugin_lives_beside_others_with_their_own_options(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        other_plugin="""
        def pytest_addoption(parser):
            for option in ("record", "strict", "report", "model"):
                parser.addoption(f"--llm-{option}")
        """
    )
    pytester.syspathinsert()
    assert pytester.runpytest("-p", "other_plugin", "--help").ret == 0


def test_markers_options_and_fixtures_are_documented(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--markers").stdout.fnmatch_lines(["@pytest.mark.llm_live: *"])
    pytester.runpytest("--help").stdout.fnmatch_lines(
        ["*--llm-mock-live*", "*llm_mock (string):*", "*llm_mock_passthrough*"]
    )
    pytester.makepyfile("def test_it(): ...")
    output = pytester.runpytest("--fixtures").stdout
    output.fnmatch_lines_random(["mock_llm_calls*", "mock_llm_responses*", "debug_llm*"])


@pytest.mark.parametrize(
    ("table", "option", "is_told"),
    [
        ("[project.entry-points.llm]", "llm_mock_production_responses=no", True),
        ('[project.entry-points."llm"]', "llm_mock_production_responses=no", True),
        ("[project.entry-points.llm]", "llm_mock_passthrough=*", False),
        ("[project.entry-points.llm]", "llm_mock=no", False),
        ("[project.entry-points.llm_other]", "llm_mock_production_responses=no", False),
    ],
)
def test_the_header_tells_a_plugin_of_llm_what_it_needs(
    pytester: pytest.Pytester, table: str, option: str, is_told: bool
) -> None:
    pytester.makepyprojecttoml(f'[project]\nname = "é"\n{table}\nmine = "mine"\n')
    result = pytester.runpytest("-o", option)
    line = (
        "llm-mock: this project is a plugin of llm; ini llm_mock_passthrough = * runs its own "
        "models (llm-mock docs plugins)"
    )
    assert (line in result.outlines) is is_told


def test_each_option_says_what_it_does(pytester: pytest.Pytester) -> None:
    shown = pytester.runpytest_inprocess("--help").stdout.str()
    start = r"^ +(--llm-mock-[a-z-]+)(?:=\S+)?"
    options = re.findall(start, shown, re.MULTILINE)
    explained = re.findall(start + r"(?: {2,}|\n {12,})[A-Z]", shown, re.MULTILINE)
    assert len(options) >= 9
    assert explained == options
