"""Fixtures for tests that stand in YAML files. pytest gives them to functions; other tests have to ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from _pytest.fixtures import TopRequest  # what pytest's own doctests ask, for want of a public way


def request_of(item: Any) -> pytest.FixtureRequest:
    """Asks for fixtures on behalf of an item that is no function."""
    item._fixtureinfo = item.session._fixturemanager.getfixtureinfo(node=item, func=None, cls=None)
    item.fixturenames, item.funcargs = item._fixtureinfo.names_closure, {}
    return TopRequest(item, _ispytest=True)


def fixture_values(item: Any, names: Sequence[str]) -> dict[str, Any]:
    """The values of fixtures, set up for an item and torn down with it, as their scopes say; no `autouse` ones."""
    __tracebackhide__ = True
    if not names:
        return {}
    request = request_of(item)
    try:
        return {name: request.getfixturevalue(name) for name in names}
    except pytest.FixtureLookupError as error:
        if error.argname not in names:
            raise
        missing = f"there is no fixture {error.argname!r} for this test; `pytest --fixtures` lists them"
    pytest.fail(f"{item.shown_path}:{item.line}: {missing}", pytrace=False)
