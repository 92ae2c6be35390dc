"""The store that is measured on."""

from pathlib import Path

import urllib3

from spanlore_dashboards.bench.filling import COPIED_FROM, DAYS, LONG, SPANS_OF_A_SESSION, filled, long_session, session

NOW_NS = 1_796_000_000 * 10**9


def test_sessions_are_like_real_ones() -> None:
    """Every span once, the same for the same number, spread over the days up to now."""
    first, last = session(0, 100, NOW_NS), session(99, 100, NOW_NS)

    assert len(first) == len(last) == SPANS_OF_A_SESSION
    assert len({span.span_id for span in (*first, *last)}) == 2 * SPANS_OF_A_SESSION
    assert session(0, 100, NOW_NS) == first
    assert first[0].start_time_ns < last[0].start_time_ns < NOW_NS
    assert {span.trace_id for span in first} == {first[0].trace_id}


def test_a_small_one(tmp_path: Path) -> None:
    """As many spans as asked for, in the tables that dashboards ask."""
    with filled(tmp_path, 100) as store:
        headers = urllib3.make_headers(basic_auth=f"x:{store.token}")
        sql = (
            "SELECT (SELECT count() FROM otel_traces), (SELECT uniqExact(session_id) FROM inferences), "
            f"(SELECT count() FROM tool_calls WHERE trace_id = '{store.trace}')"
        )
        url = f"{store.clickhouse_url}/?database=spanlore"
        answer = urllib3.request("POST", url, body=sql.encode(), headers=headers)

    assert answer.data.split() == [b"85", b"5", b"8"]
    assert store.spans == 85


def test_days_that_are_copied(tmp_path: Path) -> None:
    """Many sessions are as many as asked for, each one's spans together, spread over the days up to now."""
    sessions = COPIED_FROM + 7
    with filled(tmp_path, sessions * SPANS_OF_A_SESSION) as store:
        headers = urllib3.make_headers(basic_auth=f"x:{store.token}")
        sql = (
            "SELECT count(), countIf(inferences = 8 AND tool_calls = 8), uniq(toDate(start_time)), "
            f"(SELECT count() FROM otel_traces), countIf(session_id = '{store.session}') FROM sessions"
        )
        url = f"{store.clickhouse_url}/?database=spanlore"
        answer = urllib3.request("POST", url, body=sql.encode(), headers=headers)
    held, whole, days, spans, known = map(int, answer.data.split())

    assert held == whole == sessions
    assert DAYS <= days <= DAYS + 1
    assert (spans, known) == (store.spans, 1)


def test_a_long_session_has_content(tmp_path: Path) -> None:
    """About as many spans as asked for, in turns, with what was said and what tools printed."""
    spans = long_session(150, NOW_NS)
    with filled(tmp_path, 17, spans) as store:
        headers = urllib3.make_headers(basic_auth=f"x:{store.token}")
        sql = (
            f"SELECT (SELECT uniqExact(span_id) FROM tool_calls WHERE session_id = '{LONG}'), "
            f"(SELECT uniqExact(span_id) FROM message_parts WHERE session_id = '{LONG}' AND direction = 'output')"
        )
        url = f"{store.clickhouse_url}/?database=spanlore"
        answer = urllib3.request("POST", url, body=sql.encode(), headers=headers)

    assert len(spans) == 122
    assert answer.data.split() == [b"80", b"40"]
