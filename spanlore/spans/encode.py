"""Inference and Observation → SpanRecords.

One exchange gives: a `chat` span, an `execute_tool` span for every tool call its request answered, and an
`invoke_agent` span for every turn that is over. Names, kinds and attributes follow semantic-conventions-genai
(`semconv.gen_ai`), our own are in `semconv.lore`. Content attributes hold JSON strings, as the specification allows
on spans. Nothing here redacts: what comes in must have been redacted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

import orjson

from spanlore.genai.inference import Inference
from spanlore.genai.messages import Message, canonical_json, message_to_json, part_to_json
from spanlore.semconv import gen_ai, lore
from spanlore.spans.ids import inference_span_id, tool_span_id
from spanlore.spans.place import (
    HumanMessage,
    Injected,
    Observation,
    Outcome,
    Place,
    ToolExecution,
    Turn,
    Workplace,
)
from spanlore.spans.price import Price
from spanlore.spans.record import AttributeValue, SpanKind, SpanRecord, StatusCode

SCHEMA_VERSION = 1
SERVICE_NAME = "spanlore"

type Attributes = dict[str, AttributeValue]


def encode(
    inference: Inference,
    observation: Observation,
    *,
    request_seed: str,
    price: Price | None,
    redactions: int = 0,
) -> list[SpanRecord]:
    """All spans of one exchange, parents before children. `request_seed` as in `ids.inference_span_id`."""
    chat = _chat(inference, observation, request_seed, price, redactions, encode_resource(observation.workplace))
    return [*encode_observation(observation), chat]


def encode_observation(observation: Observation) -> list[SpanRecord]:
    """The spans of its turns and tools alone."""
    place, workplace = observation.place, observation.workplace
    resource = encode_resource(workplace)
    tools = [_execute_tool(tool, place, workplace, resource) for tool in observation.tools]
    return [*encode_turns(observation.turns, place, workplace), *tools]


def encode_resource(workplace: Workplace) -> Attributes:
    """Resource attributes: the service is the agent's harness, so that per-service views tell agents apart."""
    out: Attributes = {"service.name": workplace.harness or "unknown", "telemetry.sdk.name": SERVICE_NAME}
    if workplace.harness_version:
        out["service.version"] = workplace.harness_version
    return out


def encode_turns(turns: Iterable[Turn], place: Place, workplace: Workplace) -> list[SpanRecord]:
    """invoke_agent spans of turns that are over, of one conversation."""
    resource = encode_resource(workplace)
    return [_invoke_agent(turn, place, workplace, resource) for turn in turns]


def _chat(
    inference: Inference,
    observation: Observation,
    request_seed: str,
    price: Price | None,
    redactions: int,
    resource: Mapping[str, AttributeValue],
) -> SpanRecord:
    place = observation.place
    span_id = inference_span_id(place.conversation, request_seed, place.attempt)
    attributes: Attributes = {
        gen_ai.OPERATION_NAME: inference.operation,
        gen_ai.PROVIDER_NAME: inference.provider,
        lore.REQUEST_ID: span_id.hex(),
        lore.DIALECT: inference.dialect.value,
        **_whereabouts(place, observation.workplace),
        **_request(inference),
        **_response(inference),
        **_usage(inference, price),
        **_injected(observation.injected),
    }
    if place.is_compacted:
        attributes[gen_ai.CONVERSATION_COMPACTED] = True
    if place.attempt > 1:
        attributes[lore.ATTEMPT] = place.attempt
    if observation.human:
        attributes[lore.HUMAN_TEXT] = _human(observation.human)
    if redactions:
        attributes[lore.REDACTIONS] = redactions
    return SpanRecord(
        trace_id=place.trace_id,
        span_id=span_id,
        parent_span_id=place.turn_span_id or None,
        name=f"{inference.operation} {inference.request_model}" if inference.request_model else inference.operation,
        kind=SpanKind.CLIENT,
        start_time_ns=inference.start_time_ns,
        end_time_ns=max(inference.end_time_ns, inference.start_time_ns),
        attributes=attributes,
        resource=resource,
        status_code=StatusCode.ERROR if inference.error else StatusCode.UNSET,
        status_message=inference.error.message[:500] if inference.error else "",
    )


