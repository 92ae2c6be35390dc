import gzip
from dataclasses import replace

from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.capture.captured import Captured, RequestHead, request_exchange
from spanlore_proxy.capture.tap import ResponseTap
from spanlore_proxy.wire.dialect import recognise
from spanlore_proxy.wire.exchange import End


def made(*chunks: bytes, encoding: bytes = b"", status: int | None = 200) -> Captured:
    endpoint = recognise("POST", "api.anthropic.com", "/v1/messages")
    assert endpoint is not None
    tap = ResponseTap(iter(range(10, 100)).__next__, lambda: None)
    for chunk in chunks:
        tap(chunk)
    fields = ((b"X-API-Key", b"sk-secret"), (b"User-Agent", b"claude-cli/1"), (b"x-odd", b"caf\xe9"))
    path = "/v1/messages?key=secret"
    head = RequestHead("ab" * 8, "POST", "https", "api.anthropic.com", 443, path, fields, endpoint, start_time_ns=5)
    return Captured(
        head=head,
        sent_body=b"packed",
        plain_body=b"plain",
        forwarded_body=b"forwarded",
        insertions=(),
        injected=Injected(),
        workplace=Workplace(),
        status_code=status,
        response_fields=((b"Content-Encoding", encoding),) if encoding else (),
        tap=tap if status else None,
        end=End.COMPLETE,
        end_time_ns=50,
    )


def test_an_exchange_has_no_credentials() -> None:
    """Headers are lower-case text, credentials replaced, in the path as well."""
    exchange = made().exchange()

    assert "secret" not in repr(exchange)
    assert exchange.request_headers[0] == ("x-api-key", "[credential:x-api-key]")
    assert exchange.header("x-odd") == "café"
    assert (exchange.host, exchange.request_body, exchange.end_time_ns) == ("api.anthropic.com", b"plain", 50)


def test_the_body_is_decoded_as_far_as_it_came() -> None:
    """A compressed answer that was cut gives what could be decoded."""
    packed = gzip.compress(bytes(range(256)) * 40)
    whole = made(packed[:50], packed[50:], encoding=b"gzip").exchange()
    cut = made(packed[:-20], encoding=b"gzip").exchange()

    assert whole.response_body == bytes(range(256)) * 40
    assert 0 < len(cut.response_body) <= len(whole.response_body)
    assert (whole.first_chunk_time_ns, whole.status_code) == (10, 200)


def test_without_an_answer() -> None:
    """No response head: no status, no body, no time of a first chunk."""
    exchange = made(status=None).exchange()

    assert (exchange.status_code, exchange.response_body, exchange.first_chunk_time_ns) == (None, b"", None)
    assert request_exchange(made().head, b"plain").request_body == b"plain"


def test_size_counts_each_body_once() -> None:
    """Bodies that are one object are held once."""
    captured = made(b"12345")
    same = replace(captured, plain_body=captured.sent_body, forwarded_body=captured.sent_body)

    assert captured.size_bytes - same.size_bytes == len(b"plain") + len(b"forwarded")
