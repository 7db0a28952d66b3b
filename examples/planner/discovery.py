"""First step: does a known workflow fit?"""

import llm

from planner.library import Library
from planner.retry import Retry
from planner.schemas import Workflow, WorkflowMatch


def find_workflow(
    request: str, library: Library, model: llm.Model, retry: Retry
) -> Workflow | None:
    """Have a model look for a known workflow.

    Args:
        request: what the workflow should do, in plain language.
        library: the known workflows.
        model: the model to ask.
        retry: how often to ask.

    Returns:
        The workflow, None when none fits.

    Raises:
        PlannerError: the model gave no usable answer.
    """
    known = "\n".join(f"- {workflow.name}: {workflow.description}" for workflow in library.values())
    prompt = f"Which of these workflows does exactly what is requested, if any?\n{known}\n\nRequest: {request}"  # noqa: E501

    def ask() -> Workflow | None:
        answer = model.prompt(prompt, schema=WorkflowMatch).text()
        name = WorkflowMatch.model_validate_json(answer).workflow_name
        if name is None:
            return None
        if name not in library:
            raise ValueError(f"there is no workflow {name!r}")
        return library[name]

    return retry.until_answered(ask)
