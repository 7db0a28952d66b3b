"""Decide which requests and connections the mock intercepts.

Every HTTP transport calls this module first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from llm_mock.boundaries.http.clients import (
    Client,
    choose_dialect,
    is_model_body,
    is_model_path,
    is_realtime_path,
    is_unmistakable_path,
    read_client,
)
from llm_mock.boundaries.http.providers.hosts import (
    find_provider_in_environment,
    find_provider_of_host,
    find_provider_of_path,
    is_listed,
    is_telemetry,
    is_this_machine,
    normalize_host,
)
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.core.context import (
    current_mock,
    current_mock_if_created,
    has_passthrough,
    is_mocked,
    is_passing_through,
)
from llm_mock.support.text import bracket_host

if TYPE_CHECKING:
    from llm_mock.boundaries.http.wire import WireRequest

UNDECIDED = "undecided"
"""The result of `find_provider` if only the body tells whether a model is called."""
TELEMETRY = "telemetry"
"""The result of `find_provider` for a framework's usage report."""
Headers = Iterable[tuple[Any, Any]]


def is_answering() -> bool:
    """Return True if the mock answers instead of the providers."""
    return http_settings.mode == "answer" and is_mocked() and not is_passing_through()


def may_call_for_real() -> bool:
    """Return True if calls may reach a provider, because they are recorded or pass through."""
    if has_passthrough():
        return True
    mock = current_mock()
    while mock is not None:
        if mock.cassette is not None and mock.cassette.mode != "none":
            return True
        mock = mock.parent
    return False


def find_provider(
    host: str,
    port: int | None,
    target: str,
    headers: Headers = (),
    *,
    is_local: bool = False,
    method_and_scheme: str = "",
) -> str | None:
    """Return the provider that a request is for; None if the mock leaves the request alone.

    Args:
        host: the host of the request.
        port: its port; None for the default one.
        target: its path, with or without a query.
        headers: its headers, in the form of the HTTP library.
        is_local: True if the request goes to a unix socket.
        method_and_scheme: for example `POST http`, to report an SDK that calls an unmocked server
            on this machine; empty if a lower library reports it.

    Returns:
        The provider, which determines the API format. For `UNDECIDED`, read the body and call
        `identify_provider`.
    """
    if not _is_guarded():
        return None
    provider = find_provider_of_host(host, port, http_settings.hosts)
    if provider is None:
        # The host of a unix socket has no meaning, and may equal the host of a provider.
        unlisted_host = "" if is_local else normalize_host(host)
        return _find_provider_at_unlisted_host(
            unlisted_host, port, target, headers, method_and_scheme
        )
    # A host that the project listed is its own provider, so it does not determine the API format.
    if http_settings.hosts and provider == normalize_host(host):
        path = target.partition("?")[0]
        return choose_dialect(path, read_client(headers).sdk)
    return provider


def _find_provider_at_unlisted_host(
    host: str, port: int | None, target: str, headers: Headers, method_and_scheme: str
) -> str | None:
    if is_listed(host, port, http_settings.hosts, "!"):
        if method_and_scheme:
            _note_taken_out(host, port, target, method_and_scheme, headers)
        return None
    client = read_client(headers)
    path = target.partition("?")[0]
    if is_this_machine(host):
        if http_settings.is_offline:
            return _find_provider_in_dry_run(client, host, port, path)
        _note_local_call(host, port, path, method_and_scheme, client)
        return None
    if is_telemetry(host, path):
        return TELEMETRY
    provider = find_provider_of_path(host, path)
    if provider is not None:
        return provider
    return _find_provider_by_client(client, host, port, path)


def _find_provider_in_dry_run(client: Client, host: str, port: int | None, path: str) -> str | None:
    """Return the provider of a request to a server on this machine that may be a gateway."""
    provider = _find_provider_by_client(client, host, port, path)
    # Checked last, as finding the owner of a port takes long.
    if provider is None or not _may_be_gateway(host, port):
        return None
    return provider


def _may_be_gateway(host: str, port: int | None) -> bool:
    """Return True for a server on this machine that this run did not start.

    It may call real models with the real key of the user.
    """
    # The owner of a unix socket is not known.
    if not host or "/" in host or "%2f" in host.lower():
        return False
    # Imported here, as few runs need it.
    from llm_mock.boundaries.http.local_servers import is_foreign

    # True without a server, too: the result must not depend on whether a gateway is running.
    return is_foreign(port or 80, if_unknown=True) is not False


