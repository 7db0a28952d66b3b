"""Reads plain-language tests from YAML files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from llm_mock.errors import InvalidFile
from llm_mock.specs import explain
from llm_mock.specs.models import Step, TestSpec
from llm_mock.specs.references import name_in, references_in
from llm_mock.support import yaml_files

Place = tuple[str | int, ...]
"""Keys and positions that lead to a part of a file."""
PARTS = ("setup", "steps", "teardown")
"""The lists of steps, in the order in which they are done."""
MOST_STEPS = 10_000
"""How many steps each of them may have when what is repeated is written out."""
_ONLY_OF_CALLS = ("args", "retry", "retry_delay", "timeout")


def load_spec(path: str | Path) -> TestSpec:
    """Read a plain-language test.

    Args:
        path: a YAML file with `test`, `steps` and `verdict`, and perhaps `setup` and `teardown`.

    Raises:
        InvalidFile: it cannot be read, or is no such test; the message names the line of each problem.
    """
    __tracebackhide__ = True
    document = yaml_files.load(Path(path))
    if not isinstance(document.data, Mapping):
        raise document.error(explain.no_spec(document.data))
    if document.data.get("kind") == "TestSuite":
        raise document.error(explain.suite_instead(), ["kind"])
    spec = document.as_model(TestSpec)
    problems = [str(document.error(problem, place)) for place, problem in _problems(spec)]
    if problems:
        raise InvalidFile("\n".join(problems))
    spec._path = document.path
    places = [("test",), ("verdict",), *(place for part in PARTS for place, _ in _steps(getattr(spec, part), (part,)))]
    spec._lines = {place: document.line_of(place) for place in places}
    return spec


def is_spec(data: Any) -> bool:
    """Whether the content of a YAML file means to be a plain-language test: it has `test` and `verdict`."""
    return isinstance(data, Mapping) and "test" in data and "verdict" in data


def _steps(steps: Sequence[Step], place: Place) -> Iterator[tuple[Place, Step]]:
    """All steps with their places, in the order in which they begin."""
    for position, step in enumerate(steps):
        yield (*place, position), step
        yield from _steps(step.steps, (*place, position, "steps"))


def _written_out(steps: Sequence[Step]) -> int:
    """How many steps there are with every repetition."""
    return sum(step.repeat * (_written_out(step.steps) if step.steps else 1) for step in steps)


def _problems(spec: TestSpec) -> Iterator[tuple[Place, str]]:
    saved: list[str] = []
    for part in PARTS:
        if (number := _written_out(getattr(spec, part))) > MOST_STEPS:
            yield (part,), explain.too_many_steps(number, MOST_STEPS)
        for place, step in _steps(getattr(spec, part), (part,)):
            yield from ((place + inner, problem) for inner, problem in _problems_of(step))
            yield from ((place + inner, problem) for inner, problem in _unknown(step, saved))
            if step.save_as:
                saved.append(step.save_as)


def _problems_of(step: Step) -> Iterator[tuple[Place, str]]:
    if step.tool and step.steps:
        yield (), explain.tool_and_steps(step.tool)
    if not (step.tool or step.steps or step.expect or step.analyze):
        yield (), explain.empty_step()
    if not step.tool:
        given = [name for name in _ONLY_OF_CALLS if name in step.model_fields_set]
        yield from (((name,), explain.only_with_tool(name)) for name in given)
    if step.save_as and not step.save_as.isidentifier():
        yield ("save_as",), explain.no_identifier(step.save_as)
    yield from _no_json(step.args, ("args",))


def _no_json(value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """What YAML can say and JSON, which tools are given, cannot."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                yield (*place, key), explain.key_is_no_text(key)
            yield from _no_json(item, (*place, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _no_json(item, (*place, position))
    elif not isinstance(value, (str, int, float, type(None))) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        yield place, explain.no_json(value)


def _unknown(step: Step, saved: Sequence[str]) -> Iterator[tuple[Place, str]]:
    for place, reference in references_in(step.args, ("args",)):
        name = name_in(reference)
        if name is None:
            yield place, explain.no_reference(reference)
        elif name not in saved:
            yield place, explain.nothing_saved(reference, name, saved)
