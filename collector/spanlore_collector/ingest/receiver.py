"""POST /v1/traces, /v1/logs and /v1/metrics: OTLP over HTTP, protobuf or JSON.

200 only when the rows are committed. 413 beyond 64 MiB, 400 for what is no such request, 503 with Retry-After when it
can't be stored now; a full success has an empty answer, spans without valid ids, metrics of unknown kinds and what has
a bad field in JSON are refused as a partial success and must not be sent again (OTLP specification, "Full Success",
"Partial Success", "Failures").
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanlore.otlp.codec import MalformedOtlpError, decode_json_request, decode_request
from spanlore.otlp.json_items import Rejected
from spanlore.redaction.redact import Redactor
from spanlore.spans.record import SpanRecord
from spanlore_collector.ingest.agents import named_anew, spans_of_logs
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
from spanlore_collector.ingest.events import completed, told_spans
from spanlore_collector.ingest.foreign import understood
from spanlore_collector.ingest.generations import renewed
from spanlore_collector.ingest.langchain import unwrapped
from spanlore_collector.ingest.logs import decode_json_logs, decode_logs, log_rows
from spanlore_collector.ingest.metrics import decode_json_metrics, decode_metrics
from spanlore_collector.ingest.openinference import conventional
from spanlore_collector.ingest.redacting import redacted_log, redacted_span
from spanlore_collector.ingest.selfmetrics import NO_METRICS, SelfMetrics
from spanlore_collector.store.late_content import LateContent, SpanKey
from spanlore_collector.store.rows import SpanRows, rows_of
from spanlore_collector.store.signals import SignalRows
from spanlore_collector.store.writer import BadRowsError, StoreFullError, Writer

PROTOBUF, JSON = "application/x-protobuf", "application/json"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request as rows."""

    rows: tuple[SpanRows, ...]
    size_bytes: int
    refused: int = 0
    """Spans or metrics that are not taken."""
    signals: SignalRows | None = None
    told: tuple[SpanKey, ...] = ()
    """Spans of which log records tell content."""
    unread: Rejected = field(default_factory=Rejected)
    """Spans, log records or data points of a JSON request with a bad field."""
    items: int = 0
    """Spans, log records or data points in the request, refused ones included."""


@dataclass(frozen=True, slots=True)
class _Signal:
    name: str
    prepare: Callable[[bytes, str, bool, int, Redactor | None], Prepared]
    answer: Callable[[], Any]
    rejected: str
    """Field of the partial success, as protobuf spells it."""
    why: str


