"""The known workflows."""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from planner.errors import PlannerError, describe
from planner.schemas import Workflow

BUILT_IN = Path(__file__).with_name("library.json")

Library = dict[str, Workflow]
"""Workflows by their names."""


def load_library(file: Path = BUILT_IN) -> Library:
    """Read a library of workflows.

    Args:
        file: a JSON array of workflows.

    Raises:
        PlannerError: the file cannot be read, or holds something else.
    """
    try:
        workflows = TypeAdapter(list[Workflow]).validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise PlannerError(f"The library {file} cannot be used: {describe(error)}") from error
    return {workflow.name: workflow for workflow in workflows}
