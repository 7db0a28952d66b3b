"""The MCP server of plain-language tests, with the built-in tools and a project's plugins.

    python -m llm_mock.specs.mcp_server
        [--plugins FILE_OR_FOLDER …] [--allow-host HOST …] [--http ADDRESS_FILE]

It serves stdio until standard input ends or SIGTERM arrives; then the plugins clean up. With
`--http`, the same process also serves streamable HTTP on 127.0.0.1 at a free port, with the same
plugins. It writes `{"url": …, "token": …}` to ADDRESS_FILE before the first message on stdio, and
HTTP requests need the header `Authorization: Bearer TOKEN`.

The HTTP tools connect only to hosts that `--allow-host` names (see `AllowedHosts`). The server runs
in the folder of the project, from which plugins can import. Their output goes to stderr.
"""

from __future__ import annotations

import argparse
import asyncio
import hmac
import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from llm_mock.errors import LLMMockError
from llm_mock.specs.allowed_hosts import AllowedHosts
from llm_mock.specs.builtin_tools import BuiltinTools
from llm_mock.specs.plugin_base import CLEANUP
from llm_mock.specs.plugin_loading import LoadedPlugin, get_plugin_tools, load_plugins
from llm_mock.specs.tool_functions import (
    MAX_SHOWN_ERROR,
    Terminated,
    ToolFunction,
    create_server,
)
from llm_mock.support.files import write_atomically
from llm_mock.support.text import format_error, shorten_name

CLEANUP_TIMEOUT = 5.0
"""The time limit in seconds for the cleanup of all plugins together."""
BLOCKED_TIMEOUT = 5.5
"""The seconds after which a cleanup that blocks the event loop fails. The client kills the process
soon after that."""
BUILT_IN = (
    "http_get",
    "http_post",
    "sleep",
    "store_value",
    "get_value",
    "list_values",
    "assert_equals",
    "assert_contains",
    "assert_true",
    "compare_values",
)


def collect_tools(
    allowed_hosts: AllowedHosts, plugins: Sequence[LoadedPlugin]
) -> dict[str, ToolFunction]:
    """Return the built-in tools, then those of plugins, by name.

    Raises:
        InvalidFile: two tools have the same name.
    """
    built_in = BuiltinTools(allowed_hosts)
    tools = {name: ToolFunction(name, getattr(built_in, name)) for name in BUILT_IN}
    sources = dict.fromkeys(BUILT_IN, "a built-in tool")
    for plugin in plugins:
        for tool in get_plugin_tools(plugin):
            if tool.name in tools:
                raise plugin.error(
                    f"duplicate tool {tool.name!r}: {sources[tool.name]} has the same name. "
                    "Rename one of them.",
                    tool.function,
                )
            tools[tool.name] = tool
            sources[tool.name] = f"a tool of {plugin.source}"
    return tools


async def clean_up_plugins(plugins: Sequence[LoadedPlugin]) -> None:
    """Run the cleanup of all plugins at the same time, and write failures to stderr."""
    if not plugins:
        return
    tasks = {}
    for plugin in plugins:
        task = asyncio.ensure_future(_clean_up(plugin))
        tasks[task] = plugin.plugin.name
    _, late = await asyncio.wait(tasks, timeout=CLEANUP_TIMEOUT)
    for task in late:
        message = f"{CLEANUP} {tasks[task]!r} timed out after {CLEANUP_TIMEOUT:g} seconds."
        print(message, file=sys.stderr)


async def _clean_up(loaded: LoadedPlugin) -> None:
    try:
        await loaded.plugin.cleanup()
    except (Terminated, KeyboardInterrupt):
        raise
    except BaseException as error:  # Including SystemExit: the other plugins clean up as well.
        sys.excepthook(type(error), error, error.__traceback__)
        text = shorten_name(format_error(error), MAX_SHOWN_ERROR)
        name = loaded.plugin.name
        print(f"{CLEANUP} {name!r} failed: {text}", file=sys.stderr)


def _raise_blocked(*_: object) -> None:
    raise TimeoutError("it blocks the event loop")


def _limit_blocking() -> None:
    """Interrupt a cleanup that blocks the event loop."""
    # Windows has no such timer.
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _raise_blocked)
        signal.setitimer(signal.ITIMER_REAL, BLOCKED_TIMEOUT)


async def _serve(server: Server[Any], address_file: Path | None) -> None:
    http = None
    if address_file is not None:
        http = asyncio.ensure_future(_serve_http(server, address_file))
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
    if http is not None:
        http.cancel()


