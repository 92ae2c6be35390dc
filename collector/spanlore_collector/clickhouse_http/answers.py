"""What an answer says besides its rows: headers, the status of an error, an error in the middle of a stream.

Sources: ClickHouse docs, "HTTP Interface"; `src/Server/HTTP/exceptionCodeToHTTPStatus.cpp`, `ErrorCodes.cpp`.
"""

from __future__ import annotations

import secrets

import orjson

from spanlore_collector.store.sessions import READONLY_CODE, QueryError, Statistics

AUTHENTICATION_FAILED, REQUIRED_PASSWORD, NOT_IMPLEMENTED, SYNTAX_ERROR = 516, 194, 48, 62
TOO_MANY_SIMULTANEOUS_QUERIES, CANNOT_DECOMPRESS, BAD_ARGUMENTS, QUERY_IS_TOO_LARGE = 202, 271, 36, 277

SERVER_NAME = "spanlore"

_NOT_FOUND = frozenset({46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 152, 336, 511})
"""UNKNOWN_… of functions, identifiers, types, tables, formats, databases, settings and the like."""
_BAD_REQUEST = frozenset(
    {6, 8, 15, 25, 26, 27, 36, 38, 41, 43, 44, 53, 62, 69, 72, 117, 168, 169, 170, 321, 376, 427, 456, 457, 675, 676}
)
"""CANNOT_PARSE_…, SYNTAX_ERROR, BAD_ARGUMENTS, TYPE_MISMATCH and the like."""
_STATUSES = {
    REQUIRED_PASSWORD: 401,
    AUTHENTICATION_FAILED: 403,
    READONLY_CODE: 403,
    159: 408,  # TIMEOUT_EXCEEDED
    QUERY_IS_TOO_LARGE: 413,
    NOT_IMPLEMENTED: 501,
    209: 503,  # SOCKET_TIMEOUT
}


def status_of(code: int) -> int:
    """The HTTP status of an error; READONLY is 403 here, where a server says 500 and drivers try again."""
    if code in _STATUSES:
        return _STATUSES[code]
    if code in _NOT_FOUND:
        return 404
    return 400 if code in _BAD_REQUEST else 500


def error(code: int, message: str, name: str) -> QueryError:
    """An error of this interface, worded as the engine's are."""
    return QueryError(f"Code: {code}. DB::Exception: {message}. ({name})", code)


def error_headers(failure: QueryError) -> dict[str, str]:
    """Of an answer that is an error."""
    headers = {"X-ClickHouse-Exception-Code": str(failure.code), "X-ClickHouse-Server-Display-Name": SERVER_NAME}
    if status_of(failure.code) == 401:
        headers["WWW-Authenticate"] = 'Basic realm="ClickHouse server HTTP API"'
    return headers


def headers_of(format_name: str, content_type: str, query_id: str, timezone: str, tag: str) -> dict[str, str]:
    """Of an answer with rows."""
    return {
        "Content-Type": content_type,
        "X-ClickHouse-Exception-Tag": tag,
        "X-ClickHouse-Format": format_name,
        "X-ClickHouse-Query-Id": query_id,
        "X-ClickHouse-Server-Display-Name": SERVER_NAME,
        "X-ClickHouse-Timezone": timezone,
    }


def summary_of(statistics: Statistics) -> str:
    """`X-ClickHouse-Summary`: numbers as text, as the server writes them."""
    numbers = {
        "read_rows": statistics.rows_read,
        "read_bytes": statistics.bytes_read,
        "written_rows": 0,
        "written_bytes": 0,
        "total_rows_to_read": statistics.rows_read,
        "result_rows": statistics.result_rows,
        "result_bytes": statistics.result_bytes,
        "elapsed_ns": statistics.elapsed_ns,
    }
    return orjson.dumps({name: str(value) for name, value in numbers.items()}).decode()


def exception_tag() -> str:
    """Sixteen letters by which a client knows an error in the middle of a stream from data."""
    return secrets.token_hex(8)


def exception_block(message: str, tag: str) -> bytes:
    """The end of a stream that failed after it had begun (ClickHouse ≥ 25.11)."""
    text = message.encode()[: 16 * 1024]
    # A line of its own, so that readers of row formats see it apart from the rows.
    return b"\r\n__exception__\r\n%s\r\n%s\n%d %s\r\n__exception__\r\n" % (
        tag.encode(),
        text,
        len(text) + 1,
        tag.encode(),
    )
