"""The markers of the plugin and their effects on tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from llm_mock.plugin import CASSETTE_CLAIMS, WRONG_MARKERS
from llm_mock.plugin.guard import deciding_hook

BUDGETS_OF_TESTS = "llm_mock_budgets_of_tests"
REPEATING_TESTS = "llm_mock_repeating_tests"
MISBEHAVIOUR = "llm_mock_misbehaviour"
MISBEHAVIOUR_FIXTURE, CASSETTE_FIXTURE = "_llm_mock_misbehaviour", "_llm_mock_cassette"
"""The fixtures of the markers, with private names that no project uses."""
_NOT_GENERATED = pytest.StashKey[dict[str, str]]()
"""In the configuration: the message for each test that could not be generated from its marker."""
DESCRIPTIONS = (
    "llm_live: Call real models in this test. Without --llm-mock-live the test is skipped.",
    "llm_mock_strict(level='error'): Set the level for calls without a matching reply, replies "
    "that violate the schema, and unused recordings. 'error' fails the test, 'warn' reports them, "
    "and 'off' ignores them.",
    "llm_mock_misbehaviour(*names, times=None): Run the test once for each named misbehaviour, or "
    "without names for each one that `llm-mock misbehaviours` lists. A misbehaviour affects every "
    "call that it applies to, or only the first `times` of these calls.",
    "llm_mock_cassette(name=None, record=None): Record the test's calls to real models, and replay "
    "them in later runs.",
    "llm_mock_budget(cost=None, tokens=None): Limit the cost of the test's calls in US dollars, "
    "and their tokens.",
    "llm_mock_repeat(times=None, threshold=1.0): Run the test several times. It passes if at "
    "least this share of its runs passes. --llm-mock-repeat overrides `times`.",
    "llm: A plain-language test in a YAML file. Collect these tests with --llm.",
)
"""The help of the markers."""
LIVE_TEST_SKIPPED = "llm_live: this test calls a real model; run it with --llm-mock-live"


def register(config: pytest.Config) -> None:
    """Register the markers of the plugin; `pytest --markers` lists them."""
    for description in DESCRIPTIONS:
        config.addinivalue_line("markers", description)


def _fail_generated(fault: str, metafunc: pytest.Metafunc) -> None:
    """Make a test fail whose misbehaviours could not be generated."""
    metafunc.config.stash.setdefault(_NOT_GENERATED, {})[metafunc.definition.nodeid] = fault


def _fail_marked(fault: str, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Make all tests fail that have a marker of this plugin."""
    from llm_mock.plugin.marker_checks import SIGNATURES

    for item in items:
        if any(marker.name in SIGNATURES for marker in item.iter_markers()):
            config.stash[WRONG_MARKERS][item.nodeid] = fault


