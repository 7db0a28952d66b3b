"""Convert the values of pytest's fixtures to JSON, so that steps can refer to them."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_core import PydanticSerializationError, to_jsonable_python

from llm_mock.errors import LLMMockError
from llm_mock.specs.models import PARTS, TestSpec
from llm_mock.specs.references import find_references, get_saved_name
from llm_mock.specs.step_checks import dump_check
from llm_mock.specs.steps import iterate_steps
from llm_mock.support.json_types import JSONObject


def convert_fixtures(spec: TestSpec, values: Mapping[str, object]) -> JSONObject:
    """Return the JSON values of the fixtures that a test names.

    A value that is not JSON, such as a connection, is left out, because the test may need only the
    side effects of the fixture.

    Args:
        spec: the test.
        values: the values of the fixtures by name.

    Raises:
        LLMMockError: a fixture is missing, or a step refers to one that is not JSON.
    """
    __tracebackhide__ = True
    saved = {}
    for name in spec.test.fixtures:
        if name not in values:
            raise LLMMockError(
                f"The test needs the pytest fixture {name!r}: run it with `pytest --llm`, or pass "
                "the value to run_llm_test with fixtures={…}."
            )
        try:
            saved[name] = to_jsonable_python(values[name])
        except (PydanticSerializationError, ValueError, RecursionError):
            # The test may need a fixture that no step refers to only for its side effects.
            if name in _find_used_names(spec):
                kind = type(values[name]).__name__
                raise LLMMockError(
                    f"${{{name}}} cannot be used in a step: the fixture {name!r} has the type "
                    f"{kind}, but tools accept only JSON values."
                ) from None
    return saved


def _find_used_names(spec: TestSpec) -> set[str | None]:
    """Return the names that the steps of a test refer to."""
    names = set()
    for part in PARTS:
        for _, _, step in iterate_steps(getattr(spec, part), (part,)):
            checks = [dump_check(check) for check in step.checks]
            for _, reference in find_references([step.args, checks]):
                names.add(get_saved_name(reference, spec.test.fixtures))
    return names
