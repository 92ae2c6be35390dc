"""The user's own CA, and files of roots that hold it beside what was trusted before.

The CA is made once per user by mitmproxy's own code, so the proxy finds it in its confdir; the key never leaves that
directory (0600 in a 0700 directory). `SSL_CERT_FILE` and its kin replace a program's trust store, and hosts that are
not intercepted show their real certificates: so the files that those variables point to hold the system's roots, every
CA the caller's own variables named, and ours.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import ssl
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spanlore.settings import Paths

BASENAME: Final = "mitmproxy"
"""mitmproxy looks for `<basename>-ca.pem` in its confdir; the name is not configurable there."""
KEY_BITS: Final = 2048
"""mitmproxy's default. Every program that can speak TLS 1.2 accepts it."""
MAX_BUNDLE_BYTES: Final = 16 * 1024**2
"""Of one file of roots; real ones have 0.2 to 0.5 MB."""

USUAL_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch, Gentoo, NixOS
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # Alpine, macOS, the BSDs
    "/opt/homebrew/etc/openssl@3/cert.pem",
    "/usr/local/etc/openssl@3/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
)

CALLER_VARIABLES: Final = (
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CODEX_CA_CERTIFICATE",
    "NODE_EXTRA_CA_CERTS",
    "AWS_CA_BUNDLE",
    "NIX_SSL_CERT_FILE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
)
"""Where a caller may have named CAs of its own, beside `SSL_CERT_FILE`."""

_BLOCK: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Trust:
    """Files to point a program's variables at."""

    ca: Path
    """Our CA certificate alone."""
    bundle: Path
    """All roots and ours: for variables that replace the trust store."""
    extra: Path
    """For `NODE_EXTRA_CA_CERTS`, which adds: ours, and what the caller had there."""
    is_usual: bool = True
    """The caller trusts just what the system does."""


def ensure_ca(paths: Paths) -> Path:
    """The CA certificate, made on first use. Safe against a second process and against a crash half way."""
    paths.ensure()
    key_file = paths.ca_dir / f"{BASENAME}-ca.pem"
    with _locked(paths.ca_dir / ".lock"):
        if not (key_file.exists() and paths.ca_cert.exists()):
            _make_ca(paths.ca_dir)
        if key_file.stat().st_mode & 0o077:
            key_file.chmod(0o600)
    return paths.ca_cert


def fingerprint(paths: Paths) -> str:
    """SHA-256 of the CA certificate's file, hex; '' where there is none."""
    try:
        return hashlib.sha256(paths.ca_cert.read_bytes()).hexdigest()
    except OSError:
        return ""


def ensure_trust(paths: Paths, environ: Mapping[str, str]) -> Trust:
    """The CA and the bundles for a caller with this environment.

    Two shells may name different CAs, so a bundle that holds more than the system's roots has a name made from its
    content: one caller's run never changes the file under another's.
    """
    ca = ensure_ca(paths)
    ours = certificates(ca.read_bytes())
    roots, is_usual = _roots(environ)
    added = list(_named(environ, CALLER_VARIABLES))
    node = list(_named(environ, ("NODE_EXTRA_CA_CERTS",)))
    is_usual = is_usual and set(added) <= set(roots) | set(ours)
    return Trust(
        ca=ca,
        bundle=_write(paths.ca_dir, "bundle", [*roots, *added, *ours], is_usual),
        extra=_write(paths.ca_dir, "extra", [*node, *ours], False) if set(node) - set(ours) else ca,
        is_usual=is_usual,
    )


def system_bundle() -> Path | None:
    """The system's own file of roots, whatever the environment says; certifi's where there is none."""
    for name in (ssl.get_default_verify_paths().openssl_cafile, *USUAL_BUNDLES):
        if name and _blocks_of(Path(name)):
            return Path(name)
    try:
        import certifi
    except ImportError:
        return None
    return Path(certifi.where())


def certificates(pem: bytes) -> list[bytes]:
    """The certificate blocks of a PEM file, comments and keys left out."""
    return [block.replace(b"\r\n", b"\n") for block in _BLOCK.findall(pem)]


def _roots(environ: Mapping[str, str]) -> tuple[list[bytes], bool]:
    """The roots the caller trusts, and whether they are just the system's."""
    usual = system_bundle()
    named = environ.get("SSL_CERT_FILE", "")
    roots = _blocks_of(Path(named)) if named else []
    if roots:
        return roots, usual is not None and Path(named).resolve() == usual.resolve()
    return (_blocks_of(usual) if usual else []), True


def _named(environ: Mapping[str, str], names: Iterable[str]) -> Iterator[bytes]:
    for path in dict.fromkeys(environ.get(name, "") for name in names):
        if path:
            yield from _blocks_of(Path(path))


def _blocks_of(path: Path) -> list[bytes]:
    """The certificates in a file, or in the files of a directory (`REQUESTS_CA_BUNDLE` takes both)."""
    try:
        if path.is_dir():
            return [block for file in sorted(path.iterdir()) if file.is_file() for block in _blocks_of(file)]
        with path.open("rb") as file:
            return certificates(file.read(MAX_BUNDLE_BYTES))
    except OSError:
        # The caller's variable leads nowhere: its programs would have failed on it anyway.
        return []


def _write(folder: Path, stem: str, blocks: Iterable[bytes], is_usual: bool) -> Path:
    content = b"\n".join(dict.fromkeys(blocks)) + b"\n"
    name = f"{stem}.pem" if is_usual else f"{stem}-{hashlib.sha256(content).hexdigest()[:12]}.pem"
    path = folder / name
    if not path.exists() or path.read_bytes() != content:
        fresh = folder / f".{name}.{os.getpid()}"
        fresh.write_bytes(content)
        fresh.replace(path)
    return path


def _make_ca(folder: Path) -> None:
    """Made aside and moved into place, the key last: where the key is, everything is."""
    # Heavy, and needed once in the life of an installation.
    from mitmproxy.certs import CertStore

    with tempfile.TemporaryDirectory(dir=folder) as aside:
        CertStore.create_store(Path(aside), BASENAME, KEY_BITS, organization="spanlore", cn="spanlore local CA")
        for name in ("dhparam.pem", "ca-cert.pem", "ca.pem"):
            (Path(aside) / f"{BASENAME}-{name}").replace(folder / f"{BASENAME}-{name}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
