"""SpanRecord → rows: the exporter's row, the typed rows and where the content goes. Pure.

A span gives one row of `otel_traces`, and when it is GenAI one of `inferences`, `tool_calls` or `turns` too, whoever
sent it: spanlore's own attributes are used where they stand, the conventions' where they don't, older names included
(`gen_ai.OLD_NAMES`). Values that a column can't hold are brought to its bounds; a span is never refused for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from spanlore.genai.inference import Usage
from spanlore.semconv import gen_ai, lore
from spanlore.spans.price import price_of_usage
from spanlore.spans.record import SpanRecord, StatusCode
from spanlore_collector.store.attributes import (
    MAX_INT64,
    Attributes,
    count,
    finish_reason,
    maybe,
    signed,
    strings,
    tokens,
    usd,
    words,
)
from spanlore_collector.store.opportunities import opportunities_of
from spanlore_collector.store.parts import Contents, content_of, first_text
from spanlore_collector.store.tables import (
    ContentRow,
    HumanMessageRow,
    InferenceRow,
    OpportunityRow,
    PartRow,
    SessionFactRow,
    ToolCallRow,
    TurnRow,
)

_INFERENCE_OPERATIONS = frozenset({gen_ai.OP_CHAT, gen_ai.OP_GENERATE_CONTENT, "text_completion"})
_STATUS = {StatusCode.UNSET: "Unset", StatusCode.OK: "Ok", StatusCode.ERROR: "Error"}
_MAX_PROMPT_CHARACTERS = 2000
_MAX_TITLE_BYTES = 200


@dataclass(slots=True)
class SpanRows:
    """All rows of one span."""

    trace_id: str
    span_id: str
    trace: tuple[Any, ...]
    """In the order of `TRACE_COLUMNS`."""
    inference: InferenceRow | None = None
    tool_call: ToolCallRow | None = None
    turn: TurnRow | None = None
    human: tuple[HumanMessageRow, ...] = ()
    opportunities: tuple[OpportunityRow, ...] = ()
    fact: SessionFactRow | None = None
    parts: tuple[PartRow, ...] = ()
    contents: tuple[ContentRow, ...] = ()
    session_id: str = ""
    """'' for what is no GenAI span."""
    is_report: bool = False
    """An agent's own telemetry, which gives way to the wire's (see `claims`)."""
    is_from_log: bool = False
    """Made of a log record, which is kept on its own."""
    revision: int = 0
    """How often the span was sent before with less in it (`lore.TURN_REVISION`)."""

    def without_types(self) -> SpanRows:
        """Only what `otel_traces` keeps."""
        return SpanRows(self.trace_id, self.span_id, self.trace)

    @property
    def key(self) -> tuple[str, str]:
        """(trace id, span id): what makes two deliveries of a span one."""
        return self.trace_id, self.span_id


class _Seat(NamedTuple):
    """Where a span stands, by our own attributes or by the conventions'."""

    trace_id: str
    span_id: str
    parent_span_id: str
    start: int
    end: int
    session_id: str
    session_inferred: bool
    conversation: str
    harness: str
    source: str
    call_class: str
    turn_index: int
    step_index: int
    ingested_at: int
    words: dict[str, str]
    """All attributes but content, as text."""


def rows_of(record: SpanRecord, ingested_at_ms: int) -> SpanRows:
    """The rows of a span; `ingested_at_ms` is milliseconds since the epoch, the same for all of one batch."""
    attributes = record.attributes
    rows = SpanRows(record.trace_id.hex(), record.span_id.hex(), ())
    w = strings(attributes)
    operation = _operation(attributes)
    if operation:
        seat = _seat(record, rows, w, ingested_at_ms)
        rows.session_id = seat.session_id
        rows.is_report = seat.source == lore.AGENT_TELEMETRY
        rows.is_from_log = rows.is_report and bool(attributes.get(lore.DERIVED))
        contents = content_of(attributes, seat)
        rows.parts, rows.contents = tuple(contents.parts), tuple(contents.rows)
        if operation in _INFERENCE_OPERATIONS:
            rows.inference = _inference(record, seat, operation)
            rows.human = _human(attributes, seat)
            rows.opportunities = opportunities_of(rows.inference)
            rows.fact = _fact_of_inference(rows.inference, rows.human)
        elif operation == gen_ai.OP_EXECUTE_TOOL:
            rows.tool_call = _tool_call(record, seat, contents)
            rows.fact = _fact_of_tool_call(rows.tool_call)
        elif operation == gen_ai.OP_INVOKE_AGENT:
            rows.turn = _turn(record, seat)
            rows.revision = count(attributes, lore.TURN_REVISION)
            rows.human = _human(attributes, seat)
            rows.fact = _fact_of_turn(rows.turn)
    rows.trace = _trace(record, rows, w)
    return rows


