"""Serves a script of replies to programs in any language."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from llm_mock.behaviour import ModelBehaviour
from llm_mock.boundaries.http.server import MockServer
from llm_mock.commands.errors import tell
from llm_mock.core.context import activate
from llm_mock.core.mock import Mock
from llm_mock.core.settings import Settings
from llm_mock.errors import LLMMockError
from llm_mock.support.redaction import redacted
from llm_mock.support.text import count, escaped

KEPT_CALLS = 1_000
"""How many calls are kept, the last ones: a server may run for weeks."""


class _TellingMock(Mock):
    """Tells at once what was wrong with a call."""

    def note_problem(self, message: str) -> None:
        tell("Problem", message)

    def note_refusal(self, message: str) -> None:
        tell("Problem", message)


class _CallLines(logging.Handler):
    """Prints a line for each call."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(escaped(redacted(record.getMessage())))


def serve(
    script: str | None, host: str | None, port: int, strict: bool, record: Path | None, keep: int = KEPT_CALLS
) -> None:
    """Serve until Ctrl-C.

    Args:
        script: the replies.
        host: where to listen; None for this machine alone, and then for requests whose `Host` names it.
        port: the same.
        strict: refuse calls that no reply is there for.
        record: the cassette that answers these; what it does not hold is asked of the provider, and recorded in it.
        keep: how many calls are kept in memory, the last ones.

    Raises:
        LLMMockError: the script or the cassette is wrong, or the port is not free.
    """
    mock = _TellingMock(ModelBehaviour(), settings=Settings(strict=strict))
    mock.history.limit = keep
    if record is not None:
        from llm_mock.cassettes import Cassette

        mock.cassette = Cassette(record, "new_episodes", at_once=True)
    if script is not None:
        from llm_mock.commands.serve_script import configure

        configure(mock.responses, script)
    with _told(mock), _listening(mock, host, port) as server:
        urls = (server.openai_url, server.anthropic_url, server.gemini_url, server.mistral_url)
        try:
            click.echo(f"Ready: {'  '.join(urls)}  (Ctrl-C ends it)")
            server.wait()
        except KeyboardInterrupt:
            pass
    if sys.stdout.isatty():
        click.echo()  # ends the line on which the terminal shows ^C
    click.echo(_end_of(mock))


@contextmanager
def _told(mock: Mock) -> Iterator[None]:
    """Let a mock answer, and tell of its calls, for a while."""
    logger, lines = logging.getLogger("llm_mock"), _CallLines()
    previous, level, propagate = activate(mock), logger.level, logger.propagate
    logger.addHandler(lines)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield
    finally:
        activate(previous)
        logger.removeHandler(lines)
        logger.setLevel(level)
        logger.propagate = propagate


def _end_of(mock: Mock) -> str:
    """Return the last line: how many calls there were."""
    total, kept = mock.history.number_of_calls, len(mock.calls)
    dropped = f"; the last {kept:,} were kept" if kept < total else ""
    return f"Ended after {count(total, 'call')}{dropped}."


def _listening(mock: Mock, host: str | None, port: int) -> MockServer:
    try:
        any_host = host is not None
        host = host or "127.0.0.1"
        return MockServer(lambda: mock, host, port, keep_alive=True, any_host=any_host)
    except OSError as error:
        problem = (error.strerror or str(error)).partition(" (while")[0]
        raise LLMMockError(f"Cannot listen on {host}, port {port}: {problem}.") from None
