"""Settings of the HTTP boundary, which are known from the start of a run.

Importing this module imports nothing else of the HTTP boundary.
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
        """Further hosts of model APIs, such as `example.com`.

        `localhost:11434` is one port of a host, and `!example.com` takes a host out.
        """
        self.is_offline = False
        """True if connections to other machines are refused, as in a dry run."""
        self.fast_retries = True
        """True if clients that support it are told to retry after milliseconds.

        No project has a reason to change it: what the provider sends is sent, too.
        """

    def configure(self, mode: str, hosts: Sequence[str]) -> None:
        """Set everything that a project configures.

        `is_offline` stays: a run of pytest within a dry run must not reach other machines either.
        """
        self.mode = mode
        self.hosts = tuple(hosts)

    def copy(self) -> HTTPSettings:
        """Return a copy, for `restore`."""
        settings = HTTPSettings()
        settings.restore(self)
        return settings

    def restore(self, previous: HTTPSettings) -> None:
        """Set everything as it is in a copy."""
        # In place, as other modules hold this object.
        vars(self).update(vars(previous))


http_settings = HTTPSettings()
"""The settings of this process."""
