"""Runs that are to record: calls that no cassette holds, empty cassettes, and the exit code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.boundaries.http.test_local_servers import foreign_server as foreign_server
from tests.boundaries.http.test_local_servers import run
from tests.provider_server import KEY, TEXT, ProviderServer, served

ASK = f"""
import pytest

def ask(url, text="Hello"):
    import openai  # which takes most of the time of a test that asks nothing

    messages = [{{"role": "user", "content": text}}]
    with openai.OpenAI(base_url=url, api_key="{KEY}", max_retries=0) as client:
        answer = client.chat.completions.create(model="gpt-4o", messages=messages)
    return answer.choices[0].message.content

def post(url):
    # In other processes, importing the SDK would take most of the time.
    import urllib3

    messages = [{{"role": "user", "content": "Hello"}}]
    body = {{"model": "gpt-4o", "messages": messages}}
    answer = urllib3.request("POST", url + "/chat/completions", json=body)
    assert answer.status == 200, answer.data
"""
HEADER = "from asking import *\n"
NOTHING = "--llm-mock-record=once recorded nothing: "
CASSETTE = Path("cassettes/test_it/test_it.llm.yaml")


@pytest.fixture
def server(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    """Yield a server that this run of pytest started."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    pytester.makepyfile(asking=ASK)
    with served(ProviderServer()) as server:
        yield server


def write(pytester: pytest.Pytester, *tests: str) -> None:
    pytester.makepyfile(test_it=HEADER + "\n".join(tests))


def asking_test(url: str, function: str = "ask") -> str:
    return f"@pytest.mark.llm_mock_cassette\ndef test_it():\n    {function}({url!r})\n"


PURE = "@pytest.mark.llm_mock_cassette\ndef test_pure():\n    pass\n"


def test_a_call_of_a_foreign_server_fails_a_test_with_a_cassette(
    foreign_server: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(asking=ASK)
    host = foreign_server.removeprefix("http://").removesuffix("/v1")
    for mode, function in (("none", "ask"), ("once", "post")):
        write(pytester, asking_test(foreign_server, function))
        result = run(pytester, f"--llm-mock-record={mode}")
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(
            [
                f"The cassette of this test cannot record POST {foreign_server}/chat/completions, "
                f"because {host} is left alone. To record and replay calls to it, add {host} to "
                f"ini llm_mock_hosts; to call it for real in each run, add !{host} there."
            ]
        )
        assert not CASSETTE.exists()
    # With the host, it is recorded.
    result = run(pytester, "--llm-mock-record=once", "-o", f"llm_mock_hosts={host}")
    result.assert_outcomes(passed=1)
    assert "from the server" in CASSETTE.read_text()


def test_a_host_that_the_project_took_out_is_named_with_its_entry(
    foreign_server: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(asking=ASK)
    write(pytester, asking_test(foreign_server, "post"))
    host = foreign_server.removeprefix("http://").removesuffix("/v1")
    for entry in (host, "127.0.0.1"):
        result = run(pytester, "-o", f"llm_mock_hosts=!{entry}")
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(
            [
                "*LLM calls that cassettes did not record*",
                f"  test_it.py::test_it: POST {foreign_server}/chat/completions",
                f"  Remove !{entry} from ini llm_mock_hosts.",
            ]
        )


@pytest.mark.parametrize(
    ("workers", "function"), [([], "ask"), (["-n", "1"], "post")], ids=["alone", "xdist"]
)
def test_a_server_of_the_run_is_listed_and_named_when_it_is_to_be_recorded(
    server: ProviderServer, pytester: pytest.Pytester, workers: list[str], function: str
) -> None:
    write(pytester, asking_test(f"{server.url}/v1", function))
    listed = [
        "*LLM calls that cassettes did not record*",
        f"  test_it.py::test_it: POST {server.url}/v1/chat/completions",
        f"  Add {server.host} to ini llm_mock_hosts.",
    ]
    result = pytester.runpytest(*workers)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(listed)
    result.stdout.no_fnmatch_line("*Empty cassettes*")
    result = pytester.runpytest("--llm-mock-record=once", *workers)
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            *listed,
            "*Empty cassettes*",
            "  test_it.py::test_it: its calls went to hosts that are not mocked",
            f"{NOTHING}the cassettes of the passed tests are empty.*",
        ]
    )
    assert not CASSETTE.exists()