def title_row(rows: SpanRows) -> SessionFactRow | None:
    """What a person typed in a span whose content came after it: counts nothing, beside the span's own fact."""
    title = _title(rows.human)
    if rows.inference is None or not title:
        return None
    row = rows.inference
    return _fact(row, span_id=f"{row.span_id}.human", title=title)


def _fact(
    row: InferenceRow | ToolCallRow | TurnRow,
    *,
    span_id: str = "",
    inferences: int = 0,
    tool_calls: int = 0,
    failures: int = 0,
    turns: int = 0,
    spent: InferenceRow | None = None,
    title: str = "",
) -> SessionFactRow:
    return SessionFactRow(
        row.session_id,
        row.trace_id,
        span_id or row.span_id,
        row.start_time,
        row.end_time,
        row.harness,
        row.repository,
        row.branch,
        row.source,
        inferences,
        tool_calls,
        failures,
        turns,
        spent.input_tokens if spent else None,
        spent.output_tokens if spent else None,
        spent.cache_read_tokens if spent else None,
        spent.cache_write_tokens if spent else None,
        spent.cost_usd if spent else None,
        title,
        row.ingested_at,
    )


def _fact_of_inference(row: InferenceRow, human: tuple[HumanMessageRow, ...]) -> SessionFactRow:
    return _fact(row, inferences=1, spent=row, title=_title(human))


def _fact_of_tool_call(row: ToolCallRow) -> SessionFactRow:
    return _fact(row, tool_calls=1, failures=int(row.outcome == "failure"))


def _fact_of_turn(row: TurnRow) -> SessionFactRow | None:
    """Turns of sub-agents are no turns of the session."""
    return _fact(row, turns=1, title=_cut(row.prompt)) if row.call_class == "main" else None


def _title(human: tuple[HumanMessageRow, ...]) -> str:
    """What a person typed first, in the first turn of the main conversation."""
    said = (
        row.text
        for row in human
        if row.text and row.channel == "user_message" and row.call_class == "main" and row.turn_index == 0
    )
    return _cut(next(said, ""))


def _cut(text: str) -> str:
    return (
        text
        if len(text) * 4 <= _MAX_TITLE_BYTES
        else text.encode("utf-8", "replace")[:_MAX_TITLE_BYTES].decode("utf-8", "ignore")
    )


def _operation(attributes: Attributes) -> str:
    """gen_ai.operation.name; for senders from before it existed, `chat` where a model was asked; '' when not GenAI."""
    operation = attributes.get(gen_ai.OPERATION_NAME)
    if isinstance(operation, str) and operation:
        return operation
    if gen_ai.REQUEST_MODEL in attributes and ("gen_ai.system" in attributes or gen_ai.PROVIDER_NAME in attributes):
        return gen_ai.OP_CHAT
    return ""


