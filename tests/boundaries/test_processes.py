"""Replies cross into a process that a test starts, and its calls and unused replies come back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from llm_mock import InvalidReply, LLMMock, ResponseConfigurator, assert_llm_called_times
from llm_mock.boundaries.processes import SharedFolder
from llm_mock.core.context import activate
from llm_mock.errors import ReplyNotSent, UnexpectedCall
from tests.threads import in_threads

Run = Callable[..., "subprocess.CompletedProcess[str]"]

ASK = """
import sys, llm
for name in sys.argv[1:]:
    print(llm.get_model(name).prompt(f"from {name}", temperature=0.5).text(), flush=True)
"""


ASK_ONCE = "print(llm.get_model('m').prompt('Hi').text())"


@pytest.fixture
def run(mock_llm_calls: LLMMock) -> Run:
    """Run `python -c CODE ARGUMENTS` with the environment of this test's mock."""

    def run_code(code: str, *arguments: str, check: bool = True, **variables: str) -> Any:
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=mock_llm_calls.environment(**variables),
            capture_output=True,
            text=True,
            timeout=60,
            check=check,
        )

    return run_code


@contextmanager
def join(mock: LLMMock) -> Iterator[LLMMock]:
    """Have the mock of a process that the test of a mock starts answer.

    It is in the process of the test, because other processes take a second to start.
    """
    with join_folder(mock.environment()["LLM_MOCK_FOLDER"]) as other:
        yield other


@contextmanager
def join_folder(folder: str | Path) -> Iterator[LLMMock]:
    """Have the mock of a process that uses the folder of a test answer."""
    mock = LLMMock(at_boundary=True)
    mock.join(SharedFolder(Path(folder)))
    previous = activate(mock)
    try:
        yield mock
    finally:
        activate(previous)


def ask(mock: LLMMock, *names: str) -> list[str]:
    """Return the answers of models, as `ASK` prints them."""
    return [mock.get_model(name).prompt(f"from {name}", temperature=0.5).text() for name in names]


