"""One codec per dialect."""

from __future__ import annotations

from dataclasses import replace

from spanlore.genai.inference import Dialect
from spanlore_proxy.wire.codecs import CODECS, fold_exchange
from spanlore_proxy.wire.exchange import End, Exchange
from support import recordings


def exchange(body: bytes, end: End, status: int | None = 200) -> Exchange:
    return Exchange(
        id="0" * 16,
        method="POST",
        scheme="https",
        host="api.anthropic.com",
        port=443,
        path="/v1/messages",
        request_headers=(),
        response_headers=(("content-type", "text/event-stream; charset=utf-8"),),
        request_body=b"",
        response_body=body,
        status_code=status,
        start_time_ns=1,
        first_chunk_time_ns=None,
        end_time_ns=2,
        end=end,
    )


def test_a_whole_exchange() -> None:
    """An exchange folds as its body does."""
    body = recordings.anthropic("sse_thinking").body
    fold = CODECS[Dialect.ANTHROPIC_MESSAGES].fold_response

    assert fold_exchange(exchange(body, End.COMPLETE), Dialect.ANTHROPIC_MESSAGES) == fold(
        body, "text/event-stream", 200, False
    )


def test_who_went_away() -> None:
    """A cut answer says whether the client or the stream ended it, and keeps what came."""
    body = recordings.anthropic("sse_thinking").body[:1500]
    gone = fold_exchange(exchange(body, End.CLIENT_GONE), Dialect.ANTHROPIC_MESSAGES)
    cut = fold_exchange(exchange(body, End.UPSTREAM_CLOSED), Dialect.ANTHROPIC_MESSAGES)

    assert gone.error is not None and gone.error.type == "client_gone"
    assert cut.error is not None and cut.error.type == "stream_cut"
    assert gone.output == cut.output != ()
    assert not gone.is_complete


def test_no_response_at_all() -> None:
    """An upstream that could not be reached is a connection error without a status."""
    response = fold_exchange(exchange(b"", End.UPSTREAM_UNREACHABLE, None), Dialect.ANTHROPIC_MESSAGES)

    assert response.error is not None
    assert (response.error.type, response.error.status_code, response.is_complete) == ("connection", None, False)


def test_a_client_that_left_after_the_end() -> None:
    """An answer that had come whole stays whole, whatever the connection did next."""
    body = recordings.anthropic("sse_thinking").body
    whole = exchange(body, End.COMPLETE)

    assert fold_exchange(replace(whole, end=End.CLIENT_GONE), Dialect.ANTHROPIC_MESSAGES) == fold_exchange(
        whole, Dialect.ANTHROPIC_MESSAGES
    )