def _request(inference: Inference) -> Attributes:
    parameters = inference.parameters
    out: Attributes = {
        lore.INPUT_MESSAGE_COUNT: inference.message_count,
        lore.INPUT_NEW_FROM: inference.new_from,
        lore.REQUEST_BYTES: inference.request_bytes,
        gen_ai.SERVER_ADDRESS: inference.server_address,
        gen_ai.SERVER_PORT: inference.server_port,
    }
    if inference.is_streaming:
        out[gen_ai.REQUEST_STREAM] = True
    if parameters.stop_sequences:
        out[gen_ai.REQUEST_STOP_SEQUENCES] = parameters.stop_sequences
    _put(
        out,
        {
            gen_ai.REQUEST_MODEL: inference.request_model,
            gen_ai.REQUEST_MAX_TOKENS: parameters.max_tokens,
            gen_ai.REQUEST_TEMPERATURE: parameters.temperature,
            gen_ai.REQUEST_TOP_P: parameters.top_p,
            gen_ai.REQUEST_TOP_K: parameters.top_k,
            gen_ai.REQUEST_REASONING_LEVEL: parameters.reasoning_level,
            lore.CLIENT_REQUEST_ID: inference.client_request_id,
            lore.SYSTEM_HASH: inference.system_hash,
            lore.TOOLS_HASH: inference.tools_hash,
        },
    )
    if inference.system:
        out[gen_ai.SYSTEM_INSTRUCTIONS] = _dumps([part_to_json(part) for part in inference.system])
    if inference.tools:
        out[gen_ai.TOOL_DEFINITIONS] = _dumps(
            [
                {"type": t.type, "name": t.name, "description": t.description, "parameters": t.parameters}
                for t in inference.tools
            ]
        )
    if inference.new_messages:
        out[gen_ai.INPUT_MESSAGES] = _messages(inference.new_messages)
    return out


def _response(inference: Inference) -> Attributes:
    out: Attributes = {lore.COMPLETE: inference.is_complete, lore.RESPONSE_BYTES: inference.response_bytes}
    if inference.output:
        out[gen_ai.OUTPUT_MESSAGES] = _messages(inference.output)
    if inference.finish_reasons:
        out[gen_ai.RESPONSE_FINISH_REASONS] = inference.finish_reasons
    if inference.unknown_events:
        out[lore.UNKNOWN_EVENTS] = inference.unknown_events
    if inference.first_chunk_time_ns is not None:
        waited_ns = max(inference.first_chunk_time_ns - inference.start_time_ns, 0)
        out[gen_ai.RESPONSE_TIME_TO_FIRST_CHUNK] = waited_ns / 1e9
    _put(
        out,
        {
            gen_ai.RESPONSE_ID: inference.response_id,
            gen_ai.RESPONSE_MODEL: inference.response_model,
            lore.PROVIDER_REQUEST_ID: inference.provider_request_id,
            lore.HTTP_STATUS: inference.status_code,
            gen_ai.ERROR_TYPE: inference.error.type if inference.error else None,
        },
    )
    return out


def _usage(inference: Inference, price: Price | None) -> Attributes:
    usage = inference.usage
    out: Attributes = {}
    _put(
        out,
        {
            gen_ai.USAGE_INPUT_TOKENS: usage.input_tokens,
            gen_ai.USAGE_OUTPUT_TOKENS: usage.output_tokens,
            gen_ai.USAGE_CACHE_READ_INPUT_TOKENS: usage.cache_read_tokens,
            gen_ai.USAGE_CACHE_WRITE_INPUT_TOKENS: usage.cache_write_tokens,
            gen_ai.USAGE_REASONING_OUTPUT_TOKENS: usage.reasoning_tokens,
            lore.CACHE_WRITE_1H: usage.cache_write_1h_tokens,
        },
    )
    if price is not None:
        out[lore.COST_USD] = _usd(price.total_usd)
        out[lore.COST_INPUT_USD] = _usd(price.input_usd)
        out[lore.COST_OUTPUT_USD] = _usd(price.output_usd)
        out[lore.PRICE_VERSION] = price.version
    return out


def _injected(injected: Injected) -> Attributes:
    out: Attributes = {}
    if injected.memory_ids:
        out[lore.INJECTED_MEMORY_IDS] = injected.memory_ids
        out[lore.INJECTED_BYTES] = injected.added_bytes
        out[lore.INJECTED_TOKENS] = injected.added_bytes // 4
    if injected.placements_json:
        out[lore.INJECTED_PLACEMENTS] = injected.placements_json
    if injected.skipped:
        out[lore.INJECTION_SKIPPED] = injected.skipped
    if injected.overhead_ns:
        out[lore.OVERHEAD_NS] = injected.overhead_ns
    return out


