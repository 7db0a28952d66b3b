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
    fast_retries = True
    """Whether clients that can are told to try again after milliseconds."""
    shared_ssl = True
    """Whether clients share their default SSL context while the mock answers."""


def set_wanted(
    mode: str, hosts: Sequence[str], fast_retries: bool, shared_ssl: bool
) -> tuple[str, Sequence[str], bool, bool]:
    """Set all of it. Returns what was set before, to be put back."""
    previous = Wanted.mode, Wanted.hosts, Wanted.fast_retries, Wanted.shared_ssl
    Wanted.mode, Wanted.hosts, Wanted.fast_retries, Wanted.shared_ssl = mode, tuple(hosts), fast_retries, shared_ssl
    return previous
