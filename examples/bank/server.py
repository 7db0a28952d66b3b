"""The bank as an MCP server.

`python -m bank.server` speaks over stdio, `--http PORT` over streamable HTTP.

Its state lasts as long as the server does.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, ImageContent, TextContent
from pydantic import Field

from bank.accounts import Bank, Movement, Refused
from bank.chart import bar_chart

Account = Annotated[str, Field(description="The name of the account, such as alice.")]
Cents = Annotated[int, Field(gt=0, description="The amount, in cents.")]


def bank_server() -> MCPServer:
    """Return a server with a bank of its own."""
    server = MCPServer(
        "bank", instructions="Accounts and transfers of a small bank. Amounts are in cents."
    )
    bank = Bank()

    @server.tool()
    def accounts() -> dict[str, int]:
        """All accounts with their balances, in cents."""
        return bank.balances

    @server.tool()
    def transfer(source: Account, target: Account, cents: Cents, reason: str = "") -> Movement:
        """Move money from one account to another. Refused where the source has too little."""
        with _refusals():
            return bank.transfer(source, target, cents, reason)

    @server.tool()
    def history(account: Account) -> list[Movement]:
        """Return the movements of an account, the oldest first."""
        with _refusals():
            return bank.history(account)

    @server.tool()
    def balance_chart(account: Account) -> CallToolResult:
        """Return a chart of the balance of an account over time: an image and values in cents."""
        with _refusals():
            points = bank.balances_over_time(account)
        image = base64.b64encode(bar_chart(points)).decode()
        return CallToolResult(
            content=[
                TextContent(text=json.dumps(points)),
                ImageContent(data=image, mime_type="image/png"),
            ],
            structured_content={"account": account, "cents": points},
        )

    return server


@contextmanager
def _refusals() -> Iterator[None]:
    """Tell the model why the bank refused; other errors are none of its business."""
    try:
        yield
    except Refused as error:
        raise ToolError(str(error)) from error


def main() -> None:
    """Serve until standard input ends, or, over HTTP, until the process is told to end."""
    parser = argparse.ArgumentParser(
        prog="python -m bank.server", description="A small bank as an MCP server."
    )
    parser.add_argument(
        "--http", type=int, metavar="PORT", help="listen on 127.0.0.1 at PORT; 0 takes a free one"
    )
    port = parser.parse_args().http
    if port is None:
        bank_server().run("stdio")
    else:
        asyncio.run(_serve_http(port))


async def _serve_http(port: int) -> None:
    listening = socket.create_server(("127.0.0.1", port))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    print("The bank is open; its address is on stdout.", file=sys.stderr)
    app = bank_server().streamable_http_app()
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listening])


if __name__ == "__main__":
    main()
