"""The accounts of the bank, and what moved between them. Amounts are whole cents."""

from __future__ import annotations

from dataclasses import dataclass

OPENING_BALANCES = {"alice": 100_00, "bob": 20_50, "savings": 1_000_00}


class Refused(Exception):
    """The bank does not do what it was asked for; the message says why."""


@dataclass(frozen=True)
class Movement:
    """Money that left one account for another."""

    number: int
    source: str
    target: str
    cents: int
    reason: str


class Bank:
    """Accounts by the names of their owners."""

    def __init__(self) -> None:
        self.balances = dict(OPENING_BALANCES)
        self.movements: list[Movement] = []

    def balance(self, account: str) -> int:
        """Return what is in an account, in cents.

        Raises:
            Refused: there is no such account.
        """
        if account not in self.balances:
            raise Refused(
                f"There is no account {account!r}; there are {', '.join(sorted(self.balances))}."
            )
        return self.balances[account]

    def transfer(self, source: str, target: str, cents: int, reason: str = "") -> Movement:
        """Move money from one account to another.

        Raises:
            Refused: an account does not exist, both are the same, or the source has too little.
        """
        available = self.balance(source)
        self.balance(target)
        if source == target:
            raise Refused("The two accounts are the same.")
        if available < cents:
            raise Refused(
                f"Insufficient funds: {source} has {available} cents, and {cents} were to be moved."
            )
        self.balances[source] -= cents
        self.balances[target] += cents
        movement = Movement(
            number=len(self.movements) + 1, source=source, target=target, cents=cents, reason=reason
        )
        self.movements.append(movement)
        return movement

    def history(self, account: str) -> list[Movement]:
        """Return the movements of an account, the oldest first.

        Raises:
            Refused: there is no such account.
        """
        self.balance(account)
        return [each for each in self.movements if account in (each.source, each.target)]

    def balances_over_time(self, account: str) -> list[int]:
        """Return what was in an account at first and after each of its movements, in cents.

        Raises:
            Refused: there is no such account.
        """
        movements = self.history(account)
        points = [OPENING_BALANCES[account]]
        for each in movements:
            points.append(points[-1] + (each.cents if each.target == account else -each.cents))
        return points