def test_a_reply_that_may_be_used_any_number_of_times_is_shared_at_once(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.add("m", "x", times=10**12, optional=True)
    with join(mock_llm_calls) as other:
        assert ask(other, "m") == ["x"]
    assert len(mock_llm_calls.calls) == 1


def test_a_process_answers_as_the_test_configured(
    run: Run, mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set("4o-mini", {"standing": True})
    mock_llm_responses.set("*", "any model")
    mock_llm_responses.add("m", "first", prompt="from m", turn=1)
    mock_llm_responses.set_unknown("gone")
    result = run(
        """
import llm
for name in ("gpt-4o-mini", "m", "m"):
    print(llm.get_model(name).prompt(f"from {name}").text())
try:
    llm.get_model("gone")
except llm.UnknownModelError as error:
    print(error)
"""
    )
    assert result.stdout.splitlines() == [
        '{"standing": true}',
        "first",
        "any model",
        "'Unknown model: gone'",
    ]
    mock_llm_calls.assert_all_replies_used()
    assert_llm_called_times(mock_llm_calls, "m", 2)
    assert [call["prompt"] for call in mock_llm_calls.calls] == [
        "from gpt-4o-mini",
        "from m",
        "from m",
    ]
    assert [call["number"] for call in mock_llm_calls.calls] == [1, 2, 3]
    mock_llm_calls.models["m"].assert_called_with("from m")


def test_calls_of_both_processes_are_in_one_history(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.get_model("m").prompt("before")
    with join(mock_llm_calls) as other:
        ask(other, "m")
    mock_llm_calls.get_model("m").prompt("after")
    assert [(call["number"], call["prompt"]) for call in mock_llm_calls.calls] == [
        (1, "before"),
        (2, "from m"),
        (3, "after"),
    ]
    assert mock_llm_calls.get_model("m").prompt_count == 3
    assert mock_llm_calls.calls[1]["options"] == {"temperature": 0.5}


def test_errors_cross_and_failed_calls_come_back(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set_error("m", ConnectionError("no route"))
    with join(mock_llm_calls) as other, pytest.raises(ConnectionError, match=r"^no route$"):
        ask(other, "m")
    assert mock_llm_calls.calls[0]["error"] == "no route"


def test_unused_replies_are_those_of_the_test(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.add("m", "queued", times=4)
    mock_llm_calls.get_model("m").prompt("before")
    with join(mock_llm_calls) as other:
        ask(other, "m", "m")
    message = mock_llm_calls.unused_replies()
    assert message is not None
    count, reply = message.splitlines()[:2]
    assert (count, reply.partition("  (")[0]) == (
        "One queued reply was not used:",
        "  - m  → 'queued'",
    )
    assert mock_llm_calls.get_model("m").prompt("here").text() == "queued"
    assert mock_llm_calls.unused_replies() is None


def test_what_is_configured_later_crosses_too(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    def ask_another_process() -> list[str]:
        with join(mock_llm_calls) as other:
            return ask(other, "m")

    mock_llm_responses.set("m", "early")
    assert ask_another_process() == ["early"]
    mock_llm_responses.set("m", "late")
    assert ask_another_process() == ["late"]
    mock_llm_responses.reset()
    assert ask_another_process() == ['{"success": true}']


def test_what_is_configured_meanwhile_reaches_a_process_that_runs(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    answers = []
    with join(mock_llm_calls) as other:
        for number in range(3):
            mock_llm_responses.add("m", f"answer {number}")
            answers.append(other.get_model("m").prompt(f"question {number}").text())
            assert mock_llm_calls.calls[-1]["prompt"] == f"question {number}"
    assert answers == ["answer 0", "answer 1", "answer 2"]


def test_a_process_that_crashes_loses_nothing(run: Run, mock_llm_calls: LLMMock) -> None:
    result = run(
        ASK + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "m", "n", check=False
    )
    assert result.returncode != 0
    assert [call["prompt"] for call in mock_llm_calls.calls] == ["from m", "from n"]


def test_a_report_that_was_cut_off_is_left_out(mock_llm_calls: LLMMock) -> None:
    with join(mock_llm_calls) as other:
        ask(other, "m")
    (report,) = Path(mock_llm_calls.environment()["LLM_MOCK_FOLDER"]).glob("sent-*")
    with report.open("a") as file:
        file.write('{"call": {"model_id"')
    assert len(mock_llm_calls.calls) == 1


def test_async_calls_and_the_llm_command_line_cross(
    run: Run, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.set("m", "crossed")
    code = """
import asyncio, llm
async def ask():
    print(await llm.get_async_model("m").prompt("Hi").text())
asyncio.run(ask())
from click.testing import CliRunner
from llm.cli import cli
print(CliRunner().invoke(cli, ["Hi", "-m", "m"]).output, end="")
"""
    assert run(code).stdout == "crossed\ncrossed\n"


def test_variables_can_be_added(mock_llm_calls: LLMMock) -> None:
    environment = mock_llm_calls.environment(PLANNER_MODE="fast")
    assert (environment["PLANNER_MODE"], environment["PFLOW_TESTING"]) == ("fast", "1")


def test_a_strict_test_learns_of_unexpected_calls(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.settings = mock_llm_calls.settings._replace(strict="error")
    with join(mock_llm_calls) as other, pytest.raises(UnexpectedCall):
        ask(other, "m")
    assert mock_llm_calls.problems[0].startswith("No reply was configured for this call:")
    mock_llm_calls.problems.clear()


@pytest.mark.parametrize(
    "arguments",
    [{"response": lambda prompt: "x"}, {"response": "x", "prompt": lambda text: True}],
    ids=["reply", "matcher"],
)
def test_a_function_without_a_name_cannot_cross(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock, arguments: dict[str, Any]
) -> None:
    mock_llm_responses.add("m", **arguments, optional=True)
    with pytest.raises(
        InvalidReply, match=r"This reply cannot be sent to another process: m  .*lambda"
    ):
        mock_llm_calls.environment()


def test_a_function_that_can_be_imported_there_crosses(
    run: Run,
    mock_llm_responses: ResponseConfigurator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "replies.py").write_text("def answer(prompt): return f'named: {prompt.prompt}'")
    monkeypatch.syspath_prepend(tmp_path)
    import replies  # type: ignore[import-not-found]

    mock_llm_responses.set("m", replies.answer)
    assert run(ASK, "m", PYTHONPATH=str(tmp_path)).stdout == "named: from m\n"


def test_a_method_of_a_text_crosses(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set("m", "answer to {0.prompt}".format)
    with join(mock_llm_calls) as other:
        assert other.get_model("m").prompt("Hi").text() == "answer to Hi"
        assert len(other.calls) == 1
    assert [call["prompt"] for call in mock_llm_calls.calls] == ["Hi"]


def test_a_process_that_cannot_read_the_replies_fails_every_call(mock_llm_calls: LLMMock) -> None:
    folder = Path(mock_llm_calls.environment()["LLM_MOCK_FOLDER"])
    (folder / "script").write_bytes(b"cgone_module\nReply\n.")
    message = (
        "The replies that the test configured cannot be read in this process: "
        "ModuleNotFoundError: No module named 'gone_module'."
    )
    with join_folder(folder) as other:
        for name in ("m", "gpt-4o"):
            with pytest.raises(ReplyNotSent) as caught:
                other.get_model(name).prompt("Hi")
            assert str(caught.value) == message
    assert [call["model_id"] for call in mock_llm_calls.calls] == ["m", "gpt-4o"]
    assert mock_llm_calls.problems == [message]
    mock_llm_calls.problems.clear()


def test_a_process_that_begins_after_its_test_has_default_replies(tmp_path: Path) -> None:
    with join_folder(tmp_path / "gone") as other:
        assert other.get_model("m").prompt("Hi").json() == {"success": True}
        assert len(other.calls) == 1


ONLY_HERE = "def answer(prompt): return 'x'\nclass Down(Exception): ..."


@pytest.fixture
def only_here(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return a module that another process cannot import."""
    only_here = ModuleType("only_here")
    monkeypatch.setitem(sys.modules, "only_here", only_here)
    exec(ONLY_HERE, vars(only_here))
    return only_here


@pytest.mark.parametrize(
    ("reply", "described"),
    [
        ("answer", "the function of <string>:1"),
        ("Down", "the class Down"),
        ("Down('x')", "an object of type Down"),
    ],
)
def test_what_cannot_be_imported_there_fails_the_calls_that_need_it(
    mock_llm_responses: ResponseConfigurator,
    mock_llm_calls: LLMMock,
    only_here: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    reply: str,
    described: str,
) -> None:
    mock_llm_responses.set("m", eval(reply, vars(only_here)))
    mock_llm_responses.set("other", "text")
    folder = mock_llm_calls.environment()["LLM_MOCK_FOLDER"]
    monkeypatch.delitem(sys.modules, "only_here")
    with join_folder(folder) as other:
        assert ask(other, "other") == ["text"]
        with pytest.raises(ReplyNotSent) as caught:
            ask(other, "m")
    message = str(caught.value)
    assert message.startswith(f"The reply to this call needs {described}")
    assert "No module named 'only_here'" in message
    assert len(mock_llm_calls.problems) == 1
    mock_llm_calls.problems.clear()


def test_a_process_starts_without_what_it_cannot_import(
    run: Run, mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock, only_here: Any
) -> None:
    mock_llm_responses.set("m", only_here.answer)
    mock_llm_responses.set("other", "text")
    result = run(ASK, "other", "m", check=False)
    assert result.stdout == "text\n"
    assert "ReplyNotSent: The reply to this call needs the function of " in result.stderr
    assert len(mock_llm_calls.problems) == 1
    mock_llm_calls.problems.clear()


def test_a_process_that_outlives_its_test_is_not_disturbed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import subprocess, sys
        PROCESS = []

        def test_starts(mock_llm_calls):
            code = "print(flush=True); import llm; input(); print(llm.get_model('m').prompt('late').text())"
            mock_llm_calls.set("m", "of the test that started it")
            PROCESS.append(subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True))
            PROCESS[0].stdout.readline()  # it has begun

        def test_ends(mock_llm_calls):
            mock_llm_calls.set("m", "of the next test")
            assert PROCESS[0].communicate("\\n", timeout=60)[0] == "of the test that started it\\n"
            assert mock_llm_calls.calls == []
        """  # noqa: E501
    )
    pytester.runpytest().assert_outcomes(passed=2)


def test_nothing_is_left_behind(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "def test_it(mock_llm_calls): print('FOLDER', "
        "mock_llm_calls.environment()['LLM_MOCK_FOLDER'])"
    )
    result = pytester.runpytest_inprocess("-s")
    (folder,) = [line.split()[-1] for line in result.outlines if "FOLDER" in line]
    assert "llm-mock-shared-" in folder
    assert not Path(folder).exists()


def test_an_error_may_come_from_a_module_that_gets_a_model_when_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mock_llm_calls: LLMMock, run: Run
) -> None:
    (tmp_path / "shop.py").write_text(
        "import llm\nMODEL = llm.get_model('m')\nclass NoStock(Exception): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import shop  # type: ignore[import-not-found]

    mock_llm_calls.set_error("*", shop.NoStock("sold out"))
    code = "import shop\ntry: shop.MODEL.prompt('Hi').text()\nexcept shop.NoStock as error: print(error)"  # noqa: E501
    assert run(code, PYTHONPATH=str(tmp_path)).stdout == "sold out\n"


def test_a_process_that_asks_after_the_test_has_its_replies(
    mock_llm_calls: LLMMock, tmp_path: Path
) -> None:
    mock_llm_calls.set("m", "configured")
    code = f"import llm, pathlib, sys; print(flush=True); sys.stdin.read(); {ASK_ONCE}"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=mock_llm_calls.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()  # it has begun
    assert mock_llm_calls.folder is not None
    (mock_llm_calls.folder.folder / "script").unlink()
    assert process.communicate(timeout=60)[0] == "configured\n"


def test_processes_that_threads_start_at_once_share_one_queue_and_one_history(
    mock_llm_calls: LLMMock,
) -> None:
    for number in range(11):
        mock_llm_calls.add("m", f"queued {number}")
    answers: list[str] = []

    def start(_: int) -> None:
        command = [sys.executable, "-c", ASK, *["m"] * 4]
        output = subprocess.check_output(
            command, env=mock_llm_calls.environment(), text=True, timeout=60
        )
        answers.extend(output.splitlines())

    in_threads(3, start)
    queued = [f"queued {number}" for number in range(11)]
    assert sorted(answers) == sorted([*queued, '{"success": true}'])
    assert [call["number"] for call in mock_llm_calls.calls] == [*range(1, 13)]
    mock_llm_calls.assert_all_replies_used()


def test_threads_that_look_at_calls_while_others_ask_count_each_once(
    mock_llm_calls: LLMMock,
) -> None:
    code = f"import llm; {ASK_ONCE}\nfor _ in range(99): llm.get_model('m').prompt('Hi')"
    with subprocess.Popen(
        [sys.executable, "-uc", code], env=mock_llm_calls.environment(), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it has begun to ask

        def look_or_ask(thread: int) -> None:
            asked = 0
            while process.poll() is None or asked < 10:
                if thread == 0 and asked < 10:
                    mock_llm_calls.get_model("m").prompt("Hi")
                asked += 1
                assert len(mock_llm_calls.calls) <= 110

        in_threads(4, look_or_ask)
    assert [call["number"] for call in mock_llm_calls.calls] == [*range(1, 111)]


def test_what_threads_configure_at_once_crosses(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.environment()
    in_threads(8, lambda number: mock_llm_calls.set(f"m{number}", f"from m{number}"))
    models = [f"m{number}" for number in range(8)]
    with join(mock_llm_calls) as other:
        assert ask(other, *models) == [f"from {model}" for model in models]


def test_threads_of_a_process_use_what_the_test_configured_meanwhile(
    mock_llm_calls: LLMMock,
) -> None:
    code = """
import sys, threading, llm
for line in sys.stdin:
    answers = []
    ask = lambda: answers.append(llm.get_model("m").prompt("Hi").text())
    threads = [threading.Thread(target=ask) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    print(*answers, flush=True)
"""
    command, environment = [sys.executable, "-c", code], mock_llm_calls.environment()
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        assert process.stdin and process.stdout  # noqa: PT018
        for number in range(3):
            mock_llm_calls.set("m", f"answer-{number}")
            process.stdin.write("ask\n")
            assert process.stdout.readline().split() == [f"answer-{number}"] * 8
        process.stdin.close()
    assert len(mock_llm_calls.calls) == 24


def test_a_reply_that_is_queued_after_a_reset_is_a_new_one(mock_llm_calls: LLMMock) -> None:
    for text in ("before", "after"):
        mock_llm_calls.reset()
        mock_llm_calls.add("m", text)
        with join(mock_llm_calls) as other:
            assert ask(other, "m") == [text]
    mock_llm_calls.assert_all_replies_used()
