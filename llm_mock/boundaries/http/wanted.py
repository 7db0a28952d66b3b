"""What the project wants of requests to providers: known from the start of a run, where nothing else of HTTP is."""

from __future__ import annotations

from collections.abc import Sequence

MODES = ("answer", "refuse", "off")
TELEMETRY_MODES = ("drop", "allow")


class Wanted:
    """What holds at this moment."""

    mode = "answer"
    """Whether requests to providers are answered, refused, or (`off`) left alone."""
    hosts: tuple[str, ...] = ()
    """Further hosts of model APIs: `example.com`, or `localhost:11434` for one port; `!example.com` is none."""
    is_offline = False
    """Whether connections to any other machine are refused, as in a dry run."""
    telemetry = "drop"
    """Whether reports of frameworks that they are used are dropped or, with `allow`, sent."""
    fast_retries = True
    """Whether clients that can are told to try again after milliseconds."""
    shared_ssl = True
    """Whether clients share their default SSL context while the mock answers."""


def set_wanted(
    mode: str, hosts: Sequence[str], fast_retries: bool, shared_ssl: bool, telemetry: str = "drop"
) -> tuple[str, Sequence[str], bool, bool, str]:
    """Set all of it. Returns what was set before, to be put back."""
    previous = Wanted.mode, Wanted.hosts, Wanted.fast_retries, Wanted.shared_ssl, Wanted.telemetry
    Wanted.mode, Wanted.hosts, Wanted.telemetry = mode, tuple(hosts), telemetry
    Wanted.fast_retries, Wanted.shared_ssl = fast_retries, shared_ssl
    return previous
