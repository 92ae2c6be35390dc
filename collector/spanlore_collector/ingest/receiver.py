"""POST /v1/traces: OTLP over HTTP, protobuf or JSON.

200 only when the rows are committed. 413 beyond 64 MiB, 400 for what is no trace request, 503 with Retry-After when it
can't be stored now; a full success has an empty answer, spans without valid ids are refused as a partial success and
must not be sent again (OTLP specification, "Full Success", "Partial Success", "Failures").
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import orjson
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanlore.otlp.codec import MalformedOtlpError, decode_json_request, decode_request
from spanlore.spans.record import SpanRecord
from spanlore_collector.ingest.bodies import (
    INVALID_ARGUMENT,
    MAX_BODY_BYTES,
    RESOURCE_EXHAUSTED,
    UNAVAILABLE,
    BadBodyError,
    BodyTooLargeError,
    decompress,
    rpc_status,
)
from spanlore_collector.store.rows import SpanRows, rows_of
from spanlore_collector.store.writer import BadRowsError, StoreFullError, Writer

PROTOBUF, JSON = "application/x-protobuf", "application/json"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request's spans as rows. `refused` of its spans have no valid ids."""

    rows: tuple[SpanRows, ...]
    size_bytes: int
    refused: int


class Receiver:
    """Takes requests, decodes them in threads and waits for the writer."""

    def __init__(self, writer: Writer, threads: ThreadPoolExecutor) -> None:
        self._writer = writer
        self._threads = threads

    async def export(self, request: web.Request) -> web.Response:
        """Handles POST /v1/traces."""
        is_json = request.content_type == JSON
        if not is_json and request.content_type not in (PROTOBUF, "application/octet-stream"):
            return _failure(415, INVALID_ARGUMENT, f"Content-Type must be {PROTOBUF} or {JSON}", is_json=False)
        try:
            prepared = await self._prepare(request, is_json=is_json)
            if prepared.rows:
                # Shielded: when the sender goes away its rows are written all the same.
                await asyncio.shield(asyncio.wrap_future(self._writer.submit(prepared.rows, prepared.size_bytes)))
        except (web.HTTPRequestEntityTooLarge, BodyTooLargeError):
            return _failure(
                413,
                RESOURCE_EXHAUSTED,
                f"a request may have {MAX_BODY_BYTES} bytes, also decompressed",
                is_json=is_json,
            )
        except (BadBodyError, MalformedOtlpError, BadRowsError) as error:
            return _failure(400, INVALID_ARGUMENT, str(error), is_json=is_json)
        except StoreFullError as error:
            return _failure(503, UNAVAILABLE, str(error), is_json=is_json, retry_after_s=error.retry_after_s)
        return _success(prepared.refused, is_json=is_json)

    async def _prepare(self, request: web.Request, *, is_json: bool) -> Prepared:
        if (request.content_length or 0) > MAX_BODY_BYTES:
            raise BodyTooLargeError
        data = await request.read()
        encoding = request.headers.get("Content-Encoding", "").strip().lower()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, prepare, data, encoding, is_json, time.time_ns() // 1_000_000)


def prepare(data: bytes, encoding: str, is_json: bool, now_ms: int) -> Prepared:
    """Body → rows. Raises `BodyTooLargeError`, `BadBodyError` or `MalformedOtlpError`."""
    plain = decompress(data, encoding)
    records = decode_json_request(plain) if is_json else decode_request(plain)
    rows = tuple(rows_of(record, now_ms) for record in records if _is_valid(record))
    return Prepared(rows, len(plain), len(records) - len(rows))


def _is_valid(record: SpanRecord) -> bool:
    return len(record.trace_id) == 16 and len(record.span_id) == 8 and any(record.trace_id) and any(record.span_id)


def _success(refused: int, *, is_json: bool) -> web.Response:
    message = "spans need a trace id of 16 and a span id of 8 bytes, not all zero"
    if is_json:
        partial = {"partialSuccess": {"rejectedSpans": refused, "errorMessage": message}} if refused else {}
        return web.Response(body=orjson.dumps(partial), content_type=JSON)
    answer = ExportTraceServiceResponse()
    if refused:
        answer.partial_success.rejected_spans = refused
        answer.partial_success.error_message = message
    return web.Response(body=answer.SerializeToString(), content_type=PROTOBUF)


def _failure(http: int, code: int, message: str, *, is_json: bool, retry_after_s: int = 0) -> web.Response:
    headers = {"Retry-After": str(retry_after_s)} if retry_after_s else None
    body = rpc_status(code, message, is_json=is_json)
    return web.Response(status=http, body=body, content_type=JSON if is_json else PROTOBUF, headers=headers)
