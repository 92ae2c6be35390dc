"""What the judge is shown of one lesson: the lesson, the calls that prove it, the memories known beside it. Pure.

Everything recorded stands inside the strings of one JSON document, so no text in it can end its quotation. Sizes are
capped before anything is sent; the same lesson gives the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from spanlore.memory.memory import Memory
from spanlore.redaction.redact import Redactor
from spanlore_extractor.memories.wording import clip

OUTPUT_CHARS: Final = 700
COMMAND_CHARS: Final = 500
MAX_CITED: Final = 10
MAX_KNOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Window:
    """One question to the judge."""

    text: str
    """The document."""
    spans: frozenset[str]
    """Span ids it may cite."""
    known_ids: frozenset[str]
    digest: str
    """16 hex digits of the text: the same question again has the same."""


def window_of(
    memory: Memory, opened: Mapping[str, Mapping[str, Any]], known: Iterable[Memory], redactor: Redactor
) -> Window:
    """The question about a memory. `opened` are the tool calls of its evidence by span id."""
    cited = memory.evidence[:MAX_CITED]
    beside = sorted(
        (other for other in known if other.id != memory.id and other.scope == memory.scope and other.is_shown),
        key=lambda other: (other.subject != memory.subject, other.id),
    )[:MAX_KNOWN]
    document = {
        "lesson": {"id": memory.id, "kind": memory.kind.value, "text": memory.text, "sessions": memory.session_count},
        "evidence": [_cited(item, opened.get(item.span_id), redactor) for item in cited],
        "known_memories": [{"id": other.id, "text": other.text} for other in beside],
    }
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    return Window(
        text=text,
        spans=frozenset(item.span_id for item in cited),
        known_ids=frozenset(other.id for other in beside),
        digest=hashlib.blake2b(text.encode(), digest_size=8).hexdigest(),
    )


def _cited(item: Any, call: Mapping[str, Any] | None, redactor: Redactor) -> dict[str, Any]:
    out: dict[str, Any] = {"span_id": item.span_id, "role": item.role.value, "session": item.session_id[:12]}
    out["quote"] = redactor.redact(clip(item.quote, 300)).text
    if call is not None:
        out["tool"] = str(call.get("tool_name") or "")
        out["command"] = redactor.redact(str(call.get("command") or "")[:COMMAND_CHARS]).text
        out["outcome"] = str(call.get("outcome") or "")
        out["output"] = redactor.redact(str(call.get("output") or "")[:OUTPUT_CHARS]).text
    return out
