"""The whole plan: a request goes in, a workflow comes out."""

# Bound by name on purpose: replacing the attribute `llm.get_model` does not reach this name.
from llm import UnknownModelError, get_model

from planner.components import pick_components
from planner.discovery import find_workflow
from planner.errors import PlannerError
from planner.generation import generate_workflow
from planner.library import Library
from planner.retry import Retry
from planner.schemas import Workflow


def plan(request: str, library: Library, model_name: str, retry: Retry) -> Workflow:
    """Find the workflow that does what is requested, or have one generated.

    Args:
        request: what the workflow should do, in plain language.
        library: the known workflows.
        model_name: id or alias of the model to ask.
        retry: how often to ask in each step.

    Raises:
        PlannerError: no plugin has the model, or it gave no usable answer.
    """
    try:
        model = get_model(model_name)
    except UnknownModelError as error:
        raise PlannerError(error.args[0]) from error
    known = find_workflow(request, library, model, retry)
    if known is not None:
        return known
    components = pick_components(request, model, retry)
    return generate_workflow(request, components, model, retry)
