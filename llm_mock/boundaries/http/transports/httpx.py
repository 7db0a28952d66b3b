"""httpx and httpx2: the SSL context of a client, which takes longer to make than many calls, is made once.

A mocked call makes no connection, so clients can share it. Only the one that a client makes by default is shared:
with `verify` or `cert`, or from `create_ssl_context`, an application gets its own.
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

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""What the default context depends on, beside what a test may have put in place of Python's own."""

_shared: dict[Any, ssl.SSLContext] = {}


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
    if made_by not in _shared:
        _shared[made_by] = original(verify=verify, cert=cert, trust_env=trust_env)
    return _shared[made_by]
