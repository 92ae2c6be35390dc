"""Who may speak to a port on loopback."""

from __future__ import annotations

import pytest

from spanlore.loopback import is_loopback_host, is_secret


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
    assert is_loopback_host(host) is is_loopback


@pytest.mark.parametrize("given", ["", "Secret", "secret ", "s\udcff\udcfe", "sécret"])
def test_only_the_secret_itself(given: str) -> None:
    """Anything else is refused without a fault, bytes that are not UTF-8 too."""
    assert is_secret("secret", "secret")
    assert not is_secret(given, "secret")


def test_an_empty_secret_opens_nothing() -> None:
    """A token file that a crash left empty does not open the ports to everybody."""
    assert not is_secret("", "")
