"""Load plain-language tests from YAML files."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

from llm_mock.specs.models import PARTS, Step, TestSpec
from llm_mock.specs.references import (
    ANY_STORED,
    STORED,
    describe_invalid_reference,
    find_references,
)
from llm_mock.specs.servers import find_server_problems
from llm_mock.specs.step_checks import dump_check, find_check_problems
from llm_mock.specs.steps import STORE_TOOL, Location, iterate_steps
from llm_mock.support import yaml_files
from llm_mock.support.text import shorten, shorten_name

MAX_STEPS = 10_000
"""The maximum number of steps in each list, counting repetitions."""
_SHAPE = "a plain-language test is a mapping with test (name), steps and verdict (pass_if, fail_if)"
_QUOTES_HINT = "tools accept only JSON values, so put it in quotes"
_CALL_FIELDS = ("args", "checks", "retry", "retry_delay", "timeout")

Problem = tuple[Location, str]


def load_spec(path: str | Path) -> TestSpec:
    """Read a plain-language test.

    Args:
        path: a YAML file with `test`, `steps` and `verdict`, and perhaps `setup` and `teardown`.

    Raises:
        InvalidFile: it cannot be read, or is not a valid test; the message names the line of each
            problem.
    """
    __tracebackhide__ = True
    document = yaml_files.load(Path(path))
    data = document.data
    if not isinstance(data, Mapping):
        content = "the file is empty" if data is None else f"this is {shorten(data)}"
        raise document.error(f"{content}; {_SHAPE}")
    if data.get("kind") == "TestSuite":
        problem = "this is a suite (kind: TestSuite): run it with `llm-mock test`"
        raise document.error(f"{problem}; {_SHAPE}", ["kind"])
    spec = document.as_model(TestSpec)
    found = chain(find_server_problems(spec, document.path), _find_problems(spec))
    problems = list(islice(found, yaml_files.MOST_PROBLEMS))
    if problems:
        raise document.errors(problems)
    # Private attributes of the model, so that they are not keys of the file.
    spec._path = document.path
    locations: list[Location] = [("test",), ("verdict",)]
    for part in PARTS:
        for location, _, _ in iterate_steps(getattr(spec, part), (part,)):
            locations.append(location)
    spec._lines = {location: document.line_of(location) for location in locations}
    return spec


def _count_steps(steps: Sequence[Step]) -> int:
    """Return the number of steps, counting repetitions."""
    total = 0
    for step in steps:
        nested = _count_steps(step.steps) if step.steps else 1
        total += step.repeat * nested
    return total


def _find_problems(spec: TestSpec) -> Iterator[Problem]:
    """Yield the problems that the types of the fields do not reveal, with their locations."""
    saved = dict.fromkeys(spec.test.fixtures)  # in their order, for messages
    # In the order of their runs, so that each step can refer to what earlier ones save.
    for part in PARTS:
        steps = getattr(spec, part)
        number = _count_steps(steps)
        if number > MAX_STEPS:
            total = shorten_name(f"{number:,}")
            problem = f"{total} steps, counting repetitions; at most {MAX_STEPS:,} are supported"
            yield (part,), problem
        for location, _, step in iterate_steps(steps, (part,)):
            for inner, problem in _find_step_problems(step, saved):
                yield location + inner, problem
            saved.update(dict.fromkeys(_get_saved_names(step)))


def _get_saved_names(step: Step) -> Iterator[str]:
    """Yield the names by which later steps can refer to the results of a step."""
    if step.save_as:
        yield step.save_as
    if step.tool == STORE_TOOL:
        name = step.args.get("name")
        has_reference = any(find_references(name))
        yield ANY_STORED if has_reference else f"{STORED}{name}"


def _find_step_problems(step: Step, saved: Collection[str]) -> Iterator[Problem]:
    if step.tool and step.steps:
        yield (
            (),
            "a step cannot have both tool and steps; make the call to "
            f"{shorten_name(step.tool)!r} the first nested step",
        )
    if not any((step.tool, step.steps, step.expect, step.analyze)):
        yield (), "this step does nothing; add tool, steps, expect or analyze"
    if not step.tool:
        # Even with default values: whoever writes these fields expects a call.
        yield from _find_useless_fields(step)
    if step.save_as and not step.save_as.isidentifier():
        yield (
            ("save_as",),
            f"save_as is {shorten(step.save_as)}; use a name of letters, digits and _, so that "
            "${name} can refer to it",
        )
    yield from find_check_problems(step)
    yield from _find_non_json(step.args, ("args",))
    yield from _find_reference_problems(step, saved)


def _find_reference_problems(step: Step, saved: Collection[str]) -> Iterator[Problem]:
    checks = [dump_check(check) for check in step.checks]
    references = [*find_references(step.args, ("args",)), *find_references(checks, ("checks",))]
    for location, reference in references:
        problem = describe_invalid_reference(reference, saved)
        if problem:
            yield location, problem


def _find_useless_fields(step: Step) -> Iterator[Problem]:
    for name in _CALL_FIELDS:
        if name in step.model_fields_set:
            yield (name,), f"{name} has no effect without a tool; add a tool, or remove {name}"


def _find_non_json(value: object, location: Location) -> Iterator[Problem]:
    """Yield the values of YAML that JSON does not have, such as dates."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                text = shorten_name(repr(key))
                yield (*location, key), f"the key {text} is not text; {_QUOTES_HINT}"
            yield from _find_non_json(item, (*location, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _find_non_json(item, (*location, position))
    # YAML has `.nan` and `.inf`.
    elif isinstance(value, float) and not math.isfinite(value):
        yield (
            location,
            f"{value} is not a valid JSON number; use a finite number, or null",
        )
    elif not isinstance(value, (str, int, float, type(None))):
        text = shorten_name(str(value))
        kind = type(value).__name__
        yield location, f"YAML reads {text} as {kind}; {_QUOTES_HINT}"
