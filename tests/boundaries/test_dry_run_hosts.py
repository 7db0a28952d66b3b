"""A dry run tells URLs on this machine from others."""

from __future__ import annotations

import pytest

from llm_mock.boundaries.dry_run_hosts import is_local_url


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("http://localhost:8000/ask", True),
        ("http://127.0.0.1", True),
        ("http://[::1]:8000", True),
        ("http://[::1", False),
        ("http:///ask", False),
        ("localhost", False),
        ("https://example.com/localhost", False),
    ],
)
def test_only_a_url_with_a_host_of_this_machine_is_local(url: str, is_local: bool) -> None:
    assert is_local_url(url) is is_local
