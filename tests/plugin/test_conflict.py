"""Beside the unrelated distribution `llm-mock`, a run names what to uninstall."""

from __future__ import annotations

import os
import shutil
import textwrap
from pathlib import Path

import pytest

import llm_mock

PACKAGE = Path(llm_mock.__file__).parent
OURS = {"llm-mock-conflict": "llm_mock.plugin.conflict", "llm_mock": "llm_mock.pytest_plugin"}
THEIRS = {"llm-mock": "llm_mock.pytest_plugin"}


def install(folder: Path, name: str, version: str, points: dict[str, str]) -> None:
    """Write what a distribution tells of itself."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
    )
    lines = [f"{point} = {value}" for point, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))


@pytest.fixture
def site(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a folder with our package and distribution that precedes all others."""
    folder = pytester.path / "site"
    shutil.copytree(PACKAGE, folder / "llm_mock", ignore=shutil.ignore_patterns("__pycache__"))
    install(folder, "pytest_llm_mock", "9.0.0", OURS)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    for variable in ("LLM_MOCK", "PFLOW_TESTING"):
        monkeypatch.delenv(variable, raising=False)
    pytester.makepyfile("def test_it(): pass")
    return folder


@pytest.mark.parametrize(
    "theirs_won", [False, True], ids=["our files are there", "their files are there"]
)
def test_with_both_distributions_a_run_says_what_to_uninstall(
    theirs_won: bool, pytester: pytest.Pytester, site: Path
) -> None:
    install(site, "llm_mock", "1.0.1", THEIRS)
    if theirs_won:
        (site / "llm_mock" / "__init__.py").write_text("def llm_mock(): ...\n")
        plugin = "import pytest\n\n@pytest.fixture\ndef llm_mock(): ...\n"
        (site / "llm_mock" / "pytest_plugin.py").write_text(textwrap.dedent(plugin))
    result = pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in result.errlines if line]
    assert len(lines) == 1
    assert lines[0].startswith(
        "ERROR: The distributions llm-mock 1.0.1 and pytest-llm-mock are both installed"
    )
    assert "pip uninstall -y llm-mock pytest-llm-mock, then pip install pytest-llm-mock" in lines[0]


def test_alone_or_beside_another_package_of_that_name_it_runs(
    pytester: pytest.Pytester, site: Path
) -> None:
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    install(site, "llm_mock", "7.0", {"unrelated": "json"})
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_the_built_distribution_has_these_entry_points(pytestconfig: pytest.Config) -> None:
    text = (pytestconfig.rootpath / "pyproject.toml").read_text()
    section = text.partition("[project.entry-points.pytest11]\n")[2].partition("\n\n")[0]
    pairs = [line.split(" = ") for line in section.splitlines() if not line.startswith("#")]
    assert {name: value.strip('"') for name, value in pairs} == OURS
    assert [*OURS] == sorted(OURS)
