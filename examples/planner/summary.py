"""The summary of a workflow, for people."""

import llm

from planner.retry import Retry
from planner.schemas import Workflow

SUMMARY_MODEL = llm.get_model("gpt-4.1-nano")
"""A small model writes every summary, whichever model planned. It is obtained at import, before any test runs."""  # noqa: E501


def write_summary(workflow: Workflow, retry: Retry) -> str:
    """Have a model describe a workflow in plain text.

    Args:
        workflow: what to describe.
        retry: how often to ask.

    Raises:
        PlannerError: the model gave no usable answer.
    """
    prompt = f"Say in two sentences what this workflow does.\n{workflow.model_dump_json()}"

    def ask() -> str:
        summary = SUMMARY_MODEL.prompt(prompt).text()
        if not summary.strip():
            raise ValueError("the summary is empty")
        return summary

    return retry.until_answered(ask)
