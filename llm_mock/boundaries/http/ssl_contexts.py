"""Share the SSL contexts that clients create by default.

Creating a context takes longer than many mocked calls, which open no connection. A changed context
is no longer shared, as a test that turns verification off must not affect later tests.
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
        create: creates the context if it does not exist yet, or if it was changed.
        key: identifies the context, together with the environment.

    Returns:
        The same context for each call with the same key.
    """
    environment = [os.environ.get(name) for name in VARIABLES]
    # A test may replace Python's own functions, and must then get the contexts that they create.
    whole_key = (*key, ssl.SSLContext, ssl.create_default_context, *environment)
    context, settings = _shared.get(whole_key, (None, None))
    if context is None or _read_settings(context) != settings:
        context = create()
        _shared[whole_key] = context, _read_settings(context)
    return context


def _read_settings(context: ssl.SSLContext) -> object:
    """Return the mutable settings of a context; None for a context that is not Python's own."""
    # The context of truststore raises an error if its certificates are read.
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
