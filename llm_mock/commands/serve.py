"""The command `llm-mock serve`: serve a script of replies to programs in any language."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from llm_mock.boundaries.http.request_rules.lookup import check_rule_names
from llm_mock.boundaries.http.server import MockServer
from llm_mock.commands.serve_router import ServeRouter, check_control_token
from llm_mock.commands.serve_tests import ServedTests
from llm_mock.core.context import activate
from llm_mock.core.mock import Mock
from llm_mock.core.settings import Settings
from llm_mock.errors import LLMMockError
from llm_mock.support.redaction import hide
from llm_mock.support.strictness import Strictness
from llm_mock.support.text import format_count

KEPT_CALLS = 1_000
"""The number of calls that are kept in memory, as a server may run for weeks."""
MISSING_REPLY_ADVICE = (
    "Write one into the script, set one by POST /_llm_mock/replies, or leave out --strict error."
)
UNUSED_REPLY_ADVICE = (
    "Leave out the reply, correct what it wants, or leave out its times to let it stay unused."
)


def serve(
    script: str | None,
    host: str | None,
    port: int,
    strict: Strictness,
    record: Path | None,
    keep: int = KEPT_CALLS,
    disabled_rules: Sequence[str] = (),
    control_token: str | None = None,
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
        control_token: the token that lets programs on other machines control the server.

    Raises:
        LLMMockError: the script, the cassette or a name is wrong, or the port is not free.
    """
    settings = Settings(
        strict=strict,
        autospec=True,
        disabled_rules=check_rule_names(disabled_rules),
        missing_reply_advice=MISSING_REPLY_ADVICE,
        unused_reply_advice=UNUSED_REPLY_ADVICE,
    )
    cassette = None
    if record is not None:
        from llm_mock.cassettes import Cassette

        # Saved after each call: a server may be killed.
        cassette = Cassette(record, "new_episodes", at_once=True)
    if control_token is not None:
        check_control_token(control_token)
        hide(control_token)
    loaded = None
    if script is not None:
        from llm_mock.commands.serve_script import ServeScript

        loaded = ServeScript(script)
    tests = ServedTests(settings, loaded, keep, cassette)
    router = ServeRouter(tests, control_token)
    with _activate(tests.unnamed), _listen(tests.unnamed, router, host, port) as server:
        urls = (server.openai_url, server.anthropic_url, server.gemini_url, server.mistral_url)
        try:
            click.echo(f"Ready: {'  '.join(urls)}  (Ctrl-C ends it)")
            server.wait()
        except KeyboardInterrupt:
            pass
    if sys.stdout.isatty():
        # Ends the line on which the terminal shows ^C.
        click.echo()
    click.echo(_format_summary(tests))


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


def _format_summary(tests: ServedTests) -> str:
    """Return the last line of the output, with the number of calls."""
    total, kept = tests.count_calls()
    if kept < total:
        dropped = f"; the last {kept:,} were kept"
    else:
        dropped = ""
    return f"Ended after {format_count(total, 'call')}{dropped}."


def _listen(mock: Mock, router: ServeRouter, host: str | None, port: int) -> MockServer:
    address = host or "127.0.0.1"
    # By default, reject other names in `Host`: a website may resolve its own to this machine.
    any_host = host is not None
    try:
        return MockServer(
            lambda: mock, address, port, keep_alive=True, any_host=any_host, router=router
        )
    except OSError as error:
        # asyncio adds "(while attempting to bind …)", which repeats the address.
        problem = (error.strerror or str(error)).partition(" (while")[0]
        raise LLMMockError(f"Cannot listen on {address}, port {port}: {problem}.") from None
