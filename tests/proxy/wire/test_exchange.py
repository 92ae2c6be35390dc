"""Exchange, and what is taken out of its headers."""

from __future__ import annotations

import pytest

from spanlore_proxy.wire.exchange import End, Exchange, strip_credentials, strip_query_credentials


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("Authorization", "Bearer sk-ant-oat01-abc", "[credential:bearer]"),
        ("authorization", "Basic dTpw", "[credential:basic]"),
        ("authorization", "AWS4-HMAC-SHA256 Credential=AKIA/x", "[credential:aws4-hmac-sha256]"),
        ("authorization", "bare-token", "[credential:authorization]"),
        ("Proxy-Authorization", "Basic dTpw", "[credential:basic]"),
        ("X-Api-Key", "sk-ant-api03-abc", "[credential:x-api-key]"),
        ("x-goog-api-key", "AIzaX", "[credential:x-goog-api-key]"),
        ("api-key", "abc", "[credential:api-key]"),
        ("Cookie", "session=1", "[credential:cookie]"),
        ("set-cookie", "session=1", "[credential:set-cookie]"),
        ("x-amz-security-token", "abc", "[credential:x-amz-security-token]"),
        ("anthropic-ratelimit-input-tokens", "4000", "4000"),
        ("x-client-request-id", "7f3a", "7f3a"),
        ("content-type", "application/json", "application/json"),
    ],
)
def test_credentials(name: str, value: str, kept: str) -> None:
    """A credential is replaced by its kind; everything else stays, and a second time changes nothing."""
    stripped = strip_credentials([(name, value)])

    assert stripped == ((name.lower(), kept),)
    assert strip_credentials(stripped) == stripped


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/v1/messages?beta=true", "/v1/messages?beta=true"),
        ("/v1beta/m:x?key=AIzaX&alt=sse", "/v1beta/m:x?key=[credential:query]&alt=sse"),
        ("/x?alt=sse&access_token=ya29.abc", "/x?alt=sse&access_token=[credential:query]"),
        ("/key=1/x", "/key=1/x"),
    ],
)
def test_credentials_in_the_query(path: str, kept: str) -> None:
    """A key in the query is replaced, too."""
    assert strip_query_credentials(path) == kept


def test_headers_by_name() -> None:
    """A header is found by its lower-case name, the first of several."""
    exchange = Exchange(
        id="0" * 16,
        method="POST",
        scheme="https",
        host="api.anthropic.com",
        port=443,
        path="/v1/messages",
        request_headers=(("x-a", "1"), ("x-a", "2")),
        response_headers=(("request-id", "req_1"),),
        request_body=b"",
        response_body=b"",
        status_code=200,
        start_time_ns=1,
        first_chunk_time_ns=None,
        end_time_ns=2,
        end=End.CLIENT_GONE,
    )

    assert exchange.header("x-a") == "1"
    assert exchange.header("x-b") is None
    assert exchange.response_header("request-id") == "req_1"
    assert exchange.is_cut
