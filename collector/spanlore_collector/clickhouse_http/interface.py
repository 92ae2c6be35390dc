"""ClickHouse's HTTP interface, the reading half: what speaks to a ClickHouse server over HTTP works unchanged.

`GET /` and `GET /ping` answer `Ok.`; `GET|POST /?query=…&database=…&default_format=…&param_x=…` runs a query and
streams its result, in ClickHouse's own formats, headers and error codes. There are no sessions: `session_id` is taken
and means nothing, since nothing here can be kept. A client that goes away ends its query.

Sources: ClickHouse docs, "HTTP Interface"; clickhouse-connect 1.12 `driver/_backend/http_sync.py`; clickhouse-go 2.47;
`@clickhouse/client` 1.23 for the error in the middle of a stream.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from aiohttp import web

from spanlore.loopback import is_loopback_host, is_secret
from spanlore_collector.clickhouse_http import answers
from spanlore_collector.clickhouse_http.answers import error
from spanlore_collector.clickhouse_http.compression import Encoder, block_encoder, encoder, encoding_for
from spanlore_collector.clickhouse_http.hello import hello_block, is_hello, with_true_settings
from spanlore_collector.clickhouse_http.requests import MAX_QUERY_BYTES, Asked, asked, passwords_of
from spanlore_collector.store.sessions import Query, QueryError, RunningQuery, SessionPool

MAX_WAIT_S = 10.0
"""For a session, when as many queries run as may."""
MAX_WRITE_S = 60.0
"""For a client to take one block; one that does not read holds a session no longer."""
_LOOK_S = 0.1
"""How often a query that has nothing to say yet looks whether its client is still there."""
_SMALL_BYTES = 16 * 1024
"""Compressed on the event loop: a tenth of a millisecond."""


class ClickHouseInterface:
    """Answers queries from a pool of read-only sessions, in threads; one thread for each that may run at once."""

    def __init__(self, pool: SessionPool, token: str, threads: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._token = token
        self._threads = threads
        self._turns = asyncio.Semaphore(pool.size)

    def app(self) -> web.Application:
        """The application to serve, without aiohttp's own decompression of bodies."""
        app = web.Application(client_max_size=MAX_QUERY_BYTES)
        for path in ("/ping", "/replicas_status"):
            app.router.add_get(path, self.ping)
        app.router.add_get("/", self.query)
        app.router.add_route("POST", "/", self.query)
        app.router.add_route("*", "/{path:.*}", self.nothing_there)
        return app

    async def ping(self, request: web.Request) -> web.Response:
        """`Ok.`, for everybody."""
        return web.Response(text="Ok.\n")

    async def nothing_there(self, request: web.Request) -> web.Response:
        """404, in the server's words."""
        text = f"There is no handle {request.path}\n\nUse / or /ping for health checks.\n"
        return web.Response(status=404, text=text)

    async def query(self, request: web.Request) -> web.StreamResponse:
        """Runs a query; without one, `Ok.`."""
        if request.method in ("GET", "HEAD") and not request.query:
            return web.Response(text="Ok.\n")
        try:
            self._authenticate(request)
            wanted = await asked(request)
            if is_hello(wanted.query.sql, wanted.parameters):
                return await self._hello(wanted)
            sql = with_true_settings(wanted.query.sql)
            return await self._run(request, replace(wanted, query=replace(wanted.query, sql=sql)))
        except QueryError as failure:
            headers = answers.error_headers(failure)
            return web.Response(status=answers.status_of(failure.code), text=f"{failure}\n", headers=headers)

    def _authenticate(self, request: web.Request) -> None:
        if not is_loopback_host(request.headers.get("Host", "")):
            raise error(answers.AUTHENTICATION_FAILED, "the Host must be a loopback name", "AUTHENTICATION_FAILED")
        offered = passwords_of(request)
        hint = "the password is the token of this installation (`token` in its state directory)"
        if not offered:
            raise error(answers.REQUIRED_PASSWORD, f"a password is needed: {hint}", "REQUIRED_PASSWORD")
        if not all(is_secret(password, self._token) for password in offered):
            raise error(answers.AUTHENTICATION_FAILED, f"wrong password: {hint}", "AUTHENTICATION_FAILED")

    async def _hello(self, wanted: Asked) -> web.Response:
        answer = await self._in_thread(lambda: self._pool.run("SELECT version()", default_format="TSVRaw"))
        try:
            revision = int(wanted.parameters["client_protocol_version"])
        except ValueError:
            raise error(answers.BAD_ARGUMENTS, "client_protocol_version is no number", "BAD_ARGUMENTS") from None
        block = hello_block(
            revision, display_name=answers.SERVER_NAME, version=answer.data.decode().strip(), timezone="UTC"
        )
        headers = self._headers(wanted, "Native")
        return web.Response(body=block, headers=headers)

    async def _run(self, request: web.Request, wanted: Asked) -> web.StreamResponse:
        try:
            await asyncio.wait_for(self._turns.acquire(), MAX_WAIT_S)
        except TimeoutError:
            reason = f"Too many simultaneous queries. Maximum: {self._pool.size}"
            raise error(answers.TOO_MANY_SIMULTANEOUS_QUERIES, reason, "TOO_MANY_SIMULTANEOUS_QUERIES") from None
        begun = _Begun(self._pool, wanted.query)
        try:
            await self._watched(request, begun.begin, begun)
            return await self._answer(request, wanted, begun)
        finally:
            if begun.running is not None and begun.running.is_open:
                await asyncio.shield(self._in_thread(begun.running.close))
            self._turns.release()

    async def _answer(self, request: web.Request, wanted: Asked, begun: _Begun) -> web.StreamResponse:
        running, first, second = begun.running, begun.first, begun.second
        assert running is not None
        headers = self._headers(wanted, running.format)
        if running.ignored_settings:
            headers["X-Spanlore-Ignored-Settings"] = ",".join(running.ignored_settings)
        headers["X-ClickHouse-Summary"] = answers.summary_of(running.statistics)
        encoding = "" if wanted.wants_blocks else encoding_for(wanted.wants_encoding)
        if encoding and first:
            headers["Content-Encoding"] = encoding
        compress = block_encoder() if wanted.wants_blocks else encoder(encoding if first else "")
        if second is None:
            body = await self._compressed(first or b"", lambda: compress.feed(first or b"") + compress.finish())
            return web.Response(body=body, headers=headers)
        return await self._stream(request, begun, headers, compress)

    async def _compressed(self, data: bytes, run: Callable[[], bytes]) -> bytes:
        """What `run` makes of the data; what takes no longer than going to another thread is done here."""
        return run() if len(data) <= _SMALL_BYTES else await self._in_thread(run)

    async def _stream(
        self, request: web.Request, begun: _Begun, headers: dict[str, str], compress: Encoder
    ) -> web.StreamResponse:
        running = begun.running
        assert running is not None
        response = web.StreamResponse(headers=headers)
        response.enable_chunked_encoding()
        block: bytes | QueryError | None
        try:
            await response.prepare(request)
            await self._send(response, compress, begun.first or b"")
            block = begun.second
            while isinstance(block, bytes):
                await self._send(response, compress, block)
                block = await self._watched(request, lambda: _fetched(running), begun)
            if block is not None:
                await self._break_off(request, response, compress, block, headers["X-ClickHouse-Exception-Tag"])
                return response
            await response.write(await self._in_thread(compress.finish))
            await response.write_eof()
        except (ConnectionError, TimeoutError):
            # The client has gone, or does not read: its query ends with the session.
            if request.transport is not None:
                request.transport.abort()
        return response

    async def _send(self, response: web.StreamResponse, compress: Encoder, block: bytes) -> None:
        data = await self._compressed(block, lambda: compress.feed(block))
        await asyncio.wait_for(response.write(data), MAX_WRITE_S)

    async def _break_off(
        self, request: web.Request, response: web.StreamResponse, compress: Encoder, failure: QueryError, tag: str
    ) -> None:
        """The error as the last of the answer, then the connection is closed without the mark of its end."""
        await response.write(compress.feed(answers.exception_block(str(failure), tag)))
        if request.transport is not None:
            request.transport.close()

    async def _watched[T](self, request: web.Request, run: Callable[[], T], begun: _Begun) -> T:
        """What `run` gives in a thread; ends the query when the client goes away meanwhile."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, run)
        try:
            while not (await asyncio.wait({future}, timeout=_LOOK_S))[0]:
                if request.transport is None or request.transport.is_closing():
                    await asyncio.to_thread(begun.cancel)
        except asyncio.CancelledError:
            # The collector stops. The session may not be closed under the thread that uses it.
            await asyncio.to_thread(begun.cancel)
            await asyncio.wait({future})
            raise
        return future.result()

    async def _in_thread[T](self, run: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, run)

    def _headers(self, wanted: Asked, format_name: str) -> dict[str, str]:
        return answers.headers_of(
            format_name,
            self._pool.content_type(format_name),
            wanted.query_id or str(uuid.uuid4()),
            wanted.query.settings.get("session_timezone", "UTC"),
            answers.exception_tag(),
        )


class _Begun:
    """A query and the first of its answer, all of it where it is small: one job of a thread instead of four."""

    def __init__(self, pool: SessionPool, query: Query) -> None:
        self._pool = pool
        self._query = query
        self.running: RunningQuery | None = None
        self.first: bytes | None = None
        self.second: bytes | QueryError | None = None
        """An error behind something that has to be sent before it."""

    def begin(self) -> None:
        """Runs until there are two blocks, or no more of them.

        Raises:
            QueryError: it is wrong, not allowed, or beyond a limit.
        """
        self.running = running = self._pool.start(self._query)
        try:
            self.first = running.fetch()
            self.second = None if self.first is None else _fetched(running)
        except QueryError:
            running.close()
            raise
        if self.second is None:
            running.close()

    def cancel(self) -> None:
        """Ends the query, if it runs."""
        if self.running is not None:
            self.running.cancel()


def _fetched(running: RunningQuery) -> bytes | QueryError | None:
    """The next block, None at the end; an error is returned."""
    try:
        return running.fetch()
    except QueryError as failure:
        return failure