class Receiver:
    """Takes requests, decodes them in threads and waits for the writer."""

    def __init__(
        self,
        writer: Writer,
        threads: ThreadPoolExecutor,
        metrics: SelfMetrics = NO_METRICS,
        redactor: Redactor | None = None,
        cluster: str = "",
    ) -> None:
        """`redactor` takes secrets out of what others than the proxy send; `cluster` names the store's."""
        self._late = LateContent(completed, cluster)
        self._redactor = redactor
        self._writer = writer
        self._threads = threads
        self._metrics = metrics

    def add_to(self, app: web.Application) -> None:
        """Registers the routes."""
        app.router.add_post("/v1/traces", self.export)
        app.router.add_post("/v1/logs", self.export_logs)
        app.router.add_post("/v1/metrics", self.export_metrics)

    async def export(self, request: web.Request) -> web.Response:
        """Handles POST /v1/traces."""
        return await self._export(request, _TRACES)

    async def export_logs(self, request: web.Request) -> web.Response:
        """Handles POST /v1/logs."""
        return await self._export(request, _LOGS)

    async def export_metrics(self, request: web.Request) -> web.Response:
        """Handles POST /v1/metrics."""
        return await self._export(request, _METRICS)

    async def _export(self, request: web.Request, signal: _Signal) -> web.Response:
        is_json = request.content_type == JSON
        began_ns = time.monotonic_ns()
        self._writer.expect(1)
        try:
            if not is_json and request.content_type not in (PROTOBUF, "application/octet-stream"):
                answer = _failure(415, INVALID_ARGUMENT, f"Content-Type must be {PROTOBUF} or {JSON}", is_json=False)
            else:
                answer = await self._store(request, signal, is_json=is_json)
        finally:
            self._writer.expect(-1)
        self._metrics.answered(signal.name, answer.status, time.monotonic_ns() - began_ns)
        return answer

    async def _store(self, request: web.Request, signal: _Signal, *, is_json: bool) -> web.Response:
        try:
            prepared = await self._prepare(request, signal, is_json=is_json)
            self._metrics.received(signal.name, prepared.items)
            for done in self._submit(prepared):
                # Shielded: when the sender goes away its rows are written all the same.
                await asyncio.shield(asyncio.wrap_future(done))
            await asyncio.shield(self._attach(prepared))
        except (web.HTTPRequestEntityTooLarge, BodyTooLargeError):
            self._metrics.dropped(signal.name, "too_large")
            return _failure(
                413,
                RESOURCE_EXHAUSTED,
                f"a request may have {MAX_BODY_BYTES} bytes, also decompressed",
                is_json=is_json,
            )
        except (BadBodyError, MalformedOtlpError, BadRowsError) as error:
            self._metrics.dropped(signal.name, "malformed")
            return _failure(400, INVALID_ARGUMENT, str(error), is_json=is_json)
        except StoreFullError as error:
            return _failure(503, UNAVAILABLE, str(error), is_json=is_json, retry_after_s=error.retry_after_s)
        self._metrics.dropped(signal.name, "invalid_ids" if signal is _TRACES else "unknown_kind", prepared.refused)
        self._metrics.dropped(signal.name, "malformed", prepared.unread.count)
        self._metrics.stored(signal.name, prepared.items - prepared.refused - prepared.unread.count)
        return _success(signal, prepared, is_json=is_json)

    def _submit(self, prepared: Prepared) -> list[Future[Any]]:
        waiting: list[Future[Any]] = []
        if prepared.signals is not None and prepared.signals.count:
            waiting.append(self._writer.submit_signals(prepared.signals, prepared.size_bytes))
        if prepared.rows:
            waiting.append(self._writer.submit(prepared.rows, prepared.size_bytes))
        return waiting

    async def _attach(self, prepared: Prepared) -> None:
        """Joins spans and the log records that tell their content, once both are committed."""
        keys = [*prepared.told, *self._late.waits(rows.key for rows in prepared.rows)]
        if keys:
            stamp_ms = self._writer.stamp_ms()
            await asyncio.wrap_future(self._writer.add_content(lambda client: self._late.found(client, keys, stamp_ms)))

    def attach_left(self) -> Future[None]:
        """Joins what the last process left apart."""
        stamp_ms = self._writer.stamp_ms()
        return self._writer.add_content(lambda client: self._late.found(client, self._late.left(client), stamp_ms))

    async def _prepare(self, request: web.Request, signal: _Signal, *, is_json: bool) -> Prepared:
        if (request.content_length or 0) > MAX_BODY_BYTES:
            raise BodyTooLargeError
        data = await request.read()
        encoding = request.headers.get("Content-Encoding", "").strip().lower()
        loop = asyncio.get_running_loop()
        stamp_ns = self._writer.stamp_ms() * 1_000_000
        return await loop.run_in_executor(
            self._threads, signal.prepare, data, encoding, is_json, stamp_ns, self._redactor
        )


def prepare(data: bytes, encoding: str, is_json: bool, now_ns: int, redactor: Redactor | None = None) -> Prepared:
    """Trace request → rows. Raises `BodyTooLargeError`, `BadBodyError` or `MalformedOtlpError`."""
    plain = decompress(data, encoding)
    unread = Rejected()
    records = decode_json_request(plain, unread) if is_json else decode_request(plain)
    now_ms = now_ns // 1_000_000
    rows = tuple(rows_of(_modern(record, redactor), now_ms) for record in records if _is_valid(record))
    return Prepared(rows, len(plain), len(records) - len(rows), unread=unread, items=len(records) + unread.count)


