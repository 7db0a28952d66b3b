"""Share the SSL contexts that clients create by default.

A context takes longer to create than many calls, and a mocked call makes no connection. A context
that somebody changes is no longer shared: a test that turns verification off must not do so for
the tests after it.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
"""The environment variables that change the default SSL context."""

Key = tuple[object, ...]
_shared: dict[Key, tuple[ssl.SSLContext, object]] = {}
"""The shared contexts, each with its settings when it was created."""


def share_context(create: Callable[[], ssl.SSLContext], *key: object) -> ssl.SSLContext:
    """Return the shared SSL context of a key.

    Args:
        create: creates the context if there is none yet, or if somebody changed it.
        key: what distinguishes the context from others, beside the environment.

    Returns:
        The same context for each call with the same key.
    """
    environment = [os.environ.get(name) for name in VARIABLES]
    # A test may replace Python's own functions, and must get what they create.
    whole_key = (*key, ssl.SSLContext, ssl.create_default_context, *environment)
    context, settings = _shared.get(whole_key, (None, None))
    if context is None or _read_settings(context) != settings:
        context = create()
        _shared[whole_key] = context, _read_settings(context)
    return context


def _read_settings(context: ssl.SSLContext) -> object:
    """Return the settings of a context that can be changed; None for one that is not Python's."""
    # The context of truststore raises when it is asked for its certificates.
    if type(context).__module__ != "ssl":
        return None
    return (
        context.check_hostname,
        context.verify_mode,
        context.verify_flags,
        context.options,
        context.minimum_version,
        context.maximum_version,
        context.keylog_filename,
        context.cert_store_stats(),
    )
