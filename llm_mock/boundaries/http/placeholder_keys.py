"""Placeholder credentials for SDKs that refuse to start, or to send a request, without a key.

Environment variables are not changed, because applications choose their provider by them. While the
mock answers, an SDK's client gets the placeholder if neither an argument nor a variable sets a key.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http.providers import list_sdks
from llm_mock.boundaries.patching import attach_on_import, replace

if TYPE_CHECKING:
    from llm_mock.boundaries.http.providers.descriptor import ClientKey

PARAMETER = "api_key"
"""The argument of an SDK's clients for the key."""


MODEL_SERVICES = ("bedrock", "sagemaker-runtime")
"""The prefixes of the names of AWS services that provide models."""
MODEL_SDKS = (
    "anthropic",
    "google.cloud.aiplatform",
    "google.genai",
    "litellm",
    "mistralai",
    "openai",
    "pydantic_ai",
    "vertexai",
)
"""The packages that look up cloud credentials only to call models."""
CREDENTIAL_PACKAGES = ("llm_mock", "boto3", "botocore", "google.auth", "google.oauth2")
"""The packages that may be on the call stack between one of `MODEL_SDKS` and the lookup."""
PLACEHOLDER_REGION = "us-east-1"
"""The AWS region if neither an argument, a variable nor a profile sets one."""
NO_PROJECT = "no-project-needed-by-llm-mock"
"""The Google Cloud project if neither an argument nor a variable sets one."""
AZURE_SCOPES = (
    "https://cognitiveservices.azure.com/",
    "https://ai.azure.com/",
    "https://ml.azure.com/",
)
"""The prefixes of Azure's scopes for models."""
AZURE_EXPIRY = 32_472_144_000
"""The Unix time at which a placeholder token for Azure expires, in the year 2999."""

_client_keys: dict[type, ClientKey] = {}
"""The clients of the SDKs that were imported."""
_is_for_models: ContextVar[bool] = ContextVar("llm_mock_credentials_for_models", default=False)
"""True while credentials are looked up to call models."""


def attach() -> None:
    """Let SDKs create clients without a key from now on, while the mock answers."""
    for package in list_sdks():
        attach_on_import(package, _attach_to_clients)
    attach_on_import("botocore.session", _attach_to_session)
    attach_on_import("botocore.credentials", _attach_to_instance_metadata)
    # A private module. Without it, a missing region is an error, as in production.
    attach_on_import("anthropic.lib.bedrock._client", _attach_to_anthropic_bedrock)
    attach_on_import("google.auth", _attach_to_google_auth)
    attach_on_import("google.auth._default", _attach_to_google_metadata)
    for transport in ("requests", "urllib3"):
        attach_on_import(f"google.auth.transport.{transport}", _attach_to_google_transport)
    for identity, get_token in (
        ("azure.identity", _get_azure_token),
        ("azure.identity.aio", _get_async_azure_token),
    ):
        attach_on_import(identity, functools.partial(_attach_to_azure, get_token))


def _attach_to_clients(module: ModuleType) -> None:
    # Imported here, so that the descriptors are loaded only when an SDK is imported.
    from llm_mock.boundaries.http.providers.registry import find_clients

    for name, key in find_clients(module.__name__):
        client = getattr(module, name, None)
        if client is not None:
            _client_keys[client] = key
            replace(client, "__init__", functools.partial(_init_client, client))


def _attach_to_session(session: ModuleType) -> None:
    replace(session.Session, "create_client", _create_client)
    replace(session.Session, "get_credentials", _get_credentials)


def _attach_to_instance_metadata(credentials: ModuleType) -> None:
    replace(credentials.InstanceMetadataProvider, "load", _load_from_instance)


def _attach_to_anthropic_bedrock(client: ModuleType) -> None:
    if hasattr(client, "_infer_region"):
        replace(client, "_infer_region", _infer_region)


def _attach_to_google_auth(auth: ModuleType) -> None:
    replace(auth, "default", _load_google_credentials)


