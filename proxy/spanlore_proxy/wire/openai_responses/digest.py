"""The identity of a raw message of the Responses API, so that a request's history can be told from what is new.

Between answer and history clients drop reasoning, ids, statuses, annotations and the records of tools that ran at the
provider, and write arguments anew. So the digest is made of what a message *says*: role, text, calls, results.
"""

from __future__ import annotations

from typing import Any, Final

from spanlore_proxy.wire.openai_chat.digest import Pieces, bare
from spanlore_proxy.wire.openai_chat.parts import ROLES, arguments_of
from spanlore_proxy.wire.openai_responses.kinds import CLIENT_CALLS, CLIENT_RESULTS, is_server_side, kind_of

_TEXTS: Final = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
_VOLATILE: Final = frozenset(
    {"id", "status", "encrypted_content", "created_by", "internal_chat_message_metadata_passthrough"}
)


def message_digest(raw_message: dict[str, Any]) -> bytes:
    """16 bytes: BLAKE2b of the normal form of an item, or of an answer's gathered items."""
    role = raw_message.get("role")
    kind = kind_of(raw_message)
    if role == "assistant":
        pieces = Pieces("assistant")
        content = raw_message.get("content")
        for item in content if isinstance(content, list) else [content]:
            _add_of_model(pieces, item)
        return pieces.digest()
    if kind == "message":
        pieces = Pieces(ROLES.get(role, role) if isinstance(role, str) else role)
        _add_content(pieces, raw_message.get("content"), is_model=False)
        return pieces.digest()
    pieces = Pieces(kind)
    if kind in CLIENT_RESULTS:
        pieces.add(b"answers", raw_message.get("call_id") or raw_message.get("id"))
        _add_content(pieces, raw_message.get("output"), is_model=False)
    else:
        pieces.add(b"item", bare({key: value for key, value in raw_message.items() if key not in _VOLATILE}))
    return pieces.digest()


def _add_of_model(pieces: Pieces, item: Any) -> None:
    """An item of an answer, or a part of its text where the client gives the message alone."""
    if not isinstance(item, dict):
        _add_content(pieces, item, is_model=True)
        return
    kind = kind_of(item)
    if kind == "message":
        _add_content(pieces, item.get("content"), is_model=True)
    elif kind in _TEXTS:
        _add_content(pieces, [item], is_model=True)
    elif kind in CLIENT_CALLS and not is_server_side(item):
        what = item.get("input") or item.get("action") or item.get("operation")
        what = arguments_of(item.get("arguments")) if what is None else bare(what)
        pieces.add(b"call", [item.get("call_id") or item.get("id"), item.get("name"), what or {}])


def _add_content(pieces: Pieces, content: Any, *, is_model: bool) -> None:
    if isinstance(content, str):
        pieces.add_text(b"text", content, is_model=is_model)
        return
    if content is None:
        return
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            pieces.add_text(b"text", part, is_model=is_model)
            continue
        name = _TEXTS.get(str(part.get("type"))) if isinstance(part, dict) else None
        if name is not None:
            text = part.get("text") if name == "text" else part.get("refusal")
            pieces.add_text(name.encode(), text, is_model=is_model)
        else:
            pieces.add(b"part", bare(part))
