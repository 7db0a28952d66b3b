"""Errors of the commands: one message on standard error, and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from llm_mock.errors import LLMMockError
from llm_mock.support.redaction import redact
from llm_mock.support.text import escape_unprintable, shorten

INTERRUPTED = 130
"""The exit code after Ctrl-C, as in shells: 128 and the number of SIGINT."""


@contextmanager
def report_errors() -> Iterator[None]:
    """Print an error that occurs within the context, and end the command with exit code 1."""
    try:
        yield
    except LLMMockError as error:
        print_message("Error", str(error))
        raise SystemExit(1) from None
    except BrokenPipeError:
        # `click` handles a reader such as `head` that closes the pipe early.
        raise
    except OSError as error:
        # Output that is still buffered cannot be written at the end either, so drop it.
        with open(os.devnull, "wb") as null_file:
            os.dup2(null_file.fileno(), sys.stdout.fileno())
        print_message("Error", describe_write_error(error.filename or "standard output", error))
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        # Ends the line on which the terminal shows ^C.
        click.echo("", err=True)
        raise SystemExit(INTERRUPTED) from None


def describe_write_error(path: str | Path, error: OSError) -> str:
    """Return the message for an output that cannot be written."""
    return f"{shorten(str(path))} cannot be written: {error.strerror or error}."


def print_message(kind: str, message: str) -> None:
    """Print a message to standard error, without secrets and terminal control characters.

    Args:
        kind: the first word, such as `Error` or `Warning`.
        message: the message, of one or several lines.
    """
    lines = redact(message).splitlines() or [""]
    text = "\n".join(escape_unprintable(line) for line in lines)
    click.echo(f"{kind}: {text}", err=True)
