"""The markers of the plugin, and what each does to a test."""

from __future__ import annotations

from typing import Any

import pytest

from llm_mock.plugin.guard import deciding_hook
from llm_mock.plugin.marker_checks import TAKES, WRONG_MARKERS, wrong_markers
from llm_mock.plugin.stash import CASSETTE_CLAIMS

BUDGETS_OF_TESTS = "llm_mock_budgets_of_tests"
REPEATING_TESTS = "llm_mock_repeating_tests"
MISBEHAVIOUR = "llm_mock_misbehaviour"
MISBEHAVIOUR_FIXTURE, CASSETTE_FIXTURE = "_llm_mock_misbehaviour", "_llm_mock_cassette"
"""What the markers use; a project may have fixtures of its own with the public names."""
_NOT_GENERATED = pytest.StashKey[dict[str, str]]()
"""Of the configuration: tests that could not be made from their marker, with what to say."""
LIVE_TEST_SKIPPED = "llm_live: this test calls a real model; run it with --llm-mock-live"


def register(config: pytest.Config) -> None:
    """Tell pytest the markers with what they take."""
    config.addinivalue_line(
        "markers", "llm_live: call real models; skipped unless --llm-mock-live is given."
    )
    config.addinivalue_line(
        "markers",
        "llm_mock_strict(level='error'): react to calls that no configured reply matches: off, warn or "
        "error.",
    )
    config.addinivalue_line(
        "markers",
        "llm_mock_misbehaviour(*names, times=None): run the test once for each misbehaviour of the models, by default "
        "all that `llm-mock misbehaviours` lists; in every call that it can be applied to, or in the first `times`.",
    )
    config.addinivalue_line(
        "markers",
        "llm_mock_cassette(name=None, record=None): record the test's calls, and replay them from then on.",
    )
    config.addinivalue_line(
        "markers",
        "llm_mock_budget(cost=None, tokens=None): what the test's calls may use: US dollars, tokens.",
    )
    config.addinivalue_line(
        "markers",
        "llm_mock_repeat(times=None, threshold=1.0): run the test several times (before `times` goes "
        "--llm-mock-repeat); it passes where this share of its runs does.",
    )
    config.addinivalue_line("markers", "llm: a plain-language test; collected with --llm.")


def _fail_generated(fault: str, metafunc: pytest.Metafunc) -> None:
    """Have the test fail that is to run once for each misbehaviour."""
    metafunc.config.stash.setdefault(_NOT_GENERATED, {})[metafunc.definition.nodeid] = fault


def _fail_marked(fault: str, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Have all tests fail that are marked for this plugin."""
    for item in items:
        if any(marker.name in TAKES for marker in item.iter_markers()):
            item.stash[WRONG_MARKERS] = fault


@deciding_hook(_fail_generated, trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    node: Any = metafunc.definition
    markers: list[pytest.Mark] = []
    while (
        node is not None and not markers
    ):  # the closest ones; `iter_markers` would cost every test more
        for marker in node.own_markers:
            if marker.name == MISBEHAVIOUR:
                markers.append(marker)
        node = node.parent
    if not markers:
        return
    if wrong_markers(markers, metafunc.config):
        return  # the test itself fails with that
    from llm_mock.behaviour.misbehaviour import read_markers

    chosen = read_markers(markers)
    if MISBEHAVIOUR_FIXTURE not in metafunc.fixturenames:
        metafunc.fixturenames.append(MISBEHAVIOUR_FIXTURE)  # else it could not be parametrized
    metafunc.parametrize(
        MISBEHAVIOUR_FIXTURE, chosen, ids=[name for name, _ in chosen], indirect=True
    )


@deciding_hook(_fail_marked)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    with_cassette = []
    for item in items:
        own = list(item.iter_markers())
        markers = {marker.name for marker in own}
        if own and (wrong := wrong_markers(own, config)):
            item.stash[WRONG_MARKERS] = wrong
            continue
        if "llm_live" in markers:
            if config.getoption("--llm-mock-live"):
                _use_fixture(item, "_llm_mock_live")
            else:
                item.add_marker(pytest.mark.skip(reason=LIVE_TEST_SKIPPED))
        if "llm_mock_strict" in markers:
            _use_fixture(item, "_llm_mock_strict")
        if MISBEHAVIOUR in markers:
            _use_misbehaviour(item)
        if "llm_mock_budget" in markers:
            _watch_budget(item)
        if "llm_mock_repeat" in markers:
            _repeat(config)
        if "llm_mock_cassette" in markers:
            _use_cassette(item)
            with_cassette.append(item)
    if with_cassette:
        from llm_mock.plugin.cassettes import find_conflicts

        config.stash[CASSETTE_CLAIMS] = find_conflicts(with_cassette)


def _repeat(config: pytest.Config) -> None:
    manager = config.pluginmanager
    if not manager.has_plugin(REPEATING_TESTS):
        from llm_mock.plugin.repeating import RepeatingTests

        manager.register(RepeatingTests(config.getoption("--llm-mock-repeat")), REPEATING_TESTS)


def _watch_budget(item: pytest.Item) -> None:
    from llm_mock.plugin.budget import ItemBudgets

    manager = item.config.pluginmanager
    if not manager.has_plugin(BUDGETS_OF_TESTS):
        manager.register(ItemBudgets(), BUDGETS_OF_TESTS)


def _use_fixture(item: pytest.Item, name: str) -> None:
    """Set a fixture up before all others of a test; other items than functions have none."""
    getattr(item, "fixturenames", []).insert(0, name)


def _use_cassette(item: Any) -> None:
    """Set the cassette up before all other fixtures that are the test's own; those of more tests come before it."""
    names, definitions = getattr(item, "fixturenames", []), getattr(item, "_fixtureinfo", None)
    # A private name of pytest's; without it the cassette is set up before all fixtures.
    known = getattr(definitions, "name2fixturedefs", {})
    wider = [
        position
        for position, name in enumerate(names, 1)
        if name in known and known[name][-1].scope != "function"
    ]
    names.insert(max(wider, default=0), CASSETTE_FIXTURE)


def _use_misbehaviour(item: Any) -> None:
    """Set the misbehaviour up after all other fixtures of a test: it is for the test, not for what prepares it."""
    faults: dict[str, str] = item.config.stash.get(_NOT_GENERATED, {})
    if item.nodeid in faults:
        item.stash[WRONG_MARKERS] = faults[item.nodeid]
    elif MISBEHAVIOUR_FIXTURE not in getattr(getattr(item, "callspec", None), "params", ()):
        where = "runs plain test functions and methods of plain classes only"
        item.add_marker(
            pytest.mark.skip(reason=f"llm_mock_misbehaviour {where}, not {item.nodeid}")
        )
    elif MISBEHAVIOUR_FIXTURE not in item.fixturenames:
        item.fixturenames.append(MISBEHAVIOUR_FIXTURE)
