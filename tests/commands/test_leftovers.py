"""The commands leave their process and the files of the user as they were."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("libcst")
pytest.importorskip("mcp")
pytest.importorskip("rich")

from llm_mock.cli import main
from tests.commands.test_import_promptfoo import CONFIGURATION
from tests.commands.test_mcp_server import ROLE, SPEC, SUITE
from tests.commands.test_migrate import APP, OLD
from tests.process_state import StateWatch, assert_nothing_left

TARGET = SUITE.replace("cases:", "target: {command: [cat]}\ncases:")
COMMANDS = {
    "a dry run": ["test", "role.yaml", "-s", "suite.yaml", "--dry-run"],
    "a dry run of an application": ["test", "-s", "target.yaml", "--dry-run"],
    "a run without a key": ["test", "role.yaml", "-s", "suite.yaml"],
    "a run that compares": ["test", "role.yaml", "-s", "suite.yaml", "--dry-run", "-j", "4"],
    "a plain-language test": ["run", "spec.yaml", "--dry-run"],
    "validation": ["validate", "suite.yaml", "spec.yaml"],
    "invalid files": ["validate", "broken.yaml"],
    "a preview of a migration": ["migrate", "test_old.py"],
    "an import that fails": ["import", "broken.yaml"],
    "the misbehaviours": ["misbehaviours"],
    "a script that is wrong": ["serve", "broken.yaml"],
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the files of a project, in which the user's folders are, too."""
    files = {
        "role.yaml": ROLE,
        "suite.yaml": SUITE,
        "target.yaml": TARGET,
        "spec.yaml": SPEC,
        "broken.yaml": "a: [",
        "promptfoo.yaml": CONFIGURATION,
        "app.py": APP,
        "test_old.py": OLD,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for name, variable in {"home": "HOME", "llm": "LLM_USER_PATH", "tmp": "TMPDIR"}.items():
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_command_leaves_nothing_behind(project: Path, arguments: list[str]) -> None:
    CliRunner().invoke(main, arguments)  # which imports and caches what stays for the process
    watch = StateWatch(project)
    result = CliRunner().invoke(main, arguments)
    assert isinstance(result.exception, SystemExit | None)
    assert_nothing_left(watch.take_changes())
