"""Amazon Bedrock: InvokeModel and Converse, with and without response stream. Captured, never rewritten: a request is
signed over its body (Signature Version 4), so that a changed one would be refused.

Sources: Amazon Bedrock API Reference, and the recordings named in tests/recordings/README.md.
"""

from spanlore_proxy.wire.anthropic import decode_message, decode_system, decode_tools, message_digest
from spanlore_proxy.wire.bedrock.fold import BedrockFold, fold_response
from spanlore_proxy.wire.bedrock.request import parse_request

__all__ = [
    "BedrockFold",
    "decode_message",
    "decode_system",
    "decode_tools",
    "fold_response",
    "message_digest",
    "parse_request",
]
