"""The role that a command runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from llm_mock.commands.errors import tell
from llm_mock.errors import InvalidFile
from llm_mock.suites.matrix import MatrixModel
from llm_mock.suites.role import Role, load_role
from llm_mock.suites.variants import MODEL_OPTION, resolve_role, set_model


def prepared_role(path: str, model: str | None, dry_run: bool) -> Role:
    """Read a role, ask `llm` for its model, or for another one that was given, and warn of what has no effect."""
    role = load_role(path)
    if model is not None:
        role = set_model(role, MatrixModel(model=model))
    with wrong_models_told():
        role = role if dry_run else resolve_role(role, None if model is None else MODEL_OPTION)
    if role.warning is not None:
        tell("Warning", role.warning)
    return role


@contextmanager
def wrong_models_told() -> Iterator[None]:
    """A model of the command line that `llm` does not know is wrong usage."""
    try:
        yield
    except InvalidFile as error:
        if str(error).startswith(f"{MODEL_OPTION}: "):
            raise click.UsageError(str(error)) from None
        raise
