"""Second step: which components does a new workflow need?"""

import llm

from planner.retry import Retry
from planner.schemas import ComponentChoice

CATALOGUE = {
    "fetch-page": "downloads a web page as text",
    "list-issues": "lists the open issues of a repository",
    "read-file": "reads a text file",
    "send-mail": "sends a text by e-mail",
    "transform-text": "rewrites, shortens or translates a text",
    "write-file": "writes a text to a file",
}
"""Every component there is, with what it does."""


def pick_components(request: str, model: llm.Model, retry: Retry) -> list[str]:
    """Have a model pick the components that a workflow needs.

    Args:
        request: what the workflow should do, in plain language.
        model: the model to ask.
        retry: how often to ask.

    Returns:
        Names from the catalogue, at least one.

    Raises:
        PlannerError: the model gave no usable answer.
    """
    prompt = (
        f"Which components are needed?\n{catalogue_lines(list(CATALOGUE))}\n\nRequest: {request}"
    )

    def ask() -> list[str]:
        answer = model.prompt(prompt, schema=ComponentChoice).text()
        picked = ComponentChoice.model_validate_json(answer).components
        if unknown := sorted(set(picked) - set(CATALOGUE)):
            raise ValueError(f"there is no component {', '.join(unknown)}")
        return picked

    return retry.until_answered(ask)


def catalogue_lines(names: list[str]) -> str:
    """Components as a prompt lists them, one a line.

    Args:
        names: names from the catalogue.
    """
    return "\n".join(f"- {name}: {CATALOGUE[name]}" for name in names)