def _find_provider_by_client(client: Client, host: str, port: int | None, path: str) -> str | None:
    provider = find_provider_in_environment(host, port, path)
    # OpenAI's SDK can call gateways of many providers; the variable names the provider.
    if provider is not None and client.sdk == "openai":
        return provider
    if client.sdk is not None:
        return choose_dialect(path, client.sdk)
    if provider is not None:
        return choose_dialect(path, provider)
    if client.wants_websocket:
        return choose_dialect(path, None) if is_realtime_path(path) else None
    if client.sends_json and is_model_path(path):
        return UNDECIDED
    return None


class LeftAloneRequest(NamedTuple):
    """A request to a server that the mock does not replace."""

    host: str
    port: int | None
    path: str
    method_and_scheme: str
    """Such as `POST http`."""

    def get_port(self) -> int:
        """Return the port, by default that of the scheme."""
        return self.port or (443 if self.method_and_scheme.endswith(" https") else 80)

    def get_server(self) -> str:
        """Return the host and the port in the form of ini `llm_mock_hosts`."""
        return f"{bracket_host(self.host)}:{self.get_port()}"

    def describe(self) -> str:
        """Return the method and the URL without its query."""
        method, scheme = self.method_and_scheme.split(" ")
        return f"{method} {scheme}://{self.get_server()}{self.path}"

    def is_foreign(self) -> bool | None:
        """Return True if this run did not start the server; None without a server."""
        # Imported here, as few runs need it.
        from llm_mock.boundaries.http.local_servers import is_foreign

        return is_foreign(self.get_port())


def _note_local_call(
    host: str, port: int | None, path: str, method_and_scheme: str, client: Client
) -> None:
    """Note a call to a model on this machine, which the mock leaves alone."""
    if not method_and_scheme or not host:
        return
    request = LeftAloneRequest(host, port, path, method_and_scheme)
    if client.sdk is not None:
        _note_call_of_sdk(request)
    elif is_unmistakable_path(path):
        foreign = request.is_foreign() if _has_cassette() else None
        if foreign is None:
            _note_left_alone(request)
        else:
            _note_not_recorded(request, foreign)


def _note_call_of_sdk(request: LeftAloneRequest) -> None:
    """Note a call of a known SDK to a server on this machine."""
    foreign = request.is_foreign()
    # Without a server, there is no response to record.
    if foreign is not None and _has_cassette():
        _note_not_recorded(request, foreign)
    elif foreign is False:
        _note_left_alone(request)
    else:
        _note_not_mocked(request, foreign)


def _note_left_alone(request: LeftAloneRequest) -> None:
    """Note a call for the failure output of the test, which may expect the mock to answer it."""
    mock = current_mock_if_created()
    if mock is None or _is_own_server(request):
        return
    mock.left_alone[request.describe()] = (
        "The mock answers for a server on this machine only if ini llm_mock_hosts names it: "
        f"{request.get_server()}."
    )


def _is_own_server(request: LeftAloneRequest) -> bool:
    """Return True for a mock server in this process, which uses the same replies."""
    server = sys.modules.get("llm_mock.boundaries.http.server")
    return server is not None and request.get_port() in server.served_ports


def _note_not_mocked(request: LeftAloneRequest, foreign: bool | None) -> None:
    server = request.get_server()
    url = request.describe()
    advice = (
        f"To have the mock answer, add {server} to ini llm_mock_hosts; to leave the server alone, "
        f"add !{server} there."
    )
    # Without a server, the connection fails anyway, which the test may intend.
    if foreign is None:
        message = f"not mocked: {url}. No server listens there. {advice}"
        current_mock().note_refusal(message)
        return
    message = f"not mocked: {url}. This test run did not start that server. {advice}"
    current_mock().note_not_mocked(url, message)


def _has_cassette() -> bool:
    mock = current_mock_if_created()
    return mock is not None and mock.cassette is not None


def _note_not_recorded(request: LeftAloneRequest, foreign: bool) -> None:
    """Note a call that the cassette of the test can neither record nor replay.

    Args:
        request: the call.
        foreign: False if this run started the server, so that the call is not a problem.
    """
    # The mock server records and replays its calls itself.
    if _is_own_server(request):
        return
    server = request.get_server()
    url = request.describe()
    mock = current_mock()
    if foreign:
        mock.note_problem(
            f"The cassette of this test cannot record {url}, because {server} is left alone. To "
            f"record and replay calls to it, add {server} to ini llm_mock_hosts; to call it for "
            f"real in each run, add !{server} there."
        )
    mock.cassette.note_left_alone(url, f"Add {server} to ini llm_mock_hosts.")