def _attach_to_google_metadata(default: ModuleType) -> None:
    # A private name. Without it, google-auth calls Google Cloud's metadata server, which takes some
    # seconds on other machines.
    if hasattr(default, "_get_gce_credentials"):
        replace(default, "_get_gce_credentials", _load_google_instance_credentials)


def _attach_to_google_transport(transport: ModuleType) -> None:
    replace(transport.Request, "__call__", _request_google_token)


def _attach_to_azure(get_token: Callable[..., object], identity: ModuleType) -> None:
    credential = identity.DefaultAzureCredential
    replace(credential, "get_token", get_token)
    # Older versions do not have it.
    if hasattr(credential, "get_token_info"):
        replace(credential, "get_token_info", get_token)


def _init_client(
    owner: type, original: Callable[..., None], client: object, *args: Any, **kwargs: Any
) -> None:
    __tracebackhide__ = True
    # Only the most derived class decides: AzureOpenAI.__init__ calls OpenAI's with its own key.
    most_derived = next(each for each in type(client).__mro__ if each in _client_keys)
    if most_derived is not owner or not _is_answering():
        original(client, *args, **kwargs)
        return
    try:
        bound = inspect.signature(original).bind_partial(client, *args, **kwargs)
    except TypeError:
        # The constructor itself raises a better error.
        original(client, *args, **kwargs)
        return
    if _needs_placeholder(_client_keys[owner], bound):
        bound.arguments[PARAMETER] = PLACEHOLDER_KEY
    original(*bound.args, **bound.kwargs)


def _needs_placeholder(key: ClientKey, bound: inspect.BoundArguments) -> bool:
    """Return True if no argument or variable sets credentials; empty values do not count."""
    if PARAMETER not in bound.signature.parameters:
        return False
    for name in (PARAMETER, *key.arguments):
        value = bound.arguments.get(name)
        if value is not None and value != "" and value is not False:
            return False
    if any(os.environ.get(name) for name in key.variables):
        return False
    return not any(os.environ.get(name, "").lower() in ("1", "true") for name in key.flags)


def _create_client(
    original: Callable[..., object],
    session: Any,
    service_name: object,
    *args: Any,
    **kwargs: Any,
) -> Any:
    __tracebackhide__ = True
    if not str(service_name).startswith(MODEL_SERVICES):
        return original(session, service_name, *args, **kwargs)
    if not args and not kwargs.get("region_name") and _is_answering():
        kwargs["region_name"] = session.get_config_variable("region") or PLACEHOLDER_REGION
    with _credentials_for_models():
        return original(session, service_name, *args, **kwargs)


def _infer_region(original: Callable[..., str], *args: object) -> str:
    """Return the region for Anthropic's Bedrock client, by default a placeholder."""
    try:
        return original(*args)
    except ValueError:
        if not _is_answering():
            raise
        return PLACEHOLDER_REGION


def _get_credentials(original: Callable[..., object], session: object) -> Any:
    """Return botocore's credentials, or for models a placeholder if there are none.

    Other AWS services behave as without the mock.
    """
    __tracebackhide__ = True
    if not _are_for_models():
        return original(session)
    with _credentials_for_models():
        credentials = original(session)
    if credentials is not None:
        return credentials
    # botocore looks up credentials, so the module is already imported.
    return sys.modules["botocore.credentials"].Credentials(PLACEHOLDER_KEY, PLACEHOLDER_KEY)


def _load_from_instance(original: Callable[..., object], provider: object) -> Any:
    # On other machines, the lookup at AWS's metadata server would take some seconds.
    return None if _is_for_models.get() and _is_answering() else original(provider)


def _load_google_credentials(original: Callable[..., object], *args: Any, **kwargs: Any) -> Any:
    """Return Google's default credentials, or for models a placeholder if there are none."""
    __tracebackhide__ = True
    if not _are_for_models():
        return original(*args, **kwargs)
    try:
        with _credentials_for_models():
            return original(*args, **kwargs)
    except sys.modules["google.auth"].exceptions.DefaultCredentialsError:
        project = os.environ.get("GOOGLE_CLOUD_PROJECT") or NO_PROJECT
        return _make_google_placeholder(), project


