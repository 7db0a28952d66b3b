"""What the commands share: options, and errors that become one message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from llm_mock.suites.role import Role

Command = TypeVar("Command", bound=Callable[..., Any])

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""


def role_options(command: Command) -> Command:
    """The argument ROLE and the options that say how its agent is run."""
    for add in (
        click.option("--no-color", is_flag=True, help="No colors; NO_COLOR in the environment does the same."),
        click.option("--model", metavar="MODEL", help="Ask another model of llm than the role's."),
        click.option("--dry-run", is_flag=True, help="Simulate the model: no key, no network, no cost."),
        click.argument("role", type=click.Path()),
    ):
        command = add(command)
    return command


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
    from llm_mock.errors import InvalidFile
    from llm_mock.suites.role import load_role, resolve_model

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


@contextmanager
def errors_told() -> Iterator[None]:
    """Have what is wrong with files, servers, keys and models end the command with one message, and exit code 1."""
    from llm_mock.errors import LLMMockError

    try:
        yield
    except LLMMockError as error:
        tell("Error", str(error))
        raise SystemExit(1) from None


def tell(kind: str, message: str) -> None:
    """Tell of an error or a warning on standard error; nothing in the message acts on a terminal.

    Args:
        kind: `Error` or `Warning`.
        message: what is wrong; its lines are kept.
    """
    from llm_mock.redaction import default_redactor

    lines = default_redactor().clean(message).splitlines() or [""]
    click.echo(f"{kind}: " + "\n".join(map(inert, lines)), err=True)


def inert(line: str) -> str:
    """A line in which no character acts on a terminal."""
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)


def secrets_of_role(role: Role, dry_run: bool) -> list[str]:
    """What is not to be shown or written: what the servers are given in secret, and the keys that `llm` has stored.

    Args:
        role: the role.
        dry_run: whether the user's folder of `llm` is left alone.
    """
    from llm_mock import boundary
    from llm_mock.agents.environment import secrets_of
    from llm_mock.errors import LLMMockError

    secrets = [] if dry_run else boundary.stored_keys()
    for server in role.agent.servers:
        try:
            secrets += secrets_of(server)
        except LLMMockError:  # a variable is not set, which the run tells
            continue
    return secrets
