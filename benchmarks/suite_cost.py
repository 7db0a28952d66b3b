"""The time of a dry run of a suite as a process, compared with InitRunner and promptfoo."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from environment import environment
from table import Row

CASES, ROUNDS = 1_000, 3
PROBE = Path(__file__).with_name("probe_process.py")

ROLE = """\
apiVersion: initrunner/v1
kind: Agent
metadata:
  name: clerk
spec:
  role: You are a clerk who looks up numbers.
  model:
    provider: openai
    name: gpt-4o-mini
"""

SUITE = """\
apiVersion: initrunner/v1
kind: TestSuite
metadata:
  name: numbers
cases:
"""

CASE = r"""
  - name: number-{number:04}
    prompt: "Who has the number {number}?"
    expected_output: "The line of customer {number} is 555-{number:04}, day and night."
    assertions:
      - type: contains
        value: "customer {number} "
      - type: not_contains
        value: "error"
      - type: regex
        pattern: '\b\d{{3}}-\d{{4}}\b'
"""

PROMPTFOO_SUITE = """\
prompts: ["{{answer}}"]
providers: [echo]
tests:
"""

PROMPTFOO_CASE = r"""
  - description: number-{number:04}
    vars:
      answer: "The line of customer {number} is 555-{number:04}, day and night."
    assert:
      - type: contains
        value: "customer {number} "
      - type: not-contains
        value: "error"
      - type: regex
        value: '\b\d{{3}}-\d{{4}}\b'
"""


@dataclass(frozen=True)
class Contestant:
    """A program that runs suites.

    Args:
        command: what starts it.
        arguments: its arguments; `{cases}` stands for the number of cases.
        passed: what it prints when all cases passed, in the same way.
    """

    command: tuple[str, ...]
    arguments: str
    passed: str

    def version(self, folder: Path) -> str | None:
        """Return the version that it tells; None where it is not installed or does not start."""
        if shutil.which(self.command[0]) is None:
            return None
        command = [*self.command, "--version"]
        done = subprocess.run(
            command, cwd=folder, env=_environment(folder), capture_output=True, text=True
        )
        return None if done.returncode else done.stdout.split()[-1]

    def cost(self, folder: Path, cases: int) -> Cost:
        """Run the cases, which must pass."""
        command = [*self.command, *self.arguments.format(cases=cases).split()]
        probe = [sys.executable, "-IS", str(PROBE), *command]
        found = json.loads(subprocess.check_output(probe, cwd=folder, env=_environment(folder)))
        if found["status"] or self.passed.format(cases=cases) not in found["output"]:
            raise RuntimeError(f"{' '.join(command)} failed:\n{found['output']}{found['errors']}")
        return Cost(found["seconds"], found["peak"])


@dataclass(frozen=True)
class Cost:
    """The seconds and the peak memory in bytes of a process."""

    seconds: float
    peak: float

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s, {self.peak / 1e6:.0f} MB"


SUITE_ARGUMENTS = "test role.yaml --suite suite-{cases}.yaml --dry-run"
OURS = Contestant((sys.executable, "-m", "llm_mock"), SUITE_ARGUMENTS, "{cases}/{cases} passed")
PEERS = {
    "InitRunner": Contestant(("initrunner",), SUITE_ARGUMENTS, "{cases}/{cases} passed"),
    "promptfoo": Contestant(
        ("promptfoo",),
        (
            "eval -c promptfoo-{cases}.yaml --no-cache --no-share --no-write --no-table "
            "--no-progress-bar"
        ),
        "{cases:,} passed",
    ),
}


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        versions = {peer: contestant.version(folder) for peer, contestant in PEERS.items()}
        for cases in (1, CASES):
            _write(folder, cases)
            costs = _least_costs(folder, cases, [peer for peer in PEERS if versions[peer]])
            what = f"a dry run of a suite: {cases:,} {'cases' if cases > 1 else 'case'}, from start to end"  # noqa: E501
            yield from (_row(what, costs, peer, versions[peer]) for peer in PEERS)


def _row(what: str, costs: dict[str, Cost], peer: str, version: str | None) -> Row:
    ours = costs[""]
    if version is None:
        return Row(what, str(ours), f"{peer}: not installed, or does not start")
    return Row(
        what, str(ours), f"{peer} {version}: {costs[peer]}", ours.seconds / costs[peer].seconds
    )


def _write(folder: Path, cases: int) -> None:
    (folder / "role.yaml").write_text(ROLE)
    for name, head, case in (
        ("suite", SUITE, CASE),
        ("promptfoo", PROMPTFOO_SUITE, PROMPTFOO_CASE),
    ):
        text = head + "".join(case.lstrip("\n").format(number=number) for number in range(cases))
        (folder / f"{name}-{cases}.yaml").write_text(text)


def _least_costs(folder: Path, cases: int, peers: list[str]) -> dict[str, Cost]:
    """Return the least time of each over several rounds; ours is named ""."""
    contestants = {"": OURS} | {peer: PEERS[peer] for peer in peers}
    costs: dict[str, list[Cost]] = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, contestant in contestants.items():
            costs[name].append(contestant.cost(folder, cases))
    return {name: _least(found) for name, found in costs.items()}


def _least(costs: list[Cost]) -> Cost:
    return Cost(min(cost.seconds for cost in costs), min(cost.peak for cost in costs))


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of all contestants, which keeps promptfoo off the network."""
    silent = {
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_CONFIG_DIR": str(folder),
    }
    key = {"OPENAI_API_KEY": "none"}  # InitRunner wants one for a dry run too
    return environment(folder) | silent | key


if __name__ == "__main__":
    from table import markdown

    print(markdown(rows()))
