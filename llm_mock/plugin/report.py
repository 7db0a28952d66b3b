"""What the pytest plugin registers where a report, or pytest's JUnit file, was asked for.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import pytest

from llm_mock import explain
from llm_mock.boundaries.activation import TestRun
from llm_mock.report.collect import CallCollector


def register(config: pytest.Config, run: TestRun) -> None:
    """Collect calls in this process, and write the report unless this is an xdist worker.

    Args:
        config: the pytest configuration.
        run: the run of the configuration.

    Raises:
        pytest.UsageError: a report cannot be written where it is wanted.
    """
    names = config.getoption("--llm-mock-report")
    collector = CallCollector(run.mock, detailed=bool(names), junit=bool(config.getoption("xmlpath", None)))
    config.pluginmanager.register(collector, "llm_mock_collector")
    if names and not hasattr(config, "workerinput"):
        from llm_mock.report.write import ReportWriter, check_paths, mistaken_for_tests

        for name in mistaken_for_tests(names, config):
            warning = pytest.PytestConfigWarning(explain.report_mistaken_for_tests(name))
            config.issue_config_time_warning(warning, stacklevel=2)
        config.pluginmanager.register(ReportWriter(check_paths(names), collector, run), "llm_mock_report")
