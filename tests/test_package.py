"""The package as it is installed and imported."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

import llm_mock

from .conftest import RunPython


def test_importing_the_package_imports_neither_llm_nor_pytest(run_python: RunPython) -> None:
    code = "import sys, llm_mock; dir(llm_mock); print({'llm', 'pytest', 'pydantic', 'yaml'} & set(sys.modules))"
    assert run_python(code, PFLOW_TESTING=None).stdout == "set()\n"


@pytest.mark.parametrize("name", llm_mock.__all__)
def test_every_public_name_is_importable_and_documented(name: str) -> None:
    value = getattr(llm_mock, name)
    assert name in dir(llm_mock)
    assert isinstance(value, str) or value.__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'llm_mock' has no attribute 'MockLLM'"):
        llm_mock.MockLLM  # noqa: B018


def test_direct_imports_work_in_a_fresh_process(run_python: RunPython) -> None:
    code = "from llm_mock import *; print(create_mock_get_model({'m': 'Hello'})('m').prompt('Hi').text)"
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


def test_the_model_stays_small_and_types_are_shipped() -> None:
    package = Path(llm_mock.__file__).parent
    assert len((package / "boundaries" / "llm" / "model.py").read_text().splitlines()) < 100
    assert (package / "py.typed").exists()