def _serve_http(server: Server[Any], address_file: Path) -> Coroutine[Any, Any, None]:
    """Listen, write the address, and return a coroutine that serves."""
    # Imported here, because it takes long to import, and few tests need it.
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    _, port = listening.getsockname()
    token = secrets.token_urlsafe(32)
    address = {"url": f"http://127.0.0.1:{port}/mcp", "token": token}
    # Only the user may read the token.
    write_atomically(address_file, json.dumps(address), mode=0o600)
    app = _require_token(server.streamable_http_app(), token)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    web_server = uvicorn.Server(config)
    # uvicorn would handle SIGTERM in place of this module.
    web_server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
    return web_server.serve(sockets=[listening])


def _require_token(app: Any, token: str) -> Any:
    """Return an ASGI application that refuses requests without a bearer token."""
    expected = f"Bearer {token}".encode()

    async def check_token(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        given = headers.get(b"authorization", b"")
        if scope["type"] == "lifespan" or hmac.compare_digest(given, expected):
            await app(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"A token is needed.\n"})

    return check_token


@contextmanager
def _redirect_stdout() -> Iterator[None]:
    """Redirect stdout, which is for MCP messages, to stderr while plugins are imported.

    The SDK does so while it serves.
    """
    messages = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(messages, 1)
        os.close(messages)


class _SignalHandler:
    """The handler of SIGTERM and SIGINT, which ends the process even if code catches all errors.

    Args:
        loop: the event loop that serves.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._is_serving = True

    def install(self) -> None:
        """Install the handler."""
        signal.signal(signal.SIGTERM, self._handle)
        # A parent process, such as a shell, may let its children ignore SIGINT.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._handle)

    def stop(self) -> None:
        """Ignore SIGTERM from now on, and let SIGINT raise only where it interrupts."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._is_serving = False

    def _handle(self, *_: object) -> None:
        # uvicorn catches what is raised within a request, so raise it in the event loop as well.
        self._loop.call_soon_threadsafe(self._raise_while_serving)
        raise Terminated(0)

    def _raise_while_serving(self) -> None:
        if self._is_serving:
            raise Terminated(0)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m llm_mock.specs.mcp_server",
        description=(
            "Serve the built-in tools of plain-language tests, and those of plugins, by MCP over "
            "stdio."
        ),
    )
    parser.add_argument(
        "--plugins",
        nargs="*",
        type=Path,
        default=[],
        metavar="PATH",
        help="Python files with plugins, or folders of such files",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="HOST",
        help="a host that the HTTP tools may connect to",
    )
    parser.add_argument(
        "--http",
        type=Path,
        metavar="FILE",
        help="serve on 127.0.0.1 as well, and write the address to this file",
    )
    return parser.parse_args()


def main() -> None:
    """Serve until the end; exit with 1 if a plugin cannot be loaded."""
    options = _parse_options()
    loop = asyncio.new_event_loop()
    signals = _SignalHandler(loop)
    signals.install()
    # Python does not add the working directory if PYTHONSAFEPATH is set.
    sys.path.insert(0, os.getcwd())
    plugins: list[LoadedPlugin] = []
    try:
        status = _run(loop, options, plugins)
    finally:
        # The client may send SIGTERM while plugins clean up.
        signals.stop()
        # The output of plugins that clean up goes to stderr.
        os.dup2(2, 1)
        _limit_blocking()
        loop.run_until_complete(clean_up_plugins(plugins))
    sys.stdout.flush()
    sys.stderr.flush()
    # A normal exit would wait for the thread that still reads standard input.
    os._exit(status)


def _run(
    loop: asyncio.AbstractEventLoop, options: argparse.Namespace, plugins: list[LoadedPlugin]
) -> int:
    """Load plugins, serve until the end, and return the exit code.

    Args:
        loop: the event loop.
        options: the options of the command line.
        plugins: the list to which loaded plugins are added.
    """
    try:
        allowed_hosts = AllowedHosts(options.allow_host)
        with _redirect_stdout():
            # One by one, so that if a plugin fails to load, those before it are cleaned up.
            for plugin in load_plugins(_list_files(options.plugins)):
                plugins.append(plugin)
            server = create_server(collect_tools(allowed_hosts, plugins))
        loop.run_until_complete(_serve(server, options.http))
    except LLMMockError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except (Terminated, KeyboardInterrupt):
        pass
    return 0


def _list_files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.glob("[!_]*.py"))
        else:
            yield path


if __name__ == "__main__":
    main()
