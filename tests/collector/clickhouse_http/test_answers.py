"""Headers and errors of answers."""

from __future__ import annotations

import json

import pytest

from spanlore_collector.clickhouse_http import answers
from spanlore_collector.store.sessions import QueryError, Statistics


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (62, 400),
        (60, 404),
        (115, 404),
        (46, 404),
        (164, 403),
        (159, 408),
        (194, 401),
        (516, 403),
        (48, 501),
        (241, 500),
    ],
)
def test_statuses_as_the_servers(code: int, status: int) -> None:
    """`exceptionCodeToHTTPStatus.cpp`, READONLY apart."""
    assert answers.status_of(code) == status


def test_errors_are_worded_as_the_engines() -> None:
    """Clients look for `Code: N. DB::Exception:` and for the name in brackets."""
    failure = answers.error(202, "Too many simultaneous queries", "TOO_MANY_SIMULTANEOUS_QUERIES")

    assert str(failure) == ("Code: 202. DB::Exception: Too many simultaneous queries. (TOO_MANY_SIMULTANEOUS_QUERIES)")
    assert answers.error_headers(failure)["X-ClickHouse-Exception-Code"] == "202"
    assert "WWW-Authenticate" in answers.error_headers(QueryError("x", 194))
    assert "WWW-Authenticate" not in answers.error_headers(QueryError("x", 516))


def test_the_summary_has_numbers_as_text() -> None:
    """As the server writes them."""
    summary = json.loads(answers.summary_of(Statistics(3, 24, 1, 8, 500)))

    assert (summary["read_rows"], summary["result_rows"], summary["elapsed_ns"]) == ("3", "1", "500")


def test_an_error_at_the_end_of_a_stream() -> None:
    """Marker, tag, message, its length with the newline, tag, marker."""
    tag = answers.exception_tag()

    assert len(tag) == 16
    assert answers.exception_block("boom", "0123456789abcdef") == (
        b"\r\n__exception__\r\n0123456789abcdef\r\nboom\n5 0123456789abcdef\r\n__exception__\r\n"
    )


def test_headers_of_rows() -> None:
    """What clients read."""
    headers = answers.headers_of("CSV", "text/csv", "q", "UTC", "t" * 16)

    assert headers["X-ClickHouse-Format"] == "CSV"
    assert headers["X-ClickHouse-Query-Id"] == "q"
    assert headers["X-ClickHouse-Exception-Tag"] == "t" * 16
