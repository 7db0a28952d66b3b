"""The package as it is installed and imported."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

import llm_mock
from llm_mock import agents, cassettes, checks, specs, suites, templates
from llm_mock.boundaries.http.supported_versions import OLDEST
from llm_mock.cli import main

from .conftest import RunPython
from .expected import compare_json


def test_importing_the_package_imports_neither_llm_nor_pytest(run_python: RunPython) -> None:
    code = "import sys, llm_mock; dir(llm_mock); print({'llm', 'pytest', 'pydantic', 'yaml'} & set(sys.modules))"  # noqa: E501
    assert run_python(code, PFLOW_TESTING=None).stdout == "set()\n"


PACKAGES = (llm_mock, agents, cassettes, checks, specs, suites)


@pytest.mark.parametrize(
    ("package", "name"),
    [
        pytest.param(package, name, id=f"{package.__name__}.{name}")
        for package in PACKAGES
        for name in package.__all__
    ],
)
def test_every_public_name_is_importable_and_documented(package: ModuleType, name: str) -> None:
    value = getattr(package, name)
    assert name in dir(package)
    assert isinstance(value, str) or value.__doc__


def describe_signature(function: Callable[..., object]) -> str:
    """Return the parameters of a function with their defaults, without types."""
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for parameter in inspect.signature(function).parameters.values()
    ]
    text = str(inspect.Signature(parameters))
    return re.sub(r"<([\w.]+) object at 0x\w+>", r"<\1>", text)


def list_functions(value: object) -> dict[str, Callable[..., object]]:
    """Return a function, or the constructor and the public methods of a class."""
    if inspect.isfunction(value):
        return {"": value}
    if not inspect.isclass(value):
        return {}
    methods = inspect.getmembers(value, inspect.isfunction)
    return {
        f".{name}": method
        for name, method in methods
        if not name.startswith("_") or name in ("__init__", "__new__", "__call__")
    }


def test_the_defaults_of_everything_public_stay() -> None:
    signatures = {}
    modules = {module: module.__all__ for module in PACKAGES}
    modules[templates] = [name for name in dir(templates) if not name.startswith("_")]
    for module, names in modules.items():
        for name in names:
            for more, function in list_functions(getattr(module, name)).items():
                if str(function.__module__).startswith("llm_mock"):
                    signatures[f"{module.__name__}.{name}{more}"] = describe_signature(function)
    compare_json(Path(__file__).with_name("expected_signatures.json"), signatures)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'llm_mock' has no attribute 'MockLLM'"):
        llm_mock.MockLLM  # noqa: B018


def test_direct_imports_work_in_a_fresh_process(run_python: RunPython) -> None:
    code = "from llm_mock import *; print(create_mock_get_model({'m': 'Hello'})('m').prompt('Hi').text)"  # noqa: E501
    assert run_python(code, PFLOW_TESTING=None).stdout == "Hello\n"


def test_the_first_call_does_not_pay_for_importing_llm(run_python: RunPython) -> None:
    code = "import sys; from llm_mock import create_mock_get_model; print('llm' in sys.modules)"
    assert run_python(code, PFLOW_TESTING=None).stdout == "True\n"


def test_the_distribution_names_its_version_licence_and_entry_point() -> None:
    metadata = importlib.metadata.metadata("pytest-llm-mock")
    assert metadata["Version"] == llm_mock.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    points = importlib.metadata.entry_points(group="pytest11", name="llm_mock")
    assert [point.value for point in points] == ["llm_mock.pytest_plugin"]


def test_the_documentation_is_installed() -> None:
    package = Path(llm_mock.__file__).parent
    output = CliRunner().invoke(main, ["docs", "migration"]).output
    assert output.startswith("# Moving from a hand-made mock")
    is_source = (package.parent / "pyproject.toml").is_file()
    assert (package / "docs" / "index.md").is_file() != is_source


def test_the_model_stays_small_and_types_are_shipped() -> None:
    package = Path(llm_mock.__file__).parent
    assert len((package / "boundaries" / "llm" / "model.py").read_text().splitlines()) < 100
    assert (package / "py.typed").exists()


ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("document", ["README.md", "docs/index.md", "docs/platforms.md"])
def test_the_documentation_states_the_versions_that_are_required_and_tested(document: str) -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pythons = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    [pytest_version] = re.findall(r'^    "pytest>=([\d.]+)"', project, re.MULTILINE)
    [llm_version] = re.findall(r'^    "llm>=([\d.]+)"', project, re.MULTILINE)
    stated = f"Python {pythons[0]} to {pythons[-1]}, pytest {pytest_version} or newer and `llm` {llm_version} to "  # noqa: E501
    assert stated in " ".join((ROOT / document).read_text(encoding="utf-8").split())
    matrix = (ROOT / ".ci" / "matrix").read_text(encoding="utf-8")
    [tested] = re.findall(r"^PYTHONS = (.*)$", matrix, re.MULTILINE)
    assert set(pythons) <= set(ast.literal_eval(tested))


def test_the_documentation_states_the_oldest_version_of_each_intercepted_library() -> None:
    text = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w-]+) \| ([\d.]+) \|$", text, re.MULTILINE)
    assert dict(rows) == OLDEST


PROGRAMS = [*(Path(__file__).parents[1] / "benchmarks").glob("*.py")]
"""Programs that import the package, and that no test runs as a whole."""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_a_benchmark_imports_names_that_the_package_has(program: Path) -> None:
    for node in ast.walk(ast.parse(program.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("llm_mock"):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                assert hasattr(module, alias.name), f"{node.module}.{alias.name}"
