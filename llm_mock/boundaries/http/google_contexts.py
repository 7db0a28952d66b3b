"""Share the SSL contexts of google-genai, as each client creates three before its first request.

Clients with arguments for their HTTP library create their own contexts. So do clients for Vertex
AI, as they may load a certificate of the user.
"""

from __future__ import annotations

import functools
import os
import ssl
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.interception import is_answering
from llm_mock.boundaries.http.ssl_contexts import share_context
from llm_mock.boundaries.patching import replace

if TYPE_CHECKING:
    from google.genai.types import HttpOptions

OWN_OPTIONS = ("client_args", "async_client_args", "httpx_client", "httpx_async_client")
"""The options with which a client may have its own context."""
BACKEND_VARIABLE = "GOOGLE_GENAI_HTTP_CLIENT"
"""The environment variable that chooses the HTTP library, and so the kind of context."""
Arguments = dict[str, ssl.SSLContext]
"""The arguments of an HTTP library with a context; the other arguments are not read."""
METHODS = {
    "_ensure_httpx_ssl_ctx": "verify",
    "_ensure_aiohttp_ssl_ctx": "ssl",
    "_ensure_websocket_ssl_ctx": "ssl",
}
"""The private methods that create a context, each with the argument that contains it."""


def attach(module: ModuleType) -> None:
    """Share the contexts of the clients of `google.genai._api_client`."""
    # If a method is missing, the clients of this version are as slow as in production.
    client = getattr(module, "BaseApiClient", None)
    for method, argument in METHODS.items():
        if hasattr(client, method):
            replace(client, method, functools.partial(_share, argument))


def _share(
    argument: str,
    original: Callable[..., Arguments | tuple[Arguments, ...]],
    options: HttpOptions,
    *args: object,
    **kwargs: object,
) -> object:
    """Call a method with the shared context, as if the client had been created with it.

    Args:
        argument: the argument of the HTTP library with the context.
        original: the method, which returns arguments for a library, or a tuple of them.
        options: the options of the client.
        args: whether the client is for Vertex AI, and classes of clients.
        kwargs: the same by name.
    """
    __tracebackhide__ = True
    given = [*args, *kwargs.values()]
    given += [getattr(options, name, None) for name in OWN_OPTIONS]
    if any(given) or not is_answering():
        return original(options, *args, **kwargs)

    def create() -> ssl.SSLContext:
        arguments = original(options)
        first = arguments[0] if isinstance(arguments, tuple) else arguments
        return first[argument]

    context = share_context(create, original, os.environ.get(BACKEND_VARIABLE))
    with_context = {argument: context}
    update = {"client_args": with_context, "async_client_args": with_context}
    return original(options.model_copy(update=update))
