"""The role that a command runs."""

from __future__ import annotations

from dataclasses import replace

import click

from llm_mock.commands.errors import tell
from llm_mock.errors import InvalidFile
from llm_mock.suites.role import Role, load_role, resolve_model


def prepared_role(path: str, model: str | None, dry_run: bool) -> Role:
    """Read a role, ask `llm` for its model, or for another one that was given, and warn of what has no effect."""
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