def prepare_logs(data: bytes, encoding: str, is_json: bool, now_ns: int, redactor: Redactor | None = None) -> Prepared:
    """Logs request → rows, and the spans that agents' events stand for. Raises as `prepare` does."""
    plain = decompress(data, encoding)
    unread = Rejected()
    records = decode_json_logs(plain, unread) if is_json else decode_logs(plain)
    if redactor is not None:
        records = [redacted_log(record, redactor) for record in records]
    signals = SignalRows({"otel_logs": log_rows(records, now_ns)}, _token(plain))
    rows = tuple(rows_of(span, now_ns // 1_000_000) for span in spans_of_logs(records))
    told, items = tuple(told_spans(records)), len(records) + unread.count
    return Prepared(rows, len(plain), signals=signals, told=told, unread=unread, items=items)


def prepare_metrics(
    data: bytes, encoding: str, is_json: bool, _now_ns: int, _redactor: Redactor | None = None
) -> Prepared:
    """Metrics request → rows. Its times are its own, and it has no content. Raises as `prepare` does."""
    plain = decompress(data, encoding)
    unread = Rejected()
    found = decode_json_metrics(plain, unread) if is_json else decode_metrics(plain)
    signals = SignalRows(found.tables, _token(plain))
    items = signals.count + found.refused + unread.count
    return Prepared((), len(plain), found.refused, signals, unread=unread, items=items)


def _modern(record: SpanRecord, redactor: Redactor | None) -> SpanRecord:
    """spanlore's own spans are of today and redacted; nobody else's need be."""
    if record.scope_name == "spanlore":
        return record
    plain = record if redactor is None else redacted_span(record, redactor)
    return understood(unwrapped(renewed(conventional(named_anew(plain)))))


def _token(plain: bytes) -> str:
    return hashlib.blake2b(plain, digest_size=16).hexdigest()


def _is_valid(record: SpanRecord) -> bool:
    return len(record.trace_id) == 16 and len(record.span_id) == 8 and any(record.trace_id) and any(record.span_id)


_TRACES = _Signal(
    "traces",
    prepare,
    ExportTraceServiceResponse,
    "rejected_spans",
    "spans need a trace id of 16 and a span id of 8 bytes, not all zero",
)
_LOGS = _Signal("logs", prepare_logs, ExportLogsServiceResponse, "rejected_log_records", "")
_METRICS = _Signal(
    "metrics",
    prepare_metrics,
    ExportMetricsServiceResponse,
    "rejected_data_points",
    "metrics must be a gauge, a sum, a histogram, an exponential histogram or a summary",
)


def _success(signal: _Signal, prepared: Prepared, *, is_json: bool) -> web.Response:
    refused = prepared.refused + prepared.unread.count
    why = "; ".join(text for text in (signal.why if prepared.refused else "", prepared.unread.why) if text)
    if is_json:
        head, *rest = signal.rejected.split("_")
        name = head + "".join(word.title() for word in rest)
        partial = {"partialSuccess": {name: refused, "errorMessage": why}} if refused else {}
        return web.Response(body=orjson.dumps(partial), content_type=JSON)
    answer = signal.answer()
    if refused:
        setattr(answer.partial_success, signal.rejected, refused)
        answer.partial_success.error_message = why
    return web.Response(body=answer.SerializeToString(), content_type=PROTOBUF)


def _failure(http: int, code: int, message: str, *, is_json: bool, retry_after_s: int = 0) -> web.Response:
    headers = {"Retry-After": str(retry_after_s)} if retry_after_s else None
    body = rpc_status(code, message, is_json=is_json)
    return web.Response(status=http, body=body, content_type=JSON if is_json else PROTOBUF, headers=headers)
