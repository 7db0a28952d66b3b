"""The hook `pytest_llm_mock_configure`, with which a conftest configures the whole run."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.errors import LLMMockError
from llm_mock.plugin.run import get_run

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.get_model import LLMMock

HOOK = "pytest_llm_mock_configure"
CALLED_HOOKS = pytest.StashKey[set[Any]]()
"""The implementations of `pytest_llm_mock_configure` that were called so far."""


class HookSpecs:
    """The specification of the hook that the plugin calls."""

    @staticmethod
    @pytest.hookspec
    def pytest_llm_mock_configure(config: pytest.Config, mock: LLMMock) -> None:
        """Configure the standing replies of the whole run, outside of tests too.

        Called once a run (with pytest-xdist once in each worker) for each conftest or plugin that
        has it. The hook of an outer folder is called first, so that an inner one can override it.
        Only standing replies are supported: `mock.set`, `mock.set_error`, `mock.set_unknown`. The
        configuration of a test takes precedence.

        Args:
            config: the pytest configuration.
            mock: the mock of the whole run.
        """


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the hook `pytest_llm_mock_configure`."""
    pluginmanager.add_hookspecs(HookSpecs)


def pytest_plugin_registered(plugin: object, manager: pytest.PytestPluginManager) -> None:
    """Call the hook of a conftest that is loaded during the run, such as that of a subfolder.

    Raises:
        pytest.UsageError: the conftest has a misspelt hook of this plugin, which is never called.
    """
    __tracebackhide__ = True
    for name, function in list(getattr(plugin, "__dict__", {}).items()):
        if name.startswith("pytest_llm_mock_") and name != HOOK and inspect.isfunction(function):
            # Else pluggy ends the run with an internal error for a conftest of a subfolder.
            for implementation in getattr(manager.hook, name).get_hookimpls():
                implementation.optionalhook = True
            # Imported late: it loads the redaction.
            from llm_mock.core.source_location import format_location

            code = function.__code__
            place = format_location((code.co_filename, code.co_firstlineno))
            raise pytest.UsageError(f"{place}: unknown hook {name}; did you mean {HOOK!r}?")
    config = getattr(manager, "llm_mock_config", None)
    if config is not None:
        call_configure_hooks(config)


def call_configure_hooks(config: pytest.Config) -> None:
    """Call each `pytest_llm_mock_configure` once, those of outer folders first.

    Raises:
        pytest.UsageError: a hook configures something that is not supported.
    """
    # `pytest_plugin_registered` has no other way to the configuration.
    config.pluginmanager.llm_mock_config = config  # type: ignore[attr-defined]
    run = get_run(config)
    called = config.stash.setdefault(CALLED_HOOKS, set())
    # Not `config.hook.pytest_llm_mock_configure()`: pluggy would call the innermost hook first, and
    # all of them again for each conftest that is loaded later.
    for implementation in config.hook.pytest_llm_mock_configure.get_hookimpls():
        if run.pending is None or implementation.function in called:
            continue
        called.add(implementation.function)
        arguments = {"config": config, "mock": run.mock}
        try:
            implementation.function(*(arguments[name] for name in implementation.argnames))
        except LLMMockError as error:
            raise pytest.UsageError(str(error)) from None
