"""Fixtures for tests that stand in YAML files. pytest gives them to functions; other tests have to ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def request_of(item: Any) -> pytest.FixtureRequest:
    """Ask for fixtures on behalf of an item that is no function."""
    __tracebackhide__ = True
    try:
        # Private names, which pytest's own doctests use, for want of a public way.
        from _pytest.fixtures import TopRequest

        item._fixtureinfo = item.session._fixturemanager.getfixtureinfo(
            node=item, func=None, cls=None
        )
        item.fixturenames, item.funcargs = item._fixtureinfo.names_closure, {}
        return TopRequest(item, _ispytest=True)
    except (AttributeError, ImportError, TypeError) as error:
        message = f"pytest {pytest.__version__} changed how fixtures are asked for ({error}), which YAML tests need."
    pytest.fail(
        f"{message} Please report this, and use pytest<{pytest.__version__} until then.",
        pytrace=False,
    )


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
        missing = (
            f"there is no fixture {error.argname!r} for this test; `pytest --fixtures` lists them"
        )
    pytest.fail(f"{item.shown_path}:{item.line}: {missing}", pytrace=False)
