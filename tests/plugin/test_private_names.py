"""A missing private name of pytest or `unittest.mock` costs a feature, never the run."""

from __future__ import annotations

import warnings

import pytest

from llm_mock.plugin.hand_patches import HandPatches
from llm_mock.plugin.recorded_warnings import get_recorded_warnings
from llm_mock.plugin.yaml_fixtures import make_request


def test_without_the_class_of_patches_none_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("unittest.mock._patch")
    patches = HandPatches()
    patches.begin()
    patches.end()
    assert patches.names == {}


@pytest.mark.parametrize("name", ["TopRequest", "FixtureManager.getfixtureinfo"])
def test_fixtures_of_yaml_tests_fail_with_the_version_to_use(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(f"_pytest.fixtures.{name}")
    with pytest.raises(pytest.fail.Exception, match=f"use pytest<{pytest.__version__}"):
        make_request(request.node)


def test_a_test_without_its_fixtures_by_name_has_no_note_of_them(
    request: pytest.FixtureRequest,
) -> None:
    from llm_mock.plugin.runtest import _hidden_fixtures

    class Item:
        """An item of another version of pytest."""

        _fixtureinfo = None

    assert _hidden_fixtures(Item()) == ""  # type: ignore[arg-type]


def test_without_the_list_of_warnings_none_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "_showwarnmsg_impl", print)
    assert get_recorded_warnings() == []
