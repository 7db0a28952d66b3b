"""The values of pytest's fixtures that a plain-language test names, as its steps refer to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from llm_mock.errors import LLMMockError
from llm_mock.specs.models import PARTS, TestSpec
from llm_mock.specs.references import name_in, references_in
from llm_mock.specs.steps import every_step


def saved_of(spec: TestSpec, values: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON values of the fixtures that a test names. What is none, such as a connection, no step can refer to.

    Raises:
        LLMMockError: a fixture is not there, or a step refers to one that is no JSON value.
    """
    __tracebackhide__ = True
    saved = {}
    for name in spec.test.fixtures:
        if name not in values:
            how = "run it by pytest --llm, or give run_llm_test its value, fixtures={…}"
            raise LLMMockError(f"The test names the fixture {name!r}, which only pytest has: {how}.")
        try:
            saved[name] = to_jsonable_python(values[name])
        except (PydanticSerializationError, ValueError, RecursionError):
            if name in _referred_to(spec):
                what = f"the fixture {name!r} is of type {type(values[name]).__name__}, and tools are given JSON"
                raise LLMMockError(f"${{{name}}} cannot be put into a step: {what}.") from None
    return saved


def _referred_to(spec: TestSpec) -> set[str | None]:
    steps = [step for part in PARTS for _, _, step in every_step(getattr(spec, part), (part,))]
    return {name_in(reference, spec.test.fixtures) for step in steps for _, reference in references_in(step.args)}
