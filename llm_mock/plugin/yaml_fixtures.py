"""Fixtures for tests in YAML files, which pytest itself gives only to functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def make_request(item: Any) -> pytest.FixtureRequest:
    """Return a fixture request for an item that is not a function."""
    __tracebackhide__ = True
    try:
        # Private names, which pytest's own doctests use; no public name does this.
        from _pytest.fixtures import TopRequest

        item._fixtureinfo = item.session._fixturemanager.getfixtureinfo(
            node=item, func=None, cls=None
        )
        item.fixturenames, item.funcargs = item._fixtureinfo.names_closure, {}
        return TopRequest(item, _ispytest=True)
    except (AttributeError, ImportError, TypeError) as error:
        reason = str(error)
    # Outside of the handler, so that the failure shows no chain of exceptions.
    version = pytest.__version__
    pytest.fail(
        f"YAML tests cannot use fixtures with pytest {version}, which changed private names "
        f"({reason}). Please report this, and use pytest<{version} until then.",
        pytrace=False,
    )


def get_fixture_values(item: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the values of fixtures, which are torn down with the item or with their scope.

    Args:
        item: the test.
        names: the fixtures, without those of `autouse`.
    """
    __tracebackhide__ = True
    if not names:
        return {}
    request = make_request(item)
    try:
        return {name: request.getfixturevalue(name) for name in names}
    except pytest.FixtureLookupError as error:
        # pytest itself can show this error only for functions.
        unknown = error.argname
        user = error.request.fixturename
    problem = f"unknown fixture {unknown!r}"
    if user is not None:
        problem = (
            f"the fixture {user!r} requests {unknown!r}, which is unknown or requests {user!r} "
            "itself"
        )
    pytest.fail(
        f"{item.shown_path}:{item.line}: {problem}; `pytest --fixtures` lists the known ones",
        pytrace=False,
    )
