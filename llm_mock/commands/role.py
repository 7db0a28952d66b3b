"""Preparation of the role that a command runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from llm_mock.commands.errors import print_message
from llm_mock.errors import InvalidFile
from llm_mock.suites.matrix import MatrixModel
from llm_mock.suites.role import Role, load_role
from llm_mock.suites.variants import MODEL_OPTION, resolve_role, set_model


def prepare_role(path: str, model: str | None, dry_run: bool) -> Role:
    """Read a role, resolve its model, and print a warning about unsupported keys.

    Args:
        path: the role file.
        model: the model to use instead of the role's.
        dry_run: whether the run is dry, and needs no model that `llm` knows.
    """
    role = load_role(path)
    if model is not None:
        role = set_model(role, MatrixModel(model=model))
    if not dry_run:
        # A model of the command line is not at a line of the role file.
        origin = None if model is None else MODEL_OPTION
        with report_unknown_models():
            role = resolve_role(role, origin)
    if role.warning is not None:
        print_message("Warning", role.warning)
    return role


@contextmanager
def report_unknown_models() -> Iterator[None]:
    """Report an unknown model of the command line as wrong usage, with exit code 2."""
    try:
        yield
    except InvalidFile as error:
        if str(error).startswith(f"{MODEL_OPTION}: "):
            raise click.UsageError(str(error)) from None
        raise
