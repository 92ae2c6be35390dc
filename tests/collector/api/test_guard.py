"""Who may speak to the collector. The requests themselves are in tests/collector/test_service.py."""

from __future__ import annotations

import pytest

from spanlore_collector.api.guard import is_loopback_host


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [
        ("127.0.0.1:7718", True),
        ("127.0.0.1", True),
        ("localhost:1", True),
        ("LOCALHOST", True),
        ("[::1]:7718", True),
        ("[::1]", True),
        ("evil.example:7718", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example:80", False),
        ("", False),
    ],
)
def test_only_loopback_names(host: str, is_loopback: bool) -> None:
    """With any port, and nothing that merely begins with one."""
    assert is_loopback_host(host) == is_loopback
