"""The mistakes in the ini keys of a project are shown all at once, with file and line."""

from __future__ import annotations

import pytest

INI = """
[pytest]
llm_mock_autospec = maybe
llm_mock_disabled_rules = json-wrd
llm_mock_generate=maybe
llm_mock_http = x
llm_mock_prices =
    gpt-4o = x
llm_mock_processes = maybe
llm_mock_production_responses = maybe
llm_mock_record = onec
llm_mock_strict = x
llm_mok_hosts = localhost
llm_mock_budget = costs=1
llm_mock_hosts = localhost:11434 http://models.test:80/v1
"""
BOOLEAN = "= 'maybe' is not supported: write true or false (also yes/no, on/off, 1/0)."
PROBLEMS = [
    "13: Unknown ini key llm_mok_hosts; did you mean 'llm_mock_hosts'? The command `pytest --help` "
    "lists the keys.",
    f"3: ini llm_mock_autospec {BOOLEAN}",
    "14: Invalid limit in ini llm_mock_budget: 'costs=1'. Write cost=DOLLARS, tokens=NUMBER, or "
    "both with a space between them.",
    "4: ini llm_mock_disabled_rules: Unknown rule 'json-wrd'; did you mean 'json-word'?",
    f"5: ini llm_mock_generate {BOOLEAN}",
    "15: 'http://models.test:80/v1' in ini llm_mock_hosts is not a host; did you mean "
    "'models.test:80'? Write hosts such as models.example.com, localhost:11434 or "
    "!app.example.com, without a scheme, a path or wildcards.",
    "6: ini llm_mock_http = 'x' is not supported. Write answer, error or off.",
    "7: Invalid line in ini llm_mock_prices: 'gpt-4o = x'. Write MODEL = INPUT OUTPUT, such as "
    "my-model = 0.15 0.60: an id or a glob of ids, and US dollars per million input and output "
    "tokens.",
    f"9: ini llm_mock_processes {BOOLEAN}",
    f"10: ini llm_mock_production_responses {BOOLEAN}",
    "11: ini llm_mock_record = 'onec' is not supported; did you mean 'once'? Write none, once, "
    "new_episodes, all or rewrite.",
    "12: ini llm_mock_strict = 'x' is not supported. Write off, warn or error.",
]


def read_errors(pytester: pytest.Pytester, *options: str) -> list[str]:
    """Return the lines of the error of a run."""
    result = pytester.runpytest(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    return [line for line in result.errlines if line]


def test_all_mistakes_are_shown_with_file_and_line(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("pytest.ini").write_text(INI)
    lines = [f"pytest.ini:{problem}" for problem in PROBLEMS]
    assert read_errors(pytester) == [f"ERROR: {lines[0]}", *lines[1:]]


def test_a_wrong_mode_is_shown_once(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\n\n  llm_mock = 'x'\n")
    assert read_errors(pytester) == [
        "ERROR: pyproject.toml:3: ini llm_mock = 'x' is not supported. Write true, false or strict."
    ]


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("tox.ini", "[pytest]\nllm_mock: x", "tox.ini:2: "),
        ("tox.ini", "[pytest]\nllm_mock =\n  x", "tox.ini:2: "),
        ("pyproject.toml", "[tool.pytest.ini_options]\n\"llm_mock\" = 'x'", "pyproject.toml:2: "),
        ("pyproject.toml", "[tool.pytest.ini_options]\n'llm_mock'='x'", "pyproject.toml:2: "),
        ("pyproject.toml", "[tool.pytest]\nini_options = {llm_mock = 'x'}", ""),
    ],
)
def test_a_key_is_found_however_it_is_written_unless_another_precedes_it_in_its_line(
    name: str, text: str, place: str, pytester: pytest.Pytester
) -> None:
    pytester.path.joinpath(name).write_text(text)
    assert read_errors(pytester) == [
        f"ERROR: {place}ini llm_mock = 'x' is not supported. Write true, false or strict."
    ]


def test_an_option_has_no_line(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_http = off\nllm_mock_record = x")
    assert read_errors(pytester, "-o", "llm_mock_http=y") == [
        "ERROR: ini llm_mock_http = 'y' is not supported. Write answer, error or off.",
        "tox.ini:3: ini llm_mock_record = 'x' is not supported. Write none, once, new_episodes, "
        "all or rewrite.",
    ]
    pytester.path.joinpath("tox.ini").unlink()
    assert read_errors(pytester, "-o", "llm_mock_http=y") == [
        "ERROR: ini llm_mock_http = 'y' is not supported. Write answer, error or off."
    ]


def test_a_key_that_a_conftest_registers_is_not_unknown(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "def pytest_addoption(parser): parser.addini('llm_mock_zzzzzzzzzzzzzzzz', '')"
    )
    pytester.makeini("[pytest]\nllm_mock_zzzzzzzzzzzzzzzz = 1\nllm_mock_strict = x")
    assert read_errors(pytester) == [
        "ERROR: tox.ini:3: ini llm_mock_strict = 'x' is not supported. Write off, warn or error."
    ]


def test_unknown_keys_and_the_record_mode_are_shown_together(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_zzzzzzzzzzzzzzzz = 1\nllm_mock_record = x")
    assert read_errors(pytester) == [
        "ERROR: tox.ini:2: Unknown ini key llm_mock_zzzzzzzzzzzzzzzz. The command `pytest --help` "
        "lists the keys.",
        "tox.ini:3: ini llm_mock_record = 'x' is not supported. Write none, once, new_episodes, "
        "all or rewrite.",
    ]


def test_a_wrong_budget_alone_has_its_line(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_budget = cost=x")
    [line] = read_errors(pytester)
    assert line.startswith("ERROR: tox.ini:2: ")


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("*.example.com", ""),
        ("models.example.com/v1", ""),
        ("a,b", ""),
        ("!!example.com", ""),
        ("localhost:port", ""),
        ("https://models.example.com", "; did you mean 'models.example.com'?"),
    ],
)
def test_what_is_no_host_would_never_match_and_is_refused(
    pytester: pytest.Pytester, entry: str, hint: str
) -> None:
    pytester.makeini(f"[pytest]\nllm_mock_hosts = {entry}")
    [line] = read_errors(pytester)
    start = f"ERROR: tox.ini:2: {entry!r} in ini llm_mock_hosts is not a host{hint or '.'} Write"
    assert line.startswith(start)


def test_hosts_are_compared_in_lower_case(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_hosts = Models.Example.COM. [::1]:8000 !App.test:80")
    pytester.makepyfile(
        """
        from llm_mock.boundaries.http.settings import http_settings

        def test_it():
            assert http_settings.hosts == ("models.example.com", "[::1]:8000", "!app.test:80")
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)
