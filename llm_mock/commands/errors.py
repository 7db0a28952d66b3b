"""Errors of the commands: each becomes one message, and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from llm_mock.errors import LLMMockError
from llm_mock.support.redaction import redacted
from llm_mock.support.text import escaped, shorten

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""


@contextmanager
def errors_told() -> Iterator[None]:
    """Have what is wrong with files, servers, keys and models end the command with one message, and exit code 1."""
    try:
        yield
    except LLMMockError as error:
        tell("Error", str(error))
        raise SystemExit(1) from None
    except BrokenPipeError:  # a reader that wants no more, such as `head`, is left to `click`
        raise
    except OSError as error:  # the command can show nothing more: the disk of standard output is full, for example
        with open(os.devnull, "wb") as nowhere:  # what waits to be written could not be written at the end either
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        tell("Error", not_writable(error.filename or "standard output", error))
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        click.echo("", err=True)
        raise SystemExit(INTERRUPTED) from None


def not_writable(path: str | Path, error: OSError) -> str:
    """What to say of an output that cannot be written."""
    return f"{shorten(str(path))} cannot be written: {error.strerror or error}."


def tell(kind: str, message: str) -> None:
    """Tell of an `Error` or a `Warning` on standard error; nothing in the message acts on a terminal."""
    lines = redacted(message).splitlines() or [""]
    click.echo(f"{kind}: " + "\n".join(map(escaped, lines)), err=True)
