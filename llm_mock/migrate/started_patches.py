"""Recognize patches of `unittest.mock` that a test starts and stops itself."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst
import libcst.matchers as m

from llm_mock.migrate.patches import CannotRewritePatch, Patch
from llm_mock.migrate.syntax import get_dotted_name, to_source

_METHOD_CALL = m.Call(m.Attribute(), [])
_ENTERED = m.Call(m.Attribute(m.Name("self"), m.Name("enterContext")), [m.Arg()])
# `self.addCleanup(patcher.stop)` and `request.addfinalizer(patcher.stop)`.
_CLEANUPS = ("addCleanup", "addfinalizer")


class StartedPatches:
    """The patches that a function assigns to names, such as `patcher = patch("app.get_model")`.

    Args:
        parse_patch: returns the patch of an expression, or None.
    """

    def __init__(self, parse_patch: Callable[[cst.BaseExpression], Patch | None]) -> None:
        self._parse_patch = parse_patch
        self._patches: dict[str, Patch] = {}
        self._running: list[Patch] = []
        """The started patches that are not stopped yet."""
        self.has_stopped = False
        """Whether a patch was stopped, so that the application has the real models from there."""

    def add(self, name: str, patch: Patch) -> None:
        """Add a patch under its name."""
        self._patches[name] = patch

    def find_named(self, node: cst.BaseExpression) -> Patch | None:
        """Return the patch that a name refers to, as in `with patcher as mock:`, or None."""
        return self._patches.get(node.value) if isinstance(node, cst.Name) else None

    def find_started(self, node: cst.BaseExpression) -> Patch | None:
        """Return the patch that `patcher.start()` or `patch(…).start()` starts, or None.

        `self.enterContext(patch(…))` starts a patch, too, and stops it behind the test.
        """
        if m.matches(node, _ENTERED):
            [argument] = cst.ensure_type(node, cst.Call).args
            return self.find_named(argument.value) or self._parse_patch(argument.value)
        owner = _get_owner(node, "start")
        if owner is None:
            return None
        patch = self.find_named(owner) or self._parse_patch(owner)
        if patch is not None:
            self._running.append(patch)
        return patch

    def stop(self, node: cst.BaseExpression) -> bool:
        """Note a statement that stops a patch, now or after the test; return False for others."""
        owner = _get_owner(node, "stop")
        if owner is not None:
            is_patch = self._end(owner)
            self.has_stopped = self.has_stopped or is_patch
            return is_patch
        if not isinstance(node, cst.Call) or len(node.args) != 1:
            return False
        function = get_dotted_name(node.func) or ""
        method = node.args[0].value
        is_stop = m.matches(method, m.Attribute(m.Name(), m.Name("stop")))
        if function.rpartition(".")[2] not in _CLEANUPS or not is_stop:
            return False
        return self._end(cst.ensure_type(method, cst.Attribute).value)

    def _end(self, node: cst.BaseExpression) -> bool:
        """Record that the patch of a name ends; return False if the name is not a patch."""
        patch = self.find_named(node)
        self._running = [running for running in self._running if running is not patch]
        return patch is not None

    def check_ends(self, function: cst.FunctionDef) -> None:
        """Refuse a function whose patch also affects later tests.

        Raises:
            CannotRewritePatch: nothing in the function stops it.
        """
        if self._running and "stopall" not in to_source(function):
            raise CannotRewritePatch(
                "a started patch is never stopped, so it also affects later tests",
                "Stop it in the test, or use it in a `with` statement, then run the command again.",
            )


def _get_owner(node: cst.BaseExpression, method: str) -> cst.BaseExpression | None:
    """Return the object whose method an expression calls without arguments, or None."""
    if not m.matches(node, _METHOD_CALL):
        return None
    function = cst.ensure_type(cst.ensure_type(node, cst.Call).func, cst.Attribute)
    return function.value if function.attr.value == method else None
