"""Third step: what does the new workflow look like?"""

import llm

from planner.components import catalogue_lines
from planner.retry import Retry
from planner.schemas import Workflow


def generate_workflow(
    request: str, components: list[str], model: llm.Model, retry: Retry
) -> Workflow:
    """Have a model write a workflow.

    Args:
        request: what the workflow should do, in plain language.
        components: names from the catalogue; the workflow uses no others.
        model: the model to ask.
        retry: how often to ask.

    Raises:
        PlannerError: the model gave no usable answer.
    """
    prompt = f"Write a workflow of these components only.\n{catalogue_lines(components)}\n\nRequest: {request}"  # noqa: E501

    def ask() -> Workflow:
        answer = model.prompt(prompt, schema=Workflow).text()
        workflow = Workflow.model_validate_json(answer)
        if others := sorted({step.component for step in workflow.steps} - set(components)):
            raise ValueError(f"the workflow uses {', '.join(others)}, which was not picked")
        return workflow

    return retry.until_answered(ask)
