"""Where requests really go: overrides of hosts, and which certificates are believed there.

An override changes the connection (scheme, host, port) and puts the URL's path before the request's. With an http://
URL the Host header stays the API's own: tests and local models see what the API would see. With https:// it names the
host of the URL, as the certificate does: a server behind TLS may refuse a name that is not its own (421).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from mitmproxy import http

from spanlore.settings import SettingsError
from spanlore_proxy.launch.ca import certificates, system_bundle


@dataclass(frozen=True, slots=True)
class Upstream:
    """One override."""

    scheme: str
    host: str
    port: int
    prefix: str
    """Path that is put before the request's; '' or begins with a slash and does not end with one."""

    @property
    def authority(self) -> str:
        """host, and the port where it is not the scheme's own."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.scheme == "https" else 80) else f"{name}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"


def parse_upstreams(urls: Mapping[str, str]) -> dict[str, Upstream]:
    """Host → override.

    Raises:
        SettingsError: a URL has no host, or its port is no number.
    """
    return {host.lower(): _parse(host, url) for host, url in urls.items()}


def redirect(request: http.Request, upstream: Upstream) -> None:
    """Sends the request there; only its target changes, and its Host header where TLS asks for it."""
    # The properties `host` and `port` would rewrite the Host header as well.
    request.data.host, request.data.port = upstream.host, upstream.port
    request.scheme = upstream.scheme
    if upstream.prefix:
        request.path = upstream.prefix + request.path
    if upstream.scheme == "https":
        name = upstream.authority.encode()
        if request.data.authority:
            request.data.authority = name
        request.headers.fields = tuple(
            (key, name if key.lower() == b"host" else value) for key, value in request.headers.fields
        )


def write_roots(folder: Path, extra: str) -> Path:
    """A PEM file with the system's roots and those in `extra`, for verifying upstream servers.

    Raises:
        SettingsError: `extra` cannot be read or holds no certificate.
    """
    system = system_bundle()
    blocks = certificates(system.read_bytes()) if system is not None else []
    if extra:
        try:
            added = certificates(Path(extra).expanduser().read_bytes())
        except OSError as error:
            raise SettingsError(f"proxy.upstream_ca: can't read {extra}: {error.strerror}.") from None
        if not added:
            raise SettingsError(f"proxy.upstream_ca: {extra} holds no PEM certificate.")
        blocks += added
    content = b"\n".join(blocks) + b"\n"
    # Named by its content: mitmproxy remembers what it loaded by the file's name.
    path = folder / f"upstream-roots-{hashlib.sha256(content).hexdigest()[:12]}.pem"
    if not path.exists():
        for outdated in folder.glob("upstream-roots-*"):
            outdated.unlink()
        fresh = path.with_suffix(".tmp")
        fresh.write_bytes(content)
        fresh.replace(path)
    return path


def _parse(host: str, url: str) -> Upstream:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise SettingsError(f"upstreams: {host}={url}: {error}") from None
    if not parts.hostname:
        raise SettingsError(f"upstreams: {host}={url} names no host")
    return Upstream(parts.scheme, parts.hostname, port, parts.path.rstrip("/"))
