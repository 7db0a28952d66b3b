"""A project with plain-language tests and a plugin, which writes down what happens."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from llm_mock.specs import Verdict, load_spec, run_llm_test
from llm_mock.specs.drivers import DryRun

PLUGIN = '''\
import asyncio
import os
from pathlib import Path
from typing import Any

from llm_mock.specs import LLMPlugin


class ShopPlugin(LLMPlugin):
    """A shop. Its methods write their names into the file `journal`."""

    name = "shop"

    def __init__(self) -> None:
        self.sold: list[str] = []
        self.attempts = 0

    def _note(self, event: str) -> None:
        with Path("journal").open("a") as journal:
            print(event, file=journal)

    async def open(self) -> dict[str, Any]:
        self._note("open")
        return {"name": "Corner shop", "key": "k-1", "till": [10, 20]}

    async def close(self, key: str = "") -> str:
        self._note(f"close {key}".strip())
        return "closed"

    async def sell(self, item: str) -> dict[str, Any]:
        self._note(f"sell {item}")
        self.sold.append(item)
        return {"item": item, "number": len(self.sold)}

    async def all_sold(self) -> list[str]:
        return self.sold

    async def refuse(self, reason: str = "no") -> str:
        self._note("refuse")
        raise ValueError(f"The shop refuses: {reason}")

    async def busy(self, times: int) -> str:
        self.attempts += 1
        self._note(f"attempt {self.attempts}")
        if self.attempts <= times:
            raise ValueError("Too busy")
        return "served"

    async def wait_for_ever(self) -> None:
        self._note("wait")
        await asyncio.sleep(600)

    async def burn_down(self) -> None:
        self._note("burn down")
        os._exit(3)

    async def variable(self, name: str) -> dict[str, str]:
        return {"password": "swordfish-99", "value": name}

    async def cleanup(self) -> None:
        self._note("cleanup")
'''


class Project:
    """A folder that is the root of a project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tests = root / "tests" / "llm"
        (self.tests / "plugins").mkdir(parents=True)
        (root / "pyproject.toml").write_text("")
        (self.tests / "plugins" / "shop.py").write_text(PLUGIN)

    def write(self, parts: str, timeout: int = 60) -> Path:
        """Write a test with these parts (setup, steps, teardown)."""
        path = self.tests / "test_shop.yaml"
        path.write_text(
            f"test: {{name: Shop, description: Sells things, timeout: {timeout}}}\n"
            f"{textwrap.dedent(parts)}\n"
            "verdict: {pass_if: it is sold, fail_if: it is not}\n"
        )
        return path

    def run(self, parts: str, **options: Any) -> Verdict:
        """Run such a test; by default dry."""
        path = self.write(parts)
        return run_llm_test(load_spec(path), path, **{"driver": DryRun(), **options})

    @property
    def journal(self) -> list[str]:
        """Return what happened, in order."""
        path = self.root / "journal"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def statuses(verdict: Verdict) -> list[tuple[str, str]]:
    """Return the name and the status of each step."""
    return [(step.name, step.status) for step in verdict.steps]
