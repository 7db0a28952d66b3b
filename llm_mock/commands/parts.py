"""What the commands share: options, and errors that become one message."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

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
    """Have what is wrong with files, servers, keys and models end the command with one message, and exit code 1.

    Ctrl-C ends it too; a reader that wants no more, such as `head`, is left to `click`.
    """
    from llm_mock.errors import LLMMockError

    try:
        yield
    except LLMMockError as error:
        tell("Error", str(error))
        raise SystemExit(1) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        _output_lost(error)
    except KeyboardInterrupt:
        click.echo("", err=True)
        raise SystemExit(INTERRUPTED) from None


def _output_lost(error: OSError) -> NoReturn:
    """End the command, which can show nothing more: the disk of standard output is full, for example."""
    with open(os.devnull, "wb") as nowhere:  # what waits to be written could not be written at the end either
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    tell("Error", not_writable(error.filename or "standard output", error))
    raise SystemExit(1) from None


def not_writable(path: str | Path, error: OSError) -> str:
    """What to say of an output that cannot be written."""
    from llm_mock.support.text import shorten

    return f"{shorten(str(path))} cannot be written: {error.strerror or error}."


def tell(kind: str, message: str) -> None:
    """Tell of an error or a warning on standard error; nothing in the message acts on a terminal.

    Args:
        kind: `Error` or `Warning`.
        message: what is wrong; its lines are kept.
    """
    from llm_mock.support.redaction import default_redactor
    from llm_mock.support.text import escaped

    lines = default_redactor().clean(message).splitlines() or [""]
    click.echo(f"{kind}: " + "\n".join(map(escaped, lines)), err=True)


def secrets_of_role(role: Role, dry_run: bool) -> list[str]:
    """What is not to be shown or written: what the servers are given in secret, and the keys that `llm` has stored.

    Args:
        role: the role.
        dry_run: whether the user's folder of `llm` is left alone.
    """
    from llm_mock.boundaries.llm import boundary
    from llm_mock.suites.case import secrets_of_servers

    return ([] if dry_run else boundary.stored_keys()) + secrets_of_servers(role.agent)