@deciding_hook(_fail_generated, trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Generate a test for each misbehaviour that the closest markers name."""
    node: Any = metafunc.definition
    markers: list[pytest.Mark] = []
    # Not by `iter_markers`, which would cost every test of the run more.
    while node is not None and not markers:
        for marker in node.own_markers:
            if marker.name == MISBEHAVIOUR:
                markers.append(marker)
        node = node.parent
    if not markers:
        return
    from llm_mock.plugin.marker_checks import describe_invalid_markers

    # The test itself fails with the message, see `pytest_collection_modifyitems`.
    if describe_invalid_markers(markers, metafunc.config):
        return
    from llm_mock.behaviour.misbehaviour import read_markers

    chosen = read_markers(markers)
    # Only fixtures of the test can be parametrized.
    if MISBEHAVIOUR_FIXTURE not in metafunc.fixturenames:
        metafunc.fixturenames.append(MISBEHAVIOUR_FIXTURE)
    metafunc.parametrize(
        MISBEHAVIOUR_FIXTURE, chosen, ids=[name for name, _ in chosen], indirect=True
    )


@deciding_hook(_fail_marked)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Apply the markers of each test."""
    items_with_cassette = []
    for item in items:
        markers: list[pytest.Mark] = []
        node: Any = item
        # Not by `iter_markers`, which would cost every test of the run more.
        while node is not None:
            markers += node.own_markers
            node = node.parent
        if not markers:
            continue
        from llm_mock.plugin.marker_checks import describe_invalid_markers

        wrong = describe_invalid_markers(markers, config)
        if wrong:
            config.stash[WRONG_MARKERS][item.nodeid] = f"{wrong}  ({_locate(item)})"
            continue
        names = {marker.name for marker in markers}
        for name, apply in _APPLY.items():
            if name in names:
                apply(item)
        if "llm_mock_cassette" in names:
            items_with_cassette.append(item)
    if items_with_cassette:
        from llm_mock.plugin.cassettes import find_conflicts

        config.stash[CASSETTE_CLAIMS] = find_conflicts(items_with_cassette)


def _locate(item: pytest.Item) -> str:
    """Return the file of a test and its first line, which is that of its first decorator."""
    path, line, _ = item.location
    return f"{path}:{(line or 0) + 1}"


def _run_live(item: pytest.Item) -> None:
    if item.config.getoption("--llm-mock-live"):
        _use_fixture(item, "_llm_mock_live")
    else:
        item.add_marker(pytest.mark.skip(reason=LIVE_TEST_SKIPPED))


def _use_strict(item: pytest.Item) -> None:
    _use_fixture(item, "_llm_mock_strict")


def _repeat(item: pytest.Item) -> None:
    manager = item.config.pluginmanager
    # Registered at the first marker, so that other runs need not import it.
    if not manager.has_plugin(REPEATING_TESTS):
        from llm_mock.plugin.repeats import RepeatingTests

        times = item.config.getoption("--llm-mock-repeat")
        manager.register(RepeatingTests(times), REPEATING_TESTS)


def _watch_budget(item: pytest.Item) -> None:
    from llm_mock.plugin.budget import ItemBudgets

    manager = item.config.pluginmanager
    if not manager.has_plugin(BUDGETS_OF_TESTS):
        manager.register(ItemBudgets(), BUDGETS_OF_TESTS)


def _use_fixture(item: pytest.Item, name: str) -> None:
    """Set up a fixture before all others of a test."""
    # Items that are not functions have no such list.
    getattr(item, "fixturenames", []).insert(0, name)


def _use_cassette(item: object) -> None:
    """Set up the cassette after the fixtures of wider scopes and before those of the test."""
    names = getattr(item, "fixturenames", [])
    # A private name of pytest's; without it the cassette is set up before all fixtures.
    fixture_info = getattr(item, "_fixtureinfo", None)
    known = getattr(fixture_info, "name2fixturedefs", {})
    wider = [
        position
        for position, name in enumerate(names, 1)
        if name in known and known[name][-1].scope != "function"
    ]
    names.insert(max(wider, default=0), CASSETTE_FIXTURE)


def _use_misbehaviour(item: Any) -> None:
    """Set up the misbehaviour after all other fixtures: it is for the test, not for its setup."""
    faults: dict[str, str] = item.config.stash.get(_NOT_GENERATED, {})
    if item.nodeid in faults:
        item.config.stash[WRONG_MARKERS][item.nodeid] = faults[item.nodeid]
        return
    # pytest does not parametrize methods of `unittest.TestCase` and items of other plugins.
    parameters = getattr(getattr(item, "callspec", None), "params", ())
    if MISBEHAVIOUR_FIXTURE not in parameters:
        reason = (
            "llm_mock_misbehaviour supports only plain test functions and methods of plain "
            f"classes, not {item.nodeid}"
        )
        item.add_marker(pytest.mark.skip(reason=reason))
    elif MISBEHAVIOUR_FIXTURE not in item.fixturenames:
        item.fixturenames.append(MISBEHAVIOUR_FIXTURE)


_APPLY: dict[str, Callable[[Any], None]] = {
    "llm_live": _run_live,
    "llm_mock_strict": _use_strict,
    MISBEHAVIOUR: _use_misbehaviour,
    "llm_mock_budget": _watch_budget,
    "llm_mock_repeat": _repeat,
    "llm_mock_cassette": _use_cassette,
}
"""The functions that apply markers; their order decides the order of the fixtures."""
