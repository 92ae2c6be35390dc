"""ClickHouse's HTTP interface, the reading half: clickhouse-connect, curl and other HTTP clients work unchanged.

`GET /` and `GET /ping` answer `Ok.`; `GET|POST /?query=…&database=…&default_format=…&param_x=…`, with the query in the
parameter, in the body, or begun in one and continued in the other, as the server does. Settings in the query string are
accepted and not applied: the limits are the collector's (`store.sessions.LIMITS`). An error has the code in
`X-ClickHouse-Exception-Code` and the engine's message as body. Answers are not compressed, which every client takes.

Sources: ClickHouse docs, "HTTP Interface"; clickhouse-connect 1.12 `driver/_backend/http_sync.py`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import uuid
from concurrent.futures import ThreadPoolExecutor

import orjson
from aiohttp import web

from spanlore_collector.api.guard import is_loopback_host
from spanlore_collector.store.sessions import READONLY_CODE, Answer, QueryError, SessionPool

MAX_QUERY_BYTES = 4 * 1024**2
AUTHENTICATION_FAILED, NOT_IMPLEMENTED, SYNTAX_ERROR = 516, 48, 62

_NOT_FOUND = frozenset({46, 47, 60, 81})
"""UNKNOWN_FUNCTION, UNKNOWN_IDENTIFIER, UNKNOWN_TABLE, UNKNOWN_DATABASE."""
_BAD_REQUEST = frozenset({6, 26, 27, 36, 41, 42, 43, 53, 62, 456, 457})
_CONTENT_TYPES = {
    "Native": "application/octet-stream",
    "RowBinary": "application/octet-stream",
    "JSON": "application/json; charset=UTF-8",
    "JSONCompact": "application/json; charset=UTF-8",
    "JSONEachRow": "application/x-ndjson; charset=UTF-8",
    "TabSeparated": "text/tab-separated-values; charset=UTF-8",
    "TabSeparatedWithNames": "text/tab-separated-values; charset=UTF-8",
    "TabSeparatedWithNamesAndTypes": "text/tab-separated-values; charset=UTF-8",
    "CSV": "text/csv; charset=UTF-8; header=absent",
    "CSVWithNames": "text/csv; charset=UTF-8; header=present",
}


class ClickHouseInterface:
    """Answers queries from a pool of read-only sessions, in threads."""

    def __init__(self, pool: SessionPool, token: str, threads: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._token = token.encode()
        self._threads = threads

    def app(self) -> web.Application:
        """The application to serve."""
        app = web.Application(client_max_size=MAX_QUERY_BYTES)
        app.router.add_get("/ping", self.ping)
        app.router.add_route("GET", "/", self.query)
        app.router.add_route("POST", "/", self.query)
        return app

    async def ping(self, request: web.Request) -> web.Response:
        """`Ok.`, for everybody."""
        return web.Response(text="Ok.\n")

    async def query(self, request: web.Request) -> web.Response:
        """Runs a query; without one, `Ok.`."""
        if request.method == "GET" and not request.query:
            return web.Response(text="Ok.\n")
        refusal = self._refuse(request)
        if refusal is not None:
            return refusal
        sql = await _sql_of(request)
        if not sql.strip(" \t\r\n;"):
            return _error(SYNTAX_ERROR, "Code: 62. DB::Exception: Empty query. (SYNTAX_ERROR)", 400)
        given = request.query
        try:
            answer = await asyncio.get_running_loop().run_in_executor(
                self._threads,
                lambda: self._pool.run(
                    sql,
                    default_format=given.get("default_format", "")
                    or request.headers.get("X-ClickHouse-Format", "")
                    or "TabSeparated",
                    params={key[6:]: value for key, value in given.items() if key.startswith("param_")},
                    database=given.get("database", "") or request.headers.get("X-ClickHouse-Database", ""),
                ),
            )
        except QueryError as error:
            return _error(error.code, str(error), _status_of(error.code))
        return _success(answer, given.get("query_id") or str(uuid.uuid4()))

    def _refuse(self, request: web.Request) -> web.Response | None:
        if not is_loopback_host(request.headers.get("Host", "")):
            return _error(AUTHENTICATION_FAILED, "Code: 516. DB::Exception: the Host must be a loopback name.", 403)
        if not hmac.compare_digest(_password_of(request), self._token):
            message = "Code: 516. DB::Exception: the password is the token of this installation (`token` in its state"
            return _error(AUTHENTICATION_FAILED, f"{message} directory). (AUTHENTICATION_FAILED)", 401)
        if request.query.get("compress") == "1" or request.content_type.startswith("multipart/"):
            message = "compress=1 and multipart bodies are not supported here"
            return _error(NOT_IMPLEMENTED, f"Code: 48. DB::Exception: {message}. (NOT_IMPLEMENTED)", 501)
        return None


async def _sql_of(request: web.Request) -> str:
    begun, continued = request.query.get("query", ""), (await request.read()).decode("utf-8", "replace")
    return f"{begun}\n{continued}" if begun and continued else begun or continued


def _password_of(request: web.Request) -> bytes:
    """From Basic, from X-ClickHouse-Key, or from `?password=`."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value).partition(b":")[2]
        except binascii.Error:
            return b""
    if scheme.lower() == "bearer":
        return value.encode()
    return (request.headers.get("X-ClickHouse-Key") or request.query.get("password", "")).encode()


def _success(answer: Answer, query_id: str) -> web.Response:
    summary = {
        "read_rows": str(answer.rows_read),
        "read_bytes": str(answer.bytes_read),
        "elapsed_ns": str(answer.elapsed_ns),
    }
    headers = {
        "Content-Type": _CONTENT_TYPES.get(answer.format, "text/plain; charset=UTF-8"),
        "X-ClickHouse-Format": answer.format,
        "X-ClickHouse-Query-Id": query_id,
        "X-ClickHouse-Server-Display-Name": "spanlore",
        "X-ClickHouse-Summary": orjson.dumps(summary).decode(),
        "X-ClickHouse-Timezone": "UTC",
    }
    return web.Response(body=answer.data, headers=headers)


def _error(code: int, message: str, status: int) -> web.Response:
    headers = {"X-ClickHouse-Exception-Code": str(code)}
    if status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="spanlore"'
    return web.Response(status=status, text=f"{message}\n", headers=headers)


def _status_of(code: int) -> int:
    if code == READONLY_CODE:
        return 403
    if code in _NOT_FOUND:
        return 404
    return 400 if code in _BAD_REQUEST else 500