def test_a_request_that_is_no_call_of_a_model_and_the_mock_server_are_not_listed(
    server: ProviderServer, pytester: pytest.Pytester
) -> None:
    write(
        pytester,
        f"""
import httpx

@pytest.mark.llm_mock_cassette
def test_it(llm_mock_server, mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "Hi")
    assert ask(llm_mock_server.openai_url) == "Hi"
    httpx.get("{server.url}/orders")
""",
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*no cassette holds*")


def test_a_plain_client_is_listed_at_the_path_of_a_model(
    server: ProviderServer, pytester: pytest.Pytester
) -> None:
    write(
        pytester,
        f"""
import httpx

@pytest.mark.llm_mock_cassette
def test_it():
    httpx.post("{server.url}/v1/chat/completions", json={{"model": "m", "messages": []}})
""",
    )
    result = pytester.runpytest()
    result.stdout.fnmatch_lines([f"  test_it.py::test_it: POST {server.url}/v1/chat/completions"])


RECORDING_NOTHING = pytest.mark.parametrize(
    ("test", "lines"),
    [
        (
            "def test_it():\n    pass\n",
            [f"{NOTHING}none of the passed tests has a cassette. Mark each test that calls a *"],
        ),
        (
            PURE,
            [
                "  test_it.py::test_pure: it called no model",
                f"{NOTHING}the cassettes of the passed tests are empty. *",
            ],
        ),
        (
            """
@pytest.mark.llm_mock_cassette
def test_it(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "Hi")
    post("https://api.openai.com/v1")
""",
            [
                "  test_it.py::test_it: its 1 call was answered by the mock (*",
                f"{NOTHING}the cassettes of the passed tests are empty. *",
            ],
        ),
    ],
    ids=["no cassette", "no call", "own reply"],
)


@RECORDING_NOTHING
@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "xdist"])
def test_a_run_that_was_to_record_and_recorded_nothing_fails(
    server: ProviderServer,
    pytester: pytest.Pytester,
    workers: list[str],
    test: str,
    lines: list[str],
) -> None:
    write(pytester, test)
    result = pytester.runpytest("--llm-mock-record=once", *workers)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(lines)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@RECORDING_NOTHING
@pytest.mark.parametrize(
    "options",
    [[], ["--llm-mock-record=none"], ["-o", "llm_mock_record=once"]],
    ids=["no option", "none", "ini"],
)
def test_a_run_that_its_command_does_not_ask_to_record_passes_without_a_recording(
    server: ProviderServer,
    pytester: pytest.Pytester,
    options: list[str],
    test: str,
    lines: list[str],
) -> None:
    write(pytester, test)
    check_run_without_recording(pytester.runpytest(*options), 1)


def test_workers_that_no_command_asks_to_record_pass_without_a_recording(
    server: ProviderServer, pytester: pytest.Pytester
) -> None:
    tests = [test for (test, _) in RECORDING_NOTHING.args[1]]
    files = {f"test_{number}": HEADER + test for number, test in enumerate(tests)}
    pytester.makepyfile(**files)
    check_run_without_recording(pytester.runpytest("-n", "1"), len(files))


def check_run_without_recording(result: pytest.RunResult, passed: int) -> None:
    result.assert_outcomes(passed=passed)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*Empty cassettes*")
    result.stdout.no_fnmatch_line(f"*{NOTHING}*")


def test_a_test_that_asks_no_model_is_told_and_harmless_beside_one_that_records(
    server: ProviderServer, pytester: pytest.Pytester
) -> None:
    write(pytester, asking_test(f"{server.url}/v1"), PURE)
    for answers in range(1, 3):
        result = pytester.runpytest("--llm-mock-record=once", "-o", f"llm_mock_hosts={server.host}")
        result.assert_outcomes(passed=2)
        assert result.ret == pytest.ExitCode.OK
        result.stdout.fnmatch_lines(["  test_it.py::test_pure: it called no model"])
        result.stdout.no_fnmatch_line("*test_it.py::test_it: *")
        assert len(server.requests) == 1, answers
    assert TEXT in CASSETTE.read_text()


@pytest.mark.parametrize(
    ("test", "options", "code"),
    [
        ("def test_it():\n    assert 0\n", [], pytest.ExitCode.TESTS_FAILED),
        ("def test_it():\n    pytest.skip()\n", [], pytest.ExitCode.OK),
        ("def test_it():\n    pass\n", ["--collect-only"], pytest.ExitCode.OK),
        ("", [], pytest.ExitCode.NO_TESTS_COLLECTED),
    ],
    ids=["failed", "skipped", "collected only", "no tests"],
)
def test_a_run_without_a_test_that_passed_ends_as_it_does(
    server: ProviderServer,
    pytester: pytest.Pytester,
    test: str,
    options: list[str],
    code: pytest.ExitCode,
) -> None:
    write(pytester, test)
    result = pytester.runpytest("--llm-mock-record=once", *options)
    assert result.ret == code
    result.stdout.no_fnmatch_line(f"*{NOTHING}*")


def test_a_recorded_cassette_that_the_test_no_longer_asks_is_no_empty_one(
    server: ProviderServer, pytester: pytest.Pytester
) -> None:
    hosts = f"llm_mock_hosts={server.host}"
    write(pytester, asking_test(f"{server.url}/v1"))
    assert pytester.runpytest("--llm-mock-record=once", "-o", hosts).ret == 0
    write(pytester, PURE.replace("test_pure", "test_it"))
    result = pytester.runpytest("--llm-mock-record=once", "-o", hosts)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*1 recorded call was not made"])
    result.stdout.no_fnmatch_line("*Empty cassettes*")
