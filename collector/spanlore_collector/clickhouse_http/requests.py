"""What a request to the ClickHouse interface asks: the query, wherever it is, its parameters and the client's settings.

The query stands in the parameter `query`, in the body, or begins in one and continues in the other. A body may be
compressed (`Content-Encoding`, or native blocks with `decompress=1`), or a multipart form with `query` and `param_*`.

Source: ClickHouse docs, "HTTP Interface"; `src/Server/HTTPHandler.cpp` for the names that are no settings.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import hdrs, web
from multidict import MultiDict

from spanlore_collector.clickhouse_http.answers import (
    BAD_ARGUMENTS,
    CANNOT_DECOMPRESS,
    NOT_IMPLEMENTED,
    QUERY_IS_TOO_LARGE,
    SYNTAX_ERROR,
    error,
)
from spanlore_collector.clickhouse_http.compression import CompressionError, decompress, decompress_blocks
from spanlore_collector.store.sessions import Query

MAX_QUERY_BYTES = 4 * 1024**2

_NO_SETTINGS = frozenset(
    {"query", "database", "default_format", "user", "password", "quota_key", "session_id", "session_timeout"}
    | {"session_check", "query_id", "role", "compress", "decompress", "enable_http_compression", "buffer_size"}
    | {"wait_end_of_query", "client_protocol_version", "close_session", "stacktrace", "log_comment"}
    | {"http_zlib_compression_level", "send_progress_in_http_headers", "http_headers_progress_interval_ms"}
    | {"cancel_http_readonly_queries_on_client_close", "http_response_headers", "framing"}
)
"""Parameters of the interface itself, and settings that only the server's own HTTP handler reads."""
_FORBIDDEN = frozenset({"readonly", "allow_ddl", "allow_introspection_functions"})


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, understood."""

    query: Query
    query_id: str
    parameters: Mapping[str, str]
    """Of the query string and the form, as they came."""
    wants_blocks: bool
    wants_encoding: str
    """`Accept-Encoding` where the client has asked for compression, else ''."""


async def asked(request: web.Request) -> Asked:
    """Reads a request.

    Raises:
        QueryError: there is no query, the body can't be read, or a setting may not be changed.
    """
    parameters = dict(request.query)
    body = await _body_of(request, parameters)
    begun = parameters.get("query", "")
    sql = f"{begun}\n{body}" if begun and body else begun or body
    if not sql.strip(" \t\r\n;"):
        raise error(SYNTAX_ERROR, "Empty query", "SYNTAX_ERROR")
    if len(sql) > MAX_QUERY_BYTES:
        raise _too_large()
    if not parameters.get("query_id", "").isprintable():
        raise error(BAD_ARGUMENTS, "query_id can't stand in a header", "BAD_ARGUMENTS")
    query = Query(
        sql=sql,
        default_format=parameters.get("default_format") or request.headers.get("X-ClickHouse-Format") or "TabSeparated",
        params={name[6:]: value for name, value in parameters.items() if name.startswith("param_")},
        database=parameters.get("database") or request.headers.get("X-ClickHouse-Database") or "",
        settings=_settings_of(parameters),
        is_whole=_is_on(parameters, "wait_end_of_query"),
    )
    accepted = request.headers.get(hdrs.ACCEPT_ENCODING, "")
    return Asked(
        query=query,
        query_id=parameters.get("query_id", ""),
        parameters=parameters,
        wants_blocks=_is_on(parameters, "compress"),
        wants_encoding=accepted if _is_on(parameters, "enable_http_compression") else "",
    )


def passwords_of(request: web.Request) -> list[str]:
    """What the client offers, by Basic, Bearer, X-ClickHouse-Key or `?password=`; none when it offers nothing."""
    scheme, _, value = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    offered = [request.headers.get("X-ClickHouse-Key", ""), request.query.get("password", "")]
    if scheme.lower() == "basic":
        try:
            offered.append(base64.b64decode(value).decode().partition(":")[2] or "-")
        except ValueError:  # not base64, or not text
            offered.append("-")
    elif scheme.lower() == "bearer":
        offered.append(value)
    return [password for password in offered if password]


def _settings_of(parameters: Mapping[str, str]) -> dict[str, str]:
    names = [name for name in parameters if name not in _NO_SETTINGS and not name.startswith("param_")]
    for name in names:
        if name in _FORBIDDEN:
            raise error(164, f"Cannot modify '{name}' setting in readonly mode", "READONLY")
    return {name: parameters[name] for name in names}


def _is_on(parameters: Mapping[str, str], name: str) -> bool:
    return parameters.get(name, "").lower() in ("1", "true")


async def _body_of(request: web.Request, parameters: dict[str, str]) -> str:
    """The part of the query that stands in the body; fields of a form go into `parameters`."""
    if request.content_type.startswith("multipart/"):
        form = await request.post()
        return _read_form(form, parameters)
    try:
        data = await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise _too_large() from None
    try:
        data = decompress(data, request.headers.get(hdrs.CONTENT_ENCODING, ""), MAX_QUERY_BYTES)
        if _is_on(parameters, "decompress"):
            data = decompress_blocks(data, MAX_QUERY_BYTES)
    except CompressionError as failure:
        raise error(CANNOT_DECOMPRESS, str(failure), "CANNOT_DECOMPRESS") from None
    return data.decode("utf-8", "replace")


def _read_form(form: Mapping[str, object] | MultiDict[object], parameters: dict[str, str]) -> str:
    for name, value in form.items():
        if not isinstance(value, str):
            raise error(NOT_IMPLEMENTED, f"external tables ({name}) are not supported here", "NOT_IMPLEMENTED")
        if name in parameters and name != "query":
            raise error(BAD_ARGUMENTS, f"the parameter {name} is given twice", "BAD_ARGUMENTS")
        if name != "query":
            parameters[name] = value
    body = form.get("query", "")
    return body if isinstance(body, str) else ""


def _too_large() -> Exception:
    return error(QUERY_IS_TOO_LARGE, f"the query is larger than {MAX_QUERY_BYTES} bytes", "QUERY_IS_TOO_LARGE")