def _seat(record: SpanRecord, rows: SpanRows, w: dict[str, str], ingested_at_ms: int) -> _Seat:
    attributes = record.attributes
    own = attributes.get(lore.SESSION_ID)
    session = own or attributes.get(gen_ai.CONVERSATION_ID) or attributes.get("session.id")
    session_id = str(session) if session else f"trace-{rows.trace_id}"
    harness = (
        attributes.get(lore.HARNESS) or attributes.get(gen_ai.AGENT_NAME) or record.resource.get("service.name") or ""
    )
    return _Seat(
        trace_id=rows.trace_id,
        span_id=rows.span_id,
        parent_span_id=record.parent_span_id.hex() if record.parent_span_id else "",
        start=min(record.start_time_ns, MAX_INT64),
        end=min(record.end_time_ns, MAX_INT64),
        session_id=session_id,
        session_inferred=not session or bool(attributes.get(lore.SESSION_INFERRED)),
        conversation=w.get(lore.CONVERSATION, "") or session_id,
        harness=str(harness),
        source=w.get(lore.SOURCE, "") or "otlp",
        call_class=w.get(lore.CALL_CLASS, "") or "unknown",
        turn_index=count(attributes, lore.TURN),
        step_index=count(attributes, lore.STEP),
        ingested_at=ingested_at_ms,
        words=w,
    )


def _trace(record: SpanRecord, rows: SpanRows, w: dict[str, str]) -> tuple[Any, ...]:
    start = min(record.start_time_ns, MAX_INT64)
    events, links = record.events, record.links
    return (
        start,
        rows.trace_id,
        rows.span_id,
        record.parent_span_id.hex() if record.parent_span_id else "",
        record.trace_state,
        record.name,
        record.kind.value,
        str(record.resource.get("service.name", "")),
        strings(record.resource),
        record.scope_name,
        record.scope_version,
        w,
        max(record.end_time_ns - record.start_time_ns, 0),
        _STATUS[record.status_code],
        record.status_message,
        [min(event.time_ns, MAX_INT64) for event in events],
        [event.name for event in events],
        [strings(event.attributes) for event in events],
        [link.trace_id.hex() for link in links],
        [link.span_id.hex() for link in links],
        [link.trace_state for link in links],
        [strings(link.attributes) for link in links],
    )


def _inference(record: SpanRecord, seat: _Seat, operation: str) -> InferenceRow:
    a, w = record.attributes, seat.words
    return InferenceRow(
        session_id=seat.session_id,
        session_inferred=seat.session_inferred,
        conversation=seat.conversation,
        parent_conversation=w.get(lore.CONVERSATION_PARENT, ""),
        trace_id=seat.trace_id,
        span_id=seat.span_id,
        parent_span_id=seat.parent_span_id,
        start_time=seat.start,
        end_time=seat.end,
        duration_ns=max(seat.end - seat.start, 0),
        harness=seat.harness,
        harness_version=str(record.resource.get("service.version", "")),
        run_id=w.get(lore.RUN_ID, ""),
        repository=w.get(lore.REPOSITORY, ""),
        sub_path=w.get(lore.SUB_PATH, ""),
        branch=w.get(lore.BRANCH, ""),
        cwd=w.get(lore.CWD, ""),
        source=seat.source,
        dialect=w.get(lore.DIALECT, ""),
        provider=w.get(gen_ai.PROVIDER_NAME, "") or w.get("gen_ai.system", ""),
        operation=operation,
        request_model=w.get(gen_ai.REQUEST_MODEL, ""),
        call_class=seat.call_class,
        turn_index=seat.turn_index,
        step_index=seat.step_index,
        attempt=count(a, lore.ATTEMPT, 255) or 1,
        message_count=count(a, lore.INPUT_MESSAGE_COUNT),
        new_from=count(a, lore.INPUT_NEW_FROM),
        request_bytes=count(a, lore.REQUEST_BYTES, MAX_INT64),
        redactions=count(a, lore.REDACTIONS),
        compacted=bool(a.get(gen_ai.CONVERSATION_COMPACTED, False)),
        ingested_at=seat.ingested_at,
        **_answer(a, w),
        **_usage(a),
        **_cost(a, w),
        **_injection(a, w),
    )


