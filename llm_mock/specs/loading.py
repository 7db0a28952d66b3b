"""Reads plain-language tests from YAML files."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from llm_mock.specs.models import PARTS, Step, TestSpec
from llm_mock.specs.references import ANY_STORED, STORED, problem_with, references_in
from llm_mock.specs.steps import STORE, Place, every_step
from llm_mock.support import yaml_files
from llm_mock.support.text import shorten, shorten_name

MOST_STEPS = 10_000
"""How many steps each list may have, every repetition counted."""
_SHAPE = "a plain-language test is a mapping with test (name), steps and verdict (pass_if, fail_if)"
_IN_QUOTES = "tools are given JSON, so put it in quotes"
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
        found = "the file is empty" if document.data is None else f"this is {shorten(document.data, 60)}"
        raise document.error(f"{found}; {_SHAPE}")
    if document.data.get("kind") == "TestSuite":
        raise document.error(f"this is a suite (kind: TestSuite), which `llm-mock test` runs; {_SHAPE}", ["kind"])
    spec = document.as_model(TestSpec)
    if problems := list(islice(_problems(spec), yaml_files.MOST_PROBLEMS)):
        raise document.errors(problems)
    spec._path = document.path
    places = [place for part in PARTS for place, _, _ in every_step(getattr(spec, part), (part,))]
    spec._lines = {place: document.line_of(place) for place in (("test",), ("verdict",), *places)}
    return spec


def is_spec(data: Any) -> bool:
    """Whether the content of a YAML file means to be a plain-language test: it has `test` and `verdict`."""
    return isinstance(data, Mapping) and "test" in data and "verdict" in data


def _count_repeated(steps: Sequence[Step]) -> int:
    """How many steps there are with every repetition."""
    return sum(step.repeat * (_count_repeated(step.steps) if step.steps else 1) for step in steps)


def _problems(spec: TestSpec) -> Iterator[tuple[Place, str]]:
    saved: dict[str, None] = dict.fromkeys(spec.test.fixtures)
    for part in PARTS:
        if (number := _count_repeated(getattr(spec, part))) > MOST_STEPS:
            shown = shorten_name(f"{number:,}")
            yield (part,), f"with every repeat these are {shown} steps; {MOST_STEPS:,} is the most"
        for place, _, step in every_step(getattr(spec, part), (part,)):
            yield from ((place + inner, problem) for inner, problem in _problems_of(step, saved))
            saved |= dict.fromkeys(_kept(step))


def _kept(step: Step) -> Iterator[str]:
    """The names under which later steps can refer to what a step gives."""
    if step.save_as:
        yield step.save_as
    if step.tool == STORE:
        name = step.args.get("name")
        yield ANY_STORED if any(references_in(name)) else f"{STORED}{name}"


def _problems_of(step: Step, saved: Collection[str]) -> Iterator[tuple[Place, str]]:
    if step.tool and step.steps:
        what_to_do = f"make the call of {shorten_name(step.tool)!r} the first of the nested steps"
        yield (), f"a step has tool or steps, not both; {what_to_do}"
    if not (step.tool or step.steps or step.expect or step.analyze):
        yield (), "there is nothing to do in this step; give it tool, steps, expect or analyze"
    for name in _ONLY_OF_CALLS:
        if not step.tool and name in step.model_fields_set:
            yield (name,), f"{name} says how a tool is called, and this step has no tool"
    if step.save_as and not step.save_as.isidentifier():
        rule = "give a name of letters, digits and _, which ${name} can refer to"
        yield ("save_as",), f"save_as is {shorten(step.save_as)}; {rule}"
    yield from _not_json(step.args, ("args",))
    for place, reference in references_in(step.args, ("args",)):
        if problem := problem_with(reference, saved):
            yield place, problem


def _not_json(value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """What YAML has and JSON has not: tools are given JSON."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                yield (*place, key), f"the key {shorten_name(repr(key))} is no text; {_IN_QUOTES}"
            yield from _not_json(item, (*place, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _not_json(item, (*place, position))
    elif isinstance(value, float) and not math.isfinite(value):
        yield place, f"{value} is no number of JSON, which tools are given; write a finite one, or null"
    elif not isinstance(value, (str, int, float, type(None))):
        yield place, f"{shorten_name(str(value))} is read as {type(value).__name__}; {_IN_QUOTES}"