def _note_taken_out(
    host: str, port: int | None, target: str, method_and_scheme: str, headers: Headers
) -> None:
    """Note a call to a host that the project excluded, for the failure output and the cassette."""
    mock = current_mock_if_created()
    if mock is None:
        return
    request = LeftAloneRequest(host, port, target.partition("?")[0], method_and_scheme)
    if read_client(headers).sdk is None and not is_unmistakable_path(request.path):
        return
    entry = f"!{bracket_host(request.host)}"
    if entry not in http_settings.hosts:
        entry = f"!{request.get_server()}"
    fix = f"Remove {entry} from ini llm_mock_hosts."
    if mock.cassette is None:
        mock.left_alone[request.describe()] = fix
    else:
        mock.cassette.note_left_alone(request.describe(), fix)


def identify_provider(sent: WireRequest) -> str | None:
    """Return the provider of a request with its body; None if the request calls no model."""
    if sent.method != "POST" or not is_model_path(sent.path):
        return None
    if not is_model_body(sent.path, sent.body):
        return None
    return choose_dialect(sent.path, read_client(sent.headers.items()).sdk)


def refuse_connection(host: str | bytes | None, port: object) -> str | None:
    """Return the message that refuses a connection; None to leave the connection alone.

    The refusal fails the test.
    """
    # Checked first for speed: every connection of the process gets here, even without a mock.
    if not host or not _is_guarded():
        return None
    name = host.decode("latin-1") if isinstance(host, bytes) else host
    if not isinstance(name, str):
        return None
    # Sockets accept service names instead of port numbers, too.
    number = port if isinstance(port, int) else None
    return _note_refusal(name) if is_provider_host(name, number) else None


def refuse_url(url: str, *, is_socket: bool = False) -> str | None:
    """Return the message that refuses a request to a URL; None to leave the request alone.

    Args:
        url: the URL of a provider, or of a model API elsewhere.
        is_socket: True for the URL of a WebSocket.
    """
    if not _is_guarded():
        return None
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if is_provider_host(host, port):
        return _note_refusal(host)
    is_model = is_realtime_path(parts.path) if is_socket else is_unmistakable_path(parts.path)
    if is_model and not _is_left_alone(host, port):
        return _note_refusal(host)
    return None


def refuse_request(
    method: str, host: str, port: int | None, target: str, body: bytes
) -> str | None:
    """Return the message that refuses a request to a model; None to leave the request alone."""
    path = target.partition("?")[0]
    if method != "POST" or not is_model_path(path):
        return None
    if not _is_guarded() or _is_left_alone(host, port):
        return None
    return _note_refusal(host) if is_model_body(path, body) else None


def _note_refusal(name: str) -> str:
    """Note that a connection is refused, and return the message."""
    if http_settings.is_offline and is_this_machine(name):
        message = (
            f"Connection to {name} refused: this dry run did not start the server, which may call "
            "real models. Nothing was sent. To leave the server alone, add !HOST:PORT to ini "
            "llm_mock_hosts."
        )
    elif http_settings.is_offline:
        message = (
            f"Connection to {name} refused: a dry run does not connect to other machines. Nothing "
            "was sent. Run without --dry-run, or mock this call in the application."
        )
    else:
        message = (
            f"Connection to {name} refused: llm_mock cannot answer on this kind of connection. "
            "Nothing was sent. The mock answers requests made with httpx, httpx2, requests, "
            "urllib3, botocore and aiohttp, and Responses and Realtime over WebSockets opened "
            "with websockets 13.1 or later or with aiohttp. To reach the provider, mark the test "
            "with @pytest.mark.llm_live."
        )
    current_mock().note_problem(message)
    return message


def _is_guarded() -> bool:
    return http_settings.mode != "off" and is_mocked() and not is_passing_through()


def _is_left_alone(host: str, port: int | None) -> bool:
    """Return True for this machine and for hosts that the project excluded, unless listed."""
    name = normalize_host(host)
    if is_listed(name, port, http_settings.hosts):
        return False
    if is_listed(name, port, http_settings.hosts, "!"):
        return True
    if not is_this_machine(host):
        return False
    return not (http_settings.is_offline and _may_be_gateway(host, port))


def is_provider_host(host: str, port: int | None) -> bool:
    """Return True if everything at a host belongs to a provider."""
    if find_provider_of_host(host, port, http_settings.hosts) is not None:
        return True
    if http_settings.is_offline and not is_this_machine(host):
        return True
    if _is_left_alone(host, port):
        return False
    return find_provider_in_environment(normalize_host(host), port, None) is not None


async def sleep(seconds: float) -> None:
    """Wait, in asyncio or in trio."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        await trio.sleep(seconds)
        return
    # Imported here, so that applications without asyncio do not load it.
    import asyncio

    await asyncio.sleep(seconds)
