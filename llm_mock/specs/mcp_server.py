"""The MCP server of plain-language tests: the built-in tools, and those of a project's plugins.

    python -m llm_mock.specs.mcp_server [--plugins FILE_OR_FOLDER …] [--allow-host HOST …] [--http ADDRESS_FILE]

It serves stdio until standard input ends or SIGTERM comes; then the plugins clean up. With `--http` the same process,
and so the same plugins, can be reached by streamable HTTP too, on 127.0.0.1 at a free port: ADDRESS_FILE holds
`{"url": …, "token": …}` before the first message on stdio, and requests need the header `Authorization: Bearer TOKEN`.

The HTTP tools ask only hosts that `--allow-host` names (see `AllowedHosts`). The server runs in the folder of the
project, from which plugins can import. What they print goes to stderr.
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
from itertools import chain
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from llm_mock.errors import LLMMockError
from llm_mock.specs.allowed_hosts import AllowedHosts
from llm_mock.specs.builtin_tools import BuiltinTools
from llm_mock.specs.plugin_base import CLEANUP
from llm_mock.specs.plugin_loading import LoadedPlugin, load_plugins, tools_of
from llm_mock.specs.tool_functions import SHOWN_ERROR, Terminated, ToolFunction, server_with
from llm_mock.support.files import write_atomically
from llm_mock.support.text import error_text, shorten_name

CLEANUP_TIMEOUT = 5.0
"""Seconds that the cleanup of all plugins may take together."""
BLOCKED_TIMEOUT = 5.5
"""Seconds after which a cleanup that blocks the event loop fails; soon after that the process is killed."""
BUILT_IN = (
    *("http_get", "http_post", "sleep", "store_value", "get_value", "list_values"),
    *("assert_equals", "assert_contains", "assert_true", "compare_values"),
)


def all_tools(allowed_hosts: AllowedHosts, plugins: Sequence[LoadedPlugin]) -> dict[str, ToolFunction]:
    """The built-in tools, then those of the plugins; an InvalidFile says which two have one name."""
    built_in = BuiltinTools(allowed_hosts)
    tools = {name: ToolFunction(name, getattr(built_in, name)) for name in BUILT_IN}
    places = dict.fromkeys(BUILT_IN, "the built-in one")
    for plugin in plugins:
        for tool in tools_of(plugin):
            if tool.name in tools:
                both = f"this one, and {places[tool.name]}. Rename one of the two."
                raise plugin.error(f"there are two tools {tool.name!r}: {both}", tool.function)
            tools[tool.name], places[tool.name] = tool, f"that of {plugin.place}"
    return tools


async def clean_up(plugins: Sequence[LoadedPlugin]) -> None:
    """Let all plugins clean up, at the same time; stderr says what fails."""
    tasks = {asyncio.ensure_future(_clean_up(each)): each.plugin.name for each in plugins}
    _, late = await asyncio.wait(tasks, timeout=CLEANUP_TIMEOUT) if tasks else ((), ())
    for task in late:
        print(f"{CLEANUP} {tasks[task]!r} was given up after {CLEANUP_TIMEOUT:g} seconds.", file=sys.stderr)


def _blocked(*_: object) -> None:
    raise TimeoutError("it blocks the event loop")


def _limit_blocking() -> None:
    """Interrupt a cleanup that does not await; Windows has no timer that could."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _blocked)
        signal.setitimer(signal.ITIMER_REAL, BLOCKED_TIMEOUT)


async def _clean_up(loaded: LoadedPlugin) -> None:
    try:
        await loaded.plugin.cleanup()
    except (Terminated, KeyboardInterrupt):
        raise
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        problem = shorten_name(error_text(error), SHOWN_ERROR)
        print(f"{CLEANUP} {loaded.plugin.name!r} failed: {problem}", file=sys.stderr)


async def _serve(server: Server[Any], address_file: Path | None) -> None:
    http = asyncio.ensure_future(_http(server, address_file)) if address_file else None
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
    if http is not None:
        http.cancel()


def _http(server: Server[Any], address_file: Path) -> Coroutine[Any, Any, None]:
    """Listen, and write the address; what is returned serves."""
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    token = secrets.token_urlsafe(32)
    address = {"url": f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", "token": token}
    write_atomically(address_file, json.dumps(address), mode=0o600)
    app = _with_token(server.streamable_http_app(), token)
    web_server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    # Signals are for the process.
    web_server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
    return web_server.serve(sockets=[listening])


def _with_token(app: Any, token: str) -> Any:
    """An ASGI application that answers only requests with this bearer token."""
    expected = f"Bearer {token}".encode()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "lifespan" or hmac.compare_digest(given, expected):
            await app(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"A token is needed.\n"})

    return guarded


@contextmanager
def _stdout_kept_for_messages() -> Iterator[None]:
    """Have plugins print to stderr while they are imported; later the SDK does so."""
    messages = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(messages, 1)
        os.close(messages)


def _terminate(*_: object) -> None:
    raise Terminated(0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m llm_mock.specs.mcp_server",
        description="Serve the built-in tools of plain-language tests, and those of plugins, by MCP over stdio.",
    )
    parser.add_argument("--plugins", nargs="*", type=Path, default=[], metavar="PATH", help="files, or folders of them")
    parser.add_argument("--allow-host", action="append", default=[], metavar="HOST", help="a host that may be asked")
    parser.add_argument("--http", type=Path, metavar="FILE", help="listen on 127.0.0.1 too, and write the address here")
    return parser.parse_args()


def main() -> None:
    """Serve; see the head of this file. The exit code is 1 where a plugin cannot be loaded; stderr says why."""
    options = _options()
    signal.signal(signal.SIGTERM, _terminate)
    sys.path.insert(0, os.getcwd())  # Python does not where PYTHONSAFEPATH is set
    loop = asyncio.new_event_loop()
    plugins: list[LoadedPlugin] = []
    try:
        status = _run(loop, options, plugins)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # who started it may send it while plugins clean up
        os.dup2(2, 1)  # what plugins print when they clean up
        _limit_blocking()
        loop.run_until_complete(clean_up(plugins))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # without waiting for a thread that still reads standard input


def _run(loop: asyncio.AbstractEventLoop, options: argparse.Namespace, plugins: list[LoadedPlugin]) -> int:
    """Load plugins, which are added to the list, and serve until the end. Returns the exit code."""
    try:
        allowed_hosts = AllowedHosts(options.allow_host)
        with _stdout_kept_for_messages():
            folders = [sorted(path.glob("[!_]*.py")) if path.is_dir() else [path] for path in options.plugins]
            for plugin in load_plugins(chain.from_iterable(folders)):
                plugins.append(plugin)  # one by one: those before one that fails are cleaned up
            server = server_with(all_tools(allowed_hosts, plugins))
        loop.run_until_complete(_serve(server, options.http))
    except LLMMockError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except (Terminated, KeyboardInterrupt):
        pass
    return 0


if __name__ == "__main__":
    main()
