"""Options that several commands share, and the validation of option values."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from llm_mock.commands.errors import describe_write_error
from llm_mock.support.text import join_alternatives, shorten

Command = TypeVar("Command", bound=Callable[..., Any])


class WholeNumber(click.IntRange):
    """A whole number in a range."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """Return the number, or fail with a message for the user."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            limits = f"of at least {self.min:,}"
            if self.max is not None:
                limits = f"from {self.min:,} to {self.max:,}"
            problem = f"{shorten(str(value))} must be a whole number {limits}."
        self.fail(problem, param, ctx)


class FiniteNumber(click.FloatRange):
    """A number of at least 0 that is neither `nan` nor `inf`.

    Args:
        expected: a description of the valid numbers for messages.
        most: the maximum; None for any.
        min_open: whether 0 is invalid.
    """

    def __init__(self, expected: str, most: float | None, min_open: bool) -> None:
        super().__init__(0, most, min_open=min_open)
        self._expected = expected

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the number, or fail with a message for the user."""
        try:
            number = super().convert(value, param, ctx)
        except click.BadParameter:
            number = math.nan
        # Every comparison with `nan` is false, so the range accepts it.
        if not math.isfinite(number):
            self.fail(f"{shorten(str(value))} must be {self._expected}.", param, ctx)
        return number


def parse_models(
    ctx: click.Context,
    parameter: click.Parameter,
    names: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the models to compare; fail if a model is given twice."""
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"{shorten(name)} is given twice.")
    return names


def parse_model(
    ctx: click.Context,
    parameter: click.Parameter,
    names: tuple[str, ...],
) -> str | None:
    """Return the model to use; None without one. Fail if several are given."""
    # The option is repeatable because click would silently use the last one.
    if len(names) > 1:
        raise click.BadParameter(
            f"a run uses one model, but {len(names)} are given: {', '.join(names)}."
        )
    return names[0] if names else None


def add_role_options(command: Command) -> Command:
    """Add the options of commands that run the agent of a role."""
    dry_run = click.option(
        "--dry-run",
        is_flag=True,
        help="Simulate the model: no key, no network, no cost.",
    )
    no_color = click.option(
        "--no-color",
        is_flag=True,
        help="Print no colors, as with NO_COLOR in the environment.",
    )
    # Decorators apply from the last to the first, so help lists --dry-run first.
    return dry_run(no_color(command))


files_in = click.option(
    "--files-in",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Allow cases to name files in this folder; by default the folder of their suite.",
)
"""The option of commands that read suites."""


def parse_outputs(
    ctx: click.Context,
    parameter: click.Parameter,
    names: tuple[str, ...],
) -> tuple[Path, ...]:
    """Return the files for results; fail if one cannot be written."""
    # Imported here: most commands have no such option.
    from llm_mock.report.suite_outputs import FORMATS
    from llm_mock.support.files import check_writable

    paths = tuple(Path(name).expanduser() for name in names)
    for path in paths:
        if path.suffix.lower() not in FORMATS:
            suffixes = join_alternatives(FORMATS)
            raise click.BadParameter(f"{shorten(str(path))} must end in {suffixes}.")
        # Checked before a run that may take long and cost money.
        try:
            check_writable(path)
        except OSError as error:
            raise click.BadParameter(describe_write_error(path, error)) from None
    return paths
