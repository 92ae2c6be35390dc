"""The OpenAI Responses dialect over HTTP: requests, digests, and the fold over JSON and SSE responses.

Sources: platform.openai.com (Responses, Streaming events), the openai SDK's types, Codex's own traffic, and the
recordings named in tests/recordings/README.md.
"""

from spanlore_proxy.wire.openai_responses.digest import message_digest
from spanlore_proxy.wire.openai_responses.fold import ResponsesFold, fold_response
from spanlore_proxy.wire.openai_responses.items import decode_message, decode_system, decode_tools
from spanlore_proxy.wire.openai_responses.request import MESSAGES_KEY, parse_request, read_document

__all__ = [
    "MESSAGES_KEY",
    "ResponsesFold",
    "decode_message",
    "decode_system",
    "decode_tools",
    "fold_response",
    "message_digest",
    "parse_request",
    "read_document",
]