def _answer(a: Attributes, w: dict[str, str]) -> dict[str, Any]:
    waited_s = a.get(gen_ai.RESPONSE_TIME_TO_FIRST_CHUNK)
    return {
        "ttft_ns": int(waited_s * 1e9) if isinstance(waited_s, float) and 0 <= waited_s < 1e9 else None,
        "response_model": w.get(gen_ai.RESPONSE_MODEL, ""),
        "response_id": w.get(gen_ai.RESPONSE_ID, ""),
        "provider_request_id": w.get(lore.PROVIDER_REQUEST_ID, ""),
        "client_request_id": w.get(lore.CLIENT_REQUEST_ID, ""),
        "status_code": maybe(a, lore.HTTP_STATUS, 65_535),
        "error_type": w.get(gen_ai.ERROR_TYPE, ""),
        "is_complete": bool(a.get(lore.COMPLETE, True)),
        "finish_reason": finish_reason(a.get(gen_ai.RESPONSE_FINISH_REASONS)),
        "response_bytes": count(a, lore.RESPONSE_BYTES, MAX_INT64),
    }


def _usage(a: Attributes) -> dict[str, Any]:
    return {
        "input_tokens": tokens(a, gen_ai.USAGE_INPUT_TOKENS),
        "output_tokens": tokens(a, gen_ai.USAGE_OUTPUT_TOKENS),
        "cache_read_tokens": tokens(a, gen_ai.USAGE_CACHE_READ_INPUT_TOKENS),
        "cache_write_tokens": tokens(a, gen_ai.USAGE_CACHE_WRITE_INPUT_TOKENS),
        "cache_write_1h_tokens": maybe(a, lore.CACHE_WRITE_1H),
        "reasoning_tokens": tokens(a, gen_ai.USAGE_REASONING_OUTPUT_TOKENS),
    }


def _cost(a: Attributes, w: dict[str, str]) -> dict[str, Any]:
    """As the sender says; ours for a foreign sender that says nothing. Our own spans without a price have none."""
    price = None
    if lore.COST_USD not in a and lore.SCHEMA_VERSION not in a:
        price = price_of_usage(
            w.get(gen_ai.PROVIDER_NAME, "") or w.get("gen_ai.system", ""),
            w.get(gen_ai.RESPONSE_MODEL, "") or w.get(gen_ai.REQUEST_MODEL, ""),
            Usage(
                input_tokens=tokens(a, gen_ai.USAGE_INPUT_TOKENS),
                output_tokens=tokens(a, gen_ai.USAGE_OUTPUT_TOKENS),
                cache_read_tokens=tokens(a, gen_ai.USAGE_CACHE_READ_INPUT_TOKENS),
                cache_write_tokens=tokens(a, gen_ai.USAGE_CACHE_WRITE_INPUT_TOKENS),
                cache_write_1h_tokens=maybe(a, lore.CACHE_WRITE_1H),
            ),
        )
    if price is not None:
        return {
            "cost_usd": float(round(price.total_usd, 9)),
            "cost_input_usd": float(round(price.input_usd, 9)),
            "cost_output_usd": float(round(price.output_usd, 9)),
            "price_version": price.version,
        }
    return {
        "cost_usd": usd(a, lore.COST_USD),
        "cost_input_usd": usd(a, lore.COST_INPUT_USD),
        "cost_output_usd": usd(a, lore.COST_OUTPUT_USD),
        "price_version": w.get(lore.PRICE_VERSION, ""),
    }


def _injection(a: Attributes, w: dict[str, str]) -> dict[str, Any]:
    return {
        "overhead_ns": count(a, lore.OVERHEAD_NS, MAX_INT64),
        "injected_memory_ids": words(a.get(lore.INJECTED_MEMORY_IDS)),
        "injected_bytes": count(a, lore.INJECTED_BYTES),
        "injected_placements": w.get(lore.INJECTED_PLACEMENTS, ""),
        "injection_skipped": w.get(lore.INJECTION_SKIPPED, ""),
    }


