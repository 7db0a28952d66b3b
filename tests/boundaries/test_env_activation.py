"""`PFLOW_TESTING` applies the mock to a process that never imports `llm_mock`."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from llm_mock.boundaries.env_activation import is_requested
from tests.conftest import RunPython


def test_the_variable_mocks_a_process_and_gives_it_an_llm_user_folder_of_its_own(
    run_python: RunPython, tmp_path: Path
) -> None:
    code = """
import llm
from llm import get_model
for name in ("gpt-4o-mini", "4o-mini", "nobody/knows"):
    assert llm.get_model(name) is get_model(name)
    print(llm.get_model(name).prompt("hi").json())
print(llm.get_model().prompt("hi").json())
print(llm.user_dir())
"""
    result = run_python(code, PFLOW_TESTING="1", LLM_USER_PATH=None, HOME=str(tmp_path))
    *answers, printed = result.stdout.splitlines()
    assert (answers, result.stderr) == (["{'success': True}"] * 4, "")
    folder = Path(printed)
    assert folder.name.startswith("llm-mock-")
    assert not folder.exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("variable", ["LLM_MOCK", "PFLOW_TESTING"])
def test_either_variable_mocks_llm_and_sdks_and_says_so_once(
    run_python: RunPython, variable: str
) -> None:
    code = """
import httpx, llm
print(llm.get_model("m").prompt("hi").text())
body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
print(httpx.post("https://api.openai.com/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"])
"""  # noqa: E501
    variables = {"LLM_MOCK": None, "PFLOW_TESTING": None, variable: "yes"}
    result = run_python(code, PYTEST_CURRENT_TEST=None, **variables)
    assert result.stdout == '{"success": true}\n' * 2
    said = f"llm-mock: {variable}=yes is set, so models are mocked in this process: no provider is called.\n"  # noqa: E501
    logged = "INFO: HTTP Request: "  # where a plugin of llm that turns logging on is loaded
    assert (
        "".join(line for line in result.stderr.splitlines(True) if not line.startswith(logged))
        == said
    )


def test_a_process_that_asks_nothing_says_nothing_and_uses_a_named_user_folder(
    run_python: RunPython, tmp_path: Path
) -> None:
    folder = str(tmp_path / "mine")
    code = "import llm; print(llm.user_dir())"
    result = run_python(code, LLM_MOCK="1", PYTEST_CURRENT_TEST=None, LLM_USER_PATH=folder)
    assert (result.stdout, result.stderr) == (f"{folder}\n", "")


@pytest.mark.parametrize("value", [None, "off"])
def test_without_the_variable_nothing_is_touched(run_python: RunPython, value: str | None) -> None:
    code = """
import os, sys
is_set = "PFLOW_TESTING" in os.environ
finders = [finder for finder in sys.meta_path if "llm" in repr(finder).lower()]
loaded = [name for name in sys.modules if name.startswith("llm_mock.")]
import llm
print(finders, hasattr(llm.get_model_aliases, "__wrapped__"))
# Once is enough, as to get a model imports the SDK of OpenAI.
print("Chat" if is_set else type(llm.get_model("gpt-4o-mini")).__name__)
print([] if is_set else loaded)
"""
    assert run_python(code, PFLOW_TESTING=value).stdout == "[] False\nChat\n[]\n"


@pytest.mark.parametrize("value", [None, "", " ", "0", "false", "False", "no", "No", "off", "OFF"])
def test_some_values_do_not_ask_for_the_mock(value: str | None) -> None:
    assert not is_requested({} if value is None else {"PFLOW_TESTING": value})
    assert not is_requested({} if value is None else {"LLM_MOCK": value})


@pytest.mark.parametrize("value", ["1", "true", "YES", "anything"])
def test_any_other_value_asks_for_the_mock(value: str) -> None:
    assert is_requested({"PFLOW_TESTING": value})
    assert not is_requested({"LLM_MOCK": value, "PFLOW_TESTING": "0"})
    assert not is_requested({"LLM_MOCK": "off", "PFLOW_TESTING": value})


@pytest.mark.parametrize("value", ["1", "true", "YES", " on "])
def test_yes_in_our_own_variable_asks_for_the_mock(value: str) -> None:
    assert is_requested({"LLM_MOCK": value, "PFLOW_TESTING": ""})


@pytest.mark.parametrize("value", ["http://localhost:8080", "anything", "2", "none"])
def test_another_value_of_our_own_variable_is_warned_of_and_does_nothing(
    value: str, run_python: RunPython
) -> None:
    assert not is_requested({"LLM_MOCK": value})
    assert is_requested({"LLM_MOCK": value, "PFLOW_TESTING": "1"})
    code = "import sys; print([each for each in sys.meta_path if 'llm' in repr(each).lower()])"
    result = run_python(code, LLM_MOCK=value, PFLOW_TESTING=None)
    assert result.stdout == "[]\n"
    assert result.stderr == (
        f"llm-mock: LLM_MOCK={value!r} is ignored: set it to 1, true, yes or on to mock the models "
        "of every Python "
        "process, or to 0 to mock none.\n"
    )


def test_starting_python_imports_no_llm(run_python: RunPython) -> None:
    result = run_python(
        "import sys; print({'llm', 'pydantic', 'pytest'} & set(sys.modules))", PFLOW_TESTING="1"
    )
    assert result.stdout == "set()\n"


def test_other_ways_to_find_and_reload_llm_still_work(run_python: RunPython) -> None:
    code = """
import importlib, importlib.util, llm
spec = importlib.util.find_spec("llm")
assert spec.origin == llm.__file__, spec
again = importlib.reload(llm)
print(again.get_model("m").prompt("hi").json(), llm.get_model("m").conversation().prompt("hi").text())
"""  # noqa: E501
    result = run_python(code, PFLOW_TESTING="1")
    assert (result.stdout, result.stderr) == ("{'success': True} {\"success\": true}\n", "")


def test_an_environment_without_llm_starts(run_python: RunPython) -> None:
    code = """
import sys
sys.path = [entry for entry in sys.path if "site-packages" not in entry]
try:
    import llm
except ImportError as error:
    print(error)
"""
    assert run_python(code, PFLOW_TESTING="1").stdout == "No module named 'llm'\n"


def test_a_process_that_skips_the_pth_files_is_mocked_once_they_are_read() -> None:
    """The environment is empty but for the variable."""
    code = """
import site, sys
site.addsitedir(sys.argv[1])
import llm
print(llm.get_model("gpt-4o-mini").prompt("hi").text())
"""
    command = [sys.executable, "-S", "-c", code, sysconfig.get_paths()["purelib"]]
    answer = subprocess.check_output(command, env={"PFLOW_TESTING": "1"}, text=True, timeout=60)
    assert answer == '{"success": true}\n'
