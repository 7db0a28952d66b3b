"""Processes start with any environment that Python accepts, mocked where it asks."""

from __future__ import annotations

import multiprocessing.util
import os
import subprocess
import sys
from collections import UserDict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from llm_mock import LLMMock, ResponseConfigurator

ASK = """
import urllib3

messages = [{"role": "user", "content": "Hi"}]
url = "https://api.openai.com/v1/chat/completions"
answer = urllib3.request("POST", url, json={"model": "m", "messages": messages}).json()
print(answer["choices"][0]["message"]["content"])
"""
"""A call by a library that is imported faster than `llm` and the SDKs."""
ASK_BY_LLM = "import llm; print(llm.get_model('m').prompt('Hi').text())"
TRUE = "/bin/true"
posix = pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="POSIX only")
pytestmark = posix


def _wait(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _spawnv_passfds() -> int:
    return _wait(multiprocessing.util.spawnv_passfds(TRUE.encode(), [b"true"], ()))


def _posix_spawn(function: str, *env: Any) -> int:
    return _wait(getattr(os, function)(TRUE, ["true"], *env))


NONE_IN_SPAWN = [None] if sys.version_info >= (3, 13) else []
WAYS: dict[str, Callable[[], int]] = {
    "run": lambda: subprocess.run([TRUE]).returncode,
    "run without closing": lambda: subprocess.run([TRUE], close_fds=False).returncode,
    "run with None": lambda: subprocess.run([TRUE], env=None).returncode,
    "run with nothing": lambda: subprocess.run([TRUE], env={}).returncode,
    "Popen by position": lambda: subprocess.Popen(
        [TRUE], -1, None, None, None, None, None, True, False, None, None
    ).wait(),
    "system": lambda: os.system(TRUE),
    "spawnv": lambda: os.spawnv(os.P_WAIT, TRUE, ["true"]),
    "spawnve": lambda: os.spawnve(os.P_WAIT, TRUE, ["true"], {}),
    "multiprocessing": _spawnv_passfds,
    **{
        f"{function} with {env}": lambda function=function, env=env: _posix_spawn(function, env)
        for function in ("posix_spawn", "posix_spawnp")
        for env in ({}, *NONE_IN_SPAWN)
    },
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("variables", ["none", "those of the run"])
def test_a_process_starts_in_any_way(
    way: str, variables: str, mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variables == "none":
        for name in list(os.environ):
            monkeypatch.delenv(name)
    before = dict(os.environ)
    assert WAYS[way]() == 0
    assert dict(os.environ) == before


class Shouting(UserDict[str, str]):
    """A mapping of the project that is no `dict`."""


def _bytes(variables: Mapping[str, str]) -> dict[bytes, bytes]:
    return {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}


@pytest.mark.parametrize(
    ("code", "made"),
    [
        (ASK_BY_LLM, dict),
        (ASK, dict),
        (ASK, _bytes),
        (ASK, Shouting),
        (ASK, MappingProxyType),
        (ASK, lambda _: os.environ),
        (ASK, lambda _: os.environb),
        (ASK, lambda _: None),
    ],
    ids=["llm", "dict", "bytes", "UserDict", "proxy", "environ", "environb", "None"],
)
def test_the_mock_is_handed_over_in_any_environment(
    code: str,
    made: Callable[[dict[str, str]], Any],
    mock_llm_responses: ResponseConfigurator,
    mock_llm_calls: LLMMock,
) -> None:
    mock_llm_responses.add("m", "Hello!")
    output = subprocess.check_output(
        [sys.executable, "-c", code], env=made(dict(os.environ)), text=True
    )
    assert output == "Hello!\n"
    assert len(mock_llm_calls.calls) == 1


@pytest.mark.parametrize("function", ["posix_spawn", "posix_spawnp", "spawnve"])
@pytest.mark.parametrize(
    "made", [dict, _bytes, lambda _: os.environb], ids=["dict", "bytes", "environb"]
)
def test_the_mock_is_handed_over_by_functions_of_os(
    function: str,
    made: Callable[[dict[str, str]], Any],
    mock_llm_responses: ResponseConfigurator,
    mock_llm_calls: LLMMock,
) -> None:
    mock_llm_responses.add("m", "Hello!")
    arguments = [sys.executable, "-c", ASK]
    environment = made(dict(os.environ))
    if function == "spawnve":
        assert os.spawnve(os.P_WAIT, sys.executable, arguments, environment) == 0
    else:
        assert _wait(getattr(os, function)(sys.executable, arguments, environment)) == 0
    assert len(mock_llm_calls.calls) == 1


@pytest.mark.parametrize(
    "value", [Path("/tmp"), b"/tmp", "caf\udce9"], ids=["path", "bytes", "surrogate"]
)
def test_values_reach_the_process_as_without_the_mock(value: Any, mock_llm_calls: LLMMock) -> None:
    code = "import os; print(os.environb[b'VALUE'])"
    environment = {**os.environ, "VALUE": value}
    output = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    assert output == f"{os.fsencode(value)!r}\n"


@pytest.mark.parametrize("wrong", [{"A": 1}, {1: "a"}, [("A", "b")], 5], ids=repr)
def test_a_wrong_environment_is_refused_by_python_itself(
    wrong: Any, mock_llm_calls: LLMMock
) -> None:
    with pytest.raises((TypeError, AttributeError)) as caught:
        subprocess.run([TRUE], env=wrong)
    assert all(entry.name != "_decode_environment" for entry in caught.traceback)


@pytest.mark.parametrize("wrong", [[], [None], 5], ids=repr)
def test_a_wrong_command_is_refused_by_python_itself(wrong: Any, mock_llm_calls: LLMMock) -> None:
    with pytest.raises((TypeError, IndexError)) as caught:
        subprocess.run(wrong, env={})
    assert all(entry.name != "_is_python" for entry in caught.traceback)
