"""Routing of the requests to `llm-mock serve` by the test that they name.

A request names its test by the start of its path (`/t/NAME/…`) or by the header `X-Test-Id`.
"""

from __future__ import annotations

import hmac
import re
from ipaddress import ip_address
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.http1 import RequestHead
from llm_mock.boundaries.http.server import RoutedRequest, is_local_host
from llm_mock.boundaries.http.wire import WireResponse
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.commands.serve_tests import CONTROL_PATH, ServedTests
from llm_mock.errors import LLMMockError
from llm_mock.support.text import shorten

if TYPE_CHECKING:
    from llm_mock.commands.serve_control import ServeControl

TEST_PATH = "/t/"
TEST_HEADER = "x-test-id"
MAX_NAME = 100
"""The length of the name of a test."""
# No more characters: none of them needs an escape in a URL, a header or a terminal.
TEST_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}")
MIN_TOKEN = 8
"""The length of the shortest token that is accepted."""
TOKEN = re.compile("[!-~]+")


def check_control_token(token: str) -> None:
    """Raise an LLMMockError if a text cannot be sent as a token, or is easy to guess."""
    if len(token) < MIN_TOKEN or not TOKEN.fullmatch(token):
        raise LLMMockError(
            f"The token of --control-token must have at least {MIN_TOKEN} characters, and neither "
            "spaces nor characters outside of ASCII."
        )


class ServeRouter:
    """Routes requests to the mocks of their tests, and control requests to the control API.

    Args:
        tests: the mocks.
        token: the token that lets programs on other machines control the server; None for none.
    """

    def __init__(self, tests: ServedTests, token: str | None = None) -> None:
        self._tests = tests
        self._token = None if token is None else token.encode()
        self._control: ServeControl | None = None

    def concerns(self, head: RequestHead) -> bool:
        """Return True if a request controls the server or names a test."""
        return head.path.startswith((CONTROL_PATH, TEST_PATH)) or TEST_HEADER in head.headers

    def route(self, head: RequestHead, body: bytes, peer: str) -> RoutedRequest | WireResponse:
        """Return a request to a model with the mock of its test, or the answer of the control API.

        Args:
            head: the head of the request.
            body: the body.
            peer: the IP address of the client.

        Raises:
            WireError: the name of the test is invalid.
        """
        test, path = _split_test(head)
        if not path.startswith(CONTROL_PATH):
            # No provider would get the header.
            headers = {**head.headers}
            headers.pop(TEST_HEADER, None)
            routed = head._replace(path=path, headers=headers)
            return RoutedRequest(routed, lambda: self._tests.get(test))
        if self._control is None:
            # Imported late: most servers are not controlled, and start in half the time.
            from llm_mock.commands.serve_control import ServeControl

            self._control = ServeControl(self._tests)
        is_allowed = self._has_token(head) or _is_of_this_machine(head, peer)
        name = path.removeprefix(CONTROL_PATH)
        return self._control.respond(head, name, body, test, is_allowed)

    def _has_token(self, head: RequestHead) -> bool:
        """Return True if a client sends the token of the server."""
        scheme, _, token = head.headers.get("authorization", "").partition(" ")
        if self._token is None or scheme.lower() != "bearer":
            return False
        return hmac.compare_digest(token.strip().encode(), self._token)


def _split_test(head: RequestHead) -> tuple[str | None, str]:
    """Return the name of the test of a request, and its path without the name.

    Raises:
        WireError: the name is invalid, or there are two.
    """
    named = head.headers.get(TEST_HEADER)
    if named is not None:
        _check_name(named, "the header X-Test-Id")
    if not head.path.startswith(TEST_PATH):
        return named, head.path
    name, _, rest = head.path.removeprefix(TEST_PATH).partition("/")
    _check_name(name, f"a path that begins with {TEST_PATH}")
    path = f"/{rest}"
    if path.startswith(TEST_PATH):
        raise WireError(400, f"The path names two tests: {shorten(head.path)}. Name one.")
    if named not in (None, name):
        message = f"The path names the test {name!r}, and the header X-Test-Id {named!r}. Name one."
        raise WireError(400, message)
    return name, path


def _check_name(name: str, origin: str) -> None:
    """Raise a WireError if a text cannot be the name of a test."""
    if not TEST_NAME.fullmatch(name):
        raise WireError(
            400,
            f"Invalid name of a test in {origin}: {shorten(name)}. It must begin with a letter or "
            f"a digit, and have at most {MAX_NAME} letters, digits, '.', '_' and '-'.",
        )


def _is_of_this_machine(head: RequestHead, peer: str) -> bool:
    """Return True for a request of a local program, but not of a web page of another host."""
    if not _is_loopback(peer) or not is_local_host(head.host):
        return False
    # A page in a browser on this machine may send a request, even if it cannot see the answer.
    origin = head.headers.get("origin")
    if origin is None:
        return True
    return is_local_host(origin.partition("://")[2] or "unknown")


def _is_loopback(peer: str) -> bool:
    """Return True for a loopback address, also for an IPv4 address mapped to IPv6."""
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
