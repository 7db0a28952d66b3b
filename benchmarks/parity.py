"""Compatibility with other projects, measured on their own files, none of which is copied.

    git clone https://github.com/sbroenne/pytest-aitest
    git clone https://github.com/vladkesler/initrunner
    git clone https://github.com/muellarn/llm-pytest
    python benchmarks/parity.py .

The argument is the folder of the clones; one that is not there is left out. The recorded runs in
the reports of pytest-aitest are asked the same questions by its own `AgentResult` and by ours. Of
the others each version of each file in the whole history counts, once.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from llm_mock.agents.result import AgentResult, ToolCallRecord, Turn
from llm_mock.boundaries.llm.parts import create_usage
from llm_mock.errors import LLMMockError
from llm_mock.specs import load_spec
from llm_mock.suites import load_role, load_suite

NEVER_CALLED = "no_such_tool"


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("| files | | of | the same |\n|---|---|---|---|")
    for name, measured in (
        ("pytest-aitest", _runs),
        ("initrunner", _initrunner),
        ("llm-pytest", _llm_pytest),
    ):
        if (folder / name).is_dir():
            for what, counted, same, others in measured(folder / name):
                print(f"| {name} | {what} | {counted:,} | {same:,} |")
                print("".join(f"    {other}\n" for other in others), end="", file=sys.stderr)


Row = tuple[str, int, int, list[str]]


def _runs(clone: Path) -> Iterator[Row]:
    """Each recorded run, asked by both sides."""
    module = _module(clone / "src" / "pytest_aitest" / "core" / "result.py")
    reports = [
        clone / "docs" / "demo" / "hero-report.json",
        *sorted((clone / "tests/fixtures/reports").glob("*.json")),
    ]
    runs, asked, different = 0, 0, []
    for report in reports:
        recorded = [
            test["agent_result"]
            for test in json.loads(report.read_text())["tests"]
            if test["agent_result"]
        ]
        names = {
            call["name"]
            for data in recorded
            for turn in data["turns"]
            for call in turn["tool_calls"]
        }
        for data in recorded:
            runs += 1
            theirs, ours = (
                _answers(result, names) for result in (_theirs(module, data), _ours(data))
            )
            asked += len(theirs)
            different += [
                (
                    f"{report.name}, run {runs}: {question}: {theirs[question]!r}, here "
                    f"{ours.get(question)!r}"
                )
                for question in theirs
                if theirs[question] != ours.get(question)
            ]
    yield f"questions to {runs} recorded runs", asked, asked - len(different), different


def _answers(result: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return what a result answers to questions that both sides can be asked."""
    answers = {
        "success": bool(result),
        "error": result.error,
        "final_response": result.final_response,
        "tool_names_called": sorted(result.tool_names_called),
        "all_tool_calls": [_call(call) for call in result.all_tool_calls],
    }
    for name in (*sorted(names), NEVER_CALLED):
        answers[f"tool_was_called({name})"] = bool(result.tool_was_called(name))
        answers[f"tool_call_count({name})"] = result.tool_call_count(name)
        answers[f"tool_calls_for({name})"] = calls = [
            _call(call) for call in result.tool_calls_for(name)
        ]
        for argument in sorted({argument for _, arguments, *_ in calls for argument in arguments}):
            answers[f"tool_call_arg({name}, {argument})"] = result.tool_call_arg(name, argument)
    return answers


def _call(call: Any) -> tuple[Any, ...]:
    return call.name, call.arguments, call.result, call.error


def _theirs(module: Any, data: dict[str, Any]) -> Any:
    turns = []
    for turn in data["turns"]:
        calls = [
            module.ToolCall(
                **{key: call.get(key) for key in ("name", "arguments", "result", "error")}
            )
            for call in turn["tool_calls"]
        ]
        turns.append(module.Turn(turn["role"], turn["content"], calls))
    return module.AgentResult(turns, data["success"], data["error"])


def _ours(data: dict[str, Any]) -> AgentResult:
    turns = []
    for turn in data["turns"]:
        if turn["role"] == "assistant":
            calls = tuple(
                ToolCallRecord(call["name"], call["arguments"], call["result"], call["error"])
                for call in turn["tool_calls"]
            )
            turns.append(Turn(turn["content"], calls, create_usage(0, 0)))
    return AgentResult("agent", "model", "prompt", tuple(turns), data["success"], data["error"])


def _initrunner(clone: Path) -> Iterator[Row]:
    kinds: dict[str, tuple[Callable[[Any], bool], Callable[[Path], object]]] = {
        "roles (kind: Agent) that load": (lambda data: data.get("kind") == "Agent", load_role),
        "flat agents that load": (
            lambda data: {"name", "prompt"} <= {*data} and "kind" not in data,
            load_role,
        ),
        "suites that load": (lambda data: data.get("kind") == "TestSuite", load_suite),
    }
    yield from _loaded(clone, kinds)


def _llm_pytest(clone: Path) -> Iterator[Row]:
    yield from _loaded(
        clone,
        {"tests that load": (lambda data: {"test", "steps", "verdict"} <= {*data}, load_spec)},
    )


def _loaded(clone: Path, kinds: dict[str, Any]) -> Iterator[Row]:
    found, loaded, others = Counter[str](), Counter[str](), dict[str, list[str]]()
    with tempfile.TemporaryDirectory() as folder:
        for path, data, text in _files(clone):
            for kind, (is_one, load) in kinds.items():
                if is_one(data):
                    found[kind] += 1
                    (file := Path(folder) / Path(path).name).write_text(text)
                    try:
                        load(file)
                        loaded[kind] += 1
                    except LLMMockError as error:
                        others.setdefault(kind, []).append(f"{path}: {error}")
    for kind in kinds:
        yield kind, found[kind], loaded[kind], others.get(kind, [])


def _files(clone: Path) -> Iterator[tuple[str, dict[Any, Any], str]]:
    """Yield the path, content and text of each version of each YAML file that holds a mapping."""
    versions: dict[str, str] = {}
    for line in _git(
        clone, "log", "--all", "--format=", "--raw", "--no-abbrev", "--diff-merges=separate"
    ).splitlines():
        meta, _, path = line.partition("\t")
        if path.endswith((".yaml", ".yml")) and (version := meta.split()[3]).strip("0"):
            versions.setdefault(version, path)
    for version, path in versions.items():
        text = _git(clone, "cat-file", "blob", version)
        try:
            data = yaml.safe_load(text)
        except yaml.YAMLError:
            continue
        if isinstance(data, dict):
            yield path, data, text


def _git(clone: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(clone), *words], capture_output=True, check=True)
    return done.stdout.decode(errors="replace")


def _module(path: Path) -> ModuleType:
    spec: Any = importlib.util.spec_from_file_location("theirs", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["theirs"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
