"""Settings of the HTTP boundary, which are set at the start of a run.

This module imports no other module of the HTTP boundary.
"""

from __future__ import annotations

from collections.abc import Sequence

MODES = ("answer", "error", "off")


class HTTPSettings:
    """Settings of the HTTP boundary in this process."""

    def __init__(self) -> None:
        self.mode = "answer"
        """The handling of requests to providers: answer, refuse (`error`) or pass on (`off`)."""
        self.hosts: tuple[str, ...] = ()
        """Additional hosts of model APIs, such as `example.com`.

        `localhost:11434` names one port of a host, and `!example.com` excludes a host.
        """
        self.is_offline = False
        """True if connections to other machines are refused, as in a dry run."""
        self.fast_retries = True
        """True if clients that support it are told to retry after milliseconds.

        Projects need not change it, as the provider's own headers are sent, too.
        """

    def configure(self, mode: str, hosts: Sequence[str]) -> None:
        """Set all values that a project configures.

        `is_offline` does not change: a pytest run in a dry run must not reach other machines.
        """
        self.mode = mode
        self.hosts = tuple(hosts)

    def copy(self) -> HTTPSettings:
        """Return a copy, for `restore`."""
        settings = HTTPSettings()
        settings.restore(self)
        return settings

    def restore(self, previous: HTTPSettings) -> None:
        """Restore all values from a copy."""
        # In place, as other modules refer to this object.
        vars(self).update(vars(previous))


http_settings = HTTPSettings()
"""The settings of this process."""
