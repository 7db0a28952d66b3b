"""What the whole project answers: the hook `pytest_llm_mock_configure` of its conftests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.errors import LLMMockError
from llm_mock.plugin.run import run_of

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.get_model import LLMMock

ASKED = pytest.StashKey[set[Any]]()


class HookSpecs:
    """The hook that the plugin calls."""

    @staticmethod
    @pytest.hookspec
    def pytest_llm_mock_configure(config: pytest.Config, mock: LLMMock) -> None:
        """Say in a conftest what is always answered, outside tests too.

        Called once a run (with pytest-xdist once in each worker) for each conftest or plugin that has it, that of an
        outer folder first, so that an inner one has the last word. Standing answers only: `mock.set`,
        `mock.set_error`, `mock.set_unknown`. What a test configures goes before them.

        Args:
            config: the pytest configuration.
            mock: the mock of the whole run.
        """


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(HookSpecs)


def pytest_plugin_registered(manager: pytest.PytestPluginManager) -> None:
    """A conftest of a subfolder is loaded when the run is under way."""
    config = getattr(manager, "llm_mock_config", None)
    if config is not None:
        configure_standing_answers(config)


def configure_standing_answers(config: pytest.Config) -> None:
    """Call each `pytest_llm_mock_configure` once, that of an outer folder before that of an inner one."""
    config.pluginmanager.llm_mock_config = config  # type: ignore[attr-defined]
    run = run_of(config)
    asked = config.stash.setdefault(ASKED, set())
    for implementation in config.hook.pytest_llm_mock_configure.get_hookimpls():
        if run.pending is None or implementation.function in asked:
            continue
        asked.add(implementation.function)
        arguments = {"config": config, "mock": run.mock}
        try:
            implementation.function(*(arguments[name] for name in implementation.argnames))
        except LLMMockError as error:
            raise pytest.UsageError(str(error)) from None
