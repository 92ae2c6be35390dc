import pytest

from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.capture.captured import RequestHead
from spanlore_proxy.capture.live import LiveExchange
from spanlore_proxy.wire.dialect import recognise
from spanlore_proxy.wire.exchange import End


def live() -> LiveExchange:
    endpoint = recognise("POST", "api.anthropic.com", "/v1/messages")
    assert endpoint is not None
    head = RequestHead(
        "0" * 16, "POST", "https", "api.anthropic.com", 443, "/v1/messages", (), endpoint, start_time_ns=5
    )
    return LiveExchange(head, "connection")


def test_it_is_over_once() -> None:
    """Whoever comes first ends it; whoever comes later gets nothing."""
    exchange = live()
    exchange.take_body(b"{}")
    exchange.workplace = Workplace(run_id="run-1")
    exchange.injected = Injected(skipped="nothing")
    exchange.overhead_ns = 7
    first, second = exchange.seal(End.COMPLETE, 9), exchange.seal(End.CLIENT_GONE, 10)

    assert first is not None
    assert (first.end, first.end_time_ns, first.sent_body, first.workplace.run_id) == (End.COMPLETE, 9, b"{}", "run-1")
    assert first.injected == Injected(skipped="nothing", overhead_ns=7)
    assert (second, exchange.is_over) == (None, True)


def test_the_tap_ends_it() -> None:
    """The end of the stream is the end of the exchange, and what the tap saw is part of it."""
    exchange = live()
    sealed = []

    def end() -> None:
        sealed.append(exchange.seal(End.COMPLETE, 9))

    tap = exchange.begin_response(200, ((b"a", b"b"),), lambda: 8, end)
    tap(b"chunk")
    tap(b"")
    (captured,) = sealed

    assert captured is not None
    assert captured.tap is tap
    assert (captured.status_code, captured.response_fields) == (200, ((b"a", b"b"),))


@pytest.mark.parametrize(
    ("lengths", "is_over"),
    [((b"5",), True), ((b"6",), False), ((), False), ((b"5", b"5"), False), ((b"-5",), False), ((b"0",), False)],
)
def test_the_last_byte_of_a_told_length_ends_it(lengths: tuple[bytes, ...], is_over: bool) -> None:
    """Before the client has it; a length that can't be believed is none."""
    sealed: list[str] = []
    fields = tuple((b"Content-Length", length) for length in lengths)
    tap = live().begin_response(200, fields, lambda: 8, lambda: sealed.append("end"))
    tap(b"hello")

    assert bool(sealed) is is_over


def test_it_lets_go_of_what_it_held() -> None:
    """What was handed over stays whole; the exchange itself holds no body any more."""
    exchange = live()
    exchange.take_body(b"body")
    captured = exchange.seal(End.COMPLETE, 9)
    exchange.let_go()

    assert captured is not None
    assert (captured.sent_body, captured.forwarded_body) == (b"body", b"body")
    assert (exchange.sent_body, exchange.plain_body, exchange.forwarded_body, exchange.tap) == (b"", b"", b"", None)