def _execute_tool(
    tool: ToolExecution, place: Place, workplace: Workplace, resource: Mapping[str, AttributeValue]
) -> SpanRecord:
    attributes: Attributes = {
        gen_ai.OPERATION_NAME: gen_ai.OP_EXECUTE_TOOL,
        gen_ai.TOOL_NAME: tool.call.name,
        gen_ai.TOOL_CALL_ID: tool.call.id,
        gen_ai.TOOL_TYPE: "function",
        gen_ai.TOOL_CALL_ARGUMENTS: canonical_json(tool.call.arguments),
        lore.DERIVED: True,
        lore.OUTCOME: tool.outcome.value,
        **_whereabouts(place, workplace),
        lore.TURN: tool.turn_index,
        lore.STEP: tool.step_index,
    }
    if tool.result is not None:
        attributes[gen_ai.TOOL_CALL_RESULT] = tool.result.response
    for key, word in (
        (lore.OUTCOME_REASON, tool.outcome_reason),
        (lore.PROGRAM, tool.program),
        (lore.COMMAND, tool.command),
        (lore.SIGNATURE, tool.signature),
        (lore.ERROR_CLASS, tool.error_class),
        (lore.ERROR_LINE, tool.error_line),
    ):
        if word:
            attributes[key] = word
    _put(attributes, {lore.EXIT_CODE: tool.exit_code})
    failed = tool.outcome is Outcome.FAILURE
    if failed:
        attributes[gen_ai.ERROR_TYPE] = tool.error_class or "tool_error"
    return SpanRecord(
        trace_id=tool.trace_id or place.trace_id,
        span_id=tool_span_id(place.conversation, tool.call.id),
        parent_span_id=tool.turn_span_id or place.turn_span_id,
        name=f"{gen_ai.OP_EXECUTE_TOOL} {tool.call.name}",
        kind=SpanKind.INTERNAL,
        start_time_ns=tool.start_time_ns,
        end_time_ns=max(tool.end_time_ns, tool.start_time_ns),
        attributes=attributes,
        resource=resource,
        status_code=StatusCode.ERROR if failed else StatusCode.UNSET,
        status_message=tool.error_line if failed else "",
    )


def _invoke_agent(turn: Turn, place: Place, workplace: Workplace, resource: Mapping[str, AttributeValue]) -> SpanRecord:
    attributes: Attributes = {
        gen_ai.OPERATION_NAME: gen_ai.OP_INVOKE_AGENT,
        gen_ai.AGENT_NAME: workplace.harness,
        lore.DERIVED: True,
        **_whereabouts(place, workplace),
        lore.TURN: turn.turn_index,
        lore.TURN_INFERENCES: turn.inferences,
        lore.TURN_TOOL_CALLS: turn.tool_calls,
        lore.TURN_FAILURES: turn.failures,
        lore.TURN_END: turn.end,
    }
    if turn.revision:
        attributes[lore.TURN_REVISION] = turn.revision
    if turn.human:
        attributes[gen_ai.INPUT_MESSAGES] = _dumps(
            [{"role": "user", "parts": [{"type": "text", "content": said.text}]} for said in turn.human]
        )
    return SpanRecord(
        trace_id=turn.trace_id,
        span_id=turn.span_id,
        parent_span_id=place.parent_tool_span_id,
        name=f"{gen_ai.OP_INVOKE_AGENT} {workplace.harness}",
        kind=SpanKind.INTERNAL,
        start_time_ns=turn.start_time_ns,
        end_time_ns=max(turn.end_time_ns, turn.start_time_ns),
        attributes=attributes,
        resource=resource,
    )


def _whereabouts(place: Place, workplace: Workplace) -> Attributes:
    out: Attributes = {
        lore.SCHEMA_VERSION: SCHEMA_VERSION,
        lore.SOURCE: workplace.source,
        lore.SESSION_ID: place.session_id,
        lore.CONVERSATION: place.conversation,
        lore.TURN: place.turn_index,
        lore.STEP: place.step_index,
        lore.CALL_CLASS: place.call_class.value,
        lore.HARNESS: workplace.harness,
    }
    if place.session_inferred:
        out[lore.SESSION_INFERRED] = True
    else:
        out[gen_ai.CONVERSATION_ID] = place.session_id
    for key, word in (
        (lore.CONVERSATION_PARENT, place.parent_conversation),
        (lore.RUN_ID, workplace.run_id),
        (lore.REPOSITORY, workplace.repository),
        (lore.SUB_PATH, workplace.sub_path),
        (lore.BRANCH, workplace.branch),
        (lore.CWD, workplace.cwd),
    ):
        if word:
            out[key] = word
    return out


def _put(out: Attributes, values: Mapping[str, AttributeValue | None]) -> None:
    for key, value in values.items():
        if value is not None:
            out[key] = value


def _usd(amount: Decimal) -> float:
    return float(round(amount, 9))


def _human(human: Iterable[HumanMessage]) -> str:
    return _dumps([{"channel": said.channel.value, "text": said.text} for said in human])


def _messages(messages: Iterable[Message]) -> str:
    return _dumps([message_to_json(message) for message in messages])


def _dumps(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
