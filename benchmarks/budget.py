"""Compare what each kind of call executes with `budget.json`; fail when it grew by more than 1 %.

    python benchmarks/budget.py [--update]

The figures are counts of bytecode instructions and calls, which do not depend on how busy the
machine is. Each is divided by the count of the same call without the mock, where there is one. They
depend on the version of Python, so `budget.json` names the one that counts. `--update` writes the
current figures.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from environment import environment

FILE = Path(__file__).with_name("budget.json")
TOLERANCE = 1.01
"""The growth that is not reported."""
Counts = dict[str, list[int]]

GOALS: dict[str, float] = {
    "text": 1.5,
    "data": 1.7,
    "schema": 0.25,
    "create and prompt": 0.2,
    "text, known": 2.5,
    "turn 40 / turn 1, added": 1.05,
    "among 1,000 standing with prompt=": 20_000,
    "among 1,000 queued with prompt=": 20_000,
    "stops, prompt": 12,
    "files, prompt": 8,
    "stops, get_model, prompt, text": 25,
    "files, get_model, prompt, text": 10,
    "stops, responses.create": 30,
    "files, responses.create": 15,
    "stops, recorded call": 60,
    "files, recorded call": 20,
    "stops, replayed call": 60,
    "files, replayed call": 20,
    "stops, suite case": 100,
    "files, suite case": 30,
    "calls added to a test / empty fixture": 1.3,
    "stops, empty test": 17,
    "files, empty test": 7,
}
"""The figures to reach, for information."""


def main(arguments: list[str]) -> int:
    """Count, print and compare; return 1 when a figure grew."""
    if arguments not in ([], ["--update"]):
        sys.exit(f"Unknown arguments {arguments}; expected --update or none.")
    python = ".".join(platform.python_version_tuple()[:2])
    budget = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"python": python}
    if budget["python"] != python:
        sys.exit(f"The budget was counted with Python {budget['python']}; this is {python}.")
    figures = measure()
    failures = []
    for name, figure in figures.items():
        allowed = budget.get("figures", {}).get(name)
        goal = GOALS.get(name)
        print(f"{name:45} {figure:>10}  budget {allowed}" + (f"  goal {goal}" if goal else ""))
        if allowed is None:
            failures.append(f"{name} has no budget: run `python benchmarks/budget.py --update`.")
        elif figure > allowed * TOLERANCE:
            failures.append(f"{name} grew from {allowed} to {figure}.")
    if arguments:
        written = {"python": python, "figures": figures}
        FILE.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
        return 0
    failures += [f"{name} was not counted." for name in {*budget.get("figures", {})} - {*figures}]
    print("\n".join(failures) or "No figure grew by more than 1 %.")
    return int(bool(failures))


def measure() -> dict[str, float]:
    """Return all figures: ratios to the same call without the mock, else instructions."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        modes = ("bare", "hand", "plugin", "http")
        runs = [pool.submit(_probe, Path(folder, mode), "probe_budget.py", mode) for mode in modes]
        empty_test = pool.submit(_probe, Path(folder, "empty"), "probe_empty.py").result()
        bare, hand, plugin, http = (run.result() for run in runs)
    figures: dict[str, float] = {}
    for kind, count in hand.items():
        figures[kind] = _ratio(count, bare[kind]) if kind in bare else count[0]
    for kind, count in plugin.items():
        base = bare.get(kind.partition(",")[0])
        figures[kind] = _ratio(count, base) if base else count[0]
    added = {turn: hand[turn][0] - bare[turn][0] for turn in ("turn 1", "turn 40")}
    figures["turn 40 / turn 1, added"] = round(added["turn 40"] / added["turn 1"], 3)
    for kind, count in http.items():
        if kind.endswith(", ours"):
            name = kind.removesuffix(", ours")
            figures[f"{name} / fixed bytes"] = _ratio(count, http[f"{name}, floor"])
            figures[f"{name} / respx"] = _ratio(count, http[f"{name}, respx"])
        elif not kind.endswith((", floor", ", respx")):
            figures[kind] = count[0]
    for kind, count in empty_test.items():
        figures[kind] = count[0]
    long, short = figures.pop("100 kB of prompt"), figures.pop("5 B of prompt")
    figures["100 kB of prompt / 5 B"] = round(long / short, 3)
    return figures


def _ratio(count: list[int], base: list[int]) -> float:
    return round(count[0] / base[0], 3)


def _probe(folder: Path, probe: str, *arguments: str) -> Counts:
    """Run a probe in a fresh process in a folder of its own."""
    folder.mkdir()
    written = folder / "counts.json"
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(probe)), *arguments, str(written)],
        cwd=folder,
        env=environment(folder) | {"LLM_USER_PATH": str(folder)},
        capture_output=True,
        text=True,
    )
    if done.returncode or not written.exists():
        raise RuntimeError(f"{probe} {' '.join(arguments)} failed:\n{done.stdout}\n{done.stderr}")
    counts: Counts = json.loads(written.read_text(encoding="utf-8"))
    return counts


if __name__ == "__main__":
    if variable := next(filter(os.environ.get, ("LLM_MOCK", "PFLOW_TESTING")), None):
        sys.exit(f"Unset {variable}: it mocks `llm` in this process.")
    sys.exit(main(sys.argv[1:]))
