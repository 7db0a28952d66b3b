"""What several commands take, and how the values of options are checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from llm_mock.commands.errors import not_writable
from llm_mock.support.text import shorten

Command = TypeVar("Command", bound=Callable[..., Any])


class Finite(click.FloatRange):
    """A number of a range, and no `nan` or `inf`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is no finite number.", param, ctx)
        return number


def checked_models(ctx: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Models that stand side by side, each once."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise click.BadParameter(f"{shorten(twice)} is given twice.")
    return names


def one_model(ctx: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> str | None:
    """The one model that is asked."""
    if len(names) > 1:
        raise click.BadParameter(f"one model is asked in a run, and {len(names)} are given: {', '.join(names)}.")
    return names[0] if names else None


def role_options(command: Command) -> Command:
    """The options that say how the agent of a role is run."""
    for add in (
        click.option("--no-color", is_flag=True, help="No colors; NO_COLOR in the environment does the same."),
        click.option("--dry-run", is_flag=True, help="Simulate the model: no key, no network, no cost."),
    ):
        command = add(command)
    return command


files_in = click.option(
    "--files-in",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where the files that cases name may lie; by default in the folder of their suite.",
)
"""The option of the commands that read suites."""


def checked_outputs(ctx: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> tuple[Path, ...]:
    """Files for results, which can be written."""
    from llm_mock.report.suite_outputs import FORMATS
    from llm_mock.support.files import check_writable

    paths = tuple(Path(name).expanduser() for name in names)
    for path in paths:
        if path.suffix.lower() not in FORMATS:
            raise click.BadParameter(f"{shorten(str(path))} should end in {', '.join(FORMATS)}.")
        try:
            check_writable(path)
        except OSError as error:
            raise click.BadParameter(not_writable(path, error)) from None
    return paths
