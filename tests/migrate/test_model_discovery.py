"""The models that a run of the old tests saw are found by file, test and target."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_mock.migrate.model_discovery import DiscoveredModels, PatchedTarget

HERE, OTHER = Path("/tests/test_app.py"), Path("/tests/test_other.py")
MODELS = DiscoveredModels(
    {
        PatchedTarget(str(HERE), "test_two", "app.get_model"): ["gpt-4o", "gpt-4o-mini"],
        PatchedTarget(str(HERE), "test_two", "app.get_async_model"): ["gpt-4.1"],
        PatchedTarget(str(HERE), "test_one", "app.get_model"): ["gpt-4o"],
        PatchedTarget(str(HERE), "test_twice", "app.get_model"): ["gpt-4o"],
        PatchedTarget(str(HERE), "test_twice", "other.get_model"): ["gpt-4.1"],
        PatchedTarget(str(HERE), "test_async", "other.get_async_model"): ["gpt-4.1"],
        PatchedTarget(str(OTHER), "test_one", "app.get_model"): ["o3"],
        PatchedTarget(str(OTHER), "test_three", "app.get_model"): ["o3"],
    }
)


@pytest.mark.parametrize(
    ("path", "test", "target", "expected"),
    [
        (HERE, "test_two", "app.get_model", ["gpt-4o", "gpt-4o-mini"]),
        (HERE, "test_two", "app.get_async_model", ["gpt-4.1"]),
        (HERE, "test_one", "app.get_model", ["gpt-4o"]),
        (OTHER, "test_one", "app.get_model", ["o3"]),
        # The module has another name than in the test.
        (HERE, "test_one", "package.app.get_model", ["gpt-4o"]),
        (HERE, "test_one", "get_model", ["gpt-4o"]),
        # It may be one of two.
        (HERE, "test_twice", "package.app.get_model", []),
        (HERE, "test_one", "app.get_async_model", []),
        # A fixture is no test: all tests of the file request the same model from its patch.
        (OTHER, "fixture", "app.get_model", ["o3"]),
        (HERE, "fixture", "other.get_model", ["gpt-4.1"]),
        (HERE, "fixture", "app.get_model", []),
        (HERE, "fixture", "missing.get_model", []),
        (Path("/elsewhere/test_app.py"), "test_one", "app.get_model", []),
    ],
)
def test_models_are_found_by_file_test_and_target(
    path: Path, test: str, target: str, expected: list[str]
) -> None:
    assert list(MODELS.get_requested_models(path, test, target)) == expected


def test_without_a_run_nothing_is_known() -> None:
    models = DiscoveredModels()
    assert (models.problem, models.get_requested_models(HERE, "test_one", "app.get_model")) == (
        None,
        (),
    )
