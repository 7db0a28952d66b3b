"""A recorded answer is the provider's: unmocked, while recording, and replayed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cassettes.fidelity.run import KEY, WAYS
from tests.cassettes.fidelity.scenarios import all_scenarios, scenario_path
from tests.cassettes.fidelity.server import SECRETS, served

ROOT = Path(__file__).parents[2]


WAYS_TO_ASK = WAYS[::3]
"""A synchronous and an asynchronous one, because each has its own answers at the server."""


@dataclass(frozen=True)
class Runs:
    """Results of every scenario by mode and way, and the folder with the cassettes of each way."""

    seen: dict[str, Any]
    folder: Path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Run every scenario in each mode; a process runs all ways, because it takes long to start."""
    folder = tmp_path_factory.mktemp("fidelity")
    answers = {
        scenario_path(name, is_async): scenario.served
        for name, scenario in all_scenarios().items()
        for is_async in (False, True)
        if scenario.served
    }
    with served(answers) as server:
        without = seen("without", folder, server.url)
        server.asked.clear()
        recording = seen("record", folder, server.url)
    replayed = seen("replay", folder, server.url)
    return Runs({"without": without, "record": recording, "replay": replayed}, folder)


@pytest.mark.parametrize("way", WAYS_TO_ASK)
def test_nothing_public_differs_from_the_same_call_without_us(way: str, runs: Runs) -> None:
    without = runs.seen["without"][way]
    assert list(differences(without, runs.seen["record"][way])) == []
    assert list(differences(without, runs.seen["replay"][way])) == []
    cassettes = "".join(path.read_text() for path in (runs.folder / way).glob("*.yaml"))
    assert [secret for secret in (KEY, *SECRETS, *SECRETS.values()) if secret in cassettes] == []


def seen(mode: str, folder: Path, url: str) -> Any:
    """Return what a process of its own sees of every scenario, by way."""
    ours = ("PFLOW_TESTING", "LLM_MOCK")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment |= {"NO_PROXY": "127.0.0.1", "LLM_USER_PATH": str(folder), "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [sys.executable, "-m", "tests.cassettes.fidelity.run", mode, folder, url, *WAYS_TO_ASK],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    return json.loads(process.stdout)


def differences(one: Any, other: Any, where: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            yield from differences(one.get(name), other.get(name), f"{where}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{where}[{number}]")
    elif one != other or type(one) is not type(other):
        yield f"{where}: {one!r:.400} | {other!r:.400}"
