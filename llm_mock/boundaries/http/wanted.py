"""What the project wants of requests to providers: known from the start of a run, where nothing else of HTTP is."""

from __future__ import annotations

from collections.abc import Sequence

MODES = ("answer", "refuse", "off")


class Wanted:
    """What holds at this moment."""

    mode = "answer"
    """Whether requests to providers are answered, refused, or (`off`) left alone."""
    hosts: tuple[str, ...] = ()
    """Further hosts that are providers: `example.com`, or `localhost:11434` for one port."""


def set_wanted(mode: str, hosts: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Set both. Returns what was set before, to be put back."""
    previous = Wanted.mode, Wanted.hosts
    Wanted.mode, Wanted.hosts = mode, tuple(hosts)
    return previous
