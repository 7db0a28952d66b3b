"""The settings of pytest that `llm-mock test` applies; its options override them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path

from llm_mock.cassettes import RECORD_MODES, RecordMode
from llm_mock.cost.budgets import parse_budget_setting
from llm_mock.cost.prices import Prices, parse_prices
from llm_mock.suites.role import Role, load_role
from llm_mock.suites.role_settings import INI, find_roles
from llm_mock.suites.schema import TestSuiteDefinition
from llm_mock.support.pytest_settings import ProjectSettings, find_settings


@dataclass(frozen=True)
class TestSettings:
    """The settings of the project in the current folder."""

    __test__ = False

    project: ProjectSettings

    @property
    def judge(self) -> str | None:
        """The judge of suites and assertions that name none."""
        return self.project.get_text("llm_mock_judge") or None

    @property
    def files_in(self) -> Path | None:
        """The folder of the files that cases may name."""
        name = self.project.get_text("llm_mock_files_in")
        return self.project.folder / name if name else None

    @property
    def max_cost(self) -> Decimal | None:
        """The US dollars that the run may cost."""
        words = self.project.get_words("llm_mock_budget")
        return parse_budget_setting(words).cost

    @property
    def prices(self) -> Prices:
        """The prices of models."""
        return parse_prices(self.project.get_lines("llm_mock_prices"))

    @property
    def record(self) -> RecordMode | None:
        """The record mode of cassettes; None if there is no setting."""
        if "llm_mock_record" not in self.project.values:
            return None
        mode = self.project.get_choice("llm_mock_record", RECORD_MODES)
        return next(known for known in RECORD_MODES if known == mode)

    @cached_property
    def _role_files(self) -> dict[Path, Path | None]:
        return find_roles(self.project.get_lines(INI), self.project.folder.resolve())

    def find_role(self, suite: TestSuiteDefinition, path: Path) -> Role | None:
        """Return the role of a suite; None if the suite names what answers, or nothing does."""
        has_roles = suite.matrix is not None and "roles" in suite.matrix.axes
        if suite.target is not None or has_roles:
            return None
        role = self._role_files.get(path.resolve())
        return None if role is None else load_role(role)


def read_test_settings() -> TestSettings:
    """Return the settings of the project in the current folder.

    Raises:
        InvalidFile: the configuration file of pytest cannot be read.
    """
    return TestSettings(find_settings(Path.cwd()))