def _load_google_instance_credentials(
    original: Callable[..., object], *args: Any, **kwargs: Any
) -> Any:
    if _is_for_models.get() and _is_answering():
        return None, None
    return original(*args, **kwargs)


def _request_google_token(original: Callable[..., object], *args: Any, **kwargs: Any) -> Any:
    """Return the response to google-auth's token request, or for models a placeholder.

    Credentials of the machine or of the application are refreshed before the first call.
    """
    __tracebackhide__ = True
    if not _are_for_models():
        return original(*args, **kwargs)
    # Imported late, as few projects have credentials of Google.
    from llm_mock.boundaries.http.google_tokens import TokenResponse
    from llm_mock.boundaries.http.interception import may_call_for_real

    if may_call_for_real():
        return original(*args, **kwargs)
    return TokenResponse()


def _get_azure_token(
    original: Callable[..., object], credential: object, *scopes: str, **kwargs: object
) -> object:
    """Return a token for Azure; for models a placeholder.

    Without it the credential asks Azure's servers and programs of this machine, which takes some
    seconds.
    """
    __tracebackhide__ = True
    if not _is_for_azure_models(scopes):
        return original(credential, *scopes, **kwargs)
    return _make_azure_token(original.__name__)


async def _get_async_azure_token(
    original: Callable[..., Awaitable[object]],
    credential: object,
    *scopes: str,
    **kwargs: object,
) -> object:
    __tracebackhide__ = True
    if not _is_for_azure_models(scopes):
        return await original(credential, *scopes, **kwargs)
    return _make_azure_token(original.__name__)


def _is_for_azure_models(scopes: tuple[str, ...]) -> bool:
    """Return True if the mock answers and a token is only for calling models."""
    if not scopes or not _is_answering():
        return False
    from llm_mock.boundaries.http.interception import may_call_for_real

    return not may_call_for_real() and all(scope.startswith(AZURE_SCOPES) for scope in scopes)


def _make_azure_token(method: str) -> object:
    """Return what a method of a credential returns."""
    # The package of the credential needs this one.
    from azure.core import credentials

    if method == "get_token_info":
        return credentials.AccessTokenInfo(PLACEHOLDER_KEY, AZURE_EXPIRY)
    return credentials.AccessToken(PLACEHOLDER_KEY, AZURE_EXPIRY)


def _make_google_placeholder() -> Any:
    # Imported here, as few projects have the package.
    from google.auth.credentials import Credentials

    class PlaceholderCredentials(Credentials):
        """Google credentials that never expire."""

        def refresh(self, request: object) -> None:
            """Do nothing; older SDKs refresh valid credentials too."""

    credentials: Any = PlaceholderCredentials()  # type: ignore[no-untyped-call]
    credentials.token = PLACEHOLDER_KEY
    return credentials


def _is_answering() -> bool:
    # Imported when a client is made: few runs need the HTTP boundary.
    from llm_mock.boundaries.http.interception import is_answering

    return is_answering()


def _are_for_models() -> bool:
    """Return True if the current lookup of credentials can only be for calls to models."""
    return _is_answering() and (_is_for_models.get() or _is_called_by_model_sdk())


def _is_called_by_model_sdk() -> bool:
    # inspect.stack() reads source files; only the names of the modules are needed.
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_part_of(frame.f_globals, CREDENTIAL_PACKAGES):
        frame = frame.f_back
    return _is_part_of(frame.f_globals, MODEL_SDKS)


def _is_part_of(namespace: dict[str, Any], packages: tuple[str, ...]) -> bool:
    module = f"{namespace.get('__name__')}."
    return module.startswith(tuple(f"{package}." for package in packages))


@contextmanager
def _credentials_for_models() -> Iterator[None]:
    token = _is_for_models.set(True)
    try:
        yield
    finally:
        _is_for_models.reset(token)
