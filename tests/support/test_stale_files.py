"""Leftovers of killed processes are removed; files in use are kept."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from contextlib import ExitStack
from pathlib import Path

import pytest

from llm_mock.support.temporary_folders import TemporaryFolder
from tests.conftest import RunPython

MAKE_FOLDERS = """
import os, signal, sys, tempfile
os.environ["PFLOW_TESTING"] = "1"
import llm
from llm_mock import LLMMock
from llm_mock.support.temporary_folders import TemporaryFolder
tools, shared = TemporaryFolder("tools"), LLMMock(at_boundary=True).environment()
print(*sorted(os.listdir(tempfile.gettempdir())), flush=True)
sys.stdin.read()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the temporary folder of the processes of a test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("PFLOW_TESTING", "1")
    monkeypatch.delenv("LLM_USER_PATH")
    return folder


def start_making_folders() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MAKE_FOLDERS]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.skipif(sys.platform == "win32", reason="a folder cannot be locked there")
def test_the_folders_of_a_killed_process_are_removed_by_the_next_and_others_are_not(
    temporary: Path, run_python: RunPython
) -> None:
    theirs = {"llm-mock-server", "llm-mock-user-of-mine", "llm-mock-userabcdefgh", "other"}
    for name in theirs:
        (temporary / name).mkdir()
    (temporary / "llm-mock-user-linked00").symlink_to(temporary / "other")
    theirs |= {"llm-mock-user-linked00"}
    with start_making_folders() as killed, start_making_folders() as alive:
        assert killed.stdout and alive.stdout  # noqa: PT018
        listed = {name for process in (killed, alive) for name in process.stdout.readline().split()}
        before = {
            name for name in listed if name in theirs or name.startswith("llm-mock")
        }  # Python tries the folder
        left = names_in(temporary) - theirs
        assert {name.split("-")[2] for name in left} == {"shared", "tools", "user"}
        assert (len(left), before - left) == (6, theirs)
        killed.communicate(timeout=60)
        assert names_in(temporary) - theirs == left
        assert run_python("import llm").returncode == 0
        of_the_living = names_in(temporary) - theirs
        assert len(of_the_living) == 3
        alive.communicate(timeout=60)
    assert run_python("import llm").returncode == 0
    assert names_in(temporary) == theirs


def test_a_process_that_ends_leaves_nothing(temporary: Path, run_python: RunPython) -> None:
    ending = MAKE_FOLDERS.replace("os.kill(os.getpid(), signal.SIGKILL)", "")
    assert "llm-mock-user-" in run_python(ending).stdout
    assert names_in(temporary) == set()


@pytest.mark.skipif(sys.platform == "win32", reason="a file cannot be locked there")
def test_a_half_written_file_of_a_killed_process_is_removed_when_the_file_is_written_again(
    tmp_path: Path,
) -> None:
    from llm_mock.support.files import write_atomically

    writing = """
        import os, signal, sys
        from pathlib import Path
        from llm_mock.support.files import write_atomically

        def fsync(file):
            print("written", flush=True)
            sys.stdin.read()
            os.kill(os.getpid(), signal.SIGKILL)

        os.fsync = fsync
        write_atomically(Path(sys.argv[1]), "half")
    """
    report = tmp_path / "r.json"
    for name in (".r.json.mine", ".other.json.1-1"):
        (tmp_path / name).touch()
    command = [sys.executable, "-c", textwrap.dedent(writing), str(report)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        write_atomically(report, "first")
        assert len(names_in(tmp_path)) == 4  # that process is still writing
        process.communicate(timeout=60)
    assert len(names_in(tmp_path)) == 4
    write_atomically(report, "second")
    assert names_in(tmp_path) == {"r.json", ".r.json.mine", ".other.json.1-1"}
    assert report.read_text() == "second"


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is swept there")
def test_a_folder_that_another_process_removes_before_it_is_held_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    make = tempfile.mkdtemp

    def make_and_lose_the_first(prefix: str) -> str:
        made.append(make(prefix=prefix, dir=tmp_path))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_lose_the_first)
    with TemporaryFolder("tools") as folder:
        assert (str(folder), len(made)) == (made[1], 2)
        assert folder.is_dir()


MAKE_MANY_FOLDERS = """
import sys, tempfile
from llm_mock.support import temporary_folders as folders
sys.stdin.readline()
for _ in range(150):
    folders.remove_leftovers(tempfile.gettempdir(), folders.START, folders.REST)
    folders.TemporaryFolder("tools").remove()
print("done")
"""


def test_processes_that_start_together_leave_each_other_their_folders(temporary: Path) -> None:
    command = [sys.executable, "-c", MAKE_MANY_FOLDERS]
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True)
            )
            for _ in range(8)
        ]
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        outputs = [process.communicate(timeout=60) for process in processes]
    assert outputs == [("done\n", "")] * 8
    assert names_in(temporary) == set()


def test_a_temporary_folder_that_cannot_be_used_is_one_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        full="import tempfile\ntempfile.tempdir = '/nowhere'", test_it="def test_it(): pass"
    )
    result = pytester.runpytest_subprocess("-s", "-p", "full")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.outlines == []
    [line] = [line for line in result.errlines if line]
    assert line.startswith(
        "ERROR: Cannot create a temporary folder: [Errno 2] No such file or directory: "
        "'/nowhere/llm-"
    )
    assert line.endswith(
        "Set the environment variable TMPDIR to a writable folder, or free disk space."
    )


def test_a_process_that_is_mocked_says_so_too(run_python: RunPython) -> None:
    code = "import tempfile; tempfile.tempdir = '/nowhere'; import llm"
    result = run_python(code, LLM_USER_PATH=None, PFLOW_TESTING="1")
    assert result.stderr.splitlines()[-1].startswith(
        "llm_mock.errors.LLMMockError: Cannot create a temporary folder:"
    )
