"""The Anthropic Messages dialect: requests, message digests, and the fold over JSON and SSE responses.

Sources: docs.anthropic.com (Messages, Streaming, Errors, Prompt caching), the anthropic SDK's types, and the recordings
named in tests/recordings/README.md.
"""

from spanlore_proxy.wire.anthropic.blocks import decode_message, decode_system, decode_tools
from spanlore_proxy.wire.anthropic.digest import message_digest
from spanlore_proxy.wire.anthropic.fold import AnthropicFold, fold_response
from spanlore_proxy.wire.anthropic.request import MESSAGES_KEY, parse_request, read_document

__all__ = [
    "MESSAGES_KEY",
    "AnthropicFold",
    "decode_message",
    "decode_system",
    "decode_tools",
    "fold_response",
    "message_digest",
    "parse_request",
    "read_document",
]
