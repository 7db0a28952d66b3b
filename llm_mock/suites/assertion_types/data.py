"""The assertion about output that is data."""

from __future__ import annotations

import json
from typing import Any, Literal, NoReturn

import pydantic
from pydantic import ConfigDict, Field

from llm_mock.suites.assertion_types.base import BaseAssertion, Outcome, RunContext, reported_error
from llm_mock.support import schemas
from llm_mock.support.text import shorten_name


class JSONAssertion(BaseAssertion):
    """The output is JSON, and fits a JSON schema if one is given."""

    model_config = ConfigDict(populate_by_name=True)

    type: Literal["json", "not_json"] = "json"
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")

    @pydantic.field_validator("json_schema")
    @classmethod
    def _is_schema(cls, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        if schema is not None and (problem := schemas.problem_of(schema)) is not None:
            raise ValueError(f"is no JSON schema: {problem}")
        return schema

    def check(self, output: str, context: RunContext) -> Outcome:
        try:
            value = json.loads(output, parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            return Outcome(False, f"Output is not JSON: {error.msg} at line {error.lineno} column {error.colno}")
        except ValueError as error:
            return Outcome(False, f"Output is not JSON: {error}")
        except RecursionError:
            return Outcome(False, "Output is not JSON: it is nested too deep")
        return Outcome(True, "Output is JSON") if self.json_schema is None else _fits(self.json_schema, value)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _fits(json_schema: dict[str, Any], value: Any) -> Outcome:
    try:
        problems = list(schemas.violations(json_schema, value, called="", strict=True))
    except (ArithmeticError, RecursionError, ValueError) as error:  # a schema without end, an invalid address
        return Outcome(None, f"Output cannot be checked by the schema: {reported_error(error)}")
    if not problems:
        return Outcome(True, "Output is JSON that fits the schema")
    listed = "; ".join(shorten_name(problem.lstrip(".: "), 200) for problem in problems[:3])
    more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
    return Outcome(False, f"Output breaks the schema: {listed}{more}")
