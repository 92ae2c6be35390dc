import hashlib
from dataclasses import replace

import pytest

from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.capture.captured import Captured, RequestHead
from spanlore_proxy.capture.logged import log_entry
from spanlore_proxy.injection.rewrite import Insertion
from spanlore_proxy.wire.dialect import recognise
from spanlore_proxy.wire.exchange import End


def captured(port: int = 443) -> Captured:
    endpoint = recognise("POST", "api.anthropic.com", "/v1/messages")
    assert endpoint is not None
    fields = ((b"Content-Encoding", b"gzip"),)
    path = "/v1/messages?key=secret"
    head = RequestHead("ab" * 8, "POST", "https", "h", port, path, fields, endpoint, 5, upstream="http://127.0.0.1:1")
    body = b"client"
    return Captured(
        head, body, b"plain", body, (), Injected(skipped="nothing"), Workplace(), 200, (), None, End.COMPLETE, 6
    )


def test_nothing_inserted_is_equal_hashes() -> None:
    """The hash of the client's own bytes proves that they were forwarded as they came."""
    entry = log_entry(captured(), "cd" * 8, lambda text: (text, 0))

    assert entry.client_sha256 == entry.forwarded_sha256 == hashlib.sha256(b"client").hexdigest()
    assert (entry.id, entry.upstream, entry.content_encoding) == ("cd" * 8, "http://127.0.0.1:1", "gzip")
    assert (entry.client_bytes, entry.skipped) == (6, "nothing")


def test_insertions_are_redacted() -> None:
    """What was inserted is shown without secrets; the forwarded hash is of the true bytes."""
    changed = replace(captured(), forwarded_body=b"other", insertions=(Insertion(3, b"my secret"),))
    entry = log_entry(changed, "cd" * 8, lambda text: (text.replace("secret", "[gone]"), 1))

    assert [(item.offset, item.data) for item in entry.insertions] == [(3, "my [gone]")]
    assert entry.forwarded_sha256 == hashlib.sha256(b"other").hexdigest()


@pytest.mark.parametrize(("port", "url"), [(443, "https://h/v1"), (8443, "https://h:8443/v1")])
def test_the_url_has_no_credentials(port: int, url: str) -> None:
    """The URL names its port only where it is not the usual one."""
    logged = log_entry(captured(port), "cd" * 8, lambda text: (text, 0)).url

    assert logged.startswith(url)
    assert "secret" not in logged
