"""OpenTelemetry GenAI attribute names and values, as spanlore writes them.

Source: open-telemetry/semantic-conventions-genai (development channel), pinned by `SCHEMA_URL`. The names are
defined here and not imported from `opentelemetry.semconv._incubating`, which still carries the older ones
(`cache_creation`, `gen_ai.system`). Readers must accept both: see `OLD_NAMES`.

Token rule of the specification: `USAGE_INPUT_TOKENS` *includes* cache reads and cache writes. OpenAI and Gemini
report it so; Anthropic reports the three apart and they are added up when decoded.
"""

from typing import Final

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/gen-ai-dev/1.43.0-dev"

OPERATION_NAME: Final = "gen_ai.operation.name"
PROVIDER_NAME: Final = "gen_ai.provider.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
"""Only when the client itself sent one; never a made-up id (specification, conversation id rule)."""
CONVERSATION_COMPACTED: Final = "gen_ai.conversation.compacted"
"""True or absent, never false."""
OUTPUT_TYPE: Final = "gen_ai.output.type"

REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_STREAM: Final = "gen_ai.request.stream"
"""True or absent."""
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
REQUEST_TOP_P: Final = "gen_ai.request.top_p"
REQUEST_TOP_K: Final = "gen_ai.request.top_k"
REQUEST_STOP_SEQUENCES: Final = "gen_ai.request.stop_sequences"
REQUEST_REASONING_LEVEL: Final = "gen_ai.request.reasoning.level"

RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
RESPONSE_TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
"""Seconds, double."""

USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
USAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
USAGE_CACHE_READ_INPUT_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
USAGE_CACHE_WRITE_INPUT_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
USAGE_REASONING_OUTPUT_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"

SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"

TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"

AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_ID: Final = "gen_ai.agent.id"
AGENT_VERSION: Final = "gen_ai.agent.version"

ERROR_TYPE: Final = "error.type"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"

OP_CHAT: Final = "chat"
OP_GENERATE_CONTENT: Final = "generate_content"
OP_EXECUTE_TOOL: Final = "execute_tool"
OP_INVOKE_AGENT: Final = "invoke_agent"

FINISH_STOP: Final = "stop"
FINISH_LENGTH: Final = "length"
FINISH_CONTENT_FILTER: Final = "content_filter"
FINISH_TOOL_CALL: Final = "tool_call"
FINISH_ERROR: Final = "error"

OLD_NAMES: Final[dict[str, str]] = {
    "gen_ai.system": PROVIDER_NAME,
    "gen_ai.usage.prompt_tokens": USAGE_INPUT_TOKENS,
    "gen_ai.usage.completion_tokens": USAGE_OUTPUT_TOKENS,
    "gen_ai.usage.cache_read_input_tokens": USAGE_CACHE_READ_INPUT_TOKENS,
    "gen_ai.usage.cache_creation.input_tokens": USAGE_CACHE_WRITE_INPUT_TOKENS,
    "gen_ai.usage.cache_creation_input_tokens": USAGE_CACHE_WRITE_INPUT_TOKENS,
    "gen_ai.usage.reasoning_tokens": USAGE_REASONING_OUTPUT_TOKENS,
}
"""Older name → the name written here; a receiver fills the newer one when only the older is present."""

CONTENT_KEYS: Final = (
    SYSTEM_INSTRUCTIONS,
    INPUT_MESSAGES,
    OUTPUT_MESSAGES,
    TOOL_DEFINITIONS,
    TOOL_CALL_ARGUMENTS,
    TOOL_CALL_RESULT,
)
"""Attributes that hold content: JSON strings on the span; the collector moves them into the content table."""
