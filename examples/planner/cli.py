"""The command line."""

from pathlib import Path

import click

from planner.errors import PlannerError
from planner.library import BUILT_IN, load_library
from planner.planning import plan
from planner.retry import Retry
from planner.schemas import Workflow
from planner.summary import write_summary


@click.command()
@click.argument("request")
@click.option(
    "--model", "model_name", default="gpt-4o-mini", show_default=True, help="The model that plans."
)
@click.option(
    "--library",
    "library_file",
    type=click.Path(path_type=Path),
    default=BUILT_IN,
    help="A JSON array of known workflows, in place of the built-in one.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the workflow as JSON, without a summary."
)
@click.option(
    "--pause",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Seconds before a model is asked again; doubled before the last attempt.",
)
def main(request: str, model_name: str, library_file: Path, as_json: bool, pause: float) -> None:
    """Plan a workflow that does what REQUEST says in plain language."""
    retry = Retry(pause=pause)
    try:
        workflow = plan(request, load_library(library_file), model_name, retry)
        click.echo(workflow.model_dump_json(indent=2) if as_json else as_text(workflow, retry))
    except PlannerError as error:
        raise click.ClickException(str(error)) from error


def as_text(workflow: Workflow, retry: Retry) -> str:
    """Return a workflow for people: its name, its numbered steps, and a summary by a model.

    Args:
        workflow: what to describe.
        retry: how often to ask for the summary.

    Raises:
        PlannerError: the model failed.
    """
    steps = [
        f"  {number}. {step.component}: {step.purpose}"
        for number, step in enumerate(workflow.steps, start=1)
    ]
    return "\n".join([workflow.name, *steps, "", write_summary(workflow, retry)])
