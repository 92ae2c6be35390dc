"""The Gemini dialect: generateContent and streamGenerateContent on the Gemini API, Vertex AI and Code Assist.

Sources: ai.google.dev (API reference, function calling, thinking), the Vertex AI and google-genai type definitions,
gemini-cli's code_assist converter, and the recordings named in tests/recordings/README.md.
"""

from spanlore_proxy.wire.gemini.calls import with_call_ids
from spanlore_proxy.wire.gemini.digest import message_digest
from spanlore_proxy.wire.gemini.fold import GeminiFold, fold_response
from spanlore_proxy.wire.gemini.parts import decode_message, decode_system, decode_tools
from spanlore_proxy.wire.gemini.request import MESSAGES_KEY, parse_request, read_document

__all__ = [
    "MESSAGES_KEY",
    "GeminiFold",
    "decode_message",
    "decode_system",
    "decode_tools",
    "fold_response",
    "message_digest",
    "parse_request",
    "read_document",
    "with_call_ids",
]
