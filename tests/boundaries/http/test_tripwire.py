"""Nothing leaves this machine below Python either: a shim of libc watches."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tripwire import TRIPWIRE, leaves

SOURCE = Path(__file__).with_name("tripwire.c")
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
TESTS = ("test_closed.py", "test_interception.py")


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compiled shim."""
    if COMPILER is None or not sys.platform.startswith("linux"):
        pytest.skip("the shim of libc needs Linux and a C compiler")
    library = tmp_path_factory.mktemp("tripwire") / "tripwire.so"
    command = [COMPILER, "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"]
    compiled = subprocess.run(command, capture_output=True, text=True)
    if compiled.returncode:
        pytest.skip(f"the shim of libc cannot be compiled: {compiled.stderr}")
    return library


def tripped_by(shim: Path, tmp_path: Path, *command: str) -> list[str]:
    """Run Python with the shim. Return what would have left this machine."""
    notes = tmp_path / "tripped"
    environment = {**os.environ, "LD_PRELOAD": str(shim), "TRIPWIRE": str(notes)}
    root = Path(__file__).parents[3]
    run = subprocess.run(
        [sys.executable, *command], env=environment, cwd=root, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return notes.read_text().splitlines() if notes.exists() else []


def test_the_shim_sees_what_leaves(shim: Path, tmp_path: Path) -> None:
    code = (
        "import socket, contextlib\n"
        "with contextlib.suppress(OSError): socket.create_connection(('api.openai.com', 443))\n"
        "with contextlib.suppress(OSError): socket.create_connection(('192.0.2.1', 443))\n"
        "with contextlib.suppress(OSError): socket.create_connection(('127.0.0.1', 9))\n"
    )
    environment = {"LLM_MOCK": "0", "PFLOW_TESTING": "0"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        assert tripped_by(shim, tmp_path, "-c", code) == [
            "getaddrinfo api.openai.com",
            "connect 192.0.2.1",
        ]


@pytest.mark.usefixtures("all_libraries")
def test_nothing_leaves_below_python(shim: Path, tmp_path: Path) -> None:
    tests = [str(Path(__file__).with_name(name)) for name in TESTS]
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly")
    assert tripped_by(shim, tmp_path, "-m", "pytest", *options, *tests) == []


def test_the_audit_hook_sees_what_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TRIPWIRE, "tripped", [])
    sys.audit("socket.getaddrinfo", "api.openai.com", 443, 0, 0, 0)
    sys.audit("socket.connect", None, ("127.0.0.1", 443))
    sys.audit("socket.connect", None, ("192.0.2.1", 443))
    assert TRIPWIRE.tripped == ["socket.getaddrinfo api.openai.com", "socket.connect 192.0.2.1"]


@pytest.mark.parametrize(
    ("host", "expected"), [("::1", False), ("localhost", False), ("10.0.0.1", True)]
)
def test_this_machine_is_not_beyond_it(host: str, expected: bool) -> None:
    assert leaves(host) is expected


def test_the_table_of_ways_to_a_provider_names_tests_that_exist() -> None:
    page = (Path(__file__).parents[3] / "docs" / "differences.md").read_text()
    table = (
        page.partition("### Every way to a provider")[2].partition("\n\n| ")[2].partition("\n\n")[0]
    )
    rows = [
        [cell.strip() for cell in row.strip("| ").split(" | ")] for row in table.splitlines()[2:]
    ]
    assert len(rows) > 15
    for row in rows:
        outcome, test = row[2].rstrip(" |"), row[3].strip("`| ") if len(row) > 3 else ""
        assert outcome in ("answered", "refused") or outcome.startswith("open, because ")
        assert test or outcome.startswith("open")
        assert not test or Path(__file__).with_name(test).exists()
