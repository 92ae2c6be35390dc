"""spanlore's own attribute names. Each says its type, its unit, who writes it and when it is absent.

OpenTelemetry has no names for these yet. Written by the proxy (and by importers, which speak for it); read by the
collector, which turns them into typed columns. An attribute that is not known is absent, never empty.
"""

from typing import Final

# --- where a span stands -------------------------------------------------------------------------------------
SESSION_ID: Final = "spanlore.session.id"
"""str. One run of an agent as the agent names it; when it names none, an id of ours (`SESSION_INFERRED` true)."""
SESSION_INFERRED: Final = "spanlore.session.inferred"
"""bool, true or absent: the session id was derived by us, not sent by the client."""
CONVERSATION: Final = "spanlore.conversation.id"
"""str, 16 hex. Our key of the chain of inferences that share a prefix; a sub-agent has its own."""
CONVERSATION_PARENT: Final = "spanlore.conversation.parent_id"
"""str, 16 hex. The conversation whose tool call started this one, or that it was forked from."""
TURN: Final = "spanlore.turn.index"
"""int, from 0. Which user turn of the conversation."""
STEP: Final = "spanlore.step.index"
"""int, from 0. Which inference of the conversation; a tool call carries the step that asked for it."""
REQUEST_ID: Final = "spanlore.request.id"
"""str, 16 hex. Names one exchange in `spanlore explain`; equals the chat span's id."""
PROVIDER_REQUEST_ID: Final = "spanlore.provider.request_id"
"""str. The provider's `request-id` header; joins with the agent's own telemetry."""
CLIENT_REQUEST_ID: Final = "spanlore.client.request_id"
"""str. The client's `x-client-request-id` header."""
CALL_CLASS: Final = "spanlore.call.class"
"""str: main, subagent, title, compaction, count_tokens, probe, side, unknown. What the call was for."""
DIALECT: Final = "spanlore.dialect"
"""str: anthropic_messages, openai_chat, openai_responses, gemini."""
ATTEMPT: Final = "spanlore.attempt"
"""int, from 1. More than 1: the same body was sent before and failed."""
DERIVED: Final = "spanlore.derived"
"""bool, true or absent. The span was put together from two exchanges (execute_tool, invoke_agent)."""
SOURCE: Final = "spanlore.source"
"""str: wire, agent_telemetry, or the importer's name. How the span came to be known."""
WIRE: Final = "wire"
AGENT_TELEMETRY: Final = "agent_telemetry"
"""The source of spans that an agent itself reports, as OpenTelemetry spans or as events that the collector makes spans
of. They give way to what was seen on the wire."""
SCHEMA_VERSION: Final = "spanlore.schema.version"
"""int. Version of this vocabulary."""

# --- whose work it is ----------------------------------------------------------------------------------------
RUN_ID: Final = "spanlore.run.id"
"""str. One `spanlore run`; absent for a process that only had HTTPS_PROXY set."""
HARNESS: Final = "spanlore.harness"
"""str: claude-code, codex, opencode, gemini-cli, pi, mini-swe-agent, aider, qwen-code, unknown. Also agent.name."""
REPOSITORY: Final = "spanlore.repository"
"""str. Scope key: normalised remote `host/owner/name`, or `path:/abs/dir` for a repository without a remote."""
SUB_PATH: Final = "spanlore.repository.sub_path"
"""str. Working directory inside the repository, '' at its root."""
BRANCH: Final = "spanlore.branch"
CWD: Final = "spanlore.cwd"
"""str, absolute. The agent's working directory."""

