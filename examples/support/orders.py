"""The orders of a small shop as an MCP server: `python -m support.orders` speaks over stdio.

Its state lasts as long as it runs. Amounts are whole cents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

Number = Annotated[str, Field(description="The number of the order, such as A-1001.")]
Cents = Annotated[int, Field(gt=0, description="The amount, in cents.")]


@dataclass(frozen=True)
class Order:
    """What a customer bought."""

    number: str
    item: str
    cents: int
    status: Literal["packed", "sent", "delivered"]
    refunded: int = 0
    """How much of `cents` was given back."""


ORDERS = (
    Order("A-1001", "a teapot", 24_00, "delivered"),
    Order("A-1002", "two cups", 18_50, "sent"),
    Order("A-1003", "a kettle", 59_90, "delivered", refunded=59_90),
    Order("A-1004", "a tray", 12_00, "packed"),
    Order("A-1005", "a milk jug", 16_00, "delivered"),
)


def orders_server() -> MCPServer:
    """A server with orders of its own."""
    server = MCPServer("orders", instructions="Orders of a small shop. Amounts are in cents.")
    orders = {order.number: order for order in ORDERS}

    @server.tool()
    def find_order(number: Number) -> Order:
        """What was ordered, what it cost, where it is, and how much was refunded."""
        if number not in orders:
            raise ToolError(f"There is no order {number!r}.")
        return orders[number]

    @server.tool()
    def refund(number: Number, cents: Cents, reason: str) -> Order:
        """Give back what a delivered order cost, or a part of it, once. The same refund again changes nothing."""
        order = find_order(number)
        if order.status != "delivered":
            raise ToolError(f"Order {number} is {order.status}; it can be refunded when it is delivered.")
        if cents > order.cents:
            raise ToolError(f"Order {number} cost {order.cents} cents; {cents} are more than that.")
        if order.refunded not in (0, cents):
            raise ToolError(f"Of order {number}, {order.refunded} cents were refunded already.")
        orders[number] = replace(order, refunded=cents)
        return orders[number]

    return server


if __name__ == "__main__":
    orders_server().run("stdio")
