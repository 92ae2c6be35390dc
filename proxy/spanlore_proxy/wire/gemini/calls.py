"""Ids for tool calls. Most Gemini models give a function call none, and results come back by name and order.

A derived id is made of the conversation's opening, the number of calls before, name and arguments: what the fold of an
answer and the next request that echoes it both know. Blanking old tool results leaves it as it was; a history replaced
by a summary gives other ids, so that two calls of one conversation never share one.

Where the API gives an id, it stands, but for two habits of clients. Some leave the API's ids out of the history (the
Vercel AI SDK, pi): then their calls have derived ids from the second step on. Others make ids of their own for the
history (pydantic-ai, llm): those are passed over. Gemini CLI answers an id-less call with a result that carries an id
of the CLI's: an id that names no call is passed over too, and the result goes to the first unanswered call of its name.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spanlore.genai.messages import Message, Part, ToolCall
from spanlore_proxy.wire.gemini.digest import dump, message_digest
from spanlore_proxy.wire.gemini.fields import field, string_field
from spanlore_proxy.wire.request import WireRequest
from spanlore_proxy.wire.response import WireResponse

_MADE_BY_CLIENT = re.compile(r"pyd_ai_|adk-|call_[0-9a-f]{20,}|[0-9a-f]{8}-[0-9a-f]{4}-|[\w.-]+[-_]\d{13}(?:[-_]|\Z)")

CALL_ID = "call_id"
"""Key of a part in `WireRequest.raw_messages` with the id of the call that its functionResponse answers."""


def identify_calls(messages: list[dict[str, Any]]) -> None:
    """Gives every call (`id`) and every result (`call_id`) in these messages an id, in place."""
    make_id = _derivation(messages)
    number = 0
    unanswered: list[dict[str, Any]] = []
    is_asking = False
    for message in messages:
        is_model = message["role"] == "assistant"
        if is_model and not is_asking:
            unanswered = []
        is_asking = is_model
        for part in message["content"]:
            if "functionCall" in part:
                call = part["functionCall"]
                part["id"] = own_id(call) or make_id(number, string_field(call, "name"), field(call, "args"))
                unanswered.append(part)
                number += 1
            elif "functionResponse" in part:
                part[CALL_ID] = _answered_call(part["functionResponse"], unanswered)


def with_call_ids(response: WireResponse, request: WireRequest) -> WireResponse:
    """The answer to that request, its calls with the ids that they will have in the next request."""
    if not any(isinstance(part, ToolCall) for message in response.output for part in message.parts):
        return response
    make_id = _derivation(request.raw_messages)
    asked = [part for message in request.raw_messages for part in message["content"] if "functionCall" in part]
    # Whether this client will give the API's ids back, its history tells.
    is_derived = any(part["id"] != own_id(part["functionCall"]) for part in asked)
    number = len(asked)
    output = []
    for message in response.output:
        parts: list[Part] = []
        for part in message.parts:
            if not isinstance(part, ToolCall):
                parts.append(part)
                continue
            needs_id = is_derived or not part.id
            own = make_id(number, part.name, part.arguments) if needs_id else part.id
            parts.append(dataclasses.replace(part, id=own))
            number += 1
        output.append(Message(message.role, tuple(parts), message.finish_reason))
    return dataclasses.replace(response, output=tuple(output))


def own_id(call: Any) -> str:
    """The id that a functionCall came with, '' for none and for one that its client has made."""
    given = string_field(call, "id")
    return "" if _MADE_BY_CLIENT.match(given) else given


def _derivation(messages: Sequence[dict[str, Any]]) -> Callable[[int, str, Any], str]:
    """How ids are made in a conversation that begins with these messages."""
    opening = hashlib.blake2b(b"".join(map(message_digest, _before_answer(messages))), digest_size=16).digest()

    def make_id(number: int, name: str, arguments: Any) -> str:
        said = dump([number, name, arguments or {}])
        return f"call-{hashlib.blake2b(opening + said, digest_size=8).hexdigest()}"

    return make_id


def _before_answer(messages: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for message in messages:
        if message["role"] == "assistant":
            return
        yield message


def _answered_call(response: Any, unanswered: list[dict[str, Any]]) -> str:
    """The id of the call that this result answers; that call is answered from now on."""
    own, name = string_field(response, "id"), string_field(response, "name")
    found = next((call for call in unanswered if own and string_field(call["functionCall"], "id") == own), None)
    if found is None and not (own and _are_named(unanswered)):
        found = next((call for call in unanswered if string_field(call["functionCall"], "name") == name), None)
    if found is None:
        return own
    unanswered.remove(found)
    return str(found["id"])


def _are_named(unanswered: Iterable[dict[str, Any]]) -> bool:
    """All these calls came with ids, so that a result with another id answers none of them."""
    return all(string_field(call["functionCall"], "id") for call in unanswered)
