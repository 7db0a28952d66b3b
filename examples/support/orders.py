"""The orders of a small shop as an MCP server: `python -m support.orders` speaks over stdio.

Its state lasts as long as it runs. Amounts are whole cents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

Number = Annotated[str, Field(description="The number of the order, such as A-1001.")]
Cents = Annotated[int, Field(gt=0, description="The amount, in cents.")]


@dataclass(frozen=True)
class Order:
    """An order of a customer."""

    number: str
    item: str
    cents: int
    status: Literal["packed", "sent", "delivered"]
    refunded: bool = False
    """Whether a refund was paid out."""


@dataclass(frozen=True)
class Refund:
    """Money that is paid out in the evening."""

    number: int
    order: str
    cents: int
    reason: str


ORDERS = {
    order.number: order
    for order in (
        Order("A-1001", "a teapot", 24_00, "delivered"),
        Order("A-1002", "two cups", 18_50, "sent"),
        Order("A-1003", "a kettle", 59_90, "delivered", refunded=True),
        Order("A-1004", "a tray", 12_00, "packed"),
        Order("A-1005", "a milk jug", 16_00, "delivered"),
    )
}


def orders_server() -> MCPServer:
    """Return a server with refunds of its own."""
    server = MCPServer("orders", instructions="Orders of a small shop. Amounts are in cents.")
    refunds: dict[str, Refund] = {}

    @server.tool()
    def find_order(number: Number) -> Order:
        """Return what was ordered, what it cost, where it is, and whether it was refunded."""
        if number not in ORDERS:
            raise ToolError(f"There is no order {number!r}.")
        return ORDERS[number]

    @server.tool()
    def refund(number: Number, cents: Cents, reason: str) -> Refund:
        """Refund a delivered order, or a part of it; a second refund replaces the first."""
        order = find_order(number)
        if order.status != "delivered":
            raise ToolError(
                f"Order {number} is {order.status}; it can be refunded when it is delivered."
            )
        if order.refunded:
            raise ToolError(f"Order {number} was refunded already.")
        if cents > order.cents:
            raise ToolError(f"Order {number} cost {order.cents} cents; {cents} are more than that.")
        refund_number = refunds[number].number if number in refunds else len(refunds) + 1
        refunds[number] = Refund(refund_number, number, cents, reason)
        return refunds[number]

    return server


if __name__ == "__main__":
    orders_server().run("stdio")
