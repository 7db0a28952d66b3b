"""The command `llm-mock serve`: serve a script of replies to programs in any language."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import click

from llm_mock.boundaries.http.dialects import Upstream
from llm_mock.boundaries.http.request_rules.lookup import check_rule_names
from llm_mock.boundaries.http.server import MockServer
from llm_mock.commands.serve_router import ServeRouter, check_control_token
from llm_mock.commands.serve_tests import ServedTests
from llm_mock.core.context import activate
from llm_mock.core.mock import Mock
from llm_mock.core.settings import Settings
from llm_mock.errors import LLMMockError
from llm_mock.support.pytest_settings import find_settings
from llm_mock.support.redaction import hide
from llm_mock.support.strictness import Strictness
from llm_mock.support.text import format_count, shorten

KEPT_CALLS = 1_000
"""The number of calls that are kept in memory, as a server may run for weeks."""
# Not the paths of tests and of the control API.
UPSTREAM_NAME = re.compile(r"(?!(?:t|_llm_mock)$)[A-Za-z0-9._-]+")
MISSING_REPLY_ADVICE = (
    "Add one to the script, set one with POST /_llm_mock/replies, or remove --strict error."
)
METHOD_PLACE = " in a script that is a Python function: llm-mock serve package.module:function"
UNUSED_REPLY_ADVICE = (
    "Remove the reply, correct its conditions, or remove its times so that it may stay unused."
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
    upstreams: Sequence[str] = (),
) -> None:
    """Serve until Ctrl-C.

    Args:
        script: the script of replies: see `configure`.
        host: the address to listen on; None for this machine, and for requests whose `Host` names
            it.
        port: the port to listen on; 0 for a free one.
        strict: `error` refuses calls without a reply, and replies that violate the schema of a
            call; `off` answers by default, and warns.
        record: the cassette that answers calls without a reply; new ones are sent to the provider
            and recorded.
        keep: the number of the latest calls to keep in memory.
        disabled_rules: the names of the provider rules to switch off.
        control_token: the token that lets programs on other machines control the server.
        upstreams: servers to record, each as `NAME=URL`.

    Raises:
        LLMMockError: the script, the cassette, a name or a URL is wrong, or the port is not free.
    """
    if not disabled_rules:
        disabled_rules = find_settings(Path.cwd()).get_words("llm_mock_disabled_rules")
    settings = Settings(
        strict=strict,
        schema_check="error" if strict == "error" else "warn",
        autospec=True,
        disabled_rules=check_rule_names(disabled_rules),
        missing_reply_advice=MISSING_REPLY_ADVICE,
        method_place=METHOD_PLACE,
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
    named_upstreams = _parse_upstreams(upstreams)

    def listen() -> MockServer:
        return _listen(tests.unnamed, router, host, port, named_upstreams)

    with _activate(tests.unnamed), listen() as server:
        urls = [server.openai_url, server.anthropic_url, server.gemini_url, server.mistral_url]
        urls += [f"{server.url}/{name}" for name in named_upstreams]
        try:
            click.echo(f"Ready: {'  '.join(urls)}  (press Ctrl-C to stop)")
            server.wait()
        except KeyboardInterrupt:
            pass
    if sys.stdout.isatty():
        # Ends the line on which the terminal shows ^C.
        click.echo()
    click.echo(_format_summary(tests))


def _parse_upstreams(texts: Sequence[str]) -> dict[str, Upstream]:
    """Return the servers of `NAME=URL` by their names.

    Raises:
        LLMMockError: a text has another form, or a name comes twice.
    """
    upstreams: dict[str, Upstream] = {}
    for text in texts:
        name, separator, url = text.partition("=")
        if not separator:
            example = "vllm=http://localhost:8000"
            raise LLMMockError(f"--upstream {shorten(text)}: write NAME=URL, such as {example}.")
        if not UPSTREAM_NAME.fullmatch(name) or name in upstreams:
            raise LLMMockError(
                f"--upstream {shorten(text)}: the name must be unique, with letters, digits, '.', "
                "'_' and '-', and not be 't' or '_llm_mock'. Write NAME=URL, such as "
                "vllm=http://localhost:8000."
            )
        upstreams[name] = _parse_upstream(url)
    return upstreams


def _parse_upstream(url: str) -> Upstream:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    has_more = parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in ("http", "https") or not parts.hostname or has_more:
        raise LLMMockError(
            f"--upstream: {shorten(url)} must be a URL with http or https and a host, without a "
            "user, query and fragment, such as http://localhost:8000."
        )
    return Upstream(parts.scheme, parts.hostname, port, parts.path.rstrip("/"))


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


def _listen(
    mock: Mock,
    router: ServeRouter,
    host: str | None,
    port: int,
    upstreams: Mapping[str, Upstream],
) -> MockServer:
    address = host or "127.0.0.1"
    # By default, reject other names in `Host`: a website may resolve its own to this machine.
    any_host = host is not None
    try:
        return MockServer(
            lambda: mock,
            address,
            port,
            keep_alive=True,
            any_host=any_host,
            router=router,
            upstreams=upstreams,
        )
    except OSError as error:
        # asyncio adds "(while attempting to bind …)", which repeats the address.
        problem = (error.strerror or str(error)).partition(" (while")[0]
        raise LLMMockError(f"Cannot listen on {address}, port {port}: {problem}.") from None
