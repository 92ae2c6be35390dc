"""The OpenAI Chat Completions dialect, as OpenAI and everybody else speaks it.

Sources: platform.openai.com (Chat, Streaming, Structured outputs), the openai SDK's types, the documentation of
OpenRouter, DeepSeek, Mistral, Groq, xAI and Azure, and the recordings named in tests/recordings/README.md.
"""

from spanlore_proxy.wire.openai_chat.digest import message_digest
from spanlore_proxy.wire.openai_chat.fold import ChatFold, fold_response
from spanlore_proxy.wire.openai_chat.parts import decode_message, decode_system, decode_tools
from spanlore_proxy.wire.openai_chat.request import MESSAGES_KEY, parse_request, read_document

__all__ = [
    "MESSAGES_KEY",
    "ChatFold",
    "decode_message",
    "decode_system",
    "decode_tools",
    "fold_response",
    "message_digest",
    "parse_request",
    "read_document",
]
