"""Who may speak to a port on loopback: whoever comes by a loopback name and knows the secret.

The name is asked for against DNS rebinding: a page in a browser reaches 127.0.0.1 under a name of its own, and sends
that name in the Host header.
"""

from __future__ import annotations

import hmac
from typing import Final

NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


def is_loopback_host(host: str) -> bool:
    """Whether a Host header names this machine by a loopback name, with any port."""
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name.lower() in NAMES


def is_secret(given: str, secret: str) -> bool:
    """Whether the client knows the secret, in constant time; an empty secret is known by nobody.

    aiohttp hands on header bytes that are not UTF-8 as halves of surrogate pairs, which `str.encode` refuses.
    """
    return bool(secret) and hmac.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())
