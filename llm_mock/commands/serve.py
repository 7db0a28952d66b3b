"""The command `llm-mock serve`: serve a script of replies to programs in any language."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from llm_mock.behaviour import ModelBehaviour
from llm_mock.boundaries.http.request_rules.lookup import check_rule_names
from llm_mock.boundaries.http.server import MockServer
from llm_mock.commands.errors import print_message
from llm_mock.core.call import Call
from llm_mock.core.context import activate
from llm_mock.core.mock import Mock
from llm_mock.core.records import format_call
from llm_mock.core.settings import Settings
from llm_mock.errors import LLMMockError
from llm_mock.support.strictness import Strictness
from llm_mock.support.text import format_count

KEPT_CALLS = 1_000
"""The number of calls that are kept in memory, as a server may run for weeks."""
MISSING_REPLY_ADVICE = "Write one into the script, or leave out --strict error."


class _ReportingMock(Mock):
    """A mock that prints problems at once, as there is no test to report them."""

    def _note(self, kind: str, message: str) -> None:
        print_message("Problem", message)

    def _report(self, record: Call) -> None:
        """Print a line for a call, which has no secrets and no control characters."""
        # Straight to the stream: `logging` and `click.echo` take longer than the answer.
        # A stream that is closed, or cannot show a character, must not fail the call.
        with suppress(OSError, ValueError):
            sys.stdout.write(f"{format_call(record)}\n")
            sys.stdout.flush()


def serve(
    script: str | None,
    host: str | None,
    port: int,
    strict: Strictness,
    record: Path | None,
    keep: int = KEPT_CALLS,
    disabled_rules: Sequence[str] = (),
) -> None:
    """Serve until Ctrl-C.

    Args:
        script: the script of replies: see `configure`.
        host: the address to listen on; None for this machine, and for requests whose `Host` names
            it.
        port: the port to listen on; 0 for a free one.
        strict: the reaction to calls without a reply: `off` gives the default reply, `error`
            refuses them.
        record: the cassette that answers calls without a reply; new ones are sent to the provider
            and recorded.
        keep: the number of calls to keep in memory, the last ones.
        disabled_rules: the names of the rules of providers by which no request is refused.

    Raises:
        LLMMockError: the script, the cassette or a name is wrong, or the port is not free.
    """
    settings = Settings(
        strict=strict,
        autospec=True,
        disabled_rules=check_rule_names(disabled_rules),
        missing_reply_advice=MISSING_REPLY_ADVICE,
    )
    mock = _ReportingMock(ModelBehaviour(), settings=settings)
    mock.history.limit = keep
    if record is not None:
        from llm_mock.cassettes import Cassette

        # Saved after each call: a server may be killed.
        mock.cassette = Cassette(record, "new_episodes", at_once=True)
    if script is not None:
        from llm_mock.commands.serve_script import configure

        configure(mock.responses, script)
    with _activate(mock), _listen(mock, host, port) as server:
        urls = (server.openai_url, server.anthropic_url, server.gemini_url, server.mistral_url)
        try:
            click.echo(f"Ready: {'  '.join(urls)}  (Ctrl-C ends it)")
            server.wait()
        except KeyboardInterrupt:
            pass
    if sys.stdout.isatty():
        # Ends the line on which the terminal shows ^C.
        click.echo()
    click.echo(_format_summary(mock))


@contextmanager
def _activate(mock: Mock) -> Iterator[None]:
    """Have a mock answer and print its calls within the context."""
    logger = logging.getLogger("llm_mock")
    previous_mock = activate(mock)
    previous_level = logger.level
    # A mock reports its calls at this level only.
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        activate(previous_mock)
        logger.setLevel(previous_level)


def _format_summary(mock: Mock) -> str:
    """Return the last line of the output, with the number of calls."""
    total = mock.history.number_of_calls
    kept = len(mock.calls)
    if kept < total:
        dropped = f"; the last {kept:,} were kept"
    else:
        dropped = ""
    return f"Ended after {format_count(total, 'call')}{dropped}."


def _listen(mock: Mock, host: str | None, port: int) -> MockServer:
    address = host or "127.0.0.1"
    # By default, reject other names in `Host`: a website may resolve its own to this machine.
    any_host = host is not None
    try:
        return MockServer(lambda: mock, address, port, keep_alive=True, any_host=any_host)
    except OSError as error:
        # asyncio adds "(while attempting to bind …)", which repeats the address.
        problem = (error.strerror or str(error)).partition(" (while")[0]
        raise LLMMockError(f"Cannot listen on {address}, port {port}: {problem}.") from None