def _tool_call(record: SpanRecord, seat: _Seat, contents: Contents) -> ToolCallRow:
    a, w = record.attributes, seat.words
    failed = record.status_code is StatusCode.ERROR
    return ToolCallRow(
        session_id=seat.session_id,
        conversation=seat.conversation,
        trace_id=seat.trace_id,
        span_id=seat.span_id,
        parent_span_id=seat.parent_span_id,
        tool_call_id=w.get(gen_ai.TOOL_CALL_ID, ""),
        tool_name=w.get(gen_ai.TOOL_NAME, ""),
        start_time=seat.start,
        end_time=seat.end,
        duration_ns=max(seat.end - seat.start, 0),
        outcome=w.get(lore.OUTCOME, "") or ("failure" if failed else "unknown"),
        outcome_reason=w.get(lore.OUTCOME_REASON, ""),
        exit_code=signed(a, lore.EXIT_CODE),
        program=w.get(lore.PROGRAM, ""),
        command=w.get(lore.COMMAND, ""),
        signature=w.get(lore.SIGNATURE, ""),
        error_class=w.get(lore.ERROR_CLASS, "") or (w.get(gen_ai.ERROR_TYPE, "") if failed else ""),
        error_line=w.get(lore.ERROR_LINE, ""),
        arguments_hash=contents.hash_of("arguments"),
        result_hash=contents.hash_of("result"),
        result_bytes=contents.bytes_of("result"),
        harness=seat.harness,
        repository=w.get(lore.REPOSITORY, ""),
        sub_path=w.get(lore.SUB_PATH, ""),
        branch=w.get(lore.BRANCH, ""),
        run_id=w.get(lore.RUN_ID, ""),
        source=seat.source,
        call_class=seat.call_class,
        turn_index=seat.turn_index,
        step_index=seat.step_index,
        ingested_at=seat.ingested_at,
    )


def _turn(record: SpanRecord, seat: _Seat) -> TurnRow:
    a, w = record.attributes, seat.words
    return TurnRow(
        session_id=seat.session_id,
        conversation=seat.conversation,
        parent_conversation=w.get(lore.CONVERSATION_PARENT, ""),
        trace_id=seat.trace_id,
        span_id=seat.span_id,
        parent_span_id=seat.parent_span_id,
        start_time=seat.start,
        end_time=seat.end,
        duration_ns=max(seat.end - seat.start, 0),
        turn_index=seat.turn_index,
        prompt=first_text(str(a.get(gen_ai.INPUT_MESSAGES, "")))[:_MAX_PROMPT_CHARACTERS],
        inferences=count(a, lore.TURN_INFERENCES),
        tool_calls=count(a, lore.TURN_TOOL_CALLS),
        failures=count(a, lore.TURN_FAILURES),
        end=w.get(lore.TURN_END, ""),
        harness=seat.harness,
        repository=w.get(lore.REPOSITORY, ""),
        sub_path=w.get(lore.SUB_PATH, ""),
        branch=w.get(lore.BRANCH, ""),
        run_id=w.get(lore.RUN_ID, ""),
        source=seat.source,
        call_class=seat.call_class,
        ingested_at=seat.ingested_at,
    )


def _human(attributes: Attributes, seat: _Seat) -> tuple[HumanMessageRow, ...]:
    w, typed = seat.words, attributes.get(lore.HUMAN_TEXT)
    if not isinstance(typed, str):
        return ()
    try:
        said = orjson.loads(typed)
    except orjson.JSONDecodeError:
        said = [{"channel": "unknown", "text": typed}]
    return tuple(
        HumanMessageRow(
            session_id=seat.session_id,
            conversation=seat.conversation,
            trace_id=seat.trace_id,
            span_id=seat.span_id,
            time=seat.start,
            channel=str(item.get("channel", "")),
            text=str(item.get("text", "")),
            ordinal=min(ordinal, 65_535),
            turn_index=seat.turn_index,
            step_index=seat.step_index,
            harness=seat.harness,
            repository=w.get(lore.REPOSITORY, ""),
            sub_path=w.get(lore.SUB_PATH, ""),
            branch=w.get(lore.BRANCH, ""),
            source=seat.source,
            call_class=seat.call_class,
            ingested_at=seat.ingested_at,
        )
        for ordinal, item in enumerate(said if isinstance(said, list) else ())
        if isinstance(item, dict)
    )
