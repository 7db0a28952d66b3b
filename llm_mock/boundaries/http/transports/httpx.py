"""httpx and httpx2: the SSL context of a client, which takes longer to make than many calls, is made once.

A mocked call makes no connection, so clients can share it. Only the one that a client makes by default is shared:
with `verify` or `cert`, or from `create_ssl_context`, an application gets its own. One that somebody changed is
shared no further, or a test that turns verification off would do so for those after it.
"""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from llm_mock.boundaries.attaching import replace
from llm_mock.boundaries.http.door import answers
from llm_mock.boundaries.http.wanted import Wanted

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
"""What the default context depends on, beside what a test may have put in place of Python's own."""

_shared: dict[Any, tuple[ssl.SSLContext, object]] = {}
"""The contexts, each with its settings when it was made."""


def attach(httpx: ModuleType) -> None:
    """Have the clients of an `httpx` module share their default context, while the mock answers."""
    transports = sys.modules.get(f"{httpx.__name__}._transports.default")
    if hasattr(transports, "create_ssl_context"):
        replace(transports, "create_ssl_context", _create_ssl_context)


def _create_ssl_context(
    original: Callable[..., ssl.SSLContext], verify: Any = True, cert: Any = None, trust_env: bool = True
) -> ssl.SSLContext:
    __tracebackhide__ = True
    if verify is not True or cert is not None or not Wanted.shared_ssl or not answers():
        return original(verify=verify, cert=cert, trust_env=trust_env)
    environment = [os.environ.get(name) for name in VARIABLES]
    made_by = (original, trust_env, ssl.SSLContext, ssl.create_default_context, *environment)
    context, settings = _shared.get(made_by, (None, None))
    if context is None or _settings_of(context) != settings:
        context = original(verify=verify, cert=cert, trust_env=trust_env)
        _shared[made_by] = context, _settings_of(context)
    return context


def _settings_of(context: Any) -> object:
    """What can be changed of a context, and read; of one that is not Python's own that is nothing."""
    if type(context).__module__ != "ssl":  # truststore's raises where it is asked for its certificates
        return None
    checks = context.check_hostname, context.verify_mode, context.verify_flags, context.options
    versions = context.minimum_version, context.maximum_version
    return checks, versions, context.keylog_filename, context.cert_store_stats()
