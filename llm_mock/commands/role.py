"""The role that a command runs."""

from __future__ import annotations

from dataclasses import replace

import click

from llm_mock.commands.errors import tell
from llm_mock.errors import InvalidFile
from llm_mock.suites.role import Role, load_role, resolve_model


def prepared_role(path: str, model: str | None, dry_run: bool) -> Role:
    """Read a role, and ask `llm` for its model where it is to be asked for real; what has no effect is warned of.

    Args:
        path: the role file.
        model: the id of the model that is asked instead; None is the role's own.
        dry_run: whether no model is asked.

    Raises:
        InvalidFile: it is no role.
        click.UsageError: `llm` does not know the other model.
    """
    role = load_role(path)
    if model is not None:
        agent = replace(role.agent, provider=replace(role.agent.asks, model=model))
        role = replace(role, agent=agent, model_ids=(model,), provider=None)
    try:
        role = role if dry_run else resolve_model(role)
    except InvalidFile as error:
        if model is None:
            raise
        raise click.UsageError(f"--model: {str(error).split(': ', 1)[-1]}") from None
    if role.warning is not None:
        tell("Warning", role.warning)
    return role
