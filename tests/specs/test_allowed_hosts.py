"""The hosts that tools of a test may call."""

from __future__ import annotations

import socket
from typing import Any

import pytest

pytest.importorskip("httpx2")

from llm_mock.errors import HostNotAllowed, InvalidHostPattern
from llm_mock.specs.allowed_hosts import ANY, LOOPBACK, AllowedHosts


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/",
        "http://LOCALHOST:8000/",
        "http://127.0.0.1",
        "https://127.9.8.7:1/x",
        "http://[::1]:80/",
        "http://[::ffff:127.0.0.1]/",
        "http://evil.example@localhost/",
    ],
)
def test_this_machine_is_loopback(url: str) -> None:
    LOOPBACK.check(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "http://localhost@evil.example/",
        "http://localhost:80@evil.example/",
        "http://evil.example#@localhost/",
        "http://evil.example?@localhost/",
        "http://localhost.evil.example/",
        "http://sub.localhost/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://127.1/",
        "http://127.0.0.1./",
        "http://0.0.0.0/",
        "http://[::]/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/latest",
        "http://%6cocalhost/",
        "http://\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54/",  # fullwidth
        "http://localhost%00.evil.example/",
        "ftp://localhost/",
        "file:///etc/passwd",
        "localhost:80",
        "http:///x",
        "//localhost/",
        "http://localhost:99999/",
        "http://loc\nalhost/",
        "",
    ],
)
def test_nothing_else_is_loopback(url: str) -> None:
    with pytest.raises(HostNotAllowed):
        LOOPBACK.check(url)


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("*.example.com", "https://api.EXAMPLE.com/"),
        ("*.Example.com", "https://a.b.example.com./"),
        ("example.com", "https://example.com:8443/"),
        ("example.com:443", "https://example.com/"),
        ("example.com.", "https://example.com/"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000/"),
        ("[::1]:8000", "http://[::1]:8000/"),
        ("[::1]", "http://[::1]/"),
        ("10.0.0.0/8", "http://10.1.2.3/"),
        ("*:8000", "http://anything:8000/"),
        ("xn--bcher-kva.example", "http://bücher.example/"),
        ("*", "http://2130706433/"),
    ],
)
def test_what_a_pattern_allows(pattern: str, url: str) -> None:
    AllowedHosts([pattern]).check(url)


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("*.example.com", "https://example.com/"),
        ("*.example.com", "https://example.com.evil/"),
        ("example.com:443", "http://example.com/"),
        ("127.0.0.1:8000", "http://127.0.0.1:8001/"),
        ("127.*", "http://127.0.0.1/"),
        ("10.0.0.0/8", "http://11.1.2.3/"),
        ("*:8000", "http://anything/"),
    ],
)
def test_what_a_pattern_does_not_allow(pattern: str, url: str) -> None:
    with pytest.raises(HostNotAllowed):
        AllowedHosts([pattern]).check(url)


def test_localhost_must_be_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [(2, 1, 6, "", ("10.0.0.1", 0))])
    with pytest.raises(HostNotAllowed, match="does not resolve to this machine"):
        LOOPBACK.check("http://localhost/")
    ANY.check("http://localhost/")


def test_a_name_that_cannot_be_resolved_is_not_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise socket.gaierror("no name server")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(HostNotAllowed, match="does not resolve to this machine"):
        LOOPBACK.check("http://localhost/")


def test_the_error_names_the_host_what_is_allowed_and_how_to_allow_it() -> None:
    with pytest.raises(HostNotAllowed) as caught:
        AllowedHosts(["localhost", "*.example.com"]).check(
            "https://ada:hunter2@Evil.example/page?key=1"
        )
    assert str(caught.value) == (
        "No request was sent to the host 'evil.example' (port 443), because it is not allowed. "
        "Allowed: localhost, *.example.com. To allow it, add evil.example to ini "
        "llm_mock_allowed_hosts."
    )
    with pytest.raises(HostNotAllowed, match="Allowed: none"):
        AllowedHosts([]).check("http://localhost/")


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "http://localhost",
        "localhost/x",
        "a b",
        "host:",
        "host:99999",
        "[host]",
        "bücher.de",
        "a@b",
        5,
    ],
)
def test_what_is_no_host_is_refused(pattern: Any) -> None:
    with pytest.raises(InvalidHostPattern, match="Invalid host"):
        AllowedHosts([pattern])


def test_allowed_hosts_are_equal_by_value() -> None:
    assert AllowedHosts(["localhost"]) == AllowedHosts(("localhost",)) != LOOPBACK
    assert repr(AllowedHosts(["localhost"])) == "AllowedHosts(patterns=('localhost',))"


@pytest.mark.parametrize(
    ("url", "more"),
    [
        ("ftp://localhost/", " This url begins with 'ftp'."),
        ("localhost:80/x", " This url begins with 'localhost'."),
        ("/x", ""),
        ("http://", ""),
        ("http://localhost:65536/", ""),
        ("http://[::1/", ""),
    ],
)
def test_a_url_that_is_not_valid_is_told_without_showing_it(url: str, more: str) -> None:
    with pytest.raises(HostNotAllowed) as raised:
        ANY.check(url)
    problem = "Invalid url. Write http://host:port/path or https://host:port/path."
    assert str(raised.value) == f"{problem}{more}"