# --- chat ------------------------------------------------------------------------------------------------------
INPUT_MESSAGE_COUNT: Final = "spanlore.input.message_count"
"""int. Messages in the request; only those from `INPUT_NEW_FROM` on are in gen_ai.input.messages."""
INPUT_NEW_FROM: Final = "spanlore.input.new_from"
"""int. Index of the first message that was new in this request."""
SYSTEM_HASH: Final = "spanlore.system.hash"
"""str, 32 hex. Hash of the system instructions; the text itself is sent when it is new to the conversation."""
TOOLS_HASH: Final = "spanlore.tools.hash"
"""str, 32 hex. The same for the tool definitions."""
HUMAN_TEXT: Final = "spanlore.human.messages"
"""JSON list of {channel, text}: what a person typed that is new in this request. Channels: user_message,
rejection_reason, queued. Reminders, command output, our own injections and sub-agent prompts are not in it."""
CACHE_WRITE_1H: Final = "spanlore.usage.cache_write_1h.input_tokens"
"""int. Share of the cache writes with the one-hour lifetime (twice the base price, against 1.25 for 5 minutes)."""
COST_USD: Final = "spanlore.cost.usd"
"""double, US dollars. Absent when the model's price is not known; never 0 for that."""
COST_INPUT_USD: Final = "spanlore.cost.input_usd"
COST_OUTPUT_USD: Final = "spanlore.cost.output_usd"
PRICE_VERSION: Final = "spanlore.cost.price_version"
"""str. Which price data the cost was computed with."""
COMPLETE: Final = "spanlore.response.complete"
"""bool. False when the stream ended before the provider said so."""
UNKNOWN_EVENTS: Final = "spanlore.wire.unknown_events"
"""list of str. Wire event types that the fold did not know; they were kept out and counted."""
HTTP_STATUS: Final = "http.response.status_code"
REQUEST_BYTES: Final = "spanlore.request.bytes"
"""int. Client's body, after content decoding."""
RESPONSE_BYTES: Final = "spanlore.response.bytes"
REDACTIONS: Final = "spanlore.redactions"
"""int. How many secrets were replaced by placeholders in this span's content."""
OVERHEAD_NS: Final = "spanlore.overhead_ns"
"""int, nanoseconds. What spanlore itself spent on the request path of this exchange."""

# --- execute_tool ----------------------------------------------------------------------------------------------
OUTCOME: Final = "spanlore.outcome"
"""str: success, failure, unknown, rejected."""
OUTCOME_REASON: Final = "spanlore.outcome.reason"
"""str. Why: is_error, exit_code, benign_exit, tool_error, cascade, interrupted, user_rejected, …"""
EXIT_CODE: Final = "spanlore.tool.exit_code"
PROGRAM: Final = "spanlore.tool.program"
"""str. Program the command ran, wrappers stripped: `pytest` for `cd x && uv run pytest -q`."""
COMMAND: Final = "spanlore.tool.command"
"""str. The shell command, or the path a file tool was given; at most 4 KiB, redacted."""
SIGNATURE: Final = "spanlore.failure.signature"
"""str, 16 hex. The normalised identity of a failure; absent unless the outcome is failure."""
ERROR_CLASS: Final = "spanlore.failure.error_class"
ERROR_LINE: Final = "spanlore.failure.error_line"
"""str. First significant line of the failure, normalised, at most 300 characters."""

# --- invoke_agent ----------------------------------------------------------------------------------------------
TURN_TOOL_CALLS: Final = "spanlore.turn.tool_calls"
TURN_FAILURES: Final = "spanlore.turn.failures"
TURN_INFERENCES: Final = "spanlore.turn.inferences"
TURN_END: Final = "spanlore.turn.end"
"""str: completed, interrupted, idle, superseded."""
TURN_REVISION: Final = "spanlore.turn.revision"
"""int, absent for 0. The span was told before, and something happened in the turn since: this one takes its place."""

# --- injection ---------------------------------------------------------------------------------------------------
INJECTED_MEMORY_IDS: Final = "spanlore.injection.memory_ids"
"""list of str. Memories whose text was in the forwarded request."""
INJECTED_BYTES: Final = "spanlore.injection.bytes"
INJECTED_TOKENS: Final = "spanlore.injection.tokens"
"""int, estimated: bytes / 4."""
INJECTED_PLACEMENTS: Final = "spanlore.injection.placements"
"""JSON list of {kind, anchor, memory_ids, bytes, sizes, position, first, state, reason}: what stood where, and what did
not. `kind` is session_block, failure_hint, task_hint, family_hint or client_block (sent by the client itself); `sizes`
are the bytes of each memory's line; `position` the message's index, -1 the system prompt; `first` true on a new
occasion; `state` shown, withheld (to measure the effect) or skipped, and then `reason`: said, contradicted, budget,
same_slot, repeated, cap, attested; found but not fitting: other_path, other_command, other_error, vague, outranked,
unclear."""
INJECTION_SKIPPED: Final = "spanlore.injection.skipped"
"""str. Why nothing was added: nothing (to say), withheld, late (first seen in the middle), client_block, side_call,
subagent, unknown_project, off_repository, attested, bypass, disabled, killed, alarm, deadline, dialect, malformed,
offset, ledger, error:TYPE."""
