"""Deterministic span and trace ids.

Capture, re-delivery and transcript import must agree on ids, so an id is a keyed hash of what a thing *is*, never of
when or by whom it was seen: BLAKE2b over length-prefixed words, so that ("ab", "c") and ("a", "bc") differ.
"""

from __future__ import annotations

import hashlib


def trace_id_of(conversation: str, turn_seed: str) -> bytes:
    """16 bytes: the turn of a conversation that the message hash `turn_seed` began."""
    return _digest(16, "trace", conversation, turn_seed)


def turn_span_id(conversation: str, turn_seed: str) -> bytes:
    """8 bytes: the invoke_agent span at the root of a turn."""
    return _digest(8, "invoke_agent", conversation, turn_seed)


def inference_span_id(conversation: str, request_seed: str, attempt: int) -> bytes:
    """8 bytes: one chat span. `request_seed` is the response id where there is one, else the request's chain hash."""
    return _digest(8, "chat", conversation, request_seed, str(attempt))


def tool_span_id(conversation: str, tool_call_id: str) -> bytes:
    """8 bytes: the execute_tool span of one tool call."""
    return _digest(8, "execute_tool", conversation, tool_call_id)


def conversation_id_of(session: str, agent_key: str, seed: str) -> str:
    """16 hex digits: a conversation of a session; `agent_key` tells sub-agents apart, `seed` the chain's first hash
    where the client sends no id that would."""
    return _digest(8, "conversation", session, agent_key, seed).hex()


def _digest(size: int, *words: str) -> bytes:
    state = hashlib.blake2b(digest_size=size, person=b"spanlore")
    for word in words:
        data = word.encode("utf-8", "replace")
        state.update(len(data).to_bytes(4, "big"))
        state.update(data)
    digest = state.digest()
    return digest if any(digest) else b"\x01" * size  # all-zero ids are invalid in OpenTelemetry
