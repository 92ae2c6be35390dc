from pathlib import Path

import pytest
from mitmproxy import http

from spanlore.settings import SettingsError
from spanlore_proxy.capture.upstreams import Upstream, parse_upstreams, redirect, write_roots
from spanlore_proxy.launch.ca import certificates, system_bundle

PEM = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def request(version: bytes = b"HTTP/1.1", authority: bytes = b"") -> http.Request:
    fields = ((b"X-First", b"1"), (b"HoSt", b"api.anthropic.com"), (b"x-last", b"2"))
    return http.Request(
        "api.anthropic.com", 443, b"POST", b"https", authority, b"/v1/messages?beta=true", version,
        http.Headers(fields), b"", None, 0, 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("url", "upstream", "authority"),
    [
        ("http://127.0.0.1:9100", Upstream("http", "127.0.0.1", 9100, ""), "127.0.0.1:9100"),
        ("https://gw.example.com/anthropic/", Upstream("https", "gw.example.com", 443, "/anthropic"), "gw.example.com"),
        ("http://[::1]:81/a/b", Upstream("http", "::1", 81, "/a/b"), "[::1]:81"),
    ],
)
def test_urls(url: str, upstream: Upstream, authority: str) -> None:
    """A URL gives scheme, host, port and the path to put before the request's."""
    parsed = parse_upstreams({"API.anthropic.com": url})

    assert parsed == {"api.anthropic.com": upstream}
    assert upstream.authority == authority


@pytest.mark.parametrize("url", ["http://", "http://host:port", "https:///path"])
def test_wrong_urls_are_named(url: str) -> None:
    """The message says which setting it is and what stands there."""
    with pytest.raises(SettingsError, match="upstreams: h="):
        parse_upstreams({"h": url})


def test_http_changes_only_where_it_goes() -> None:
    """Over plain http the Host header stays the API's own, in its place and spelling."""
    before, changed = request(), request()
    redirect(changed, Upstream("http", "127.0.0.1", 9100, ""))

    assert (changed.data.host, changed.data.port, changed.scheme) == ("127.0.0.1", 9100, "http")
    assert (changed.headers.fields, changed.path) == (before.headers.fields, before.path)


def test_https_names_the_host_of_the_certificate() -> None:
    """Behind TLS the Host header is the override's, its place and spelling kept; the path gets its prefix."""
    changed = request()
    redirect(changed, Upstream("https", "gw.example.com", 8443, "/anthropic"))

    assert changed.headers.fields == ((b"X-First", b"1"), (b"HoSt", b"gw.example.com:8443"), (b"x-last", b"2"))
    assert changed.path == "/anthropic/v1/messages?beta=true"


def test_http2_authority_follows_tls() -> None:
    """In HTTP/2 the name is the authority."""
    changed = request(b"HTTP/2.0", b"api.anthropic.com")
    redirect(changed, Upstream("https", "gw.example.com", 443, ""))

    assert changed.authority == "gw.example.com"


def test_roots_are_the_systems_and_the_users(tmp_path: Path) -> None:
    """Upstream servers are verified against the system's roots, and those the user adds."""
    extra = tmp_path / "extra.pem"
    extra.write_bytes(PEM)
    plain = certificates(write_roots(tmp_path, "").read_bytes())
    more = certificates(write_roots(tmp_path, str(extra)).read_bytes())
    system = system_bundle()
    assert system is not None

    assert plain == certificates(system.read_bytes())
    assert more == [*plain, PEM.strip()] or more == [*plain, PEM]


@pytest.mark.parametrize("content", [None, b"no certificate"])
def test_unusable_roots_are_named(tmp_path: Path, content: bytes | None) -> None:
    """A file that is missing or holds no certificate ends the start with the setting's name."""
    extra = tmp_path / "extra.pem"
    if content is not None:
        extra.write_bytes(content)
    with pytest.raises(SettingsError, match=r"proxy\.upstream_ca"):
        write_roots(tmp_path, str(extra))
